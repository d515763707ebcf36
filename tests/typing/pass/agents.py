"""An agent whose types nobody has written down has those of `Agent(…)` with neither option."""

from __future__ import annotations

from typing import assert_type

from detent.adapters.agent.agent import Agent
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.adapters.tools.decorator import tool
from detent.adapters.tools.toolsets import Toolset
from detent.core.state.fields import Replaced
from detent.core.state.state import State, TypedState
from detent.ports.results import AgentResult


class Notes(TypedState):
    """The state of an agent."""

    reader = Replaced("")


@tool
def add(a: int, b: int) -> int:
    return a + b


def build() -> Agent:
    return Agent(chat_generator=ScriptedChatGenerator("hi"), tools=[bundle()])


def bundle() -> Toolset:
    return Toolset([add])


def build_with_notes() -> Agent[Notes]:
    return Agent(chat_generator=ScriptedChatGenerator("hi"), state_schema=Notes)


def build_counting() -> Agent[Notes, int]:
    return Agent(chat_generator=ScriptedChatGenerator("1"), state_schema=Notes, output_type=int)


def told(result: AgentResult) -> str | None:
    return result.text


class Desk:
    """Keeps an agent, as programs do."""

    agent: Agent

    def __init__(self) -> None:
        self.agent = build()


assert_type(build(), Agent[State, None])
assert_type(build_with_notes().run("go").state.reader, str)
assert_type(build_counting().run("go").output, int)
told(Desk().agent.run("go"))
