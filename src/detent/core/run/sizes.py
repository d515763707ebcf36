"""Sizes: what takes so long to be read that nobody reads it in an event loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeGuard

from detent.core.chat.messages import Content, TextContent, ToolCall, ToolCallResult
from detent.core.run.effects import RunTool
from detent.core.run.events import HappenedInside, ModelReplied, ToolReturned
from detent.core.state.state import secret_keys
from detent.core.values.frozen import ATOMS, FrozenDict, FrozenList
from detent.core.values.shared_list import SharedList

LARGE_KINDS: frozenset[type] = frozenset({ModelReplied, ToolReturned, HappenedInside})
"""What may be large: who sees each event asks for its kind first, which costs next to nothing."""
MANY = 2_000
"""So many parts, or 64 times as many characters of text, are read in a millisecond or two."""

LISTS: frozenset[type] = frozenset({list, tuple, FrozenList})
MAPPINGS: frozenset[type] = frozenset({dict, FrozenDict, MappingProxyType})

EACH = 32
"""So many parts an object or a list counts for: what tries the options of unions fills each in, and
reads it, anew for each, which takes up to 3 ms."""

FORMS = 64
"""So many parts a secret counts for: it is looked for in some twenty forms, in up to 0.15 ms."""


def is_large(event: object) -> TypeGuard[ModelReplied | ToolReturned | HappenedInside]:
    """Whether it is a reply, or writes to the state, of `MANY` parts. It reads no more than those.

    What a model is told of a result counts for nothing: it is a text by now, and kept as it is.
    """
    while type(event) is HappenedInside:
        event = event.event
    if type(event) is ToolReturned:
        writes = event.result.writes
        return bool(writes) and takes_long([write.held for write in writes])
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


def _left_behind(items: Collection[Any], left: int, unknown: int = EACH, each: int = EACH) -> int:
    """How much is left of `MANY` behind these; less than nothing once it is used up.

    What is of no kind of JSON's counts for `unknown`. A recursion ends, as each level counts.

    RULE: by their very classes, so that no code of a user's class runs here: what it raises would
    be taken for a failure of the tool, which has run.
    """
    left -= len(items)
    for item in items if left >= 0 else ():
        kind = type(item)
        if kind is str or kind is bytes:
            left -= len(item) >> 6
        elif kind in LISTS:
            left = _left_behind(item, left - each, unknown, each)
        elif kind is SharedList:
            part = [*islice(item.held(), MANY + 1)]
            left = _left_behind(part, left - each, unknown, each)
        elif kind in MAPPINGS:
            left = _left_behind(item.values(), left - each, unknown, each)
        elif kind not in ATOMS:
            left -= unknown
    return left


def takes_long(value: object) -> bool:
    """Whether it may take long to make text of what a tool gives, or what a state holds of it.

    Of all but JSON's own kinds only they themselves know what they hold: then it may. It reads no
    more than `MANY` parts, and ends in what holds itself.
    """
    return _left_behind([value], MANY, unknown=MANY + 1) < 0


def hides_much(effect: RunTool, value: object) -> bool:
    """Whether much is secret in a call, or is looked for in what may be a long result of it.

    Where the state has secret keys, what it writes may be one.
    """
    if not (effect.tool.masked or secret_keys(effect.state)):
        return False
    if type(value) not in ATOMS or are_large([effect.call, TextContent(str(value))]):
        return True
    return _left_of_secrets(effect.call, effect.tool.masked, MANY) < 0


def hide_much(results: Iterable[tuple[ToolCallResult | None, Collection[str]]]) -> bool:
    """Whether much is looked for in results: what their calls have for arguments of these names."""
    left = MANY
    for result, names in results:
        if result is not None and names:
            left = _left_of_secrets(result.origin, names, left - (len(result.text) >> 6))
            if left < 0:
                return True
    return False


def _left_of_secrets(call: ToolCall, names: Collection[str], left: int) -> int:
    secrets = [value for name, value in call.arguments.items() if name in names]
    return left - FORMS * (MANY - _left_behind(secrets, MANY, each=0))
