"""What a stream gives is typed, its result by the agent's schema; hooks see typed requests."""

from __future__ import annotations

from typing import Any, assert_type

from detent import (
    Agent,
    AgentResult,
    Appended,
    ScriptedChatGenerator,
    StreamingChunk,
    TypedState,
    before_model,
    before_tool,
    on_exit,
)
from detent.machine import AskModel, Run, RunHandle, RunTool, Session, ToolReturned


class Desk(TypedState):
    """What the tools share."""

    notes = Appended[str]()


@before_model
def shorter(ask: AskModel, run: Run[Any]) -> AskModel:
    return ask


@before_tool
def spared(call: RunTool, run: Run[Any]) -> ToolReturned | None:
    return call.returned("spared")


hooks = [shorter, spared, on_exit(lambda run: None)]
agent = Agent(chat_generator=ScriptedChatGenerator("hi"), state_schema=Desk, hooks=hooks)

for seen in agent.stream("hello"):
    if isinstance(seen, StreamingChunk):
        assert_type(seen.content, str)
    elif isinstance(seen, AgentResult):
        assert_type(seen.state, Desk)

errand = agent.begin("hello")
assert_type(errand, RunHandle[Desk])
assert_type(errand.session, Session[Desk])
