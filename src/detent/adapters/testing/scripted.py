"""A chat generator that says what it was told to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

from detent.core.messages import ChatMessage
from detent.core.replies import ChatReply, StreamingChunk
from detent.core.tools import ToolSpec
from detent.ports.chat import StreamingCallback

Line: TypeAlias = (
    str | ChatMessage | ChatReply | Exception | Callable[[Sequence[ChatMessage]], "Line"]
)
"""What a scripted generator says next: a text, a message, a reply; an exception is raised; a
function makes a line of the conversation."""


@frozen
class Asked:
    """One call of a scripted generator, as it came in."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...]
    generation_kwargs: Mapping[str, object]


class ScriptedChatGenerator:
    """Answers with the lines of a script, one for each call, blocking or not.

    `calls` holds what it was asked. A text is streamed word by word. A call beyond the script's end
    raises AssertionError; `assert_complete` raises one when lines are left.
    """

    def __init__(self, *script: Line) -> None:
        self.calls: list[Asked] = []
        self._script = script

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """The script's next line."""
        at = len(self.calls)
        self.calls.append(Asked(tuple(messages), tuple(tools), dict(generation_kwargs or {})))
        if at >= len(self._script):
            raise AssertionError(
                f"the script has {len(self._script)} lines, and was asked for more"
            )
        reply = _reply(self._script[at], messages)
        if streaming_callback is not None:
            _stream(reply, streaming_callback)
        return reply

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """As `run`."""
        return self.run(
            messages,
            tools=tools,
            generation_kwargs=generation_kwargs,
            streaming_callback=streaming_callback,
        )

    def assert_complete(self) -> None:
        """Raise AssertionError when lines of the script were never asked for."""
        left = len(self._script) - len(self.calls)
        if left > 0:
            raise AssertionError(f"{left} lines of the script were never asked for")


def _reply(line: Line, messages: Sequence[ChatMessage]) -> ChatReply:
    match line:
        case ChatReply():
            return line
        case ChatMessage():
            return ChatReply(line, "tool_calls" if line.tool_calls else "stop", model="scripted")
        case str():
            return ChatReply(ChatMessage.from_assistant(line), model="scripted")
        case Exception():
            raise line
        case _:
            return _reply(line(messages), messages)


def _stream(reply: ChatReply, tell: StreamingCallback) -> None:
    words = re.findall(r"\s*\S+|\s+", reply.message.text or "")
    for place, word in enumerate(words):
        tell(StreamingChunk(word, start=place == 0))
    tell(StreamingChunk(finish_reason=reply.finish_reason))
