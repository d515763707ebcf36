"""Telling: a listener hears everything in order, and whatever he does, the run is the same."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeAlias

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from detent import (
    Agent,
    AgentResult,
    ChatGeneratorError,
    ChatMessage,
    ScriptedChatGenerator,
    StreamingCallbackError,
    StreamingChunk,
    ToolCall,
    tool,
)
from detent.adapters.drivers.callbacks import UnheardError
from detent.machine import CancelRequested, Run
from detent.models import ChatReply, ModelFailure
from detent.testing import JumpingClock, Pieces

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


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


CALL = ToolCall("add", {"a": 1, "b": 2}, "c1")


def agent_of(*script: Any, **options: Any) -> Agent[Any]:
    return Agent(chat_generator=ScriptedChatGenerator(*script), tools=[add], **options)


def anonymous(run: Run[Any]) -> Run[Any]:
    """A run without what makes it another than every other."""
    return evolve(run, nonce="")


def words(chunks: Sequence[StreamingChunk]) -> list[str]:
    """What each piece says, in a word."""
    return [
        chunk.content
        or (chunk.tool_call_result.text if chunk.tool_call_result else "")
        or chunk.finish_reason
        or "call"
        for chunk in chunks
    ]


ALL = ["call", "call", "tool_calls", "3", "tool_call_results", "it", " is", " three", "stop"]


def test_a_coroutine_function_hears_everything_in_order(run: Runner) -> None:
    """However long it takes over a piece; the result comes when it has heard all."""
    heard: list[StreamingChunk] = []

    async def listen(chunk: StreamingChunk) -> None:
        for _ in range(3 if chunk.tool_calls else 0):
            await asyncio.sleep(0)
        heard.append(chunk)

    run(agent_of(CALL, "it is three"), "go", listen)

    assert words(heard) == ALL


def test_a_coroutine_function_hears_a_generator_that_blocks() -> None:
    """It is awaited in the run's own event loop."""
    loops: list[object] = []

    class Blocking:
        def run(
            self, messages: object, *, streaming_callback: Any = None, **options: object
        ) -> ChatReply:
            streaming_callback(StreamingChunk("hi"))
            return ChatReply(ChatMessage.from_assistant("hi"))

    async def listen(chunk: StreamingChunk) -> None:
        loops.append(asyncio.get_running_loop())

    async def main() -> None:
        await Agent(chat_generator=Blocking()).run_async("go", listen)
        assert set(loops) == {asyncio.get_running_loop()}

    asyncio.run(main())


def raising(at: int, heard: list[StreamingChunk], *, later: bool) -> Callable[..., Any]:
    """A listener that raises when it is told so many pieces."""

    def listen(chunk: StreamingChunk) -> None:
        heard.append(chunk)
        if len(heard) == at:
            raise ZeroDivisionError("oops")

    async def listen_later(chunk: StreamingChunk) -> None:
        listen(chunk)

    return listen_later if later else listen


@pytest.mark.parametrize("later", [False, True], ids=["function", "coroutine function"])
@pytest.mark.parametrize("at", [1, 4, 9])
def test_a_listener_that_raises_does_not_touch_the_run(
    run: Runner, at: int, *, later: bool
) -> None:
    """The run comes to its end; then the error says whose fault it was, with the result in it."""
    heard: list[StreamingChunk] = []
    quiet = run(agent_of(CALL, "it is three"), "go", run_id="r")

    with pytest.raises(StreamingCallbackError, match="the run itself is not touched") as caught:
        run(agent_of(CALL, "it is three"), "go", raising(at, heard, later=later), run_id="r")

    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert anonymous(caught.value.result.run) == anonymous(quiet.run)
    assert words(heard)[:at] == ALL[:at]
    if not later:
        assert len(heard) == at


class Endless:
    """A generator that never says that its answer is over, as an adapter may not."""

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        streaming_callback: Callable[[StreamingChunk], object] | None = None,
        **options: Any,
    ) -> ChatReply:
        """Answer."""
        if streaming_callback is not None:
            for piece in ("it ", "is"):
                streaming_callback(StreamingChunk(piece))
        return ChatReply(ChatMessage.from_assistant("it is"), finish_reason="length")


def test_the_end_of_an_answer_is_told_also_where_its_generator_does_not(run: Runner) -> None:
    """Else the next one stands in the same line of a terminal."""
    heard: list[StreamingChunk] = []

    run(Agent(chat_generator=Endless()), "go", heard.append)

    assert words(heard) == ["it ", "is", "length"]


def test_what_broke_off_is_taken_back(run: Runner) -> None:
    """The pieces of a failed attempt are told not to count, before those of the next come."""
    heard: list[StreamingChunk] = []
    cut = ChatGeneratorError(ModelFailure("cut_stream", "cut", retryable=True, retry_after_s=0))
    script = Pieces("it ", "i", cut), cut, "all there"

    result = run(agent_of(*script, model_retries=5, clock=JumpingClock()), "go", heard.append)

    assert result.text == "all there"
    assert words(heard) == ["it ", "i", "discarded", "all", " there", "stop"]


def test_nobody_hears_what_comes_when_nobody_waits_any_longer() -> None:
    """A generator that goes on in its thread after the run was cancelled is stopped there."""
    heard: list[StreamingChunk] = []
    inbox: SimpleQueue[Any] = SimpleQueue()
    release, done = threading.Event(), threading.Event()

    class Stubborn:
        def run(
            self, messages: object, *, streaming_callback: Any = None, **options: object
        ) -> ChatReply:
            streaming_callback(StreamingChunk("early"))
            inbox.put(CancelRequested("enough"))
            assert release.wait(10)
            with pytest.raises(UnheardError, match="nobody waits"):
                streaming_callback(StreamingChunk("late"))
            done.set()
            return ChatReply(ChatMessage.from_assistant("late"))

    result = Agent(chat_generator=Stubborn()).run("go", heard.append, inbox=inbox)
    release.set()

    assert done.wait(10)
    assert result.exit_reason == "cancelled"
    assert words(heard) == ["early"]


LINES = st.one_of(
    st.text(min_size=1, max_size=20),
    st.lists(st.integers(0, 9), min_size=1, max_size=3).map(
        lambda numbers: ChatMessage.from_assistant(
            tool_calls=[ToolCall("add", {"a": n, "b": n % 2 or "x"}, f"c{n}") for n in numbers]
        )
    ),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(LINES, max_size=4), st.booleans())
def test_listening_changes_nothing(lines: list[Any], as_stream: bool) -> None:  # noqa: FBT001 - drawn
    """The run is the same with a listener, as a stream, and with nobody there."""
    heard: list[object] = []
    quiet = agent_of(*lines, "done").run("go", run_id="r")

    if as_stream:
        heard += agent_of(*lines, "done").stream("go", run_id="r")
        watched = heard[-1]
        assert isinstance(watched, AgentResult)
    else:
        watched = agent_of(*lines, "done").run("go", heard.append, run_id="r")

    assert anonymous(watched.run) == anonymous(quiet.run)
    results = [one.tool_call_result for one in heard if isinstance(one, StreamingChunk)]
    told = [one for message in quiet.messages for one in message.tool_call_results]
    assert sorted(filter(None, results), key=repr) == sorted(told, key=repr)
