"""What a run gives has the type that the agent was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict, assert_type

from attrs import frozen

from detent.adapters.agent.agent import Agent
from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.testing.doubles.assertions import assert_called, assert_ended
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.adapters.testing.doubles.transcripts import transcript
from detent.adapters.tools.output_type import OutputType
from detent.core.state.state import State
from detent.ports.results import AgentResult


@frozen
class Invoice:
    """An attrs class."""

    cents: int


@dataclass
class Place:
    """A dataclass."""

    name: str


class Town(TypedDict):
    """A typed dict."""

    name: str


class Shop(TypedState):
    """The state of an agent."""

    open = Replaced(default=True)


model = ScriptedChatGenerator()

plain = Agent(chat_generator=model, system_prompt="Be brief.")
assert_type(plain, Agent[State])
assert_type(plain.run("hello").output, None)
assert_type(plain.run("and then?", after=plain.run("hello")), AgentResult[State])

invoices = Agent(chat_generator=model, output_type=Invoice)
assert_type(invoices.run("hello"), AgentResult[State, Invoice])
assert_type(invoices.run("hello").output.cents, int)
assert_type(Agent(chat_generator=model, output_type=Place).run("hello").output, Place)
assert_type(Agent(chat_generator=model, output_type=Town).run("hello").output["name"], str)
assert_type(Agent(chat_generator=model, output_type=list[int]).run("hello").output, list[int])

often = OutputType(Invoice, tries=9)
shop = Agent(chat_generator=model, state_schema=Shop, output_type=often)
assert_type(shop, Agent[Shop, Invoice])
assert_type(shop.run("hello").state.open, bool)
assert_type(Agent(chat_generator=model, state_schema=Shop), Agent[Shop])


async def later() -> Invoice:
    return (await shop.run_async("hello")).output


def text_of(agent: Agent[State]) -> str | None:
    return agent.run("hello").text


text_of(plain)

# types that are no classes, as the docs name them
choice = Agent(chat_generator=model, output_type=Literal["yes", "no"])
perhaps = Agent(chat_generator=model, output_type=Invoice | None)
in_shop = Agent(chat_generator=model, state_schema=Shop, output_type=Invoice | None)

# what a test asserts of a run, whatever its output is
assert_called(invoices.run("hello"), "pay", cents=5)
assert_ended(in_shop.run("hello"), "text")
said: str = transcript(choice.run("hello"))
