"""What is found out once of a call and the tool that it calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeAlias, TypeVar
from weakref import ref

from detent.core.chat.messages import ToolCall
from detent.core.tools.tool import Tool

T = TypeVar("T")
Entry: TypeAlias = tuple[ref[ToolCall], ref[Tool], T]


class OncePerCall(Generic[T]):
    """A function of a call and a tool that is asked once while both live, as neither can change.

    What is owed is asked for at each event, and each of many long calls would be read as often as
    there are calls. With a `most`, so many answers are kept, the last ones.
    """

    def __init__(self, find: Callable[[ToolCall, Tool], T], most: int | None = None) -> None:
        self._find = find
        self._most = most
        self._found: OrderedDict[tuple[int, int], Entry[T]] = OrderedDict()

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._found)

    def __call__(self, call: ToolCall, tool: Tool) -> T:
        """The answer, which nobody may change."""
        key = id(call), id(tool)
        entry = self._found.get(key)
        if entry is None or entry[0]() is not call or entry[1]() is not tool:
            found = self._found  # as a process ends, names are gone before all values are

            def forget(_: object) -> None:
                found.pop(key, None)

            entry = ref(call, forget), ref(tool, forget), self._find(call, tool)
            found[key] = entry
            if self._most is not None and len(found) > self._most:
                with suppress(KeyError):  # other threads forget as well
                    found.popitem(last=False)
        return entry[2]
