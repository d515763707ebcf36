"""Questions: what a policy has said of a call, what humans are asked and decide, what lapses."""

from __future__ import annotations

from typing import Any

import attrs

from detent.core.machine.binding import (
    arguments_digest,
    as_stale,
    binding_of,
    change_in,
    digest_of,
    grant_for,
    inputs_in,
    is_of_nobody,
    is_stale,
    is_unfit,
    wants_more,
)
from detent.core.machine.calls import refusal
from detent.core.machine.rejections import Around, deny_call, known_no, templates_of
from detent.core.machine.turns import slot_at
from detent.core.run.approval import (
    ANYBODY,
    PLAIN_ASK,
    SCOPES,
    Allow,
    Answered,
    Ask,
    Binding,
    Clearance,
    Confirmed,
    Decision,
    DecisionRecord,
    Deny,
    FormerDecision,
    Grant,
    Modified,
    Rejected,
    Scope,
    Verdict,
)
from detent.core.run.attempts import attempt_in, begun_before, refund, suspend, with_spending
from detent.core.run.events import CallRewritten, GrantRevoked, HumanDecided, Judged
from detent.core.run.limits import end_of, is_past, least
from detent.core.run.run import (
    AnsweredByHuman,
    AwaitingDecision,
    AwaitingPolicy,
    Faulted,
    Ready,
    Refused,
    Run,
    Slot,
    Status,
    evolve,
    move,
    with_slot,
    with_slots,
)
from detent.core.run.spec import AgentSpec
from detent.core.run.strictness import as_strict, asked_about
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.tools.invocation import check_arguments
from detent.core.tools.masking import masked
from detent.core.tools.result import text_of


def judge_call(
    spec: AgentSpec[S], run: Run[S], event: Judged, around: Around | None = None
) -> Run[S]:
    """The run as a policy has said of a call: it may run, may not, or a human must decide."""
    slot = slot_at(run, event.ref)
    if slot is None:
        return run
    slot = as_stale(slot) if event.is_anew else slot
    is_owed = isinstance(slot.status, AwaitingPolicy)
    if not is_owed and event.binding is not None:  # else it comes too late
        is_owed = is_stale(slot) or is_unfit(spec, run, slot, event.binding)
    return _apply_verdict(spec, run, slot, event, around) if is_owed else run


def _apply_verdict(
    spec: AgentSpec[S], run: Run[S], slot: Slot, event: Judged, around: Around | None
) -> Run[S]:
    # RULE: as it was when the policy was asked, so that every agent that replays it agrees
    tool = spec.tools[slot.call.tool_name]
    now = event.binding or binding_of(run, slot.call, tool)
    attempt, past, demands = attempt_in(slot), _past_question(slot), list[str]()
    verdict = as_strict(event.verdict, slot)
    if not isinstance(verdict, Deny):
        stays = is_stale(slot) and not is_unfit(spec, run, slot, now)
        slot = attrs.evolve(slot, spends=verdict.spends)
        demands = _new_demands(spec, run, slot, verdict)
        if not demands and (stays or _answer(slot) is not None):
            return with_spending(run, _renew(slot, verdict, event.at))
    clear = (slot := suspend(slot)).clearance
    is_left = clear is not None and _is_as_left(clear, now, event.at)  # a human has said so
    match verdict:
        case Deny(reason):
            return deny_call(run, slot, "policy", reason or wording.FORBIDDEN, event.at)
        case Allow(afterwards=who) if is_left or not past.after:
            return _let_run(run, slot, attempt, Clearance(now, attempt, afterwards=who))
        case Allow():  # nobody knows what the call has done: no policy is asked about that
            ask = _about_outcome(past, verdict)
        case Ask() as ask:
            if clear is not None and is_left:
                was = clear.ask or PLAIN_ASK
                demands += [f"as it is now, {text}" for text in wants_more(ask, was)]
                if not demands:
                    ask, until = _sooner(was, clear.expires_at, ask, event.at)
                    clear = attrs.evolve(clear, is_unjudged=False, ask=ask, expires_at=until)
                    return _let_run(run, slot, attempt, clear)
            grant = None if past.after else grant_for(spec, run, tool, now, event.at, ask)
            if grant is not None:
                clear = Clearance(now, attempt, ask, grant.expires_at, is_granted=True)
                return _let_run(run, slot, attempt, clear)
            ask = ask.about_outcome() if past.after else ask
    change, crash = change_in(run, slot, tool, now, demands), (past.after, past.trouble)
    again = past.again + bool(demands)
    question = ask_about(run, slot, ask, now, attempt, event.at, crash, change, again)
    return with_spending(run, _with_question(spec, run, slot, question, around))


def _let_run(run: Run[S], slot: Slot, attempt: int, clear: Clearance) -> Run[S]:
    return with_spending(run, evolve_slot(slot, Ready(attempt), clear))


def _with_question(
    spec: AgentSpec[S], run: Run[S], slot: Slot, question: AwaitingDecision, around: Around | None
) -> Slot:
    """The slot with a question; with its answer, where people have said no often enough."""
    no = None
    # what is asked anew stays: somebody may be reading it; and an agent was let begin by a yes
    if isinstance(slot.status, AwaitingPolicy) and not (question.after or slot.suspended):
        no = known_no(spec, run, slot.call, around)
    return move(slot, question) if no is None else refund(slot, Refused(no))


def _past_question(slot: Slot) -> AwaitingDecision:
    """What is asked about a call; where it has its answer, as far as it matters if asked anew.

    RULE: who has let it begin after a crash was a human. Until it has, no policy does, nor what was
    said before the crash.
    """
    if isinstance(slot.status, AwaitingDecision):
        return slot.status
    clear = slot.clearance
    if clear is None or not clear.after or attempt_in(slot) > clear.attempt:
        return AwaitingDecision("")
    ask = clear.ask or PLAIN_ASK
    return AwaitingDecision("", ask=ask, after=clear.after, trouble=clear.trouble)


def _about_outcome(past: AwaitingDecision, verdict: Allow | Ask) -> Ask:
    """A question about what a call has done, by the rules of today; or by those that asked it."""
    if isinstance(verdict, Ask):
        return verdict.about_outcome()
    who = past.ask.approvers if verdict.afterwards == ANYBODY else verdict.afterwards
    return attrs.evolve(past.ask, approvers=who)


def _answer(slot: Slot) -> str | None:
    """What a human has answered in the tool's place, and no policy has seen yet."""
    clear = slot.clearance if isinstance(slot.status, AwaitingPolicy) else None
    return None if clear is None else clear.answer


def _new_demands(spec: AgentSpec[Any], run: Run[Any], slot: Slot, verdict: Verdict) -> list[str]:
    """What the rules of today want more than those by which a call was asked about, or let run."""
    was, past = asked_about(slot), _past_question(slot)
    if past.after and not isinstance(verdict, Deny):
        verdict = _about_outcome(past, verdict)
    if not isinstance(verdict, Ask) or not (is_stale(slot) or _answer(slot) is not None):
        return []
    demands = ["a human must be asked"] if was is None else wants_more(verdict, was)
    demands += ["it must be known who decides"] * is_of_nobody(spec, run, slot.ref)
    return [f"the rules want more now: {text}" for text in demands]


def _renew(slot: Slot, verdict: Allow | Ask, at: float | None) -> Slot:
    """The slot as it is, where what was asked or said before is enough for the rules of today.

    It counts no longer, and for no more attempts, than they say. A question that was put stays,
    even if it need not be by now.
    """
    status, clear = slot.status, slot.clearance
    if (answer := _answer(slot)) is not None:
        return refund(slot, AnsweredByHuman(answer))
    if isinstance(status, AwaitingDecision):
        ask, until = _sooner(status.ask, status.expires_at, verdict, at)
        return move(slot, attrs.evolve(status, is_stale=False, ask=ask, expires_at=until))
    assert clear is not None  # noqa: S101 - else it is not stale
    if clear.ask is not None:
        ask, until = _sooner(clear.ask, clear.expires_at, verdict, at)
        clear = attrs.evolve(clear, ask=ask, expires_at=until)
    if isinstance(verdict, Allow):
        clear = attrs.evolve(clear, afterwards=verdict.afterwards)
    return attrs.evolve(slot, clearance=attrs.evolve(clear, is_stale=False))


def _sooner(
    ask: Ask, until: float | None, verdict: Allow | Ask, at: float | None
) -> tuple[Ask, float | None]:
    """A question, and when what was asked or said ends: as a later one has it, if that is less."""
    if not isinstance(verdict, Ask):
        return ask, until
    ask = attrs.evolve(ask, attempts=least(ask.attempts, verdict.attempts))
    return ask, least(until, end_of(at, verdict.expires_s))


def _is_as_left(clear: Clearance, now: Binding, at: float | None) -> bool:
    """Whether a human has changed the call to what it is now, and that counts still."""
    return clear.is_unjudged and clear.binding == now and not is_past(clear.expires_at, at)


def ask_about(  # noqa: PLR0917 - the parts of a question
    run: Run[Any],
    slot: Slot,
    ask: Ask,
    binding: Binding,
    attempt: int,
    at: float | None,
    crash: tuple[str, str] = ("", ""),
    change: FormerDecision | None = None,
    again: int = 0,
) -> AwaitingDecision:
    """A question about `attempt`; `crash` is the name and the trouble that it came of."""
    was = slot.status.expires_at if isinstance(slot.status, AwaitingDecision) else None
    until = least(end_of(at, ask.expires_s), was)  # RULE: put anew, it ends when it was to end
    trouble = crash[1] or begun_before(slot)
    if crash[0]:  # to run a call again, perhaps, says nothing of others
        ask = attrs.evolve(ask, remember="call")
    if slot.suspended is not None:  # it works on the call as it was when it began
        ask = attrs.evolve(ask, answers=attrs.evolve(ask.answers, modify=()))
    why = trouble if slot.suspended is None else wording.AGENT_WAITS
    digest = digest_of(run, slot, binding, crash[0], again)
    reason = "; ".join(filter(None, (why, ask.reason)))
    return AwaitingDecision(
        *(digest, reason, attempt, until, ask, binding, crash[0], trouble, change), again=again
    )


def evolve_slot(slot: Slot, status: Status, clearance: Clearance) -> Slot:
    """The slot with a status and with what has led to it; what the model is told is kept."""
    note = None if slot.clearance is None else slot.clearance.note
    clear = attrs.evolve(clearance, note=clearance.note or note)
    return attrs.evolve(slot, status=status, clearance=clear)


def rewrite_call(spec: AgentSpec[S], run: Run[S], event: CallRewritten) -> Run[S]:
    """The run with a cleared call that hooks have changed: a policy judges it as it is now."""
    slot = slot_at(run, event.ref)
    # an agent that has waited goes on with what hooks had made of its call
    if slot is None or slot.suspended or not (slot.clearance and isinstance(slot.status, Ready)):
        return run
    fits = check_arguments(event.call, spec.tools[slot.call.tool_name])
    is_fit = fits.value_or(default_value=False)
    clear = attrs.evolve(slot.clearance, note=None)  # it spoke of others
    status = AwaitingPolicy() if is_fit else Faulted(fits.failure())
    slot = attrs.evolve(slot, call=event.call, clearance=clear)
    return with_spending(run, refund(slot, status))


def decide_call(spec: AgentSpec[S], run: Run[S], event: HumanDecided) -> Run[S]:
    """The run after a decision, if it counts, and with what it has confirmed for other calls."""
    slot = slot_at(run, event.ref)
    if slot is None or refusal(spec, run, event) is not None:
        return run
    if (vote := _vote(spec, run, slot, event)) is not None:
        return with_slot(run, vote)
    grants = run.grants
    run = remember(spec, run, slot, event)
    run = with_spending(run, apply_decision(spec, slot, event.decision))
    if run.grants is grants:  # all that these cover has its answer: no other question is looked at
        return run
    return with_slots(run, [_release(spec, run, slot, event.at) for slot in run.slots])


def _release(spec: AgentSpec[Any], run: Run[Any], slot: Slot, at: float | None) -> Slot:
    """The slot, ready if it waits for no more than what has been confirmed for it meanwhile."""
    status = slot.status
    # A question that came of a crash is another one: no earlier word answers it.
    if not isinstance(status, AwaitingDecision) or status.after or is_past(status.expires_at, at):
        return slot
    grant = grant_for(spec, run, spec.tools[slot.call.tool_name], status.binding, at, status.ask)
    if grant is None:
        return slot
    clear = attrs.evolve(_clearance(status), expires_at=grant.expires_at, is_granted=True)
    return evolve_slot(slot, Ready(status.attempt), clear)


def _clearance(question: AwaitingDecision) -> Clearance:
    """What the answer to a question lets run: that which was asked about."""
    return Clearance(
        question.binding,
        question.attempt,
        question.ask,
        question.expires_at,
        is_stale=question.is_stale,
        after=question.after,
        trouble=question.trouble,
    )


def remember(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: HumanDecided) -> Run[Any]:
    """The run with a decision in its record, and with what is confirmed by it for other calls."""
    decision = event.decision
    status = slot.status if isinstance(slot.status, AwaitingDecision) else AwaitingDecision("")
    record, ask = _record(spec, run, slot, event), status.ask
    if not isinstance(decision, Confirmed):
        return evolve(run, decisions=(*run.decisions, record))
    votes = (*status.votes, record)
    run = evolve(run, decisions=(*run.decisions, *votes))
    explicit = [getattr(vote.decision, "remember", None) for vote in votes]
    scopes = [_scope(ask, vote.decision) for vote in votes]
    scope = SCOPES[min(map(SCOPES.index, scopes))]  # what one of them has not said counts not
    if scope == "call":
        return run
    lasts_s = ask.answers.remember_s
    until = None if lasts_s is None else (event.at or 0) + lasts_s
    by = ", ".join(vote.by for vote in votes if vote.by) or None
    inputs, key = record.revealed, (slot.ref, scope, status.binding)
    what = (scope, status.binding, by, event.at)
    is_explicit = None not in explicit
    grant = Grant(slot.ref, slot.call, *what, (), until, inputs, ask.approvers, is_explicit)
    # what was said last of the same call counts: a run that asks again and again does not grow
    grants = [past for past in run.grants if (past.ref, past.scope, past.binding) != key]
    return evolve(run, grants=(*grants, grant))


def _scope(ask: Ask, decision: Decision) -> Scope:
    """What a yes counts for."""
    if isinstance(decision, Confirmed) and decision.remember is not None:
        return decision.remember  # RULE: no policy widens "for this call" that a human has said
    return ask.scope


def _record(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: HumanDecided) -> DecisionRecord:
    """A decision that counts, for the record."""
    ask = slot.status.ask if isinstance(slot.status, AwaitingDecision) else PLAIN_ASK
    tool = spec.tools[slot.call.tool_name]
    inputs = masked(inputs_in(run, tool, ask.reveals), tool.masked)
    parts = (event.decision, event.by, event.at, (), inputs, event.who)
    return DecisionRecord(slot.ref, slot.call, *parts)


def revoke_grant(run: Run[S], event: GrantRevoked) -> Run[S]:
    """The run without the grant that is revoked."""
    grants = tuple(grant for grant in run.grants if grant.ref != event.ref)
    return run if grants == run.grants else evolve(run, grants=grants)


def _vote(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: HumanDecided) -> Slot | None:
    """The slot after a yes that is not enough, as more people must say so; None if it is."""
    status = slot.status
    assert isinstance(status, AwaitingDecision)  # noqa: S101 - else it is refused
    is_yes, count = isinstance(event.decision, Confirmed), len(status.votes) + 1
    if not is_yes or count >= status.ask.approvers.count:
        return None
    votes = (*status.votes, _record(spec, run, slot, event))
    return move(slot, attrs.evolve(status, votes=votes))


def apply_decision(spec: AgentSpec[Any], slot: Slot, decision: Decision) -> Slot:
    """The slot as a human has decided, and what the model is told of it."""
    name = slot.call.tool_name
    question = slot.status if isinstance(slot.status, AwaitingDecision) else AwaitingDecision("")
    clear = _clearance(question)
    templates = templates_of(spec, name)
    match decision:
        case Confirmed():
            return evolve_slot(slot, Ready(question.attempt), clear)
        case Modified(arguments, feedback):
            tool, call = spec.tools[name], attrs.evolve(slot.call, arguments=arguments)
            note = templates.modified(name, text_of(masked(arguments, tool.masked)), feedback)
            binding = attrs.evolve(question.binding, arguments=arguments_digest(call, tool))
            # RULE: what a policy denies runs by nobody's word, and it knows nothing of this yet
            is_unjudged = name in spec.guards
            clear = attrs.evolve(clear, binding=binding, note=note, is_unjudged=is_unjudged)
            slot = attrs.evolve(slot, call=call, clearance=clear, key="")
            status = AwaitingPolicy() if is_unjudged else Ready(question.attempt)
            return refund(slot, status) if is_unjudged else move(slot, status)
        case Answered(text) if question.is_stale and name in spec.guards:
            # RULE: who may answer in the tool's place is what the rules of today say
            clear = attrs.evolve(clear, answer=text)
            return refund(attrs.evolve(slot, clearance=clear), AwaitingPolicy())
        case Rejected(feedback):
            return refund(slot, Refused(templates.rejected(name, feedback)))
        case Answered(text):
            return refund(slot, AnsweredByHuman(text))
