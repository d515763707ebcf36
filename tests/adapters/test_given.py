"""What users hand over by mistake: each is named, with what it should have been."""

from __future__ import annotations

from typing import Any

import pytest

from detent import Agent, MemoryJournal, ScriptedChatGenerator, keep_last_messages


@pytest.mark.parametrize(
    ("option", "wrong", "text"),
    [
        ("exit_conditions", None, r"a list of tool names and 'text', got None"),
        ("exit_conditions", [1], r"a list of tool names"),
        ("journal", "runs.db", r"a journal such as SQLiteJournal\('runs.db'\), got 'runs.db'"),
        ("streaming_callback", "print", r"a function of a StreamingChunk, got 'print'"),
        ("hooks", keep_last_messages(3), r"a list of hooks, as before_model"),
        ("hooks", [print], r"a list of hooks, as before_model"),
        ("limits", 3, r"Limits\(…\), got 3"),
        ("observers", print, r"a list of functions"),
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


def test_what_is_not_given_may_be_none() -> None:
    """As if it had been left out."""
    none: dict[str, Any] = dict.fromkeys(
        ["system_prompt", "limits", "journal", "clock", "generation_kwargs", "streaming_callback"]
    )
    assert Agent(chat_generator=ScriptedChatGenerator("hi"), **none).run("hello").text == "hi"
    assert Agent(chat_generator=ScriptedChatGenerator("hi"), exit_conditions="text").run("x").text
