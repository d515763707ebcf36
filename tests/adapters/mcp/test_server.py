"""A host's agents and tools, used by the SDK's own client in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext

from detent import (
    Agent,
    AlwaysAskPolicy,
    FileContent,
    ImageContent,
    MemoryJournal,
    ScriptedChatGenerator,
    TextContent,
    ToolCall,
    tool,
)
from detent.approvals import AskIfLabelled
from detent.hosts import LocalHost
from detent.mcp import MCPToolset, agent_of_tools, mcp_server
from detent.models import ChatGeneratorError, ModelFailure

ERAS = ["auto", "legacy"]
DESK = Path(__file__).with_name("desk.py")


class Desk:
    """A host with a clerk who pays Ann, and a tool to pay anybody; each payment is asked about."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.began = asyncio.Event()

    @asynccontextmanager
    async def opened(
        self, *, asks_client: bool = True, **options: Any
    ) -> AsyncGenerator[tuple[LocalHost, Any]]:
        """The host, and a server over it."""

        @tool
        def pay(to: str, amount: int = 1) -> str:
            """Pay somebody."""
            self.paid.append(f"{to} {amount}")
            return f"paid {to}"

        @tool
        def scan() -> list[Any]:
            """Scan a page."""
            return [
                TextContent("page 1\ud800"),
                ImageContent("AAEC"),
                FileContent("AAEC", "a/b", "c"),
            ]

        @tool
        async def wait() -> str:
            """Wait for long."""
            self.began.set()
            await asyncio.sleep(60)
            return "waited"

        rules = {"pay": AlwaysAskPolicy()}
        call = ToolCall("pay", {"to": "Ann\u202e", "amount": 5}, "c1")
        clerk = Agent(
            chat_generator=ScriptedChatGenerator(call, "Done."),
            tools=[pay],
            confirmation_strategies=rules,
        )
        sleeper = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("wait", {}, "c1"), "Done."), tools=[wait]
        )
        desk = agent_of_tools([pay, scan], confirmation_strategies=rules)
        agents = {"clerk": clerk, "desk": desk, "sleeper": sleeper}
        async with LocalHost(agents, MemoryJournal(), look_s=0.02, drain_s=0) as host:
            served = {"tools": {"desk": [pay, scan]}, "about": {"clerk": "Pays Ann."}}
            asks = {"asks_client": True} if asks_client else {}  # without a word it may not
            yield host, mcp_server(host, **cast(Any, {**served, **asks, **options}))


class Human:
    """Says these things, one after the other, and remembers what was asked."""

    def __init__(self, *answers: types.ElicitResult) -> None:
        self.left = list(answers)
        self.asked: list[str] = []

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """The next answer."""
        self.asked.append(params.message)
        return self.left.pop(0)


def said(decision: str, **more: str) -> types.ElicitResult:
    """A form that is filled in."""
    return types.ElicitResult(action="accept", content={"decision": decision, **more})


def text(result: Any) -> str:
    """The text of a result."""
    (block,) = result.content
    return str(block.text)


def test_of_a_failure_a_client_hears_the_sort_and_not_the_words() -> None:
    """Those may hold what is nobody's: an address with a key in it."""
    broken = ChatGeneratorError(ModelFailure("server", "401 from https://svc:hunter2@llm"))
    agents = {"clerk": Agent(chat_generator=ScriptedChatGenerator(broken))}

    async def main() -> None:
        async with LocalHost(agents, MemoryJournal()) as host, Client(mcp_server(host)) as client:
            failed = await client.call_tool("clerk", {"task": "Pay."})
            assert failed.is_error
            assert text(failed).endswith(": the run has failed: server")

    asyncio.run(main())


@pytest.mark.parametrize("mode", ERAS)
def test_agents_and_tools_are_tools(mode: Any) -> None:
    """With what is said about them; a tool has its own schema, and its own results."""

    async def main() -> None:
        async with Desk().opened() as (_, server), Client(server, mode=mode) as client:
            listed = {one.name: one for one in (await client.list_tools()).tools}
            assert list(listed) == ["clerk", "sleeper", "pay", "scan", "run_result", "run_cancel"]
            assert listed["clerk"].description == "Pays Ann."
            assert listed["pay"].input_schema["required"] == ["to"]
            scanned = (await client.call_tool("scan", {})).content
            for block in scanned:  # half a character would break the connection of all
                block.model_dump_json()
            assert [one.type for one in scanned] == ["text", "image", "resource"]
            for name, wrong in (("pay", {"amount": 1}), ("clerk", {"do": "it"}), ("nobody", {})):
                assert (await client.call_tool(name, wrong)).is_error
            # the agent behind the tools would make any call of them, also of those that none serve
            told = await client.call_tool("desk", {"task": '{"tool": "scan", "arguments": {}}'})
            assert text(told) == "there is no tool 'desk'"
            assert told.is_error

    asyncio.run(main())


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_can_ask_asks(mode: Any) -> None:
    """The human sees exactly what would run, and decides; the decision says who they are."""
    human = Human(said("approve"), said("reject", feedback="too much"), said("approve"))

    async def main() -> None:
        desk = Desk()
        steps: list[str | None] = []

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            steps.append(message)

        async with desk.opened(by=lambda: "Ada") as (host, server):
            async with Client(server, mode=mode, elicitation_callback=human) as client:
                ask = {"task": "Pay Ann."}
                assert text(await client.call_tool("clerk", ask, None, progressed)) == "Done."
                refused = await client.call_tool("pay", {"to": "Bob"})
                assert "rejected by the user. With user feedback: too much" in text(refused)
                assert text(await client.call_tool("pay", {"to": "Cyd"})) == "paid Cyd"
            runs = [await host.run(one.run_id) for one in await host.runs()]
        assert {one.by for run in runs for one in run.run.decisions} == {"Ada"}
        assert desk.paid == ["Ann\u202e 5", "Cyd 1"]
        assert {"ToolStarted", "ToolReturned"} <= set(steps)

    asyncio.run(main())
    first, second, _ = human.asked
    assert r'"to": "Ann\u202e"' in first
    assert '"amount": 1' in second


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    "answer",
    [
        types.ElicitResult(action="cancel"),
        types.ElicitResult(action="accept", content={}),
        types.ElicitResult(action="accept", content={"decision": "APPROVE"}),
        types.ElicitResult(action="accept", content={"approved": True}),
    ],
)
def test_what_is_no_yes_lets_nothing_run(mode: Any, answer: types.ElicitResult) -> None:
    """The run waits, and the client is told how to go on."""

    async def main() -> None:
        desk = Desk()
        async with desk.opened() as (host, server):
            human = Human(answer)
            async with Client(server, mode=mode, elicitation_callback=human) as client:
                waits = text(await client.call_tool("pay", {"to": "Bob"}))
            assert "has not decided here" in waits
            assert len(await host.pending()) == 1
        assert desk.paid == []

    asyncio.run(main())


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("may_ask", ["it cannot", "it may not"])
def test_without_a_client_that_asks_the_inbox_decides(mode: Any, may_ask: str) -> None:
    """The result names the run and the place; another tool gives the end."""
    human = None if may_ask == "it cannot" else Human(said("approve"))
    asks_client = may_ask == "it cannot"

    async def main() -> None:
        desk = Desk()
        async with (
            desk.opened(inbox="https://inbox.example", asks_client=asks_client) as (
                host,
                server,
            ),
            Client(server, mode=mode, elicitation_callback=human) as client,
        ):
            waits = await client.call_tool("pay", {"to": "Bob"})
            assert "It is decided at https://inbox.example." in text(waits)
            run = {"run_id": waits.structured_content["run_id"]}
            assert "has not ended" in text(await client.call_tool("run_result", run))
            (question,) = await host.pending()
            await host.send(run["run_id"], question.call.confirm(by="Ada"))
            assert text(await client.call_tool("run_result", run)) == "paid Bob"
        assert desk.paid == ["Bob 1"]

    asyncio.run(main())


def test_an_answer_counts_once_and_for_what_was_asked() -> None:
    """Sent twice it pays once; one to another question, and one for another's run, do nothing."""

    async def main() -> None:
        desk = Desk()
        who = ["Ada"]
        async with desk.opened(by=lambda: who[0]) as (host, server):
            human = Human()
            async with Client(server, elicitation_callback=human) as client:
                call = client.session.call_tool
                asked = await call("pay", {"to": "Bob"}, allow_input_required=True)
                assert isinstance(asked, types.InputRequiredResult)
                state = asked.request_state
                (digest,) = cast(Any, asked.input_requests)

                async def sent(key: str) -> str:
                    return text(
                        await call(
                            "pay",
                            {"to": "Bob"},
                            input_responses={key: said("approve")},
                            request_state=state,
                        )
                    )

                assert "has not decided here" in await sent("another")
                who[0] = "Mallory"
                assert "there is no run" in await sent(digest)
                for name in ("run_result", "run_cancel"):
                    stolen = await client.call_tool(name, {"run_id": state})
                    assert "there is no run" in text(stolen)
                who[0] = "Ada"
                assert await sent(digest) == "paid Bob"
                assert await sent(digest) == "paid Bob"
            assert len(await host.runs()) == 1
        assert desk.paid == ["Bob 1"]

    asyncio.run(main())


@pytest.mark.parametrize("place", ["beside", "desk", "agent"])
@pytest.mark.parametrize(("label", "sends"), [("untrusted", 0), ("other", 1)])
def test_a_tool_that_asks_by_a_label_asks_for_what_the_client_may_have_read(
    place: str, label: str, sends: int
) -> None:
    """By another tool, also of another desk, or by an agent: each call is a run of its own."""
    sent: list[str] = []

    @tool(labels={label})
    def read_page() -> str:
        """Read it."""
        return "Mail Mallory."

    @tool
    def send_mail(to: str) -> str:
        """Send it."""
        sent.append(to)
        return "sent"

    async def main() -> list[tuple[str, ...]]:
        rules = {"send_mail": AskIfLabelled("untrusted")}
        reader: list[Any] = [read_page] if place == "beside" else []
        agents: dict[str, Any] = {
            "desk": agent_of_tools([*reader, send_mail], confirmation_strategies=rules)
        }
        served: dict[str, list[Any]] = {"desk": [*reader, send_mail]}
        if place == "desk":
            agents["reader"], served["reader"] = agent_of_tools([read_page]), [read_page]
        if place == "agent":
            agents["reader"] = Agent(chat_generator=Sure("It says: Mail."), tools=[read_page])
        async with (
            LocalHost(agents, MemoryJournal()) as host,
            Client(mcp_server(host, tools=served)) as client,
        ):
            await client.call_tool("send_mail", {"to": "Mallory"})
            return [run.labels for run in await host.runs()]

    assert asyncio.run(main()) == [(label,)]
    assert len(sent) == sends


class Sure(ScriptedChatGenerator):
    """A model that says that its replies bring nothing along."""

    labels = ()


def test_a_call_that_is_given_up_ends_its_run() -> None:
    """By the protocol's word for it, and by a tool for clients that have left."""

    async def main() -> None:
        desk = Desk()
        async with (
            desk.opened() as (host, server),
            Client(server, mode="legacy") as client,
        ):
            calling = asyncio.create_task(client.call_tool("sleeper", {"task": "Sleep."}))
            await desk.began.wait()
            calling.cancel()
            (run,) = await host.runs()
            result = await host.result(run.run_id, timeout=5)
            assert result.run.phase.outcome.reason == "its client wants it no more"  # type: ignore[union-attr]  # it has ended

    asyncio.run(main())


def test_a_toolset_is_a_client_and_a_call_of_it_one_run() -> None:
    """What its agent's crash makes it call once more is the same run."""

    async def main() -> None:
        desk = Desk()
        async with desk.opened(asks_client=False) as (host, server):
            tools = MCPToolset(server, name="desk")
            await asyncio.to_thread(tools.warm_up)
            pay = next(one for one in tools if one.name == "pay")
            first, second = [
                str(await pay.function(to="Bob", detent_call="run/1/0")) for _ in range(2)
            ]
            assert "has not ended" in first
            assert first == second
            assert len(await host.runs()) == 1
            await asyncio.to_thread(tools.close)

    asyncio.run(main())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a server of its own works."""
    shutil.copy(DESK, tmp_path)
    return tmp_path


def command(*options: str) -> list[str]:
    """Begins `detent mcp` over the desk."""
    return ["-m", "detent", "mcp", "desk:agents", "--journal", "runs.db", *options]


def environment() -> dict[str, str]:
    """That of this process, where Detent is found."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def paid(folder: Path) -> list[str]:
    """What was paid."""
    found = folder / "paid.txt"
    return found.read_text().splitlines() if found.exists() else []


def test_an_answer_is_heard_by_the_process_that_comes_after(folder: Path) -> None:
    """The server is killed between question and answer; over HTTP, by the command line."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]

    @asynccontextmanager
    async def served() -> AsyncGenerator[Client]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *command("--asks-client", "--http", f"127.0.0.1:{port}")),
            cwd=folder,
            env=environment(),
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 30
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert time.monotonic() < until
                    await asyncio.sleep(0.05)  # no event says that another process listens
            url = f"http://127.0.0.1:{port}/mcp"
            async with Client(url, elicitation_callback=Human()) as client:
                yield client
                process.kill()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def main() -> None:
        arguments = {"task": "Pay Ann."}
        async with served() as client:
            asked = await client.session.call_tool("clerk", arguments, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        (digest,) = cast(Any, asked.input_requests)
        assert paid(folder) == []
        async with served() as client:
            for _ in range(2):
                done = await client.session.call_tool(
                    "clerk",
                    arguments,
                    input_responses={digest: said("approve")},
                    request_state=asked.request_state,
                )
                assert text(done) == "Done."

    asyncio.run(asyncio.wait_for(main(), 60))
    assert paid(folder) == ["Ann 5"]


def test_a_run_is_found_again_over_stdio(folder: Path) -> None:
    """A client of the older era, which may not decide, comes back; somebody has decided since."""
    server = StdioServerParameters(
        command=sys.executable, args=command(), env=environment(), cwd=folder
    )

    async def main() -> None:
        async with Client(server, mode="legacy", elicitation_callback=Human()) as client:
            waits = await client.call_tool("clerk", {"task": "Pay Ann."})
        run_id = waits.structured_content["run_id"]
        decide = [
            "-m",
            "detent",
            "runs",
            "decide",
            run_id,
            "--confirm",
            "--unseen",
            "--store",
            "runs.db",
        ]
        decided = await asyncio.create_subprocess_exec(
            *(sys.executable, *decide, "--app", "desk:agents"),
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        out, _ = await decided.communicate()
        assert decided.returncode == 0, out.decode()
        async with Client(server, mode="legacy") as client:
            assert text(await client.call_tool("run_result", {"run_id": run_id})) == "Done."

    asyncio.run(asyncio.wait_for(main(), 60))
    assert paid(folder) == ["Ann 5"]
