"""The laws of the tool executor: ours keeps them, and one that does not is found out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from threading import Lock
from typing import Any

import pytest

from detent import Tool
from detent.machine import FunctionToolExecutor
from detent.testing import check_tool_executor


def test_ours_keeps_the_laws() -> None:
    """In both colours."""
    check_tool_executor(FunctionToolExecutor)


class Wrong(FunctionToolExecutor):
    """Does one thing wrong."""

    def execute(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """Execute it in another way."""
        return self.wrongly(tool, arguments)

    async def execute_async(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """Execute it in another way."""
        return await super().execute_async(tool, arguments)

    def wrongly(self, tool: Tool, arguments: Mapping[str, object]) -> Any:
        """What is wrong."""
        return super().execute(tool, arguments)


class Telling(Wrong):
    """Gives texts."""

    def wrongly(self, tool: Tool, arguments: Mapping[str, object]) -> Any:
        """As text."""
        return str(super().wrongly(tool, arguments))


class Unaware(Wrong):
    """Has never heard of coroutines."""

    def wrongly(self, tool: Tool, arguments: Mapping[str, object]) -> Any:
        """Just called, and what is to be awaited is dropped."""
        value = tool.function(**arguments)
        if asyncio.iscoroutine(value):
            return value.close()
        return value


class Hiding(Wrong):
    """Hides what goes wrong."""

    def wrongly(self, tool: Tool, arguments: Mapping[str, object]) -> Any:
        """With an error of its own."""
        try:
            return super().wrongly(tool, arguments)
        except LookupError as error:
            raise RuntimeError("it failed") from error


class Swallowing(Wrong):
    """Says nothing of what goes wrong."""

    def wrongly(self, tool: Tool, arguments: Mapping[str, object]) -> Any:
        """As if nothing had happened."""
        try:
            return super().wrongly(tool, arguments)
        except LookupError:
            return None


class Dropping(Wrong):
    """Hands over what there is."""

    def wrongly(self, tool: Tool, arguments: Mapping[str, object]) -> Any:
        """Without None."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return super().wrongly(tool, given)


class Copying(Wrong):
    """Hands over copies."""

    def wrongly(self, tool: Tool, arguments: Mapping[str, object]) -> Any:
        """Only where there are lists."""
        given = {k: deepcopy(v) if isinstance(v, list) else v for k, v in arguments.items()}
        return super().wrongly(tool, given)


class Queueing(Wrong):
    """One after the other."""

    lock = Lock()

    def wrongly(self, tool: Tool, arguments: Mapping[str, object]) -> Any:
        """When it is its turn."""
        with self.lock:
            return super().wrongly(tool, arguments)


class Blocking:
    """A coroutine in name only."""

    async def execute_async(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """Right here."""
        value = tool.function(**arguments)
        return await value if asyncio.iscoroutine(value) else value


class Shielding:
    """Cannot be stopped."""

    async def execute_async(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """Shielded."""
        return await asyncio.shield(FunctionToolExecutor().execute_async(tool, arguments))


@pytest.mark.parametrize(
    ("executor", "law"),
    [
        (Telling, "the result is what the function returned"),
        (Unaware, "the result is .* returned, when it is a coroutine function"),
        (Hiding, "what the function raises is raised"),
        (Swallowing, "what the function raises is raised"),
        (Dropping, "the function gets its arguments by name"),
        (Copying, "the function gets the very objects that it was given"),
        (Queueing, "tools of several threads run side by side"),
        (Blocking, "a tool that blocks does not block the event loop"),
        (Shielding, "cancelling stops a tool that is a coroutine"),
    ],
)
def test_an_executor_that_breaks_a_law_is_found_out(
    executor: type[Any], law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is the law."""
    for module in ("breaking", "tool_execution"):
        monkeypatch.setattr(f"detent.ports.laws.{module}.PATIENCE_S", 0.3)
    with pytest.raises(AssertionError, match=f"the tool executor breaks a law: {law}"):
        check_tool_executor(executor)
