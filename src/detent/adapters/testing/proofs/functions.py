"""Functions behind tools: whether two tools do the same, or one does what another one does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from inspect import getclosurevars
from typing import Any

from detent.core.tools.tool import Tool


def behind(function: Any) -> Any:
    """The function that does the work: not what only hands arguments on to it."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            return function


def called_by(tool: Tool) -> Iterator[Any]:
    """The functions that the function of a tool names, and those that they name in turn.

    A tool that is named stands for its function. What is found at run time alone is not seen.
    """
    seen: dict[int, Any] = {}
    left = list(_named_in(behind(tool.function)))
    while left:
        function = left.pop()
        if id(function) not in seen:
            seen[id(function)] = function
            yield function
            left += _named_in(function)


def _named_in(function: Any) -> Iterator[Any]:
    try:
        names = getclosurevars(function)
    except (TypeError, ValueError):  # it is no function in Python
        return
    for value in (*names.nonlocals.values(), *names.globals.values()):
        if isinstance(value, Tool):
            yield behind(value.function)
        elif callable(value) and not isinstance(value, type):
            yield behind(value)
