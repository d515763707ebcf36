"""What a host says besides when it accepts something reaches whoever has said it, at each face."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from a2a.types import CancelTaskRequest, TaskState
from attrs import evolve
from mcp import Client

from detent import ChatMessage, MemoryJournal
from detent.adapters.faces.agui_app import HELD_UP, agui_app
from detent.hosts import Accepted, LocalHost
from detent.mcp import mcp_server
from detent.ports.hosting import Sent
from tests.adapters.faces import test_agui_app as agui
from tests.adapters.faces.a2a import test_app as a2a
from tests.adapters.faces.acp.test_acp import Editor, editing, say
from tests.adapters.faces.peers import PAY, PEOPLE, clerk, peer
from tests.adapters.mcp.test_server import Human, text
from tests.adapters.mcp.test_server import said as form

REMARK = "somebody must take the run over first"


class HeldUpHost(LocalHost):
    """Keeps what is said, and nobody goes on with the run until something is done."""

    async def send(self, run_id: str, said: Sent) -> Accepted:
        """As the port says."""
        return Accepted(run_id, text=REMARK)


@asynccontextmanager
async def held_up() -> AsyncGenerator[LocalHost]:
    """Such a host, with a clerk who asks."""
    agents = {"clerk": clerk([], PAY, "Done.")}
    async with asyncio.timeout(30), HeldUpHost(agents, MemoryJournal(), look_s=0.02) as host:
        yield host


def test_over_ag_ui_an_answer_ends_with_what_must_be_done() -> None:
    """And nobody waits for a run that goes on for no one."""

    async def visit() -> Any:
        async with held_up() as host, peer(agui_app(host, sign_in=PEOPLE)) as client:
            asked = await agui.question(client)
            return await agui.ask(client, "r2", resume=[agui.resolved(asked.id, approved=True)])

    *_, last = asyncio.run(visit())
    assert (last.type.value, last.code, last.message) == ("RUN_ERROR", HELD_UP, REMARK)


def test_over_ag_ui_it_is_said_as_well_which_answers_do_not_count() -> None:
    """One answer is kept, another one is none: the client is told of both."""

    async def visit() -> Any:
        two = ChatMessage.from_assistant(tool_calls=[PAY, evolve(PAY, id="c2")])
        agents = {"clerk": clerk([], two, "Done.")}
        async with (
            HeldUpHost(agents, MemoryJournal(), look_s=0.02) as host,
            peer(agui_app(host, sign_in=PEOPLE)) as client,
        ):
            events = await agui.ask(client, "r1", "Pay.")
            first, second = events[-1].outcome.interrupts
            good = agui.resolved(first.id, approved=True)
            bad = agui.resolved(second.id, approved=True, remember="ever")
            return await agui.ask(client, "r2", resume=[good, bad])

    *_, last = asyncio.run(visit())
    assert (last.type.value, last.code) == ("RUN_ERROR", HELD_UP)
    assert last.message.startswith(f"{REMARK} ")
    assert "This answer did not count: remember is none of" in last.message


def test_over_a2a_a_task_says_what_must_be_done() -> None:
    """Where it is answered, with a stream or without, and where it is cancelled."""

    async def visit(*, streams: bool) -> list[Any]:
        async with held_up() as host, a2a.client_of(host, streams=streams) as client:
            found = await a2a.send(client, a2a.said("Pay Cy."))
            digest = (await host.pending())[0].call.digest
            task = next(one.id for one in found if hasattr(one, "artifacts"))
            answered = await a2a.send(client, a2a.said("", a2a.yes(digest), task=task))
            ended = await client.cancel_task(CancelTaskRequest(id=task))
            return [answered[-1].status, ended.status]

    for streams in (True, False):
        for status in asyncio.run(visit(streams=streams)):
            assert status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            assert REMARK in [part.text for part in status.message.parts]


def test_over_acp_a_turn_ends_with_what_must_be_done() -> None:
    """It does not say that the question waits."""
    editor = Editor("allow_once")

    async def visit() -> str:
        async with held_up() as host, editing(host, editor) as client:
            return await say(client, (await client.new_session("/src")).session_id)

    assert (asyncio.run(visit()), editor.text()) == ("end_turn", REMARK)


def test_over_mcp_a_call_ends_with_what_must_be_done() -> None:
    """Where the client has answered, and where it ends the run."""

    async def visit() -> list[str]:
        async with held_up() as host:
            server = mcp_server(host, asks_client=True)
            human = Human(form("approve"))
            async with Client(server, elicitation_callback=human) as client:
                answered = await client.call_tool("clerk", {"task": "Pay Cy."})
                run_id = (await host.runs())[0].run_id
                cancelled = await client.call_tool("run_cancel", {"run_id": run_id})
                return [text(answered), text(cancelled)]

    answered, cancelled = asyncio.run(visit())
    assert REMARK in answered
    assert REMARK in cancelled
