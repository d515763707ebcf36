"""The agent as people use it: the core, a driver and the ports, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, overload

from detent.adapters.agent.decisions import RunDecisions
from detent.adapters.agent.options import AgentOptions, Evolving, copied
from detent.adapters.agent.streams import RunStreams
from detent.core.state.state import BaseState
from detent.core.state.typevars import S, T

if TYPE_CHECKING:
    from types import UnionType
    from typing import TypeAlias, _SpecialForm

    from detent.adapters.agent.assembly import Assembly
    from detent.adapters.control.breakpoints import BreakPoints
    from detent.adapters.drivers.asyncio import AsyncInbox
    from detent.adapters.drivers.run_handle import RunHandle
    from detent.adapters.drivers.threads import Inbox
    from detent.adapters.tools.output_type import OutputType
    from detent.adapters.tools.toolsets import Tools
    from detent.core.run.spec import AgentSpec
    from detent.core.state.state import State
    from detent.core.storage.snapshot import AgentSnapshot
    from detent.ports.chat import AsyncChatGenerator, ChatGenerator, Messages, StreamingCallback
    from detent.ports.results import AgentResult

    AnyForm: TypeAlias = UnionType | _SpecialForm | type[Any]
    """Types that are no classes, as ``Stop | None``: for checkers the answer then is Any."""

NewS = TypeVar("NewS", bound=BaseState)
NewT = TypeVar("NewT")


class Agent(RunStreams[S, T], RunDecisions, Evolving[S], Generic[S, T]):
    """A model with tools, run until it is done: ``Agent(chat_generator=…, tools=[…]).run("…")``.

    As a type `Agent` alone is `Agent[State, None]`: of a state by keys, with text for an answer.

    Args:
        chat_generator: who answers the conversation; it has `run`, `run_async` or both.
        tools: what the model may call: a list of tools and toolsets, or a toolset.
        state_schema: the keys that tools share: a dict ``{"key": {"type": …, "handler": …}}`` or a
            subclass of `TypedState`.
        output_type: what the answer is: an attrs class, a dataclass, a typed dict, a pydantic model
            or any other type that JSON can carry; an `OutputType` says more. None is text.
        options: all others: ``pydoc detent.adapters.agent.options.AgentOptions`` tells of each.
            What it does: system_prompt, exit_conditions, hooks, generation_kwargs, name.
            How far it goes: max_agent_steps, limits, model_retries, parallel_tool_calls.
            Who is asked: confirmation_strategies, approvers. What outlives it: journal, claim_s.
            Who hears of it: streaming_callback, observers, telemetry.
            Rarely: raise_on_tool_invocation_failure, tool_executor, tool_invoker_kwargs, clock,
            chance.

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
        tools: Tools[State] | None = None,
        state_schema: Mapping[str, object] | None = None,
        output_type: None = None,
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[State, NewT],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[State] | None = None,
        state_schema: Mapping[str, object] | None = None,
        output_type: type[NewT] | OutputType[NewT],
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[NewS, None],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[NewS] | None = None,
        state_schema: type[NewS],
        output_type: None = None,
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[S] | None = None,
        state_schema: type[S],
        output_type: type[T] | OutputType[T],
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[State, Any],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[State] | None = None,
        state_schema: Mapping[str, object] | None = None,
        output_type: AnyForm,
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[NewS, Any],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[NewS] | None = None,
        state_schema: type[NewS],
        output_type: AnyForm,
        **options: Unpack[AgentOptions],
    ) -> None: ...
    def __init__(
        self,
        *unnamed: object,
        chat_generator: Any = None,  # what it is not is told where the agent is put together
        tools: Tools[Any] | None = None,
        state_schema: Any = None,
        output_type: Any = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        from detent.adapters.agent.inputs import checked_options
        from detent.adapters.agent.wiring import assemble  # loads the machine, at the first agent

        parts = (chat_generator, () if tools is None else tools, state_schema, output_type)
        self._given = copied(parts, options)
        self._assembly: Assembly[S] = assemble(
            *parts, **checked_options(options, AgentOptions.__annotations__, unnamed)
        )

    def __repr__(self) -> str:
        generator = type(self.chat_generator).__name__
        return f"<Agent: {generator}, tools: {list(self.spec.tools)}>"

    if not TYPE_CHECKING:  # a checker names an attribute that there is not by itself

        def __setattr__(self, name: str, value: object) -> None:
            if not name.startswith("_"):
                raise AttributeError(f"an agent stays as it is made: make another, with {name}=…")
            super().__setattr__(name, value)

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

    def warm_up(self) -> None:
        """Have the chat generator, the toolsets and the tools load what they need, once.

        A run does it otherwise, before it begins: `run_async` in a thread, `stream_async` at once.
        """
        self._assembly.warm_up()

    async def _warmed_up(self) -> Assembly[S]:
        if not self._assembly.is_warm:
            from detent.adapters.system.threads_and_loops import in_a_thread

            await in_a_thread(self._assembly.warm_up)
        return self._assembly

    def to_dict(self) -> dict[str, Any]:
        """The agent as plain JSON: parts by their names, keys by their environment variables.

        Raises:
            AgentDataError: an option is no JSON, or a key is not in the environment.
        """
        from detent.adapters.agent.data import to_data

        return to_data(self._assembly)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **parts: Any) -> Agent[Any, Any]:
        """The agent that `to_dict` gave, with `parts` in the place of what it names.

        Nothing is imported because `data` says so. Tools, hooks, classes and strategies are found
        by name among `parts`, which are the arguments of `Agent`; of a provider, the chat generator
        is made by its name. What `to_dict` does not keep (journal, clock …) can be passed as well.

        Raises:
            AgentDataError: it is no agent's, or names what is not at hand; every fault is named.
        """
        from detent.adapters.agent.data import parts_of

        return cls(**parts_of(data, parts))

    def run(
        self,
        messages: Messages = (),
        streaming_callback: StreamingCallback | None = None,
        *,
        after: AgentResult[S, Any] | None = None,
        thread_id: str | None = None,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        raise_at_break_point: bool = True,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        inbox: Inbox | None = None,
        run_id: str | None = None,
        started_by: str | None = None,
        **state: object,
    ) -> AgentResult[S, T]:
        """Run until the agent is done, or until it waits for a human whom nobody here can ask.

        Args:
            messages: the conversation so far, or what is said next behind `after`.
            streaming_callback: as for the agent; it takes that one's place.
            after: an earlier result, to go on with its messages and state in a run of its own. The
                system prompt is said once; limits and usage count anew.
            thread_id: the conversation that the run belongs to. It goes on as behind `after`, with
                what the thread's last run in the journal has left; without one it is the first.
            break_point: where to stop: a breakpoint, a function of the run and an effect, or
                several.
            snapshot: a run that has stopped, to go on with: an object, a dict or JSON text. It has
                its own messages, options and state.
            raise_at_break_point: whether a run that stops raises; otherwise its result has `held`.
            generation_kwargs: options for this run's model calls; they win over the agent's.
            system_prompt: instructions for this run, in place of the agent's.
            tools: the tools of this run: names of the agent's tools, or tools in place of them.
            inbox: where events from outside come in, e.g. `CancelRequested` from another thread.
            run_id: what the run is called, in up to 255 characters; without one it gets a new one.
            started_by: who begins it; a question may want somebody else's yes: see `Approvers`.
            state: initial values of state keys.

        Raises:
            BreakpointException: the run has stopped at a breakpoint.
            HITLBreakpointException: calls wait for a human whom nobody here can ask.
            DecisionRefusedError: a decision in the snapshot does not count.
            StoredDataError: the snapshot is damaged, or this agent cannot go on with it.
            ChatGeneratorError: the model gave no answer.
            ToolInvocationError: a tool failed, and `raise_on_tool_invocation_failure` is set.
            StreamingCallbackError: the streaming callback has raised; the run has gone on.
            RunExistsError: the journal already has a run called `run_id`.
            RunBusyError: this process has fallen silent, and another one has taken up the run.
            JournalError: the journal could not be written; what is in it stands.
            StateError: `state`, or what `after` has, is an unknown key or a value of a wrong type.
            ValueError: `after` has not ended; or there is no journal to find `thread_id` in.
            ThreadNotEndedError: the last run of the thread has not ended.
        """
        from detent.adapters.agent.inputs import RunRequest, require_inbox
        from detent.adapters.drivers.steps import at_once

        if inbox is not None:
            require_inbox(inbox)
        said = (messages, break_point, snapshot, generation_kwargs, system_prompt, tools)
        request = RunRequest(*said, run_id, state, started_by)
        handle = at_once(self._assembly.begin(request, streaming_callback, after, thread_id))
        return handle.go(inbox, raises=raise_at_break_point)

    async def run_async(
        self,
        messages: Messages = (),
        streaming_callback: StreamingCallback | None = None,
        *,
        after: AgentResult[S, Any] | None = None,
        thread_id: str | None = None,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        raise_at_break_point: bool = True,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        inbox: AsyncInbox | None = None,
        run_id: str | None = None,
        started_by: str | None = None,
        **state: object,
    ) -> AgentResult[S, T]:
        """As `run`, in the running event loop."""
        from detent.adapters.agent.inputs import RunRequest, require_async_inbox
        from detent.adapters.drivers.steps import in_event_loop

        require_async_inbox(inbox)
        said = (messages, break_point, snapshot, generation_kwargs, system_prompt, tools)
        request = RunRequest(*said, run_id, state, started_by)
        assembly = await self._warmed_up()
        begin = assembly.begin(request, streaming_callback, after, thread_id)
        handle = await in_event_loop(begin, is_paced=True)
        return await handle.go_async(inbox, raises=raise_at_break_point)

    def begin(
        self,
        messages: Messages = (),
        streaming_callback: StreamingCallback | None = None,
        *,
        after: AgentResult[S, Any] | None = None,
        thread_id: str | None = None,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        run_id: str | None = None,
        started_by: str | None = None,
        **state: object,
    ) -> RunHandle[S]:
        """A run as `run` begins it, for a loop of one's own: its session, and who performs."""
        from detent.adapters.agent.inputs import RunRequest
        from detent.adapters.drivers.steps import at_once

        said = (messages, break_point, snapshot, generation_kwargs, system_prompt, tools)
        request = RunRequest(*said, run_id, state, started_by)
        return at_once(self._assembly.begin(request, streaming_callback, after, thread_id))

    def resume(
        self,
        run_id: str,
        streaming_callback: StreamingCallback | None = None,
        *,
        break_point: BreakPoints | None = None,
        raise_at_break_point: bool = True,
        tools: Tools[S] | None = None,
        inbox: Inbox | None = None,
        wait: float = 0,
        take_over: bool = False,
    ) -> AgentResult[S, T]:
        """Go on with a run of the journal, wherever its process has ended or stopped.

        What is settled stays. A call that was under way is of unknown outcome, and its tool's
        `on_unknown` says what happens. A run that failed because the model gave no answer asks it
        again; any other run that has ended gives its result again.

        Args:
            run_id: what the run is called in the journal.
            streaming_callback: as for `run`.
            break_point: as for `run`.
            raise_at_break_point: as for `run`.
            tools: as for `run`.
            inbox: as for `run`.
            wait: for how many seconds to wait for a process that drives the run.
            take_over: take the run even from a process that lives. Its next event is refused; a
                tool that it has begun goes on, and is of unknown outcome here.

        Raises:
            RunNotFoundError: the journal has no such run.
            RunBusyError: a process that lives, not silent for its `claim_s`, drives the run.
            RunOfEngineError: an engine drives the run by its effects, for as long as it lives.
            JournalConflictError: another process has gone on with the run in the meantime.
            StoredDataError: what is stored is damaged, or this agent cannot go on with it.
        """
        from detent.adapters.agent.claiming import when_free
        from detent.adapters.agent.inputs import require_inbox
        from detent.adapters.drivers.steps import at_once

        require_inbox(inbox)
        parts = (run_id, streaming_callback, break_point, tools)
        begin = partial(self._assembly.resume, *parts, take_over=take_over)
        handle = when_free(lambda: at_once(begin()), self._assembly.clock, wait)
        return handle.go(inbox, raises=raise_at_break_point)

    async def resume_async(
        self,
        run_id: str,
        streaming_callback: StreamingCallback | None = None,
        *,
        break_point: BreakPoints | None = None,
        raise_at_break_point: bool = True,
        tools: Tools[S] | None = None,
        inbox: AsyncInbox | None = None,
        wait: float = 0,
        take_over: bool = False,
    ) -> AgentResult[S, T]:
        """As `resume`, in the running event loop."""
        from detent.adapters.agent.claiming import when_free_async
        from detent.adapters.agent.inputs import require_async_inbox
        from detent.adapters.drivers.steps import in_event_loop

        require_async_inbox(inbox)
        parts = (run_id, streaming_callback, break_point, tools)
        assembly = await self._warmed_up()
        begin = partial(assembly.resume, *parts, take_over=take_over)
        handle = await when_free_async(lambda: in_event_loop(begin()), assembly.clock, wait)
        return await handle.go_async(inbox, raises=raise_at_break_point)
