"""A tool is called as its function was, and fits the agent whose state it works on."""

from __future__ import annotations

from functools import partial
from typing import TypedDict, assert_type

from attrs import frozen

from detent.adapters.agent.agent import Agent
from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.adapters.tools.component_tool import ComponentTool, component
from detent.adapters.tools.decorator import create_tool_from_function, inject, stores, tool
from detent.adapters.tools.toolsets import Toolset
from detent.core.state.fields import Appended
from detent.core.state.state import State
from detent.core.tools.tool import Tool
from detent.core.tools.wiring import Reply


@frozen
class Paper:
    """What is found."""

    title: str


class Found(TypedDict):
    """What a search gives."""

    papers: list[Paper]
    count: int


class Research(TypedState):
    """The state of an agent."""

    reader = Replaced("")
    papers = Appended[Paper]()
    count = Replaced(0)


class MoreResearch(Research):
    """A state that has all of the other."""

    notes = Appended[str]()


def papers_in(found: Found) -> list[Paper]:
    return found["papers"]


@tool
def add(a: int, b: int = 2) -> int:
    return a + b


@tool(name="fetch", timeout_s=2, retries=3)
async def fetch(url: str) -> bytes:
    return url.encode()


@tool
@stores(Research.papers)
def search(query: str, reader: str = inject(Research.reader)) -> list[Paper]:
    return [Paper(query + reader)]


@tool
@stores(Research.papers, source=papers_in)
@stores(Research.count, source="count")
async def find(query: str) -> Found:
    return {"papers": [Paper(query)], "count": 1}


@tool
def note(state: Research, text: str) -> Reply:
    state = state.set(Research.count, len(state.papers))
    return Reply("noted", Research.papers.put([Paper(text)]))


@tool
def note_last(text: str, state: Research) -> Reply:
    return Reply(text, Research.papers.put([Paper(text)]))


@tool(timeout_s=1)
async def note_later(text: str, times: int, state: Research) -> str:
    return text * times


@tool
def loose(text: str, state: State | None = None) -> str:
    return text


@component
class Greeter:
    """Greets."""

    @component.output_types(greeting=str)
    def run(self, name: str) -> dict[str, str]:
        """Greet somebody."""
        return {"greeting": name}


def multiply(a: int, b: int) -> int:
    return a * b


async def by_hand() -> None:
    """Async tools are awaited as their functions were."""
    assert_type(await fetch("x"), bytes)
    assert_type((await find(query="x"))["count"], int)  # no error, but for pyrefly


assert_type(list(map(add, [1], [2])), list[int])
assert_type(add(1), int)
assert_type(add(a=1, b=3), int)  # no error, but for pyrefly
assert_type(note(Research(), text="x"), Reply)
assert_type(note_last("x", state=Research()), Reply)
assert_type(search("x", reader="me")[0], Paper)

double = create_tool_from_function(partial(multiply, 2), name="double")
assert_type(double(2), int)
greet: Tool = ComponentTool(Greeter(), inputs_from_state={"reader": "name"})
bundle = Toolset([add, fetch, Toolset([greet])])
plain = Tool("plain", "", {"type": "object"}, multiply, None, {"reader": "a"})

model = ScriptedChatGenerator()
agent = Agent(
    chat_generator=model,
    tools=[search, find, note, note_last, note_later, loose, plain, bundle, double],
    state_schema=Research,
    exit_conditions=["text", note.name],
)
assert_type(agent, Agent[Research])
assert_type(agent.run("go").state.papers[0], Paper)
Agent(chat_generator=model, tools=[note, search], state_schema=MoreResearch)
Agent(chat_generator=model, tools=bundle)
several = [add, fetch, search]
Agent(chat_generator=model, tools=several, state_schema=Research)  # no error, but for pyrefly
mixed: list[Tool | Toolset] = [note, bundle]
Agent(chat_generator=model, tools=mixed, state_schema=Research)
loosely = Agent(chat_generator=model, tools=[loose], state_schema={})  # no error, but for pyrefly
assert_type(loosely, Agent[State])
