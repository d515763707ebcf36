"""Nothing that a proof, or its refutation, prints says what is secret in a call."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    Hook,
    ScriptedChatGenerator,
    SecretParameter,
    ToolCall,
    before_tool,
    tool,
)
from detent.machine import Run, RunTool
from detent.testing import (
    Refuted,
    Scenario,
    always,
    budget_never_exceeded,
    check,
    never_runs_unapproved,
)

PIN = "hunter2-PIN"
ARGUMENTS = {"login": [{"user": "u", "pin": PIN}]}


@tool
def login(user: str, pin: Annotated[str, SecretParameter]) -> str:
    """Log in."""
    return "in"


@tool
def draw(amount: Annotated[int, SecretParameter]) -> str:
    """Draw money."""
    return "drawn"


AGENT = Agent(chat_generator=ScriptedChatGenerator(), tools=[login])


def refuted(agent: Agent[Any], **rest: Any) -> Refuted:
    """What `check` says of logging in."""
    with pytest.raises(Refuted) as caught:
        check(agent, never_runs_unapproved("login"), calls=1, arguments=ARGUMENTS, **rest)
    return caught.value


def printed(scenario: Scenario[Any]) -> str:
    """All that a scenario prints."""
    return f"{scenario} {scenario!r} {scenario.play()!r} {scenario.start!r}"


def test_a_refutation_masks_what_is_secret() -> None:
    """It stands in the log of CI. The events themselves have it: they are played."""
    error = refuted(AGENT, turns=1)
    again = Scenario.from_json(error.scenario.spec, error.scenario.to_json())

    assert "'user': 'u', 'pin': '********'" in str(error)
    assert PIN not in f"{error} {error!r} {printed(error.scenario)} {printed(again)}"
    assert error.scenario.play().slots[0].call.arguments["pin"] == PIN
    assert again == error.scenario


def test_that_of_an_agent_inside_masks_it_too() -> None:
    """Its calls are of tools that the run around it does not know."""
    helper = AgentTool(AGENT, name="helper", description="helps")
    error = refuted(Agent(chat_generator=ScriptedChatGenerator(), tools=[helper]), turns=1)

    assert "in helper" in str(error)
    assert PIN not in f"{error} {printed(error.scenario)}"


def test_what_a_tool_gives_is_masked_too() -> None:
    """It may quote what it was called with."""
    silent = always(lambda run: all(part.error for part in run.messages[-1].tool_call_results))
    results = {"login": [f"in by {PIN}"]}
    with pytest.raises(Refuted) as caught:
        check(AGENT, silent, turns=1, calls=1, exact=True, arguments=ARGUMENTS, results=results)
    error = caught.value
    assert "ToolReturned" in str(error)
    assert PIN not in f"{error} {printed(error.scenario)}"


def test_what_was_said_before_is_masked_too() -> None:
    """The conversation may begin with a call."""
    call = ToolCall("login", {"user": "u", "pin": PIN}, "c0")
    said = [
        ChatMessage.from_user("Log me in."),
        ChatMessage.from_assistant(tool_calls=[call]),
        ChatMessage.from_tool(f"in by {PIN}", call),
    ]
    assert PIN not in printed(refuted(AGENT, turns=1, messages=said).scenario)


def test_an_amount_may_be_secret() -> None:
    """Then so is what it adds up to."""
    agent = Agent(chat_generator=ScriptedChatGenerator(), tools=[draw])
    claim = budget_never_exceeded(amount=1000, tools=["draw"])
    with pytest.raises(Refuted, match=r"with amount \*{8}, which makes \*{8} in all") as caught:
        check(agent, claim, calls=1, arguments={"draw": [{"amount": 1777}]})
    assert "1777" not in str(caught.value)


def test_arguments_that_do_not_fit_are_masked() -> None:
    """Whoever reads that knows what he has written."""
    wrong = {"login": [{"user": "u", "pin": PIN, "other": PIN}]}
    with pytest.raises(ValueError, match="do not fit tool 'login'") as caught:
        check(AGENT, never_runs_unapproved("login"), arguments=wrong)
    assert f"'pin': '{PIN}'" not in str(caught.value)


@before_tool
def longer(effect: RunTool, run: Run[Any]) -> RunTool:
    """A hook that is never done."""
    pin = f"{effect.call.arguments['pin']}!"
    call = evolve(effect.call, arguments={**effect.call.arguments, "pin": pin})
    return evolve(effect, call=call)


def test_what_hooks_make_of_a_call_is_masked() -> None:
    """Where they make another one of that, each time."""
    hooks: list[Hook] = [longer]
    agent = Agent(chat_generator=ScriptedChatGenerator(), tools=[login], hooks=hooks)
    with pytest.raises(ValueError, match="they must leave as it is") as caught:
        check(agent, always(lambda _: True), calls=1, arguments=ARGUMENTS)
    assert PIN not in str(caught.value)
