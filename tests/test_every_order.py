"""Every order of events: what is guarded runs only as it was confirmed.

Hundreds of thousands of events reach no line that the core's own tests pass over. So this is not
among those, whose lines are counted: that makes them four times as slow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from detent import State, ToolCall
from detent.machine import AgentSpec, CancelRequested, Run, step
from tests.core.every_order import SPEC as PAYING
from tests.core.every_order import Known, begun, events, learned, nested, payments


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
            if after is run and now is known:  # most of them: nothing has come of it
                yield name, False
                continue
            assert not now.wrong, f"after {event}: {now.wrong}"
            yield self.at(after, now)


@pytest.mark.parametrize(
    ("amounts", "depth"),
    [
        pytest.param((1,), None, id="one"),
        pytest.param((1, 2), 6, id="two"),
        pytest.param((1, 2), 7, id="two, longer", marks=pytest.mark.matrix),
        pytest.param((1, 0, 2), 5, id="three"),
    ],
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
