"""Rejections: what people have said no to so often that they are not asked about it again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any, TypeAlias

from detent.core.chat.messages import ToolCall
from detent.core.machine.binding import arguments_digest
from detent.core.run.approval import DecisionRecord, Rejected
from detent.core.run.attempts import has_been_tried, refund, with_spending
from detent.core.run.run import AwaitingDecision, Refused, Run, Slot, evolve
from detent.core.run.spec import AgentSpec
from detent.core.tools import wording
from detent.core.tools.wording import Wording

Around: TypeAlias = "tuple[Run[Any], tuple[str, ...]]"
"""The outermost run around a run, and the names of the agents on the way from it."""


def known_no(
    spec: AgentSpec[Any], run: Run[Any], call: ToolCall, around: Around | None
) -> str | None:
    """What the model is told at once of a call that nobody is to be asked about; None if they are.

    RULE: nobody is asked until they are worn down, and say yes: neither in the same words, nor in
    ever others. A yes in between is from somebody who still reads.
    """
    tool, arguments = spec.tools[call.tool_name], arguments_digest(call, spec.tools[call.tool_name])
    feedback, same, row, is_in_row = None, 0, 0, True
    for past in _past_decisions(run, call.tool_name, around):
        if not isinstance(past.decision, Rejected):
            is_in_row = False
            continue
        row += is_in_row
        # it is the same with a default spelled out
        if past.call == call or arguments_digest(past.call, tool) == arguments:
            feedback = feedback if same else past.decision.feedback
            same += 1
            if same >= spec.limits.max_rejections:
                return templates_of(spec, tool.name).rejected(tool.name, feedback)
    if row >= spec.limits.max_tool_rejections:
        return wording.tool_not_run(tool.name, wording.people_refuse(row))
    return None


def _past_decisions(
    run: Run[Any], tool_name: str, around: Around | None
) -> Iterator[DecisionRecord]:
    """What people have decided of a tool's calls, here and in other runs of the agent inside one.

    The last one comes first. None is of the calls of this very reply: who goes through a list may
    say no to many, and then yes.
    """
    outermost, names = around or (run, ())
    fresh = {(past.ref, past.at) for past in _of_this_turn(run)}
    for past in reversed(outermost.decisions):
        if past.call.tool_name != tool_name or past.by == "policy":
            continue
        if (names or past.path) and tuple(agent.tool_name for agent in past.path) != names:
            continue
        if not fresh or (past.ref, past.at) not in fresh:
            yield past


def _of_this_turn(run: Run[Any]) -> Iterator[DecisionRecord]:
    """The decisions about this turn's own calls: none comes before one of an earlier turn."""
    own = (past for past in reversed(run.decisions) if not past.path)
    return takewhile(lambda past: past.ref.turn == run.turn, own)


def templates_of(spec: AgentSpec[Any], tool_name: str) -> Wording:
    """The words in which the model is told what was decided about a tool's calls."""
    return spec.wordings.get(tool_name) or spec.wordings.get("*") or Wording()


def deny_call(run: Run[Any], slot: Slot, by: str, reason: str, at: float | None) -> Run[Any]:
    """The run in which a policy refuses a call, or the time that humans had to decide about it."""
    name, status = slot.call.tool_name, slot.status
    record = DecisionRecord(slot.ref, slot.call, Rejected(reason), by, at)
    was_begun = isinstance(status, AwaitingDecision) and status.after
    say = wording.tool_tried if has_been_tried(slot) else wording.tool_not_run
    say = wording.outcome_unknown if was_begun else say
    run = evolve(run, decisions=(*run.decisions, record))
    return with_spending(run, refund(slot, Refused(say(name, reason))))


def expire_questions(run: Run[Any], at: float | None) -> Run[Any]:
    """The run in which each question that nobody answered in time is answered with no."""
    for slot in run.slots:
        until = slot.status.expires_at if isinstance(slot.status, AwaitingDecision) else None
        if at is not None and until is not None and until <= at:
            run = deny_call(run, slot, "expiry", wording.NOBODY_DECIDED, at)
    return run
