"""Agents at work inside a run: what happened in each of them, as if it were a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeAlias

from attrs import evolve

from detent.adapters.testing.trace import Folded, Happening, Opened, Performed, Said, Trace
from detent.core.delegation import run_at
from detent.core.events import CancelRequested, Event, HappenedInside, Resumed
from detent.core.run import Run
from detent.core.slots import AgentRef, Delegated, Path, Slot
from detent.core.spec import AgentSpec
from detent.core.step import step

Invariant: TypeAlias = Callable[[AgentSpec[Any], Trace], Iterator[str]]


def everywhere(invariant: Invariant) -> Invariant:
    """The invariant, asked of the run and of the run of each agent inside it, one by one."""

    @wraps(invariant)
    def of_each(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
        if not spec.agents:
            yield from invariant(spec, trace)
            return
        for path in ((), *_paths(trace)):
            where = "".join(f"in {at.tool_name}, call {at.ref}: " for at in path)
            for sentence in invariant(agent_at(spec, path), list(seen_at(spec, trace, path))):
                yield where + sentence

    return of_each


def agent_at(spec: AgentSpec[Any], path: Path) -> AgentSpec[Any]:
    """The agent that works at `path`."""
    for at in path:
        spec = spec.agents[at.tool_name]
    return spec


def slots_in(run: Run[Any], path: Path = ()) -> Iterator[tuple[Path, Slot]]:
    """The calls of the open turn, and of the agents that work on them, however deep."""
    for slot in run.slots:
        yield path, slot
        if isinstance(slot.status, Delegated):
            at = AgentRef(*slot.ref, slot.status.tool_name)
            yield from slots_in(slot.status.run, (*path, at))


def found_at(run: Run[Any], path: Path) -> Run[Any] | None:
    """The run at `path`; None when no agent is at work there."""
    try:
        return run_at(run, path)
    except LookupError:
        return None


def seen_at(spec: AgentSpec[Any], trace: Trace, path: Path) -> Iterator[Happening]:
    """What has happened in the run at `path`, without what has happened inside of its agents."""
    agent = agent_at(spec, path)
    for happening in trace:
        match happening:
            case Folded() if path:
                yield from _folded_at(agent, happening, path)
            case Opened(process, _, run, again) if path:
                if (found := found_at(run, path)) is not None:
                    yield Opened(process, (), found, found_at(again, path) or found)
            case Performed(process, effect, came):
                if effect.path == path:
                    yield Performed(process, evolve(effect, path=()), came)
            case Said(question, decision):
                if question.path == path:
                    yield Said(evolve(question, path=()), decision)
            case _:
                yield happening


def _folded_at(agent: AgentSpec[Any], folded: Folded, path: Path) -> Iterator[Happening]:
    """An event that the agent has heard, or its beginning."""
    was, heard = found_at(folded.before, path), _heard_at(folded.event, path)
    now = found_at(folded.after, path)
    if was is None:
        if now is not None:
            yield Opened(folded.process, (), now, now)
    elif heard is not None:
        if now is None:  # it has ended, and only its answer is kept
            now = step(agent, was, heard) if folded.is_change else was
        yield Folded(folded.process, was, heard, now)


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


def _paths(trace: Trace) -> dict[Path, None]:
    """Where agents were at work, in the order in which they began."""
    paths: dict[Path, None] = {}
    for happening in trace:
        if isinstance(happening, Folded) and happening.is_change:
            for path, slot in slots_in(happening.after):
                if isinstance(slot.status, Delegated):
                    paths[*path, AgentRef(*slot.ref, slot.status.tool_name)] = None
    return paths
