"""Recovery: what becomes of a call that was under way when its process ended."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from attrs import evolve

from detent.core.machine.beginning import idle_call
from detent.core.machine.binding import as_stale, binding_of, digest_of
from detent.core.machine.calls import not_entitled, person_key
from detent.core.machine.delegation import as_far_as, inner_name
from detent.core.machine.questions import ask_about
from detent.core.machine.rejections import expire_questions
from detent.core.machine.turns import BEGUN, attempt_slot, settle, with_unread
from detent.core.run.approval import Ask, Confirmed
from detent.core.run.attempts import begin_anew, is_silent, may_be_known, suspend
from detent.core.run.effects import Vouches, call_name
from detent.core.run.events import HumanDecided, Resumed, ToolLost, ToolNeverRan, ToolRaised
from detent.core.run.limits import end_of, is_past
from detent.core.run.run import (
    AwaitingDecision,
    AwaitingPolicy,
    BackingOff,
    Delegated,
    Done,
    Faulted,
    Pausing,
    Ready,
    Run,
    Running,
    Slot,
    Thinking,
    Unknown,
    agent_at,
    charge,
    has_no_answer,
    move,
    with_agent,
    with_labels,
    with_slot,
    with_slots,
)
from detent.core.run.run import evolve as evolve_run
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.tools.result import ToolFault
from detent.core.tools.version import hash_of

Change: TypeAlias = Callable[[AgentSpec[Any], Run[Any], Slot], Slot]
"""What becomes of a call of an agent's run."""
Cause: TypeAlias = tuple[str, str]
"""Why nobody knows what a call has done: for the digest of the question, and in words."""
CRASHES = 3
"""So often a tool is begun that ends its process each time, before a human is asked."""
NOT_BEGUN, AT_WORK = AwaitingPolicy | Ready | BackingOff, Running | Unknown


def resume_run(spec: AgentSpec[S], run: Run[S], event: Resumed) -> Run[S]:
    """The run when another process goes on with it; as it was, if it has ended with an answer."""
    if has_no_answer(run):
        run = evolve_run(run, phase=Thinking(run.given_up + 1))
    if isinstance(run.phase, Done):
        return run
    deadline = spec.limits.deadline(event.at)
    if deadline != run.deadline:
        run = evolve_run(run, deadline=deadline)
    if isinstance(run.phase, Pausing):
        pause = _pause_after(spec, run, run.phase, event)
        return run if pause == run.phase else evolve_run(run, phase=pause)
    if isinstance(run.phase, Thinking):
        return with_unread(run)  # whoever asked the model is gone, and it is asked once more
    run, slots = expire_questions(with_labels(run, at_work(spec, run)), event.at), list[Slot]()
    for slot in run.slots:
        now = slot
        if (at := agent_at(slot)) is not None:
            agent = spec.agents[at.tool_name]
            inner = settle(agent, resume_run(agent, at.run, event))
            run = charge(run, at.run.spent, inner.spent)
            now = slot if inner is at.run else as_far_as(spec, run, slot, inner)
        slots.append(_recover(spec, run, now, event))
    return with_slots(run, slots)


def let_go(spec: AgentSpec[S], before: Run[S], after: Run[S]) -> Run[S]:
    """The run, with the labels of tools that were at work before, and for which nobody waits now.

    RULE: a tool that has begun labels the run, also where its result is lost: it may have left what
    it has read where others find it.
    """
    labels = {*at_work(spec, before)}
    return with_labels(after, tuple(labels - {*at_work(spec, after)})) if labels else after


def at_work(spec: AgentSpec[Any], run: Run[Any]) -> tuple[str, ...]:
    """The labels of the tools that have begun and have no answer, however deep."""
    labels: tuple[str, ...] = ()
    for slot in run.slots:
        if (agent := agent_at(slot)) is not None:
            labels += at_work(spec.agents[agent.tool_name], agent.run)
        elif isinstance(slot.status, AT_WORK):
            labels += spec.tools[slot.call.tool_name].labels
    return labels


def _recover(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: Resumed) -> Slot:
    """The slot once its process is gone: as it is, unless its tool was running, or rests.

    A tool that was running has an unknown outcome; the tool's own `on_unknown` says what to do.
    What was asked and said goes by the rules of that process: those of today are asked once more.
    """
    return as_stale(_after_crash(spec, run, slot, event))


def _after_crash(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: Resumed) -> Slot:
    match slot.status:
        case Running(attempt):
            slot, again = _crashed(spec, slot), _again(slot, attempt)
            again = None if slot.crashes >= CRASHES else again
            cause = event.by, wording.process_ended(slot.crashes)
            return _resolve_unknown(spec, run, slot, again, event.at, cause)
        case BackingOff(attempt, until):
            longest_s = spec.tools[slot.call.tool_name].retries.pause_s(attempt - 1, 0)
            nearer = _nearer(until, event, longest_s)
            return slot if nearer == until else move(slot, BackingOff(attempt, nearer))
        case Delegated() as agent if slot.clearance is not None and is_silent(agent):
            # RULE: its model has said nothing, so that it has not begun: the yes may lapse still
            return suspend(slot) if is_past(slot.clearance.expires_at, event.at) else slot
        case AwaitingDecision(ask=ask, expires_at=None) as was if end_of(event.at, ask.expires_s):
            # of a copy: there may be no rules by which it is put anew
            return move(slot, evolve(was, expires_at=end_of(event.at, ask.expires_s)))
        case _:
            return slot


def _crashed(spec: AgentSpec[Any], slot: Slot) -> Slot:
    """The slot of a call in the middle of which its process has ended.

    RULE: it is counted where no human says whether it is begun again. A call that ends each process
    that begins it would end them all, one after the other.
    """
    how = spec.tools[slot.call.tool_name].on_unknown
    is_begun_again = how == "rerun" or callable(how)
    return evolve(slot, crashes=slot.crashes + 1) if is_begun_again else slot


def _pause_after(spec: AgentSpec[Any], run: Run[Any], pause: Pausing, event: Resumed) -> Pausing:
    """How much longer the model is left alone once the process that meant to wait is gone."""
    rule, tries = spec.model_retries, pause.attempt - 1 - run.given_up
    longest_s = rule.backoff_max_s + rule.pause_s(tries, 0)  # the provider may have asked for more
    return Pausing(pause.attempt, _nearer(pause.until, event, longest_s))


def _nearer(until: float, event: Resumed, longest_s: float) -> float:
    """The end of a pause, which no other clock makes longer than its rule does."""
    return until if event.at is None else min(until, event.at + longest_s)


def rebind(run: Run[S], run_id: str, nonce: str) -> Run[S]:
    """A copy of the run under another id and nonce: decisions about the original are not its own.

    What has been confirmed goes along, as far as it was for the original.

    RULE: what has begun is done once for both: the copy looks it up, and tries it again, by the key
    that the world has been told. By one of its own it would find nothing, and pay once more.
    """
    was, new = hash_of(run.id, run.nonce), hash_of(run_id, nonce)
    grants = tuple(
        evolve(grant, binding=evolve(grant.binding, run=new))
        for grant in run.grants
        if grant.binding.run == was
    )
    copy = evolve_run(run, id=run_id, nonce=nonce, grants=grants)
    known = [
        evolve(slot, key=call_name(run, slot).key) if may_be_known(slot) else slot
        for slot in run.slots
    ]
    return with_slots(copy, [_rebind(slot, copy, was, new) for slot in known])


def begun_by(run: Run[S], who: str | None) -> Run[S]:
    """The run and those of agents inside as ones that somebody else has begun.

    RULE: whoever may not say yes to runs of their own must not get one that another has begun.
    """
    slots = list[Slot]()
    for slot in run.slots:
        agent = agent_at(slot)
        inner = agent and Delegated(agent.tool_name, begun_by(agent.run, who))
        slots.append(slot if inner is None else with_agent(slot, inner))
    return with_slots(evolve_run(run, started_by=who), slots)


def without_clearances(spec: AgentSpec[S], run: Run[S]) -> Run[S]:
    """The run with no call confirmed that has no answer yet: policies judge these anew."""
    return _ungrant(spec, run, _to_be_judged)


def _ungrant(spec: AgentSpec[S], run: Run[S], change: Change) -> Run[S]:
    """The run and those of agents inside, without grants, each call as `change` has it."""
    slots = list[Slot]()
    for slot in run.slots:
        now = slot
        if (agent := agent_at(slot)) is not None:
            inner = _ungrant(spec.agents[agent.tool_name], agent.run, change)
            now = with_agent(slot, Delegated(agent.tool_name, inner))
        slots.append(change(spec, run, now))
    return with_slots(evolve_run(run, grants=()), slots)


def after_lookup(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: ToolRaised) -> Slot:
    """What becomes of a call when nobody could look up how it went: a human decides.

    To run it again might do it twice, and the model, told of a failure, may well call again.
    """
    cause = f"lookup {event.attempt}", event.fault.message  # each has an attempt of its own
    question = _question(spec, run, slot, event.at, cause)
    # RULE: what had the call begun were the rules of a process that is gone: today's are asked
    return begin_anew(slot, evolve(question, is_stale=True))


def after_loss(spec: AgentSpec[S], run: Run[S], event: ToolNeverRan | ToolLost) -> Run[S]:
    """The run after a call that was not carried out, or of which nobody knows whether it was.

    It counts as an attempt: one that is always lost is not begun again for ever.
    """
    slot = attempt_slot(run, event, Running if isinstance(event, ToolLost) else BEGUN)
    if slot is None and isinstance(event, ToolNeverRan):
        slot = idle_call(run, event)
    if slot is None or isinstance(slot.status, Ready):
        return run
    if isinstance(event, ToolNeverRan):
        return with_slot(run, _nothing_found(spec, run, slot, event))
    slot = _crashed(spec, slot) if callable(spec.tools[slot.call.tool_name].on_unknown) else slot
    attempt, most = event.attempt, max(1, spec.tools[slot.call.tool_name].retries.times)
    again = None if attempt > most else _again(slot, attempt, 1)
    cause = f"lost {attempt}", event.reason
    # before the question, which would be outdated by it
    run = with_labels(run, spec.tools[slot.call.tool_name].labels)
    return with_slot(run, _resolve_unknown(spec, run, slot, again, event.at, cause))


def _nothing_found(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: ToolNeverRan) -> Slot:
    """The slot of a call that was not carried out, as far as somebody can tell.

    RULE: a human is asked where that may be false. Another run, of which this one is a copy, may be
    doing it; and what ends each process that does it would end them all.
    """
    if isinstance(slot.status, Unknown) and (slot.key or slot.crashes >= CRASHES):
        doubt = wording.BEGUN_ELSEWHERE if slot.key else wording.never_ran(slot.crashes)
        question = _question(spec, run, slot, event.at, (f"never ran {event.attempt}", doubt))
        return begin_anew(slot, evolve(question, is_stale=True))
    return _next_attempt(slot, event)


def _next_attempt(slot: Slot, event: ToolNeverRan) -> Slot:
    """The slot of a call whose attempt was not carried out: the next one is to begin.

    It has a number of its own: the same word, heard again, is none about that.
    """
    clear, again = slot.clearance, Ready(event.attempt + 1)
    if event.at is None or clear is None or clear.attempt != event.attempt:
        return move(slot, again)
    attempts = None if clear.ask is None else clear.ask.attempts
    if isinstance(slot.status, Unknown) and clear.ask is not None and attempts is not None:
        # it had been begun: a yes to so many attempts is to one less, though it may lapse still
        if not clear.covers(again.attempt):
            return move(slot, again)
        clear = evolve(clear, ask=evolve(clear.ask, attempts=attempts - 1))
    # RULE: the yes was for the attempt that began first, and none has: it may lapse still
    clear = evolve(clear, attempt=again.attempt)
    status = AwaitingPolicy() if is_past(clear.expires_at, event.at) else again
    return evolve(slot, status=status, clearance=clear)


def _question(
    spec: AgentSpec[Any], run: Run[Any], slot: Slot, at: float | None, cause: Cause
) -> AwaitingDecision:
    """A human is asked what to do after an attempt.

    As the policy had it asked: who may see what, until when, and why it asked at all.
    """
    assert isinstance(slot.status, Running | Unknown)  # noqa: S101 - else nobody has to ask
    clear, begins = slot.clearance, slot.status.attempt + 1
    if clear is None:
        now = binding_of(run, slot.call, spec.tools[slot.call.tool_name])
        return ask_about(run, slot, Ask(), now, begins, at, cause)
    ask = (clear.ask or Ask(afterwards=clear.afterwards)).about_outcome()
    return ask_about(run, slot, ask, clear.binding, begins, at, cause)


def proven(spec: AgentSpec[S], run: Run[S], at: float) -> Run[S]:
    """A run that somebody hands in, without what they may have written into it of a human's yes.

    Where the agent knows who approves, votes count as far as their proof does at this time, each
    person's once, where it is a yes and theirs to give. What is remembered, and what has let a call
    run that has not begun, have none that fits: they are asked for again.
    """
    if spec.vouches is None:
        return run
    return _ungrant(spec, run, partial(_prove, vouches=spec.vouches, at=at))


def without_approvals(spec: AgentSpec[S], run: Run[S]) -> Run[S]:
    """A copy of a run that goes on as well, without what humans have said yes to and is not done.

    RULE: a decision counts once. What was said counts for the run that it was said of.
    """
    return _ungrant(spec, run, partial(_prove, vouches=lambda event, call, tool: False, at=0.0))


def _prove(spec: AgentSpec[Any], run: Run[Any], slot: Slot, vouches: Vouches, at: float) -> Slot:
    status, clear = slot.status, slot.clearance
    if clear is not None and isinstance(status, NOT_BEGUN | AT_WORK | Delegated):
        # also one that no human has given: it may say that a human has changed the call
        status, clear = AwaitingPolicy() if isinstance(status, NOT_BEGUN) else status, None
    elif isinstance(status, AwaitingDecision):
        tool, by = spec.tools[slot.call.tool_name], run.started_by
        sure = {
            vote.who and person_key(vote.who.name): vote
            for vote in status.votes
            if isinstance(yes := vote.decision, Confirmed)
            and not_entitled(status.ask.approvers, yes, vote.who, (), by) is None
            and vouches(
                HumanDecided(slot.ref, status.digest, yes, vote.by, at, vote.who), slot.call, tool
            )
        }
        # RULE: what a question takes is what the rules of today say, whatever is answered
        status = evolve(status, votes=tuple(sure.values()), is_stale=True)
    return evolve(slot, status=status, clearance=clear)


def _to_be_judged(spec: AgentSpec[Any], run: Run[Any], slot: Slot) -> Slot:
    match slot.status:
        case AwaitingPolicy() if slot.clearance is not None:  # a human may have changed the call
            clear = evolve(slot.clearance, is_unjudged=False, answer=None)
            return evolve(slot, clearance=clear)
        case _ if slot.call.tool_name not in spec.guards:
            return slot
        case Ready() | BackingOff():
            return move(slot, AwaitingPolicy())
        case Running() | Unknown():  # RULE: what has begun may be done: a fork does not forget it
            return evolve(slot, clearance=None)
        case Delegated():
            return suspend(slot)
        case _:
            return slot


def _rebind(slot: Slot, copy: Run[Any], was: str, new: str) -> Slot:
    """What fitted the original fits the copy. What did not is judged anew there as well."""
    status, clear = slot.status, slot.clearance
    if clear is not None and clear.binding.run == was:
        clear = evolve(clear, binding=evolve(clear.binding, run=new))
    if isinstance(status, AwaitingDecision):
        after, binding, again = status.after, status.binding, status.again
        moves = status.digest == digest_of(copy, slot, binding, after, again) and binding.run == was
        binding = evolve(binding, run=new) if moves else binding
        digest = digest_of(copy, slot, binding, after, again) if moves else ""
        # the time of those who were asked for the original is not that of the copy
        status = evolve(status, digest=digest, binding=binding, votes=(), expires_at=None)
    slot = evolve(slot, status=status, clearance=clear)
    if (agent := agent_at(slot)) is None:
        return slot
    names = inner_name(copy.id, slot.ref), inner_name(copy.nonce, slot.ref)
    return with_agent(slot, Delegated(agent.tool_name, rebind(agent.run, *names)))


def _resolve_unknown(  # noqa: PLR0917 - what is known of it
    spec: AgentSpec[Any],
    run: Run[Any],
    slot: Slot,
    again: Ready | None,
    at: float | None,
    cause: Cause,
) -> Slot:
    """The slot of a call that ran and may have done its work; `again` is how it may run anew."""
    assert isinstance(slot.status, Running)  # noqa: S101 - else it is not lost
    name = slot.call.tool_name
    match spec.tools[name].on_unknown:
        case "rerun" if again is not None:
            return begin_anew(slot, again)
        case "rerun" | "ask":
            return begin_anew(slot, _question(spec, run, slot, at, cause))
        case "fail":
            text = wording.outcome_unknown(name, cause[1])
            return move(slot, Faulted(ToolFault("unknown_outcome", text)))
        case _:
            return move(slot, Unknown(slot.status.attempt))


def _again(slot: Slot, attempt: int, step: int = 0) -> Ready | None:
    """A call that may run again without harm; None where a yes lets no further attempt begin."""
    clear = slot.clearance
    if clear is None or clear.ask is None or clear.ask.attempts is None:
        return Ready(attempt + step)
    return Ready(attempt + 1) if clear.covers(attempt + 1) else None
