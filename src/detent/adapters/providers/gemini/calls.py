"""Function calls of Gemini while they come in: whole, or argument by argument. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from attrs import define, field

from detent.core.chat.messages import ToolCall
from detent.core.chat.replies import ToolCallDelta

Json: TypeAlias = Mapping[str, Any]

PROVIDER = "gemini"

STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"](.*?)['\"]\]")
VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


@define
class Call:
    """One call; more of its arguments come while it is `open`."""

    place: int
    name: str
    extra: dict[str, Any]
    arguments: Any = field(factory=dict)
    open: bool = False

    def take(self, wire: Json) -> ToolCallDelta:
        """Take in a function call, or a piece of one; give what can be shown of it."""
        self.arguments = wire.get("args") or self.arguments
        for piece in wire.get("partialArgs") or ():
            value = next((piece[name] for name in VALUES if name in piece), None)
            if path := piece.get("jsonPath"):
                self.arguments = with_value(self.arguments, steps_of(path), value)
        self.open = bool(wire.get("willContinue"))
        text = "" if self.open else json.dumps(self.arguments)
        return ToolCallDelta(self.place, wire.get("name"), text, wire.get("id"))

    def made(self) -> ToolCall:
        """The call as it is now; if more should have come, it cannot be run."""
        whole = isinstance(self.arguments, dict) and not self.open
        arguments = self.arguments if whole else {}
        unreadable = None if whole else json.dumps(self.arguments)
        call_id = self.extra.get("id")
        return ToolCall(self.name, arguments, call_id, {PROVIDER: self.extra}, unreadable)


def steps_of(path: str) -> list[str | int]:
    """The steps of a JSON path.

    >>> steps_of("$.sites[0].name")
    ['sites', 0, 'name']
    """
    found = STEP.finditer(path)
    return [int(step[2]) if step[2] else step[1] or step[3] or "" for step in found]


def with_value(node: Any, steps: Sequence[str | int], value: object) -> Any:
    """`node` with `value` at `steps`; a text there goes on with it.

    >>> with_value({"city": "Bos"}, ["city"], "ton")
    {'city': 'Boston'}
    """
    match steps:
        case []:
            return node + value if isinstance(node, str) and isinstance(value, str) else value
        case [int(place), *rest]:
            items = list(node or ())
            old = items[place] if place < len(items) else None
            return [*items[:place], with_value(old, rest, value), *items[place + 1 :]]
        case [name, *rest]:
            members = dict(node or {})
            return members | {name: with_value(members.get(name), rest, value)}
        case _:
            raise TypeError(f"steps are a list, got {steps!r}")
