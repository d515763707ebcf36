"""When a human is asked about the tools of servers."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from detent.adapters.confirmation.policies import Rule
from detent.adapters.mcp.definitions import MCPTool
from detent.core.chat.messages import ToolCall
from detent.core.run.approval import Allow, Ask, Verdict
from detent.core.run.run import Run
from detent.core.tools.tool import Tool


@frozen
class AskUnlessReadOnly(Rule):
    """A call is asked about unless its tool is of an MCP server and is known to change nothing.

    That is known where the server says so and the toolset was told to believe it:
    ``MCPToolset(…, trust_hints=True)``. Every other tool is asked about.
    """

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        """Look at what is known of the tool."""
        if isinstance(tool, MCPTool) and tool.is_read_only:
            return Allow()
        return Ask("nobody vouches that it changes nothing")
