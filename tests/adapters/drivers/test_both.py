"""Both drivers, same scripts: they give equal runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeAlias

import pytest
from attrs import field, frozen

from detent import (
    AgentSpec,
    Ask,
    CancelRequested,
    ChatGeneratorError,
    ChatMessage,
    ConfirmationUIResult,
    Event,
    FrozenDict,
    FunctionToolExecutor,
    Limits,
    ModelFailure,
    Purse,
    Run,
    ScriptedChatGenerator,
    Session,
    State,
    Tool,
    ToolCall,
    drive,
    drive_async,
    start,
)
from detent.adapters.testing.scripted import Line
from detent.core.tools import by_name

Tell: TypeAlias = Callable[[Event], object]

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PATIENCE = 10
"""Seconds after which something that should have happened has not."""


class Outside:
    """Somebody who can send events to the run, from any thread, while it is driven."""

    tell: Tell


@frozen
class Script:
    """What the world does: the model's lines, the tools' deeds, the humans' words."""

    lines: tuple[Line, ...]
    tools: tuple[Tool, ...] = ()
    answers: dict[str, ConfirmationUIResult] = field(factory=dict)
    guarded: frozenset[str] = frozenset()
    limits: Limits = field(factory=Limits)
    outside: Outside | None = None


@frozen
class Human:
    """A UI that knows what it wants."""

    answer: ConfirmationUIResult

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Say it."""
        return self.answer


def begin(script: Script) -> tuple[Session[State], Purse]:
    """A fresh session on the script, and what it is paid from."""
    spec = AgentSpec(
        State({"notes": {"type": list[int]}}),
        by_name(script.tools),
        policies=FrozenDict({name: lambda call, tool, run: Ask() for name in script.guarded}),
        limits=script.limits,
    )
    run = start(spec, [ChatMessage.from_user("hello")], run_id="r")
    uis = {name: Human(answer) for name, answer in script.answers.items()}
    chat = ScriptedChatGenerator(*script.lines)
    return Session(spec, run), Purse(chat, FunctionToolExecutor(), uis)


def by_threads(script: Script) -> Run[State]:
    session, purse = begin(script)
    if script.outside is None:
        return drive(session, purse.pay)
    inbox: SimpleQueue[Any] = SimpleQueue()
    script.outside.tell = inbox.put
    return drive(session, purse.pay, inbox=inbox)


def by_asyncio(script: Script) -> Run[State]:
    async def main() -> Run[State]:
        session, purse = begin(script)
        if script.outside is None:
            return await drive_async(session, purse.pay_async)
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        script.outside.tell = lambda event: loop.call_soon_threadsafe(inbox.put_nowait, event)
        return await drive_async(session, purse.pay_async, inbox=inbox)

    return asyncio.run(main())


def calling(*calls: tuple[str, int], text: str | None = None) -> ChatMessage:
    """The model calls tools with numbers."""
    return ChatMessage.from_assistant(
        text, tool_calls=[ToolCall(name, {"n": n}, f"{name}{n}") for name, n in calls]
    )


def noting(function: Callable[[int], object]) -> Tool:
    return Tool("note", "notes a number", NUMBER, function, outputs_to_state={"notes": {}})


def failing(n: int) -> int:
    raise ValueError(f"no {n}")


async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n


def together(parties: int) -> Callable[[int], int]:
    """A tool's function that returns only when as many of its calls are under way at once."""
    barrier = threading.Barrier(parties)

    def note(n: int) -> int:
        barrier.wait(PATIENCE)
        return n

    return note


def backwards() -> Callable[[int], int]:
    """A tool's function whose call with 1 returns after the one with 2, and so on to 3."""
    done = {n: threading.Event() for n in (1, 2, 3)}

    def note(n: int) -> int:
        assert n == 3 or done[n + 1].wait(PATIENCE)
        done[n].set()
        return n

    return note


def cancelled_by_the_model() -> Script:
    """The run is cancelled before the reply comes."""
    outside = Outside()

    def line(messages: object) -> str:
        outside.tell(CancelRequested("enough"))
        return "too late"

    return Script((line,), outside=outside)


def cancelled_by_a_tool() -> Script:
    """The run is cancelled while one call is under way and another waits for a human."""
    outside = Outside()

    def note(n: int) -> int:
        outside.tell(CancelRequested("enough"))
        return n

    line = calling(("note", 1), ("pay", 2))
    return Script((line,), (noting(note), PAY), guarded=GUARDED, outside=outside)


PAY = Tool("pay", "pays", NUMBER, lambda n: f"paid {n}")
FAIL = Tool("fail", "fails", NUMBER, failing)
GUARDED = frozenset({"pay"})
THREE = calling(("note", 1), ("note", 2), ("note", 3), text="let me see")
CONFIRM, REJECT, MODIFY, RESPOND, SHRUG = (
    ConfirmationUIResult("confirm"),
    ConfirmationUIResult("reject", "too much"),
    ConfirmationUIResult("modify", "less", {"n": 1}),
    ConfirmationUIResult("respond", "paid by hand"),
    ConfirmationUIResult("shrug"),
)


def asked(answer: ConfirmationUIResult) -> Script:
    """A guarded call beside one that runs at once."""
    lines = (calling(("pay", 5), ("note", 1)), "done")
    return Script(lines, (noting(later), PAY), {"pay": answer}, GUARDED)


SCRIPTS: dict[str, tuple[Callable[[], Script], str | None, list[str], list[int] | None]] = {
    "a text": (lambda: Script(("hi",)), "text", [], None),
    "parallel tools": (
        lambda: Script((THREE, "done"), (noting(together(3)),)),
        "text",
        ["1", "2", "3"],
        [1, 2, 3],
    ),
    "tools that end in another order": (
        lambda: Script((THREE, "done"), (noting(backwards()),)),
        "text",
        ["1", "2", "3"],
        [1, 2, 3],
    ),
    "tools one at a time": (
        lambda: Script((THREE, "done"), (noting(later),), limits=Limits(parallel_tool_calls=1)),
        "text",
        ["1", "2", "3"],
        [1, 2, 3],
    ),
    "coroutine tools": (
        lambda: Script((THREE, THREE, "done"), (noting(later),)),
        "text",
        ["1", "2", "3"] * 2,
        [1, 2, 3] * 2,
    ),
    "a failing tool": (
        lambda: Script((calling(("fail", 1), ("note", 2)), "done"), (noting(later), FAIL)),
        "text",
        [
            "Failed to invoke Tool `fail` with parameters {'n': 1}. Error: ValueError: no 1",
            "2",
        ],
        [2],
    ),
    "an unknown tool": (
        lambda: Script((calling(("nope", 1), ("note", 2)), "done"), (noting(later),)),
        "text",
        ["Tool 'nope' not found. Available tools: note", "2"],
        [2],
    ),
    "the last step": (
        lambda: Script((THREE,), (noting(later),), limits=Limits(1)),
        "max_agent_steps",
        ["1", "2", "3"],
        [1, 2, 3],
    ),
    "a failing model": (
        lambda: Script(
            (THREE, ChatGeneratorError(ModelFailure("timeout", "slow"))), (noting(later),)
        ),
        "model_failure",
        ["1", "2", "3"],
        [1, 2, 3],
    ),
    "a confirmed call": (lambda: asked(CONFIRM), "text", ["paid 5", "1"], [1]),
    "a rejected call": (
        lambda: asked(REJECT),
        "text",
        ["Tool execution for 'pay' was rejected by the user. With user feedback: too much", "1"],
        [1],
    ),
    "a modified call": (
        lambda: asked(MODIFY),
        "text",
        [
            (
                "The parameters for tool 'pay' were updated by the user to:\n"
                '{"n": 1} With user feedback: less\npaid 1'
            ),
            "1",
        ],
        [1],
    ),
    "a call answered by a human": (lambda: asked(RESPOND), "text", ["paid by hand", "1"], [1]),
    "a call that nobody decides about": (lambda: asked(SHRUG), None, [], None),
    "a cancellation while the model thinks": (cancelled_by_the_model, "cancelled", [], None),
    "a cancellation while a tool runs": (
        cancelled_by_a_tool,
        "cancelled",
        [
            "Tool 'note' was running when the run was cancelled. Its outcome is unknown.",
            "Tool 'pay' was not run: the run was cancelled.",
        ],
        None,
    ),
}


@pytest.mark.parametrize(("make", "reason", "told", "notes"), SCRIPTS.values(), ids=SCRIPTS)
def test_both_drivers_give_the_same_run(
    make: Callable[[], Script], reason: str | None, told: list[str], notes: list[int] | None
) -> None:
    """Equal in everything that a run knows, and as expected."""
    run, twin = by_threads(make()), by_asyncio(make())

    results = [result for message in run.messages for result in message.tool_call_results]
    assert run == twin
    assert (run.outcome.exit_reason if run.outcome else None) == reason
    assert [result.text for result in results] == told
    assert run.state.get("notes") == notes
