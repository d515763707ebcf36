"""Rebasing: people have spoken while a driver was at work; what it holds comes behind that."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TypeAlias

from detent.core.control.hooks import Hook, sent_back
from detent.core.machine.step import step
from detent.core.run.events import (
    AnswerRejected,
    CancelRequested,
    Event,
    GrantRevoked,
    HappenedInside,
    HumanDecided,
)
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S

Folded: TypeAlias = tuple[Run[S], Event, Run[S]]
"""The run before an event, the event, and the run after it."""


def is_from_people(event: Event) -> bool:
    """Whether anybody may add it to a run which somebody else drives: it is what people say.

    Whoever drives the run loses nothing by it: what is under way stays theirs, and comes behind it.
    """
    while isinstance(event, HappenedInside):
        event = event.event
    return isinstance(event, HumanDecided | GrantRevoked | CancelRequested)


def rebased(
    spec: AgentSpec[S], run: Run[S], events: Sequence[Event], hooks: Sequence[Hook] = ()
) -> list[Folded[S]]:
    """Events that were folded into an earlier run, folded into `run`. Late ones change nothing.

    Hooks are asked about each end of the run that they have not rejected before: it may be another.

    Raises:
        UnknownEffectError: one of them answers what this run, unlike the earlier one, never asked.
        HookError: a hook has failed.
    """
    folded: list[Folded[S]] = []
    back = sent_back(hooks, run)  # what people have said may be the end of it
    left = deque[Event](events if back is None else (back, *events))
    while left:
        event = left.popleft()
        before, run = run, step(spec, run, event)
        folded.append((before, event, run))
        is_rejected = bool(left) and isinstance(left[0], AnswerRejected)
        if run is not before and not is_rejected:
            back = sent_back(hooks, run)
            left.extendleft(() if back is None else (back,))
    return folded
