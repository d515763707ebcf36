"""The state diagram: what runs and their calls were seen to become, drawn as Mermaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from detent.adapters.testing.simulation.trace import Trace, changes, slot_at
from detent.core.run.events import Event
from detent.core.run.run import Done, Run


class Edge(NamedTuple):
    """Something became something else because of an event, all by name."""

    machine: str
    before: str
    event: str
    after: str


def edges_of(trace: Trace) -> Iterator[Edge]:
    """Every change of the run's phase, and of a call, in a trace."""
    for before, event, after in changes(trace):
        yield from edges_between(before, event, after)


def edges_between(before: Run[Any], event: Event, after: Run[Any]) -> Iterator[Edge]:
    """What one event has changed."""
    name = type(event).__name__
    yield Edge("run", phase_of(before), name, phase_of(after))
    for slot in after.slots:
        was = slot_at(before, slot.ref)
        if was is not slot:
            earlier = "[*]" if was is None else type(was.status).__name__
            yield Edge("call", earlier, name, type(slot.status).__name__)


def phase_of(run: Run[Any]) -> str:
    """The name of the run's phase; of its outcome, when it has ended."""
    phase = run.phase
    return type(phase.outcome if isinstance(phase, Done) else phase).__name__


def mermaid(machine: str, edges: Iterable[Edge]) -> str:
    """The edges of one machine as a Mermaid state diagram, in an order that is always the same."""
    joined: dict[tuple[str, str], set[str]] = {}
    for edge in edges:
        if edge.machine == machine:
            joined.setdefault((edge.before, edge.after), set()).add(edge.event)
    lines = [
        f"    {before} --> {after}: {', '.join(sorted(events))}"
        for (before, after), events in sorted(joined.items())
    ]
    return "\n".join(["stateDiagram-v2", *lines])
