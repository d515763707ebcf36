"""What the engine is told of runs that stand still."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.adapters.hosts import looks
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.effects.changed import ChangedRuns
from detent.adapters.hosts.effects.driving import EffectsDriving, EveryRun
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.faults import Faults
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.legs import Legs
from detent.adapters.hosts.looks import Looks
from detent.adapters.hosts.people import People
from detent.adapters.hosts.reading import Reading
from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock
from detent.core.errors import AgentChangedError
from detent.machine import CancelRequested, ManualClock, MessageReceived
from detent.ports.hosting import Accepted, HostRefusal
from detent.ports.journal import JournalUnavailableError
from detent.ports.listing import StoredRun


class Told:
    """An engine that knows of every run already, and keeps what it is told."""

    def __init__(self) -> None:
        self.changed = ChangedRuns()
        self.said: list[str] = []
        self.fault: Exception | None = None
        self.other_rules = False

    async def require_followable(self, run_id: str) -> None:
        """Its workers can follow it, unless they are of another release."""
        if self.other_rules:
            raise AgentChangedError(f"run {run_id} was begun by other rules")

    async def begin(self, given: Json, *, is_again: bool) -> bool:
        """It is there."""
        self.said.append(f"begin {given['run_id']}")
        return False

    async def look(self, run: StoredRun) -> None:
        """Hand it on, if nobody follows it; an engine that is away raises."""
        self.said.append(f"look {run.run_id}")
        if self.fault is not None:
            raise self.fault


async def driving_of(
    journal: MemoryJournal, told: Told, clock: ManualClock, is_away: Callable[[], bool]
) -> EffectsDriving:
    """What drives the runs of an agent, of which some stand still."""
    agent = Agent(chat_generator=ScriptedChatGenerator("x"), name="it", journal=journal)
    for run_id in ("r", "s"):
        await agent.begin("hi", run_id=run_id).leave_async()
    return driving_by(agent, journal, told, clock, is_away)


def driving_by(
    agent: Agent[Any],
    journal: MemoryJournal,
    told: Told,
    clock: ManualClock,
    is_away: Callable[[], bool],
) -> EffectsDriving:
    """What drives the runs of this agent."""
    parts = {"it": EffectParts(agent.assembly, agent.assembly.current_spec)}
    reading = Reading(journal, {"it": Legs.of("it", agent, journal, 15.0)})
    looks = Looks(Finder(journal, EveryRun(), parts.keys(), clock), clock, 1.0)
    engine: Any = told
    return EffectsDriving(
        *(parts, reading, looks, Outside(parts, Channels(), Faults(clock)), engine),
        *(clock, SystemChance()),
        is_away,
    )


def test_a_run_that_only_another_release_can_follow_is_not_asked_anew() -> None:
    """Its worker would hear of it for nothing, and whoever looks is told why it asks nothing."""

    async def main() -> None:
        told, clock = Told(), ManualClock(1_000.0)
        driving = await driving_of(MemoryJournal(), told, clock, lambda: False)
        told.other_rules = True
        run = await driving._reading.required("r")
        await driving.ask_anew(run)
        assert (told.said, driving.is_bound("r"), driving.is_bound("s")) == ([], True, False)
        assert driving.texts() == {"r": "AgentChangedError"}

    asyncio.run(main())


def test_that_an_engine_is_away_is_no_fault_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host says that of the engine; the runs are told later, and the looks are not late."""

    async def main() -> None:
        told, clock, is_away = Told(), ManualClock(1_000.0), [False]
        monkeypatch.setattr(looks, "monotonic", clock.now)
        driving = await driving_of(MemoryJournal(), told, clock, lambda: is_away[0])
        await driving.look()
        told.fault = JournalUnavailableError("Temporal cannot be told")
        await driving.look()
        assert told.said.count("look r") == told.said.count("look s") == 1
        assert driving.texts() == {}
        is_away[0] = True
        clock.advance(60.0)
        await driving.look()
        assert told.said.count("look r") == told.said.count("look s") == 1
        assert not driving.looks.trouble
        is_away[0], told.fault = False, None
        await driving.look()
        assert told.said.count("look r") == told.said.count("look s") == 2

    asyncio.run(main())


def test_a_run_that_is_told_again_has_no_fault_any_more() -> None:
    """What kept it from being told is over."""

    async def main() -> None:
        told, clock = Told(), ManualClock(1_000.0)
        driving = await driving_of(MemoryJournal(), told, clock, lambda: False)
        await driving.look()
        told.fault = ValueError("this run alone")
        await driving.look()
        assert driving.texts() == {"r": "ValueError", "s": "ValueError"}
        told.fault = None
        for _ in range(2):
            clock.advance(60.0)
            await driving.look()
        assert driving.texts() == {}

    asyncio.run(main())


def test_a_clock_that_is_set_back_has_no_run_stand_still_for_longer() -> None:
    """The engine is told of it again, as if its pause were over."""

    async def main() -> None:
        told, clock = Told(), ManualClock(10_000.0)
        driving = await driving_of(MemoryJournal(), told, clock, lambda: False)
        for times in (0, 1, 1):
            await driving.look()
            assert told.said.count("look r") == times
        clock.advance(-600.0)
        await driving.look()
        assert told.said.count("look r") == 2

    asyncio.run(main())


def test_a_run_whose_worker_died_before_it_wrote_anything_is_handed_on() -> None:
    """To begin it once more does nothing where the engine has begun it."""

    async def main() -> list[str]:
        journal, told = MemoryJournal(), Told()
        agent = Agent(chat_generator=ScriptedChatGenerator("x"), name="it", journal=journal)
        await agent.begin("hi", run_id="r").leave_async()
        assembly = agent.assembly
        parts = {"it": EffectParts(assembly, assembly.current_spec)}
        legs = {"it": Legs.of("it", agent, journal, 15.0)}
        engine: Any = told
        unused: Any = None
        driving = EffectsDriving(
            *(parts, Reading(journal, legs), unused),
            *(Outside(parts, Channels(), Faults(SystemClock())), engine),
            *(SystemClock(), SystemChance()),
        )
        (run,) = journal.runs()
        await driving.go_on(run)
        return told.said

    assert asyncio.run(main()) == ["begin r", "look r"]


@pytest.mark.parametrize("are_held", [False, True])
def test_a_changed_run_is_a_fault_until_it_has_ended_or_gone_on_elsewhere(
    are_held: bool,  # noqa: FBT001 - the case
) -> None:
    """Unless nobody else can go on with it: then what is written to it is said by people."""

    async def main() -> None:
        journal, told, clock = MemoryJournal(), Told(), ManualClock(1_000.0)
        driving = await driving_of(journal, told, clock, lambda: False)
        agent = Agent(chat_generator=ScriptedChatGenerator("x"), name="it", journal=journal)
        told.changed = ChangedRuns(are_held=are_held)
        for run_id in ("r", "s", "gone"):
            told.changed.note(run_id, "another rule")
        assert driving.texts() == dict.fromkeys(("r", "s", "gone"), "AgentChangedError")
        await driving.look()
        assert driving.texts() == dict.fromkeys(("r", "s"), "AgentChangedError")
        people = People(agent.assembly)
        people.say("r", MessageReceived(ChatMessage.from_user("hi")))
        people.say("s", CancelRequested("enough"))
        await driving.look()
        assert driving.texts() == ({"r": "AgentChangedError"} if are_held else {})
        told.changed.note("r", "another rule")
        agent.resume("r")
        await driving.look()
        assert driving.texts() == {}

    asyncio.run(main())


class OthersAreFaster(People):
    """Somebody ends the run right after a decision about it was weighed."""

    def weigh(self, run_id: str, said: Any, behind: Sequence[Any] = ()) -> Any:
        """As `People` does."""
        weighed = super().weigh(run_id, said, behind)
        if not isinstance(weighed, HostRefusal):
            self.cancel(run_id, "enough")
        return weighed


def test_a_decision_whose_turn_others_close_meanwhile_is_refused() -> None:
    """By a value, as each one that comes too late."""

    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    async def main() -> Accepted | HostRefusal:
        journal, clock = MemoryJournal(), ManualClock(1_000.0)
        agent = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay")),
            tools=[pay],
            confirmation_strategies={"pay": AlwaysAskPolicy()},
            name="it",
            journal=journal,
        )
        driving = driving_by(agent, journal, Told(), clock, lambda: False)
        with pytest.raises(HITLBreakpointException):
            await agent.run_async("Pay.", run_id="w")
        (question,) = agent.pending("w")
        (run,) = journal.runs()
        return await driving.say(run, question.confirm(by="Ada"), OthersAreFaster(agent.assembly))

    refusal = asyncio.run(main())
    assert isinstance(refusal, HostRefusal)
    assert refusal.why == "unknown_call"
