"""What was recorded is replayed, and a request that was not is told by its first difference."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from detent import Agent, ChatGeneratorError, ChatMessage, StreamingChunk, ToolCall, tool
from detent.models import ChatReply, ModelFailure, Usage
from detent.testing import (
    Pieces,
    RecordingChatGenerator,
    ReplayingChatGenerator,
    ScriptedChatGenerator,
    check_chat_generator,
    recorded,
)

Ask: TypeAlias = Callable[..., ChatReply]

HELLO = ChatMessage.from_user("hello")
A_KEY = "sk-abcdefghijklmnop1234"


@pytest.fixture(params=["run", "run_async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Both ways to ask give the same."""

    def asked(chat: Any, *said: ChatMessage, **options: Any) -> ChatReply:
        given = getattr(chat, request.param)(said, **options)
        reply: ChatReply = asyncio.run(given) if request.param == "run_async" else given
        return reply

    return asked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the recording is, in a folder that is not there yet."""
    return tmp_path / "recordings" / "hello.json"


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: rain"


def test_an_agent_does_the_same_again_without_a_model(path: Path) -> None:
    """Calls, results, usage, pieces: the whole run."""
    model = ScriptedChatGenerator(
        ChatReply(
            ChatMessage.from_assistant(tool_calls=[ToolCall("weather", {"city": "Oslo"}, "a")]),
            "tool_calls",
            Usage(3, 4),
            extra={"id": "x1"},
        ),
        Pieces("It ra", "ins."),
    )

    def ran(chat: Any) -> tuple[Any, list[StreamingChunk]]:
        told: list[StreamingChunk] = []
        agent = Agent(chat_generator=chat, tools=[weather], generation_kwargs={"seed": 1})
        run = agent.run("How is Oslo?", told.append, run_id="r").run
        return evolve(run, nonce=""), told

    first = ran(RecordingChatGenerator(model, path))
    replaying = ReplayingChatGenerator(path)

    assert ran(replaying) == first
    replaying.assert_complete()


class Blocking:
    """Has one colour only."""

    def run(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """Answer."""
        return ChatReply(ChatMessage.from_assistant("blocking"))


class Coroutine:
    """Has the other colour only."""

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """Answer."""
        return ChatReply(ChatMessage.from_assistant("coroutine"))


@pytest.mark.parametrize("inner", [Blocking, Coroutine])
def test_a_model_of_either_colour_can_be_recorded(ask: Ask, path: Path, inner: Any) -> None:
    """Whichever way it is asked, and whichever way it is asked again."""
    reply = ask(RecordingChatGenerator(inner(), path), HELLO)

    assert reply.message.text == inner.__name__.lower()
    assert ask(ReplayingChatGenerator(path), HELLO) == reply


def test_a_failure_is_replayed_as_well(ask: Ask, path: Path) -> None:
    """With the pieces that came before it; other exceptions are nobody's answer."""
    failure = ModelFailure("rate_limit", "slow down", retryable=True, retry_after_s=2.5)
    error = ChatGeneratorError(failure)
    recording = RecordingChatGenerator(
        ScriptedChatGenerator(Pieces("It ", error), ZeroDivisionError()), path
    )
    with pytest.raises(ChatGeneratorError):
        ask(recording, HELLO, streaming_callback=lambda _: None)
    with pytest.raises(ZeroDivisionError):
        ask(recording, HELLO)
    told: list[StreamingChunk] = []
    replaying = ReplayingChatGenerator(path)

    with pytest.raises(ChatGeneratorError) as caught:
        ask(replaying, HELLO, streaming_callback=told.append)

    assert caught.value.failure == failure
    assert [piece.content for piece in told] == ["It "]
    replaying.assert_complete()


def test_pieces_are_made_up_where_none_were_recorded(ask: Ask, path: Path) -> None:
    """The reply is the same, so that what shows it can be tested."""
    ask(RecordingChatGenerator(ScriptedChatGenerator("It rains"), path), HELLO)
    told: list[StreamingChunk] = []

    ask(ReplayingChatGenerator(path), HELLO, streaming_callback=told.append)

    assert [piece.content for piece in told] == ["It", " rains", ""]


def test_the_order_does_not_matter(ask: Ask, path: Path) -> None:
    """Runs side by side may ask sooner or later; equal requests get their answers in order."""
    other = ChatMessage.from_user("other")
    recording = RecordingChatGenerator(ScriptedChatGenerator("one", "two", "three"), path)
    for message in (HELLO, HELLO, other):
        ask(recording, message)
    replaying = ReplayingChatGenerator(path)

    texts = [ask(replaying, message).message.text for message in (other, HELLO)]

    assert texts == ["three", "one"]
    with pytest.raises(AssertionError, match=r"1 exchange of the script .*\n.*hello"):
        replaying.assert_complete()


def test_no_secret_gets_into_the_file(
    ask: Ask, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of the request nor of the answer; and the request is still found."""
    monkeypatch.setenv("SOME_API_KEY", "correct horse battery")
    asked = ChatMessage.from_user(f"use {A_KEY} or correct horse battery")
    ask(RecordingChatGenerator(ScriptedChatGenerator(f"I shall use {A_KEY}"), path), asked)

    kept = path.read_text("utf-8")
    reply = ask(ReplayingChatGenerator(path), asked)

    assert A_KEY not in kept
    assert "horse" not in kept
    assert "use *** or <SOME_API_KEY>" in kept
    assert reply.message.text == "I shall use ***"


def test_what_differs_each_time_can_be_taken_out(ask: Ask, path: Path) -> None:
    """By a scrub of one's own."""

    def timeless(text: str) -> str:
        return text.split(" at ", maxsplit=1)[0]

    def at(clock: str) -> ChatMessage:
        return ChatMessage.from_user(f"hello at {clock}")

    ask(RecordingChatGenerator(ScriptedChatGenerator("hi"), path, scrub=timeless), at("9:00"))

    assert ask(ReplayingChatGenerator(path, scrub=timeless), at("9:01")).message.text == "hi"


def test_another_request_is_told_by_its_first_difference(ask: Ask, path: Path) -> None:
    """Where it is, what was recorded, what is asked; and nothing is used up."""
    ask(RecordingChatGenerator(ScriptedChatGenerator("hi"), path), HELLO, tools=[weather.spec])
    replaying = ReplayingChatGenerator(path)
    law = (
        r"(?s)hello.json has 1 exchange, .* differs first at messages\[0\].content\[0\].text:\n"
        r"  recorded: 'hello'\n  asked:    'hullo'\n.*Record it anew"
    )

    with pytest.raises(AssertionError, match=law):
        ask(replaying, ChatMessage.from_user("hullo"), tools=[weather.spec])
    with pytest.raises(
        AssertionError, match=r"at tools\[0\]:\n  recorded: {.*}\n  asked: +nothing"
    ):
        ask(replaying, HELLO)
    with pytest.raises(AssertionError, match=r"at generation_kwargs.seed:\n  recorded: nothing"):
        ask(replaying, HELLO, tools=[weather.spec], generation_kwargs={"seed": 1})
    ask(replaying, HELLO, tools=[weather.spec])
    with pytest.raises(AssertionError, match="has 1 exchange, and was asked for more"):
        ask(replaying, HELLO, tools=[weather.spec])


def test_a_recording_is_made_when_there_is_none(ask: Ask, path: Path) -> None:
    """Then, and only then, the model is made."""
    made: list[ScriptedChatGenerator] = []

    def make() -> ScriptedChatGenerator:
        made.append(ScriptedChatGenerator("hi"))
        return made[-1]

    replies = [ask(recorded(path, make), HELLO) for _ in range(3)]

    assert {reply.message.text for reply in replies} == {"hi"}
    assert len(made) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "is no recording: Expecting"), ("[]", "of format 1"), ('{"format": 2}', "of format 1")],
)
def test_a_file_that_is_no_recording_is_refused(path: Path, text: str, told: str) -> None:
    """When it is opened, not when it is asked."""
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ValueError, match=told):
        ReplayingChatGenerator(path)
    with pytest.raises(FileNotFoundError):
        ReplayingChatGenerator(path.with_name("other.json"))


def test_a_new_recording_takes_the_place_of_an_old_one(ask: Ask, path: Path) -> None:
    """Once there is something to record."""
    for text in ("old", "new"):
        ask(RecordingChatGenerator(ScriptedChatGenerator(text), path), HELLO)
    RecordingChatGenerator(ScriptedChatGenerator("never asked"), path)

    assert [one["reply"]["message"] for one in json.loads(path.read_text())["exchanges"]]
    assert ask(ReplayingChatGenerator(path), HELLO).message.text == "new"


def test_both_keep_the_laws(path: Path) -> None:
    """Of the chat generator port."""

    def failing() -> RecordingChatGenerator:
        error = ChatGeneratorError(ModelFailure("connection", "nobody is there"))
        return RecordingChatGenerator(ScriptedChatGenerator(error, error), path)

    check_chat_generator(
        lambda: RecordingChatGenerator(ScriptedChatGenerator("Hello there."), path), unable=failing
    )
    asked = (ChatMessage.from_user("Say hello."),)
    RecordingChatGenerator(ScriptedChatGenerator("Hello there."), path).run(asked)
    check_chat_generator(lambda: ReplayingChatGenerator(path))
