"""What users hand over by mistake: each is named, with what it should have been."""

from __future__ import annotations

import asyncio
import queue
from inspect import signature
from typing import Any

import pytest

from detent import Agent, Inbox, Limits, MemoryJournal, ScriptedChatGenerator, keep_last_messages
from detent.adapters.agent.inputs import limits_of
from detent.adapters.agent.options import AgentOptions


@pytest.mark.parametrize(
    ("option", "wrong", "text"),
    [
        ("name", 3, r"a text, got 3"),
        ("tool_invoker_kwargs", 3, r"a dict, got 3"),
        ("exit_conditions", [1], r"a list of tool names"),
        ("journal", "runs.db", r"a journal such as SQLiteJournal\('runs.db'\), got 'runs.db'"),
        ("streaming_callback", "print", r"a function of one StreamingChunk, got 'print'"),
        ("streaming_callback", lambda: None, r"a function of one StreamingChunk, got <function"),
        ("streaming_callback", lambda one, two: None, r"a function of one StreamingChunk"),
        ("hooks", keep_last_messages(3), r"a list of hooks, as before_model"),
        ("hooks", [print], r"a list of hooks, as before_model"),
        ("limits", 3, r"Limits\(…\), got 3"),
        ("observers", print, r"a list of functions"),
        ("observers", [lambda event: None], r"a list of functions of the run before, the event"),
        ("clock", print, r"a clock such as SystemClock\(\)"),
        ("generation_kwargs", 3, r"a dict, got 3"),
        ("max_agent_steps", "3", r"a number, got '3'"),
        ("parallel_tool_calls", True, r"a number, got True"),
        ("system_prompt", 3, r"a text, got 3"),
    ],
)
def test_an_option_that_is_something_else_is_named(option: str, wrong: Any, text: str) -> None:
    """When the agent is built."""
    options: dict[str, Any] = {option: wrong}
    with pytest.raises(TypeError, match=f"^{option} must be {text}"):
        Agent(chat_generator=ScriptedChatGenerator(), **options)


@pytest.mark.parametrize("option", AgentOptions.__annotations__)
def test_none_is_as_good_as_an_option_left_out(option: str) -> None:
    """It is what most of them are without."""
    options: dict[str, Any] = {option: None}
    agent = Agent(chat_generator=ScriptedChatGenerator("hi"), tools=None, **options)

    assert agent.spec == Agent(chat_generator=ScriptedChatGenerator()).spec
    assert agent.run("hello").text == "hi"


def test_options_of_an_invoker_are_options_of_the_agent() -> None:
    """By their names in the seeds' library."""
    heard: list[object] = []
    options = {"max_workers": 3, "raise_on_failure": True, "streaming_callback": heard.append}
    agent = Agent(
        chat_generator=ScriptedChatGenerator("hi"),
        tool_invoker_kwargs={**options, "convert_result_to_json_string": True},
    )

    assert agent.spec.limits.parallel_tool_calls == 3
    assert agent.spec.fail_on_tool_fault
    assert agent.run("hello").text == "hi"
    assert heard


@pytest.mark.parametrize("name", ["convert_result_to_json_string", "enable_streaming", "tools"])
def test_what_an_invoker_cannot_do_here_is_named(name: str) -> None:
    """With what can be done."""
    text = f"^tool_invoker_kwargs has no '{name}'; it has max_workers, .* outputs_to_string="
    with pytest.raises(TypeError, match=text):
        Agent(chat_generator=ScriptedChatGenerator(), tool_invoker_kwargs={name: False})


@pytest.mark.parametrize("wrong", [None, 3, b"hello"])
def test_a_conversation_that_is_none_is_named(wrong: Any) -> None:
    """Before anything is written down."""
    journal = MemoryJournal()
    agent = Agent(chat_generator=ScriptedChatGenerator(), journal=journal)
    with pytest.raises(TypeError, match=r"^messages must be a text, a ChatMessage or a list"):
        agent.run(wrong)
    assert list(journal.runs()) == []


def test_a_callback_that_cannot_be_called_is_named() -> None:
    """When the run is begun, and not when the model has answered."""
    wrong: Any = "print"
    with pytest.raises(TypeError, match=r"^streaming_callback must be a function"):
        Agent(chat_generator=ScriptedChatGenerator()).run("hello", wrong)


def test_a_callback_without_a_signature_is_taken_at_its_word() -> None:
    """Much that is written in C has none."""
    callback: Any = type
    with pytest.raises(ValueError, match="no signature"):
        signature(callback)
    assert Agent(chat_generator=ScriptedChatGenerator("hi")).run("hello", callback).text == "hi"


@pytest.mark.parametrize("wrong", [[], 5, asyncio.Queue()], ids=["list", "number", "async"])
def test_what_no_event_can_come_from_is_no_inbox(wrong: Any) -> None:
    """It is said before anything is written down."""
    journal = MemoryJournal()
    agent = Agent(chat_generator=ScriptedChatGenerator("hi"), journal=journal)
    with pytest.raises(TypeError, match=r"^inbox must be an Inbox\(\), got"):
        agent.run("hello", inbox=wrong)
    assert list(journal.runs()) == []
    any_queue: Any = queue.Queue()
    agent.run("hello", inbox=any_queue, run_id="one")
    with pytest.raises(TypeError, match=r"^inbox must be an Inbox\(\), got"):
        agent.resume("one", inbox=wrong)


def test_a_queue_that_blocks_is_no_inbox_in_an_event_loop() -> None:
    """The loop would stand still."""
    agent = Agent(chat_generator=ScriptedChatGenerator("hi"), journal=MemoryJournal())
    wrong: Any = Inbox()
    with pytest.raises(TypeError, match=r"^inbox must be an AsyncInbox\(\), got"):
        asyncio.run(agent.run_async("hello", inbox=wrong, run_id="one"))
    asyncio.run(agent.run_async("hello", run_id="one"))
    with pytest.raises(TypeError, match=r"^inbox must be an AsyncInbox\(\), got"):
        asyncio.run(agent.resume_async("one", inbox=wrong))


def test_what_is_not_given_may_be_none() -> None:
    """As if it had been left out."""
    none: dict[str, Any] = dict.fromkeys(
        ["system_prompt", "limits", "journal", "clock", "generation_kwargs", "streaming_callback"]
    )
    assert Agent(chat_generator=ScriptedChatGenerator("hi"), **none).run("hello").text == "hi"
    assert Agent(chat_generator=ScriptedChatGenerator("hi"), exit_conditions="text").run("x").text


def test_two_limits_have_short_names() -> None:
    """What is said by them counts, what is not said stays."""
    own = Limits(5, 2, max_tokens=7)
    assert limits_of(own, None, None) == own
    assert limits_of(own, 9, 3) == Limits(9, 3, max_tokens=7)
    assert limits_of(None, None, None) == Limits(100, 32)
