"""Servers that break the protocol harm one call at most, and nobody waits for them for ever."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from detent import Agent, ChatMessage, ScriptedChatGenerator, ToolCall
from detent.mcp import MCPServerError, MCPToolset

PEER = Path(__file__).with_name("peer.py")
Make = Callable[..., MCPToolset]


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Make]:
    """Makes a toolset of a server that misbehaves in this way."""
    made: list[MCPToolset] = []

    def make(how: str, **options: Any) -> MCPToolset:
        args = ["-I", str(PEER), how, str(tmp_path / "log")]
        server = StdioServerParameters(command=sys.executable, args=args)
        made.append(MCPToolset(server, name="peer", prefix="peer__", mode="legacy", **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def told(toolset: MCPToolset, *numbers: int) -> list[str]:
    """What the model is told by calls, one after the other."""
    calls = [[ToolCall("peer__work", {"n": n})] for n in numbers or (1,)]
    turns = [ChatMessage.from_assistant(tool_calls=call) for call in calls]
    agent = Agent(chat_generator=ScriptedChatGenerator(*turns, "end"), tools=toolset)
    messages = agent.run("go").messages
    return [result.text for message in messages for result in message.tool_call_results]


def test_lines_that_are_no_messages_are_passed_over(peer: Make) -> None:
    """Whatever else a server prints to its output, an answer is heard."""
    assert told(peer("garbage"), 1, 2) == ["done", "done"]


@pytest.mark.parametrize("how", ["endless", "endless lines", "huge", "dies"])
def test_what_breaks_a_connection_is_the_fault_of_one_call(peer: Make, how: str) -> None:
    """The model reads that nobody knows what has become of the call."""
    first, second = told(peer(how, message_max=1_000_000), 1, 2)

    assert "the MCP server peer" in first
    assert "it is not known what became of the call" in first
    assert second == first.replace("'n': 1", "'n': 2").replace('"n": 1', '"n": 2')


def test_a_server_that_has_died_is_begun_again_by_the_next_call(peer: Make, tmp_path: Path) -> None:
    """And the call that it died of is not made again."""
    first, second = told(peer("dies once"), 1, 2)

    assert "has gone away" in first
    assert second == "done"
    assert len((tmp_path / "log").read_text().splitlines()) == 2


def test_an_answer_counts_once(peer: Make) -> None:
    """A second one to the same call, and one to none, change nothing."""
    assert told(peer("twice"), 1, 2) == ["first", "first"]


def test_a_late_answer_is_none_to_another_call(peer: Make, tmp_path: Path) -> None:
    """The call that has taken too long is given up here and at the server, and stays so."""
    first, second = told(peer("late", timeout_s=0.3), 1, 2)

    assert first == "Tool 'peer__work' gave no answer within 0.3 s"
    assert second == "in time"
    assert "cancelled\n" in (tmp_path / "log").read_text()


def test_what_is_no_result_is_a_fault(peer: Make) -> None:
    """The next call opens another connection."""
    (first,) = told(peer("no result"))

    assert "ValidationError" in first


def test_a_server_of_an_unknown_version_is_refused(peer: Make) -> None:
    """The error says what it speaks."""
    with pytest.raises(MCPServerError, match="peer cannot be talked to"):
        peer("wrong version").warm_up()


@pytest.mark.parametrize("how", ["silent", "missing"])
def test_connecting_ends(peer: Make, how: str, tmp_path: Path) -> None:
    """A server that says nothing, or that there is not, is an error that names it."""
    if how == "missing":
        server = StdioServerParameters(command=str(tmp_path / "none"))
        with pytest.raises(MCPServerError, match="none"):
            MCPToolset(server, name="peer").warm_up()
        return
    with pytest.raises(MCPServerError, match=r"was not ready after 0\.3 s"):
        peer(how, connect_timeout_s=0.3).warm_up()


def test_a_list_without_an_end_is_refused(peer: Make) -> None:
    """Pages are counted."""
    with pytest.raises(MCPServerError, match="lists more than 1000 tools"):
        peer("endless list").warm_up()


def test_tools_that_cannot_be_used_are_left_out_with_a_reason(peer: Make) -> None:
    """Schemas that grow without bounds, lead nowhere or are none, and names that are none."""
    toolset = peer("odd tools")

    began = time.perf_counter()
    toolset.warm_up()

    assert time.perf_counter() - began < 5
    names = [f"peer__{name}" for name in ("work", "loop", "backtracking", "evil__2J", "two_words")]
    assert [tool.name for tool in toolset] == names
    left_out = {name[:9]: reason.partition(":")[0] for name, reason in toolset.left_out.items()}
    assert left_out.keys() == {
        *("bomb", "deep", "outside", "nowhere", "wrong", "same", "x" * 9),
    }
    assert "parts" in left_out["bomb"]
    assert "parts" in left_out["deep"]


def test_a_schema_that_leads_back_to_itself_is_checked_in_no_time(peer: Make) -> None:
    """However deep the arguments: one level is checked here, the rest by the server."""
    toolset = peer("odd tools")
    toolset.warm_up()
    loop = next(tool for tool in toolset if tool.name == "peer__loop")
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"b": deep}

    began = time.perf_counter()

    assert loop.fits(deep)
    assert time.perf_counter() - began < 1


def test_closing_ends_a_server_that_does_not_listen(peer: Make, tmp_path: Path) -> None:
    """It is told to, and its process has gone."""
    toolset = peer("hangs", timeout_s=0.2)
    assert "gave no answer" in told(toolset)[0]

    toolset.close()

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
