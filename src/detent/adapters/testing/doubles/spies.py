"""Spied tools: the same tools, which also write down how they were used."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Any

from attrs import define, fields

from detent.core.tools.tool import Tool


@define
class ToolUse:
    """One call of a tool's function, as it came in, and what came of it.

    Attributes:
        arguments: all of them, those that the state has filled as well.
        returned: what the function has returned; None as long as it has not.
        raised: what it has raised.
    """

    arguments: Mapping[str, object]
    returned: object = None
    raised: BaseException | None = None


class SpiedTool(Tool):
    """A tool that is another one in all respects. `uses` has every call of its function."""

    __slots__ = ("uses",)
    uses: list[ToolUse]


def spy(tool: Tool) -> SpiedTool:
    """The same tool, schema and wiring included, which also writes down how it is used.

    >>> from detent import tool
    >>> @tool
    ... def double(n: int) -> int:
    ...     "Double a number."
    ...     return 2 * n
    >>> spied = spy(double)
    >>> spied.function(n=2), spied.uses
    (4, [ToolUse(arguments={'n': 2}, returned=4, raised=None)])
    """
    if not isinstance(tool, Tool):
        raise TypeError(f"spy takes a tool; make one of {tool!r:.200} by @tool first")
    uses: list[ToolUse] = []

    def function(**arguments: Any) -> Any:
        use = ToolUse(arguments)
        uses.append(use)
        try:
            use.returned = tool.function(**arguments)
        except BaseException as error:
            use.raised = error
            raise
        return _watched(use, use.returned) if isawaitable(use.returned) else use.returned

    spied = object.__new__(SpiedTool)
    # Copied, not made again: what follows from a function follows from the original one.
    for attribute in fields(Tool):
        object.__setattr__(spied, attribute.name, getattr(tool, attribute.name))
    for follows in ("signature", "outputs", "masked", "version"):  # all else is made of these
        object.__setattr__(spied, follows, getattr(tool, follows))
    object.__setattr__(spied, "function", function)
    object.__setattr__(spied, "uses", uses)
    return spied


async def _watched(use: ToolUse, awaitable: Awaitable[object]) -> object:
    use.returned = None
    try:
        use.returned = await awaitable
    except BaseException as error:
        use.raised = error
        raise
    return use.returned
