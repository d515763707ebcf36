"""A worker performs nothing of a run that is in another journal than its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from detent import Agent, ChatMessage, MemoryJournal, ScriptedChatGenerator
from detent.adapters.hosts.effects.contract import WHOSE, OtherJournalError
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.pages import wanted_run, whole
from detent.core.storage.journal import event_to_json
from detent.machine import MessageReceived
from tests.adapters.hosts.effects.played import Stage
from tests.adapters.hosts.effects.test_inside import asker


def stage_of(*lines: str) -> Stage:
    """With a journal of its own."""
    agent: Agent[Any, Any] = Agent(chat_generator=ScriptedChatGenerator(*lines))
    return Stage(agent, MemoryJournal())


async def job_of(stage: Stage) -> tuple[Json, Json]:
    """What a run is begun with, and its first job."""
    given = await stage.given()
    await stage.inside(given).follow()
    return given, stage.engine.jobs[0]


@pytest.mark.parametrize("count", [0, 1])
def test_a_run_that_is_elsewhere_is_left_to_others(
    count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where the journal has one of the same id: that is another run."""

    async def main() -> None:
        given, job = await job_of(stage_of("Hello."))
        other = stage_of("Never.")
        if count:
            await other.given()
        outside = other.engine.outside
        came = await outside.perform(job)
        assert came == {"later": "OtherJournalError", "fault": True}
        assert outside.faults.texts() == {"r": "OtherJournalError"}
        with pytest.raises(OtherJournalError):
            await outside.page(wanted_run(given), 0)
        assert len(list(other.journal.read("r"))) == count

    asyncio.run(main())
    assert "workers on one queue have one journal" in caplog.text


def test_what_is_on_its_way_is_waited_for() -> None:
    """The run is here, and not all of it: nothing is the matter with that."""

    async def main() -> None:
        stage = stage_of("Hello.")
        _, job = await job_of(stage)
        assert "later" in await stage.engine.outside.perform(job | {"length": 9})
        assert stage.engine.outside.faults.texts() == {}

    asyncio.run(main())


def test_nothing_is_written_behind_another_driver() -> None:
    """Also not what would count there: it was heard by a run that goes on otherwise."""

    async def main() -> None:
        stage = Stage(asker(), MemoryJournal())
        given = await stage.given()
        agent = stage.agent.evolve(journal=stage.journal, name="it")
        agent.resume("r", raise_at_break_point=False)
        there = list(stage.journal.read("r"))
        heard = MessageReceived(ChatMessage.from_user("more"))
        whose = {what: given[what] for what in WHOSE}
        events = [event_to_json(stage.parts["it"].spec, heard)]
        job = {"at": 1.0, "length": 1, "events": events, "effect": None, "look": False}
        came = await stage.engine.outside.perform(whose | job)
        assert came["missed"]["at"] == 1
        assert len(came["missed"]["events"]) == len(there) - 1 > 0
        assert list(stage.journal.read("r")) == there

    asyncio.run(main())


def test_a_run_is_read_by_pages() -> None:
    """Those of the run as it was; together they are what a history is given of a small one."""

    async def main() -> None:
        stage = stage_of("Hello.")
        given, _ = await job_of(stage)
        pages = stage.engine.outside.pages
        pages.size = 40
        text, is_more, count = "", True, 0
        while is_more:
            page = await stage.engine.outside.page(wanted_run(given), len(text))
            text, is_more, count = text + page["text"], page["more"], count + 1
        assert count > 2
        assert whole(text, wanted_run(given)) == given["run"]

    asyncio.run(main())
