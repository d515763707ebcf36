"""Meddling: what comes to a simulated run from outside that it did not ask for, and its forks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from detent.adapters.agent.continuation import taken_up
from detent.adapters.drivers.history import Runs
from detent.adapters.testing.simulation.nested_runs import slots_in
from detent.adapters.testing.simulation.trace import Said
from detent.core.chat.messages import ChatMessage
from detent.core.errors import UnknownEffectError
from detent.core.machine.delegation import wrap_event
from detent.core.machine.due import due
from detent.core.machine.step import step
from detent.core.run.approval import Confirmed
from detent.core.run.effects import AskHuman
from detent.core.run.events import Event, HumanDecided, MessageReceived
from detent.core.run.run import AwaitingDecision, Run, is_settled
from detent.core.run.spec import AgentSpec


def echoed(run: Run[Any], past: Sequence[Event], pick: int) -> Event:
    """What was heard long ago, again: anything, or about a call of the open turn.

    That is about one that has its answer, about an open one, or what a human said of such.
    """
    calls = {slot.ref for slot in run.slots if is_settled(slot) == (pick % 4 == 1)}
    kind = HumanDecided if pick % 4 == 2 else object  # noqa: PLR2004 - see above
    about = [
        event for event in past if getattr(event, "ref", None) in calls and isinstance(event, kind)
    ]
    events = about if about and pick % 4 else past
    return events[pick % len(events)]


def forged(run: Run[Any], questions: Sequence[str], pick: int) -> Event | None:
    """A yes that nobody has said, with a digest of another of `questions`, if one is open."""
    open_questions = [
        (path, slot.ref, slot.status.digest)
        for path, slot in slots_in(run)
        if isinstance(slot.status, AwaitingDecision)
    ]
    if not open_questions:
        return None
    path, ref, digest = open_questions[pick % len(open_questions)]
    wrong = ["forged", *(other for other in questions if other != digest)]
    return wrap_event(path, HumanDecided(ref, wrong[pick % len(wrong)], Confirmed()))


def may_hear(spec: AgentSpec[Any], run: Run[Any], event: Event) -> bool:
    """Whether a run has asked what is told: a fork may begin where the original had not yet."""
    try:
        step(spec, run, event)
    except UnknownEffectError:
        return False
    return True


def further_message(pick: int) -> Event:
    """Something that a user says further."""
    return MessageReceived(ChatMessage.from_user(f"more {pick}"))


def late_yes(spec: AgentSpec[Any], run: Run[Any], pick: int) -> Said | None:
    """A yes that somebody says by another door than the driver's, when the question is past."""
    questions = [owed_effect for owed_effect in due(spec, run) if isinstance(owed_effect, AskHuman)]
    late = [
        (owed_effect, owed_effect.expires_at + 1)
        for owed_effect in questions
        if owed_effect.expires_at is not None
    ]
    if not late:
        return None
    effect, at = late[pick % len(late)]
    return Said(effect, Confirmed(), at)


def forked(runs: Runs[Any], run_id: str, new_id: str, pick: int) -> Run[Any] | None:
    """A fork of a run as it is, or as it once stood; None where nothing of it is stored."""
    length = len(tuple(runs.journal.read(run_id)))
    if not length:
        return None
    snapshot = runs.fork(run_id, 1 + pick % length if pick % 2 else None)
    return taken_up(runs.spec, snapshot, new_id, runs.journal, runs.clock, runs.chance).run
