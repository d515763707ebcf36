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
from detent.adapters.system.clocks import ManualClock
from detent.adapters.system.processes import LateOwners, this_process
from detent.ports.claims import Claim, Owner, RunBusyError

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
    said = [late.has_stood_still(owner) for _ in range(3)]
    renewed = evolve(owner, until=25.0)
    said += [late.has_stood_still(renewed) for _ in range(3)]
    assert said == [False, False, True, False, False, True]
    process.kill()
    process.wait()
    assert late.has_stood_still(evolve(owner, until=30.0))  # nobody waits for who has ended


def test_of_others_nobody_knows_whether_they_live() -> None:
    """What counts is what they have said; of ourselves, we know."""
    late = LateOwners(15.0)
    ours = this_process("ours", 10.0)
    assert late.has_stood_still(ours)
    assert late.has_stood_still(evolve(ours, host="another"))


def test_a_clock_that_was_set_takes_no_run_from_who_lives(
    other: tuple[Owner, subprocess.Popen[str]], tmp_path: Path
) -> None:
    """To a process whose clock is ahead every claim seems over; that of one that is gone is."""
    owner, process = other
    claims = DirectoryClaims(tmp_path)
    claims.keep(owner)
    assert claims.swap("r", None, Claim(owner.id, 1, 0.0))
    ahead = Keeper(claims, 15.0, ManualClock(owner.until + 30), renews=False)
    with pytest.raises(RunBusyError, match="'r' is driven by process"):
        at_once(ahead.take_steps("r"))
    process.kill()
    process.wait()
    assert at_once(ahead.take_steps("r")).epoch == 2
