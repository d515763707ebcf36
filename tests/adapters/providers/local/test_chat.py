"""The local model, really run: the smallest one there is."""

from __future__ import annotations

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from attrs import frozen

from detent.adapters.agent.agent import Agent
from detent.adapters.providers.local.chat import LocalChatGenerator
from detent.adapters.providers.local.llama import LlamaError
from detent.adapters.providers.local.weights import MODEL_VARIABLE
from detent.adapters.tools.decorator import tool
from detent.core.chat.messages import ChatMessage
from detent.core.tools.tool import Tool, ToolSpec
from detent.ports.chat import ChatGeneratorError, StreamingChunk

WEATHER = ToolSpec(
    "get_weather",
    "The weather in a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
    },
)
ADD = ToolSpec(
    "add",
    "Add two numbers.",
    {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Digit"}, "b": {"$ref": "#/$defs/Digit"}},
        "required": ["a", "b"],
        "$defs": {"Digit": {"type": "integer", "minimum": 0, "maximum": 9}},
    },
)
HELLO = [ChatMessage.from_user("Say hello.")]
COUNT = [ChatMessage.from_user("Count from 1 to 1000.")]
OSLO = [ChatMessage.from_user("How is the weather in Oslo?")]


class StopError(Exception):
    """Raised by a callback that has seen enough."""


def stop_at_once(chunk: StreamingChunk) -> None:
    raise StopError


def shown(chunks: list[StreamingChunk]) -> str:
    return "".join(chunk.content for chunk in chunks)


@pytest.mark.model
def test_the_model_answers(tiny: LocalChatGenerator) -> None:
    """In text, and the tokens are counted."""
    reply = tiny.run(HELLO, generation_kwargs={"max_tokens": 20})
    assert reply.message.text
    assert reply.usage.input_tokens > 0
    assert 0 < reply.usage.output_tokens <= 20
    assert reply.model == "smollm2-135m"


@pytest.mark.model
def test_the_same_question_has_the_same_answer(tiny: LocalChatGenerator) -> None:
    """At temperature 0; and streamed or not."""
    chunks: list[StreamingChunk] = []
    whole = tiny.run(HELLO, generation_kwargs={"max_tokens": 20})
    streamed = tiny.run(
        HELLO, generation_kwargs={"max_tokens": 20}, streaming_callback=chunks.append
    )
    assert shown(chunks) == whole.message.text == streamed.message.text
    assert [chunk.start for chunk in chunks].index(True) == 0
    assert chunks[-1].finish_reason == whole.finish_reason


@pytest.mark.model
@pytest.mark.parametrize("choice", ["required", "add", "get_weather"])
def test_a_call_that_is_demanded_is_made(tiny: LocalChatGenerator, choice: str) -> None:
    """It fits the schema, references in it included."""
    chunks: list[StreamingChunk] = []
    reply = tiny.run(
        OSLO,
        tools=[WEATHER, ADD],
        generation_kwargs={"tool_choice": choice, "max_tokens": 60},
        streaming_callback=chunks.append,
    )
    (call,) = reply.message.tool_calls
    assert reply.finish_reason == "tool_calls"
    assert choice in {"required", call.tool_name}
    assert call.arguments.keys() == ({"a", "b"} if call.tool_name == "add" else {"city"})
    deltas = [delta for chunk in chunks for delta in chunk.tool_calls]
    assert [delta.tool_name for delta in deltas if delta.tool_name] == [call.tool_name]
    assert "".join(delta.arguments for delta in deltas).startswith("{")


@pytest.mark.model
def test_an_answer_that_is_demanded_is_given(tiny: LocalChatGenerator) -> None:
    """Though there are tools."""
    options = {"tool_choice": "none", "max_tokens": 60}
    reply = tiny.run(OSLO, tools=[WEATHER], generation_kwargs=options)
    assert reply.message.text
    assert not reply.message.tool_calls


@pytest.mark.model
def test_several_calls_come_in_one_reply(tiny: LocalChatGenerator) -> None:
    """Where that is allowed, each is whole but the one that was cut off."""
    options = {"parallel_tool_calls": True, "tool_choice": "add", "max_tokens": 150}
    reply = tiny.run(OSLO, tools=[ADD], generation_kwargs=options)
    calls = reply.message.tool_calls
    assert 1 <= len(calls) <= 4
    assert all(call.unreadable is None for call in calls)


@pytest.mark.model
def test_an_answer_may_be_structured(tiny: LocalChatGenerator) -> None:
    """As a JSON Schema wants it."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 9}},
        "required": ["n"],
    }
    options = {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
    for tools in ((), (WEATHER,)):
        reply = tiny.run(HELLO, tools=tools, generation_kwargs=options | {"tool_choice": "none"})
        assert (reply.message.text or "").startswith('{"n": ')


@pytest.mark.model
def test_what_was_read_is_not_read_again(tiny: LocalChatGenerator) -> None:
    """The next turn of a conversation costs what is new in it, the model's own words left out."""
    options = {"tool_choice": "get_weather", "max_tokens": 60}
    first = tiny.run(OSLO, tools=[WEATHER], generation_kwargs=options)
    call = first.message.tool_calls[0]
    turn = [*OSLO, first.message, ChatMessage.from_tool("Rain", call)]
    options = {"tool_choice": "none", "max_tokens": 40}
    second = tiny.run(turn, tools=[WEATHER], generation_kwargs=options)
    # The last characters of a reply may make other tokens together with what follows them.
    read = first.usage.input_tokens + first.usage.output_tokens - 5
    assert read <= second.usage.cached_tokens < second.usage.input_tokens


@pytest.mark.model
def test_a_schema_that_makes_no_grammar_is_told(tiny: LocalChatGenerator) -> None:
    """Nothing fits it."""
    text = {"type": "string", "minLength": 5, "maxLength": 2}
    bad = ToolSpec("bad", "", {"type": "object", "properties": {"a": text}, "required": ["a"]})
    with pytest.raises(ChatGeneratorError, match="makes no grammar"):
        tiny.run(HELLO, tools=[bad], generation_kwargs={"max_tokens": 20})


@pytest.mark.model
def test_a_conversation_that_is_too_long_is_refused(tiny: LocalChatGenerator) -> None:
    """With how long it is, and how long it may be."""
    with pytest.raises(ChatGeneratorError, match=r"has \d+ tokens .* 1024") as caught:
        tiny.run([ChatMessage.from_user("hello " * 2000)])
    assert caught.value.failure.cause == "context_length"


@pytest.mark.model
def test_a_callback_that_fails_stops_the_reply(tiny: LocalChatGenerator) -> None:
    """Its exception comes out, and the generator is fit for the next call."""
    with pytest.raises(StopError):
        tiny.run(HELLO, streaming_callback=stop_at_once)
    with pytest.raises(StopError):
        asyncio.run(tiny.run_async(HELLO, streaming_callback=stop_at_once))
    assert tiny.run(HELLO, generation_kwargs={"max_tokens": 5}).message.text


@pytest.mark.model
def test_threads_may_share_a_generator(tiny: LocalChatGenerator) -> None:
    """Each gets the reply to its own question."""
    questions = [[ChatMessage.from_user(f"Say {word}.")] for word in ("red", "green", "blue")]

    def ask(question: list[ChatMessage]) -> str | None:
        return tiny.run(question, generation_kwargs={"max_tokens": 12}).message.text

    alone = [ask(question) for question in questions]
    with ThreadPoolExecutor(3) as threads:
        assert [*threads.map(ask, questions)] == alone


@pytest.mark.model
def test_a_coroutine_gives_the_same_reply(tiny: LocalChatGenerator) -> None:
    """Its callback is called in the thread of the event loop."""
    chunks: list[StreamingChunk] = []
    threads: set[int] = set()

    def tell(chunk: StreamingChunk) -> None:
        chunks.append(chunk)
        threads.add(threading.get_ident())

    options = {"max_tokens": 20}
    reply = asyncio.run(tiny.run_async(HELLO, generation_kwargs=options, streaming_callback=tell))
    assert reply.message == tiny.run(HELLO, generation_kwargs=options).message
    assert shown(chunks) == reply.message.text
    assert threads == {threading.get_ident()}


@pytest.mark.model
def test_ctrl_c_stops_the_model(tiny: LocalChatGenerator) -> None:
    """It comes out at once, whatever the model is doing."""
    begun: list[threading.Thread] = []

    def press(chunk: StreamingChunk) -> None:
        if not begun:
            begun.append(threading.Thread(target=signal.raise_signal, args=[signal.SIGINT]))
            begun[0].start()

    options = {"max_tokens": 900, "temperature": 1.0, "seed": 1}
    with pytest.raises(KeyboardInterrupt):
        tiny.run(COUNT, generation_kwargs=options, streaming_callback=press)
    assert tiny.run(HELLO, generation_kwargs={"max_tokens": 5}).message.text


@pytest.mark.model
def test_cancelling_stops_the_model(tiny: LocalChatGenerator) -> None:
    """The next reply need not wait for the end of a long one."""

    async def cancelled() -> int:
        chunks: list[StreamingChunk] = []
        begun = asyncio.Event()

        def tell(chunk: StreamingChunk) -> None:
            chunks.append(chunk)
            begun.set()

        options = {"max_tokens": 900, "temperature": 1.0, "seed": 1}
        running = asyncio.create_task(
            tiny.run_async(COUNT, generation_kwargs=options, streaming_callback=tell)
        )
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await tiny.run_async(HELLO, generation_kwargs={"max_tokens": 1})
        return len(chunks)

    assert asyncio.run(cancelled()) < 100


@pytest.mark.model
def test_a_closed_generator_loads_its_model_again(tiny_model: str) -> None:
    """Closing frees memory, and nothing else."""
    with LocalChatGenerator(tiny_model, n_ctx=256, threads=1) as generator:
        before = generator.run(HELLO, generation_kwargs={"max_tokens": 5})
        generator.close()
        assert generator.run(HELLO, generation_kwargs={"max_tokens": 5}).message == before.message


def test_an_option_that_does_not_exist_is_refused_early() -> None:
    """When the generator is made, and as a failure of the call."""
    with pytest.raises(ValueError, match="no option max_token;"):
        LocalChatGenerator(generation_kwargs={"max_token": 1})
    with pytest.raises(ChatGeneratorError, match="no option stop;"):
        LocalChatGenerator().run(HELLO, generation_kwargs={"stop": "x"})


def test_a_model_that_is_not_there_fails_the_call(tmp_path: Path) -> None:
    """Warming up says the same."""
    generator = LocalChatGenerator(str(tmp_path / "none.gguf"))
    with pytest.raises(ChatGeneratorError, match=r"none\.gguf") as caught:
        generator.run(HELLO)
    assert caught.value.failure.cause == "not_found"


@pytest.mark.parametrize(
    ("data", "why"), [(b"Hello", "is not a GGUF file"), (b"GGUF but no model", "cannot load")]
)
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    """By what it is, not by its name."""
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(LlamaError, match=why):
        LocalChatGenerator(str(path)).warm_up()


def test_the_environment_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the code does not."""
    monkeypatch.setenv(MODEL_VARIABLE, "/models/own.gguf")
    assert repr(LocalChatGenerator()) == "LocalChatGenerator('/models/own.gguf')"
    assert LocalChatGenerator("smollm2-135m").model == "smollm2-135m"


@frozen
class Fruit:
    """A fruit, for an agent to name."""

    name: Literal["apple", "cherry"]
    colour: Literal["red", "green"]


@tool
def look(fruit: str) -> str:
    """Look at a fruit."""
    return f"the {fruit} is red"


@pytest.mark.parametrize("tools", [[], [look]], ids=["without tools", "with a tool"])
def test_an_agent_gets_an_answer_of_its_type(tiny: LocalChatGenerator, tools: list[Tool]) -> None:
    """The grammar holds even a tiny model to the type, with and without tools."""
    agent = Agent(chat_generator=tiny, tools=tools, output_type=Fruit, max_agent_steps=3)
    result = agent.run(
        "Name a red fruit.", generation_kwargs={"max_tokens": 60, "tool_choice": "none"}
    )
    assert isinstance(result.output, Fruit)


def test_a_program_of_another_library_runs_on_a_real_model(tiny_model: str) -> None:
    """With only its imports changed: its provider is the local model, which has to call a tool."""
    OpenAIChatGenerator = partial(  # noqa: N806 - the provider
        LocalChatGenerator, tiny_model, n_ctx=1024, generation_kwargs={"tool_choice": "search"}
    )
    parameters = {
        "type": "object",
        "properties": {"topic": {"enum": ["detents", "springs"]}},
        "required": ["topic"],
    }
    tools = [
        Tool("calculator", "Adds.", parameters, lambda topic: topic),
        Tool("search", "Searches.", parameters, lambda topic: f"found: {topic}"),
    ]

    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=tools,
        exit_conditions=["search"],
    )

    # Run the agent
    result = agent.run(messages=[ChatMessage.from_user("Find information about detents")])

    assert "messages" in result  # Contains conversation history
    assert result.exit_reason == "search"
    assert result["last_message"].tool_call_results[0].text.startswith("found: ")
