"""Runs that wait, and whose engine has lost their history, or somebody has ended it there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import dbos
import httpx
import pytest
from attrs import frozen
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError

from detent import (
    Agent,
    AlwaysAskPolicy,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
)
from detent.adapters.hosts.effects.identity import nonce_of, workflow_id
from detent.adapters.hosts.engines.host import EngineHost
from detent.adapters.hosts.engines.temporal_worker import fault_of
from detent.approvals import PendingCall
from detent.hosts import Accepted, TemporalHost
from detent.journals import JournalUnavailableError
from detent.machine import CancelRequested
from tests.adapters.cli.runs.clerks import call
from tests.adapters.hosts.engines.example_agents import nap
from tests.adapters.hosts.engines.sites import EFFECTS, Site, site_of
from tests.adapters.hosts.engines.worker import host_on
from tests.adapters.web.browsers import Site as WebSite
from tests.adapters.web.pages import token_in

LOST = ("gone", "ended", "cancelled", "many")
RUNS = (*LOST, "here")


async def lose_on_temporal(told: dict[str, Any], gone_id: str, ids: Sequence[str]) -> None:
    """One history is deleted, and the others are ended."""
    client = await Client.connect(told["client"])
    for workflow in ids:
        await client.get_workflow_handle(workflow).terminate()
    gone = WorkflowExecution(workflow_id=gone_id)
    await client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(namespace="default", workflow_execution=gone)
    )
    while True:  # the server does so later
        try:
            await client.get_workflow_handle(gone_id).describe()
        except RPCError:
            return
        await asyncio.sleep(0.05)


async def lose_on_dbos(told: dict[str, Any], gone_id: str, ids: Sequence[str]) -> None:
    """The same."""
    client = dbos.DBOSClient(system_database_url=told["url"])
    for workflow in ids:
        await client.cancel_workflow_async(workflow)
    await client.delete_workflow_async(gone_id)
    client.destroy()


LOSE: dict[str, Callable[[dict[str, Any], str, Sequence[str]], Awaitable[None]]] = {
    "temporal": lose_on_temporal,
    "dbos": lose_on_dbos,
}


@frozen
class Losing:
    """A store with runs that wait, and the engine that drives them."""

    site: Site
    agent: Agent[Any, Any]
    journal: SQLiteJournal

    @asynccontextmanager
    async def host(self, **options: Any) -> AsyncGenerator[EngineHost]:
        """One that is open."""
        told = self.site.told(works=options.get("works", True))
        given = {"look_s": 0.1, "drain_s": 1, **options}
        async with host_on(told, {"it": self.agent}, self.journal, **given) as host:
            yield host

    async def lose(self) -> dict[str, PendingCall]:
        """Begin runs, and lose some of them; gives what they wait for."""
        async with self.host() as host:
            for name in RUNS:
                await host.start("it", "go", run_id=name)
            while len(questions := await host.pending()) < len(RUNS):  # noqa: ASYNC110 - elsewhere
                await asyncio.sleep(0.02)
        tried = [0] if self.site.engine == "dbos" else []  # where a run is tried again, it counts
        gone, *ended = [workflow_id(name, nonce_of(self.journal, name), *tried) for name in LOST]
        await LOSE[self.site.engine](self.site.told(), gone, ended)
        return {one.call.run_id: one.call for one in questions}


def losing(site: Site, folder: Path) -> Losing:
    """Of an agent that asks before it naps."""
    journal = SQLiteJournal(folder / "runs.db")
    script = ScriptedChatGenerator(*[answer] * 20)
    rules = {"nap": AlwaysAskPolicy()}
    options: dict[str, Any] = {"confirmation_strategies": rules, "journal": journal, "name": "it"}
    return Losing(site, Agent(chat_generator=script, tools=[nap], **options), journal)


def answer(messages: Any) -> ToolCall | str:
    """It naps, and is done."""
    has_napped = any(message.tool_call_results for message in messages)
    return "Done." if has_napped else ToolCall("nap", {"seconds": 0.0})


async def until_lost(host: EngineHost) -> None:
    """Wait until the health has them."""
    lost = dict.fromkeys(LOST, "HistoryLostError")
    while host.health().faults != lost:  # noqa: ASYNC110 - a health says nothing by itself
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("engine", EFFECTS)
def test_a_run_that_waits_and_whose_history_is_lost_is_among_the_faults(
    engine: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Before anybody decides; also of a host that works on none. Who decides is told what to do."""

    async def main(lost: Losing) -> None:
        async with asyncio.timeout(90):
            calls = await lost.lose()
            async with lost.host(works=False) as asker:
                await until_lost(asker)
            async with lost.host() as host:
                await until_lost(host)
                for name in ("gone", "ended", "many"):
                    said = await host.send(name, calls[name].confirm(by="Ada"))
                    assert isinstance(said, Accepted)
                    assert f"detent runs resume {name} --take-over" in said.text
                    assert f"no history of run {name!r} that goes on" in said.text
                said = await host.send("cancelled", CancelRequested("enough"))
                assert said == Accepted("cancelled")
                assert (await host.result("cancelled")).exit_reason == "cancelled"
                assert await host.send("here", calls["here"].confirm(by="Ada")) == Accepted("here")
                assert (await host.result("here")).text == "Done."
            for name in ("gone", "ended", "many"):
                resume = partial(lost.agent.resume, name, take_over=True)
                assert (await asyncio.to_thread(resume)).text == "Done."
            async with lost.host() as host:
                while not host.health().is_ready:  # noqa: ASYNC110 - it has looked then
                    await asyncio.sleep(0.05)
                assert host.health().faults == {}

    with site_of(engine, tmp_path) as site:
        asyncio.run(main(losing(site, tmp_path)))
    assert "detent runs resume gone --take-over" in caplog.text


def test_a_run_that_is_taken_over_while_its_history_lives_is_lost_to_that(tmp_path: Path) -> None:
    """It ends once it finds that, so that people are told. A wrong namespace is no loss."""

    async def main(lost: Losing, address: str) -> None:
        async with asyncio.timeout(60), lost.host() as host:
            await host.start("it", "go", run_id="r")
            while not (questions := await host.pending()):  # noqa: ASYNC110 - elsewhere
                await asyncio.sleep(0.02)
            elsewhere = await Client.connect(address, namespace="typo")
            other = TemporalHost(
                {"it": lost.agent}, lost.journal, client=elsewhere, mode="effects", works=False
            )
            async with other:
                with pytest.raises(JournalUnavailableError, match="Namespace typo is not found"):
                    await other.send("r", questions[0].call.confirm(by="Ada"))
            take_over = partial(lost.agent.resume, "r", take_over=True, raise_at_break_point=False)
            await asyncio.to_thread(take_over)
            await host.send("r", questions[0].call.confirm(by="Ada"))
            while host.health().faults != {"r": "HistoryLostError"}:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.05)

    with site_of("temporal-effects", tmp_path) as site:
        asyncio.run(main(losing(site, tmp_path), site.told()["client"]))


def test_a_worker_that_has_ended_is_told_of() -> None:
    """It takes nothing any more, though the engine answers."""

    async def main() -> list[str | None]:
        async def broken() -> None:
            raise RuntimeError("no such namespace")

        serving = asyncio.create_task(broken())
        before = fault_of(serving)
        await asyncio.wait([serving])
        return [fault_of(None), before, fault_of(serving)]

    none, before, ended = asyncio.run(main())
    assert (none, before) == (None, None)
    assert ended is not None
    assert "takes no runs: RuntimeError('no such namespace')" in ended


def test_whoever_decides_by_a_face_is_told_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, on a page, and at a terminal. What they have said is kept."""
    with site_of("dbos-effects", tmp_path) as site:
        lost = losing(site, tmp_path)
        calls = asyncio.run(lost.lose())
        served = WebSite(partial(lost.host, works=False))
        try:
            with httpx.Client(base_url=served.url) as client:
                decision = {**calls["gone"].confirm().to_dict(), "by": None}
                said = {"run_id": "gone", "decision": decision}
                answer = client.post("/api/decide", json=said).json()
                assert "detent runs resume gone --take-over" in answer["text"]
                form = {"csrf": token_in(client.get("/").text), "answer": "confirm"}
                one = {"run_id": "ended", "digest": calls["ended"].digest}
                page = client.post("/decide", data=form | one).text
                assert "detent runs resume ended --take-over" in page
                more = {"run_id": "ended", "text": "And then?"}
                page = client.post("/go-on", data=form | more).text
                assert "detent runs resume ended --take-over" in page
                chosen = {"chosen": f"{calls['many'].digest}:many", "sure": "yes"}
                page = client.post("/decide-many", data=form | chosen).text
                assert "detent runs resume many --take-over" in page
            monkeypatch.setenv("DETENT_HOST", served.url)
            told = call("decide", "cancelled", "--confirm", "--unseen").stderr
            assert "detent runs resume cancelled --take-over" in told
            assert "goes on with it" not in told
        finally:
            served.close()
        for name in LOST:
            assert lost.agent.resume(name, take_over=True).text == "Done."
