"""Opening a turn: once it is settled which calls may run, no policy is asked again."""

from __future__ import annotations

from typing import Any

from detent import (
    AgentSpec,
    Allow,
    Ask,
    ChatMessage,
    ChatReply,
    FrozenDict,
    ModelReplied,
    Run,
    State,
    Tool,
    ToolCall,
    start,
    step,
)
from detent.core.decisions import Verdict
from detent.core.opening import settled
from detent.core.tools import by_name


def test_a_policy_is_asked_once() -> None:
    """What it said stays with the event, whatever it would say later."""
    verdicts: list[Verdict] = [Ask("money")]

    def policy(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        return verdicts.pop() if verdicts else Allow()

    spec = AgentSpec(
        State({}),
        by_name([Tool("pay", "", {"type": "object"}, print)]),
        policies=FrozenDict({"pay": policy}),
    )
    run = start(spec, [ChatMessage.from_user("hello")], run_id="r")
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("pay", id="a")]))

    event = settled(spec, run, ModelReplied(1, 1, reply))

    assert step(spec, run, event) == step(spec, run, event)
    assert "AwaitingDecision" in repr(step(spec, run, event).slots)
    assert settled(spec, run, event) is event
