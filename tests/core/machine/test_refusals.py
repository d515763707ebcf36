"""Refusals: why a decision about a call does not count."""

from __future__ import annotations

import pytest

from detent import Answered, Confirmed, Modified, Rejected, State, ToolCall
from detent.approvals import Answers, Ask
from detent.core.machine.calls import not_allowed, refusal
from detent.machine import AskHuman, CallRef, HumanDecided, Run, due, step
from tests.core.asking import spec_of, waiting

SPEC = spec_of()


def asked(run: Run[State]) -> list[AskHuman]:
    return [effect for effect in due(SPEC, run) if isinstance(effect, AskHuman)]


@pytest.mark.parametrize(
    ("at", "decision", "why"),
    [
        (60.0, Confirmed(), None),
        (61.0, Confirmed(), "expired"),
        (None, Confirmed(), "expired"),
        (float("nan"), Confirmed(), "expired"),
        (61.0, Modified({"to": "Ann", "amount": 1}), "expired"),
        (61.0, Rejected(), None),
        (61.0, Answered("by hand"), None),
    ],
    ids=["in time", "late", "no clock", "no time", "modified", "rejected", "answered"],
)
def test_a_confirmation_may_come_too_late(at: float | None, decision: object, why: object) -> None:
    """A rejection never does."""
    spec = spec_of(lambda call, tool, run: Ask(expires_s=60.0))
    run = waiting(spec, {"to": "Ann", "amount": 5}, at=0.0)
    (human,) = asked(run)
    event = HumanDecided(human.ref, human.digest, decision, at=at)  # type: ignore[arg-type]  # each is one

    found = refusal(spec, run, event)

    assert (found.why if found else None) == why
    assert (step(spec, run, event) == run) == (why is not None)


def test_a_change_that_does_not_fit_is_refused_with_each_fault() -> None:
    """As a list, for a form that shows them where they are."""
    run = waiting(SPEC, {"to": "Ann", "amount": 5})
    (human,) = asked(run)

    found = refusal(SPEC, run, HumanDecided(human.ref, human.digest, Modified({"amount": "x"})))

    assert found is not None
    assert found.why == "invalid_arguments"
    assert sorted(found.faults) == ["'amount' must be an integer, got \"x\"", "'to' is missing"]
    assert found.text == f"call 0 of turn 1 of run 'r': {'; '.join(found.faults)}"


def test_a_decision_about_what_does_not_wait_is_refused() -> None:
    """There is no such call, or nobody has to decide about it."""
    run = waiting(SPEC, {"to": "Ann", "amount": 5})

    for place in (1, 99):
        found = refusal(SPEC, run, HumanDecided(CallRef(1, place), "any", Confirmed()))
        assert found is not None
        assert found.why == "unknown_call"
        assert found.text == f"call {place} of turn 1 of run 'r' does not wait for a decision"


@pytest.mark.parametrize(
    ("was", "now"), [(1, True), (0, False), ([1], [True]), ({"a": 0}, {"a": False})], ids=str
)
def test_what_may_not_be_changed_is_compared_as_json(was: object, now: object) -> None:
    """To Python, each pair is equal; to a tool it is not."""
    call, fixed = ToolCall("pay", {"x": was}), Answers(modify=())
    assert not_allowed(fixed, call, Modified({"x": was})) is None
    assert "'x' may not be changed" in str(not_allowed(fixed, call, Modified({"x": now})))


def test_what_is_left_out_is_not_null() -> None:
    """The tool would get its default."""
    left_out = not_allowed(Answers(modify=()), ToolCall("pay", {"x": None}), Modified({}))
    assert "'x' may not be changed" in str(left_out)
