"""Function calls of Gemini while they come in: whole, or argument by argument. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from attrs import define, field

from detent.core.chat.messages import ToolCall
from detent.core.codec.json_text import is_finite
from detent.ports.chat import ToolCallDelta

Json: TypeAlias = Mapping[str, Any]

PROVIDER = "gemini"

STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"]")
NAME_END = re.compile(r"['\"]\]")
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
        if not self.open:
            self.arguments = whole(self.arguments)
        text = "" if self.open else json.dumps(self.arguments)
        return ToolCallDelta(self.place, wire.get("name"), text, wire.get("id"))

    def reply_part(self) -> ToolCall:
        """The call as it is now; if more should have come, it cannot be run."""
        is_object = isinstance(self.arguments, dict) and is_finite(self.arguments)
        is_whole = is_object and not self.open
        arguments = self.arguments if is_whole else {}
        unreadable = None if is_whole else json.dumps(whole(self.arguments))
        call_id = self.extra.get("id")
        return ToolCall(self.name, arguments, call_id, {PROVIDER: self.extra}, unreadable)


def steps_of(path: str) -> list[str | int]:
    """The steps of a JSON path.

    >>> steps_of("$.sites[0].name")
    ['sites', 0, 'name']
    """
    steps: list[str | int] = []
    at, ends = 0, True
    while found := STEP.search(path, at):
        at = found.end()
        if found[1] or found[2]:
            steps.append(found[1] or int(found[2]))
        elif ends and (end := NAME_END.search(path, at)):
            steps.append(path[at : end.start()])
            at = end.end()
        else:
            ends = False  # of no name that begins further on there is an end, either
    return steps


class Fragments(list[str]):
    """A text that comes in pieces: to join each with those before would copy all of them."""


def with_value(node: Any, steps: Sequence[str | int], value: object, at: int = 0) -> Any:
    """`node`, which is changed, with `value` at the `steps` from `at` on.

    A text that is there goes on with it, in fragments.

    >>> whole(with_value({"city": "Bos"}, ["city"], "ton"))
    {'city': 'Boston'}
    """
    if at == len(steps):
        return _gone_on(node, value)
    step = steps[at]
    if isinstance(step, int):
        items: list[Any] = node if type(node) is list else list(node or ())
        if step < len(items):
            items[step] = with_value(items[step], steps, value, at + 1)
        else:
            items.append(with_value(None, steps, value, at + 1))
        return items
    members: dict[str, Any] = node if type(node) is dict else dict(node or {})
    members[step] = with_value(members.get(step), steps, value, at + 1)
    return members


def whole(node: Any) -> Any:
    """`node` with each text in one piece."""
    match node:
        case Fragments():
            return "".join(node)
        case list():
            return list(map(whole, node))
        case dict():
            return {name: whole(value) for name, value in node.items()}
        case _:
            return node


def _gone_on(node: Any, value: object) -> object:
    if not isinstance(value, str):
        return value
    if isinstance(node, Fragments):
        node.append(value)
        return node
    return Fragments((node, value)) if isinstance(node, str) else value
