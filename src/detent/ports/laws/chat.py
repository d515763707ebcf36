"""The promises of the chat generator port as checks: run them against a generator of your own.

def test_my_generator():
    check_chat_generator(lambda: MyChatGenerator("some-model"))
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from attrs import frozen

from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply
from detent.core.codec.own_values import dump, load
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    ChatGeneratorError,
    StreamingCallback,
    StreamingChunk,
    require_reply,
)

MakeGenerator: TypeAlias = Callable[[], ChatGenerator | AsyncChatGenerator]
"""Makes the generator under test, a new one at each call."""

QUESTION = (ChatMessage.from_user("Say hello."),)
BROKEN_OFF = frozenset({"length", "content_filter", "refusal"})


@frozen
class Exchange:
    """One answer of the generator under test: the pieces that it showed, and the reply."""

    reply: ChatReply
    pieces: tuple[StreamingChunk, ...] = ()


def check_chat_generator(
    make: MakeGenerator,
    *,
    messages: Sequence[ChatMessage] = QUESTION,
    tools: Sequence[ToolSpec] = (),
    unable: MakeGenerator | None = None,
) -> None:
    """Check that a chat generator keeps what the port promises, in each colour that it has.

    Args:
        make: makes the generator. What answers may be a real model, or one that is recorded.
        messages: the conversation that it answers. It is asked with and without streaming, and
            where it calls tools once more, with their results.
        tools: what it may call.
        unable: makes one whose model cannot answer: with a wrong key, say, or a server that is not
            there.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    for method in _methods(make()):
        for exchange in _answers(make, method, messages, tools):
            for law in LAWS:
                law(exchange)
    if unable is not None:
        for method in _methods(unable()):
            what_goes_wrong_is_typed(unable, method)


def a_reply_can_be_stored(exchange: Exchange) -> None:
    """A run is kept as JSON, and its replies with it."""
    law = "a reply is stored as JSON and read back equal"
    try:
        read = load(json.loads(json.dumps(dump(exchange.reply, ChatReply))), ChatReply)
    except (TypeError, ValueError) as error:
        raise AssertionError(_broken(f"{law} ({error})")) from error
    _expect(read == exchange.reply, law)


def the_reason_fits_what_was_said(exchange: Exchange) -> None:
    """A run waits for results when there are calls, and else has an answer."""
    reason = exchange.reply.finish_reason
    if exchange.reply.message.tool_calls:
        _expect(
            reason in {"tool_calls", *BROKEN_OFF},
            "with calls the finish_reason of a reply is 'tool_calls'",
        )
    else:
        _expect(
            reason != "tool_calls",
            "without a call the finish_reason of a reply is not 'tool_calls'",
        )


def calls_are_told_apart(exchange: Exchange) -> None:
    """Results are paired with their calls by id; a call without one gets one."""
    ids = [call.id for call in exchange.reply.message.tool_calls if call.id is not None]
    _expect(len(ids) == len(set(ids)), "no two calls of a reply have the same id")
    _expect("" not in ids, "a call without an id has None for it")
    names = [call.tool_name for call in exchange.reply.message.tool_calls]
    _expect(all(names), "each call names a tool")


def usage_counts_everything_once(exchange: Exchange) -> None:
    """What was cached is a part of what was read, what was thought of what was written."""
    usage = exchange.reply.usage
    _expect(0 <= usage.cached_tokens <= usage.input_tokens, "cached tokens are part of the input")
    _expect(
        0 <= usage.reasoning_tokens <= usage.output_tokens,
        "reasoning tokens are part of the output",
    )


def pieces_add_up_to_the_reply(exchange: Exchange) -> None:
    """Who shows the pieces of a text, a thought or a call has shown the whole of it."""
    message = exchange.reply.message
    text = "".join(piece.content for piece in exchange.pieces)
    _expect(text in {"", message.text or ""}, "the pieces of the text add up to the text")
    content_pieces = [piece for piece in exchange.pieces if piece.content]
    _expect(
        not content_pieces or content_pieces[0].start,
        "the first piece of a text is marked as its start",
    )
    thought = "".join(part.reasoning_text for part in message.reasonings)
    text = "".join(piece.reasoning for piece in exchange.pieces)
    _expect(text in {"", thought}, "the pieces of the reasoning add up to it")
    deltas = [delta for piece in exchange.pieces for delta in piece.tool_calls]
    for place in {delta.index for delta in deltas}:
        _expect(place < len(message.tool_calls), "each call that is shown is in the reply")
        call = message.tool_calls[place]
        mine = [delta for delta in deltas if delta.index == place]
        _expect(mine[0].tool_name == call.tool_name, "the first piece of a call names its tool")
        written = "".join(delta.arguments for delta in mine).strip()
        whole = call.unreadable is not None or json.loads(written or "{}") == call.arguments
        _expect(whole or written == "null", "the pieces of a call add up to its arguments")


LAWS: tuple[Callable[[Exchange], None], ...] = (
    a_reply_can_be_stored,
    the_reason_fits_what_was_said,
    calls_are_told_apart,
    usage_counts_everything_once,
    pieces_add_up_to_the_reply,
)
"""The laws of an answer, one by one."""


def what_goes_wrong_is_typed(make: MakeGenerator, method: str) -> None:
    """The core decides by the failure whether it is worth another try."""
    try:
        _asked(make(), method, QUESTION)
    except ChatGeneratorError as error:
        _expect(error.failure.message, "a failure says what went wrong")
    except Exception as error:
        raise AssertionError(
            _broken(f"what goes wrong is a ChatGeneratorError, not a {type(error).__name__}")
        ) from error
    else:
        raise AssertionError(_broken("a model that cannot answer leads to a ChatGeneratorError"))


def _methods(generator: object) -> list[str]:
    methods = [name for name in ("run", "run_async") if hasattr(generator, name)]
    if not methods:
        kind = type(generator).__name__
        raise AssertionError(
            _broken(f"a model can be asked, and {kind} has no run and no run_async")
        )
    return methods


def _answers(
    make: MakeGenerator, method: str, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
) -> Iterator[Exchange]:
    """What it says to the question, at one go and in pieces, and to what its tools gave."""
    before = list(messages)
    reply = _reply(make(), method, before, tools)
    yield Exchange(reply)
    pieces: list[StreamingChunk] = []
    streamed = _reply(make(), method, before, tools, pieces.append)
    yield Exchange(streamed, tuple(pieces))
    if calls := reply.message.tool_calls:
        results = [ChatMessage.from_tool("done", call) for call in calls]
        yield Exchange(_reply(make(), method, [*before, reply.message, *results], tools))
    _expect(before == list(messages), "the conversation that it is given stays as it is")


def _reply(
    generator: ChatGenerator | AsyncChatGenerator,
    method: str,
    messages: Sequence[ChatMessage],
    tools: Sequence[ToolSpec],
    callback: StreamingCallback | None = None,
) -> ChatReply:
    answer = _asked(generator, method, messages, tools=tools, streaming_callback=callback)
    try:
        return require_reply(answer, generator)
    except ChatGeneratorError as error:
        raise AssertionError(_broken(str(error))) from error


def _asked(
    generator: object, method: str, messages: Sequence[ChatMessage], **options: object
) -> object:
    answer = getattr(generator, method)(messages, **options)
    return asyncio.run(answer) if method == "run_async" else answer


def _expect(holds: object, law: str) -> None:
    """Raise AssertionError with the law unless it holds."""
    if not holds:
        raise AssertionError(_broken(law))


def _broken(law: str) -> str:
    return f"the chat generator breaks a law: {law}"
