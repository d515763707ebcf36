"""Refusals, and every order of events: what is guarded runs only as it was confirmed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from detent import Answered, Confirmed, Modified, Rejected, State, ToolCall
from detent.approvals import Answers, Ask
from detent.core.machine.calls import not_allowed, refusal
from detent.machine import (
    AgentSpec,
    AskHuman,
    CallRef,
    CancelRequested,
    HumanDecided,
    Run,
    due,
    step,
)
from tests.core.asking import spec_of, waiting
from tests.core.every_order import SPEC as PAYING
from tests.core.every_order import Known, begun, events, learned, nested, payments

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


@frozen
class Places:
    """Every run that the events of a world lead to, the nearest first, each just once.

    Runs are values: where two orders of events lead to one, it goes on only once.
    """

    spec: AgentSpec[State]
    known: dict[Hashable, tuple[Run[State], Known]] = field(factory=dict)

    def at(self, run: Run[State], known: Known) -> tuple[Hashable, bool]:
        """A name for a run, and whether it is new."""
        slots = tuple((slot.status, slot.call.arguments) for slot in run.slots)
        name = (run.turn, type(run.phase), slots, run.grants, known)
        is_new = name not in self.known
        self.known.setdefault(name, (run, known))
        return name, is_new

    def onward(self, name: Hashable) -> Iterator[tuple[Hashable, bool]]:
        """Where each event leads to from there."""
        run, known = self.known[name]
        for event in events(self.spec, run, known):
            after = step(self.spec, run, event)
            now = learned(self.spec, run, event, after, known)
            assert not now.wrong, f"after {event}: {now.wrong}"
            yield self.at(after, now)


@pytest.mark.parametrize(
    ("amounts", "depth"), [((1,), None), ((1, 2), 7), ((1, 0, 2), 5)], ids=["one", "two", "three"]
)
def test_nothing_guarded_runs_unless_exactly_that_was_confirmed(
    amounts: tuple[int, ...], depth: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every order of verdicts, decisions, starts, results, grants, and the ends of two processes.

    Decisions are right, forged, doubled, late, expired, misfits, or about another call. Without a
    depth there is no end to how many events come.
    """
    places = Places(PAYING)
    frontier = [places.at(begun(PAYING, payments(amounts)), Known())[0]]
    orders, length, total = Counter(frontier), 0, 0
    leads: dict[Hashable, Counter[Hashable]] = {}
    while frontier and length != depth:
        fresh: list[Hashable] = []
        for name in frontier:
            found = list(places.onward(name))
            leads[name] = Counter(one for one, _ in found)
            fresh += [one for one, is_new in found if is_new]
        longer: Counter[Hashable] = Counter()
        for name, count in orders.items():
            for one, ways in leads[name].items():
                longer[one] += count * ways
        orders, frontier, length = longer, fresh, length + 1
        total += longer.total()
    bound = f"up to {length}" if frontier else "any number of"
    told = f"{len(amounts)} calls: {total:.1e} orders of {bound} events, {len(places.known):,} runs"
    with capsys.disabled():
        print(f"\n{told}", end="")  # noqa: T201 - how many were checked
    assert (len(places.known) > 300, bool(frontier)) == (True, depth is not None)


@settings(max_examples=25)
@given(st.lists(st.sampled_from([0, 1, 0, 2]), max_size=4), st.lists(st.integers(0, 999)))
def test_nor_does_anything_in_an_agent_inside_a_run(amounts: list[int], dice: list[int]) -> None:
    """More calls at once, among them those of an agent that pays, too; the order is random."""
    spec = nested()
    calls = [*payments(amounts), ToolCall("buyer", {"task": "buy"}, "b")]
    run, known = begun(spec, calls), Known()
    for number in dice:
        changes = [
            (event, after)
            for event in events(spec, run, known)
            if (after := step(spec, run, event)) is not run
            and (number % 7 == 0 or not isinstance(event, CancelRequested))
        ]
        if not changes:
            break
        event, after = changes[number % len(changes)]
        known = learned(spec, run, event, after, known)
        assert not known.wrong, f"after {event}: {known.wrong}"
        run = after


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
