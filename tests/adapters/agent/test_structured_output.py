"""Structured output: an agent's answer is an instance of the type that it was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import pytest
from attrs import frozen

from detent import (
    Agent,
    AgentResult,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    Breakpoint,
    BreakpointException,
    ChatMessage,
    ConfirmationUIResult,
    MemoryJournal,
    OutputError,
    OutputType,
    ScriptedChatGenerator,
    State,
    StreamingChunk,
    ToolCall,
    chat_generator,
    tool,
)
from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.models import SchemaMode

Runner: TypeAlias = Callable[..., AgentResult[Any, Any]]


def blocking(agent: Agent[Any, Any], *args: Any, **options: Any) -> AgentResult[Any, Any]:
    return agent.run(*args, **options)


def async_(agent: Agent[Any, Any], *args: Any, **options: Any) -> AgentResult[Any, Any]:
    return asyncio.run(agent.run_async(*args, **options))


@pytest.fixture(params=[blocking, async_])
def run(request: pytest.FixtureRequest) -> Runner:
    """Every behaviour below holds for both."""
    runner: Runner = request.param
    return runner


@frozen
class Weather:
    """How it is somewhere."""

    city: str
    degrees: int


@tool
def measure(city: str) -> int:
    """Measure the temperature in a city."""
    return 4


ANSWER = ToolCall("final_answer", {"city": "Oslo", "degrees": 4}, id="z")
OSLO = Weather("Oslo", 4)


def test_the_model_answers_by_a_tool_where_nothing_else_holds_it(run: Runner) -> None:
    """The tool is offered after the agent's own, and is none of them."""
    model = ScriptedChatGenerator(ToolCall("measure", {"city": "Oslo"}), ANSWER)
    agent = Agent(chat_generator=model, tools=[measure], output_type=Weather)

    result = run(agent, "How is Oslo?")

    assert (result.output, result.exit_reason) == (OSLO, "output")
    assert [one.name for one in model.calls[0].tools] == ["measure", "final_answer"]
    assert list(agent.spec.tools) == ["measure"]


def test_a_provider_that_can_holds_the_model_to_the_schema(run: Runner) -> None:
    """No tool is offered then; the schema is in the options of the call."""
    model = ScriptedChatGenerator('{"city": "Oslo", "degrees": 4}', schema_mode="always")
    agent = Agent(chat_generator=model, output_type=Weather)

    assert run(agent, "How is Oslo?").output == OSLO

    (asked,) = model.calls
    wanted = cast(dict[str, Any], asked.generation_kwargs["response_format"])["json_schema"]
    assert (asked.tools, wanted["strict"]) == ((), True)
    assert wanted["schema"]["required"] == ["city", "degrees"]


def test_the_model_gets_another_try(run: Runner) -> None:
    """It reads what was wrong; when all tries are used up there is no output."""
    wrong = ToolCall("final_answer", {"city": "Oslo", "degrees": "cold"}, id="y")
    agent = Agent(
        chat_generator=ScriptedChatGenerator(wrong, "It is cold.", ANSWER), output_type=Weather
    )
    result = run(agent, "How is Oslo?")
    assert result.output == OSLO
    told = [one.text for m in result.messages for one in m.tool_call_results]
    assert 'must be an integer, got "cold"' in told[0]

    agent = Agent(
        chat_generator=ScriptedChatGenerator(wrong, wrong),
        output_type=OutputType(Weather, tries=2),
    )
    result = run(agent, "How is Oslo?")
    assert result.exit_reason == "output_tries"
    with pytest.raises(OutputError, match="output_tries"):
        _ = result.output


def test_streaming_shows_the_answer_as_it_is_written(run: Runner) -> None:
    """The pieces of the call to answer by are pieces like others."""
    told: list[StreamingChunk] = []
    agent = Agent(chat_generator=ScriptedChatGenerator(ANSWER), output_type=Weather)
    assert run(agent, "How is Oslo?", told.append).output == OSLO
    assert any(delta.tool_name == "final_answer" for one in told for delta in one.tool_calls)


def test_nobody_is_asked_before_the_model_answers(run: Runner) -> None:
    """Only what does something is confirmed."""

    class Nobody:
        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> ConfirmationUIResult:
            raise AssertionError("nobody is here")

    rule = BlockingConfirmationStrategy(AlwaysAskPolicy(), Nobody())
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ANSWER),
        tools=[measure],
        confirmation_strategies={"measure": rule},
        output_type=Weather,
    )
    assert run(agent, "How is Oslo?").output == OSLO


def test_a_run_that_was_stopped_goes_on_to_its_output(run: Runner) -> None:
    """From a snapshot, and from a journal: the tries before count."""
    look = ToolCall("measure", {"city": "Oslo"}, id="m")
    journal = MemoryJournal()
    agent = Agent(
        chat_generator=ScriptedChatGenerator("It is cold.", look, ANSWER, ANSWER),
        tools=[measure],
        output_type=Weather,
        journal=journal,
    )
    with pytest.raises(BreakpointException) as stopped:
        run(agent, "How is Oslo?", run_id="r", break_point=Breakpoint("chat_generator", 2))
    with pytest.raises(OutputError, match="has not ended"):
        _ = stopped.value.result.output

    again = run(agent, snapshot=stopped.value.snapshot.to_json())
    assert (again.output, again.run.invalid_answers) == (OSLO, 1)
    assert agent.resume("r").output == OSLO
    assert agent.resume("r").output == OSLO


def test_an_agent_without_an_output_type_has_none(run: Runner) -> None:
    """It says None, and its text is its answer."""
    agent = Agent(chat_generator=ScriptedChatGenerator("4 degrees"))
    assert run(agent, "How is Oslo?").output is None


@pytest.mark.parametrize("generic", [Agent, AgentResult])
def test_the_type_of_the_output_can_be_left_out_of_an_annotation(generic: Any) -> None:
    """As it can for type checkers: it is None then."""
    assert generic[State] == generic[State, None]


def test_an_option_that_there_is_not_is_refused() -> None:
    """The message says which there are."""
    options: dict[str, Any] = {"out_type": Weather}
    with pytest.raises(
        TypeError,
        match=r"'out_type'; did you mean output_type=…[?] It has .*, name, ",
    ):
        Agent(chat_generator=ScriptedChatGenerator(), **options)


MODES: dict[str, SchemaMode] = {
    "anthropic:claude-sonnet-4-5": "always",
    "anthropic:claude-opus-4-1-20250805": "always",
    "anthropic:claude-opus-4-20250514": "never",
    "anthropic:claude-3-7-sonnet-latest": "never",
    "azure:d": "always",
    "bedrock:m": "never",
    "cohere:m": "without_tools",
    "deepseek:m": "never",
    "gemini:m": "without_tools",
    "groq:m": "never",
    "llamacpp:m": "without_tools",
    "mistral:m": "without_tools",
    "ollama:m": "without_tools",
    "ollama-v1:m": "without_tools",
    "openai:m": "always",
    "openai-responses:m": "always",
    "openrouter:m": "never",
    "together:m": "never",
    "vllm:m": "without_tools",
    "xai:m": "without_tools",
}


@pytest.mark.parametrize("name", MODES)
def test_every_provider_says_when_it_holds_a_model_to_a_schema(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is not known to do so gets the tool, which works everywhere."""
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    made = chat_generator(name)
    assert made.schema_mode == MODES[name]
    if made.schema_mode != "never":
        assert isinstance(made, HttpChatGenerator)
        options = OutputType(Weather, native="always").response_format
        messages = [ChatMessage.from_user("How is Oslo?")]
        body = made.api.encode(ChatRequest("m", messages, (), {"response_format": options}))
        assert b'"degrees"' in body
    elsewhere = chat_generator("openai:m", api_base_url="https://example.org/v1")
    assert elsewhere.schema_mode == "never"
