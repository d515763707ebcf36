"""Sizes: what takes so long to be read that nobody reads it in an event loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeGuard

from detent.core.chat.messages import Content, TextContent, ToolCall
from detent.core.run.effects import RunTool
from detent.core.run.events import HappenedInside, ModelReplied
from detent.core.state.state import secret_keys
from detent.core.values.frozen import ATOMS, parts_of

LARGE_KINDS: frozenset[type] = frozenset({ModelReplied, HappenedInside})
"""What may be large: who sees each event asks for its kind first, which costs next to nothing."""
MANY = 2_000
"""So many parts, or 64 times as many characters of text, are read in a millisecond or two."""

EACH = 32
"""So many parts an object or a list counts for: what tries the options of unions fills each in, and
reads it, anew for each, which takes up to 3 ms."""


def is_large(event: object) -> TypeGuard[ModelReplied | HappenedInside]:
    """Whether it is a reply of `MANY` parts, or more. It reads no more than those."""
    while type(event) is HappenedInside:
        event = event.event
    return type(event) is ModelReplied and are_large(event.reply.message.content)


def are_large(contents: Iterable[Content]) -> bool:
    """The same of what a message holds: its calls count, and its texts, which may be an answer."""
    left = MANY
    for content in contents:
        if type(content) is TextContent:
            left -= len(content.text) >> 6
        elif type(content) is ToolCall:
            left = _left_behind(content.arguments.values(), left - 1)
        if left < 0:
            return True
    return False


def are_long(bodies: Iterable[str | Mapping[str, Any]]) -> bool:
    """The same of what is stored of events, as JSON or as its text."""
    left = MANY
    for body in bodies:
        left = (
            left - (len(body) >> 4) if isinstance(body, str) else _left_behind(body.values(), left)
        )
        if left < 0:
            return True
    return False


def _left_behind(items: Collection[Any], left: int) -> int:
    """How much is left of `MANY` behind these; less than nothing once it is used up.

    A call holds nothing that is nested too deep for a recursion.
    """
    left -= len(items)
    for item in items if left >= 0 else ():
        kind = type(item)
        if kind is str:
            left -= len(item) >> 6
        elif kind not in ATOMS:
            left = _left_behind(parts_of(item), left - EACH)
    return left


def hides_much(effect: RunTool, value: object) -> bool:
    """Whether much is secret in a call, or is looked for in what may be a long result of it.

    Where the state has secret keys, what it writes may be one.
    """
    if not (effect.tool.masked or secret_keys(effect.state)):
        return False
    return type(value) not in ATOMS or are_large([effect.call, TextContent(str(value))])
