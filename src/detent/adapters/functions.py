"""A tool executor that calls the tool's own function, blocking or as a coroutine."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping

from detent.core.tools import Tool


class FunctionToolExecutor:
    """Calls functions here and now; coroutine functions in the running loop, or in one of their own."""

    def execute(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """What the function returned; a coroutine is run to its end in an event loop of its own."""
        value = tool.function(**arguments)
        return asyncio.run(value) if inspect.iscoroutine(value) else value

    async def execute_async(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """What the function returned; one that is no coroutine function runs in a thread."""
        if inspect.iscoroutinefunction(tool.function):
            return await tool.function(**arguments)
        value = await asyncio.to_thread(tool.function, **arguments)
        return await value if inspect.isawaitable(value) else value
