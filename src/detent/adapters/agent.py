"""The agent as people use it: the core, a driver and the ports, put together."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, overload

from detent.adapters.assembly import Assembly, Messages, assembled
from detent.adapters.drivers.streams import Observation, streamed, streamed_async
from detent.adapters.given import require_options
from detent.core.breakpoints import BreakPoints
from detent.core.hooks import Hook
from detent.core.limits import Limits
from detent.core.output_type import OutputType, T
from detent.core.result import AgentResult
from detent.core.retries import Retries
from detent.core.snapshot import AgentSnapshot
from detent.core.spec import AgentSpec, S
from detent.core.state import BaseState, State
from detent.core.toolsets import Tools
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    StreamingCallback,
)

if TYPE_CHECKING:
    from detent.adapters.confirmation.strategies import BlockingConfirmationStrategy
    from detent.adapters.drivers.aio import AsyncInbox
    from detent.adapters.drivers.errand import Errand
    from detent.adapters.drivers.threads import Inbox
    from detent.core.events import Event
    from detent.core.replies import StreamingChunk
    from detent.ports.chance import Chance
    from detent.ports.clock import Clock
    from detent.ports.journal import Journal
    from detent.ports.observer import Observer
    from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor


NewS = TypeVar("NewS", bound=BaseState)
NewT = TypeVar("NewT")


class AgentOptions(TypedDict, total=False):
    """The options of `Agent` that are the same whatever its state and its output.

    Attributes:
        system_prompt: instructions that open every conversation.
        exit_conditions: tools that end the run once they have succeeded; "text" stands for a reply
            without tool calls, which always ends it.
        max_agent_steps: how often the model is asked at most; 100 without.
        limits: what else a run may spend: tokens, cost, time.
        streaming_callback: receives the pieces of replies, and tool results, as they come; a
            function or a coroutine function.
        raise_on_tool_invocation_failure: raise `ToolInvocationError` when a tool fails, in place of
            telling the model.
        confirmation_strategies: by tool name, who is asked before the tool runs.
        generation_kwargs: options for every model call.
        model_retries: how often the model is asked again after a failure that may pass (a rate
            limit, an overloaded server, a time-out, a stream that was cut), and when.
        tool_executor: who runs the tools' functions.
        parallel_tool_calls: how many tools run at once; 32 without.
        clock: tells the time where a tool has a time-out, or a call is tried again.
        observers: each sees every event of every run.
        journal: keeps what happens, so that `resume` can go on after a crash.
        chance: gives new ids, and spreads further attempts; tests have one with a seed.
        hooks: functions around model calls and tools and before the end: the first is outermost.
    """

    system_prompt: str | None
    exit_conditions: Sequence[str]
    max_agent_steps: int | None
    limits: Limits | None
    streaming_callback: StreamingCallback | None
    raise_on_tool_invocation_failure: bool
    confirmation_strategies: Mapping[str, BlockingConfirmationStrategy] | None
    generation_kwargs: Mapping[str, object] | None
    model_retries: Retries | int
    tool_executor: ToolExecutor | AsyncToolExecutor | None
    parallel_tool_calls: int | None
    clock: Clock | None
    observers: Sequence[Observer]
    journal: Journal | None
    chance: Chance | None
    hooks: Sequence[Hook]


class Agent(Generic[S, T]):
    """A model with tools, run until it is done.

    Args:
        chat_generator: who answers the conversation; it has `run`, `run_async` or both.
        tools: what the model may call: a list of tools and toolsets, or a toolset.
        state_schema: the keys that tools share: a dict ``{"key": {"type": …, "handler": …}}`` or a
            subclass of `TypedState`.
        output_type: what the answer is: an attrs class, a dataclass, a typed dict, a pydantic model
            or any other type that JSON can carry; an `OutputType` says more. None is text.
        options: see `AgentOptions`.

    Raises:
        TypeError: `chat_generator` cannot answer, or not with tools; or no JSON Schema describes
            `output_type`.
        WiringError: tools, state and rules do not fit together; every misfit is named.
        SchemaError: `state_schema` is not one.
    """

    @overload
    def __init__(
        self: Agent[State, None],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[State] = (),
        state_schema: Mapping[str, object] | None = None,
        output_type: None = None,
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[State, NewT],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[State] = (),
        state_schema: Mapping[str, object] | None = None,
        output_type: type[NewT] | OutputType[NewT],
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[NewS, None],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[NewS] = (),
        state_schema: type[NewS],
        output_type: None = None,
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[S] = (),
        state_schema: type[S],
        output_type: type[T] | OutputType[T],
        **options: Unpack[AgentOptions],
    ) -> None: ...
    def __init__(
        self,
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[Any] = (),
        state_schema: Any = None,
        output_type: Any = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        require_options(options, AgentOptions.__annotations__)
        self._assembly: Assembly[S] = assembled(
            chat_generator, tools, state_schema, output_type, **options
        )

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types: object) -> object:
            """`T` has a default, as it has for type checkers."""
            return super().__class_getitem__(types if isinstance(types, tuple) else (types, None))

    @property
    def assembly(self) -> Assembly[S]:
        """The agent's rules and its ports, for what is built on agents."""
        return self._assembly

    @property
    def spec(self) -> AgentSpec[S]:
        """The agent's rules, for the core's own functions."""
        return self._assembly.spec

    @property
    def chat_generator(self) -> ChatGenerator | AsyncChatGenerator:
        """Who answers the conversation."""
        return self._assembly.chat_generator

    def run(
        self,
        messages: Messages = (),
        streaming_callback: StreamingCallback | None = None,
        *,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        raise_at_break_point: bool = True,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        inbox: Inbox | None = None,
        run_id: str | None = None,
        **state: object,
    ) -> AgentResult[S, T]:
        """Run until the agent is done, or until it waits for a human whom nobody here can ask.

        Args:
            messages: the conversation so far.
            streaming_callback: as for the agent; it takes that one's place.
            break_point: where to stop: a breakpoint, a function of the run and an effect, or
                several.
            snapshot: a run that has stopped, to go on with: an object, a dict or JSON text. It has
                its own messages, options and state.
            raise_at_break_point: whether a run that stops raises; otherwise its result has `held`.
            generation_kwargs: options for this run's model calls; they win over the agent's.
            system_prompt: instructions for this run, in place of the agent's.
            tools: the tools of this run: names of the agent's tools, or tools in place of them.
            inbox: where events from outside come in, e.g. `CancelRequested` from another thread.
            run_id: what the run is called in the journal; without one it gets a new one.
            state: initial values of state keys.

        Raises:
            BreakpointException: the run has stopped at a breakpoint.
            StoredDataError: the snapshot is damaged, or this agent cannot go on with it.
            ChatGeneratorError: the model gave no answer.
            ToolInvocationError: a tool failed, and `raise_on_tool_invocation_failure` is set.
            StreamingCallbackError: the streaming callback has raised; the run has gone on.
            RunExistsError: the journal already has a run called `run_id`.
            JournalError: the journal could not be written; what is in it stands.
            StateError: `state` has an unknown key or a value of the wrong type.
        """
        errand = self._assembly.begun(
            messages,
            streaming_callback,
            break_point,
            snapshot=snapshot,
            generation_kwargs=generation_kwargs,
            system_prompt=system_prompt,
            tools=tools,
            run_id=run_id,
            state=state,
        )
        return errand.go(inbox, raises=raise_at_break_point)

    async def run_async(
        self,
        messages: Messages = (),
        streaming_callback: StreamingCallback | None = None,
        *,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        raise_at_break_point: bool = True,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        inbox: AsyncInbox | None = None,
        run_id: str | None = None,
        **state: object,
    ) -> AgentResult[S, T]:
        """As `run`, in the running event loop."""
        errand = self._assembly.begun(
            messages,
            streaming_callback,
            break_point,
            snapshot=snapshot,
            generation_kwargs=generation_kwargs,
            system_prompt=system_prompt,
            tools=tools,
            run_id=run_id,
            state=state,
        )
        return await errand.go_async(inbox, raises=raise_at_break_point)

    def begin(
        self,
        messages: Messages = (),
        streaming_callback: StreamingCallback | None = None,
        *,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        run_id: str | None = None,
        **state: object,
    ) -> Errand[S]:
        """As `run`, for a loop of one's own: the run's session and what it is paid from."""
        return self._assembly.begun(
            messages,
            streaming_callback,
            break_point,
            snapshot=snapshot,
            generation_kwargs=generation_kwargs,
            system_prompt=system_prompt,
            tools=tools,
            run_id=run_id,
            state=state,
        )

    def stream(
        self,
        messages: Messages = (),
        *,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        raise_at_break_point: bool = True,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        run_id: str | None = None,
        **state: object,
    ) -> Generator[Observation[S, T]]:
        """As `run`, as an iterator of what happens: pieces, events, and last the result.

        The run is driven in a thread and does not wait for the reader. Closing the iterator before
        its end cancels the run. What `run` raises is raised at the end.
        """

        def watch(tell: Callable[[StreamingChunk | Event], object]) -> Errand[S]:
            return self._assembly.watched(tell).begun(
                messages,
                tell,
                break_point,
                snapshot=snapshot,
                generation_kwargs=generation_kwargs,
                system_prompt=system_prompt,
                tools=tools,
                run_id=run_id,
                state=state,
            )

        return streamed(watch, raises=raise_at_break_point)

    def stream_async(
        self,
        messages: Messages = (),
        *,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        raise_at_break_point: bool = True,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        run_id: str | None = None,
        **state: object,
    ) -> AsyncGenerator[Observation[S, T]]:
        """As `stream`, in the running event loop."""

        def watch(tell: Callable[[StreamingChunk | Event], object]) -> Errand[S]:
            return self._assembly.watched(tell).begun(
                messages,
                tell,
                break_point,
                snapshot=snapshot,
                generation_kwargs=generation_kwargs,
                system_prompt=system_prompt,
                tools=tools,
                run_id=run_id,
                state=state,
            )

        return streamed_async(watch, raises=raise_at_break_point)

    def resume(
        self,
        run_id: str,
        streaming_callback: StreamingCallback | None = None,
        *,
        break_point: BreakPoints | None = None,
        raise_at_break_point: bool = True,
        tools: Tools[S] | None = None,
        inbox: Inbox | None = None,
    ) -> AgentResult[S, T]:
        """Go on with a run of the journal, wherever its process has ended or stopped.

        What is settled stays. A call that was under way is of unknown outcome, and its tool's
        `on_unknown` says what happens. A run that has ended gives its result again.

        Raises:
            RunNotFoundError: the journal has no such run.
            JournalConflictError: another process is working on the run.
            StoredDataError: what is stored is damaged, or this agent cannot go on with it.
        """
        errand = self._assembly.resumed(run_id, streaming_callback, break_point, tools)
        return errand.go(inbox, raises=raise_at_break_point)

    async def resume_async(
        self,
        run_id: str,
        streaming_callback: StreamingCallback | None = None,
        *,
        break_point: BreakPoints | None = None,
        raise_at_break_point: bool = True,
        tools: Tools[S] | None = None,
        inbox: AsyncInbox | None = None,
    ) -> AgentResult[S, T]:
        """As `resume`, in the running event loop."""
        errand = self._assembly.resumed(run_id, streaming_callback, break_point, tools)
        return await errand.go_async(inbox, raises=raise_at_break_point)
