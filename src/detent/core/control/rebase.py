"""Rebasing: people have spoken while a driver was at work; what it holds comes behind that."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from detent.core.control.hooks import Hook, sent_back
from detent.core.errors import UnknownEffectError
from detent.core.machine.beginning import begins_too_late
from detent.core.machine.step import step
from detent.core.run.events import (
    AnswerRejected,
    CancelRequested,
    Event,
    GrantRevoked,
    HappenedInside,
    HumanDecided,
    MessageReceived,
    ToolNeverRan,
    ToolRaised,
    ToolReturned,
)
from detent.core.run.run import Delegated, Run, Running
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S

Folded: TypeAlias = tuple[Run[S], Event, Run[S]]
"""The run before an event, the event, and the run after it."""
SAID = HumanDecided, GrantRevoked, CancelRequested, MessageReceived
OTHERS = *SAID, ToolReturned, ToolRaised, ToolNeverRan
"""What not only the driver of a run may add to it."""


def is_from_others(event: Event) -> bool:
    """Whether anybody may add it to a run which somebody else drives.

    That is what people say, and what has come of a call that was under way when its driver lost the
    run. Whoever drives the run loses nothing by it: what is under way stays theirs, and comes
    behind it.
    """
    while isinstance(event, HappenedInside):
        event = event.event
    return isinstance(event, OTHERS)


def still_heard(
    spec: AgentSpec[S], run: Run[S], events: Sequence[Event]
) -> list[tuple[Event, Run[S]]]:
    """What of a lost driver's events the run hears: outcomes of calls that it knows nothing of.

    Each comes with the run after it. What the run has moved past it hears no more.
    """
    entries: list[tuple[Event, Run[S]]] = []
    for event in events:
        after = run
        if is_from_others(event) and not _runs_elsewhere(run, event):
            with suppress(UnknownEffectError):  # its turn, or its agent inside, is gone
                after = step(spec, run, event)
        if after is not run:
            entries.append((event, after))
            run = after
    return entries


def _runs_elsewhere(run: Run[S], event: Event) -> bool:
    """Whether an attempt that never ran here is at work for whoever drives the run now.

    A tool that may run again has the same attempt begun by another driver.
    """
    inner: Run[Any] = run
    while isinstance(event, HappenedInside):
        statuses = (slot.status for slot in inner.slots if slot.ref == event.ref)
        status = next(statuses, None)
        if not isinstance(status, Delegated):
            return False
        inner, event = status.run, event.event
    if not isinstance(event, ToolNeverRan):
        return False
    return any(isinstance(x.status, Running) for x in inner.slots if x.ref == event.ref)


def rebase(
    spec: AgentSpec[S], run: Run[S], events: Sequence[Event], hooks: Sequence[Hook] = ()
) -> list[Folded[S]]:
    """Events that were folded into an earlier run, folded into `run`. Late ones change nothing.

    A call that nothing lets begin any more does not begin: that event is left out. Hooks are asked
    about each end of the run that they have not rejected before: it may be another.

    Raises:
        UnknownEffectError: one of them answers what this run, unlike the earlier one, never asked.
        HookError: a hook has failed.
    """
    entries: list[Folded[S]] = []
    back = sent_back(hooks, run)  # what people have said may be the end of it
    queue = deque[Event](events if back is None else (back, *events))
    while queue:
        event = queue.popleft()
        if begins_too_late(spec, run, event):
            continue
        before, run = run, step(spec, run, event)
        entries.append((before, event, run))
        is_rejected = bool(queue) and isinstance(queue[0], AnswerRejected)
        if run is not before and not is_rejected:
            back = sent_back(hooks, run)
            queue.extendleft(() if back is None else (back,))
    return entries
