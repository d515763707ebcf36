"""Pending: the calls that wait for a human, as values that can be shown, sent and decided about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Self

from attrs import asdict, field, fields_dict, frozen

from detent.core.chat.messages import ToolCall, frozen_mapping
from detent.core.errors import StoredDataError
from detent.core.machine.binding import binding_of, is_unfit
from detent.core.machine.calls import DecisionRefusedError, Refusal, refusal
from detent.core.machine.delegation import runs_in, wrap_event
from detent.core.machine.due import due
from detent.core.machine.step import step
from detent.core.run.approval import (
    ALL_ANSWERS,
    ANYBODY,
    Answered,
    Answers,
    Approvers,
    Confirmed,
    Decision,
    FormerDecision,
    Modified,
    Principal,
    Rejected,
    Scope,
    is_scope,
)
from detent.core.run.effects import AskHuman
from detent.core.run.events import Event, HumanDecided
from detent.core.run.refs import Path
from detent.core.run.run import AwaitingDecision, Run, Slot
from detent.core.run.spec import AgentSpec
from detent.core.schema.json_values import identity
from detent.core.schema.validation import faults
from detent.core.state.typevars import S
from detent.core.tools.defaults import with_defaults
from detent.core.tools.masking import MASK, masked
from detent.core.tools.redaction import all_without_secrets
from detent.core.tools.tool import Tool
from detent.core.values.checks import names_told, number, of_kind
from detent.core.values.frozen import FrozenDict, thaw

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
        remember: what a confirmation counts for, see `Scope`.
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
    remember: Scope = field(default="call", kw_only=True, validator=is_scope)
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
        known = fields_dict(cls).keys()
        if not isinstance(data, Mapping) or not {"tool_name", "execute"} <= data.keys() <= known:
            raise StoredDataError(f"this is no decision about a tool, which has {sorted(known)}")
        try:
            return cls(**data)
        except (TypeError, ValueError) as error:
            raise StoredDataError(f"this is no decision about a tool: {error}") from error


@frozen
class PendingCall:
    """A call that waits for a human: all that they need to see, as plain values.

    Attributes:
        run_id: the outermost run: that which decisions are given to.
        turn: the turn of the run, or of that of the agent inside it, from 1.
        place: the place of the call in its turn, from 0.
        call_id: the id of the call.
        tool_name: what is to run.
        description: what it does.
        arguments: with what, defaults filled in; parameters marked as `SecretParameter` show
            `MASK`.
        reason: why a human is asked.
        digest: what a decision is bound to: the run, the tool, what the state fills in, and exactly
            these arguments.
        parameters: the JSON Schema that arguments must fit.
        state: values from the state that the tool will get, where the policy reveals them.
        expires_at: after which silence is a no, in seconds since 1970.
        agents: the agents inside the run whose call it is, the outermost first.
        defaults: the names of the arguments that the model has left out.
        answers: which answers count.
        attempts: how often one yes lets it begin, where attempts fail.
        changed: where it was decided about before: why that is not enough; else "".
        former: the arguments that were decided about then.
        former_state: what was revealed of the state then.
        masked: the parameters that are secret, and show `MASK`. An argument of another one that
            reads like it is what the model wrote.
        approvers: who may answer.
        votes: who has said yes, where it takes more people.
        started_by: who began the run, where that is known.
    """

    run_id: str
    turn: int
    place: int
    call_id: str | None
    tool_name: str
    description: str
    arguments: FrozenDict[str, Any] = field(converter=frozen_mapping)
    reason: str
    digest: str
    parameters: FrozenDict[str, Any] = field(converter=frozen_mapping, repr=False)
    state: FrozenDict[str, Any] = field(factory=FrozenDict, converter=frozen_mapping)
    expires_at: float | None = None
    agents: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    answers: Answers = ALL_ANSWERS
    attempts: int = 1
    changed: str = ""
    former: FrozenDict[str, Any] = field(factory=FrozenDict, converter=frozen_mapping)
    former_state: FrozenDict[str, Any] = field(factory=FrozenDict, converter=frozen_mapping)
    masked: tuple[str, ...] = ()
    approvers: Approvers = ANYBODY
    votes: tuple[str, ...] = ()
    started_by: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, for a web page or a queue."""
        plain = {name: thaw(value) for name, value in asdict(self, recurse=False).items()}
        return plain | {"answers": asdict(self.answers), "approvers": asdict(self.approvers)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` gave. Raises StoredDataError where it is no such call."""
        try:
            names = ("agents", "defaults", "masked", "votes")
            lists = {name: tuple(data.get(name, ())) for name in names}
            answers = dict(data.get("answers", {}))
            if answers.get("modify") is not None:
                answers["modify"] = tuple(answers["modify"])
            wanted = dict(data.get("approvers", {}))
            wanted["roles"] = tuple(wanted.get("roles", ()))
            parts = {"answers": Answers(**answers), "approvers": Approvers(**wanted)}
            fields: dict[str, Any] = {**data, **lists, **parts}
            return cls(**fields)
        except (TypeError, ValueError, AttributeError) as error:
            raise StoredDataError(f"this is no pending call: {error}") from error

    def faults(self, arguments: Mapping[str, Any]) -> list[str]:
        """One sentence for each way in which changed arguments do not fit the tool."""
        # A mask that was left alone stands for the secret, which fits: its text need not.
        left = [repr(name) for name in self.masked if arguments.get(name) == MASK]
        found = faults(arguments, self.parameters)
        wrong = [sentence for sentence in found if not any(name in sentence for name in left)]
        return all_without_secrets(wrong, arguments, frozenset(self.masked))

    def confirm(self, *, by: str | None = None, remember: Scope = "call") -> ToolExecutionDecision:
        """Run it as it is."""
        return self._decision(by, execute=True, remember=remember)

    def modify(
        self, arguments: Mapping[str, Any], feedback: str | None = None, *, by: str | None = None
    ) -> ToolExecutionDecision:
        """Run it with these arguments, all of them, in place of the model's."""
        params = dict(arguments)
        return self._decision(by, execute=True, feedback=feedback, final_tool_params=params)

    def reject(
        self, feedback: str | None = None, *, by: str | None = None
    ) -> ToolExecutionDecision:
        """Do not run it; the model is told, and why."""
        return self._decision(by, execute=False, feedback=feedback)

    def respond(self, answer: str, *, by: str | None = None) -> ToolExecutionDecision:
        """Do not run it: this text is its result."""
        return self._decision(by, execute=False, answer=answer)

    def _decision(self, by: str | None, **decided: Any) -> ToolExecutionDecision:
        about: dict[str, Any] = {"tool_call_id": self.call_id, "digest": self.digest, "by": by}
        return ToolExecutionDecision(self.tool_name, expires_at=self.expires_at, **about, **decided)


def pending(spec: AgentSpec[Any], run: Run[Any]) -> tuple[PendingCall, ...]:
    """The calls of a run that wait for a human, in the model's order."""
    return tuple(question(one) for one in due(spec, run) if isinstance(one, AskHuman))


def question(effect: AskHuman) -> PendingCall:
    """What a human is asked."""
    tool, call = effect.tool, effect.call
    # The id of the run of an agent is that of the run around it, a slash, and a place.
    outermost = effect.run_id.rsplit("/", len(effect.path))[0]
    whole, change = with_defaults(call, tool), effect.change or FormerDecision("")
    attempts = max(1, tool.retries.times + 2 - effect.begins)
    attempts = min(attempts, effect.ask.attempts or attempts)
    repeats = f"One yes lets it be tried up to {attempts} times." if attempts > 1 else ""
    reason = (effect.reason, change.text, repeats, _people(effect))
    return PendingCall(
        outermost,
        *effect.ref,
        call.id,
        tool.name,
        tool.description,
        masked(whole, tool.masked),
        " ".join(filter(None, reason)),
        effect.digest,
        tool.spec.parameters,
        effect.revealed,
        effect.expires_at,
        tuple(at.tool_name for at in effect.path),
        tuple(whole.keys() - call.arguments.keys()),
        effect.ask.answers,
        attempts,
        change.text,
        masked(change.arguments, tool.masked),
        change.state,
        tuple(sorted(tool.masked)),
        effect.ask.approvers,
        effect.votes,
        effect.started_by,
    )


def _people(effect: AskHuman) -> str:
    """How many people must say yes, and who has, where one is not enough."""
    wanted, who = effect.ask.approvers.count, ", ".join(effect.votes) or "nobody"
    return f"{wanted} people must say yes; so far: {who}." if wanted > 1 else ""


def unmasked(arguments: Mapping[str, Any], call: ToolCall, tool: Tool) -> dict[str, Any]:
    """Changed arguments in the order that was shown, with what was left as it was shown.

    That is the secrets, and the defaults, which the call leaves out.
    """
    was, shown = call.arguments, masked(with_defaults(call, tool), tool.masked)
    same = [k for k in arguments if k in shown and identity(arguments[k]) == identity(shown[k])]
    kept = {k: was[k] if k in same else arguments[k] for k in was if k in arguments}
    return kept | {k: arguments[k] for k in arguments if k not in kept and k not in same}


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

    found = [one for one in _calls(run) if _is_meant(one[-1], decision)]
    if len(found) > 1:  # agents that work side by side may have calls of one id
        found = [one for one in found if _waits_for(one[-1], decision)] or found
    if not found:
        return Failure(_unmatched(run, decision))
    if len(found) > 1:
        # To take the first would run a call that the human may not have seen.
        text = f"{len(found)} calls of {decision.tool_name!r} wait; say which by its tool_call_id"
        return Failure(Refusal("unknown_call", text))
    ((path, inner, slot),) = found
    agent = reduce(lambda spec, at: spec.agents[at.tool_name], path, spec)
    digest = decision.digest
    digest = str(getattr(slot.status, "digest", "")) if digest is None else digest
    decided = decision_for(slot.call, agent.tools[slot.call.tool_name], decision)
    event = HumanDecided(slot.ref, digest, decided, who.name if who else decision.by, at, who)
    if (why := refusal(agent, inner, event) or _outdated(agent, inner, slot, decided)) is not None:
        return Failure(why)
    return Success(wrap_event(path, event))


def _outdated(spec: AgentSpec[Any], run: Run[Any], slot: Slot, decided: Decision) -> Refusal | None:
    """Why a yes is about something else than what would run. A no always counts."""
    now = binding_of(run, slot.call, spec.tools[slot.call.tool_name])
    if isinstance(decided, Rejected) or not is_unfit(spec, run, slot, now):
        return None
    status = slot.status
    said = status.binding.changes(now) if isinstance(status, AwaitingDecision) else []
    what = "; ".join(said) or "it is not the question that was put"
    text = f"the call of {slot.call.tool_name!r} must be asked about anew: {what}"
    return Refusal("outdated", f"{text}; resume the run, and decide what it asks then")


def _calls(run: Run[Any]) -> Iterator[tuple[Path, Run[Any], Slot]]:
    """The calls of a run and of the agents that work in it, each with where it is."""
    return ((path, inner, slot) for path, inner in runs_in(run) for slot in inner.slots)


def decided_run(
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
    known = chain(who, repeat(None))
    for decision, by in zip(decisions, known, strict=False):
        # each against the run that the ones before have made: two about one call do not both count
        matched = match_decision(spec, run, decision, at, by)
        if not is_successful(matched):
            raise DecisionRefusedError(matched.failure())
        events.append(matched.unwrap())
        run = step(spec, run, events[-1])
    return run, events


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


def _unmatched(run: Run[Any], decision: ToolExecutionDecision) -> Refusal:
    name, call_id = decision.tool_name, decision.tool_call_id
    which = repr(name) if call_id is None else f"{name!r} with the id {call_id!r}"
    # its turn may be over, and then no slot has the call any more
    if any((record.call.tool_name, record.call.id) == (name, call_id) for record in run.decisions):
        return Refusal("repeated", f"the call of {which} has been decided about already")
    slots = [slot for _, _, slot in _calls(run) if isinstance(slot.status, AwaitingDecision)]
    names = ", ".join(f"{slot.call.tool_name} ({slot.call.id})" for slot in slots) or "none"
    text = f"no call of {which} waits in run {run.id!r}; there waits: {names}"
    return Refusal("unknown_call", text)


def decision_for(call: ToolCall, tool: Tool, decision: ToolExecutionDecision) -> Decision:
    """What a run is told of a decision about `call`."""
    if decision.answer is not None:
        return Answered(decision.answer)
    if not decision.execute:
        return Rejected(decision.feedback)
    if decision.final_tool_params is not None:
        arguments = unmasked(decision.final_tool_params, call, tool)
        # A form sends back all arguments: to tell the model of a change that is none misleads it.
        if identity(arguments) != identity(thaw(call.arguments)):
            return Modified(arguments, decision.feedback)
    return Confirmed(decision.remember)
