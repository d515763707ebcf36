"""Agents as data: what is written names its parts, and what is read finds them at hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import frozen

from detent import (
    Agent,
    AgentDataError,
    AgentTool,
    AlwaysAskPolicy,
    Appended,
    BlockingConfirmationStrategy,
    ConfirmationUIResult,
    Limits,
    OutputType,
    Price,
    Prices,
    ScriptedChatGenerator,
    SimpleConsoleUI,
    TypedState,
    before_model,
    chat_generator,
    tool,
)
from detent.adapters.providers.registry import described, from_description
from detent.approvals import AskAbove
from detent.models import SchemaMode, Secret


@tool(outputs_to_state={"notes": {}})
def note(text: str) -> str:
    """Note a text."""
    return text


@tool
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


@frozen
class Weather:
    """How it is."""

    degrees: int


class Notes(TypedState):
    """A state of a class."""

    notes = Appended[str]()


class Nobody:
    """Somebody who is asked and says nothing."""

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """No answer."""
        return ConfirmationUIResult("later")


def watch(effect: Any, run: Any) -> None:
    """A hook that lets be."""


OPTIONS: dict[str, Any] = {
    "tools": [note, pay],
    "system_prompt": "Be brief.",
    "exit_conditions": ["pay"],
    "state_schema": {"notes": {"type": list, "default": ["a"]}, "count": {"type": int}},
    "output_type": OutputType(Weather, tries=2, name="report"),
    "limits": Limits(7, max_tokens=1000, final_answer=True),
    "confirmation_strategies": {
        "pay": BlockingConfirmationStrategy(AskAbove("amount", 5), SimpleConsoleUI(), "No.")
    },
    "generation_kwargs": {"temperature": 0},
    "model_retries": 5,
    "raise_on_tool_invocation_failure": True,
    "hooks": [before_model(watch)],
}


def test_an_agent_becomes_data_and_an_agent_again() -> None:
    """As JSON text in between; the same rules, and the parts that were passed in."""
    agent = Agent(chat_generator=chat_generator("openai:gpt-5-mini"), **OPTIONS)
    data = json.loads(json.dumps(agent.to_dict()))
    again = Agent.from_dict(
        data, tools=[pay, note], output_type=Weather, hooks=[before_model(watch)]
    )
    assert again.to_dict() == data
    assert list(again.spec.tools) == ["note", "pay"]
    assert again.spec.tools["pay"] is pay
    assert again.spec.limits == agent.spec.limits
    assert again.spec.policies == agent.spec.policies
    assert again.spec.wordings == agent.spec.wordings
    assert again.spec.model_retries == agent.spec.model_retries
    assert again.spec.output == agent.spec.output
    assert again.spec.state.read("notes") == ["a"]
    assert repr(again.chat_generator) == repr(agent.chat_generator)


def test_what_is_not_at_hand_is_named_all_at_once() -> None:
    """With what was given, and how to pass it."""
    rules = {"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), Nobody())}
    schema = {"notes": {"type": list, "handler": lambda old, new: new}}
    limits = Limits(max_cost=1, price=Prices({"m": Price(input=1, output=1)}))
    options: dict[str, Any] = OPTIONS | {
        "confirmation_strategies": rules,
        "state_schema": schema,
        "limits": limits,
    }
    data = Agent(chat_generator=ScriptedChatGenerator(), **options).to_dict()
    with pytest.raises(AgentDataError) as refused:
        Agent.from_dict(data, tools=[note])
    told = "\n".join(refused.value.faults)
    for needed in (
        "it has a ScriptedChatGenerator; pass one: chat_generator=…",
        "it needs the tool 'pay'; given: 'note'; pass tools=[…]",
        "its state key 'notes' holds list, merged by",
        "its answer is a Weather; pass the type: output_type=…",
        "its limits have a price list",
        "its tool 'pay' is guarded by AlwaysAskPolicy and Nobody",
        "it needs the hook 'watch'; given: none",
    ):
        assert needed in told
    given = options | {"chat_generator": ScriptedChatGenerator()}
    del given["system_prompt"]
    assert Agent.from_dict(data, **given).to_dict() == data


def test_a_state_of_a_class_is_passed_in() -> None:
    """No class is looked for by its name."""
    agent = Agent(chat_generator=ScriptedChatGenerator(), state_schema=Notes, tools=[note])
    data = agent.to_dict()
    with pytest.raises(AgentDataError, match="its state is a Notes; pass it"):
        Agent.from_dict(data, chat_generator=ScriptedChatGenerator(), tools=[note])
    parts: dict[str, Any] = {"chat_generator": ScriptedChatGenerator(), "tools": [note]}
    assert Agent.from_dict(data, **parts, state_schema=Notes).spec.state == Notes()


def test_an_agent_that_works_for_another_is_one_of_its_tools() -> None:
    """It is passed in as every tool."""
    inner = AgentTool(Agent(chat_generator=ScriptedChatGenerator()), name="ask", description="")
    model = ScriptedChatGenerator()
    data = Agent(chat_generator=model, tools=[inner]).to_dict()
    again = Agent.from_dict(data, chat_generator=model, tools=[inner])
    assert again.spec.tools["ask"] is inner


@pytest.mark.parametrize(
    "data",
    [{}, {"detent": "agent", "format": 2}, {"detent": "agent", "format": 1}],
    ids=["empty", "another format", "damaged"],
)
def test_what_is_no_agent_is_refused(data: dict[str, Any]) -> None:
    """By what is missing in it."""
    with pytest.raises(AgentDataError, match=r"no agent|damaged"):
        Agent.from_dict(data)


def test_what_is_no_json_is_refused() -> None:
    """An option that only this process knows."""
    agent = Agent(chat_generator=ScriptedChatGenerator(), generation_kwargs={"stop": object()})
    with pytest.raises(AgentDataError, match="cannot be written as data"):
        agent.to_dict()


def test_no_key_is_written() -> None:
    """A variable's name is; a value is refused, and not shown."""
    options = {"api_base_url": "https://example.org/v1", "generation_kwargs": {"seed": 1}}
    key = Secret.from_env_var("MY_KEY")
    made = chat_generator("openai:m", api_key=key, **options)
    told = described(made)
    assert told == {"name": "openai:m", "api_key": {"env_vars": ["MY_KEY"]}, **options}
    assert described(from_description(told)) == told
    agent = Agent(chat_generator=chat_generator("openai:m", api_key="sk-very-secret"))
    with pytest.raises(AgentDataError, match="from_env_var") as refused:
        agent.to_dict()
    assert "very-secret" not in str(refused.value)


@pytest.mark.parametrize("address", ["https://me:sesame@h.org/v1", "https://h.org/v1?key=sesame"])
def test_no_key_that_an_address_holds_is_written(address: str) -> None:
    """It cannot be told from a part of the address that is none."""
    made = chat_generator("openai:m", api_base_url=address)
    with pytest.raises(AgentDataError, match="has a user or a query in it") as refused:
        Agent(chat_generator=made).to_dict()
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("native", ["never", None])
def test_how_the_model_is_held_to_its_answer_is_kept(native: SchemaMode | None) -> None:
    """Where it was said; else it is what the generator at hand says."""
    output = OutputType(Weather, name="report", native=native)
    agent = Agent(chat_generator=chat_generator("openai:m"), output_type=output)
    again = Agent.from_dict(agent.to_dict(), output_type=Weather)
    assert again.spec.output == agent.spec.output
    other = Agent.from_dict(
        agent.to_dict(), output_type=Weather, chat_generator=ScriptedChatGenerator()
    )
    assert other.spec.output is not None
    assert other.spec.output.native == "never"


def test_a_generator_that_cannot_be_made_is_named() -> None:
    """With what its maker says."""
    data = Agent(chat_generator=chat_generator("openai:m")).to_dict()
    data["chat_generator"]["name"] = "os.system"
    with pytest.raises(AgentDataError, match=r"cannot be made: 'os\.system' names no model"):
        Agent.from_dict(data)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mistral:m", "mistral:m"),
        ("anthropic:m", "anthropic:m"),
        ("gemini:m", "gemini:m"),
        ("ollama:m", "ollama:m"),
        ("local:smollm2-135m", "local:smollm2-135m"),
        ("azure:d", None),
        ("vertex:m", None),
    ],
)
def test_a_generator_is_known_by_its_provider(
    name: str, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where more than a name makes one, it has to be passed in."""
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    assert described(chat_generator(name))["name"] == told
