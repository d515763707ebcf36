"""Questions: a UI or a strategy is asked about a call, and its answer becomes an event."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from inspect import isawaitable
from typing import Any, TypeAlias

from attrs import evolve

from detent.adapters.system.threads_and_loops import in_a_thread, in_background
from detent.core.control.decisions import ToolExecutionDecision, decision_for, unmask
from detent.core.machine.calls import (
    DecisionRefusedError,
    Refusal,
    change_faults,
    is_late,
    not_allowed,
    not_entitled,
)
from detent.core.run.approval import Decision, Modified, Principal
from detent.core.run.effects import AskHuman
from detent.core.run.events import ClockTicked, HumanDecided
from detent.core.values.frozen import thaw
from detent.ports.approvers import Authenticator, identified
from detent.ports.clock import Clock
from detent.ports.confirmation import ConfirmationUIResult, HITLBreakpointException, decision_of
from detent.ports.pending import PendingCall, question

TRIES = 5
"""So often a human is asked who says what does not count; then the call stays pending."""

DECISIVE = {
    "confirm": "remember is 'call', 'arguments', 'tool' or None",
    "modify": "a change has all arguments as new_tool_params, and feedback is a text or None",
    "reject": "feedback is a text or None",
    "respond": "the answer is a text, as feedback",
}
"""The actions that decide, and what each must have. Any other leaves the call waiting."""

Dialogue: TypeAlias = Generator[partial[object], object, HumanDecided | ClockTicked | None]


def asked(
    asker: Any, effect: AskHuman, clock: Clock, approvers: Authenticator | None = None
) -> HumanDecided | ClockTicked | None:
    """What a human decides; None says that they have not. Blocks until they have answered.

    An answer that comes too late says no more than how late it is. `approvers` say who they are.

    Raises:
        DecisionRefusedError: a strategy has decided about another call than this.
    """
    talk, said = _dialogue(asker, effect, clock, approvers), None
    while isinstance(call := _next(talk, said), partial):
        try:
            said = call()
            said = in_background(said).result() if isawaitable(said) else said
        except HITLBreakpointException:
            return None
    return call


async def asked_async(
    asker: Any, effect: AskHuman, clock: Clock, approvers: Authenticator | None = None
) -> HumanDecided | ClockTicked | None:
    """As `asked`, in the running event loop; what blocks is called in a thread."""
    talk, said = _dialogue(asker, effect, clock, approvers), None
    while isinstance(call := _next(talk, said), partial):
        try:
            said = await in_a_thread(call)
            said = await said if isawaitable(said) else said
        except HITLBreakpointException:
            return None
    return call


def _next(talk: Dialogue, said: object) -> partial[object] | HumanDecided | ClockTicked | None:
    """The next question, or what came of it all."""
    try:
        return talk.send(said)
    except StopIteration as end:
        event: HumanDecided | ClockTicked | None = end.value
        return event


def _dialogue(
    asker: Any,
    effect: AskHuman,
    clock: Clock,
    approvers: Callable[..., object] | None,
) -> Dialogue:
    notice = ""
    for _ in range(TRIES):
        said = yield partial(_consult, asker, effect, notice)
        decision, by = _meant(type(asker).__name__, effect, said)
        if decision is None:
            return None
        who: Principal | None = None
        if approvers is not None:
            shown = question(effect)
            known = identified((yield partial(approvers, _claim(shown, said), shown)))
            if isinstance(known, Refusal):
                notice = f"This answer does not count: {known.text}."
                continue
            who, by = known, known.name
        event = HumanDecided(effect.ref, effect.digest, decision, by, clock.now(), who)
        if is_late(decision, event.at, effect.expires_at):
            return ClockTicked(clock.now())
        notice = _objection(effect, event)
        if not notice:
            return event
    return None


def _objection(effect: AskHuman, event: HumanDecided) -> str:
    """Why what a human has said would not count, so that they are asked again; "" if it does."""
    if (lack := not_allowed(effect.ask.answers, effect.call, event.decision)) is not None:
        return f"This answer does not count: {lack}."
    people = (effect.ask.approvers, event.decision, event.who, effect.votes, effect.started_by)
    if (why := not_entitled(*people, may_say=bool(effect.after))) is not None:
        return f"This answer does not count: {why.text}."
    changed = event.decision if isinstance(event.decision, Modified) else None
    faults = [] if changed is None else change_faults(effect.call, changed, effect.tool)
    return f"Your change does not fit the tool: {'; '.join(faults)}" if faults else ""


def _meant(name: str, effect: AskHuman, said: object) -> tuple[Decision | None, str | None]:
    """The decision of an answer that `name` gave, and by whom; None where it leaves it open.

    Raises:
        TypeError: it is no answer: to leave the call open would hide a mistake in the program.
    """
    match said:
        case ToolExecutionDecision():
            _require_about(effect, said)
            return decision_for(effect.call, effect.tool, said), said.by
        case ConfirmationUIResult():
            decision = decision_of(said)
            if decision is None and said.action in DECISIVE:
                raise TypeError(f"{name} answered {said.action!r}: {DECISIVE[said.action]}")
            if isinstance(decision, Modified):
                arguments = unmask(decision.arguments, effect.call, effect.tool)
                decision = evolve(decision, arguments=arguments)
            return decision, said.by
        case None:
            return None, None
        case _:
            raise TypeError(
                f"{name} must answer with a ConfirmationUIResult, a ToolExecutionDecision, or None "
                f"where nobody can say, got {type(said).__name__}"
            )


def _claim(shown: PendingCall, said: object) -> ToolExecutionDecision:
    """An answer as somebody's decision about what was shown."""
    if isinstance(said, ToolExecutionDecision):
        return evolve(said, tool_call_id=shown.call_id, digest=shown.digest)
    assert isinstance(said, ConfirmationUIResult)  # noqa: S101 - else it has meant nothing
    is_answer = said.action == "respond"
    return ToolExecutionDecision(
        shown.tool_name,
        said.action in {"confirm", "modify"},
        shown.call_id,
        None if is_answer else said.feedback,
        said.new_tool_params if said.action == "modify" else None,
        digest=shown.digest,
        by=said.by,
        answer=said.feedback if is_answer else None,
        remember=said.remember if said.action == "confirm" else None,
        credential=said.credential,
    )


def _require_about(effect: AskHuman, said: ToolExecutionDecision) -> None:
    call = effect.call
    is_named = said.tool_name == call.tool_name and said.tool_call_id in (None, call.id)
    if not is_named or said.digest not in (None, effect.digest):
        about = f"{said.tool_name!r} with the id {said.tool_call_id!r}"
        text = f"asked about {call.tool_name!r} ({call.id}), a strategy has decided about {about}"
        raise DecisionRefusedError(Refusal("wrong_digest", text))


def _consult(asker: Any, effect: AskHuman, notice: str) -> object:
    if hasattr(asker, "get_user_decision"):
        whole = question(effect)
        reason = "\n".join(filter(None, (whole.reason, _agent(effect), notice)))
        return asker.get_user_decision(evolve(whole, reason=reason))
    tool, whole = effect.tool, question(effect)
    shown = thaw(whole.arguments)
    state = [f"{name} = {value!r} (from the state)" for name, value in effect.revealed.items()]
    before = {**whole.former, **whole.former_state}
    former = [f"before: {', '.join(f'{k} = {v!r}' for k, v in before.items())}"] if before else []
    told = "\n".join(
        filter(None, (tool.description, whole.reason, *former, _agent(effect), *state, notice))
    )
    if hasattr(asker, "get_user_confirmation"):
        return asker.get_user_confirmation(tool.name, told, shown)
    decide = getattr(asker, "run_async", None) or asker.run
    try:
        return decide(
            tool_name=tool.name,
            tool_description=told,
            tool_params=shown,
            tool_call_id=effect.call.id,
        )
    except HITLBreakpointException:
        return None


def _agent(effect: AskHuman) -> str:
    """For which agent the tool is to run, where it is one that works for another."""
    return "".join(f"For the agent {at.tool_name}." for at in effect.path[-1:])
