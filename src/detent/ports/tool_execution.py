"""The tool execution port: somebody who runs a tool's function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from detent.core.tools.tool import Tool


class ToolExecutor(Protocol):
    """Runs a tool, blocking."""

    def execute(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """What the tool's function returned. What it raised is raised.

        An awaitable is not awaited here: whoever asked does that, and can cancel it.

        `arguments` are complete: checked, converted to the declared types, and filled from the
        state.
        """
        ...


class AsyncToolExecutor(Protocol):
    """Runs a tool, as a coroutine."""

    async def execute_async(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """As `ToolExecutor.execute`. Cancelling it stops a tool that is a coroutine."""
        ...
