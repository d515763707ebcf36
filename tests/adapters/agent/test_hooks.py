"""Hooks around a run: in both colours, recorded by their events alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentResult,
    Breakpoint,
    ChatMessage,
    HookError,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    ToolCall,
    after_model,
    after_tool,
    before_model,
    before_tool,
    keep_last_messages,
    on_exit,
    tool,
)
from detent.machine import AskModel, Event, ModelReplied, Run, RunTool, ToolReturned

Runner: TypeAlias = Callable[..., AgentResult[Any]]


def blocking(agent: Agent[Any], *args: Any, **options: Any) -> AgentResult[Any]:
    return agent.run(*args, **options)


def async_(agent: Agent[Any], *args: Any, **options: Any) -> AgentResult[Any]:
    return asyncio.run(agent.run_async(*args, **options))


@pytest.fixture(params=[blocking, async_])
def run(request: pytest.FixtureRequest) -> Runner:
    """Every behaviour below holds for both."""
    runner: Runner = request.param
    return runner


ran: list[int] = []


@tool
def pay(n: int) -> str:
    """Pay."""
    ran.append(n)
    return f"paid {n}"


def calling(*numbers: int) -> ChatMessage:
    calls = [ToolCall("pay", {"n": n}, f"c{n}") for n in numbers]
    return ChatMessage.from_assistant(tool_calls=calls)


def agent_of(*script: Any, **options: Any) -> tuple[Agent[Any], ScriptedChatGenerator]:
    ran.clear()
    chat = ScriptedChatGenerator(*script)
    return Agent(chat_generator=chat, tools=[pay], **options), chat


def told(run: Run[Any]) -> list[str]:
    return [one.text for message in run.messages for one in message.tool_call_results]


@before_tool
def dry_run(call: RunTool, run: Run[Any]) -> ToolReturned | None:
    """Large sums are not paid."""
    large = call.call.arguments["n"] == 500
    return call.returned("would have paid") if large else None


@after_tool
def shout(call: RunTool, event: Any, run: Run[Any]) -> Any:
    return evolve(event, result=evolve(event.result, content=event.result.content.upper()))


@before_model
def remind(ask: AskModel, run: Run[Any]) -> AskModel:
    return evolve(ask, messages=[*ask.messages, ChatMessage.from_user(f"turn {run.turn}")])


@after_model
def polite(ask: AskModel, event: Any, run: Run[Any]) -> Any:
    said = event.reply.message.text
    return event if said is None else ask.replied(f"{said}, please")


@on_exit
def sources(run: Run[Any]) -> str | None:
    return None if "source" in (run.messages[-1].text or "") else "Where are the sources?"


def test_hooks_stand_around_everything(run: Runner) -> None:
    """What they make of it is the run; the model's own messages are kept as it wrote them."""
    hooks = [remind, polite, shout, dry_run, sources]
    script = calling(1, 500), "done", "see the source"
    agent, chat = agent_of(*script, hooks=hooks)

    result = run(agent, "go")

    assert told(result.run) == ["PAID 1", "WOULD HAVE PAID"]
    assert ran == [1]
    texts = [message.text for message in result.messages if message.text]
    assert texts == ["go", "done, please", "Where are the sources?", "see the source, please"]
    assert [call.messages[-1].text for call in chat.calls] == ["turn 1", "turn 2", "turn 3"]


def test_a_replay_needs_no_hooks(run: Runner) -> None:
    """The journal has what they made of the events; what was not begun was never started."""
    journal = MemoryJournal()
    hooks = [remind, polite, shout, dry_run, sources]
    script = calling(1, 500), "done", "see the source"
    result = run(agent_of(*script, hooks=hooks, journal=journal)[0], "go", run_id="r")

    again = Runs(journal, agent_of()[0].spec).replay("r")

    assert again == result.run
    kinds = [entry.kind for entry in journal.read("r")]
    assert kinds.count("ToolStarted") == 1
    assert kinds[-3:] == ["ModelReplied", "AnswerRejected", "ModelReplied"]


def test_hooks_may_answer_everything(run: Runner) -> None:
    """Then nobody else is asked, however many turns it takes."""

    @before_model
    def cached(ask: AskModel, run: Run[Any]) -> ModelReplied:
        return ask.replied(calling(500) if ask.turn < 300 else "done")

    agent, chat = agent_of(hooks=[cached, dry_run], max_agent_steps=400)

    result = run(agent, "go")

    assert (result.text, result.step_count, chat.calls, ran) == ("done", 300, [], [])


@pytest.mark.parametrize("at", [before_model, after_model, before_tool, after_tool, on_exit])
def test_a_hook_that_fails_is_blamed_and_nothing_has_happened(run: Runner, at: Any) -> None:
    """Neither the model nor the tool is said to have failed."""

    def broken(*given: object) -> None:
        raise ZeroDivisionError

    events: list[Event] = []

    def watch(before: object, event: Event, after: object) -> None:
        events.append(event)

    agent, _ = agent_of(calling(1), "done", hooks=[at(broken)], observers=[watch])

    with pytest.raises(HookError, match=r"the hook .*broken raised ZeroDivisionError") as caught:
        run(agent, "go")

    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    names = ["ModelReplied", "ToolStarted", "ToolReturned", "ModelReplied"]
    happened = {before_model: 0, after_model: 0, before_tool: 1, after_tool: 2, on_exit: 3}[at]
    assert [type(event).__name__ for event in events] == names[:happened]


def test_a_breakpoint_comes_before_the_hooks(run: Runner) -> None:
    """What is held has not been seen by anybody."""
    seen: list[object] = []

    def look(ask: AskModel, run: Run[Any]) -> None:
        seen.append(ask)

    agent, _ = agent_of("hi", hooks=[before_model(look)])
    stop = Breakpoint("chat_generator")

    assert run(agent, "go", break_point=stop, raise_at_break_point=False).held
    assert seen == []


def test_a_window_is_sent_and_the_whole_is_kept(run: Runner) -> None:
    """The result has every message."""
    script = [calling(1), calling(2), calling(3), "done"]
    agent, chat = agent_of(*script, hooks=[keep_last_messages(2)])

    result = run(agent, "go")

    assert len(result.messages) == 8
    assert [len(call.messages) for call in chat.calls] == [1, 3, 3, 3]
