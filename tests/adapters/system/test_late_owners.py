"""Owners whose time is over by our clock, although their process is there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from detent.adapters.drivers.leases import Keeper
from detent.adapters.drivers.steps import at_once
from detent.adapters.journals.directory_claims import DirectoryClaims
from detent.adapters.journals.directory_folder import Folder
from detent.adapters.journals.memory import MemoryClaims
from detent.adapters.system.clocks import ManualClock, SystemClock
from detent.adapters.system.processes import DIFFERING_S, LateOwners, this_process
from detent.ports.claims import FORGOTTEN_S, Claim, Owner, RunBusyError

CHILD = """
from detent.adapters.system.processes import this_process
print(*(lambda one: (one.pid, one.started))(this_process("other", 0.0)), flush=True)
input()
"""


@pytest.fixture
def other() -> Iterator[tuple[Owner, subprocess.Popen[str]]]:
    """Another process that lives, and the process."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=pipe, stdout=pipe, text=True) as one:
        assert one.stdout is not None
        pid, started = one.stdout.readline().split()
        yield evolve(this_process("other", 10.0), pid=int(pid), started=started), one
        one.kill()


def test_whoever_lives_is_heard_out_by_a_clock_that_nobody_sets(
    other: tuple[Owner, subprocess.Popen[str]],
) -> None:
    """For the whole of a claim's time, from when its word has changed last."""
    owner, process = other
    times = iter([100.0, 114.9, 115.0, 120.0, 134.9, 135.0])
    late = LateOwners(15.0, lambda: next(times))
    said = [late.has_stood_still(owner, 1e9) for _ in range(3)]
    renewed = evolve(owner, until=25.0)
    said += [late.has_stood_still(renewed, 1e9) for _ in range(3)]
    assert said == [False, False, True, False, False, True]
    process.kill()
    process.wait()
    assert late.has_stood_still(evolve(owner, until=30.0), 1e9)  # nobody waits for who has ended


def test_of_other_machines_nobody_knows_whether_they_live() -> None:
    """They are heard out as well, unless they are long over; of ourselves, we know."""
    times = [100.0]
    late = LateOwners(15.0, lambda: times[-1])
    ours = this_process("ours", 10.0)
    other = evolve(ours, id="other", host="another")
    assert late.has_stood_still(ours, 10.0)
    assert not late.has_stood_still(other, 10.0)
    assert not late.has_stood_still(other, other.until + DIFFERING_S - 1.0)
    assert late.has_stood_still(other, other.until + DIFFERING_S)
    times.append(115.0)
    assert late.has_stood_still(other, 10.0)


def test_who_was_not_heard_of_for_a_day_is_forgotten() -> None:
    """Processes come and go, each under another id; who looks at them may live for years."""
    times = iter([0.0, FORGOTTEN_S - 1.0, FORGOTTEN_S + 1.0])
    late = LateOwners(15.0, lambda: next(times))
    for number in range(3):
        late.has_stood_still(Owner(str(number), "another", 1), 0.0)
    assert [*late._seen] == ["1", "2"]


class Machine:
    """A machine whose time of day is set, and what a process on it that lives knows of time."""

    def __init__(self, day: float) -> None:
        self.day, self.ran = day, 0.0
        self.clock = SystemClock(lambda: self.day, lambda: self.ran)

    def pass_by(self, seconds: float) -> None:
        """As long as nobody sets it."""
        self.day += seconds
        self.ran += seconds


class SharedClaims(MemoryClaims):
    """In memory, but as if machines shared it: who keeps something there is another one."""

    is_shared = True

    def keep(self, owner: Owner) -> None:
        """As that of another machine."""
        super().keep(evolve(owner, host="another"))


class Elsewhere(Keeper):
    """A keeper as another machine has it: it takes no other process for its own, nor for ended."""

    def __init__(self, claims: SharedClaims, machine: Machine) -> None:
        super().__init__(claims, 15.0, machine.clock, renews=False)
        self._late = LateOwners(15.0, lambda: machine.ran)


@pytest.mark.parametrize("slept_s", [0.0, 60.0, 3600.0])
def test_who_lives_and_renews_keeps_its_run_although_its_machine_has_slept(slept_s: float) -> None:
    """After its process began: it keeps the time of day at each renewal."""
    claims, theirs, ours = SharedClaims(), Machine(1000.0), Machine(1000.0 + slept_s)
    driver, rival = Elsewhere(claims, theirs), Elsewhere(claims, ours)
    theirs.day += slept_s
    lease = at_once(driver.take_steps("r"))
    for _ in range(10):
        for machine in (theirs, ours):
            machine.pass_by(5.0)
        driver.renew()
        owner = claims.owner(lease.claim.owner)
        assert owner is not None
        assert owner.until == ours.day + 15.0
        with pytest.raises(RunBusyError):
            at_once(rival.take_steps("r"))
    assert lease.is_sure


@pytest.mark.parametrize("behind_s", [20.0, 240.0])
def test_a_machine_whose_clock_is_behind_keeps_what_it_renews(behind_s: float) -> None:
    """By minutes: others see each of its claims as over, and that it renews them."""
    claims, theirs, ours = SharedClaims(), Machine(1000.0 - behind_s), Machine(1000.0)
    driver, rival = Elsewhere(claims, theirs), Elsewhere(claims, ours)
    lease = at_once(driver.take_steps("r"))
    for _ in range(10):
        with pytest.raises(RunBusyError):
            at_once(rival.take_steps("r"))
        for machine in (theirs, ours):
            machine.pass_by(5.0)
        driver.renew()
        assert lease.is_sure
    for silent_s in (0.0, 14.0):
        ours.pass_by(silent_s)
        with pytest.raises(RunBusyError):
            at_once(rival.take_steps("r"))
    ours.pass_by(1.0)  # as long as a claim holds, it has not been heard of
    assert at_once(rival.take_steps("r")).claim.epoch == 2


def test_who_looks_often_waits_for_no_dead_machine_longer_than_its_claim_holds() -> None:
    """The silence of a driver counts while its claim still holds."""
    claims, ours = SharedClaims(), Machine(1000.0)
    rival = Elsewhere(claims, ours)
    at_once(Elsewhere(claims, Machine(1000.0)).take_steps("r"))
    with pytest.raises(RunBusyError):
        at_once(rival.take_steps("r"))
    ours.pass_by(15.0)
    assert at_once(rival.take_steps("r")).claim.epoch == 2


def test_who_looks_for_the_first_time_hears_a_machine_out_unless_it_is_long_gone() -> None:
    """A process that looks once, and ends, takes what is not driven any more."""
    claims, ours = SharedClaims(), Machine(1000.0)
    at_once(Elsewhere(claims, ours).take_steps("r"))
    ours.pass_by(20.0)
    with pytest.raises(RunBusyError):
        at_once(Elsewhere(claims, ours).take_steps("r"))
    ours.pass_by(DIFFERING_S)
    assert at_once(Elsewhere(claims, ours).take_steps("r")).claim.epoch == 2


def test_a_clock_that_was_set_takes_no_run_from_who_lives(
    other: tuple[Owner, subprocess.Popen[str]], tmp_path: Path
) -> None:
    """To a process whose clock is ahead every claim seems over; that of one that is gone is."""
    owner, process = other
    claims = DirectoryClaims(Folder.opened(tmp_path))
    claims.keep(owner)
    assert claims.swap("r", None, Claim(owner.id, 1, 0.0))
    ahead = Keeper(claims, 15.0, ManualClock(owner.until + 30), renews=False)
    with pytest.raises(RunBusyError, match="'r' is driven by process"):
        at_once(ahead.take_steps("r"))
    process.kill()
    process.wait()
    assert at_once(ahead.take_steps("r")).claim.epoch == 2
