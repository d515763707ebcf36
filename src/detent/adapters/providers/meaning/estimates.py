"""How many tokens a call has spent, where the provider does not say it.

A limit must not fall because a stream broke behind its last word, or a server counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve

from detent.core.chat.messages import (
    ChatMessage,
    ReasoningContent,
    TextContent,
    ToolCall,
    ToolCallResult,
)
from detent.core.chat.replies import ChatReply, Usage
from detent.core.tools.tool import ToolSpec

CHARACTERS_PER_TOKEN = 4
"""Of English prose; code, numbers and other scripts take more tokens for as much text."""

TOKENS_PER_ATTACHMENT = 1000
"""Of an image or a page, about; of long files far too few."""


def counted(
    reply: ChatReply, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
) -> ChatReply:
    """The reply, with an estimate of its usage if the provider counted nothing.

    An answer that is still being made has no count yet: it comes with its end.
    """
    is_begun = reply.finish_reason == "paused" and not reply.message.content
    if reply.usage.total_tokens or is_begun:
        return reply
    schemas = sum(len(tool.description) + len(repr(tool.parameters)) for tool in tools)
    usage = Usage(_tokens(messages) + schemas // CHARACTERS_PER_TOKEN, _tokens([reply.message]))
    return evolve(reply, usage=usage, usage_estimated=True)


def _tokens(messages: Iterable[ChatMessage]) -> int:
    parts = [part for message in messages for part in message.content]
    texts = [text for part in parts for text in _texts(part)]
    tokens = sum(len(text) // CHARACTERS_PER_TOKEN + 1 for text in texts if text is not None)
    return tokens + TOKENS_PER_ATTACHMENT * sum(text is None for text in texts)


def _texts(part: object) -> Iterator[str | None]:
    """The texts of a part; None for each attachment."""
    match part:
        case TextContent(text) | ReasoningContent(text):
            yield text
        case ToolCall():
            yield part.tool_name + (part.unreadable or repr(part.arguments))
        case ToolCallResult(str(text)):
            yield text
        case ToolCallResult(result):
            for item in result:
                yield from _texts(item)
        case _:
            yield None
