"""Refusals, and every order of events: what is guarded runs only as it was confirmed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from detent import (
    Allow,
    Answered,
    Ask,
    AskHuman,
    CallRef,
    ClockTicked,
    Confirmed,
    Event,
    HumanDecided,
    Judged,
    Modified,
    Rejected,
    Resumed,
    Run,
    RunTool,
    State,
    ToolReturned,
    ToolStarted,
    due,
    step,
)
from detent.core.refusals import refusal
from detent.core.results import result_of
from tests.core.asking import PAY, spec_of, waiting

SPEC = spec_of()
DEPTH = 3


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


def worlds(run: Run[State], places: int) -> list[Event]:
    """All that may come in next: what is right, what is forged, what is late, what is doubled."""
    events: list[Event] = [Resumed("x"), ClockTicked(9.0)]
    digests = [*(one.digest for one in asked(run)), "forged"]
    for place in range(places):
        ref = CallRef(1, place)
        events += [Judged(ref, Allow()), ToolStarted(ref, 1)]
        events += [ToolReturned(ref, 1, result_of(PAY, "paid"))]
        for digest in digests:
            events += [
                HumanDecided(ref, digest, said)
                for said in (Confirmed(), Modified({"to": "X", "amount": 1}), Rejected())
            ]
    return events


def paths(run: Run[State], depth: int, places: int) -> Iterator[tuple[Run[State], set[object]]]:
    """Every run that a sequence of events leads to, with what humans have confirmed on the way."""
    level: list[tuple[Run[State], set[object]]] = [(run, set())]
    for _ in range(depth):
        following = []
        for before, confirmed in level:
            owed = {effect.ref: effect for effect in asked(before)}
            for event in worlds(before, places):
                now = set(confirmed)
                match event:
                    case HumanDecided(ref, digest, said) if (
                        ref in owed and digest == owed[ref].digest
                    ):
                        if isinstance(said, Confirmed):
                            now.add((ref, owed[ref].call.arguments))
                        if isinstance(said, Modified):
                            now.add((ref, said.arguments))
                    case _:
                        pass
                after = step(SPEC, before, event)
                yield after, now
                if after is not before:
                    following.append((after, now))
        level = following


@pytest.mark.parametrize("places", [1, 2, 3])
def test_nothing_guarded_runs_unless_exactly_that_was_confirmed(
    places: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every sequence of events up to a depth: forged, doubled, late, and after restarts."""
    run = waiting(SPEC, *({"to": "Ann", "amount": n} for n in range(places)))
    count = 0
    for after, confirmed in paths(run, DEPTH, places):
        count += 1
        for effect in due(SPEC, after):
            if isinstance(effect, RunTool) and effect.ref.turn == 1:
                assert (effect.ref, effect.call.arguments) in confirmed
    with capsys.disabled():
        print(f"\n{count} sequences of up to {DEPTH} events about {places} calls", end="")  # noqa: T201 - how many were checked
    assert count > 50 * places


def test_a_change_that_does_not_fit_is_refused_with_each_fault() -> None:
    """As a list, for a form that shows them where they are."""
    run = waiting(SPEC, {"to": "Ann", "amount": 5})
    (human,) = asked(run)

    found = refusal(SPEC, run, HumanDecided(human.ref, human.digest, Modified({"amount": "x"})))

    assert found is not None
    assert found.why == "misfit"
    assert sorted(found.faults) == ["'amount' must be an integer, got \"x\"", "'to' is missing"]
    assert found.text == f"call 0 of turn 1 of run 'r': {'; '.join(found.faults)}"
