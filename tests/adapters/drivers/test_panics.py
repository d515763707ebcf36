"""What the code of users raises is a failure of that code, whatever its class."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from attrs import frozen

from detent import (
    Agent,
    ChatMessage,
    HookError,
    Limits,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    before_model,
    tool,
)
from detent.adapters.system.failures import failing_silently, is_stop, outcome_of
from detent.approvals import AlwaysAskPolicy, AnyOf, Approvers, Principal, WithApprovers
from detent.machine import (
    Event,
    MessageReceived,
    ToolReturned,
    ToolStarted,
)
from detent.models import ChatGeneratorError
from detent.ports.results import AgentResult, StreamingCallbackError

Go: TypeAlias = Callable[..., AgentResult[Any]]


class PanicError(BaseException):
    """As a library raises that is written in Rust."""


def blocking(agent: Agent[Any], **given: Any) -> AgentResult[Any]:
    return agent.run("go", **given)


def in_a_loop(agent: Agent[Any], **given: Any) -> AgentResult[Any]:
    return asyncio.run(agent.run_async("go", **given))


BOTH = pytest.mark.parametrize("go", [blocking, in_a_loop])
RAISED = pytest.mark.parametrize(
    "error", [PanicError("it broke"), SystemExit(3), asyncio.CancelledError()], ids=repr
)
ODD = pytest.mark.parametrize("error", [PanicError("it broke"), SystemExit(3)], ids=repr)


@frozen
class Raising:
    """A chat generator that raises, blocking."""

    error: BaseException

    def run(self, messages: object, **options: object) -> Any:
        """Raise."""
        raise self.error


@frozen
class RaisingAsync:
    """The same as a coroutine."""

    error: BaseException

    async def run_async(self, messages: object, **options: object) -> Any:
        """Raise."""
        raise self.error


class CancellingAsync:
    """One that cancels the task in which it runs."""

    async def run_async(self, messages: object, **options: object) -> Any:
        """Cancel it, and wait for that."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(60)


def raiser(error: BaseException) -> Callable[..., Any]:
    """A function that raises, whatever it is given."""

    def fail(*given: object, **named: object) -> Any:
        raise error

    return fail


@tool
def pay() -> str:
    """Pay."""
    return "paid"


def agent_of(*names: str, **options: Any) -> Agent[Any]:
    """An agent whose model calls tools and is then done."""
    called = ChatMessage.from_assistant(tool_calls=[ToolCall(name) for name in names])
    tools = options.pop("tools", [pay])
    return Agent(chat_generator=ScriptedChatGenerator(called, "done"), tools=tools, **options)


@BOTH
@RAISED
@pytest.mark.parametrize("kind", [Raising, RaisingAsync])
def test_a_model_that_raises_is_a_bug_of_the_model(
    go: Go, error: BaseException, kind: Callable[[BaseException], Any]
) -> None:
    """The run fails, and is not tried again."""
    agent = Agent(chat_generator=kind(error))
    with pytest.raises(ChatGeneratorError) as caught:
        go(agent)
    assert caught.value.failure.cause == "bug"
    assert type(error).__name__ in caught.value.failure.message


@BOTH
@pytest.mark.parametrize(
    "error",
    [
        pytest.fail.Exception("this test has failed"),
        BaseExceptionGroup("both", [ValueError("a"), KeyboardInterrupt()]),
    ],
    ids=repr,
)
def test_what_ends_a_test_or_the_program_is_no_fault_of_a_tool(go: Go, error: Exception) -> None:
    """Also in a group: a test must not go on with what it has failed by as a text for the model."""
    fail = raiser(error)

    @tool
    def panic() -> str:
        """Panic."""
        return str(fail())

    with pytest.raises(type(error)):
        go(agent_of("panic", tools=[panic]))


@BOTH
@RAISED
def test_a_tool_that_raises_is_answered_by_a_fault(go: Go, error: BaseException) -> None:
    """In any driver, and beside others."""
    fail = raiser(error)

    @tool
    def panic() -> str:
        """Panic."""
        return str(fail())

    @tool
    async def panic_async() -> str:
        """Panic."""
        return str(fail())

    result = go(agent_of("panic", "panic_async", "pay", tools=[panic, panic_async, pay]))
    texts = [one.text for one in result.messages[2].tool_call_results]
    texts += [one.text for one in result.messages[3].tool_call_results]
    texts += [one.text for one in result.messages[4].tool_call_results]
    assert [type(error).__name__ in text for text in texts] == [True, True, False]


@BOTH
@pytest.mark.parametrize("names", [["leave"], ["leave", "pay"]], ids=len)
def test_a_tool_or_model_that_cancels_its_own_task_has_failed(go: Go, names: list[str]) -> None:
    """Nobody else has asked for that: it is its own fault, and what stands beside it goes on."""

    @tool
    async def leave() -> str:
        """Leave."""
        await CancellingAsync().run_async([])
        return "never"

    result = go(agent_of(*names, tools=[leave, pay]))
    texts = [one.text for message in result.messages for one in message.tool_call_results]
    assert ["CancelledError" in text for text in texts] == [name == "leave" for name in names]
    assert result.text == "done"
    with pytest.raises(ChatGeneratorError, match="CancelledError"):
        go(Agent(chat_generator=CancellingAsync()))


@BOTH
@RAISED
def test_a_hook_that_raises_is_a_hook_error(go: Go, error: BaseException) -> None:
    """As of an exception."""
    agent = agent_of(hooks=[before_model(raiser(error))])
    with pytest.raises(HookError, match=type(error).__name__):
        go(agent)


class Policy:
    """A policy that raises."""

    def __init__(self, error: BaseException, *, is_async: bool) -> None:
        self.error, self.is_async = error, is_async

    def __call__(self, *given: object) -> Any:
        """Raise, at once or awaited."""

        async def later() -> Any:
            raise self.error

        if self.is_async:
            return later()
        raise self.error


def ann(decision: object, question: object) -> Principal | None:
    """Whoever it is, it is Ann."""
    return Principal("Ann")


ALONE: dict[str, Callable[[Any], Any]] = {
    "alone": lambda policy: policy,
    "of several": lambda policy: AnyOf([AlwaysAskPolicy(), policy]),
    "of certain people": lambda policy: WithApprovers(policy, Approvers(roles=("finance",))),
}


@BOTH
@RAISED
@pytest.mark.parametrize("is_async", [False, True], ids=["at once", "awaited"])
@pytest.mark.parametrize("made", ALONE)
def test_a_policy_that_raises_lets_nothing_pass(
    go: Go, error: BaseException, made: str, *, is_async: bool
) -> None:
    """A human is asked, who is told why; nobody else than those who were to be."""
    policy = ALONE[made](Policy(error, is_async=is_async))
    agent = agent_of("pay", confirmation_strategies={"pay": policy}, approvers=ann)
    (question,) = go(agent, raise_at_break_point=False).pending
    assert f"the policy failed: {type(error).__name__}" in question.reason
    assert question.approvers.roles == (("finance",) if made == "of certain people" else ())


@BOTH
@RAISED
def test_a_look_up_that_raises_has_a_human_asked(go: Go, error: BaseException) -> None:
    """It could not be looked up."""

    @tool(on_unknown=raiser(error))
    def charge() -> str:
        """Charge."""
        raise AssertionError

    def cut(before: object, event: Event, after: object) -> None:
        if isinstance(event, ToolStarted):
            raise KeyboardInterrupt

    journal = MemoryJournal()
    agent = agent_of("charge", tools=[charge], journal=journal)
    with pytest.raises(KeyboardInterrupt):
        agent.evolve(observers=[cut]).run("go", run_id="r")

    def again(**given: Any) -> AgentResult[Any]:
        return agent.resume("r", **given)

    async def again_async(**given: Any) -> AgentResult[Any]:
        return await agent.resume_async("r", **given)

    result = again() if go is blocking else asyncio.run(again_async())
    (question,) = result.pending
    assert f"looking it up failed with {type(error).__name__}" in question.reason


@BOTH
@RAISED
def test_what_a_price_raises_loses_no_reply(go: Go, error: BaseException) -> None:
    """As an exception of it does not: the reply is paid for."""
    agent = agent_of("pay", limits=Limits(max_cost=1.0, price=raiser(error)))
    result = go(agent)
    assert (result.exit_reason, result.cost) == ("max_cost", 1.0)


@BOTH
@ODD
def test_what_an_observer_raises_loses_no_result(go: Go, error: BaseException) -> None:
    """What is at work meanwhile is heard out, and written down."""
    is_told, journal = threading.Event(), MemoryJournal()

    @tool
    def slow() -> str:
        """Wait until the other one is done."""
        return str(is_told.wait(10))

    def observe(before: object, event: Event, after: object) -> None:
        if isinstance(event, ToolReturned):
            is_told.set()
            raise error

    agent = agent_of("pay", "slow", tools=[pay, slow], journal=journal, observers=[observe])
    with pytest.raises(type(error)):
        go(agent, run_id="r")
    came = [entry.kind for entry in journal.read("r")]
    assert came.count("ToolReturned") == 2


@BOTH
@ODD
@pytest.mark.parametrize("is_async", [False, True], ids=["at once", "awaited"])
def test_a_streaming_callback_that_raises_breaks_no_run(
    go: Go, error: BaseException, *, is_async: bool
) -> None:
    """The run ends as it would have; what was raised is told."""

    async def later(chunk: object) -> None:
        raise error

    agent = agent_of("pay", streaming_callback=later if is_async else raiser(error))
    with pytest.raises(StreamingCallbackError) as caught:
        go(agent)
    assert caught.value.__cause__ is error
    assert caught.value.result.text == "done"


def test_what_an_observer_raises_of_a_message_does_not_end_the_event_loop() -> None:
    """It is told of what others write while the driver waits for a model, in a task beside."""
    journal = MemoryJournal()

    @frozen
    class Slow:
        said: asyncio.Event

        async def run_async(self, messages: object, **options: object) -> Any:
            """Answer once the observer was told."""
            async with asyncio.timeout(10):
                await self.said.wait()
            return await ScriptedChatGenerator("done").run_async([])

    async def main() -> bool:
        said = asyncio.Event()

        def observe(before: object, event: Event, after: object) -> None:
            if isinstance(event, MessageReceived):
                said.set()
                raise SystemExit(3)

        agent = Agent(chat_generator=Slow(said), journal=journal, observers=[observe])
        task = asyncio.create_task(outcome_of(agent.run_async("go", run_id="r")))
        while not journal.read("r"):  # noqa: ASYNC110 - it comes in this loop
            await asyncio.sleep(0)
        agent.send("r", "more")
        return isinstance(await task, SystemExit)

    assert asyncio.run(main())


@ODD
def test_a_handler_of_the_state_that_raises_is_a_fault_of_its_tool(error: BaseException) -> None:
    """Nothing of it is in the state."""

    @tool(outputs_to_state={"notes": {}})
    def note() -> list[str]:
        """Note."""
        return ["noted"]

    schema = {"notes": {"type": list, "handler": raiser(error)}}
    result = agent_of("note", tools=[note], state_schema=schema).run("go")
    (told,) = result.messages[2].tool_call_results
    assert type(error).__name__ in told.text


def test_what_stops_is_no_failure() -> None:
    """Ctrl-C ends what it meets, and who is cancelled hears it."""
    with pytest.raises(KeyboardInterrupt):
        Agent(chat_generator=Raising(KeyboardInterrupt())).run("go")
    with pytest.raises(KeyboardInterrupt), failing_silently():
        raise KeyboardInterrupt
    assert not is_stop(asyncio.CancelledError())

    async def main() -> None:
        async def wait() -> None:
            await asyncio.Event().wait()

        task = asyncio.create_task(outcome_of(wait()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
