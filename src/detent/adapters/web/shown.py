"""What is shown: texts that hide nothing, values of which one sees the type, and times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import evolve

from detent.adapters.stories.quotes import without_quotes
from detent.adapters.system.terminal import escape_control, exact_text
from detent.core.chat.messages import (
    ChatMessage,
    Content,
    ResultPart,
    TextContent,
    ToolCallResult,
)
from detent.core.tools.masking import shown_message
from detent.core.tools.secrets import SecretValues
from detent.core.values.frozen import thaw


class JsonText(str):
    """JSON, or the first letters of some: a backslash in it stands for none of the value."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> JsonText:
        """A part of it."""
        return JsonText(super().__getitem__(key))


def visible(value: Any) -> Any:
    r"""A text with all made visible that would hide, steer or turn round what stands beside it.

    RULE: each text of a page passes here, then through the template's own escaping. No two look the
    same: a backslash of a text is doubled, as JSON has done already.
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return escape_control(value if isinstance(value, JsonText) else exact_text(value))


def as_json(value: object, *, is_wide: bool = False) -> JsonText:
    """A value as JSON, in which "100" and 100 differ, on one line or on several."""
    indent = 2 if is_wide else None
    return JsonText(json.dumps(thaw(value), ensure_ascii=False, indent=indent, default=repr))


def moment(at: float | None) -> str:
    """A time in seconds since 1970, for a machine: of HTML's ``<time datetime>``."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def clock_time(at: float | None) -> str:
    """The same for people."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%d %b %Y %H:%M:%S UTC")


def ago(seconds: float) -> str:
    """How long ago, or, below 0, in how long, in one unit."""
    size = abs(seconds)
    for unit, count in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if size >= count:
            number = int(size // count)
            text = f"{number} {unit}{'s' if number > 1 else ''}"
            return f"in {text}" if seconds < 0 else f"{text} ago"
    return "in a moment" if seconds < 0 else "just now"


def shown_messages(
    messages: Sequence[ChatMessage], secrets: SecretValues
) -> tuple[ChatMessage, ...]:
    """Messages as people may see them: no text of one quotes a secret, whoever has said it."""
    masked = list(map(shown_message, messages))
    words = without_quotes([list(map(_words, message.content)) for message in masked], secrets)
    return tuple(
        evolve(message, content=tuple(map(_saying, message.content, of_it)))
        for message, of_it in zip(masked, words, strict=True)
    )


def _words(part: Content | ResultPart) -> Any:
    """What a part says that a page shows."""
    match part:
        case TextContent(text):
            return text
        case ToolCallResult(result=str() as text):
            return text
        case ToolCallResult(result=tuple() as parts):
            return list(map(_words, parts))
        case _:
            return None


def _saying(part: Any, words: Any) -> Any:
    """The part with other words."""
    match part:
        case TextContent():
            return evolve(part, text=words)
        case ToolCallResult(result=tuple() as parts):
            return evolve(part, result=tuple(map(_saying, parts, words)))
        case ToolCallResult():
            return evolve(part, result=words)
        case _:
            return part
