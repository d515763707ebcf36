"""Whatever people say, and whenever: the journal replays to the driver's own run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from detent import (
    Agent,
    AgentResult,
    AgentTool,
    ChatMessage,
    HITLBreakpointException,
    IdempotencyKey,
    MemoryJournal,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    create_tool_from_function,
)
from detent.adapters.drivers import recording
from detent.adapters.drivers.loading import loaded
from detent.approvals import AlwaysAskPolicy
from detent.journals import Journal
from detent.machine import CancelRequested
from tests.adapters.drivers.foreign_words import (
    RUN,
    Overheard,
    Seen,
    Words,
    assert_in_order,
    written,
)

Turns = list[list[str]]
TURNS = some.lists(
    some.lists(some.sampled_from(["work", "pay", "helper"]), min_size=1, max_size=3), max_size=3
)
SPOKEN = some.sampled_from(["confirm", "remember", "reject", "respond", "revoke", "nothing"])
WORDS = some.lists(some.lists(SPOKEN, max_size=2), max_size=30)


def scripted(name: str, turns: Turns) -> ScriptedChatGenerator:
    """A model that says in each turn what it would say in any process."""

    def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
        turn = sum(one.role == "assistant" for one in messages)
        if turn >= len(turns):
            return "done"
        calls = [
            ToolCall(
                tool,
                {"task": f"{turn}{place}"} if tool == "helper" else {"n": 10 * turn + place},
                f"{name}{turn}.{place}",
            )
            for place, tool in enumerate(turns[turn])
        ]
        return ChatMessage.from_assistant(tool_calls=calls)

    return ScriptedChatGenerator(*[answer] * 99)


class World:
    """Agents on one store: one drives, and others speak right before its appends."""

    def __init__(self, store: Journal, turns: Turns, words: list[list[str]]) -> None:
        self.store, self.turns, self.words = store, turns, words
        self.ran: Counter[IdempotencyKey] = Counter()
        self.paid = self.confirmed = 0
        self.has_grants = any("remember" in spoken for spoken in words)
        self.seen: Seen = []

    def agent(self, journal: Journal | None = None, **options: Any) -> Agent[Any, Any]:
        """The same agent, as each process makes it."""

        def work(n: int, key: IdempotencyKey) -> str:
            """Work."""
            self.ran[key] += 1
            return "done"

        def pay(n: int, key: IdempotencyKey) -> str:
            """Pay."""
            self.ran[key] += 1
            self.paid += 1
            return "paid"

        tools = [create_tool_from_function(one) for one in (work, pay)]
        rules = {"pay": AlwaysAskPolicy()}
        inner = [[one for one in turn if one != "helper"] or ["pay"] for turn in self.turns[:1]]
        helper = Agent(
            chat_generator=scripted("inner", inner),
            tools=tools,
            confirmation_strategies=rules,
        )
        return Agent(
            chat_generator=scripted("outer", self.turns),
            tools=[*tools, AgentTool(helper, name="helper", description="Help.")],
            confirmation_strategies=rules,
            journal=self.store if journal is None else journal,
            **options,
        )

    def driver(self) -> Agent[Any, Any]:
        """One that others are faster than."""
        watch = [lambda *folded: self.seen.append(folded)]
        return self.agent(Overheard(self.store, self.before), observers=watch)

    def before(self, kinds: Sequence[str]) -> Words | None:
        """What is said before an append."""
        if not self.words or kinds[0] == "Started":
            return None
        spoken = self.words.pop()
        return partial(self.speak_all, spoken) if spoken else None

    def speak_all(self, spoken: Sequence[str], store: Journal) -> None:
        """One after the other."""
        for word in spoken:
            self.speak(word)

    def speak(self, word: str) -> None:
        """Somebody says it about the first that it can be about; if there is nothing, nothing."""
        agent = self.agent()
        if word == "cancel":
            written(agent, CancelRequested("enough"))(self.store)
        elif word == "revoke":
            for grant in agent.grants(RUN)[:1]:
                agent.revoke(RUN, grant)
        elif word != "nothing":
            for call in agent.pending(RUN)[:1]:
                decision = {
                    "confirm": call.confirm(),
                    "remember": call.confirm(remember="arguments"),
                    "reject": call.reject("no"),
                    "respond": call.respond("it is paid"),
                }[word]
                self.confirmed += decision.execute
                agent.decide(RUN, decision)

    def goes(self, go: Callable[[], AgentResult[Any, Any]]) -> AgentResult[Any, Any]:
        """Drive it until it ends or waits; the journal has that very run."""
        self.seen.clear()
        start = max(1, len(list(self.store.read(RUN))))
        try:
            result = go()
        except HITLBreakpointException as stopped:
            result = stopped.result
        again = loaded(self.store, self.agent().spec, RUN, from_start=True).run
        assert again == result.run
        assert loaded(self.store, self.agent().spec, RUN).run == again
        assert_in_order(self.seen, self.agent(), self.store, start)
        return result


STORES: dict[str, Callable[[str], Journal]] = {
    "memory": lambda folder: MemoryJournal(),
    "sqlite": lambda folder: SQLiteJournal(Path(folder) / "runs.db"),
}


@pytest.mark.parametrize("colour", ["blocking", "async"])
@pytest.mark.parametrize("store", STORES)
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(turns=TURNS, words=WORDS, cancel=some.none() | some.integers(0, 20))
def test_people_speak_at_any_time(
    colour: str, store: str, turns: Turns, words: list[list[str]], cancel: int | None
) -> None:
    """No conflict, nothing twice, nothing unasked; observers and checkpoints agree."""
    if cancel is not None and cancel < len(words):
        words[cancel] = [*words[cancel], "cancel"]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "ENTRIES", 3)
        world = World(STORES[store](folder), turns, words)
        agent = world.driver()
        result = world.goes(
            (lambda: agent.run("go", run_id=RUN))
            if colour == "blocking"
            else lambda: asyncio.run(agent.run_async("go", run_id=RUN))
        )
        while result.run.outcome is None:
            world.speak("confirm")
            result = world.goes(lambda: world.driver().resume(RUN))
        assert set(world.ran.values()) <= {1}
        assert world.paid <= world.confirmed or world.has_grants
        with suppress(AttributeError):
            world.store.close()  # type: ignore[attr-defined]  # a store in memory has none
