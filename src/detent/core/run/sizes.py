"""Sizes: what takes so long to be read that nobody reads it in an event loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeGuard, cast

from detent.core.chat.messages import ToolCall
from detent.core.run.events import HappenedInside, ModelReplied
from detent.core.values.frozen import ATOMS

LARGE_KINDS: frozenset[type] = frozenset({ModelReplied, HappenedInside})
"""What may be large: who sees each event asks for its kind first, which costs next to nothing."""
MANY = 2_000
"""So many parts, or 64 times as many characters of text, are read in a millisecond or two."""


def is_large(event: object) -> TypeGuard[ModelReplied | HappenedInside]:
    """Whether it is a reply whose calls have `MANY` parts, or more. It reads no more than those."""
    while type(event) is HappenedInside:
        event = event.event
    return type(event) is ModelReplied and are_large(event.reply.message.tool_calls)


def are_large(calls: Iterable[ToolCall]) -> bool:
    """The same of calls."""
    left = MANY
    for call in calls:
        level: list[Collection[object]] = [call.arguments.values()]
        while level:
            inner: list[Collection[object]] = []
            for items in level:
                left -= len(items)
                if left < 0:
                    return True
                for item in items:
                    kind = type(item)
                    if kind is str:
                        left -= len(cast(str, item)) >> 6
                    elif kind not in ATOMS:
                        inner.append(_parts(item))
            level = inner
    return left < 0


def _parts(value: object) -> Collection[object]:
    if isinstance(value, (list, tuple)):
        return cast("Collection[object]", value)
    if isinstance(value, (dict, Mapping)):
        return cast("Mapping[object, object]", value).values()
    return ()
