"""Simulated worlds: the invariants hold, the same seed is the same world, failures are shown."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    MemoryJournal,
    SimpleConsoleUI,
    tool,
)
from detent.adapters.testing.simulation.invariants import INVARIANTS
from detent.adapters.testing.simulation.model_actors import Results
from detent.adapters.testing.simulation.moves import Kind, Move, moves_of
from detent.adapters.testing.simulation.nested_runs import everywhere
from detent.adapters.testing.simulation.shared_stores import (
    OpenStore,
    SharedStore,
    directory_store,
    memory_store,
    sqlite_store,
)
from detent.adapters.testing.simulation.simulate import COMPANY, STRANGERS, Case, main
from detent.adapters.testing.simulation.trace import (
    Folded,
    Happened,
    Performed,
    Trace,
    lines,
)
from detent.core.run.refs import Path
from detent.journals import Entry
from detent.machine import AgentSpec, CallRef, FunctionToolExecutor
from detent.ports.journal import JournalDamagedError
from detent.testing import InvariantBroken, ScriptedChatGenerator, simulate
from tests import state_diagram

SEEDS = 1800
"""Of which test_diagram plays 1,200, and draws what it sees there."""

COMPANY_SEEDS = 240
PIECES = 2

PRINT_WORLDS = """
from detent.adapters.testing.simulation.simulate import COMPANY, STRANGERS, Case
from detent.adapters.testing.simulation.trace import lines
for seed in range(20):
    for world in (STRANGERS, COMPANY):
        print(*lines(world.trace(Case(seed, world.moves(seed)))), sep="\\n")
"""


@tool
def look(city: str, days: int = 1) -> dict[str, float]:
    """Look up the weather."""
    return {city: 1.0 * days}


@tool(on_unknown="rerun", retries=1, timeout_s=3)
async def send(to: str) -> str:
    """Send a letter."""
    return f"sent to {to}"


def an_agent() -> Agent[Any]:
    """An agent as a user writes one."""
    ask = BlockingConfirmationStrategy(AlwaysAskPolicy(), SimpleConsoleUI())
    return Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=[look, send],
        confirmation_strategies={"send": ask},
        max_agent_steps=4,
    )


@pytest.mark.parametrize("piece", range(PIECES))
def test_the_invariants_hold(piece: int) -> None:
    """Whatever befalls a run of any agent."""
    report = STRANGERS.run(range(state_diagram.SEEDS + piece, SEEDS, PIECES))

    assert report.runs == (SEEDS - state_diagram.SEEDS) // PIECES == 300
    ends = {"Finished", "Exhausted", "Failed", "Cancelled", "Acting"}
    assert set(report.ends) - {"FoundDamaged"} == ends
    assert report.processes > 2 * report.runs
    assert "runs per second" in str(report)


def test_the_invariants_hold_in_company() -> None:
    """Also where several processes live, and stand still, and people speak elsewhere."""
    heard = Counter[str]()

    def listen(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
        heard.update(type(one.event).__name__ for one in trace if isinstance(one, Folded))
        heard.update(one.what for one in trace if isinstance(one, Happened))
        yield from ()

    invariants = [*COMPANY.invariants, listen]
    report = evolve(COMPANY, invariants=invariants).run(range(COMPANY_SEEDS))

    assert report.runs == COMPANY_SEEDS
    assert set(report.ends) == {"Finished", "Exhausted", "Failed", "Cancelled", "Acting"}
    assert heard["somebody says elsewhere:"] > 20
    assert sum(heard[one] for one in heard if one.endswith("JournalConflictError")) > 20
    assert heard["ToolNeverRan"] > 5


KINDS: tuple[Kind, ...] = (
    *("land", "land", "land", "refuse", "land", "land", "land", "land", "land", "copy", "rival"),
)
PICKS = (0, 35, 1, 2, 79, 36, 3, 15, 50, 55, 42)
FOUND = (
    Case(3572, moves_of(3572)),
    Case(4323, moves_of(4323)),
    Case(10641, moves_of(10641)),
    Case(3161, moves_of(3161)),
    Case(11194, moves_of(11194)),
    Case(
        3572,
        tuple(Move(kind, pick) for kind, pick in zip(KINDS, PICKS, strict=True)),
        frozenset({CallRef(3, 0)}),
    ),
)
"""Cases that broke an invariant once."""


@pytest.mark.parametrize("place", range(len(FOUND)))
def test_what_was_found_once_stays_mended(place: int) -> None:
    """A case is all that it takes to play a world again."""
    assert STRANGERS.broken(FOUND[place]) is None


def test_a_verdict_that_comes_again_takes_no_word_of_a_human_back() -> None:
    """They have changed the call since: nobody is asked by it, and what they have said counts."""

    @tool(labels=("web",))
    def browse(n: int) -> str:
        return "x"

    @tool
    def pay(n: int) -> str:
        return "x"

    @tool
    def note(n: int) -> str:
        return "x"

    rules = {"pay": AlwaysAskPolicy(), "note": AlwaysAskPolicy()}
    script = ScriptedChatGenerator("x")
    agent = Agent(chat_generator=script, tools=[browse, pay, note], confirmation_strategies=rules)
    assert simulate(agent, seeds=[2]).runs == 1


def test_the_same_seed_is_the_same_world() -> None:
    """Byte for byte, in another process too, whose strings have other hashes."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", PRINT_WORLDS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert printed[0] == printed[1]
    assert printed[0].count(b"process 1 opens the run") == 40


def a_tool_runs(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """An invariant that does not hold: no tool ever runs."""
    return (f"{one.effect.tool.name} runs" for one in trace if isinstance(one, Performed))


def test_a_failure_is_shown_as_small_as_can_be() -> None:
    """The seed, the smallest case and what happened in it; the case plays again."""
    with pytest.raises(InvariantBroken) as caught:
        simulate(an_agent(), invariants=[*INVARIANTS, a_tool_runs])

    broken = caught.value.broken
    assert broken.invariant == "a_tool_runs"
    assert broken.case.moves == ()
    assert sum(isinstance(one, Performed) for one in broken.trace) == 1
    assert f"seed {broken.case.seed} breaks a_tool_runs: " in str(caught.value)
    assert f"the smallest case found: {broken.case}" in str(caught.value)
    assert "\n".join(lines(broken.trace)) in str(caught.value)


def test_a_case_is_written_as_it_is_read() -> None:
    """What is printed can be pasted into a test."""
    case = Case(3, moves_of(3))

    assert eval(repr(case), {"Case": Case, "Move": Move}) == case  # noqa: S307 - what is tested


@pytest.mark.parametrize("store", [memory_store, directory_store, sqlite_store])
def test_any_store_may_be_simulated(store: Any) -> None:
    """Each of ours keeps what it has said to be safe."""
    assert simulate(an_agent(), seeds=30, store=store).runs == 30


@pytest.mark.parametrize("store", [directory_store, sqlite_store])
def test_damage_never_gives_another_run(store: OpenStore) -> None:
    """It is found, or has done no harm."""
    seeds = [one for one in range(400) if any(move.kind == "damage" for move in moves_of(one))]

    report = evolve(STRANGERS, store=lambda seed: store).run(seeds)

    assert report.runs > 80
    assert report.ends["FoundDamaged"] > 5


def test_what_a_broken_store_says_without_damage_is_a_failure() -> None:
    """Only a world that was damaged may end so."""

    @contextmanager
    def broken_shelf() -> Generator[SharedStore, None, None]:
        class Broken(MemoryJournal):
            def read(self, run_id: str, start: int = 0) -> list[Entry]:
                raise JournalDamagedError("so it says")

        journal = Broken()
        yield SharedStore(lambda: journal)

    with pytest.raises(InvariantBroken, match="breaks nothing_breaks: JournalDamagedError: so it"):
        simulate(an_agent(), store=broken_shelf)


def test_agents_inside_are_played_as_well() -> None:
    """Their tools run in the world, and what is asked of a run is asked of theirs."""
    seen: list[Path] = []

    def listen(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
        seen.extend(one.effect.path for one in trace if isinstance(one, Performed))
        yield from ()

    helper = AgentTool(an_agent(), name="helper", description="helps")
    whole = Agent(chat_generator=ScriptedChatGenerator(), tools=[helper, look], max_agent_steps=2)
    simulate(whole, seeds=20, invariants=[*INVARIANTS, listen], results={"send": ["sent"]})

    assert () in seen
    assert any(path and path[0].tool_name == "helper" for path in seen)


def test_what_breaks_inside_is_told_with_its_place() -> None:
    """As a failure of the invariant, in the agent."""

    @everywhere
    def no_tool_runs(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
        return a_tool_runs(spec, trace)

    helper = AgentTool(an_agent(), name="helper", description="helps")
    whole = Agent(chat_generator=ScriptedChatGenerator(), tools=[helper], max_agent_steps=2)
    with pytest.raises(InvariantBroken, match="breaks no_tool_runs: in helper, call ") as caught:
        simulate(whole, invariants=[no_tool_runs])
    assert caught.value.broken.case.moves == ()


def test_results_are_what_one_says() -> None:
    """A function of the arguments, or one of several values."""
    heard: list[str] = []

    def listen(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
        heard.extend(str(one.came) for one in trace if isinstance(one, Performed))
        yield from ()

    given: dict[str, Results] = {
        "look": lambda arguments: arguments["city"] + "!",
        "send": ["by air", "by sea"],
    }
    simulate(an_agent(), seeds=range(20), results=given, invariants=[listen])

    assert any("by air" in one or "by sea" in one for one in heard)
    assert any("!" in one for one in heard)
    assert not any("sent to" in one for one in heard)
    with pytest.raises(ValueError, match=r"results are given for \['fly'\]; the agent has"):
        simulate(an_agent(), results={"fly": []})


def test_tools_run_for_real_when_asked() -> None:
    """Also those that are coroutine functions."""
    heard: list[str] = []

    def listen(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
        heard.extend(str(one.event) for one in trace if isinstance(one, Folded))
        yield from ()

    simulate(an_agent(), seeds=20, executor=FunctionToolExecutor(), invariants=[listen])

    assert any("sent to Oslo" in one for one in heard)


def test_it_can_be_run_from_a_shell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is printed, or the failure."""
    assert main(["--seeds", "5", "--first", "100"]) == 0
    assert "5 runs" in capsys.readouterr().out
    assert main(["--seeds", "5", "--company"]) == 0
    assert "5 runs" in capsys.readouterr().out

    monkeypatch.setattr("detent.adapters.testing.simulation.simulate.STRANGERS", broken_strangers())
    assert main(["--seeds", "50"]) == 1
    assert "breaks a_tool_runs" in capsys.readouterr().out


def broken_strangers() -> Any:
    """The simulation with an invariant that does not hold."""
    return evolve(STRANGERS, invariants=[a_tool_runs])


@pytest.mark.parametrize("given", [None, True, "it is wrong"])
def test_an_invariant_gives_sentences(given: Any) -> None:
    """What gives something else is told so: it would be taken for one that holds."""
    with pytest.raises(TypeError, match=r"the invariant <lambda> has given .*must give"):
        simulate(an_agent(), seeds=1, invariants=[lambda spec, trace: given])


def test_without_a_seed_nothing_is_shown() -> None:
    """So it is refused."""
    with pytest.raises(ValueError, match="0 seeds would show nothing"):
        simulate(an_agent(), seeds=0)
