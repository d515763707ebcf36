"""What is secret in a run, by value, and what is shown of what quotes it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from attrs import evolve

from detent import (
    ChatMessage,
    SecretParameter,
    State,
    Tool,
    ToolCall,
    create_tool_from_function,
)
from detent.core.machine.run_secrets import secrets_of_run
from detent.core.tools.masking import shown_result
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    CallRef,
    ModelReplied,
    ToolResult,
    ToolReturned,
    ToolStarted,
    due,
    start,
    step,
    wrap_event,
)
from detent.models import ChatReply
from tests.core.asking import agent_tool

PIN = "S3CRETpin99"


def sign(site: str, pin: Annotated[str, SecretParameter] = PIN) -> str:
    """Sign in."""
    return f"in at {site} by {pin}"


SIGN = create_tool_from_function(sign)
GO = ChatMessage.from_user("Go.")
NAMED = ToolCall("sign", {"site": "x", "pin": "0therPIN77"}, "c1")


def spec_of(*tools: Tool, **values: Any) -> AgentSpec[State]:
    """An agent with a key of the state for each of the values."""
    schema = {name: {"type": str} for name in values}
    return AgentSpec(State(schema, values), by_name(tools))


def replied(*calls: ToolCall) -> ModelReplied:
    """The model calls."""
    return ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=calls)))


def test_where_no_tool_has_a_secret_there_is_none() -> None:
    """Whatever is called."""
    spec = spec_of(Tool("note", "", {"type": "object"}, print))
    run = step(spec, start(spec, [GO], run_id="r"), replied(ToolCall("note", id="c")))
    assert secrets_of_run(spec, run) == {}


def test_it_is_what_calls_name_what_stands_for_it_and_what_the_state_fills_in() -> None:
    """Also of a conversation that was held before; of what is no tool, nothing."""
    use = evolve(SIGN, name="use", inputs_from_state={"token": "pin"})
    spec = spec_of(SIGN, use, token="H3ldToken55")  # noqa: S106 - nobody's
    before = [
        GO,
        ChatMessage.from_assistant(tool_calls=[NAMED]),
        ChatMessage.from_tool("in", NAMED),
    ]
    run = start(spec, [*before, GO], run_id="r")
    run = step(
        spec, run, replied(ToolCall("sign", {"site": "y", "pin": "Th1rd99"}), ToolCall("no"))
    )

    secrets = secrets_of_run(spec, run)

    assert {*secrets} == {"pin"}
    assert {PIN, "0therPIN77", "Th1rd99", "H3ldToken55"} == {*secrets["pin"]}


def test_what_a_partial_has_bound_is_none_of_a_call() -> None:
    """And is secret if its parameter is."""
    bound = create_tool_from_function(partial(sign, pin="B0und88"), name="sign", description="In.")
    plain = create_tool_from_function(partial(sign, site="x"), name="sign", description="In.")
    for tool, secret in ((bound, "B0und88"), (plain, PIN)):
        spec = spec_of(tool)
        secrets = secrets_of_run(spec, start(spec, [GO], run_id="r"))
        assert {*secrets["pin"]} == {secret}


def test_an_agent_inside_has_its_own_and_its_answer_does_not_say_them() -> None:
    """The model around it reads what it has said; people do not."""
    inner = spec_of(SIGN)
    ask = agent_tool(inner)
    spec: AgentSpec[State] = AgentSpec(State({}), by_name([ask]))
    run = step(spec, start(spec, [GO], run_id="r"), replied(ToolCall("ask", {"task": "x"}, "a")))
    assert secrets_of_run(spec, run) == {}
    run = step(spec, run, ToolStarted(CallRef(1, 0), 1))
    (effect,) = due(spec, run)
    assert {*secrets_of_run(spec, run)["pin"]} == {PIN}
    text = f"It is {PIN}."
    said = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(text)))

    run = step(spec, run, wrap_event(effect.path, said))

    (answer,) = [one for message in run.messages for one in message.tool_call_results]
    assert (answer.result, answer.display) == (text, "It is <pin>.")
    assert shown_result(answer).result == "It is <pin>."


def test_a_result_that_says_its_secret_has_a_text_for_people() -> None:
    """Also the one that a human's note stands above, and the one of a run that was stored."""
    spec = spec_of(SIGN)
    run = step(spec, start(spec, [GO], run_id="r"), replied(NAMED, evolve(NAMED, id="c2")))
    for place in (0, 1):
        run = step(spec, run, ToolStarted(CallRef(1, place), 1))
        result = ToolResult("in by <it>", display="in by <pin>")
        run = step(spec, run, ToolReturned(CallRef(1, place), 1, result))
    shown = [part.display for message in run.messages for part in message.tool_call_results]
    assert shown == ["in by <pin>"] * 2
