"""Leases: one process drives a run, says so, and stops where it is not sure any more."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest
from attrs import evolve

from detent import Agent, ScriptedChatGenerator, State, ToolCall, tool
from detent.adapters.agent.claiming import when_free, when_free_async
from detent.adapters.drivers import leases
from detent.adapters.drivers.leases import Keeper, Lease, keeper_of
from detent.adapters.drivers.performer import EffectPerformer
from detent.adapters.drivers.steps import Steps, Wait, at_once
from detent.adapters.journals.directory import DirectoryJournal
from detent.adapters.journals.memory import MemoryClaims, MemoryJournal
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.adapters.system import processes
from detent.adapters.system.clocks import JumpingClock, ManualClock, run_time
from detent.adapters.system.processes import has_ended, this_process
from detent.adapters.system.threads_and_loops import FunctionToolExecutor
from detent.core.run.effects import RunTool
from detent.core.run.refs import CallRef
from detent.journals import RunExistsError
from detent.ports.claims import Claim, Owner, RunBusyError, is_held
from detent.ports.journal import JournalError
from detent.ports.laws.breaking import PATIENCE_S, in_time


class SharedClaims(MemoryClaims):
    """In memory, but as if other processes saw it; one thing after another can fail."""

    is_shared = True
    fails = 0

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As the port says, or not at all."""
        self.must_be_there()
        return super().swap(run_id, was, now)

    def keep(self, owner: Owner) -> None:
        """As the port says, or not at all."""
        self.must_be_there()
        super().keep(owner)

    def must_be_there(self) -> None:
        """Raise, so many times."""
        if self.fails:
            self.fails -= 1
            raise JournalError("the store is away")


CLOCK_S = 15.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000.0)


@pytest.fixture
def claims() -> SharedClaims:
    return SharedClaims()


def keeper(claims: MemoryClaims, clock: ManualClock) -> Keeper:
    """As it is in another process: it has an owner of its own."""
    return Keeper(claims, CLOCK_S, clock)


class SlowClaims(SharedClaims):
    """Its store is held by others while somebody renews."""

    def __init__(self) -> None:
        super().__init__()
        self.is_held, self.may_go = Event(), Event()
        self.may_go.set()

    def keep(self, owner: Owner) -> None:
        """When the store may be written."""
        self.is_held.set()
        assert self.may_go.wait(PATIENCE_S)
        super().keep(owner)


def test_nobody_waits_for_a_store_behind_who_renews(clock: ManualClock) -> None:
    """An event loop begins and ends runs meanwhile."""
    claims = SlowClaims()
    ours = keeper(claims, clock)
    lease = at_once(ours.take_steps("r"))
    claims.is_held.clear()
    claims.may_go.clear()
    renewing = Thread(target=ours.renew, daemon=True)
    renewing.start()
    assert claims.is_held.wait(PATIENCE_S)

    assert in_time(lease.release, lambda: at_once(ours.take_steps("s")).release())
    assert renewing.is_alive()
    claims.may_go.set()
    renewing.join(PATIENCE_S)
    assert not renewing.is_alive()


class SlowSwaps(SharedClaims):
    """Its store is held by others while somebody claims one run anew."""

    slow = ""

    def __init__(self) -> None:
        super().__init__()
        self.is_held, self.may_go = Event(), Event()

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """When the store may be written."""
        if run_id == self.slow:
            self.is_held.set()
            assert self.may_go.wait(PATIENCE_S)
        return super().swap(run_id, was, now)


def test_nobody_waits_behind_who_claims_a_run_anew(clock: ManualClock) -> None:
    """Not who gives it back, in an event loop perhaps, and not who renews the claims on others.

    It is given back in the end.
    """
    claims = SlowSwaps()
    mine = keeper(claims, clock)
    lease, other = (at_once(mine.take_steps(name)) for name in ("slow", "other"))
    clock.advance(2 * CLOCK_S)
    claims.slow = "slow"
    claiming = Thread(target=lease.require, daemon=True)
    claiming.start()
    assert claims.is_held.wait(PATIENCE_S)

    assert in_time(mine.renew, lease.release)

    assert other.is_sure
    claims.may_go.set()
    claiming.join(PATIENCE_S)
    claim = claims.find("slow")
    assert claim is not None
    assert (claim.owner, claim.epoch) == ("", 2)
    assert not lease.is_sure


def test_a_run_is_driven_by_one(claims: SharedClaims, clock: ManualClock) -> None:
    """The next one waits until it is given back, and has a higher epoch."""
    first, second = keeper(claims, clock), keeper(claims, clock)
    lease = at_once(first.take_steps("r"))
    with pytest.raises(RunBusyError) as busy:
        at_once(second.take_steps("r"))
    with pytest.raises(RunBusyError):
        at_once(second.require_free("r"))
    other = at_once(second.take_steps("another run"))
    lease.release()
    lease.release()
    at_once(second.require_free("r"))
    later = at_once(second.take_steps("r"))

    assert busy.value.owner == claims.owner(lease.claim.owner)
    assert (lease.claim.epoch, other.claim.epoch, later.claim.epoch) == (1, 1, 2)
    assert (busy.value.since, busy.value.until) == (1000.0, 1000.0 + CLOCK_S)


@pytest.mark.filterwarnings("ignore:unclosed database")  # what other tests have left in cycles
def test_one_process_does_not_drive_a_run_twice(claims: SharedClaims, clock: ManualClock) -> None:
    """A lease that nobody has any more is no reason to wait."""
    ours = keeper(claims, clock)
    lease = at_once(ours.take_steps("r"))
    with pytest.raises(RunBusyError):
        at_once(ours.take_steps("r"))
    del lease
    gc.collect()
    other = keeper(claims, clock)  # another handle of the same process on the same store
    at_once(other.require_free("r"))

    assert at_once(ours.take_steps("r")).claim.epoch == 2


def test_who_falls_silent_loses_the_run_after_its_time(
    claims: SharedClaims, clock: ManualClock
) -> None:
    """And finds that out before it does anything more."""
    first, second = keeper(claims, clock), keeper(claims, clock)
    lease = at_once(first.take_steps("r"))
    clock.advance(CLOCK_S - 0.1)
    with pytest.raises(RunBusyError):
        at_once(second.take_steps("r"))
    clock.advance(0.1)
    taken = at_once(second.take_steps("r"))

    with pytest.raises(RunBusyError) as lost:
        lease.require()
    assert not lease.is_sure
    assert lost.value.owner == claims.owner(taken.claim.owner)
    lease.release()
    assert claims.find("r") == taken.claim
    taken.require()


def test_who_falls_silent_and_comes_back_first_keeps_the_run(
    claims: SharedClaims, clock: ManualClock
) -> None:
    """By a claim of its own, so that who has seen the old one lapse comes too late."""
    first, second = keeper(claims, clock), keeper(claims, clock)
    lease, others = at_once(first.take_steps("r")), at_once(first.take_steps("s"))
    seen = claims.find("r")
    clock.advance(2 / 3 * CLOCK_S)
    was_sure = lease.is_sure
    lease.require()
    lease.require()
    others.require()

    assert (lease.claim.epoch, others.claim.epoch) == (2, 2)
    assert (was_sure, lease.is_sure) == (False, True)
    assert lease.claim.since == 1000.0
    assert not claims.swap("r", seen, Claim("other", 2, 1010.0))
    with pytest.raises(RunBusyError):
        at_once(second.take_steps("r"))


def test_what_is_renewed_does_not_lapse(claims: SharedClaims, clock: ManualClock) -> None:
    """As often as it is, and without another claim."""
    first, second = keeper(claims, clock), keeper(claims, clock)
    lease = at_once(first.take_steps("r"))
    for _ in range(10):
        clock.advance(CLOCK_S / 3)
        first.renew()
        assert lease.is_sure
    with pytest.raises(RunBusyError):
        at_once(second.take_steps("r"))
    lease.release()

    assert lease.claim.epoch == 1
    assert first.rest()


def test_a_store_that_is_away_for_a_moment_costs_nothing(
    claims: SharedClaims, clock: ManualClock
) -> None:
    """What could not be renewed or given back is so the next time."""
    first, second = keeper(claims, clock), keeper(claims, clock)
    lease, left = at_once(first.take_steps("r")), at_once(first.take_steps("s"))
    claims.fails = 2
    left.release()
    clock.advance(CLOCK_S / 3)
    with pytest.raises(JournalError, match="away"):
        first.renew()
    assert lease.is_sure
    clock.advance(CLOCK_S / 12)
    first.renew()

    assert at_once(second.take_steps("s")).claim.epoch == 2
    with pytest.raises(RunBusyError):
        at_once(second.take_steps("r"))
    clock.advance(CLOCK_S / 2)
    assert lease.is_sure


def test_a_store_that_stays_away_leaves_nobody_sure(
    claims: SharedClaims, clock: ManualClock
) -> None:
    """The look before a tool says so."""
    lease = at_once(keeper(claims, clock).take_steps("r"))
    claims.fails = 100
    clock.advance(CLOCK_S)

    with pytest.raises(JournalError, match="away"):
        lease.require()


def test_what_may_have_lapsed_is_claimed_anew_when_the_store_is_back(
    claims: SharedClaims, clock: ManualClock
) -> None:
    """Not renewed: somebody may just have seen it lapse. What is lost is renewed no more."""
    first, second = keeper(claims, clock), keeper(claims, clock)
    kept, lost = at_once(first.take_steps("r")), at_once(first.take_steps("s"))
    seen = claims.find("r")
    clock.advance(CLOCK_S)
    taken = at_once(second.take_steps("s"))
    first.renew()

    assert (kept.claim.epoch, kept.is_sure, lost.is_sure) == (2, True, False)
    assert not claims.swap("r", seen, Claim("other", 2, 1.0))
    assert claims.find("s") == taken.claim
    with pytest.raises(RunBusyError):
        lost.require()
    assert not first.rest()
    kept.release()
    assert first.rest()


def test_a_claim_whose_answer_was_lost_is_no_burden(clock: ManualClock) -> None:
    """It was written, and the store failed behind it."""

    class Mute(SharedClaims):
        is_mute = False

        def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
            """Written, once without an answer."""
            done = super().swap(run_id, was, now)
            if self.is_mute:
                self.is_mute = False
                raise JournalError("no answer")
            return done

    claims = Mute()
    first, second = keeper(claims, clock), keeper(claims, clock)
    claims.is_mute = True
    with pytest.raises(JournalError, match="no answer"):
        at_once(first.take_steps("r"))
    first.renew()
    assert claims.find("r") == Claim("", 1, 1000.0)
    lease = at_once(second.take_steps("r"))
    clock.advance(CLOCK_S)
    claims.is_mute = True
    with pytest.raises(JournalError, match="no answer"):
        lease.require()
    second.renew()

    assert (lease.is_sure, claims.find("r")) == (True, lease.claim)
    lease.release()
    assert at_once(first.take_steps("r")).claim.epoch > lease.claim.epoch


def test_a_lease_that_was_given_back_is_not_relied_on(
    claims: SharedClaims, clock: ManualClock
) -> None:
    """A loop that goes on with it claims the run anew, or leaves it to whoever has it now."""
    first, second = keeper(claims, clock), keeper(claims, clock)
    lease = at_once(first.take_steps("r"))
    lease.release()
    was_sure = lease.is_sure
    lease.require()
    assert (was_sure, lease.is_sure, lease.claim.epoch) == (False, True, 2)
    lease.release()
    taken = at_once(second.take_steps("r"))

    with pytest.raises(RunBusyError):
        lease.require()
    taken.require()
    taken.release()
    assert claims.find("r") == evolve(taken.claim, owner="")


def test_what_is_given_back_while_others_are_claimed_anew_stays_so(clock: ManualClock) -> None:
    """The thread has seen that it was held; whoever had it may keep the lease for long."""

    class Watched(SharedClaims):
        left: Lease | None = None

        def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
            """In the middle of it, another run is given back."""
            left, self.left = self.left, None
            if left is not None:
                left.release()
            return super().swap(run_id, was, now)

    claims = Watched()
    first, second = keeper(claims, clock), keeper(claims, clock)
    kept, left = at_once(first.take_steps("r")), at_once(first.take_steps("s"))
    clock.advance(CLOCK_S)
    claims.left = left
    first.renew()

    assert (kept.is_sure, left.is_sure) == (True, False)
    assert at_once(second.take_steps("s")).is_sure


def test_nobody_is_sure_of_a_claim_before_it_is_taken(clock: ManualClock) -> None:
    """A driver may look while the thread claims its run anew, or another lease takes it again."""
    looks = list[bool]()

    class Watched(SharedClaims):
        lease: Lease | None = None

        def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
            """The driver looks in the middle of it."""
            if self.lease is not None:
                looks.append(self.lease.is_sure)
            return super().swap(run_id, was, now)

    claims = Watched()
    ours = keeper(claims, clock)
    claims.lease = lease = at_once(ours.take_steps("r"))
    clock.advance(CLOCK_S)
    ours.renew()
    lease.release()
    lease.require()

    assert (looks, lease.is_sure) == ([False, False, False], True)


def test_who_is_late_does_not_stop_who_was_faster(claims: SharedClaims, clock: ManualClock) -> None:
    """In the same process, where both are of one owner."""
    ours = keeper(claims, clock)
    late = at_once(ours.take_steps("r"))
    clock.advance(CLOCK_S)
    faster = at_once(ours.take_steps("r", take_over=True))

    with pytest.raises(RunBusyError):
        late.require()
    assert (late.is_sure, faster.is_sure, ours.rest()) == (False, True, False)


def test_a_run_that_is_just_being_claimed_is_not_taken_for_dropped(clock: ManualClock) -> None:
    """By another handle of the same process, between the claim and the lease."""

    class Watched(SharedClaims):
        rival: Keeper | None = None

        def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
            """A rival looks at once."""
            done, rival, self.rival = super().swap(run_id, was, now), self.rival, None
            if rival is not None:
                with pytest.raises(RunBusyError):
                    at_once(rival.take_steps(run_id))
            return done

    claims = Watched()
    claims.rival = keeper(claims, clock)

    assert at_once(keeper(claims, clock).take_steps("r")).is_sure


@pytest.mark.parametrize("passes", [0.0, 0.001])
def test_of_two_who_claim_a_run_at_once_one_has_it(passes: float, clock: ManualClock) -> None:
    """In the same process: the other gets nothing, and takes nothing from who has it."""
    others = list[Steps[Lease]]()

    class Together(SharedClaims):
        def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
            """Another handle of this process is just as far."""
            if not others:
                clock.advance(passes)
                other = ours.take_steps(run_id, is_new=True)
                others.append(going_on(other, next(other)))
            return super().swap(run_id, was, now)

    ours = keeper(Together(), clock)
    first = at_once(ours.take_steps("r", is_new=True))
    with pytest.raises(RunBusyError):
        at_once(others[0])

    assert first.is_sure
    with pytest.raises(RunBusyError):
        at_once(ours.take_steps("r"))


def going_on(steps: Steps[Lease], wait: Wait) -> Steps[Lease]:
    """The steps from a wait on."""
    while True:
        wait = steps.send((yield wait))


def test_a_lease_that_was_dropped_is_given_back(claims: SharedClaims, clock: ManualClock) -> None:
    """By the thread, so that other processes need not wait for the end of this one."""
    first = keeper(claims, clock)
    dropped = at_once(first.take_steps("r")).claim
    gc.collect()
    first.renew()

    assert claims.find("r") == evolve(dropped, owner="")


def test_a_run_may_be_taken_from_the_living(claims: SharedClaims, clock: ManualClock) -> None:
    """Whoever had it does not give it back."""
    first, second = keeper(claims, clock), keeper(claims, clock)
    lease = at_once(first.take_steps("r"))
    taken = at_once(second.take_steps("r", take_over=True))
    lease.release()

    assert (taken.claim.epoch, claims.find("r")) == (2, taken.claim)


def test_a_claim_that_somebody_else_takes_first_is_looked_at_again(clock: ManualClock) -> None:
    """Between the look at it and taking it."""

    class Fast(SharedClaims):
        rival: Owner | None = None

        def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
            """A rival is there, once."""
            if self.rival is not None:
                self._claims[run_id] = Claim(self.rival.id, 1, 1000.0)
                self._owners[self.rival.id], self.rival = self.rival, None
            return super().swap(run_id, was, now)

    claims = Fast()
    claims.rival = Owner("rival", "elsewhere", 1, "", 1e9)

    with pytest.raises(RunBusyError) as busy:
        at_once(keeper(claims, clock).take_steps("r"))
    assert busy.value.owner == Owner("rival", "elsewhere", 1, "", 1e9)


def test_a_process_that_has_ended_drives_nothing(claims: SharedClaims, clock: ManualClock) -> None:
    """On this machine that is known at once, also before anybody has waited for it."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        there = evolve(this_process("other", 2000.0), pid=process.pid, started=started(process.pid))
        claims.keep(there)
        claims.swap("r", None, Claim("other", 1, 1000.0))
        with pytest.raises(RunBusyError, match=f"process {process.pid} on "):
            at_once(keeper(claims, clock).take_steps("r"))
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it stays in the table
        is_known_unreaped = has_ended(there)

    assert is_known_unreaped
    assert has_ended(there)
    assert at_once(keeper(claims, clock).take_steps("r")).claim.epoch == 2


def started(pid: int) -> str:
    text = Path(f"/proc/{pid}/stat").read_text() if Path("/proc").exists() else ") " + "0 " * 20
    return text.rpartition(")")[2].split()[19]


def test_of_other_machines_nothing_is_known() -> None:
    """Nor is a process that took the number of another one taken for it."""
    this = this_process("me", 0.0)

    assert not has_ended(this)
    assert not has_ended(evolve(this, host="elsewhere", pid=2**22))
    assert has_ended(evolve(this, started="0"))


def test_a_fork_does_not_drive_what_its_parent_does(
    claims: SharedClaims, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the lease, but the run is not its own."""
    lease = at_once(keeper(claims, clock).take_steps("r"))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(RunBusyError):
        lease.require()
    lease.release()
    monkeypatch.undo()

    assert claims.find("r") == lease.claim
    assert lease.is_sure


def test_in_memory_no_claim_lapses(clock: ManualClock) -> None:
    """A store that ends with its process need not be told that it lives."""
    claims = MemoryClaims()
    lease = at_once(keeper(claims, clock).take_steps("r"))
    clock.advance(1e6)

    assert lease.is_sure


def test_claims_are_renewed_while_a_run_is_driven() -> None:
    """By a thread, which no failure of the store ends, and which ends when nothing is driven."""

    class Broken(SharedClaims):
        def keep(self, owner: Owner) -> None:
            """Fail in a way that no store should, once it is told to."""
            if self.fails:
                self.fails -= 1
                raise RuntimeError("a bug of the store")
            super().keep(owner)

    claims = Broken()
    ours = Keeper(claims, 0.06)
    lease = at_once(ours.take_steps("r"))
    first = claims.owner(lease.claim.owner)
    thread = ours._thread
    assert first is not None
    assert thread is not None
    claims.fails = 1
    while (later := claims.owner(lease.claim.owner)) is None or later.until <= first.until:
        pass
    lease.release()
    thread.join(10)

    assert (claims.fails, thread.is_alive()) == (0, False)
    assert at_once(ours.take_steps("r")) is not None
    assert ours._thread is not thread


def test_a_keeper_that_nobody_has_ends_its_thread() -> None:
    """Or its store would stay open."""
    ours = Keeper(SharedClaims(), 3600.0)
    at_once(ours.take_steps("r"))
    thread = ours._thread
    assert thread is not None
    del ours
    gc.collect()
    thread.join(10)

    assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("kind", [DirectoryJournal, SQLiteJournal])
def test_an_agent_from_before_a_fork_drives_runs_behind_it(
    kind: type[SQLiteJournal | DirectoryJournal], tmp_path: Path
) -> None:
    """As in a server that loads its application before it forks its workers."""

    @tool
    def touch() -> str:
        """Touch."""
        return "touched"

    agent = Agent(
        chat_generator=ScriptedChatGenerator(*3 * (ToolCall("touch"), "done")),
        tools=[touch],
        journal=kind(tmp_path / "runs"),
    )
    agent.run("before", run_id="before")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if agent.run("behind", run_id="behind").text == "done" else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)

    assert status == 0
    assert agent.run("after", run_id="after").text == "done"


def test_a_run_is_free_although_the_error_of_its_beginning_is_kept(tmp_path: Path) -> None:
    """The frames of an error hold what was there when it was raised."""
    agent = Agent(
        chat_generator=ScriptedChatGenerator("done"), journal=SQLiteJournal(tmp_path / "runs.db")
    )
    agent.begin("hi", run_id="r")
    with pytest.raises(TypeError) as kept:
        agent.resume("r", streaming_callback="no function")  # type: ignore[arg-type]  # on purpose

    assert agent.resume("r").text == "done"
    assert kept.value.__traceback__ is not None


def test_a_machine_that_has_slept_is_not_sure(
    claims: SharedClaims, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time of day may stand where it stood."""
    lease = at_once(keeper(claims, clock).take_steps("r"))
    now = run_time()
    monkeypatch.setattr(leases, "run_time", lambda: now + CLOCK_S)

    assert not lease.is_sure


def test_what_could_not_be_given_back_is_free_in_this_process(
    claims: SharedClaims, clock: ManualClock
) -> None:
    """Whoever has released a lease does not drive, also where the store does not know it yet."""
    lease = at_once(keeper(claims, clock).take_steps("r"))
    claims.fails = 1
    lease.release()

    assert at_once(keeper(claims, clock).take_steps("r")).claim.epoch == 2
    assert not lease.is_sure


def test_a_process_of_our_number_elsewhere_is_not_this_one(
    claims: SharedClaims, clock: ManualClock
) -> None:
    """Numbers mean something on one machine only."""
    claims.keep(Owner("other", "elsewhere", os.getpid(), "", 2000.0))
    claims.swap("r", None, Claim("other", 1, 1000.0))

    with pytest.raises(RunBusyError):
        at_once(keeper(claims, clock).take_steps("r"))


@pytest.mark.parametrize("colour", ["blocking", "asyncio"])
def test_no_tool_is_called_under_a_claim_that_is_lost(
    colour: str, claims: SharedClaims, clock: ManualClock
) -> None:
    """It is looked at right before, by both drivers."""
    called = list[str]()

    @tool
    def touch() -> str:
        """Touch."""
        called.append("touch")
        return "touched"

    lease = at_once(keeper(claims, clock).take_steps("r"))
    ports = EffectPerformer(ScriptedChatGenerator("-"), FunctionToolExecutor(), lease=lease)
    call = RunTool(CallRef(1, 0), 1, ToolCall("touch"), touch, State({}))
    ports.perform(call)
    clock.advance(CLOCK_S)
    at_once(keeper(claims, clock).take_steps("r"))

    def perform() -> object:
        is_blocking = colour == "blocking"
        return ports.perform(call) if is_blocking else asyncio.run(ports.perform_async(call))

    with pytest.raises(RunBusyError):
        perform()
    assert called == ["touch"]


def test_a_run_that_went_on_before_it_was_claimed_is_read_again() -> None:
    """Between the first look at it and the claim another process may have finished it."""
    journal = MemoryJournal()

    def agent() -> Agent[State]:
        return Agent(chat_generator=ScriptedChatGenerator("done"), journal=journal)

    class Late(MemoryClaims):
        is_late = False

        def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
            """Somebody else is faster, and done."""
            if self.is_late:
                self.is_late = False
                agent().resume(run_id)
            return super().swap(run_id, was, now)

    journal.claims = claims = Late()
    agent().begin("hi", run_id="r")
    claims.is_late = True
    length = len(journal.read("r")) + 1

    assert agent().resume("r").text == "done"
    assert len(journal.read("r")) == length


def test_a_run_whose_driving_fails_is_free_although_the_error_is_kept() -> None:
    """What raises in the middle has the handle in its frames."""
    journal = MemoryJournal()

    def fail(before: object, event: object, after: object) -> None:
        raise RuntimeError("an observer fails")

    failing = Agent(chat_generator=ScriptedChatGenerator("done"), journal=journal, observers=[fail])
    with pytest.raises(RuntimeError, match="an observer fails") as kept:
        failing.run("hi", run_id="r")
    other = Agent(chat_generator=ScriptedChatGenerator("done"), journal=journal)

    assert other.resume("r").text == "done"
    assert kept.value.__traceback__ is not None


def test_a_session_without_its_handle_still_drives_the_run(tmp_path: Path) -> None:
    """Whoever can write to the run has not dropped it."""
    agent = Agent(
        chat_generator=ScriptedChatGenerator("done"), journal=SQLiteJournal(tmp_path / "runs.db")
    )
    session = agent.begin("hi", run_id="r").session
    with pytest.raises(RunBusyError):
        agent.resume("r")
    del session

    assert agent.resume("r").text == "done"


def test_a_thread_that_ends_leaves_nothing_to_renew(claims: SharedClaims) -> None:
    """A run that begins while it ends gets a thread of its own."""
    ours = Keeper(claims, 3600.0)
    at_once(ours.take_steps("r")).release()
    first = ours._thread
    assert ours.rest()
    lease = at_once(ours.take_steps("s"))

    assert not ours.rest()
    assert ours._thread not in {None, first}
    lease.release()


def test_a_run_that_another_process_has_begun_exists(tmp_path: Path) -> None:
    """Who begins it once more is told so, also while it is driven."""
    journal = SQLiteJournal(tmp_path / "runs.db")
    agent = Agent(chat_generator=ScriptedChatGenerator("done"), journal=journal)
    handle = agent.begin("hi", run_id="r")
    with pytest.raises(RunExistsError):
        agent.run("hi", run_id="r")
    handle.result()
    with pytest.raises(RunExistsError):
        agent.run("hi", run_id="r")

    assert agent.resume("r").text == "done"


def test_a_name_of_a_process_that_is_cut_within_a_character_does_no_harm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kernel cuts names after fifteen bytes."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_bytes(b"7 (worker)-\xc3) S " + b" ".join([b"5"] * 30))
    monkeypatch.setattr(processes, "PROC", tmp_path)
    monkeypatch.setattr(os, "getpid", lambda: 7)

    assert this_process("me", 0.0).started == "5"


def test_a_full_disk_leaves_the_claim_that_was_there(tmp_path: Path) -> None:
    """What was cut off in the middle was never written."""
    claims = DirectoryJournal(tmp_path).claims
    first, second = Claim("me", 7, 1.5), Claim("you", 8, 2.5)
    claims.swap("r", None, first)
    with (tmp_path / "claims" / "r.claim").open("ab") as file:
        file.write(b'{"crc32":"0123')

    assert claims.find("r") == first
    assert claims.swap("r", first, second)
    assert claims.find("r") == second


@pytest.mark.parametrize("kind", [DirectoryJournal, SQLiteJournal])
def test_all_agents_of_a_process_are_one_owner(kind: type, tmp_path: Path) -> None:
    """Of one store, with one time."""
    journal = kind(tmp_path / "runs")
    ours = keeper_of(journal, 15.0)

    assert ours is keeper_of(journal, 15.0)
    assert ours is not keeper_of(journal, 20.0)
    assert ours is not keeper_of(kind(tmp_path / "runs"), 15.0)


def test_a_journal_without_claims_has_no_keeper() -> None:
    """A simple store still works: two processes are kept apart by each append alone."""
    simple = MemoryJournal()
    del simple.claims

    assert keeper_of(simple, 15.0) is None
    assert keeper_of(MemoryJournal(), 15.0) is not None


def test_one_can_wait_for_a_run() -> None:
    """Up to a time, and not at all without one."""
    clock, looks = JumpingClock(1000.0), list[float]()

    def attempt() -> str:
        looks.append(clock.now())
        if clock.now() < 1005:
            raise RunBusyError("r", Claim("o", 1, 0.0), None)
        return "free"

    async def attempt_async() -> str:
        return attempt()

    with pytest.raises(RunBusyError):
        when_free(attempt, clock, 0)
    with pytest.raises(RunBusyError):
        when_free(attempt, clock, 4.5)
    assert when_free(attempt, clock, 60) == "free"
    assert looks[:4] == [1000.0, 1000.0, 1000.05, 1000.15]
    assert clock.now() < 1006
    clock = JumpingClock(1000.0)
    with pytest.raises(RunBusyError):
        asyncio.run(when_free_async(attempt_async, clock, 4.5))
    assert asyncio.run(when_free_async(attempt_async, clock, float("inf"))) == "free"


def test_a_driver_whose_claim_is_deleted_begins_no_further_tool(tmp_path: Path) -> None:
    """In files anybody can delete it: others may have had the run since, and may have it now."""
    journal = DirectoryJournal(tmp_path / "runs")
    begun = list[str]()

    @tool
    def first() -> str:
        """Somebody cleans up."""
        begun.append("first")
        for claim in (tmp_path / "runs").rglob("*.claim"):
            claim.unlink()
        return "done"

    @tool
    def second() -> str:
        """What would be doubled."""
        begun.append("second")
        return "done"

    model = ScriptedChatGenerator(ToolCall("first", id="a"), ToolCall("second", id="b"))
    agent = Agent(chat_generator=model, tools=[first, second], journal=journal)

    with pytest.raises(RunBusyError, match="driven by another process"):
        agent.run("go", run_id="r")

    assert begun == ["first"]
    later = agent.evolve(chat_generator=ScriptedChatGenerator("Done."))
    assert later.resume("r").text == "Done."
    assert begun == ["first", "second"]


def test_a_driver_whose_run_is_taken_over_begins_no_further_tool(tmp_path: Path) -> None:
    """In a directory it looks for itself, though its time has not lapsed."""
    claims = DirectoryJournal(tmp_path / "runs").claims
    one, other = Keeper(claims, CLOCK_S), Keeper(claims, CLOCK_S)
    lease = at_once(one.take_steps("r"))
    assert lease.may_begin
    taken = at_once(other.take_steps("r", take_over=True))
    assert (lease.may_begin, taken.may_begin) == (False, True)
    with pytest.raises(RunBusyError):
        lease.require()


def test_whoever_cannot_claim_tries_whether_the_store_takes_anything(clock: ManualClock) -> None:
    """Whose claim was lost to somebody faster need not: that store has been written to."""
    claims = SharedClaims()
    ours, theirs = keeper(claims, clock), keeper(claims, clock)
    theirs.writes.prove()
    lease = at_once(ours.take_steps("r"))
    owners = dict(claims._owners)
    with pytest.raises(RunBusyError):
        at_once(theirs.take_steps("r"))
    assert not theirs.writes.have_failed
    theirs.writes.prove()
    assert claims._owners == owners

    claims.fails = 3
    with pytest.raises(JournalError):
        at_once(theirs.take_steps("s"))
    for _ in range(2):
        with pytest.raises(JournalError):
            theirs.writes.prove()
        assert theirs.writes.have_failed
    theirs.writes.prove()
    assert not theirs.writes.have_failed
    (tried,) = claims._owners.keys() - owners.keys()
    assert not is_held(Claim(tried, 1, 0.0), claims.owner(tried), clock.now())
    lease.release()
