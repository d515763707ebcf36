"""What has happened and is unwritten comes behind what people have written in its place."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from detent import (
    Agent,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
)
from detent.adapters.hosts.effects.backlog import Backlog, Happened
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.inside import Inside
from detent.adapters.hosts.people import People
from detent.core.storage.journal import event_to_json
from detent.journals import Runs
from detent.machine import (
    CallRef,
    Cancelled,
    CancelRequested,
    MessageReceived,
    ModelReplied,
    ToolStarted,
    step,
)
from detent.models import ChatReply
from detent.ports.journal import JournalDamagedError
from tests.adapters.hosts.effects.played import Stage
from tests.adapters.hosts.effects.test_inside import DONE, pay, payer, played, said_by, two


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


class Flow:
    """An outside before whose every job somebody has said something to the run."""

    def __init__(self, outside: Any, agent: Agent[Any, Any]) -> None:
        self._outside, self._agent, self.said = outside, agent, 0

    async def perform(self, job: Json, begins: Any = None) -> Json:
        """As the outside does."""
        self.said += 1
        assert self.said < 60
        People(self._agent.assembly).say("r", MessageReceived(said_by(str(self.said))))
        came: Json = await self._outside.perform(job)
        return came


def test_a_run_goes_on_while_people_speak() -> None:
    """What has happened is written behind what they say: it need not be quicker than they are."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        agent = stage.agent.evolve(journal=stage.journal, name="it")
        flow: Any = Flow(stage.engine.outside, agent)
        stage.engine.outside = flow
        following = asyncio.create_task(inside.follow())
        while inside.run.turn < 3 and flow.said < 59:  # noqa: ASYNC110 - it comes in this loop
            await asyncio.sleep(0)
        stage.engine.outside = flow._outside
        await following
        assert flow.said < 59
        assert sorted(DONE) == ["pay 1", "pay 2", "pay 3"]
        assert Runs(stage.journal, stage.parts["it"].spec).at("r") == inside.run
        texts = [one.text for one in inside.run.messages if one.role == "user"]
        assert texts == ["go", *(f"of {number + 1}" for number in range(flow.said))]

    script = ScriptedChatGenerator(
        two(ToolCall("pay", {"amount": 1}), ToolCall("pay", {"amount": 2})),
        ToolCall("pay", {"amount": 3}),
        *["done"] * 4,
    )
    played(Agent(chat_generator=script, tools=[pay]), play)


def test_what_counts_no_longer_may_be_written_all_the_same() -> None:
    """By a job that was on its way when others were heard: that is no other driver."""

    async def main() -> None:
        stage = Stage(payer(), MemoryJournal())
        given = await stage.given()
        spec, inside = stage.parts["it"].spec, stage.inside(given)
        reply = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant("done")))
        replied, cancelled = (
            event_to_json(spec, event) for event in (reply, CancelRequested("enough"))
        )
        backlog = Backlog(inside.run, 1)
        after = step(spec, inside.run, reply)
        backlog.happened.append(Happened(reply, replied, after))
        assert backlog.rebase(spec, 1, [cancelled]) == []
        assert backlog.rebase(spec, 2, [replied]) == []
        assert (backlog.length, backlog.base.outcome) == (3, Cancelled("enough"))
        with pytest.raises(JournalDamagedError, match="another driver"):
            backlog.rebase(spec, 3, [event_to_json(spec, ToolStarted(CallRef(1, 0), 1))])

    asyncio.run(main())
