"""Strictness: one question of several, which lets nothing pass that one of them would not."""

from __future__ import annotations

from attrs import evolve

from detent.core.errors import DetentError
from detent.core.run.approval import SCOPES, Answers, Ask, Scope, Verdict
from detent.core.run.limits import least
from detent.core.run.run import AwaitingDecision, Slot


class PolicyFailedError(DetentError, RuntimeError):
    """A policy has failed; `question` says so, with all that those beside it want of people.

    RULE: it is raised, and no verdict: the opposite of a failure is not that the call may run.
    """

    def __init__(self, question: Ask) -> None:
        super().__init__(question.reason)
        self.question = question


def question_of(error: BaseException) -> Ask:
    """What a human is asked where a policy has failed."""
    if isinstance(error, PolicyFailedError):
        return error.question
    return failed(f"the policy failed: {type(error).__name__}: {error}")


def failed(reason: str) -> Ask:
    """What a human is asked in place of a policy.

    RULE: it might have denied what it let run before; a model may choose by what a policy fails.
    """
    return Ask(reason, answers=Answers(remember="call"), is_failure=True)


def as_strict(verdict: Verdict, slot: Slot) -> Verdict:
    """A verdict on a call; of a policy that has failed with all that was asked before.

    RULE: whom it would ask, and how, nobody knows. What it has said is not taken back by that.
    """
    was = asked_about(slot)
    if was is None or not isinstance(verdict, Ask) or not verdict.is_failure:
        return verdict
    return evolve(stricter(verdict, was), spends=verdict.spends)


def asked_about(slot: Slot) -> Ask | None:
    """What is asked about a call, or was when it was let run."""
    if isinstance(slot.status, AwaitingDecision):
        return slot.status.ask
    return None if slot.clearance is None else slot.clearance.ask


def stricter(one: Ask, other: Ask) -> Ask:
    """The question of two: of each option what is stricter, and all that either reveals or says."""
    return Ask(
        "; ".join(filter(None, (one.reason, other.reason))),
        _narrower(one.remember, other.remember),
        least(one.expires_s, other.expires_s),
        tuple(dict.fromkeys((*one.reveals, *other.reveals))),
        _stricter_answers(one.answers, other.answers),
        least(one.attempts, other.attempts),
        one.approvers & other.approvers,
        afterwards=one.afterwards & other.afterwards,
        is_failure=one.is_failure or other.is_failure,
    )


def _stricter_answers(one: Answers, other: Answers) -> Answers:
    lists = [each.modify for each in (one, other) if each.modify is not None]
    modify = tuple(name for name in lists[0] if name in lists[-1]) if lists else None
    return evolve(
        one,
        confirm=one.confirm and other.confirm,
        modify=modify,
        respond=one.respond and other.respond,
        remember=_narrower(one.remember, other.remember),
        remember_s=least(one.remember_s, other.remember_s),
    )


def _narrower(one: Scope, other: Scope) -> Scope:
    return SCOPES[min(SCOPES.index(one), SCOPES.index(other))]
