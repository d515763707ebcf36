"""What becomes of one call: when it fails, is late, is judged, is decided, or is not.

A decision that does not count changes nothing; a `Refusal` says why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, TypeAlias
from unicodedata import category, normalize

import attrs

from detent.core.chat.messages import ToolCall
from detent.core.errors import DetentError
from detent.core.run.approval import (
    ANYBODY,
    SCOPES,
    Answered,
    Answers,
    Approvers,
    Confirmed,
    Decision,
    Modified,
    Principal,
    Rejected,
)
from detent.core.run.attempts import begin_anew, has_been_tried
from detent.core.run.events import ClockTicked, HumanDecided, ToolRaised
from detent.core.run.limits import end_of, is_past
from detent.core.run.outcomes import Cancelled, Exhausted
from detent.core.run.run import (
    AwaitingDecision,
    BackingOff,
    Faulted,
    Ready,
    Run,
    Running,
    Slot,
    Unknown,
    agent_at,
    decisions_about,
    move,
)
from detent.core.run.spec import AgentSpec
from detent.core.schema.json_values import Place, identity, path_text
from detent.core.tools import wording
from detent.core.tools.defaults import with_defaults
from detent.core.tools.invocation import argument_faults
from detent.core.tools.masking import MASK
from detent.core.tools.result import ToolFault
from detent.core.tools.tool import Tool
from detent.core.values.frozen import thaw

Why: TypeAlias = Literal[
    "unknown_call",
    "repeated",
    "wrong_digest",
    "outdated",
    "expired",
    "not_allowed",
    "unauthenticated",
    "not_entitled",
    "invalid_arguments",
]


@attrs.frozen
class Refusal:
    """A decision does not count: in a word, and in a sentence.

    "unknown_call": no such call waits for a decision. "repeated": it has been decided about before.
    "wrong_digest": it is about another call, or about other arguments. "outdated": what was asked
    about is not what would run now. "expired": it comes too late. "not_allowed": the question does
    not take this answer. "unauthenticated": it is not known who decides. "not_entitled": others
    must decide. "invalid_arguments": it changes them to what the tool does not take; `faults` says
    how. The call goes on waiting.
    """

    why: Why
    text: str
    faults: tuple[str, ...] = ()


class DecisionRefusedError(DetentError, ValueError):
    """A decision does not count, and has changed nothing. `refusal` says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


def refusal(spec: AgentSpec[Any], run: Run[Any], event: HumanDecided) -> Refusal | None:
    """Why the decision does not count for `run` as it stands; None if it does."""
    slot = next((slot for slot in run.slots if slot.ref == event.ref), None)
    call = f"call {event.ref.place} of turn {event.ref.turn} of run {run.id!r}"
    if slot is None or not isinstance(slot.status, AwaitingDecision):
        before = decisions_about(run, event.ref)
        if not before:
            return Refusal("unknown_call", f"{call} does not wait for a decision")
        if before[-1].by == "expiry" and isinstance(before[-1].decision, Rejected):
            return Refusal("expired", f"{call}: nobody answered in time, and that was a no")
        return Refusal("repeated", f"{call} was {before[0].describe()} already")
    name, status = slot.call.tool_name, slot.status
    if event.digest != status.digest:
        text = (
            f"the decision was made of another call, run or question than {call} ({name}): make "
            f"it of a call of agent.pending({run.id!r})"
        )
        return Refusal("wrong_digest", text)
    if is_late(event.decision, event.at, status.expires_at):
        return Refusal("expired", f"{call} ({name}) could be confirmed until {status.expires_at}")
    if (lack := not_allowed(status.ask.answers, slot.call, event.decision)) is not None:
        return Refusal("not_allowed", f"{call} ({name}): {lack}")
    votes = [vote.who.name for vote in status.votes if vote.who]
    if spec.vouches and not (event.who and spec.vouches(event, slot.call, spec.tools[name])):
        return Refusal("unauthenticated", f"{call} ({name}): {UNKNOWN_PERSON}")
    people = status.ask.approvers, event.decision, event.who, votes, run.started_by
    fault = not_entitled(*people, may_say=bool(status.after))
    if fault is not None:
        return attrs.evolve(fault, text=f"{call} ({name}): {fault.text}")
    change = event.decision if isinstance(event.decision, Modified) else None
    if change and (faults := change_faults(slot.call, change, spec.tools[name])):
        return Refusal("invalid_arguments", f"{call}: {'; '.join(faults)}", tuple(faults))
    return None


UNKNOWN_PERSON = (
    "it is not known who decides: an agent with approvers takes decisions with a credential that "
    "they accept"
)
NO_APPROVERS = (
    "certain people are asked, and nobody can be told from anybody: the agent has no approvers; "
    "give it some, by Agent(approvers=…)"
)


def person_key(name: str) -> str:
    """What all spellings of a name have in common: two people differ in it.

    Case, outer and doubled spaces, what cannot be seen, and how letters are composed (NFKC) make
    no other name: whoever passes names on may have any of these.

    >>> person_key(" ZOE\u0308 ") == person_key("zo\u00eb")
    True
    """
    folded = normalize("NFKC", normalize("NFKC", name).casefold())
    seen = "".join(char for char in folded if char.isspace() or category(char)[0] != "C")
    return " ".join(seen.split())


def not_entitled(
    approvers: Approvers,
    decision: Decision,
    who: Principal | None,
    votes: Collection[str],
    started_by: str | None,
    *,
    may_say: bool = False,
) -> Refusal | None:
    """Why somebody may not answer a question in this way; None if they may.

    `votes` are the names of those who have said yes, `started_by` that of who began the run. One
    person `may_say` what came of an attempt before: that lets nothing begin.
    """
    if approvers == ANYBODY:
        return None
    if who is None:  # of an agent that has approvers nobody comes as far
        return Refusal("unauthenticated", NO_APPROVERS)
    lacking = [
        one for one in (approvers.roles, *approvers.also) if one and not {*one} & {*who.roles}
    ]
    if lacking:
        roles = " or ".join(map(repr, lacking[0]))
        return Refusal("not_entitled", f"{who.name} has not got the role {roles}")
    if isinstance(decision, Rejected):
        return None
    key = person_key(who.name)
    if approvers.apart and (not started_by or person_key(started_by) == key):
        text = "whoever started the run may not say yes, and it is not known who did: begin it "
        text += "with started_by=…"
        if started_by:
            text = f"{who.name} has started this run: somebody else must say yes"
        return Refusal("not_entitled", text)
    if isinstance(decision, Answered) and may_say:
        return None
    if (count := approvers.count) > 1 and not isinstance(decision, Confirmed):
        other = "reject it" if not may_say else "answer what came of it, or reject it"
        text = f"{count} people must confirm it as it is: {other}, and say what is wrong"
        return Refusal("not_allowed", text)
    if key in map(person_key, votes):
        text = f"{who.name} has said yes already: somebody else must, too"
        return Refusal("repeated", text)
    return None


def change_faults(call: ToolCall, decision: Modified, tool: Tool) -> list[str]:
    """One sentence for each way in which a human's arguments are not what the tool takes.

    RULE: what runs is what they say, or what they were shown. A default that takes the place of
    something else, or of nothing, nobody has seen: it must be said, however deep.
    """
    new_call = attrs.evolve(call, arguments=decision.arguments)
    if faults := argument_faults(new_call, tool):
        return faults
    was, now = with_defaults(call, tool), with_defaults(new_call, tool)
    notes = [
        f"{path_text(place)!r} is left out, so that it would be "
        f"{MASK if place[0] in tool.masked else repr(value)}"
        for place, value in _unseen(decision.arguments, now, was)
    ]
    # RULE: what the state fills in is that whatever is said here, and would be recorded as this
    notes += [
        f"{name!r} is filled in from the state: it cannot be said here"
        for name in sorted(decision.arguments.keys() & tool.hidden)
    ]
    return notes


def _unseen(
    change: object, now: object, was: object, place: Place = ()
) -> Iterator[tuple[Place, object]]:
    """What is filled in to a `change`, and is not what was there: its place, and what it is."""
    parts, before = _parts(change), _parts(was)
    for name, value in _parts(now).items() if isinstance(change, dict | list) else ():
        if name in parts:
            yield from _unseen(parts[name], value, before.get(name), (*place, name))
        elif name not in before or identity(before[name]) != identity(value):
            yield (*place, name), value


def _parts(value: object) -> Mapping[Any, object]:
    if isinstance(value, list):
        return dict(enumerate(value))
    return value if isinstance(value, dict) else {}


def is_late(decision: Decision, at: float | None, until: float | None) -> bool:
    """Whether a yes comes after a time. What lets no tool run is never too late."""
    return isinstance(decision, Confirmed | Modified) and is_past(until, at)


def _value_in(arguments: Mapping[str, object], name: str) -> tuple[object, ...]:
    """The value of an argument, to compare; () where there is none, which is not null."""
    return (identity(thaw(arguments[name])),) if name in arguments else ()


def not_allowed(answers: Answers, call: ToolCall, decision: Decision) -> str | None:
    """Why a question does not take a decision; None if it does."""
    match decision:
        case Confirmed(remember):
            if not answers.confirm:
                return "it cannot be confirmed as it is"
            if SCOPES.index(remember or "call") > SCOPES.index(answers.remember):
                return f"a yes may count for {answers.remember!r} at most, not for {remember!r}"
        case Modified(arguments) if answers.modify is not None:
            was = call.arguments
            names = was.keys() | arguments.keys()
            # by identity: to Python, 1 is True
            changes = {n for n in names if _value_in(was, n) != _value_in(arguments, n)}
            if forbidden := sorted(changes - {*answers.modify}):
                may = ", ".join(map(repr, answers.modify)) or "none"
                return f"{', '.join(map(repr, forbidden))} may not be changed; what may: {may}"
        case Answered() if not answers.respond:
            return "nobody may answer in the tool's place"
        case _:
            pass
    return None


def after_tick(spec: AgentSpec[Any], slot: Slot, event: ClockTicked) -> Slot:
    """The slot when it is `event.at`: its pause may be over, or its time up."""
    match slot.status:
        case BackingOff(attempt, until) if until <= event.at:
            return move(slot, Ready(attempt))
        case Running(attempt, deadline) if deadline is not None and deadline <= event.at:
            tool = spec.tools[slot.call.tool_name]
            text = wording.tool_too_slow(tool.name, tool.timeout_s)
            fault = ToolFault("timeout", text, retryable=True)
            timeout = ToolRaised(slot.ref, attempt, fault, event.at, event.chance)
            return after_fault(spec, slot, timeout)
        case _:
            return slot


def after_fault(spec: AgentSpec[Any], slot: Slot, event: ToolRaised) -> Slot:
    """The slot of a call after a failed attempt: it rests until the next, or is settled.

    One that a human is asked about is tried no more: only they could let another attempt begin.
    """
    retries = spec.tools[slot.call.tool_name].retries
    is_asked = isinstance(slot.status, AwaitingDecision)
    if is_asked or not event.fault.retryable or event.attempt > retries.times:
        return move(slot, Faulted(event.fault))
    pause_s, attempt = retries.pause_s(event.attempt, event.chance), event.attempt + 1
    until = end_of(event.at, pause_s or None)
    status = Ready(attempt) if until is None else BackingOff(attempt, until)
    return attrs.evolve(begin_anew(slot, status), crashes=0)  # it has ended by itself


def give_up(slot: Slot, outcome: Exhausted | Cancelled) -> Slot:
    """The slot of a call that is given up because the run ends, with what is known of it."""
    name = slot.call.tool_name
    reason = wording.CANCELLED if isinstance(outcome, Cancelled) else wording.OUT_OF_TIME
    match slot.status:
        case Running():
            text = wording.tool_was_running(name, reason)
        case _ if agent_at(slot) is not None:
            text = wording.agent_was_at_work(name, reason)
        case Unknown():
            text = wording.outcome_unknown(name, wording.PROCESS_ENDED)
        case AwaitingDecision() as question if question.after:
            text = wording.outcome_unknown(name, question.trouble)
        case _ if has_been_tried(slot):
            text = wording.tool_tried(name, reason)
        case _:
            text = wording.tool_not_run(name, f"{reason}.")
    return move(slot, Faulted(ToolFault("cancelled", text)))
