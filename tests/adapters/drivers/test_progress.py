"""Watching a run that others drive: every entry once, in order, as it is written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from detent import (
    Agent,
    AlwaysAskPolicy,
    Breakpoint,
    BreakpointException,
    ChatGeneratorError,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    StoredDataError,
    ToolCall,
    tool,
)
from detent.adapters.drivers.loading import FORGOTTEN
from detent.journals import Entry, Journal, JournalDamagedError, RunNotFoundError
from detent.machine import HumanDecided, ModelFailed, ToolStarted
from detent.models import ModelFailure
from detent.testing import JumpingClock

Seen: TypeAlias = list[Any]
Reader: TypeAlias = Callable[..., Seen]
"""Reads what is given of a watched run, up to the first item that `until` fits, into `seen`."""


def blocking(runs: Runs[Any], *args: Any, seen: Seen | None = None, **options: Any) -> Seen:
    seen = [] if seen is None else seen
    for one in runs.watch(*args, **options):
        seen.append(one)
    return seen


def async_(runs: Runs[Any], *args: Any, seen: Seen | None = None, **options: Any) -> Seen:
    seen = [] if seen is None else seen

    async def read() -> None:
        async for one in runs.watch_async(*args, **options):
            seen.append(one)

    asyncio.run(read())
    return seen


@pytest.fixture(params=[blocking, async_])
def read(request: pytest.FixtureRequest) -> Reader:
    """Every behaviour below holds for both."""
    reader: Reader = request.param
    return reader


@tool
def pay(n: int) -> str:
    """Pay."""
    return f"paid {n}"


def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """Pay twice, then say so."""
    paid = sum(1 for message in messages if message.tool_calls)
    if paid == 2:
        return "done"
    return ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {"n": paid}, f"c{paid}")])


def agent_of(*script: Any, journal: Journal, **options: Any) -> Agent[Any]:
    chat = ScriptedChatGenerator(*(script or [answer] * 3))
    return Agent(chat_generator=chat, tools=[pay], journal=journal, model_retries=0, **options)


class BusyClock(JumpingClock):
    """While somebody waits on it, others do something: one thing in each wait."""

    def __init__(self, *deeds: Callable[[], object]) -> None:
        super().__init__()
        self.deeds = list(deeds)
        self.waits: list[float] = []

    def wait(self, until: float, dropped: threading.Event) -> None:
        """Let the next one act."""
        assert len(self.waits) < 99, "nothing more will come"
        self.waits.append(round(until - self.now(), 3))
        super().wait(until, dropped)
        if self.deeds:
            self.deeds.pop(0)()


def runs_of(journal: Journal, *deeds: Callable[[], object]) -> Runs[Any]:
    return Runs(journal, agent_of(journal=journal).spec, clock=BusyClock(*deeds))


def journal_with(*script: Any, run_id: str = "r") -> MemoryJournal:
    """A journal with one run."""
    journal = MemoryJournal()
    agent_of(*script, journal=journal).run("go", run_id=run_id)
    return journal


def appending(journal: Journal, entries: Iterable[Entry]) -> Callable[[], object]:
    return lambda: journal.append("r", list(entries))


def growing(whole: Sequence[Entry], sizes: Sequence[int]) -> tuple[Journal, Seen]:
    """A journal with the first entry of a run, and deeds that add the others, so many at a time."""
    journal, deeds, place = MemoryJournal(), [], 1
    journal.append("r", whole[:1])
    for size in [*sizes, len(whole)]:
        if some := whole[place : place + size]:
            deeds.append(appending(journal, some))
        place += size
    return journal, deeds


def test_what_is_written_is_seen_as_it_is_written(read: Reader) -> None:
    """With its event and the run as it was then, until the run has ended."""
    whole = list(journal_with().read("r"))
    journal, deeds = growing(whole, [1, 2, 1, 1])
    runs = runs_of(journal, *deeds)

    seen = read(runs, "r")

    shown = [(one.position, one.at, one.kind, one.status) for one in seen]
    assert shown == [(one.position, one.at, one.kind, one.status) for one in whole]
    assert [one.run for one in seen] == [runs.at("r", one.position + 1) for one in seen]
    assert [type(one.event).__name__ for one in seen] == ["NoneType", *(e.kind for e in whole[1:])]
    assert [one.event.attempt for one in seen if isinstance(one.event, ToolStarted)] == [1, 1]
    assert seen[-1].run.outcome is not None


JOURNAL = journal_with()
WHOLE = list(JOURNAL.read("r"))
EVERY = list(runs_of(JOURNAL).watch("r"))


@given(sizes=st.lists(st.integers(1, 4)), cuts=st.lists(st.integers(0, len(WHOLE) - 1)))
@pytest.mark.parametrize("is_async", [False, True])
def test_whoever_goes_on_after_a_position_misses_nothing(
    sizes: list[int], cuts: list[int], *, is_async: bool
) -> None:
    """However the entries come, and wherever the watcher leaves off and goes on."""
    journal, deeds = growing(WHOLE, sizes)
    runs, seen, after = runs_of(journal, *deeds), [], None

    async def some(cut: int | None) -> None:
        stream = runs.watch_async("r", after)
        async for one in stream:
            seen.append(one)
            if one.position == cut:
                await stream.aclose()

    for cut in [*sorted(set(cuts)), None]:
        if is_async:
            asyncio.run(some(cut))
        else:
            for one in runs.watch("r", after):
                seen.append(one)
                if one.position == cut:
                    break
        after = seen[-1].position

    assert [evolve(one, at=0) for one in seen] == [evolve(one, at=0) for one in EVERY]


def test_the_journal_is_looked_at_ever_more_rarely(read: Reader) -> None:
    """And often again once something has come; at last the watcher gives up, if it is to."""
    journal, _ = growing(WHOLE, [])
    nothing = [lambda: None] * 7
    runs = runs_of(journal, *nothing, appending(journal, WHOLE[1:2]))

    seen = read(runs, "r", timeout_s=4)

    waits = [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0]
    assert [one.position for one in seen] == [0, 1]
    assert isinstance(runs.clock, BusyClock)
    assert runs.clock.waits == [*waits, *waits, 0.74]  # together 4 seconds since it came


def test_a_watcher_can_leave_where_a_human_is_waited_for(read: Reader) -> None:
    """Or at a breakpoint; else it waits, and sees who decides."""
    journal = MemoryJournal()
    rules = {"pay": AlwaysAskPolicy()}
    agent = agent_of(journal=journal, confirmation_strategies=rules)
    with pytest.raises(HITLBreakpointException):
        agent.run("go", run_id="r")

    def confirm() -> None:
        for call in agent.pending("r"):
            agent.decide("r", call.confirm(by="Ada"))

    def go_on() -> None:
        with pytest.raises(HITLBreakpointException):
            agent.resume("r")

    clock = BusyClock(confirm, go_on, confirm, lambda: agent.resume("r"))
    runs = Runs(journal, agent.spec, clock=clock)
    first = read(runs, "r", until_waiting=True)
    assert (first[-1].kind, first[-1].status) == ("Judged", "waiting")
    assert read(runs, "r", first[-1].position, until_waiting=True) == []

    rest = read(runs, "r", first[-1].position)
    assert [one.event.by for one in rest if isinstance(one.event, HumanDecided)] == ["Ada", "Ada"]
    assert rest[-1].status == "done"

    with pytest.raises(BreakpointException):
        agent_of(journal=journal).run(
            "go", run_id="stopped", break_point=Breakpoint("chat_generator")
        )
    (start, stop) = read(runs, "stopped", until_waiting=True)
    assert (stop.kind, stop.event, stop.run) == ("Stopped", None, start.run)


def test_a_run_that_has_failed_is_over_unless_it_has_gone_on(read: Reader) -> None:
    """What comes behind a failure is seen as well."""
    journal = MemoryJournal()
    agent = agent_of(ChatGeneratorError(ModelFailure("bug", "no")), "done", journal=journal)
    with pytest.raises(ChatGeneratorError):
        agent.run("go", run_id="r")
    runs = runs_of(journal)

    failed = read(runs, "r")
    agent.resume("r")
    went_on = read(runs, "r", failed[-1].position)

    assert [type(one.event) for one in failed] == [type(None), ModelFailed]
    assert [one.kind for one in went_on] == ["Resumed", "ModelReplied"]
    assert read(runs, "r") == failed + went_on


def test_a_run_that_is_not_there_is_not_waited_for(read: Reader) -> None:
    """Neither is a position that it has not reached. The blocking form says so at once."""
    runs = runs_of(journal_with())

    with pytest.raises(RunNotFoundError):
        runs.watch("nobody")
    with pytest.raises(RunNotFoundError):
        read(runs, "nobody")
    with pytest.raises(ValueError, match=r"run 'r' has 8 entries: nothing is at position 8"):
        read(runs, "r", 8)
    with pytest.raises(ValueError, match="after is a position"):
        read(runs, "r", -1)
    assert read(runs, "r", 7) == []


def test_a_run_that_is_deleted_meanwhile_is_gone(read: Reader) -> None:
    """Also where another one has its id by then, and where it is about to be deleted."""
    forgotten = Entry(2, 0.0, FORGOTTEN, "done", {})
    other = list(journal_with("other").read("r"))
    for whole in (None, other, [*WHOLE[:2], forgotten]):
        journal, _ = growing(WHOLE, [])
        journal.append("r", WHOLE[1:2])
        seen: Seen = []

        def replace(whole: Any = whole, journal: Journal = journal) -> None:
            journal.delete("r")
            if whole is not None:
                journal.append("r", whole)

        with pytest.raises(RunNotFoundError, match="deleted while it was watched, after its entry"):
            read(runs_of(journal, replace), "r", seen=seen)
        assert [one.position for one in seen] == [0, 1]


def test_what_can_be_read_is_given_before_what_is_wrong(read: Reader) -> None:
    """A damaged entry, one that is missing, one that these rules make another run of."""

    class Damaged(MemoryJournal):
        def read(self, run_id: str, start: int = 0) -> Any:
            for entry in super().read(run_id, start):
                if entry.position == 4:
                    raise JournalDamagedError("a flipped bit")
                yield entry

    class Lacking(MemoryJournal):
        def read(self, run_id: str, start: int = 0) -> Any:
            return [one for one in super().read(run_id, start) if one.position != 4]

    broken = {
        Damaged(): "a flipped bit",
        Lacking(): "entry 4 is not there",
        MemoryJournal(): "rules",
    }
    odd = evolve(WHOLE[4], data={**WHOLE[4].data, "mark": "elsewhere"})
    for journal, wrong in broken.items():
        journal.append("r", [*WHOLE[:4], odd, *WHOLE[5:]] if wrong == "rules" else WHOLE)
        for after, given_ in ((None, [0, 1, 2, 3]), (3, [])):
            seen: Seen = []
            with pytest.raises((JournalDamagedError, StoredDataError), match=wrong):
                read(runs_of(journal), "r", after, seen=seen)
            assert [one.position for one in seen] == given_


def test_an_event_loop_is_not_kept_waiting() -> None:
    """The journal is read, and its entries are followed, in other threads."""
    readers: set[int] = set()

    class Noting(MemoryJournal):
        def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
            readers.add(threading.get_ident())
            return super().read(run_id, start)

        def checkpoints(self, run_id: str) -> Any:
            readers.add(threading.get_ident())
            return super().checkpoints(run_id)

    journal = Noting()
    journal.append("r", WHOLE)

    assert len(async_(runs_of(journal), "r")) == len(WHOLE)
    assert readers
    assert threading.get_ident() not in readers
