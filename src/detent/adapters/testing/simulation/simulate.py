"""Simulation: thousands of runs in worlds where everything goes wrong, checked by invariants.

``python -m detent.adapters.testing.simulation --seeds 10000`` does it with agents made up by dice.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from attrs import evolve, field, frozen

from detent.adapters.testing.simulation.company_invariants import INVARIANTS_IN_COMPANY
from detent.adapters.testing.simulation.diagram import Edge, edges_of, phase_of
from detent.adapters.testing.simulation.generated_agents import (
    require_tools,
    results_of,
    spec_of,
    stranger,
)
from detent.adapters.testing.simulation.invariants import INVARIANTS
from detent.adapters.testing.simulation.model_actors import Players, Results
from detent.adapters.testing.simulation.moves import Move, moves_in_company, moves_of
from detent.adapters.testing.simulation.nested_runs import Invariant, all_agents, faults
from detent.adapters.testing.simulation.shared_stores import (
    OpenStore,
    directory_store,
    memory_store,
    sqlite_store,
)
from detent.adapters.testing.simulation.shrinking import fewest
from detent.adapters.testing.simulation.trace import (
    Folded,
    Happening,
    Opened,
    Rested,
    Trace,
    lines,
)
from detent.adapters.testing.simulation.worlds.company import CompanyWorld
from detent.adapters.testing.simulation.worlds.stage import Stage
from detent.adapters.testing.simulation.worlds.world import World
from detent.core.chat.messages import ChatMessage
from detent.core.run.events import ModelReplied
from detent.core.run.refs import CallRef
from detent.core.run.spec import AgentSpec
from detent.ports.tool_execution import ToolExecutor

if TYPE_CHECKING:
    from detent.adapters.agent.agent import Agent

HELLO = (ChatMessage.from_user("Please do it."),)
ENOUGH = 400
"""How many worlds are played at most to make a failure smaller."""


@frozen
class Case:
    """One world: the same case always plays the same. `without` has calls that are not made."""

    seed: int
    moves: tuple[Move, ...]
    without: frozenset[CallRef] = frozenset()


@frozen
class Broken:
    """An invariant that does not hold in a case, and where."""

    invariant: str
    sentence: str
    case: Case
    trace: Trace = field(repr=False, eq=False)


class InvariantBroken(AssertionError):  # noqa: N818 - says what is the case
    """A simulated run broke an invariant. `broken` has the smallest case that was found."""

    def __init__(self, broken: Broken) -> None:
        self.broken = broken
        transcript = "\n".join(lines(broken.trace))
        super().__init__(
            f"seed {broken.case.seed} breaks {broken.invariant}: {broken.sentence}\n"
            f"the smallest case found: {broken.case}\n{transcript}"
        )


@frozen
class Report:
    """What a simulation has done. `ends` counts how runs ended; `edges` is what was seen."""

    runs: int
    events: int
    processes: int
    seconds: float
    ends: Mapping[str, int]
    edges: frozenset[Edge] = field(repr=False)

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {name}" for name, count in sorted(self.ends.items()))
        return (
            f"{self.runs} runs, {self.events} events, {self.processes} processes, "
            f"{self.runs / self.seconds:.0f} runs per second; ended: {ends}"
        )


class Plays(Protocol):
    """A world: what happens in it can be played."""

    def play(self) -> list[Happening]:
        """The trace of the whole run."""
        ...


@frozen
class Simulation:
    """What is simulated: for each seed an agent, what its tools give, a store, and what befalls it.

    `world` plays a stage and moves, and gives the trace.
    """

    agent: Callable[[int], AgentSpec[Any]]
    results: Callable[[AgentSpec[Any], int], Mapping[str, Results]]
    store: Callable[[int], OpenStore]
    messages: Sequence[ChatMessage] = HELLO
    executor: ToolExecutor | None = None
    invariants: Sequence[Invariant] = INVARIANTS
    moves: Callable[[int], tuple[Move, ...]] = moves_of
    world: Callable[[Stage, Sequence[Move]], Plays] = World

    def trace(self, case: Case) -> Trace:
        """What happens in a case."""
        return self._played(case)[1]

    def broken(self, case: Case) -> Broken | None:
        """The first invariant that does not hold in a case."""
        spec, trace = self._played(case)
        return self._judged(case, spec, trace)

    def run(self, seeds: Iterable[int]) -> Report:
        """Play the world of each seed.

        Raises:
            InvariantBroken: an invariant does not hold; the case is as small as could be found.
        """
        began = perf_counter()
        runs = events = processes = 0
        ends: Counter[str] = Counter()
        edges: set[Edge] = set()
        for seed in seeds:
            case = Case(seed, self.moves(seed))
            spec, trace = self._played(case)
            if broken := self._judged(case, spec, trace):
                raise InvariantBroken(self.smallest(broken))
            runs += 1
            events += sum(isinstance(happening, Folded) for happening in trace)
            processes += sum(isinstance(happening, Opened) for happening in trace)
            edges.update(edges_of(trace))
            ends[_end_of(trace)] += 1
        return Report(runs, events, processes, perf_counter() - began, ends, frozenset(edges))

    def smallest(self, broken: Broken) -> Broken:
        """A smaller case that breaks the same invariant."""
        best, tries = broken, 0

        def fails(case: Case) -> bool:
            nonlocal best, tries
            tries += 1
            found = self.broken(case) if tries < ENOUGH else None
            if found is None or found.invariant != broken.invariant:
                return False
            best = found
            return True

        fewest(broken.case.moves, lambda moves: fails(evolve(best.case, moves=tuple(moves))))
        for ref in _calls(best.trace):
            fails(evolve(best.case, without=best.case.without | {ref}))
        fewest(best.case.moves, lambda moves: fails(evolve(best.case, moves=tuple(moves))))
        return best

    def _played(self, case: Case) -> tuple[AgentSpec[Any], Trace]:
        spec = self.agent(case.seed)
        values = self.results(spec, case.seed)
        players = Players(case.seed, spec, values, without=case.without)
        with self.store(case.seed)() as store:
            is_attended = case.seed % 5 != 0
            stage = Stage(spec, players, store, self.messages, self.executor, is_attended)
            return spec, self.world(stage, case.moves).play()

    def _judged(self, case: Case, spec: AgentSpec[Any], trace: Trace) -> Broken | None:
        for name, sentence in faults(self.invariants, spec, trace):
            return Broken(name, sentence, case, trace)
        return None


def simulate(
    agent: Agent[Any] | AgentSpec[Any],
    *,
    seeds: int | Iterable[int] = 1000,
    messages: Sequence[ChatMessage] = HELLO,
    results: Mapping[str, Results] | None = None,
    executor: ToolExecutor | None = None,
    store: OpenStore = memory_store,
    invariants: Sequence[Invariant] = INVARIANTS,
) -> Report:
    """Run an agent in made-up worlds, one for each seed: its rules are real, all else is not.

    A model that nobody can rely on calls any of the tools with any arguments that they take.
    Processes die, answers are late, lost or doubled, humans say anything, others forge what they
    say.

    Args:
        agent: an agent, or its spec.
        seeds: how many worlds, or which.
        messages: how the conversation begins.
        results: by tool name what a tool gives: a function of its arguments, or values to draw
            from. Without it, results are drawn by the type that the tool's function returns.
        executor: runs the agent's tools for real, e.g. `FunctionToolExecutor()`. Without it no tool
            is run.
        store: makes the store of a world.
        invariants: what must hold; `INVARIANTS` and any of your own.

    Raises:
        ValueError: `results` names a tool that there is not, or an agent inside, or there are no
            seeds.
        InvariantBroken: one does not; it has the seed, the smallest case found and a transcript.
    """
    spec = spec_of(agent)
    fixed_results = dict(results or {})
    require_tools(spec, fixed_results, "results are given for")
    inside = {name for _, agent in all_agents(spec) for name in agent.agents}
    if agents := sorted(fixed_results.keys() & inside):
        raise ValueError(f"results are given for {agents}, agents inside: their answers are drawn")
    if isinstance(seeds, int) and seeds < 1:
        raise ValueError(f"{seeds} seeds would show nothing; give a number from 1, or the seeds")
    simulation = Simulation(
        lambda seed: spec,
        lambda spec, seed: fixed_results,
        lambda seed: store,
        messages,
        executor,
        invariants,
    )
    return simulation.run(range(seeds) if isinstance(seeds, int) else seeds)


ON_DISK = (0, 5, 7, 10, 14, 15, 18, 22, 26, 30, 33, 38)
STORES = {**dict.fromkeys(ON_DISK, directory_store), 1: sqlite_store, 20: sqlite_store}


def _store_of(seed: int) -> OpenStore:
    """The memory for most, a real disk for some."""
    return STORES.get(seed % 40, memory_store)


STRANGERS = Simulation(stranger, results_of, _store_of)
"""The simulation with agents that dice make up: what our own tests run."""
COMPANY = evolve(
    STRANGERS, invariants=INVARIANTS_IN_COMPANY, moves=moves_in_company, world=CompanyWorld
)
"""The same where several processes live, and people speak elsewhere."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate agents made up by dice, and print what came of it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=10_000, help="how many worlds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--company", action="store_true", help="several processes live, and people speak elsewhere"
    )
    chosen = parser.parse_args(arguments)
    simulation = COMPANY if chosen.company else STRANGERS
    try:
        report = simulation.run(range(chosen.first, chosen.first + chosen.seeds))
    except InvariantBroken as broken:
        print(broken)
        return 1
    print(report)
    return 0


def _end_of(trace: Trace) -> str:
    match trace[-1]:
        case Rested(run):
            return phase_of(run)
        case last:
            return type(last).__name__


def _calls(trace: Trace) -> list[CallRef]:
    """Every call that the model has made in a trace, the last one first."""
    replies = [happening.event for happening in trace if isinstance(happening, Folded)]
    refs = {
        CallRef(event.turn, place)
        for event in replies
        if isinstance(event, ModelReplied)
        for place in range(len(event.reply.message.tool_calls))
    }
    return sorted(refs, reverse=True)
