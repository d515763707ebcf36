"""What must hold as well where several processes live: see `invariants`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from detent.adapters.testing.simulation.approval_invariants import who_waits_asks_somebody
from detent.adapters.testing.simulation.call_invariants import settled_work_is_not_repeated
from detent.adapters.testing.simulation.invariants import INVARIANTS
from detent.adapters.testing.simulation.nested_runs import (
    Invariant,
    everywhere,
    slots_in,
)
from detent.adapters.testing.simulation.trace import (
    Folded,
    Offered,
    Performed,
    Rested,
    Trace,
)
from detent.core.run.events import Resumed, ToolRaised
from detent.core.run.refs import CallRef, Path
from detent.core.run.run import AwaitingDecision, Run, Running, Unknown
from detent.core.run.spec import AgentSpec


@everywhere
def what_is_answered_is_not_repeated(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No tool runs for a call that has its answer, unless the tool says that this does no harm.

    Such a one may have begun again when a lost driver tells what came of it the first time.
    """
    seen = [
        happening
        for happening in trace
        if not (isinstance(happening, Performed) and _may_repeat(happening))
    ]
    return settled_work_is_not_repeated.of_one(spec, seen)


def _may_repeat(performed: Performed) -> bool:
    return performed.effect.tool.on_unknown == "rerun"


def no_outcome_is_lost(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """What a process that lives knows of a call, the run hears, unless it has moved past it."""
    for happening in trace:
        if isinstance(happening, Offered) and _knows(happening):
            place = happening.effect.path, happening.effect.ref, happening.effect.attempt
            if why := dict(_open(happening.run)).get(place):
                yield f"process {happening.process} knew of {place}, and the run {why}"


def nobody_is_asked_what_is_known(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No run waits for a human to say how a call went of which a process has told."""
    outcomes: set[tuple[Path, CallRef, int]] = set()
    for happening in trace:
        match happening:
            case Offered(_, effect) if _knows(happening):
                outcomes.add((effect.path, effect.ref, effect.attempt))
            case Rested(run):
                for place, why in _open(run):
                    if place in outcomes:
                        yield f"somebody knew of {place}, and the run {why}"
            case _:
                pass


def no_tool_begins_for_a_lost_driver(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Once another process has gone on with a run, no tool begins for the one that had it."""
    driver = 0
    for happening in trace:
        match happening:
            case Folded(process, _, Resumed()):
                driver = process
            case Performed(process, effect) if process < driver:
                yield f"process {process} began {effect.ref}, and process {driver} drives the run"
            case _:
                pass


def _knows(offered: Offered) -> bool:
    event = offered.came
    return not (isinstance(event, ToolRaised) and event.fault.kind == "unknown_outcome")


def _open(run: Run[Any]) -> Iterator[tuple[tuple[Path, CallRef, int], str]]:
    """The attempts of which the run waits to hear, and for whom."""
    for path, slot in slots_in(run):
        match slot.status:
            case Running(attempt) | Unknown(attempt):
                yield (path, slot.ref, attempt), f"has it {type(slot.status).__name__.lower()}"
            case AwaitingDecision(attempt=attempt, after=after) if after:
                yield (path, slot.ref, attempt - 1), "asks a human"
            case _:
                pass


OF_ONE_PROCESS = settled_work_is_not_repeated, who_waits_asks_somebody
"""What is said of several otherwise, or of what one process appends at once."""
INVARIANTS_IN_COMPANY: tuple[Invariant, ...] = (
    *(invariant for invariant in INVARIANTS if invariant not in OF_ONE_PROCESS),
    what_is_answered_is_not_repeated,
    no_outcome_is_lost,
    nobody_is_asked_what_is_known,
    no_tool_begins_for_a_lost_driver,
)
