"""The laws of the chat generator: ours keep them, and one that does not is found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from attrs import evolve

from detent import (
    ChatGeneratorError,
    ChatMessage,
    ReasoningContent,
    ScriptedChatGenerator,
    StreamingChunk,
    ToolCall,
)
from detent.models import ChatReply, ModelFailure, ToolCallDelta, ToolSpec, Usage
from detent.ports.laws.chat import MakeGenerator
from detent.testing import check_chat_generator

TEXT = ChatReply(ChatMessage.from_assistant("It is 3."))
CALLS = ChatReply(
    ChatMessage.from_assistant("Let me see.", tool_calls=[ToolCall("add", {"a": 1}, "c1")]),
    "tool_calls",
)


def say(*script: Any) -> MakeGenerator:
    """Makers of a generator that says this."""
    return lambda: ScriptedChatGenerator(*script)


def down() -> ScriptedChatGenerator:
    """Nobody answers."""
    return ScriptedChatGenerator(ChatGeneratorError(ModelFailure("connection", "nobody is there")))


@pytest.mark.parametrize("reply", [TEXT, CALLS], ids=["text", "calls"])
def test_a_scripted_generator_keeps_the_laws(reply: ChatReply) -> None:
    """Whatever it is told to say."""
    check_chat_generator(say(reply), unable=down)


class Showing:
    """Shows these pieces, and gives this reply; blocking only."""

    def __init__(self, reply: object, *pieces: StreamingChunk) -> None:
        self._reply, self._pieces = reply, pieces

    def run(
        self, messages: Sequence[ChatMessage], *, streaming_callback: Any = None, **options: object
    ) -> Any:
        """Answer, and show it if that is wanted."""
        for piece in self._pieces if streaming_callback else ():
            streaming_callback(piece)
        return self._reply


def show(*deltas: ToolCallDelta) -> StreamingChunk:
    """A piece of calls."""
    return StreamingChunk(tool_calls=deltas)


def test_a_check_says_what_it_has_tried_and_what_not() -> None:
    """A plain question alone says little of what an agent asks; the result says how to ask more."""
    check = check_chat_generator(lambda: Showing(TEXT))

    rows = str(check).splitlines()
    assert rows[:2] == [
        "in order: run: 1 message, no tools",
        "in order: run: 1 message, no tools, streamed in no pieces",
    ]
    assert [row.partition(":")[0] for row in rows[2:]] == ["not tried"] * 3
    assert "tools, as none were offered: give tools=[my_tool.spec], and messages=" in rows[2]
    assert "streaming, as no piece was shown: one that streams calls its streaming" in rows[3]
    assert "what goes wrong: give unable=, which makes one whose model cannot" in rows[4]


def test_a_check_of_all_leaves_nothing_untried() -> None:
    """Tools, their results, pieces, and a model that cannot answer; without a call it says so."""
    spec = ToolSpec("add", "Add.", {"type": "object"})
    whole = check_chat_generator(say(CALLS), tools=[spec], unable=down)
    (untried,) = check_chat_generator(say(TEXT), tools=[spec], unable=down).untried

    assert not whole.untried
    assert whole.tried[2] == "run: 1 message, 1 tool, and the results of 1 call"
    assert whole.tried[-1] == "run_async: a model that cannot answer"
    assert untried.startswith("a call and its result, as the model called none of the tools")


def test_pieces_may_come_in_any_grain() -> None:
    """Texts, thoughts and calls, cut anywhere."""
    thought = ReasoningContent("Adding.")
    calls = evolve(CALLS, message=evolve(CALLS.message, content=(thought, *CALLS.message.content)))
    pieces = (
        StreamingChunk(reasoning="Add", start=True),
        StreamingChunk(reasoning="ing."),
        StreamingChunk("Let me ", start=True),
        StreamingChunk("see."),
        show(ToolCallDelta(0, "add", '{"a"', "c1")),
        show(ToolCallDelta(0, None, ": 1}")),
    )
    check_chat_generator(lambda: Showing(calls, *pieces))


def calling(*calls: ToolCall) -> ChatReply:
    """A reply with these calls."""
    return ChatReply(ChatMessage.from_assistant(tool_calls=calls), "tool_calls")


BROKEN: dict[str, Showing] = {
    "must answer with a ChatReply": Showing("hello"),
    "stored as JSON": Showing(evolve(TEXT, extra={"at": object()})),
    "finish_reason is one of 'stop', .*'end_turn'": Showing(
        evolve(TEXT, finish_reason=cast(Any, "end_turn"))
    ),
    "usage is a Usage": Showing(evolve(TEXT, usage=cast(Any, {"input_tokens": 1}))),
    "without a call the finish_reason of a reply is not": Showing(
        evolve(TEXT, finish_reason="tool_calls")
    ),
    "with calls the finish_reason of a reply is": Showing(evolve(CALLS, finish_reason="stop")),
    "no two calls": Showing(calling(ToolCall("add", {}, "c"), ToolCall("sub", {}, "c"))),
    "has None for it": Showing(calling(ToolCall("add", {}, ""))),
    "names a tool": Showing(calling(ToolCall("", {}, "c"))),
    "cached tokens": Showing(evolve(TEXT, usage=Usage(1, 1, cached_tokens=2))),
    "reasoning tokens": Showing(evolve(TEXT, usage=Usage(1, 1, reasoning_tokens=2))),
    "of the text add up": Showing(TEXT, StreamingChunk("It is", start=True)),
    "marked as its start": Showing(TEXT, StreamingChunk("It is 3.")),
    "of the reasoning add up": Showing(TEXT, StreamingChunk(reasoning="hm", start=True)),
    "each call that is shown": Showing(TEXT, show(ToolCallDelta(0, "add", "{}"))),
    "names its tool": Showing(CALLS, show(ToolCallDelta(0, None, '{"a": 1}'))),
    "add up to its arguments": Showing(CALLS, show(ToolCallDelta(0, "add", "{}"))),
}


@pytest.mark.parametrize("law", BROKEN)
def test_a_generator_that_breaks_a_law_is_found_out(law: str) -> None:
    """The message is the law."""
    with pytest.raises(AssertionError, match=f"the chat generator breaks a law: .*{law}"):
        check_chat_generator(lambda: BROKEN[law])


def test_what_cannot_be_asked_is_found_out() -> None:
    """It keeps every law as long as nobody does anything with it."""
    with pytest.raises(AssertionError, match="object has no run and no run_async"):
        check_chat_generator(cast(Any, object))


class Meddling(ScriptedChatGenerator):
    """Changes what it is given."""

    def run(self, messages: Any, **options: Any) -> ChatReply:
        """Answer, and write that down in the list of the caller."""
        reply = super().run(messages, **options)
        messages.append(reply.message)
        return reply


def test_a_generator_that_changes_the_conversation_is_found_out() -> None:
    """The list is the caller's."""
    with pytest.raises(AssertionError, match="stays as it is"):
        check_chat_generator(lambda: Meddling(TEXT))


@pytest.mark.parametrize(
    ("unable", "law"),
    [
        (say(OSError("no route")), "a ChatGeneratorError, not a OSError"),
        (say(TEXT), "a model that cannot answer leads to"),
        (say(ChatGeneratorError(ModelFailure("server", ""))), "says what went wrong"),
    ],
    ids=["untyped", "none", "mute"],
)
def test_a_failure_that_breaks_a_law_is_found_out(unable: MakeGenerator, law: str) -> None:
    """Errors of a library, answers that are none, failures without a word."""
    with pytest.raises(AssertionError, match=law):
        check_chat_generator(say(TEXT), unable=unable)
