"""Runs that go on where another has ended: its messages and state, and nothing else of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest

from detent import (
    Agent,
    AgentResult,
    Appended,
    Breakpoint,
    ChatMessage,
    ChatRole,
    MemoryJournal,
    Replaced,
    ScriptedChatGenerator,
    State,
    StateError,
    ToolCall,
    TypedState,
    tool,
)
from detent.core.result import BreakpointException

Runner: TypeAlias = Callable[..., AgentResult[Any]]


def blocking(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    return agent.run(*said, **options)


def async_(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    return asyncio.run(agent.run_async(*said, **options))


def streamed(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    *_, last = agent.stream(*said, **options)
    assert isinstance(last, AgentResult)
    return last


def streamed_async(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    async def read() -> AgentResult[Any]:
        *_, last = [one async for one in agent.stream_async(*said, **options)]
        assert isinstance(last, AgentResult)
        return last

    return asyncio.run(read())


def by_hand(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    return agent.begin(*said, **options).go(None, raises=True)


@pytest.fixture(params=[blocking, async_, streamed, streamed_async, by_hand])
def run(request: pytest.FixtureRequest) -> Runner:
    """Every way to begin a run goes on alike."""
    runner: Runner = request.param
    return runner


class Notes(TypedState):
    """What is noted in a conversation."""

    notes = Appended[str]()
    user = Replaced("nobody")


@tool(outputs_to_state={"notes": {}})
def note(text: str) -> str:
    """Note something."""
    return text


def noting(text: str) -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[ToolCall("note", {"text": text}, text)])


def agent_of(*script: Any, **options: Any) -> Agent[Notes]:
    """An agent with a prompt, on a script."""
    options = {"system_prompt": "Be brief.", **options}
    chat = ScriptedChatGenerator(*script)
    return Agent(chat_generator=chat, tools=[note], state_schema=Notes, **options)


def texts(messages: Sequence[ChatMessage]) -> list[tuple[str, str | None]]:
    return [(one.role.value, one.text) for one in messages if one.role is not ChatRole.TOOL]


def test_a_run_goes_on_with_the_messages_and_the_state_of_another(run: Runner) -> None:
    """It is a run of its own: what it spends and what it may spend is counted anew."""
    agent = agent_of(noting("a"), "one", noting("b"), "two", max_agent_steps=2)
    first = run(agent, "first?", user="Ann")

    second = run(agent, "and second?", after=first)

    assert texts(second.messages) == [
        ("system", "Be brief."),
        ("user", "first?"),
        ("assistant", None),
        ("assistant", "one"),
        ("user", "and second?"),
        ("assistant", None),
        ("assistant", "two"),
    ]
    assert list(second.messages[: len(first.messages)]) == list(first.messages)
    assert second["notes"] == ["a", "b"]
    assert second["user"] == "Ann"
    assert second.run_id != first.run_id
    assert (first.step_count, second.step_count) == (2, 2)
    assert second.tool_call_counts == {"note": 1}
    assert second.exit_reason == "text"
    assert len(first.messages) == 5
    assert first["notes"] == ["a"]


@pytest.mark.parametrize("is_new", [False, True], ids=["same", "another"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"system_prompt": "Be long."},
        {"messages": [ChatMessage.from_system("Be brief."), ChatMessage.from_user("more")]},
    ],
    ids=["as it was", "another prompt", "handed in"],
)
def test_the_prompt_is_said_once(options: dict[str, Any], *, is_new: bool, run: Runner) -> None:
    """The first message is that of the run that begins, also by an agent that is made anew."""
    agent = agent_of("one", "two")
    first = run(agent, "first?")
    other = agent_of("two") if is_new else agent

    second = run(other, **{"messages": "more", **options}, after=first)

    assert texts(second.messages) == [
        ("system", options.get("system_prompt", "Be brief.")),
        ("user", "first?"),
        ("assistant", "one"),
        ("user", "more"),
        ("assistant", "two"),
    ]


def test_an_agent_without_a_prompt_leaves_the_messages_as_they_are(run: Runner) -> None:
    """What users said as the system is theirs."""
    agent = agent_of("one", "two", system_prompt=None)
    own = [ChatMessage.from_system("Be kind."), ChatMessage.from_user("first?")]

    second = run(agent, "more", after=run(agent, own))

    assert [text for _, text in texts(second.messages)] == [
        *("Be kind.", "first?", "one", "more", "two")
    ]


def test_a_prompt_comes_first_where_none_was(run: Runner) -> None:
    """The run before had none."""
    first = run(agent_of("one", system_prompt=None), "first?")

    second = run(agent_of("two"), "more", after=first)

    assert [role for role, _ in texts(second.messages)] == [
        *("system", "user", "assistant", "user", "assistant")
    ]


def test_values_of_the_new_run_take_the_place_of_those_that_were_left(run: Runner) -> None:
    """As they take the place of defaults."""
    agent = agent_of("one", "two")
    first = run(agent, "first?", user="Ann", notes=["a"])

    second = run(agent, "more", after=first, notes=["b"])

    assert (second["user"], second["notes"]) == ("Ann", ["b"])


def test_the_journal_of_the_new_run_has_all_that_it_needs(run: Runner) -> None:
    """The one before may be deleted; limits are counted anew after a crash as well."""
    journal = MemoryJournal()
    agent = agent_of(noting("a"), "one", noting("b"), "two", journal=journal)
    first = run(agent, "first?")
    second = run(agent, "more", after=first, run_id="second")
    journal.delete(first.run_id)

    again = agent_of(journal=journal).resume("second")

    assert list(again.messages) == list(second.messages)
    assert again.state == second.state


def test_a_run_that_has_spent_its_steps_can_be_gone_on_with(run: Runner) -> None:
    """Every call in its conversation has an answer."""
    agent = agent_of(noting("a"), "two", max_agent_steps=1)
    spent = run(agent, "first?")
    assert spent.exit_reason == "max_agent_steps"
    assert run(agent, "more", after=spent).text == "two"


def test_a_run_that_has_not_ended_is_refused(run: Runner) -> None:
    """It is itself to be gone on with."""
    agent = agent_of("one", "two")
    with pytest.raises(BreakpointException) as stopped:
        agent.run("first?", run_id="r", break_point=Breakpoint("chat_generator", 0))

    with pytest.raises(ValueError, match=r"run 'r' has not ended: go on with itself"):
        run(agent, "more", after=stopped.value.result)


def test_a_state_that_does_not_fit_is_refused(run: Runner) -> None:
    """By the schema of the agent that goes on."""
    chat = ScriptedChatGenerator("one")
    other: Agent[State] = Agent(chat_generator=chat, state_schema={"pages": {"type": int}})
    left = other.run("first?", pages=3)

    with pytest.raises(StateError, match="'pages'"):
        run(agent_of("two"), "more", after=left)


def test_what_is_no_result_is_refused(run: Runner) -> None:
    """A snapshot goes on by itself, and an id stands in a journal."""
    agent = agent_of("one", "two")
    first = agent.run("first?")

    with pytest.raises(TypeError, match="after must be the result of an earlier run, got 'r'"):
        run(agent, "more", after="r")
    with pytest.raises(ValueError, match="leave out after"):
        run(agent, after=first, snapshot="{}")
