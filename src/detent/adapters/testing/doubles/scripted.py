"""A chat generator that says what it was told to say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Event
from typing import TypeAlias

from attrs import evolve, field, frozen

from detent.adapters.testing.doubles.script import Script, require_line, require_none_left
from detent.adapters.testing.doubles.transcripts import transcript
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, ModelFailure, SchemaMode
from detent.core.tools.tool import ToolSpec
from detent.core.values.frozen import thaw
from detent.ports.chat import ChatGeneratorError, StreamingCallback, StreamingChunk, ToolCallDelta
from detent.ports.clock import Clock

Condition: TypeAlias = str | re.Pattern[str] | Callable[[Sequence[ChatMessage]], bool]
"""What a conversation must have: a text or a pattern in its last message, or all that a function
asks."""


class Pieces:
    """A text that is streamed in these pieces. An exception among them breaks it off there."""

    def __init__(self, *pieces: str | Exception) -> None:
        self.pieces = pieces

    def __repr__(self) -> str:
        return f"Pieces({', '.join(map(repr, self.pieces))})"


@frozen
class After:
    """A line that comes `seconds` late, by the generator's clock."""

    seconds: float
    line: Line


Line: TypeAlias = (
    str
    | ToolCall
    | ChatMessage
    | ChatReply
    | Pieces
    | After
    | Exception
    | Callable[[Sequence[ChatMessage]], "Line"]
)
"""What a scripted generator says next: a text, a tool call, a message, a reply; an exception is
raised; a function makes a line of the conversation."""


KINDS = (str, ToolCall, ChatMessage, ChatReply, Pieces, After, Exception)


@frozen
class When:
    """A line that is said whenever the conversation fits, however often, before any other line."""

    condition: Condition
    line: Line

    def fits(self, messages: Sequence[ChatMessage]) -> bool:
        """Whether the conversation is one for this line."""
        if callable(self.condition):
            return self.condition(messages)
        last = messages[-1] if messages else ChatMessage.from_user("")
        text = "\n".join((last.text or "", *(result.text for result in last.tool_call_results)))
        pattern = self.condition
        return pattern in text if isinstance(pattern, str) else bool(pattern.search(text))


@frozen
class Asked:
    """One call of a scripted generator, as it came in. `streamed` says whether pieces were told."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...]
    generation_kwargs: Mapping[str, object]
    streamed: bool = False


class ScriptedChatGenerator:
    """Answers with the lines of a script, one for each call, blocking or not.

    `calls` holds what it was asked. A line in `When` is said whenever it fits; all others are said
    once, in order. A call beyond the script's end raises AssertionError; `assert_complete` raises
    one when lines are left. What is no line raises TypeError.

    Args:
        script: the lines.
        clock: by which a line in `After` waits; without one it does not.
        schema_mode: when a provider would hold its answers to a schema; the script is its own.
    """

    def __init__(
        self,
        *script: Line | When,
        clock: Clock | None = None,
        schema_mode: SchemaMode = "never",
    ) -> None:
        for line in script:
            require_line(line, (*KINDS, When), "a line")
        self.schema_mode = schema_mode
        self.calls: list[Asked] = []
        self._clock = clock
        self._matching = [line for line in script if isinstance(line, When)]
        self._never_said = list(self._matching)
        self._ordered = Script((line for line in script if not isinstance(line, When)), "line")

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """The script's next line."""
        streamed = streaming_callback is not None
        request = Asked(tuple(messages), tuple(tools), dict(generation_kwargs or {}), streamed)
        answer = self._answer(request)
        if self._clock is not None and answer.pause_s:
            self._clock.wait(self._clock.now() + answer.pause_s, Event())
        return answer.tell_and_end(streaming_callback)

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """As `run`."""
        streamed = streaming_callback is not None
        request = Asked(tuple(messages), tuple(tools), dict(generation_kwargs or {}), streamed)
        answer = self._answer(request)
        if self._clock is not None and answer.pause_s:
            await self._clock.wait_async(self._clock.now() + answer.pause_s)
        return answer.tell_and_end(streaming_callback)

    def assert_complete(self) -> None:
        """Raise AssertionError when lines of the script were never asked for."""
        require_none_left([*map(repr, self._never_said), *self._ordered.left()], "line")

    def _answer(self, request: Asked) -> _Answer:
        self.calls.append(request)
        for rule in self._matching:
            if rule.fits(request.messages):
                self._never_said = [other for other in self._never_said if other is not rule]
                return _answer(rule.line, request.messages)
        try:
            line = self._ordered.next(lambda: transcript(request.messages))
        except AssertionError as error:
            raise ScriptEndedError(ModelFailure("bug", str(error))) from None
        return _answer(line, request.messages)


class ScriptEndedError(ChatGeneratorError, AssertionError):
    """A script was asked for more lines than it has."""


@frozen
class _Answer:
    """A line with all functions in it called: what is told, and what is given or raised then."""

    end: ChatReply | Exception
    pieces: tuple[StreamingChunk, ...] = ()
    pause_s: float = field(default=0.0, kw_only=True)

    def tell_and_end(self, tell: StreamingCallback | None) -> ChatReply:
        if tell is not None:
            for piece in self.pieces:
                tell(piece)
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


def _answer(line: Line, messages: Sequence[ChatMessage]) -> _Answer:
    match line:
        case ChatReply():
            return _Answer(line, tuple(chunks_of(line)))
        case ChatMessage():
            reply = ChatReply(line, "tool_calls" if line.tool_calls else "stop", model="scripted")
            return _answer(reply, messages)
        case ToolCall():
            return _answer(ChatMessage.from_assistant(tool_calls=[line]), messages)
        case str():
            return _answer(ChatMessage.from_assistant(line), messages)
        case Pieces():
            return _in_pieces(line)
        case After():
            answer = _answer(line.line, messages)
            return evolve(answer, pause_s=answer.pause_s + line.seconds)
        case Exception():
            return _Answer(line)
        case _:
            require_line(line, KINDS, "a line")
            return _answer(line(messages), messages)


def _in_pieces(line: Pieces) -> _Answer:
    chunks: list[StreamingChunk] = []
    for piece in line.pieces:
        if isinstance(piece, Exception):
            return _Answer(piece, tuple(chunks))
        chunks.append(StreamingChunk(piece, start=not chunks))
    text = "".join(chunk.content for chunk in chunks)
    reply = ChatReply(ChatMessage.from_assistant(text), model="scripted")
    return _Answer(reply, (*chunks, StreamingChunk(finish_reason="stop")))


def chunks_of(reply: ChatReply) -> Iterator[StreamingChunk]:
    """The pieces that a provider could have told of `reply`: words, then calls, then the end."""
    for reasoning in reply.message.reasonings:
        yield StreamingChunk(reasoning=reasoning.reasoning_text, start=True)
    words = re.findall(r"\s*\S+|\s+", reply.message.text or "")
    for place, word in enumerate(words):
        yield StreamingChunk(word, start=place == 0)
    for place, call in enumerate(reply.message.tool_calls):
        written = call.unreadable or json.dumps(thaw(call.arguments))
        yield StreamingChunk(tool_calls=(ToolCallDelta(place, call.tool_name, id=call.id),))
        yield StreamingChunk(tool_calls=(ToolCallDelta(place, arguments=written),))
    yield StreamingChunk(finish_reason=reply.finish_reason)
