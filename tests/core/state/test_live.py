"""The live state that a tool gets: it reads its own writes, loses none, and ends with the call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

import pytest

from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.core.errors import StateError
from detent.core.state.fields import Appended
from detent.core.state.handlers import replace_values
from detent.core.state.keys import Write
from detent.core.state.live import PendingWrites, live_state
from detent.core.state.state import BaseState, State


class Research(TypedState):
    """The state of an agent."""

    reader = Replaced("")
    queries = Appended[str]()


class MoreResearch(Research):
    """A state that has all of the other."""

    notes = Appended[str]()


@dataclass
class Draft:
    """Something that can be changed."""

    lines: list[str]


class Drafts(TypedState):
    """A state that holds something that can be changed."""

    draft = Replaced(Draft([]))


class Other(TypedState):
    """The state of another agent."""

    reader = Replaced("")


START = MoreResearch(MoreResearch.reader.put("Ada"), MoreResearch.queries.put(["first"]))


def live(start: BaseState = START) -> tuple[PendingWrites, State]:
    """A live state with string keys, and what it writes to."""
    ledger = PendingWrites(start)
    return ledger, cast(State, live_state(ledger, State))


def typed() -> tuple[PendingWrites, MoreResearch]:
    """A live state of the class style, and what it writes to."""
    ledger = PendingWrites(START)
    return ledger, cast(MoreResearch, live_state(ledger, Research))


def test_it_is_a_state_of_the_class_that_was_asked_for() -> None:
    """String keys work on the data of any run; a schema class needs a run of its own."""
    _, loose = live()
    _, research = typed()
    assert isinstance(loose, State)
    assert isinstance(research, MoreResearch)
    assert loose.get("reader") == research.reader == "Ada"
    assert loose.has("queries")
    assert not loose.has("notes")
    assert loose.schema["queries"]["type"] == list[str]
    assert dict(loose.data) == dict(START.data)
    assert loose.messages == []
    with pytest.raises(StateError, match="wants a Other, and the run has a MoreResearch"):
        live_state(PendingWrites(START), Other)
    with pytest.raises(StateError, match="wants a Research, and the run has a State"):
        live_state(PendingWrites(State({})), Research)


def test_reads_see_its_own_writes() -> None:
    """At once, in both styles of writing."""
    _, state = typed()
    state.set(Research.queries, ["second"])
    state = state.set(Research.queries, ["third"])
    assert state.queries == ["first", "second", "third"]
    assert START.queries == ["first"]


def test_every_write_is_kept_in_order() -> None:
    """Whether the tool uses what `set` gives back or not, and with handlers of its own."""
    ledger, state = live()

    def joined(current: str, update: str) -> str:
        return f"{current}-{update}"

    state.set("reader", "Bob", handler_override=joined)
    state = state.set("queries", ["second"])
    state.set("queries", ["third"])
    state.update([Write("reader", "Eve"), Write("queries", ["fourth"])])
    assert state.get("reader") == "Eve"
    assert ledger.end() == (
        Write("reader", "Bob", joined),
        Write("queries", ["second"]),
        Write("queries", ["third"]),
        Write("reader", "Eve"),
        Write("queries", ["fourth"]),
    )


def test_a_lambda_may_override_the_handler() -> None:
    """It works on what the state then holds."""
    ledger, state = live()
    state.set("queries", ["more"], handler_override=lambda current, update: [*update, *current])
    assert state.get("queries") == ["more", "first"]
    folded = START.set(Research.queries, ["elsewhere"]).update(ledger.end())
    assert folded.queries == ["more", "first", "elsewhere"]


def test_a_write_is_what_it_was_when_it_was_made() -> None:
    """What the tool does to its list afterwards changes nothing."""
    ledger, state = live()
    mine = ["second"]
    state.set("queries", mine)
    mine.append("third")
    assert state.get("queries") == ["first", "second"]
    assert ledger.end() == (Write("queries", ["second"]),)


def test_a_write_that_does_not_fit_is_refused_at_once() -> None:
    """And is not kept; nor is any that came with it."""
    ledger, state = live()
    with pytest.raises(StateError, match="did you mean 'queries'"):
        state.set("querys", ["x"])
    with pytest.raises(StateError, match="queries"):
        state.update([Write("reader", "Bob"), Write("queries", [1])])
    assert state.get("reader") == "Ada"
    assert ledger.end() == ()


def test_it_cannot_be_used_once_the_call_has_ended() -> None:
    """A thread that outlives its tool is told, rather than heard."""
    ledger, state = live()
    state.set("queries", ["second"])
    written = ledger.end()
    for use in (lambda: state.get("reader"), lambda: state.data, lambda: state.set("reader", "x")):
        with pytest.raises(StateError, match="has ended"):
            use()
    assert ledger.end() == written


def test_a_write_in_the_middle_of_another_is_kept() -> None:
    """Whichever of the two is done first."""
    ledger, state = live()

    def interrupted(current: list[str], update: list[str]) -> list[str]:
        if not ledger._writes:
            state.set("queries", ["second"])
        return [*current, *update]

    state.set("queries", ["third"], handler_override=interrupted)
    assert state.get("queries") == ["first", "second", "third"]
    assert [write.value for write in ledger.end()] == [["second"], ["third"]]


def test_threads_of_one_tool_lose_no_write() -> None:
    """They may all write to the one state they share."""
    ledger, state = live()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: state.set("queries", [str(number)]), range(200)))
    assert sorted(map(int, state.get("queries")[1:])) == list(range(200))
    assert len(ledger.end()) == 200


class Overtaken(list[Write]):
    """Another thread writes as soon as somebody has looked how many writes there are."""

    theirs: tuple[Write, ...] = ()

    def __len__(self) -> int:
        """How many there were."""
        count = super().__len__()
        theirs, self.theirs = self.theirs, ()
        self.extend(theirs)
        return count


def test_what_another_thread_writes_right_behind_a_write_is_seen() -> None:
    """It is not in the state that was made of the writes before."""
    ledger, state = live()
    writes = ledger._writes = Overtaken()
    writes.theirs = (Write("queries", ["theirs"]),)

    state.set("queries", ["ours"])

    assert state.get("queries")[1:] == ["ours", "theirs"]
    assert len(ledger.end()) == 2


def test_it_prints_and_compares_as_a_state() -> None:
    """A tool may log it, and who has kept it, a spy say, when the call has ended."""
    ledger, state = typed()
    assert state == START
    assert repr(state) == repr(START)
    state.set(MoreResearch.reader, "Bob")
    ledger.end()
    assert repr(state) == repr(START.set(MoreResearch.reader, "Bob"))
    assert type(state).__name__ == "MoreResearch"
    with pytest.raises(AttributeError):
        state.reader = "Bob"  # type: ignore[assignment]  # the mistake


def test_what_is_written_and_read_is_a_copy() -> None:
    """A tool cannot change what the state holds but by writing to it."""
    ledger = PendingWrites(Drafts())
    state = cast(Drafts, live_state(ledger, Drafts))
    draft = Draft(["first"])
    state.set(Drafts.draft, draft)
    draft.lines.append("second")
    state.draft.lines.append("third")
    assert state.draft == Draft(["first"])
    assert ledger.end() == (Write("draft", Draft(["first"])),)


def test_a_key_of_another_schema_is_refused() -> None:
    """Though it has the name and the type of a key of this one."""
    ledger, state = typed()
    with pytest.raises(StateError, match="'reader' is a key of another schema"):
        state.set(Other.reader, "Bob")
    with pytest.raises(StateError, match="'reader' is a key of another schema"):
        state.update([Other.reader.put("Bob")])
    assert ledger.end() == ()


def test_one_write_may_have_a_handler_of_its_own() -> None:
    """It is merged by that, now and when the run takes it over."""
    ledger, state = typed()
    state.set(MoreResearch.queries, ["only"], replace_values)
    assert state.queries == ["only"]
    assert START.update(ledger.end()).queries == ["only"]
