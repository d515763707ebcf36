"""What agents do, as a table: what the world does, and what must come of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from detent import (
    AlwaysAskPolicy,
    Answered,
    BlockingConfirmationStrategy,
    Breakpoint,
    BreakpointException,
    ChatGeneratorError,
    ChatMessage,
    Confirmed,
    HookError,
    Limits,
    Modified,
    NeverAskPolicy,
    Price,
    Prices,
    Rejected,
    Retries,
    State,
    StateError,
    StreamingCallbackError,
    ToolBreakpoint,
    ToolCall,
    ToolInvocationError,
    before_model,
    before_tool,
    keep_last_messages,
    on_exit,
    tool,
)
from detent.machine import CancelRequested, Event, ManualClock
from detent.models import ChatReply, ModelFailure, Usage
from detent.testing import JumpingClock, Pieces, ScriptedHuman

PATIENCE = 10
"""Seconds after which something that should have happened has not."""

Tell: TypeAlias = Callable[[Event], object]


class Outside:
    """Somebody who can send events to the run, from any thread, while it is driven."""

    tell: Tell


@frozen
class Behaviour:
    """What an agent is given, and what must come of it.

    Attributes:
        script: the model's lines.
        reason: why the run ends; None while it waits.
        told: what the tools' messages say.
        text: what the model says last.
        error: what is raised in place of a result.
        state: what is in the state at the end.
        agent: options of the agent.
        run: options of the run.
    """

    script: tuple[Any, ...] = ("done",)
    reason: str | None = "text"
    told: tuple[str, ...] = ()
    text: str | None = "done"
    error: type[BaseException] | None = None
    state: Mapping[str, object] = field(factory=dict)
    agent: Mapping[str, Any] = field(factory=dict)
    run: Mapping[str, Any] = field(factory=dict)
    outside: Outside | None = None


# --- tools ------------------------------------------------------------------------------


@tool(outputs_to_state={"notes": {}})
def note(n: int) -> int:
    """Note a number."""
    return n


@tool(name="note", outputs_to_state={"notes": {}})
async def note_later(n: int) -> int:
    """Note a number, after others have had their turn."""
    await asyncio.sleep(0)
    return n


@tool
def pay(n: int) -> str:
    """Pay."""
    return f"paid {n}"


@tool
def fail(n: int) -> str:
    """Fail."""
    raise ValueError(f"no {n}")


@tool
def leave(n: int) -> str:
    """Try to end the process."""
    raise SystemExit(n)


@tool(inputs_from_state={"user": "who"})
def greet(n: int, who: str) -> dict[str, object]:
    """Greet whom the state knows."""
    return {"hello": who, "n": n}


@tool
def count(n: int, state: State) -> str:
    """Count in the state itself."""
    state.set("total", state.get("total", 0) + n)
    return "counted"


@tool(outputs_to_state={"total": {}})
def misfit(n: int) -> Any:
    """Give what the state does not take."""
    return "many"


def together() -> Any:
    """A tool that returns only when three of its calls are under way at once."""
    barrier = threading.Barrier(3)

    @tool(name="note", outputs_to_state={"notes": {}})
    def meet(n: int) -> int:
        """Meet the others."""
        barrier.wait(PATIENCE)
        return n

    return meet


def backwards() -> Any:
    """A tool whose call with 1 returns after the one with 2, and so on to 3."""
    done = {n: threading.Event() for n in (1, 2, 3)}

    @tool(name="note", outputs_to_state={"notes": {}})
    def turn_round(n: int) -> int:
        """Let the others go first."""
        assert n == 3 or done[n + 1].wait(PATIENCE)
        done[n].set()
        return n

    return turn_round


def flaky(times: int, **options: Any) -> Any:
    """A tool that fails that many times."""
    left = list(range(times))

    @tool(name="pay", **options)
    def stumble(n: int) -> str:
        """Stumble at first."""
        if left:
            left.pop()
            raise ConnectionError("nobody there")
        return f"paid {n}"

    return stumble


def hanging(clock: ManualClock, seconds: float, **options: Any) -> Any:
    """A coroutine tool that takes that long, and never ends."""

    @tool(name="pay", **options)
    async def hang(n: int) -> str:
        """Hang."""
        clock.advance(seconds)
        await asyncio.Event().wait()
        return "never"

    return hang


# --- what the model says ----------------------------------------------------------------


def calling(*calls: tuple[str, int], text: str | None = None) -> ChatMessage:
    """The model calls tools with numbers."""
    made = [ToolCall(name, {"n": n}, f"{name}{n}") for name, n in calls]
    return ChatMessage.from_assistant(text, tool_calls=made)


def spending(*lines: ChatMessage) -> tuple[ChatReply, ...]:
    """Replies that cost a hundred tokens each."""
    return tuple(ChatReply(line, usage=Usage(90, 10), model="m-1") for line in lines)


def failing(cause: Any = "server", **more: Any) -> ChatGeneratorError:
    return ChatGeneratorError(ModelFailure(cause, "no", **more))


BUSY = failing("rate_limit", retryable=True)
CUT = failing("cut_stream", retryable=True)
THREE = calling(("note", 1), ("note", 2), ("note", 3), text="let me see")
SO_FAR = ChatMessage.from_assistant("so far")
NO_1 = "Failed to invoke Tool `fail` with parameters {'n': 1}. Error: ValueError: no 1"
EXIT = {"exit_conditions": ["pay", "fail", "note"]}


def early(reason: Any) -> ChatReply:
    return ChatReply(ChatMessage.from_assistant("hal"), finish_reason=reason)


def guarded(*answers: Any, policy: Any = None, names: tuple[str, ...] = ("pay",)) -> dict[str, Any]:
    """Options of an agent whose human is asked before tools run, and answers so."""
    human = ScriptedHuman(*answers)
    rule = BlockingConfirmationStrategy(policy or AlwaysAskPolicy(), human)
    return {"confirmation_strategies": dict.fromkeys(names, rule)}


def asked(answer: Any) -> Behaviour:
    """A guarded call beside one that runs at once."""
    return Behaviour((calling(("pay", 5), ("note", 1)), "done"), agent=guarded(answer))


def cancelled(*, by: str) -> Behaviour:
    """A run that is cancelled from outside."""
    outside = Outside()

    def say(messages: object) -> str:
        outside.tell(CancelRequested("enough"))
        return "too late"

    @tool(name="note")
    def cancel(n: int) -> int:
        """Cancel the run from within."""
        outside.tell(CancelRequested("enough"))
        return n

    if by == "model":
        return Behaviour((say,), "cancelled", text=None, outside=outside)
    nobody = guarded(None)
    tools = {"tools": [cancel, pay]}
    calls = calling(("note", 1), ("pay", 2))
    return Behaviour((calls,), "cancelled", text=None, agent=tools | nobody, outside=outside)


def timed(kind: str) -> Behaviour:
    """A tool that hangs, and whose time, or that of the run, is up."""
    clock = ManualClock()
    if kind == "run":
        limits = {"limits": Limits(max_seconds=60), "tools": [note, hanging(clock, 60)]}
        script = calling(("note", 1)), calling(("pay", 1))
        return Behaviour(script, "max_seconds", text=None, agent=limits | {"clock": clock})
    tools = {"tools": [note, hanging(clock, 5, timeout_s=5)], "clock": clock}
    return Behaviour((calling(("pay", 1), ("note", 1)), "done"), agent=tools)


def raising(*given: object) -> None:
    raise ZeroDivisionError


def refusing(times: int) -> Any:
    """A hook that sends so many answers back."""
    left = ["once more"] * times
    return on_exit(lambda run: left.pop() if left else None)


# --- the table --------------------------------------------------------------------------

ENDS: dict[str, Callable[[], Behaviour]] = {
    "a text": lambda: Behaviour(("hi",), text="hi"),
    "an empty text": lambda: Behaviour(("",), text=""),
    "a text that is cut": lambda: Behaviour((early("length"),), "length", text="hal"),
    "a text that is filtered": lambda: Behaviour(
        (early("content_filter"),), "content_filter", text="hal"
    ),
    "a refusal": lambda: Behaviour((early("refusal"),), "refusal", text="hal"),
    "an exit tool": lambda: Behaviour((calling(("pay", 1)),), "pay", ("paid 1",), None, agent=EXIT),
    "an exit tool beside another": lambda: Behaviour(
        (calling(("note", 1), ("pay", 1)),),
        "pay",
        ("1", "paid 1"),
        None,
        agent={"exit_conditions": ["pay"]},
    ),
    "several exit tools": lambda: Behaviour(
        (calling(("note", 1), ("pay", 1)),), "note", ("1", "paid 1"), None, agent=EXIT
    ),
    "an exit tool that fails": lambda: Behaviour(
        (calling(("fail", 1)), "done"), told=(NO_1,), agent=EXIT
    ),
    "an exit tool that fails beside one that does not": lambda: Behaviour(
        (calling(("fail", 1), ("pay", 1)),), "pay", (NO_1, "paid 1"), None, agent=EXIT
    ),
    "an exit tool that a human refuses": lambda: Behaviour(
        (calling(("pay", 1)), "done"),
        told=("Tool execution for 'pay' was rejected by the user.",),
        agent=EXIT | guarded(Rejected()),
    ),
    "an exit tool with wrong arguments": lambda: Behaviour(
        (ToolCall("pay", {"n": "all"}), "done"),
        told=("Tool 'pay' was not run: 'n' must be an integer, got \"all\"",),
        agent=EXIT,
    ),
    "the last step": lambda: Behaviour(
        (calling(("note", 1)),), "max_agent_steps", ("1",), None, agent={"max_agent_steps": 1}
    ),
    "the last step and a last answer": lambda: Behaviour(
        (calling(("note", 1)), "so far"),
        "max_agent_steps",
        ("1",),
        "so far",
        agent={"limits": Limits(1, final_answer=True)},
    ),
    "a last answer that is none": lambda: Behaviour(
        (calling(("note", 1)), calling(("note", 2))),
        "max_agent_steps",
        ("1", "Tool 'note' not found. Available tools: none"),
        None,
        agent={"limits": Limits(1, final_answer=True)},
    ),
    "no steps at all": lambda: Behaviour(
        (), "max_agent_steps", text=None, agent={"max_agent_steps": 0}
    ),
    "the tokens are spent": lambda: Behaviour(
        spending(calling(("note", 1)), calling(("note", 2))),
        "max_tokens",
        ("1", "2"),
        None,
        agent={"limits": Limits(max_tokens=200)},
    ),
    "the tokens are spent by an answer": lambda: Behaviour(
        spending(calling(("note", 1)), SO_FAR),
        told=("1",),
        text="so far",
        agent={"limits": Limits(max_tokens=200)},
    ),
    "the tokens are spent and a last answer": lambda: Behaviour(
        spending(calling(("note", 1)), SO_FAR),
        "max_tokens",
        ("1",),
        "so far",
        agent={"limits": Limits(max_tokens=100, final_answer=True)},
    ),
    "the money is spent": lambda: Behaviour(
        spending(calling(("note", 1))),
        "max_cost",
        ("1",),
        None,
        agent={"limits": Limits(max_cost=0.0002, price=Prices({"m": Price(input=1, output=11)}))},
    ),
    "the time is up": lambda: evolve(
        timed("run"),
        told=("1", "Tool 'pay' was running when the run's time was up. Its outcome is unknown."),
    ),
    "a model that fails": lambda: Behaviour(
        (THREE, failing("authentication")), error=ChatGeneratorError
    ),
    "a model with a bug": lambda: Behaviour((ZeroDivisionError(),), error=ChatGeneratorError),
    "a model that is busy for a while": lambda: Behaviour(
        (BUSY, CUT, calling(("note", 1)), BUSY, "done"),
        told=("1",),
        agent={"clock": JumpingClock()},
    ),
    "a model that breaks off": lambda: Behaviour(
        (Pieces("do", CUT), "done"), agent={"clock": JumpingClock()}
    ),
    "a model that is busy for ever": lambda: Behaviour(
        (BUSY, BUSY, BUSY), error=ChatGeneratorError, agent={"clock": JumpingClock()}
    ),
    "a model that wants to be left alone for an hour": lambda: Behaviour(
        (failing(retryable=True, retry_after_s=3600.0),), error=ChatGeneratorError
    ),
    "a model that is asked once": lambda: Behaviour(
        (BUSY,), error=ChatGeneratorError, agent={"model_retries": 0}
    ),
    "a tool that must not fail": lambda: Behaviour(
        (calling(("note", 1), ("fail", 1)),),
        error=ToolInvocationError,
        agent={"raise_on_tool_invocation_failure": True},
    ),
    "a tool that must be known": lambda: Behaviour(
        (calling(("nope", 1)),),
        error=ToolInvocationError,
        agent={"raise_on_tool_invocation_failure": True},
    ),
    "a cancellation while the model thinks": lambda: cancelled(by="model"),
    "a cancellation while a tool runs": lambda: evolve(
        cancelled(by="tool"),
        told=(
            "Tool 'note' was running when the run was cancelled. Its outcome is unknown.",
            "Tool 'pay' was not run: the run was cancelled.",
        ),
    ),
}

TOOLS: dict[str, Callable[[], Behaviour]] = {
    "parallel tools": lambda: Behaviour(
        (THREE, "done"),
        told=("1", "2", "3"),
        state={"notes": [1, 2, 3]},
        agent={"tools": [together()]},
    ),
    "tools that end in another order": lambda: Behaviour(
        (THREE, "done"),
        told=("1", "2", "3"),
        state={"notes": [1, 2, 3]},
        agent={"tools": [backwards()]},
    ),
    "tools one at a time": lambda: Behaviour(
        (THREE, "done"),
        told=("1", "2", "3"),
        state={"notes": [1, 2, 3]},
        agent={"parallel_tool_calls": 1},
    ),
    "coroutine tools": lambda: Behaviour(
        (THREE, THREE, "done"),
        told=("1", "2", "3") * 2,
        state={"notes": [1, 2, 3] * 2},
        agent={"tools": [note_later]},
    ),
    "many turns": lambda: Behaviour(
        (*[calling(("note", n)) for n in range(20)], "done"),
        told=tuple(map(str, range(20))),
        state={"notes": list(range(20))},
    ),
    "a tool that fails": lambda: Behaviour(
        (calling(("fail", 1), ("note", 2)), "done"), told=(NO_1, "2"), state={"notes": [2]}
    ),
    "a tool that ends the process": lambda: Behaviour(
        (calling(("leave", 3)), "done"),
        told=("Failed to invoke Tool `leave` with parameters {'n': 3}. Error: SystemExit: 3",),
        agent={"tools": [leave]},
    ),
    "a tool that is not there": lambda: Behaviour(
        (calling(("nope", 1), ("note", 2)), "done"),
        told=("Tool 'nope' not found. Available tools: note, pay, fail, greet", "2"),
    ),
    "arguments that are no JSON": lambda: Behaviour(
        (ChatMessage.from_assistant(tool_calls=[ToolCall("pay", unreadable="{n:")]), "done"),
        told=("Tool 'pay' was not run: the arguments are not a JSON object: {n:",),
    ),
    "calls without ids": lambda: Behaviour(
        (
            ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {"n": n}) for n in (1, 2)]),
            "done",
        ),
        told=("paid 1", "paid 2"),
    ),
    "calls with the same id": lambda: Behaviour(
        (
            ChatMessage.from_assistant(
                tool_calls=[ToolCall("pay", {"n": n}, "same") for n in (1, 2)]
            ),
            "done",
        ),
        told=("paid 1", "paid 2"),
    ),
    "a result that the state does not take": lambda: Behaviour(
        (calling(("misfit", 1), ("note", 2)), "done"),
        told=(
            (
                "The result of tool 'misfit' was not stored: state key 'total' holds int, got str: "
                "'many'"
            ),
            "2",
        ),
        state={"total": None, "notes": [2]},
        agent={"tools": [misfit, note]},
    ),
    "a tool that reads the state": lambda: Behaviour(
        (calling(("greet", 1)), "done"),
        told=('{"hello": "Ann", "n": 1}',),
        run={"user": "Ann"},
    ),
    "tools that write to the state themselves": lambda: Behaviour(
        (calling(("count", 1)), calling(("count", 2)), "done"),
        told=("counted", "counted"),
        state={"total": 3},
        agent={"tools": [count]},
    ),
    "a tool that is tried again": lambda: Behaviour(
        (calling(("pay", 1)), "done"),
        told=("paid 1",),
        agent={"tools": [flaky(2, retries=Retries(2))], "clock": JumpingClock()},
    ),
    "a tool that is tried again at once": lambda: Behaviour(
        (calling(("pay", 1)), "done"),
        told=("paid 1",),
        agent={"tools": [flaky(2, retries=Retries(2, backoff_s=0))]},
    ),
    "a tool that fails too often": lambda: Behaviour(
        (calling(("pay", 1)), "done"),
        told=(
            (
                "Failed to invoke Tool `pay` with parameters {'n': 1}. "
                "Error: ConnectionError: nobody there"
            ),
        ),
        agent={"tools": [flaky(3, retries=Retries(2))], "clock": JumpingClock()},
    ),
    "a tool that takes too long": lambda: evolve(
        timed("tool"), told=("Tool 'pay' gave no answer within 5 s", "1")
    ),
}

HUMANS: dict[str, Callable[[], Behaviour]] = {
    "a confirmed call": lambda: evolve(asked(Confirmed()), told=("paid 5", "1")),
    "a rejected call": lambda: evolve(
        asked(Rejected("too much")),
        told=(
            "Tool execution for 'pay' was rejected by the user. With user feedback: too much",
            "1",
        ),
    ),
    "a modified call": lambda: evolve(
        asked(Modified({"n": 1}, "less")),
        told=(
            (
                "The parameters for tool 'pay' were updated by the user to:\n"
                '{"n": 1} With user feedback: less\npaid 1'
            ),
            "1",
        ),
    ),
    "a call answered by a human": lambda: evolve(
        asked(Answered("paid by hand")), told=("paid by hand", "1")
    ),
    "a call that nobody decides about": lambda: evolve(asked(None), reason=None, text=None),
    "a call modified to what the tool does not take": lambda: evolve(
        asked(None), agent=guarded(*[Modified({"n": "all"})] * 5), reason=None, text=None
    ),
    "two questions": lambda: Behaviour(
        (calling(("pay", 1), ("note", 1), ("pay", 2)), "done"),
        told=("paid 1", "1", "Tool execution for 'pay' was rejected by the user."),
        agent=guarded(
            lambda question: Confirmed() if question.tool_params["n"] == 1 else Rejected(),
            lambda question: Confirmed() if question.tool_params["n"] == 1 else Rejected(),
        ),
    ),
    "a policy that spares the human": lambda: Behaviour(
        (calling(("pay", 5)), "done"), told=("paid 5",), agent=guarded(policy=NeverAskPolicy())
    ),
    "a human who hangs up": lambda: evolve(asked(EOFError()), error=EOFError),
}

OPTIONS: dict[str, Callable[[], Behaviour]] = {
    "a system prompt": lambda: Behaviour(
        (lambda messages: messages[0].text,), text="be brief", agent={"system_prompt": "be brief"}
    ),
    "a system prompt of the run": lambda: Behaviour(
        (lambda messages: messages[0].text,),
        text="be long",
        agent={"system_prompt": "be brief"},
        run={"system_prompt": "be long"},
    ),
    "a conversation": lambda: Behaviour(
        (lambda messages: messages[0].text,),
        text="before",
        run={"messages": [ChatMessage.from_user("before"), ChatMessage.from_user("now")]},
    ),
    "tools by name": lambda: Behaviour(
        (calling(("pay", 1), ("note", 1)), "done"),
        told=("Tool 'pay' not found. Available tools: note", "1"),
        run={"tools": ["note"]},
    ),
    "no tools": lambda: Behaviour(
        (calling(("pay", 1)), "done"),
        told=("Tool 'pay' not found. Available tools: none",),
        run={"tools": []},
    ),
    "state from the caller": lambda: Behaviour(
        (calling(("note", 2)), "done"),
        told=("2",),
        state={"notes": [1, 2], "user": "Ann"},
        run={"notes": [1], "user": "Ann"},
    ),
    "a state key that is not there": lambda: Behaviour(
        ("hi",), error=StateError, run={"nots": [1]}
    ),
    "a breakpoint at the model": lambda: Behaviour(
        (calling(("note", 1)), "done"),
        error=BreakpointException,
        run={"break_point": Breakpoint("chat_generator", 1)},
    ),
    "a breakpoint at a tool": lambda: Behaviour(
        (calling(("note", 1), ("pay", 1)), "done"),
        error=BreakpointException,
        run={"break_point": ToolBreakpoint("tool_invoker", tool_name="pay")},
    ),
    "a listener who fails": lambda: Behaviour(
        ("hi",), error=StreamingCallbackError, run={"streaming_callback": raising}
    ),
    "a hook that answers for a tool": lambda: Behaviour(
        (calling(("fail", 1)), "done"),
        told=("spared",),
        agent={"hooks": [before_tool(lambda call, run: call.returned("spared"))]},
    ),
    "a hook that answers for the model": lambda: Behaviour(
        (), text="hi", agent={"hooks": [before_model(lambda ask, run: ask.replied("hi"))]}
    ),
    "a hook that keeps a window": lambda: Behaviour(
        (THREE, THREE, lambda messages: str(len(messages))),
        told=("1", "2", "3") * 2,
        text="5",
        agent={"hooks": [keep_last_messages(1)]},
    ),
    "a hook that sends the answer back": lambda: Behaviour(
        ("hm", "well", "done"), agent={"hooks": [refusing(2)]}
    ),
    "a hook that is never content": lambda: Behaviour(
        ("hm", "well"),
        "max_agent_steps",
        text="well",
        agent={"hooks": [refusing(9)], "max_agent_steps": 2},
    ),
    "a hook that fails": lambda: Behaviour(
        ("hi",), error=HookError, agent={"hooks": [before_model(raising)]}
    ),
}

BEHAVIOURS = ENDS | TOOLS | HUMANS | OPTIONS
