"""Both drivers run tools side by side, in time, and let go of those that nobody waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Annotated, Any, TypeAlias

import pytest

from detent import SecretParameter
from detent.adapters.agent.agent import Agent
from detent.adapters.journals.memory import MemoryJournal
from detent.adapters.system.clocks import ManualClock
from detent.adapters.system.threads_and_loops import FunctionToolExecutor
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.adapters.tools.decorator import tool
from detent.adapters.tools.toolsets import Toolset
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.errors import StateError
from detent.core.run.events import CancelRequested, Event, ToolRaised, ToolStarted
from detent.core.run.run import Run
from detent.core.schema.conversion import ConversionError
from detent.core.state.state import State
from detent.core.tools.invocation import MissingInputError
from detent.core.tools.result import ResultError, ToolResult
from detent.core.tools.retries import Retries
from detent.core.tools.tool import Tool
from detent.ports.results import AgentResult, ToolInvocationError
from detent.ports.stopping import when_stopped
from detent.ports.tool_execution import ToolExecutor

Go: TypeAlias = Callable[..., AgentResult[Any]]
WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


def blocking(agent: Agent[Any], message: str = "go", **given: Any) -> AgentResult[Any]:
    return agent.run(message, **given)


def in_a_loop(agent: Agent[Any], message: str = "go", **given: Any) -> AgentResult[Any]:
    return asyncio.run(agent.run_async(message, **given))


BOTH = pytest.mark.parametrize("go", [blocking, in_a_loop])


def agent(*tools: Tool, calls: tuple[str, ...] = (), **options: Any) -> Agent[Any]:
    """An agent whose model calls the tools once each, or those named, and is then done."""
    names = calls or tuple(one.name for one in tools)
    called = ChatMessage.from_assistant(tool_calls=[ToolCall(name) for name in names])
    return Agent(chat_generator=ScriptedChatGenerator(called, "done"), tools=list(tools), **options)


def answers(result: AgentResult[Any]) -> list[str]:
    return [one.text for message in result.messages for one in message.tool_call_results]


@BOTH
def test_tools_run_side_by_side(go: Go) -> None:
    """Blocking ones and coroutines, as many as the model calls."""
    met = threading.Barrier(3)

    @tool
    def wait() -> str:
        return str(met.wait(10) >= 0)

    @tool
    async def wait_too() -> str:
        return str(await asyncio.to_thread(met.wait, 10) >= 0)

    assert answers(go(agent(wait, wait_too, calls=("wait", "wait_too", "wait")))) == ["True"] * 3


@BOTH
def test_no_more_tools_run_at_once_than_may(go: Go) -> None:
    """The others wait for a place."""
    running: list[int] = []
    most: list[int] = []

    @tool
    def count() -> str:
        running.append(1)
        most.append(len(running))
        running.pop()
        return "ok"

    go(agent(count, calls=("count",) * 9, parallel_tool_calls=1))
    assert most == [1] * 9


@BOTH
def test_context_variables_reach_every_tool(go: Go) -> None:
    """In whatever thread or loop it runs."""

    @tool
    def plain() -> str:
        return WHO.get()

    @tool
    async def later() -> str:
        return WHO.get()

    WHO.set("me")
    assert answers(go(agent(plain, later, calls=("plain", "later", "plain")))) == ["me"] * 3
    assert answers(go(agent(later))) == ["me"]


@BOTH
def test_a_blocking_tool_that_takes_too_long_is_abandoned(go: Go) -> None:
    """Its sibling's result is kept, and what it writes afterwards is refused."""
    release, refused = threading.Event(), threading.Event()

    @tool(timeout_s=0.01)
    def hang(state: State) -> str:
        try:  # a thread may also begin too late for the first
            state.set("notes", ["never"])
            release.wait(10)
            state.set("notes", ["late"])
        except StateError:
            refused.set()
        return "late"

    @tool(outputs_to_state={"notes": {}})
    def note() -> list[str]:
        return ["noted"]

    result = go(agent(hang, note, state_schema={"notes": {"type": list[str]}}))
    release.set()
    assert answers(result) == ["Tool 'hang' gave no answer within 0.01 s", '["noted"]']
    assert result["notes"] == ["noted"]
    assert refused.wait(10)


class BlockingExecutor:
    """An executor that an async driver has to call in a thread."""

    def execute(self, called: Tool, arguments: Mapping[str, object]) -> object:
        """As the port says."""
        return FunctionToolExecutor().execute(called, arguments)


@BOTH
@pytest.mark.parametrize("executor", [FunctionToolExecutor(), BlockingExecutor()])
@pytest.mark.parametrize("kind", ["coroutine function", "coroutine"])
def test_a_coroutine_that_takes_too_long_is_cancelled(
    go: Go, executor: ToolExecutor, kind: str
) -> None:
    """It sees so where it waits; also when a blocking function has returned it."""
    cancelled = threading.Event()

    async def hang() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    def promise() -> Awaitable[str]:
        return hang()

    # Long enough for a thread to begin it: what has not begun is not cancelled.
    hanging = tool(name="hang", timeout_s=0.1)(promise if kind == "coroutine" else hang)
    result = go(agent(hanging, tool_executor=executor))
    assert answers(result) == ["Tool 'hang' gave no answer within 0.1 s"]
    assert cancelled.wait(10)


@BOTH
@pytest.mark.parametrize("executor", [FunctionToolExecutor(), BlockingExecutor()])
def test_a_blocking_tool_that_takes_too_long_may_close_what_it_waits_for(
    go: Go, executor: ToolExecutor
) -> None:
    """Its thread cannot be stopped, but goes on when what it waits for is gone."""
    killed, gone_on = threading.Event(), threading.Event()

    @tool(timeout_s=0.01)
    def hang() -> str:
        with when_stopped(killed.set):
            assert killed.wait(10)
        gone_on.set()
        return ""

    result = go(agent(hang, tool_executor=executor))
    assert answers(result) == ["Tool 'hang' gave no answer within 0.01 s"]
    assert gone_on.wait(10)


@BOTH
def test_a_tool_that_fails_is_tried_again(go: Go) -> None:
    """With what the state held at first, and nothing of the failed attempt."""
    seen: list[list[str]] = []

    @tool(retries=Retries(2, backoff_s=0.001))
    def flaky(state: State) -> str:
        state.set("notes", [f"attempt {len(seen)}"])
        seen.append(list(state.get("notes")))
        if len(seen) < 3:
            raise ConnectionError("not yet")
        return "at last"

    result = go(agent(flaky, state_schema={"notes": {"type": list[str]}}))
    assert answers(result) == ["at last"]
    assert seen == [["attempt 0"], ["attempt 1"], ["attempt 2"]]
    assert result["notes"] == ["attempt 2"]


@BOTH
def test_attempts_end_when_there_are_no_more(go: Go) -> None:
    """And at once for what is not worth another."""
    tried: list[str] = []

    @tool(retries=Retries(2, backoff_s=0, on=(ConnectionError,)))
    def flaky(kind: str = "x") -> str:
        tried.append(kind)
        raise ConnectionError("no") if len(tried) < 3 else ValueError("never")

    assert answers(go(agent(flaky))) == [
        "Failed to invoke Tool `flaky` with parameters {}. Error: ValueError: never"
    ]
    assert len(tried) == 3


@BOTH
def test_pauses_are_measured_by_the_agents_clock(go: Go) -> None:
    """A test need not wait for a minute to pass."""
    clock = ManualClock()
    tried: list[float] = []

    @tool(timeout_s=5, retries=Retries(1, backoff_s=60))
    def flaky() -> str:
        tried.append(clock.now())
        if len(tried) == 1:
            raise ConnectionError("not yet")
        return "at last"

    def pass_time(before: Run[Any], event: Event, after: Run[Any]) -> None:
        if isinstance(event, ToolRaised):
            clock.advance(60)

    result = go(agent(flaky, clock=clock, observers=[pass_time]))
    assert answers(result) == ["at last"]
    assert tried == [0, 60]


@BOTH
def test_nobody_looks_at_the_clock_without_need(go: Go) -> None:
    """It would cost time in every turn."""

    class Watched(ManualClock):
        def now(self) -> float:
            raise AssertionError("nobody asked for the time")

    @tool
    def plain() -> str:
        return "ok"

    @tool(retries=3)
    def good() -> str:
        return "ok"

    assert answers(go(agent(plain, good, clock=Watched()))) == ["ok", "ok"]


@BOTH
def test_one_failure_loses_no_siblings_result(go: Go) -> None:
    """Not even one that would end the program, nor a cancellation of the tool's own making."""

    @tool
    def leave() -> str:
        raise SystemExit(3)

    @tool
    async def give_up() -> str:
        raise asyncio.CancelledError

    @tool
    def stop() -> str:
        raise StopIteration

    @tool(outputs_to_state={"notes": {}})
    async def note() -> list[str]:
        return ["noted"]

    result = go(agent(leave, give_up, stop, note, state_schema={"notes": {"type": list}}))
    told = [text.partition(". Error: ")[2].partition(":")[0] for text in answers(result)]
    assert told[:3] == ["SystemExit", "CancelledError", "RuntimeError"]
    assert answers(result)[3] == '["noted"]'
    assert result["notes"] == ["noted"]


def test_cancelling_a_blocking_run_reaches_a_coroutine() -> None:
    """The event may come from any thread."""
    inbox: SimpleQueue[Any] = SimpleQueue()
    cancelled = threading.Event()

    @tool
    async def hang() -> str:
        inbox.put(CancelRequested("enough"))
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "late"

    result = agent(hang).run("go", inbox=inbox)
    assert result.exit_reason == "cancelled"
    assert cancelled.wait(10)


def test_cancelling_an_async_run_reaches_a_coroutine() -> None:
    """By an event, and by cancelling the task that runs it."""
    cancelled: list[str] = []

    async def main() -> None:
        begun = asyncio.Event()

        @tool
        async def hang() -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append("hang")
            return "late"

        inbox: asyncio.Queue[Any] = asyncio.Queue()
        run = asyncio.create_task(agent(hang).run_async("go", inbox=inbox))
        await begun.wait()
        inbox.put_nowait(CancelRequested("enough"))
        assert (await run).exit_reason == "cancelled"

        begun.clear()
        run = asyncio.create_task(agent(hang).run_async("go"))
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert cancelled == ["hang", "hang"]


@BOTH
@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("raises", ValueError),
        ("hangs", TimeoutError),
        ("misfits", StateError),
        ("converts", ResultError),
        ("unknown", LookupError),
        ("bad", ConversionError),
        ("empty", MissingInputError),
    ],
)
def test_a_failure_may_be_raised(go: Go, kind: str, cause: type[Exception]) -> None:
    """As the typed error, with its cause."""
    release = threading.Event()

    @tool
    def raises() -> str:
        raise ValueError("no")

    @tool(timeout_s=0.01)
    def hangs() -> str:
        release.wait(10)
        return ""

    @tool(outputs_to_state={"count": {}})
    def misfits() -> Any:
        return "one"

    @tool(outputs_to_string={"handler": int})
    def converts() -> str:
        return "one"

    @tool
    def bad(n: int) -> str:
        return str(n)

    @tool(inputs_from_state={"count": "n"})
    def empty(n: int) -> str:
        return str(n)

    several = agent(
        raises,
        hangs,
        misfits,
        converts,
        bad,
        empty,
        calls=(kind,),
        state_schema={"count": {"type": int}},
        raise_on_tool_invocation_failure=True,
    )
    with pytest.raises(ToolInvocationError) as caught:
        go(several)
    release.set()
    assert caught.value.tool_name == kind
    assert isinstance(caught.value.__cause__, cause)


@BOTH
def test_an_unmergeable_result_is_raised_with_what_the_handler_raised(go: Go) -> None:
    """All the way down."""

    def add(current: Any, update: Any) -> Any:
        return (current or 0) + update

    @tool(outputs_to_state={"count": {}})
    def misfits() -> Any:
        return "one"

    schema = {"count": {"type": int, "handler": add}}
    failing = agent(misfits, state_schema=schema, raise_on_tool_invocation_failure=True)
    with pytest.raises(ToolInvocationError) as caught:
        go(failing)
    assert isinstance(caught.value.__cause__, StateError)
    assert isinstance(caught.value.__cause__.__cause__, TypeError)


@BOTH
def test_observers_are_told_what_a_result_lacks(go: Go) -> None:
    """The run goes on with what there is."""
    warnings: list[str] = []

    @tool(outputs_to_state={"notes": {"source": "notes"}})
    def note() -> dict[str, list[str]]:
        return {}

    def watch(before: Run[Any], event: Event, after: Run[Any]) -> None:
        result = getattr(event, "result", None)
        warnings.extend(result.warnings if isinstance(result, ToolResult) else ())

    go(agent(note, state_schema={"notes": {"type": list}}, observers=[watch]))
    assert warnings == ["the result of tool 'note' has no 'notes' for state key 'notes'"]


@BOTH
def test_a_toolset_is_looked_at_again_for_every_run(go: Go) -> None:
    """Tools that were added since are there."""

    @tool
    def one() -> str:
        return "1"

    @tool
    def two() -> str:
        return "2"

    tools = Toolset([one])
    called = ChatMessage.from_assistant(tool_calls=[ToolCall("two")])
    several = Agent(
        chat_generator=ScriptedChatGenerator(called, "done", called, "done"), tools=[tools]
    )
    assert answers(go(several)) == ["Tool 'two' not found. Available tools: one"]
    tools.add(two)
    assert answers(go(several)) == ["2"]


@BOTH
def test_an_attempt_is_told_before_it_begins(go: Go) -> None:
    """With the time, where it may only take so long."""
    told: list[Event] = []

    @tool(timeout_s=3)
    def quick() -> str:
        return "ok"

    def watch(before: Run[Any], event: Event, after: Run[Any]) -> None:
        told.append(event)

    go(agent(quick, clock=ManualClock(7), observers=[watch]))
    (begun,) = [event for event in told if isinstance(event, ToolStarted)]
    assert (begun.attempt, begun.at) == (1, 7)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_secrets_are_looked_for_in_a_thread_and_the_result_is_kept(*, is_cancelled: bool) -> None:
    """Where they are many: no event loop waits. Who is cancelled by then loses nothing."""
    journal, threads = MemoryJournal(), list[int]()
    begun, go = threading.Event(), threading.Event()

    def as_text(value: object) -> str:
        threads.append(threading.get_ident())
        begun.set()
        assert go.wait(10)
        return str(value)

    @tool(outputs_to_string={"handler": as_text})
    async def look_up(codes: Annotated[list[str], SecretParameter]) -> str:
        """Look them up."""
        return codes[0]

    async def main() -> None:
        script = ScriptedChatGenerator(ToolCall("look_up", {"codes": ["c-17"] * 3000}), "done")
        agent = Agent(chat_generator=script, tools=[look_up], journal=journal)
        run = asyncio.create_task(agent.run_async("go", run_id="r"))
        await asyncio.to_thread(begun.wait, 10)
        if is_cancelled:
            run.cancel()
            await asyncio.sleep(0)
        go.set()
        await asyncio.wait([run])
        assert run.cancelled() is is_cancelled

    asyncio.run(main())
    (entry,) = [entry for entry in journal.read("r") if entry.kind == "ToolReturned"]
    assert "c-17" in str(entry.data)
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(("count", "is_in_loop"), [(10, True), (3000, False)])
def test_a_large_result_is_made_and_taken_into_the_state_in_a_thread(
    count: int, *, is_in_loop: bool
) -> None:
    """No event loop waits for that; the journal has it as ever."""
    journal, threads = MemoryJournal(), dict[str, int]()

    def as_text(value: object) -> str:
        threads["text"] = threading.get_ident()
        return "done"

    def last(current: object, update: Any) -> Any:
        threads["state"] = threading.get_ident()
        return update

    @tool(outputs_to_string={"handler": as_text}, outputs_to_state={"rows": {}})
    async def look_up() -> list[int]:
        """Look them up."""
        return [*range(count)]

    agent = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("look_up", {}), "done"),
        tools=[look_up],
        state_schema={"rows": {"type": list[int], "handler": last}},
        journal=journal,
    )
    result = asyncio.run(agent.run_async("go", run_id="r"))

    assert result.state.get("rows") == [*range(count)]
    assert {thread == threading.get_ident() for thread in threads.values()} == {is_in_loop}
    assert agent.resume("r").state.get("rows") == [*range(count)]
