"""A workflow is of one run, and not of another one that has its id in the journal by now."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from detent import Agent, MemoryJournal, ScriptedChatGenerator, ToolCall, tool
from detent.adapters.hosts.effects.identity import nonce_of
from detent.journals import Entry, RunNotFoundError
from tests.adapters.hosts.effects.played import Stage


def entries(journal: MemoryJournal) -> Sequence[Entry]:
    """What is stored of the run."""
    return list(journal.read("r"))


@pytest.mark.parametrize("is_known", [True, False])  # to whoever performs, from before
@pytest.mark.parametrize("job", ["model/1/0/1", "tool/1/0/1", None])
def test_what_an_earlier_run_of_the_id_asks_for_is_not_done(
    job: str | None, *, is_known: bool
) -> None:
    """Its run was deleted while its workflow lived: it neither writes to the new one, nor acts."""
    done = list[str]()

    @tool
    def pay(to: str) -> str:
        """Pay."""
        done.append(to)
        return "paid"

    async def main() -> None:
        script = ScriptedChatGenerator(ToolCall("pay", {"to": "Ann"}), "Done.")
        journal = MemoryJournal()
        agent = Agent(chat_generator=script, tools=[pay])
        stage = Stage(agent, journal)
        await stage.inside(await stage.given()).follow()
        asked = next(one for one in stage.engine.jobs if one["effect"] == job)
        looks = asked | {"look": True}
        assert (done, len(entries(journal))) == (["Ann"], 5)

        journal.delete("r")
        new = await stage.given()
        assert asked["nonce"] != new["nonce"] == nonce_of(journal, "r")
        before = entries(journal)
        outside = stage.engine.outside if is_known else Stage(agent, journal).engine.outside
        for one in (asked, looks):
            assert "later" in await outside.perform(one)
        assert entries(journal) == before

        answers = ScriptedChatGenerator(ToolCall("pay", {"to": "Bob"}), "Done.")
        other = Stage(Agent(chat_generator=answers, tools=[pay]), journal)
        assert await other.inside(new).follow() is None
        before = entries(journal)
        for one in (asked, looks):
            assert not {"report", "missed"} & (await outside.perform(one)).keys()
        assert (entries(journal), done) == (before, ["Ann", "Bob"])

    asyncio.run(main())


def test_a_run_that_is_not_there_has_drawn_nothing() -> None:
    """Whoever looks for its workflow is told that it is gone."""
    with pytest.raises(RunNotFoundError):
        nonce_of(MemoryJournal(), "r")
