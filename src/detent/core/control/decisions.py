"""Decisions of humans, as values that can be sent, and matched to the calls that wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Self

from attrs import asdict, evolve, field, fields_dict, frozen
from attrs.validators import optional

from detent.core.chat.messages import ToolCall
from detent.core.errors import StoredDataError
from detent.core.machine.binding import binding_of, is_unfit
from detent.core.machine.calls import DecisionRefusedError, Refusal, refusal
from detent.core.machine.delegation import runs_in, wrap_event
from detent.core.machine.step import step
from detent.core.run.approval import (
    Answered,
    Confirmed,
    Decision,
    Grant,
    Modified,
    Principal,
    Rejected,
    Scope,
    is_scope,
)
from detent.core.run.events import Event, GrantRevoked, HumanDecided
from detent.core.run.refs import Path
from detent.core.run.run import AwaitingDecision, Run, Slot, has_no_answer
from detent.core.run.spec import AgentSpec
from detent.core.schema.json_values import identity
from detent.core.state.typevars import S
from detent.core.tools.defaults import with_defaults
from detent.core.tools.masking import masked
from detent.core.tools.tool import Tool
from detent.core.values.checks import meant, names_told, number, of_kind
from detent.core.values.copies import DEPTH_MAX
from detent.core.values.frozen import is_deep, thaw

if TYPE_CHECKING:
    from returns.result import Result

_TEXT = of_kind(str, "a text", or_none=True)


@names_told
@frozen
class ToolExecutionDecision:
    """What a human decided about a call. It goes through JSON: `to_dict`, `from_dict`.

    Attributes:
        tool_name: the tool of the call.
        execute: whether it may run.
        tool_call_id: which call of that tool; it may be left out where only one waits.
        feedback: for the model: why it was rejected, or changed.
        final_tool_params: the arguments to run it with; None leaves them as they are.
        digest: what `PendingCall` shows: binds the decision to exactly that. Needed in a journal.
        by: who decided.
        answer: a text that answers in the tool's place; the tool does not run.
        remember: what a confirmation counts for, see `Scope`; None is what the question says.
        credential: what proves who decides, to the agent's `approvers`. No run keeps it.
        expires_at: until when the question counts that was shown: a signed yes counts no longer.

    Raises:
        TypeError: one of them is of another type.
        ValueError: `remember` is no scope.
    """

    tool_name: str = field(validator=of_kind(str, "a text"))
    execute: bool = field(validator=of_kind(bool, "True or False"))
    tool_call_id: str | None = field(default=None, validator=_TEXT)
    feedback: str | None = field(default=None, validator=_TEXT)
    final_tool_params: dict[str, Any] | None = field(
        default=None, repr=False, validator=of_kind(dict, "a dict", or_none=True)
    )
    digest: str | None = field(default=None, kw_only=True, validator=_TEXT)
    by: str | None = field(default=None, kw_only=True, validator=_TEXT)
    answer: str | None = field(default=None, kw_only=True, validator=_TEXT)
    remember: Scope | None = field(default=None, kw_only=True, validator=optional(is_scope))
    credential: str | None = field(default=None, kw_only=True, validator=_TEXT, repr=False)
    expires_at: float | None = field(default=None, kw_only=True, validator=number(0, or_none=True))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self, recurse=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` gave; what has its default may be left out.

        Raises:
            StoredDataError: it is no decision. Nothing but True lets a tool run.
        """
        names = fields_dict(cls).keys()
        if not isinstance(data, Mapping):
            raise StoredDataError(f"this is no decision about a tool, which has {sorted(names)}")
        if more := sorted(map(str, data.keys() - names)):
            raise StoredDataError(
                f"this is no decision about a tool: {more[0]!r:.40} is none of {sorted(names)}"
                f"{meant(more[0], names)}"
            )
        if lacking := sorted({"tool_name", "execute"} - data.keys()):
            raise StoredDataError(f"this is no decision about a tool: it has no {lacking[0]!r}")
        try:
            return cls(**data)
        except (TypeError, ValueError) as error:
            raise StoredDataError(f"this is no decision about a tool: {error}") from error


def unmask(arguments: Mapping[str, Any], call: ToolCall, tool: Tool) -> dict[str, Any]:
    """Changed arguments in the order that was shown, with what was left as it was shown.

    That is the secrets, and the defaults, which the call leaves out.
    """
    was, shown = call.arguments, masked(with_defaults(call, tool), tool.masked)
    names = [k for k in arguments if k in shown and identity(arguments[k]) == identity(shown[k])]
    values = {k: was[k] if k in names else arguments[k] for k in was if k in arguments}
    return values | {k: arguments[k] for k in arguments if k not in values and k not in names}


def match_decision(
    spec: AgentSpec[Any],
    run: Run[Any],
    decision: ToolExecutionDecision,
    at: float | None = None,
    who: Principal | None = None,
) -> Result[Event, Refusal]:
    """The event that a decision is for `run`, which `who` makes, or why it does not count.

    It is matched by the id of the call, else by the tool, where only one call of it waits: never by
    a name where an id was given.
    """
    from returns.result import Failure, Success  # 15 ms: loaded with the first decision

    matches = [match for match in _calls(run) if _is_meant(match[-1], decision)]
    if len(matches) > 1:  # agents that work side by side may have calls of one id
        matches = [match for match in matches if _waits_for(match[-1], decision)] or matches
    if not matches:
        return Failure(_no_match(run, decision))
    if len(matches) > 1:
        # To take the first would run a call that the human may not have seen.
        text = f"{len(matches)} calls of {decision.tool_name!r} wait; say which by its tool_call_id"
        return Failure(Refusal("unknown_call", text))
    ((path, inner, slot),) = matches
    agent = reduce(lambda spec, at: spec.agents[at.tool_name], path, spec)
    if is_deep(decision.final_tool_params, DEPTH_MAX):
        text = f"the arguments are nested too deep: no call has more than {DEPTH_MAX} levels"
        return Failure(Refusal("invalid_arguments", text, (text,)))
    digest = decision.digest
    digest = str(getattr(slot.status, "digest", "")) if digest is None else digest
    answer = decision_for(slot.call, agent.tools[slot.call.tool_name], decision)
    event = HumanDecided(slot.ref, digest, answer, who.name if who else decision.by, at, who)
    fault = refusal(agent, inner, event)
    # RULE: by a question that fits no longer nobody is asked, and no approver says whose answer it
    # is: that it is outdated helps whoever gives it, and that nobody knows them is not true
    is_unknown = fault is not None and fault.why == "unauthenticated"
    if fault is None or is_unknown:
        fault = _mismatch(agent, inner, slot, answer, is_unknown=is_unknown) or fault
    if fault is not None:
        return Failure(_with_way(fault, slot, decision))
    return Success(wrap_event(path, event))


def _with_way(fault: Refusal, slot: Slot, decision: ToolExecutionDecision) -> Refusal:
    """The refusal, with what is to be written by who has left arguments out of a change."""
    change, whole = decision.final_tool_params, slot.call.arguments.keys()
    if change is None or fault.why != "invalid_arguments" or whole <= change.keys():
        return fault
    names = "".join(f", {name!r}: …" for name in change)
    way = f"a change is all arguments, those that stay as well: modify({{**call.arguments{names}}})"
    return evolve(fault, text=f"{fault.text}; {way}")


def _mismatch(
    spec: AgentSpec[Any], run: Run[Any], slot: Slot, answer: Decision, *, is_unknown: bool
) -> Refusal | None:
    """Why a yes is about something else than what would run. A no of somebody known counts."""
    now = binding_of(run, slot.call, spec.tools[slot.call.tool_name])
    if (isinstance(answer, Rejected) and not is_unknown) or not is_unfit(spec, run, slot, now):
        return None
    status = slot.status
    changes = status.binding.changes(now) if isinstance(status, AwaitingDecision) else []
    reason = "; ".join(changes) or "it is not the question that was put"
    text = f"the call of {slot.call.tool_name!r} must be asked about anew: {reason}"
    return Refusal("outdated", f"{text}; resume the run, and decide what it asks then")


def _calls(run: Run[Any]) -> Iterator[tuple[Path, Run[Any], Slot]]:
    """The calls of a run and of the agents that work in it, each with where it is."""
    return ((path, inner, slot) for path, inner in runs_in(run) for slot in inner.slots)


def apply_decisions(
    spec: AgentSpec[S],
    run: Run[S],
    decisions: Iterable[ToolExecutionDecision],
    at: float,
    who: Iterable[Principal | None] = (),
) -> tuple[Run[S], list[Event]]:
    """The run after `decisions`, which were made at a time since 1970, and these as events.

    `who` made each of them, as an authenticator says.

    Raises:
        DecisionRefusedError: one of them does not count; then none of them has happened.
    """
    from returns.pipeline import is_successful

    events: list[Event] = []
    people = chain(who, repeat(None))
    for decision, person in zip(decisions, people, strict=False):
        # each against the run that the ones before have made: two about one call do not both count
        match = match_decision(spec, run, decision, at, person)
        if not is_successful(match):
            raise DecisionRefusedError(match.failure())
        events.append(match.unwrap())
        run = step(spec, run, events[-1])
    return run, events


def grants_in(run: Run[Any]) -> tuple[Grant, ...]:
    """The confirmations that count for further calls, of the agents at work in the run as well.

    None where it has ended, and cannot be tried again: it makes no further calls.
    """
    if run.outcome is not None and not has_no_answer(run):
        return ()
    found = ((path, grant) for path, inner in runs_in(run) for grant in inner.grants)
    return tuple(evolve(grant, path=path) for path, grant in found)


def revocation(
    spec: AgentSpec[S], run: Run[S], grant: Grant, by: str | None, at: float | None
) -> tuple[Run[S], Event]:
    """The run once a confirmation counts no further, and the event; the run itself if it has none.

    Others of the same call, which was asked about again, end with it.
    """
    event = wrap_event(grant.path, GrantRevoked(grant.ref, by, at))
    is_there = grant.path in dict(runs_in(run))  # an agent that has answered has taken its own away
    return (step(spec, run, event) if is_there else run), event


def _waits_for(slot: Slot, decision: ToolExecutionDecision) -> bool:
    status = slot.status
    return isinstance(status, AwaitingDecision) and decision.digest in (None, status.digest)


def _is_meant(slot: Slot, decision: ToolExecutionDecision) -> bool:
    if slot.call.tool_name != decision.tool_name:
        return False
    # One that names its call by id is refused with the reason if that call does not wait.
    if decision.tool_call_id is not None:
        return slot.call.id == decision.tool_call_id
    return _waits_for(slot, decision)


def _no_match(run: Run[Any], decision: ToolExecutionDecision) -> Refusal:
    name, call_id = decision.tool_name, decision.tool_call_id
    subject = repr(name) if call_id is None else f"{name!r} with the id {call_id!r}"
    # its turn may be over, and then no slot has the call any more
    if any((record.call.tool_name, record.call.id) == (name, call_id) for record in run.decisions):
        return Refusal("repeated", f"the call of {subject} has been decided about already")
    slots = [slot for _, _, slot in _calls(run) if isinstance(slot.status, AwaitingDecision)]
    named = [slot for slot in slots if slot.call.tool_name == name]
    if named and call_id is None:  # such a call waits: only its digest can be another one
        text = f"the digest {decision.digest!r:.80} is not that of a call of {subject} that waits"
        way = f"make the decision of a call of agent.pending({run.id!r})"
        return Refusal("wrong_digest", f"{text} in run {run.id!r}: {way}")
    names = ", ".join(f"{slot.call.tool_name} ({slot.call.id})" for slot in slots) or "none"
    text = f"no call of {subject} waits in run {run.id!r}; there waits: {names}"
    return Refusal("unknown_call", text)


def decision_for(call: ToolCall, tool: Tool, decision: ToolExecutionDecision) -> Decision:
    """What a run is told of a decision about `call`."""
    if decision.answer is not None:
        return Answered(decision.answer)
    if not decision.execute:
        return Rejected(decision.feedback)
    if decision.final_tool_params is not None:
        arguments = unmask(decision.final_tool_params, call, tool)
        # A form sends back all arguments: to tell the model of a change that is none misleads it.
        if identity(arguments) != identity(thaw(call.arguments)):
            return Modified(arguments, decision.feedback)
    return Confirmed(decision.remember)
