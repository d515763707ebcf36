"""Mistakes with tools and their wiring."""

from __future__ import annotations

from typing import TypedDict

from attrs import frozen

from detent.adapters.agent.agent import Agent
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.core.state.fields import Appended
from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.decorator import tool
from detent.core.tools.wiring import Reply
from detent.adapters.tools.decorator import inject
from detent.adapters.tools.decorator import stores


@frozen
class Paper:
    title: str


class Found(TypedDict):
    papers: list[Paper]
    count: int


class Research(TypedState):
    reader = Replaced("")
    papers = Appended[Paper]()


class Kitchen(TypedState):
    dishes = Appended[str]()


def papers_in(found: Found) -> list[Paper]:
    return found["papers"]


def count_in(found: Found) -> int:
    return found["count"]


def misnamed(found: Found) -> list[Paper]:
    return found["paper"]  # E


# A tool writes a key that the state has not got.


@stores(Research.paper)  # E
def one(query: str) -> list[Paper]:
    return [Paper(query)]


def two(state: Research) -> Reply:
    return Reply("noted", Research.paper.put([Paper("x")]))  # E


# A tool writes what the key does not hold.


@stores(Research.papers)  # E
def three(query: str) -> list[str]:
    return [query]


@stores(Research.papers)  # E
async def four(query: str) -> Paper:
    return Paper(query)


def five(state: Research) -> Reply:
    return Reply("noted", Research.papers.put(Paper("x")))  # E


def six(state: Research) -> None:
    state.set(Research.papers, ["x"])  # E


# A tool reads a key that the state has not got, or at another type.


def seven(query: str, reader: str = inject(Research.raeder)) -> str:  # E
    return query + reader


def eight(query: str, reader: int = inject(Research.reader)) -> str:  # E
    return query * reader


def nine(state: Research) -> str:
    return state.raeder  # E


# The source is not what the key holds, or is not made of what the tool returns.


@stores(Research.papers, source=count_in)  # E
def ten(query: str) -> Found:
    return {"papers": [Paper(query)], "count": 1}


@stores(Research.papers, source=papers_in)  # E
def eleven(query: str) -> list[Paper]:
    return [Paper(query)]


# A tool wants the state of another agent.


@tool
def cook(state: Kitchen, dish: str) -> str:
    return dish


@tool
def bake(dish: str, state: Kitchen) -> str:
    return dish


@tool(name="fry")
async def fry(dish: str, minutes: int, state: Kitchen, turns: int = 1) -> str:
    return dish


@tool
def look_up(query: str) -> str:
    return query


model = ScriptedChatGenerator()
Agent(chat_generator=model, tools=[look_up, cook], state_schema=Research)  # E
Agent(chat_generator=model, tools=[cook], state_schema={"dishes": {"type": list}})  # E
Agent(chat_generator=model, tools=[look_up, bake], state_schema=Research)  # E
Agent(chat_generator=model, tools=[look_up, fry], state_schema=Research)  # E

# A rule names a tool that does not exist.

Agent(chat_generator=model, tools=[look_up], exit_conditions=[lookup.name])  # E
Agent(chat_generator=model, tools=[look_up], confirmation_strategies={lookup.name: None})  # E

# A tool is called with what its function does not take, or made with what no tool has.

look_up(1)  # E
look_up(qeury="x")  # E
cook(Research(), "soup")  # E
tool(timeout=3)  # E
Agent(chat_generator=model, tools=[look_up, "search"])  # E
