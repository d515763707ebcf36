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
    """One answer of the generator under test: the pieces that it showed, and the reply.

    `name` says what it was asked, `is_streamed` whether it was to show pieces.
    """

    reply: ChatReply
    pieces: tuple[StreamingChunk, ...] = ()
    name: str = ""
    is_streamed: bool = False


@frozen
class ChatGeneratorCheck:
    """What a check of a chat generator has found in order, and what it has not looked at.

    `print` says it in words.

    Attributes:
        tried: what the generator was asked, and has answered as it should.
        untried: what was not tried, each with how to have it tried.
    """

    tried: tuple[str, ...]
    untried: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = [f"in order: {text}" for text in self.tried]
        return "\n".join([*rows, *(f"not tried: {text}" for text in self.untried)])


def check_chat_generator(
    make: MakeGenerator,
    *,
    messages: Sequence[ChatMessage] = QUESTION,
    tools: Sequence[ToolSpec] = (),
    unable: MakeGenerator | None = None,
) -> ChatGeneratorCheck:
    """Check that a chat generator keeps what the port promises, in each colour that it has.

    By itself it asks one plain question, without tools: give `messages` and `tools` of an agent.

    Args:
        make: makes the generator. What answers may be a real model, or one that is recorded.
        messages: the conversation that it answers. It is asked with and without streaming, and
            where it calls tools once more, with their results.
        tools: what it may call.
        unable: makes one whose model cannot answer: with a wrong key, say, or a server that is not
            there.

    Returns:
        What was tried, and what was not: print it.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    exchanges = list[Exchange]()
    for method in _methods(make()):
        for exchange in _answers(make, method, messages, tools):
            for law in LAWS:
                law(exchange)
            exchanges.append(exchange)
    tried = [exchange.name for exchange in exchanges]
    if unable is not None:
        for method in _methods(unable()):
            what_goes_wrong_is_typed(unable, method)
            tried.append(f"{method}: a model that cannot answer")
    untried = _untried(exchanges, has_tools=bool(tools), has_unable=unable is not None)
    return ChatGeneratorCheck(tuple(tried), tuple(untried))


def _untried(exchanges: Sequence[Exchange], *, has_tools: bool, has_unable: bool) -> Iterator[str]:
    """What of an agent's calls was not among these, and how it would be."""
    if not has_tools:
        yield "tools, as none were offered: give tools=[my_tool.spec], and messages= that need it"
    elif not any(exchange.reply.message.tool_calls for exchange in exchanges):
        text = "a call and its result, as the model called none of the tools"
        yield f"{text}: give messages= that need one"
    if not any(exchange.pieces for exchange in exchanges if exchange.is_streamed):
        text = "streaming, as no piece was shown: one that streams calls its streaming_callback"
        yield f"{text} with each, such as StreamingChunk(text, start=True)"
    if not has_unable:
        yield "what goes wrong: give unable=, which makes one whose model cannot answer"


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
    offer = f"{method}: {_counted(len(before), 'message')}, {_counted(len(tools), 'tool')}"
    reply = _reply(make(), method, before, tools)
    yield Exchange(reply, name=offer)
    pieces: list[StreamingChunk] = []
    streamed = _reply(make(), method, before, tools, pieces.append)
    name = f"{offer}, streamed in {_counted(len(pieces), 'piece')}"
    yield Exchange(streamed, tuple(pieces), name, is_streamed=True)
    if calls := reply.message.tool_calls:
        results = [ChatMessage.from_tool("done", call) for call in calls]
        answer = _reply(make(), method, [*before, reply.message, *results], tools)
        yield Exchange(answer, name=f"{offer}, and the results of {_counted(len(calls), 'call')}")
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


def _counted(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def _expect(holds: object, law: str) -> None:
    """Raise AssertionError with the law unless it holds."""
    if not holds:
        raise AssertionError(_broken(law))


def _broken(law: str) -> str:
    return f"the chat generator breaks a law: {law}"
