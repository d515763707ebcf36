"""Recording: the events of a run go to a journal before they count, and come back as the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic

from attrs import evolve, frozen

from detent.core.effects import Effect, EffectKey
from detent.core.errors import DetentError, StoredDataError
from detent.core.events import Event, Resumed
from detent.core.journal import event_from_json, event_to_json, mark_of, status_of
from detent.core.recovery import rebound
from detent.core.run import Run
from detent.core.slots import is_settled
from detent.core.snapshot import (
    AgentSnapshot,
    SnapshotMismatchError,
    key_from_json,
    run_of,
    snapshot_of,
)
from detent.core.spec import AgentSpec, S
from detent.core.step import step
from detent.core.upgrades import FORMAT, upgraded_event
from detent.ports.journal import Checkpoint, Entry, Journal, JournalDamagedError

STARTED = "Started"
STOPPED = "Stopped"
CHECKPOINT_BYTES = 65536
"""A run gets a checkpoint after this much, and then each time it has doubled."""

Now = Callable[[], float]


class RunNotFoundError(DetentError, LookupError):
    """The journal has no such run."""


@frozen
class Loaded(Generic[S]):
    """A run from a journal, how many entries it has, and the places where it had stopped.

    `format` is that of the entries so far.
    """

    run: Run[S]
    length: int
    passed: tuple[EffectKey, ...] = ()
    format: object = FORMAT


class Recorder:
    """Writes what happens to one run to a journal, from entry `length` on."""

    def __init__(
        self,
        journal: Journal,
        spec: AgentSpec[Any],
        now: Now,
        length: int = 0,
        checkpoint_bytes: int | None = None,
    ) -> None:
        self._journal = journal
        self._spec = spec
        self._now = now
        self._length = length
        self._since = 0
        self._least = CHECKPOINT_BYTES if checkpoint_bytes is None else checkpoint_bytes
        self._enough = self._least

    def begin(self, run: Run[Any]) -> None:
        """Write down a run to which nothing has happened yet.

        Raises:
            JournalConflictError: there is a run of that id.
        """
        self._append(run, [(STARTED, snapshot_of(self._spec, run).to_dict())])

    def __call__(self, events: Sequence[Event], run: Run[Any]) -> None:
        """Write down events, and, now and then, the whole run after them."""
        told = [(type(event).__name__, self._told(event)) for event in events]
        told[-1][1]["mark"] = mark_of(run)
        self._since += sum(len(json.dumps(data)) for _, data in told)
        checkpoint = None
        if self._since >= self._enough:
            data = snapshot_of(self._spec, run).to_dict()
            checkpoint = Checkpoint(self._length + len(told), data)
            self._since, self._enough = 0, max(self._least, len(json.dumps(data)))
        self._append(run, told, checkpoint)

    def _told(self, event: Event) -> dict[str, Any]:
        """Who goes on with a run that an older Detent began says so."""
        data = event_to_json(self._spec, event)
        return data | {"format": FORMAT} if isinstance(event, Resumed) else data

    def stop(self, run: Run[Any], held: Sequence[Effect]) -> None:
        """Write down that a breakpoint keeps `held` from happening."""
        stopped = snapshot_of(self._spec, run, held).to_dict()
        told = {name: stopped[name] for name in ("held", "about_to")}
        self._append(run, [(STOPPED, told)])

    def _append(
        self,
        run: Run[Any],
        told: Sequence[tuple[str, dict[str, Any]]],
        checkpoint: Checkpoint | None = None,
    ) -> None:
        at, status = self._now(), status_of(run)
        entries = [
            Entry(place, at, kind, status, data)
            for place, (kind, data) in enumerate(told, self._length)
        ]
        self._journal.append(run.id, entries, checkpoint)
        self._length += len(entries)


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
        StoredDataError: what is stored is damaged, or this agent gives another run of it.
        SnapshotMismatchError: a call that is still open needs a tool that this agent has not got.
        JournalError: it cannot be read.
    """
    found = None if from_start else journal.checkpoint(run_id)
    if found is None or (until is not None and found.position > until):
        found = _opening(journal, run_id)
    snapshot = AgentSnapshot.from_dict(found.data)
    format_ = found.data.get("format")
    now = Loaded(run_of(spec, snapshot), found.position, snapshot.held, format_)
    for entry in journal.read(run_id, found.position):
        if until is not None and entry.position >= until:
            break
        now = _after(spec, now, entry)
    open_calls = (slot.call.tool_name for slot in now.run.slots if not is_settled(slot))
    if missing := sorted(set(open_calls) - spec.tools.keys()):
        raise SnapshotMismatchError(f"it needs the tool {name!r}" for name in missing)
    return now


def forked(run: Run[S], run_id: str) -> Run[S]:
    """The same run under another id. Decisions about the old one's calls do not count for it."""
    return evolve(run, id=run_id, phase=rebound(run.phase, run_id))


def _opening(journal: Journal, run_id: str) -> Checkpoint:
    first = next(iter(journal.read(run_id)), None)
    if first is None:
        raise RunNotFoundError(f"the journal has no run {run_id!r}")
    if first.position != 0 or first.kind != STARTED:
        raise JournalDamagedError(f"the journal of run {run_id!r} does not begin with its start")
    return Checkpoint(1, first.data)


def _after(spec: AgentSpec[S], now: Loaded[S], entry: Entry) -> Loaded[S]:
    """The run one entry later."""
    if entry.position != now.length:
        raise JournalDamagedError(
            f"the journal of run {now.run.id!r} is damaged: entry {now.length} is not there"
        )
    if entry.kind == STOPPED:
        held = tuple(map(key_from_json, _held(entry)))
        return Loaded(now.run, now.length + 1, held, now.format)
    data: dict[str, Any] = dict(entry.data)
    mark, format_ = data.pop("mark", None), data.pop("format", now.format)
    try:
        run = step(spec, now.run, event_from_json(spec, upgraded_event(data, format_)))
    except DetentError as error:
        raise StoredDataError(
            f"entry {entry.position} of run {now.run.id!r} ({entry.kind:.40}) cannot be followed: "
            f"{error}"
        ) from error
    if mark is not None and mark != mark_of(run):
        raise StoredDataError(
            f"entry {entry.position} of run {now.run.id!r} ({entry.kind:.40}) left the run at "
            f"{mark!r:.200}, "
            f"and with this agent at {mark_of(run)!r}: the agent's rules have changed since"
        )
    return Loaded(run, now.length + 1, format=format_)


def _held(entry: Entry) -> Iterable[object]:
    held: object = entry.data.get("held")
    return held if isinstance(held, list) else [held]
