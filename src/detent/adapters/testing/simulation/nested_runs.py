"""Agents at work inside a run: what happened in each of them, as if it were a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import evolve, frozen

from detent.adapters.testing.simulation.trace import (
    Folded,
    Happening,
    Opened,
    Performed,
    Ruled,
    Said,
    Trace,
    lives,
)
from detent.core.machine.delegation import nested_run
from detent.core.machine.step import step
from detent.core.run.events import CancelRequested, Event, HappenedInside, Resumed
from detent.core.run.refs import AgentRef, Path
from detent.core.run.run import Delegated, Run, Slot
from detent.core.run.spec import AgentSpec

Invariant: TypeAlias = Callable[[AgentSpec[Any], Trace], Iterator[str]]


@frozen
class Everywhere:
    """An invariant that is asked of the run and of the run of each agent inside it, one by one."""

    of_one: Invariant

    @property
    def __name__(self) -> str:
        """The name of the invariant."""
        return self.of_one.__name__

    def __call__(self, spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
        """A sentence for every place where it does not hold, with the agent in which that is."""
        return self.of_each(spec, parts(spec, trace))

    def of_each(
        self, spec: AgentSpec[Any], seen: Mapping[Path, Sequence[Happening]]
    ) -> Iterator[str]:
        """As above, of a trace in `parts`."""
        for path, own in seen.items():
            where = "".join(f"in {at.tool_name}, call {at.ref}: " for at in path)
            for sentence in self.of_one(agent_at(spec, path), own):
                yield where + sentence


def everywhere(invariant: Invariant) -> Everywhere:
    """The invariant, asked of the run and of the run of each agent inside it."""
    return Everywhere(invariant)


def faults(
    invariants: Iterable[Invariant], spec: AgentSpec[Any], trace: Trace
) -> Iterator[tuple[str, str]]:
    """The name of each invariant that does not hold, with a sentence for every place.

    They are asked of one run after the other, where runs were forked.
    """
    for life in lives(trace):
        yield from _faults_of_one(invariants, spec, life)


def _faults_of_one(
    invariants: Iterable[Invariant], spec: AgentSpec[Any], trace: Trace
) -> Iterator[tuple[str, str]]:
    seen = parts(spec, trace)
    for invariant in invariants:
        found = (
            invariant.of_each(spec, seen)
            if isinstance(invariant, Everywhere)
            else invariant(spec, trace)
        )
        if isinstance(found, str) or not isinstance(found, Iterable):
            raise TypeError(
                f"the invariant {invariant.__name__} has given {found!r:.80}: it must give, or "
                "yield, a sentence for each place where it does not hold, and nothing where it does"
            )
        for sentence in found:
            yield invariant.__name__, sentence


def agent_at(spec: AgentSpec[Any], path: Path) -> AgentSpec[Any]:
    """The agent that works at `path`."""
    for at in path:
        spec = spec.agents[at.tool_name]
    return spec


def all_agents(
    spec: AgentSpec[Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], AgentSpec[Any]]]:
    """An agent and all inside it, by their names from the outermost: several may share the last."""
    yield path, spec
    for name, agent in spec.agents.items():
        yield from all_agents(agent, (*path, name))


def slots_in(run: Run[Any], path: Path = ()) -> Iterator[tuple[Path, Slot]]:
    """The calls of the open turn, and of the agents that work on them, however deep."""
    for slot in run.slots:
        yield path, slot
        if isinstance(slot.status, Delegated):
            at = AgentRef(*slot.ref, slot.status.tool_name)
            yield from slots_in(slot.status.run, (*path, at))


def _runs_in(run: Run[Any]) -> Iterator[tuple[Path, Run[Any]]]:
    """The runs of the agents at work, however deep."""
    for path, slot in slots_in(run):
        if isinstance(slot.status, Delegated):
            yield (*path, AgentRef(*slot.ref, slot.status.tool_name)), slot.status.run


def found_at(run: Run[Any], path: Path) -> Run[Any] | None:
    """The run at `path`; None when no agent is at work there."""
    try:
        return nested_run(run, path)
    except LookupError:
        return None


def parts(spec: AgentSpec[Any], trace: Trace) -> dict[Path, list[Happening]]:
    """What has happened in the run, at (), and in that of each agent inside, in order."""
    seen: dict[Path, list[Happening]] = {(): []}
    for happening in trace:
        for path, part in _parts_of(spec, happening):
            seen.setdefault(path, []).append(part)
    return seen


def _parts_of(spec: AgentSpec[Any], happening: Happening) -> Iterator[tuple[Path, Happening]]:
    match happening:
        case Performed(process, effect, event):
            yield effect.path, Performed(process, evolve(effect, path=()), event)
        case Said(question, decision, at):
            yield question.path, Said(evolve(question, path=()), decision, at)
        case Ruled(judged, verdict):
            yield judged.path, Ruled(evolve(judged, path=()), verdict)
        case Folded():
            yield (), happening
            yield from _folded_inside(spec, happening)
        case Opened(process, _, run, again):
            yield (), happening
            for path, inner in _runs_in(run):
                yield path, Opened(process, (), inner, found_at(again, path) or inner)
        case _:
            yield (), happening


def _folded_inside(spec: AgentSpec[Any], folded: Folded) -> Iterator[tuple[Path, Happening]]:
    """What agents inside have heard of an event, and their beginning."""
    before = dict(_runs_in(folded.before))
    after = dict(_runs_in(folded.after)) if folded.is_change else before
    for path, was in before.items():
        inner_event, now = _heard_at(folded.event, path), after.get(path)
        if inner_event is None:
            continue
        if now is None:  # it has ended, and only its answer is kept
            now = step(agent_at(spec, path), was, inner_event)
        yield path, Folded(folded.process, was, inner_event, now)
    for path, begun in after.items():
        if path not in before:
            yield path, Opened(folded.process, (), begun, begun)


def path_of(event: Event) -> Path:
    """Where an event has happened."""
    if not isinstance(event, HappenedInside):
        return ()
    return (AgentRef(*event.ref, event.tool_name), *path_of(event.event))


def innermost(event: Event) -> Event:
    """The event, as the agent hears it in whose run it has happened."""
    return innermost(event.event) if isinstance(event, HappenedInside) else event


def _heard_at(event: Event, path: Path) -> Event | None:
    """The event as the run at `path` hears it; None when it does not."""
    for at in path:
        if isinstance(event, Resumed):
            return event
        if not isinstance(event, HappenedInside) or event.ref != at.ref:
            return None
        event = event.event
    return None if isinstance(event, CancelRequested) else event
