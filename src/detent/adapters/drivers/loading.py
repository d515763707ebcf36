"""Loading: a run comes back from what a journal has of it, as far as this agent can follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Generic, NamedTuple

from attrs import field, frozen

from detent.adapters.drivers.steps import Steps, answer, is_slow
from detent.core.control.holds import key_from_json
from detent.core.control.rebase import Folded, is_from_others
from detent.core.errors import AgentChangedError, DetentError, StoredDataError
from detent.core.machine.due import due
from detent.core.machine.step import step
from detent.core.run.effects import EffectKey
from detent.core.run.events import Event, ModelReplied
from detent.core.run.run import Acting, Done, Run, is_settled
from detent.core.run.sizes import are_long
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.core.storage.checkpoints import NO_CHECKPOINT, Known, join_chain, known_from
from detent.core.storage.journal import KINDS, event_of_kind, progress_mark
from detent.core.storage.snapshot import (
    SnapshotMismatchError,
    misfits,
    overrulings,
    passing_snapshot,
    run_of,
)
from detent.core.values.frozen import FrozenDict
from detent.ports.journal import (
    Entry,
    Journal,
    JournalDamagedError,
    RunNotFoundError,
    with_data,
)
from detent.ports.listing import RunQuery
from detent.ports.names import name_fault

STARTED = "Started"
STOPPED = "Stopped"
EMPTY = (
    "it has none at all: is it the one that you mean, and was it copied whole, of SQLite with the "
    "-wal beside it?"
)
"""What is said to whoever looks for a run where there is none."""
FORGOTTEN = "Forgotten"
"""The last entry of a run that is just being deleted."""


@frozen
class Loaded(Generic[S]):
    """A run from a journal, how many entries it has, and the places where it had stopped.

    `known` is its last checkpoint. `engine` is whose history the run is driven by, "" where by
    none; None where nobody has looked, as only the first entry says it. `fork_of` is of which run
    one is a fork that has no entry yet. `last` is its last entry, where that was read.
    """

    run: Run[S]
    length: int
    passed: tuple[EffectKey, ...] = ()
    known: Known = NO_CHECKPOINT
    engine: str | None = None
    fork_of: Mapping[str, Any] = FrozenDict()
    last: Entry | None = field(default=None, repr=False)


def loaded(
    journal: Journal,
    spec: AgentSpec[S],
    run_id: str,
    until: int | None = None,
    *,
    from_start: bool = False,
) -> Loaded[S]:
    """The run of this id as it was after its first `until` entries; None is all.

    A checkpoint saves reading all of them, unless it is to be made `from_start`.

    Raises:
        RunNotFoundError: there is no such run.
        StoredDataError: what is stored is damaged.
        AgentChangedError: this agent gives another run of it, or lacks what it needs.
        JournalError: it cannot be read.
    """
    require_name(run_id)
    found = None if from_start else _last_checkpoint(journal, run_id, until)
    entries = iter(journal.read(run_id, 0 if found is None else found[0]))
    if found is None:
        first = _opening(journal, entries, run_id)
        engine, (position, data) = engine_in(first), (1, first.data)
    else:
        engine, (position, data) = None, found
    more = islice(entries, None if until is None else max(0, until - position))
    snapshot = passing_snapshot(data)
    try:
        run = run_of(spec, snapshot)
        known = NO_CHECKPOINT if found is None else known_from(position, data, run)
        now = _followed(spec, Loaded(run, position, snapshot.held, known, engine), more)
    except AgentChangedError:
        raise
    except StoredDataError as error:
        if faults := misfits(spec, snapshot, with_types=True):
            raise _changed(run_id, faults) from error
        raise
    open_calls = (slot.call.tool_name for slot in now.run.slots if not is_settled(slot))
    if missing := sorted(set(open_calls) - spec.tools.keys()):
        raise _changed(run_id, (f"it needs the tool {name!r}" for name in missing))
    return now


def loaded_steps(journal: Journal, spec: AgentSpec[S], run_id: str) -> Steps[Loaded[S]]:
    """As `loaded`, all of it. What takes long to be read holds no event loop."""
    is_long = not is_slow(journal) and are_long(entry.body for entry in journal.read(run_id))
    return (yield from answer(journal, partial(loaded, journal, spec, run_id), is_long=is_long))


def heard(
    spec: AgentSpec[S], run: Run[S], entries: Sequence[Entry], start: int
) -> list[Folded[S]] | None:
    """What others have said to a run in these entries, the first of which stands at `start`.

    None where they have written anything else. The digests of what is owed then are kept.

    Raises:
        JournalDamagedError: an entry is missing.
        StoredDataError: what is stored is damaged, or this agent gives another run of it.
    """
    folded = list[Folded[S]]()
    for entry, data in with_data(entries):
        require_position(run, entry, start + len(folded))
        if entry.kind not in KINDS:
            return None
        event, after = event_and_run(spec, run, entry, data)
        if not is_from_others(event):
            return None
        folded.append((run, event, after))
        run = after
    if folded:
        due(spec, run)
    return folded


def loaded_behind(journal: Journal, spec: AgentSpec[S], before: Loaded[S]) -> Loaded[S] | None:
    """A run as it is by now, of which it is known what it was: only what is new is read.

    None where its last entry is not there, or is another one: a store may be as it was, and have
    been written to since. That it is still the same run is for the caller to see. Raises as
    `loaded`.
    """
    if (last := before.last) is None:
        return None
    entries = iter(journal.read(before.run.id, last.position))
    found = next(entries, None)
    if found is None or (found.at, found.kind, found.text) != (last.at, last.kind, last.text):
        return None
    return _followed(spec, before, entries)


def settled_lengths(journal: Journal, spec: AgentSpec[Any], run_id: str) -> list[int]:
    """After how many of its entries no call of a run is open, so that something can be said to it.

    Where entries are damaged, or this agent makes another run of them, those before them.
    """
    lengths = list[int]()
    with suppress(StoredDataError, JournalDamagedError):  # behind that nobody can fork it at all
        run: Run[Any] = loaded(journal, spec, run_id, 1).run
        for entry, data in with_data(journal.read(run_id)):
            if entry.kind in KINDS:
                _, run = event_and_run(spec, run, entry, data)
            if not isinstance(run.phase, Acting):
                lengths.append(entry.position + 1)
    return lengths


def require_name(run_id: str) -> None:
    """Raise RunNotFoundError for what no run is called, and no store need be able to look for."""
    if fault := name_fault("run_id", run_id):
        raise RunNotFoundError(f"there is no such run: {fault}")


def _changed(run_id: str, faults: Iterable[str]) -> AgentChangedError:
    return AgentChangedError(
        f"run {run_id!r} was written by an agent with other rules: {'; '.join(faults)}. Go on with "
        "the agent as it was, or begin another run, or thread"
    )


def require_current(
    journal: Journal, spec: AgentSpec[Any], run: Run[Any], *, is_decided: bool
) -> bool:
    """Whether the journal has the run of which this is an earlier state, or a copy.

    RULE: what people say of a run that the journal has is said there, and counts there, once. It is
    no matter which comes first: `is_decided` says that more was said to the copy.

    Raises:
        SnapshotMismatchError: something was said to the copy, or in the journal since.
    """
    with suppress(RunNotFoundError):
        later = loaded(journal, spec, run.id).run
        if later.nonce == run.nonce:
            faults = overrulings(run, later)
            if is_decided:
                faults.append(
                    f"run {run.id!r} is in the journal: decide about it there, where each decision "
                    f"counts once, with agent.decide({run.id!r}, …)"
                )
            if faults:
                raise SnapshotMismatchError([*faults, f"go on with agent.resume({run.id!r})"])
            return True
    return False


def _last_checkpoint(
    journal: Journal, run_id: str, until: int | None
) -> tuple[int, Mapping[str, Any]] | None:
    chain = journal.checkpoints(run_id)
    return join_chain(
        (one.position, one.data) for one in chain if until is None or one.position <= until
    )


def engine_in(first: Entry | None) -> str:
    """Whose history a run is driven by, as its first entry says; "" where by none."""
    return "" if first is None else str(first.data.get("engine", ""))


def engine_of(journal: Journal, run_id: str) -> str:
    """The same of a run, which is read for it.

    Raises:
        JournalError: it cannot be read.
    """
    return engine_in(next(iter(journal.read(run_id)), None))


def _opening(journal: Journal, entries: Iterator[Entry], run_id: str) -> Entry:
    first = next(entries, None)
    if first is None:
        is_told = type(journal).__repr__ is not object.__repr__
        which = repr(journal) if is_told else type(journal).__name__
        is_empty = is_told and not journal.runs(RunQuery(limit=1))
        more = EMPTY if is_empty else "journal.runs() lists those that it has"
        raise RunNotFoundError(f"{which} has no run {run_id!r}; {more}")
    if first.position != 0 or first.kind != STARTED:
        raise JournalDamagedError(f"the journal of run {run_id!r} does not begin with its start")
    return first


def _followed(spec: AgentSpec[S], now: Loaded[S], more: Iterable[Entry]) -> Loaded[S]:
    """The run after more entries."""
    run, length, passed, last = now.run, now.length, now.passed, now.last
    for entry, data in with_data(more):
        require_position(run, entry, length)
        length, last = length + 1, entry
        if entry.kind == FORGOTTEN:
            raise RunNotFoundError(f"the journal has no run {run.id!r} any more: it is forgotten")
        if entry.kind == STOPPED:
            passed = tuple(map(key_from_json, _held(data)))
        else:
            passed = ()
            _, run = event_and_run(spec, run, entry, data)
    return Loaded(run, length, passed, now.known, now.engine, last=last)


def require_position(run: Run[Any], entry: Entry, position: int) -> None:
    """Raise JournalDamagedError unless the entry stands at `position`."""
    if entry.position != position:
        raise JournalDamagedError(
            f"the journal of run {run.id!r} is damaged: entry {position} is not there"
        )


def event_and_run(
    spec: AgentSpec[S], run: Run[S], entry: Entry, data: Mapping[str, Any]
) -> tuple[Event, Run[S]]:
    """The event in an entry, and the run after it: the same, if it was said to another run.

    RULE: whoever speaks to a run and does not drive it may be late, and it may be deleted by then,
    and another one of its id begun. That one hears nothing of it.

    Raises:
        StoredDataError: it is damaged, or names what this agent does not have.
        AgentChangedError: this agent makes another run of it.
    """
    try:
        event, mark, nonce = marked_event(spec, entry.kind, data)
        if nonce not in (None, run.nonce):
            return event, run
        after = step(spec, run, event)
    except DetentError as error:
        raise StoredDataError(
            f"entry {entry.position} of run {run.id!r} ({entry.kind:.40}) cannot be followed: "
            f"{error}"
        ) from error
    is_same = after is not run if mark is None else mark == progress_mark(after)
    if not is_same:
        raise AgentChangedError(
            f"entry {entry.position} of run {run.id!r} ({entry.kind:.40}) left the run at "
            f"{mark or 'another place'!r:.200}, and with this agent at "
            f"{progress_mark(after)!r}: the agent's rules have "
            f"changed since{_difference(spec, event, mark, after)}. Go on with the agent as it "
            "was, or begin another run, in another thread where this one is the last of its thread"
        )
    return event, after


class MarkedEvent(NamedTuple):
    """An event as an entry has it.

    `mark` is how far it has brought the run, `nonce` that of the run to which somebody has said it
    who does not drive it; None where the entry does not say.
    """

    event: Event
    mark: object
    nonce: object


def marked_event(spec: AgentSpec[Any], kind: str, data: Mapping[str, Any]) -> MarkedEvent:
    """The event in an entry's data.

    Raises:
        StoredDataError: there is none, or it names what this agent does not have.
    """
    rest = dict(data)
    rest.pop("faults", None)  # for whoever reads entries without rules
    mark, nonce = rest.pop("mark", None), rest.pop("nonce", None)
    return MarkedEvent(event_of_kind(spec, kind, rest), mark, nonce)


def _difference(spec: AgentSpec[Any], event: Event, mark: object, after: Run[Any]) -> str:
    """In what this agent differs from the one whose run it is, as far as it shows; ends a text."""
    calls = event.reply.message.tool_calls if isinstance(event, ModelReplied) else ()
    own = spec.tools if spec.output is None else {*spec.tools, spec.output.name}
    names = dict.fromkeys(call.tool_name for call in calls if call.tool_name not in own)
    found = [f"it has no tool {', '.join(map(repr, names))}"] if names else []
    phase, *was = (str(mark).split() or [""])[1:] or [""]
    for slot, before in zip(after.slots, was[1:], strict=False):
        about, now = RULES.get(before, ""), RULES.get(type(slot.status).__name__, "")
        if about != now:
            name = repr(slot.call.tool_name)
            found.append(f"a call of {name} was {about or 'clear'}, and is {now or 'clear'} now")
    last = after.messages[-1:] if phase == "Acting" and was and not after.slots else ()
    found += (
        f"a call of {result.origin.tool_name!r} ends at once now: {result.text:.200}"
        for message in last
        for result in message.tool_call_results
    )
    if (phase == "Done") != isinstance(after.phase, Done):
        ended = "had ended there" if phase == "Done" else "would have ended there"
        found.append(f"the run {ended}, by an exit condition or a limit that is another one")
    return "".join(f"; {text}" for text in found)


RULES = {
    "AwaitingPolicy": "guarded by a confirmation rule",
    "Faulted": "refused, as its arguments did not fit",
}
"""How a call stands that the rules of an agent have stopped, in words."""


def _held(data: Mapping[str, Any]) -> Iterable[object]:
    held: object = data.get("held")
    return held if isinstance(held, list) else [held]
