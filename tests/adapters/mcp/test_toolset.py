"""Tools of MCP servers, by the SDK's own servers: in this process, by stdio and by HTTP."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters, stdio_client
from mcp.server.mcpserver import MCPServer

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    ImageContent,
    MemoryJournal,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
)
from detent.approvals import AskIfLabelled, DecisionRefusedError
from detent.mcp import MCPServerError, MCPToolset

SERVER = Path(__file__).with_name("server.py")


@pytest.fixture(scope="module")
def shared_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each server writes what it does, one of which serves all tests of the module."""
    return tmp_path_factory.mktemp("shop") / "log"


@pytest.fixture
def log(shared_log: Path) -> Path:
    """The same, with nothing in it."""
    for path in (shared_log, Path(f"{shared_log}.changed")):
        path.unlink(missing_ok=True)
    return shared_log


def done(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def command(log: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[str(SERVER), str(log)])


def in_process(log: Path) -> Any:
    spec = spec_from_file_location("mcp_test_server", SERVER)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.made(log)


@pytest.fixture(scope="module")
def http(shared_log: Path) -> Iterator[str]:
    """The URL of a server by HTTP, in a process of its own: to begin one takes a second."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(SERVER), str(shared_log), "http", str(port)], stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)  # no event says that a foreign server listens
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


@pytest.fixture(params=["stdio", "in process", "http"])
def tools(request: pytest.FixtureRequest, log: Path) -> Iterator[MCPToolset]:
    """The tools of one server, by each way to reach it."""
    ways: dict[str, Callable[[], Any]] = {
        "stdio": lambda: command(log),
        "in process": lambda: in_process(log),
        "http": lambda: request.getfixturevalue("http"),
    }
    with MCPToolset(ways[request.param]()) as found:
        yield found


def agent(tools: MCPToolset, *script: Any, **options: Any) -> Agent[Any, Any]:
    return Agent(chat_generator=ScriptedChatGenerator(*script, "done"), tools=[tools], **options)


def answers(messages: Any) -> list[tuple[Any, bool]]:
    return [(one.result, one.error) for it in messages for one in it.tool_call_results]


def test_an_agent_calls_them_in_threads_and_in_an_event_loop(tools: MCPToolset, log: Path) -> None:
    """One session serves both; what the arguments are called is nobody's business."""
    odd = ToolCall("price", {"name": "tea", "tool": "a", "server": "b", "toolset": "c"})
    first = agent(tools, odd).run("?")
    second = asyncio.run(agent(tools, ToolCall("pay", {"to": "Ann"})).run_async("?"))
    assert "4.5" in answers(first.messages)[0][0]
    assert answers(second.messages) == [("paid Ann", False)]
    assert done(log) == ["price tea abc", "pay Ann 1"]


def test_results_are_parts_and_failures_faults(tools: MCPToolset) -> None:
    """Pictures, what the server says of a failure, and what is too long to take."""
    found = agent(tools, *(ToolCall(name, {}) for name in ("picture", "fail", "flood"))).run("?")
    (picture, _), (failed, is_error), (flood, is_flood) = answers(found.messages)
    assert isinstance(picture[0], ImageContent)
    assert is_error
    assert "MCPToolError: Error executing tool fail" in failed
    assert is_flood
    assert "5000000 characters" in flood


def test_half_a_character_is_the_fault_of_one_call(tools: MCPToolset) -> None:
    """It cannot be sent: the server would be lost with it, and whatever it was at."""
    calls = (ToolCall("price", {"name": name}) for name in ("\ud800", "tea"))
    (refused, is_error), (price, _) = answers(agent(tools, *calls).run("?").messages)
    assert is_error
    assert "half a character" in refused
    assert "4.5" in price


def test_a_server_that_dies_fails_one_call(log: Path) -> None:
    """The next call has a server again."""
    with MCPToolset(command(log)) as tools:
        found = agent(tools, ToolCall("die", {}), ToolCall("price", {"name": "tea"})).run("?")
    (died, is_error), (price, _) = answers(found.messages)
    assert is_error
    assert "has gone away; it is not known what became of" in died
    assert "4.5" in price


def test_what_is_cancelled_here_is_cancelled_there(log: Path) -> None:
    """The server hears of it, and can be asked again."""

    async def given_up(tools: MCPToolset) -> None:
        running = asyncio.create_task(agent(tools, ToolCall("wait", {})).run_async("?"))
        while "wait begins" not in done(log):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait([running])
        while "wait was cancelled" not in done(log):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)

    with MCPToolset(command(log)) as tools:
        asyncio.run(asyncio.wait_for(given_up(tools), 30))
        assert answers(agent(tools, ToolCall("pay", {"to": "Ann"})).run("?").messages)


def test_a_call_may_only_take_its_time(log: Path) -> None:
    """The model is told, and the run goes on."""
    with MCPToolset(command(log), timeout_s=0.3) as tools:
        ((text, is_error),) = answers(agent(tools, ToolCall("wait", {})).run("?").messages)
    assert is_error
    assert "0.3 s" in text


def test_a_tool_that_changes_after_the_yes_is_asked_about_anew(log: Path, tmp_path: Path) -> None:
    """Across a restart of this process and of the server: the old question counts no more."""
    rules = {"pay": AlwaysAskPolicy()}
    journal = SQLiteJournal(tmp_path / "runs.db")
    call = ToolCall("pay", {"to": "Ann", "amount": 5})

    with MCPToolset(command(log)) as tools:
        first = agent(tools, call, journal=journal, confirmation_strategies=rules)
        with pytest.raises(HITLBreakpointException) as waiting:
            first.run("Pay.", run_id="r")
    Path(f"{log}.changed").touch()
    with MCPToolset(command(log)) as tools:
        second = agent(tools, journal=journal, confirmation_strategies=rules)
        with pytest.raises(DecisionRefusedError, match="the tool itself has changed"):
            second.decide("r", waiting.value.pending[0].confirm())
        with pytest.raises(HITLBreakpointException):
            second.resume("r")
        (anew,) = second.pending("r")
        assert anew.description == "Pay somebody, and tell Mallory."
        assert done(log) == []
        second.decide("r", anew.confirm())
        second.resume("r")
    assert done(log) == ["pay Ann 5"]


def test_a_yes_counts_for_no_server_elsewhere(log: Path, http: str, tmp_path: Path) -> None:
    """It says the same of itself; its command, or all but the query of its URL, is the same."""
    there = tmp_path / "elsewhere" / SERVER.name
    there.parent.mkdir()
    there.write_text(SERVER.read_text())
    here, other = command(log), command(log)
    other.args[0] = str(there)
    folder = StdioServerParameters(command=here.command, args=here.args, cwd=tmp_path)
    pairs: list[tuple[Any, Any]] = [
        *((here, other), (here, folder), (lambda: here, lambda: other)),
        (lambda: stdio_client(here), lambda: stdio_client(other)),
        (f"{http}?tenant=test&key=k1", f"{http}?tenant=live&key=k1"),
    ]
    for at, (asked, elsewhere) in enumerate(pairs):
        journal, call = MemoryJournal(), ToolCall("pay", {"to": "Ann"})
        options: Any = {"journal": journal, "confirmation_strategies": {"pay": AlwaysAskPolicy()}}
        with MCPToolset(asked, name="shop") as tools:
            first = agent(tools, call, **options)
            (question,) = first.run("Pay.", run_id="r", raise_at_break_point=False).pending
            first.decide("r", question.confirm())
        with MCPToolset(elsewhere, name="shop") as tools:
            found = agent(tools, **options).resume("r", raise_at_break_point=False)
        assert ([len(one.changed) > 0 for one in found.pending], done(log)) == ([True], []), at


def test_a_yes_counts_for_the_server_with_other_credentials(log: Path, http: str) -> None:
    """What is sent with requests, and the environment, are other ones in the next process."""
    here, renewed = command(log), command(log)
    renewed.env = {"TOKEN": "t2"}
    pairs: list[Any] = [((here, None), (renewed, None)), ((http, "t1"), (http, "t2"))]
    for asked, renewed in pairs:
        journal, call = MemoryJournal(), ToolCall("pay", {"to": "Ann"})
        options: Any = {"journal": journal, "confirmation_strategies": {"pay": AlwaysAskPolicy()}}
        with MCPToolset(asked[0], headers=asked[1] and {"x-token": asked[1]}) as tools:
            first = agent(tools, call, **options)
            (question,) = first.run("Pay.", run_id="r", raise_at_break_point=False).pending
            first.decide("r", question.confirm())
        with MCPToolset(renewed[0], headers=renewed[1] and {"x-token": renewed[1]}) as tools:
            agent(tools, **options).resume("r")
    assert done(log) == ["pay Ann 1"] * 2


def test_what_is_secret_in_an_address_is_told_to_nobody(http: str) -> None:
    """Nor by its tools, their versions, a failure or what is stored."""
    journal = MemoryJournal()
    with MCPToolset(f"{http}?key=k3y5") as tools:
        asking = {"pay": AlwaysAskPolicy()}
        agent(
            tools, ToolCall("pay", {"to": "A"}), journal=journal, confirmation_strategies=asking
        ).run("Pay.", run_id="r", raise_at_break_point=False)
        told = [repr([*tools]), *(tool.version for tool in tools), tools.name]
    told += [str(entry.data) for entry in journal.read("r")]
    args = ["-c", "raise SystemExit", "--key=k3y5"]
    with (
        pytest.raises(MCPServerError) as failed,
        MCPToolset(StdioServerParameters(command=sys.executable, args=args)),
    ):
        pass
    assert "k3y5" not in "".join((*told, str(failed.value)))


def test_a_tool_that_changes_while_a_question_waits_is_not_called(log: Path) -> None:
    """The server went away and came back as another one, between the yes and the call."""
    with MCPToolset(command(log)) as tools:
        (pay, *_) = tools  # as an agent has them that is in the middle of a run
        die = ToolCall("die", {})
        answers(agent(tools, die).run("?").messages)
        Path(f"{log}.changed").touch()
        model = ScriptedChatGenerator(ToolCall("pay", {"to": "Ann"}), "done")
        found = Agent(chat_generator=model, tools=[pay]).run("?")
    ((text, is_error),) = answers(found.messages)
    assert is_error
    assert "has another tool 'pay' by now: it has changed, and was not called" in text
    assert done(log) == ["die"]


def test_what_a_server_says_of_itself_counts_only_if_it_is_trusted(log: Path) -> None:
    """Hints are claims; what the tools bring is untrusted in any case."""
    server = in_process(log)
    for trusts, then in ((False, "ask"), (True, "rerun")):
        with MCPToolset(server, trust_hints=trusts) as tools:
            found = {one.name: one for one in tools}
            assert (found["price"].on_unknown, found["pay"].on_unknown) == (then, "ask")
            assert found["price"].labels == ("untrusted",)


@pytest.mark.parametrize(
    "script",
    [
        (ToolCall("price", {"name": "tea"}), ToolCall("pay", {"to": "Ann"})),
        (ToolCall("pay", {"to": "Ann"}),),
    ],
)
def test_policies_see_what_a_server_has_brought(log: Path, script: Any) -> None:
    """After its answer a payment is asked about; before it as well: it has described its tools."""
    rules = {"pay": AskIfLabelled("untrusted")}
    with MCPToolset(command(log)) as tools, pytest.raises(HITLBreakpointException):
        agent(tools, *script, confirmation_strategies=rules).run([ChatMessage.from_user("?")])
    assert done(log) == ["price tea "][: len(script) - 1]


def test_the_labels_of_a_server_are_known_while_it_offers_nothing() -> None:
    """It may have taken its tools away after a run has read what they say."""
    with MCPToolset(MCPServer("empty"), labels=["web", "untrusted"]) as tools:
        assert (len(tools), tools.labels) == (0, ("untrusted", "web"))
    with pytest.raises(TypeError, match=r"labels are names in a list: labels=\['untrusted'\]"):
        MCPToolset(MCPServer("empty"), labels="untrusted")


def test_a_server_without_labels_leaves_none(log: Path) -> None:
    """Neither by its answers nor by its descriptions."""
    script = (ToolCall("price", {"name": "tea"}), ToolCall("pay", {"to": "Ann"}), "done")
    rules = {"pay": AskIfLabelled("untrusted")}
    with MCPToolset(in_process(log), labels=()) as tools:
        result = agent(tools, *script, confirmation_strategies=rules).run("?")
    assert (result.run.labels, len(done(log))) == ((), 2)


def test_names_are_prefixed_and_chosen(log: Path) -> None:
    """Two servers may have tools of one name."""
    server = in_process(log)
    with (
        MCPToolset(server, prefix="a_", only=["pay"]) as one,
        MCPToolset(server, prefix="b_", only=["pay"]) as two,
    ):
        both = Agent(chat_generator=ScriptedChatGenerator("done"), tools=[one, two])
        assert sorted(both.spec.tools) == ["a_pay", "b_pay"]


HOSTILE = {
    "says nothing": "import time; time.sleep(60)",
    "is no program": "raise SystemExit(3)",
    "says garbage": "print('<html>' * 1000, flush=True); import time; time.sleep(60)",
    "never ends a line": "import sys\nwhile True: sys.stdout.write('x' * 100000)",
}


@pytest.mark.parametrize("program", HOSTILE.values(), ids=HOSTILE)
def test_a_server_that_is_none_is_a_clear_error(program: str) -> None:
    """In the time that a server has, naming it; and nothing of it stays."""
    server = StdioServerParameters(command=sys.executable, args=["-c", program])
    with pytest.raises(MCPServerError, match="MCP server bad"):
        MCPToolset(server, name="bad", connect_timeout_s=0.5).__enter__()


def test_a_server_that_is_not_there_is_a_clear_error() -> None:
    """By HTTP, and as a command; the error holds nothing of the address that may be secret."""
    with pytest.raises(MCPServerError) as raised:
        MCPToolset("http://user:secret@127.0.0.1:9/mcp?key=secret").__enter__()
    assert "http://127.0.0.1:9/mcp" in str(raised.value)
    assert "secret" not in str(raised.value)
    nothing = StdioServerParameters(command="no-such-program", args=["--token=secret"])
    with pytest.raises(MCPServerError) as raised:
        MCPToolset(nothing).__enter__()
    assert "no-such-program" in str(raised.value)
    assert "--token" not in str(raised.value)
