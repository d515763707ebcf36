"""Runs that an engine drives by their effects: nobody else goes on with them."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from detent import Agent, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
from detent.adapters.cli.main import main
from detent.hosts import LocalHost
from detent.journals import RunOfEngineError
from tests.adapters.hosts.engines.sites import EFFECTS, site_of
from tests.adapters.hosts.engines.worker import host_on

NAMES = {"dbos-effects": "DBOS", "temporal-effects": "Temporal"}
PATIENCE_S = 60.0


@pytest.mark.parametrize("engine", EFFECTS)
def test_nobody_goes_on_with_a_run_that_an_engine_is_at_work_on(
    engine: str, tmp_path: Path
) -> None:
    """A tool that may run again would run beside the one at work, and the workflow would fail."""
    begun, hold, name = list[str](), threading.Event(), NAMES[engine]
    works = threading.Event()

    @tool(on_unknown="rerun")
    def mail(to: str) -> str:
        """Send a letter."""
        begun.append(to)
        works.set()
        hold.wait(PATIENCE_S)
        return "sent"

    def clerk(**options: Any) -> Agent[Any, Any]:
        script = ScriptedChatGenerator(ToolCall("mail", {"to": "Ann"}), "Done.")
        return Agent(chat_generator=script, tools=[mail], name="clerk", **options)

    store = str(tmp_path / "runs.db")
    journal = SQLiteJournal(store)

    async def play(told: dict[str, Any]) -> tuple[str | None, dict[str, str]]:
        try:
            async with host_on(told, {"clerk": clerk()}, journal) as host:
                await host.start("clerk", "go", run_id="r")
                assert await asyncio.to_thread(works.wait, PATIENCE_S)
                with pytest.raises(RunOfEngineError, match=f"by the effects of {name}, "):
                    await clerk(journal=SQLiteJournal(store)).resume_async("r")
                listed = await asyncio.to_thread(
                    CliRunner().invoke, main, ["runs", "list", "--store", store]
                )
                assert "somebody to resume it" not in listed.output
                async with LocalHost({"clerk": clerk()}, SQLiteJournal(store)) as other:
                    await asyncio.sleep(0.3)  # it looks, and finds the run
                    faults = dict(other.health().faults)
                hold.set()
                async with asyncio.timeout(PATIENCE_S):
                    return (await host.result("r")).text, faults
        finally:
            hold.set()

    with site_of(engine, tmp_path) as site:
        text, faults = asyncio.run(play(site.told()))

    assert (text, begun) == ("Done.", ["Ann"])
    assert faults in ({}, {"r": "RunOfEngineError"})  # a claim says it as well, where one is held
    journal.close()


def test_a_list_says_whose_a_run_is_that_no_worker_has(tmp_path: Path) -> None:
    """Whoever is called at night is not told to resume it, and it is refused to those who do."""
    from detent.adapters.hosts.legs import Legs

    store = str(tmp_path / "runs.db")
    journal = SQLiteJournal(store)
    agent = Agent(chat_generator=ScriptedChatGenerator("Done."))
    legs = Legs.of("clerk", agent, journal, 15.0, "Temporal")
    unheard: Any = (lambda *_: None, lambda *_: None)
    asyncio.run(_left(legs, unheard))

    listed = CliRunner().invoke(main, ["runs", "list", "--store", store])
    assert "its engine, Temporal" in listed.output.replace("\n", " ")
    assert "somebody to resume it" not in listed.output
    journal.close()


def test_a_host_by_legs_says_which_runs_are_an_engines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What people say to one is kept for the engine; that it goes on nowhere here is no secret."""
    from detent.adapters.hosts.legs import Legs

    journal = SQLiteJournal(tmp_path / "runs.db")
    agent = Agent(chat_generator=ScriptedChatGenerator("Done."))
    unheard: Any = (lambda *_: None, lambda *_: None)

    async def main() -> dict[str, str]:
        await _left(Legs.of("clerk", agent, journal, 15.0, "Temporal"), unheard)
        async with LocalHost({"clerk": agent}, journal, look_s=0.05) as host:
            async with asyncio.timeout(PATIENCE_S):
                while not host.health().faults:  # noqa: ASYNC110 - it looks now and then
                    await asyncio.sleep(0.01)
            return dict(host.health().faults)

    assert asyncio.run(main()) == {"r": "RunOfEngineError"}
    assert "run r could not go on" in caplog.text
    assert "RunOfEngineError" in caplog.text
    journal.close()


async def _left(legs: Any, listeners: Any) -> None:
    await (await legs.begin("r", "go", listeners)).leave_async()
