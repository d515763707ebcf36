"""What a run gives is not taken for something else."""

from __future__ import annotations

from attrs import frozen

from detent.adapters.agent.agent import Agent
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.adapters.state.typed_state import TypedState


@frozen
class Invoice:
    """What is asked for."""

    cents: int


class Shop(TypedState):
    """The state of another agent."""


model = ScriptedChatGenerator()
agent = Agent(chat_generator=model, output_type=Invoice)

agent.run("hello").output.dollars  # E
wrong: str = agent.run("hello").output  # E
Agent(chat_generator=model).run("hello").output.cents  # E
agent.run("and then?", after="hello")  # E
Agent(chat_generator=model, state_schema=Shop).run("and then?", after=agent.run("hello"))  # E
Agent(chat_generator=model, output_type=Invoice(3))  # E
Agent(chat_generator=model, out_type=Invoice)  # E
