"""The agent as people use it: the core, a driver and the ports, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast, overload

from attrs import evolve

from detent.adapters.clocks import SystemClock
from detent.adapters.drivers.errand import Errand
from detent.adapters.drivers.pay import Purse
from detent.adapters.drivers.recording import Loaded, Recorder, forked, fresh_id, loaded
from detent.adapters.drivers.session import Session
from detent.adapters.functions import FunctionToolExecutor
from detent.adapters.selection import chosen, up_to_date
from detent.core.breakpoints import BreakPoints, holds_of
from detent.core.decisions import Allow, Ask, Policy, Verdict
from detent.core.events import Event, Resumed
from detent.core.frozen import FrozenDict, thaw
from detent.core.messages import ChatMessage, ToolCall
from detent.core.result import AgentResult
from detent.core.run import Run, RunOptions
from detent.core.snapshot import AgentSnapshot, run_of, snapshot_from
from detent.core.spec import AgentSpec, Limits, S
from detent.core.state import State, TypedState, initial_writes
from detent.core.step import start, step
from detent.core.streaming import tool_result_chunks
from detent.core.tools import Tool, by_name
from detent.core.toolsets import Tools, flat
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    StreamingCallback,
    require_chat_generator,
)

if TYPE_CHECKING:
    from detent.adapters.confirmation.strategies import (
        BlockingConfirmationStrategy,
        ConfirmationPolicy,
    )
    from detent.adapters.drivers.aio import AsyncInbox
    from detent.adapters.drivers.threads import Inbox
    from detent.ports.clock import Clock
    from detent.ports.journal import Journal
    from detent.ports.observer import Observer
    from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor

Messages: TypeAlias = str | ChatMessage | Sequence[ChatMessage]
"""A conversation: its messages, one message, or what the user says as plain text."""


class Agent(Generic[S]):
    """A model with tools, run until it is done.

    Args:
        chat_generator: who answers the conversation; it has `run`, `run_async` or both.
        tools: what the model may call: a list of tools and toolsets, or a toolset.
        system_prompt: instructions that open every conversation.
        exit_conditions: tools that end the run once they have succeeded; "text" stands for a reply
            without tool calls, which always ends it.
        state_schema: the keys that tools share: a dict ``{"key": {"type": …, "handler": …}}`` or a
            subclass of `TypedState`.
        max_agent_steps: how often the model is asked at most.
        streaming_callback: receives the pieces of replies, and tool results, as they come.
        raise_on_tool_invocation_failure: raise `ToolInvocationError` when a tool fails, in place of
            telling the model.
        confirmation_strategies: by tool name, who is asked before the tool runs.
        generation_kwargs: options for every model call.
        tool_executor: who runs the tools' functions.
        parallel_tool_calls: how many tools run at once.
        clock: tells the time where a tool has a time-out or is tried again.
        observers: each sees every event of every run.
        journal: keeps what happens, so that `resume` can go on after a crash.

    Raises:
        TypeError: `chat_generator` cannot answer, or not with tools.
        WiringError: tools, state and rules do not fit together; every misfit is named.
        SchemaError: `state_schema` is not one.
    """

    @overload
    def __init__(
        self: Agent[State],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[State] = (),
        system_prompt: str | None = None,
        exit_conditions: Sequence[str] = ("text",),
        state_schema: Mapping[str, object] | None = None,
        max_agent_steps: int = 100,
        streaming_callback: StreamingCallback | None = None,
        raise_on_tool_invocation_failure: bool = False,
        confirmation_strategies: Mapping[str, BlockingConfirmationStrategy] | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        tool_executor: ToolExecutor | AsyncToolExecutor | None = None,
        parallel_tool_calls: int = 32,
        clock: Clock | None = None,
        observers: Sequence[Observer] = (),
        journal: Journal | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[S] = (),
        system_prompt: str | None = None,
        exit_conditions: Sequence[str] = ("text",),
        state_schema: type[S],
        max_agent_steps: int = 100,
        streaming_callback: StreamingCallback | None = None,
        raise_on_tool_invocation_failure: bool = False,
        confirmation_strategies: Mapping[str, BlockingConfirmationStrategy] | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        tool_executor: ToolExecutor | AsyncToolExecutor | None = None,
        parallel_tool_calls: int = 32,
        clock: Clock | None = None,
        observers: Sequence[Observer] = (),
        journal: Journal | None = None,
    ) -> None: ...
    def __init__(
        self,
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Tools[Any] = (),
        system_prompt: str | None = None,
        exit_conditions: Sequence[str] = ("text",),
        state_schema: Any = None,
        max_agent_steps: int = 100,
        streaming_callback: StreamingCallback | None = None,
        raise_on_tool_invocation_failure: bool = False,
        confirmation_strategies: Mapping[str, BlockingConfirmationStrategy] | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        tool_executor: ToolExecutor | AsyncToolExecutor | None = None,
        parallel_tool_calls: int = 32,
        clock: Clock | None = None,
        observers: Sequence[Observer] = (),
        journal: Journal | None = None,
    ) -> None:
        strategies = dict(confirmation_strategies or {})
        self.spec: AgentSpec[S] = AgentSpec(
            state=_blank(state_schema),
            tools=by_name(flat(tools)),
            system_prompt=system_prompt,
            exit_conditions=frozenset(exit_conditions),
            policies=_policies(strategies),
            limits=Limits(max_agent_steps, parallel_tool_calls),
            generation_kwargs=generation_kwargs or {},
            fail_on_tool_fault=raise_on_tool_invocation_failure,
        )
        require_chat_generator(chat_generator, tools=bool(self.spec.tools))
        self.chat_generator = chat_generator
        self._tools = tools
        self._clock = SystemClock() if clock is None else clock
        self._streaming_callback = streaming_callback
        self._executor = FunctionToolExecutor() if tool_executor is None else tool_executor
        self._uis = {name: rule.confirmation_ui for name, rule in strategies.items()}
        self._observers = tuple(observers)
        self._journal = journal

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
    ) -> AgentResult[S]:
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
            JournalError: the journal could not be written; what is in it stands.
            StateError: `state` has an unknown key or a value of the wrong type.
        """
        spec, at = self._start(
            messages,
            snapshot=snapshot,
            generation_kwargs=generation_kwargs,
            system_prompt=system_prompt,
            tools=tools,
            run_id=run_id,
            state=state,
        )
        errand = self._errand(spec, at, streaming_callback, break_point)
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
    ) -> AgentResult[S]:
        """As `run`, in the running event loop."""
        spec, at = self._start(
            messages,
            snapshot=snapshot,
            generation_kwargs=generation_kwargs,
            system_prompt=system_prompt,
            tools=tools,
            run_id=run_id,
            state=state,
        )
        errand = self._errand(spec, at, streaming_callback, break_point)
        return await errand.go_async(inbox, raises=raise_at_break_point)

    def resume(
        self,
        run_id: str,
        streaming_callback: StreamingCallback | None = None,
        *,
        break_point: BreakPoints | None = None,
        raise_at_break_point: bool = True,
        tools: Tools[S] | None = None,
        inbox: Inbox | None = None,
    ) -> AgentResult[S]:
        """Go on with a run of the journal, wherever its process has ended or stopped.

        What is settled stays. A call that was under way is of unknown outcome, and its tool's
        `on_unknown` says what happens. A run that has ended gives its result again.

        Raises:
            RunNotFoundError: the journal has no such run.
            JournalConflictError: another process is working on the run.
            StoredDataError: what is stored is damaged, or this agent cannot go on with it.
        """
        errand = self._resumed(run_id, streaming_callback, break_point, tools)
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
    ) -> AgentResult[S]:
        """As `resume`, in the running event loop."""
        errand = self._resumed(run_id, streaming_callback, break_point, tools)
        return await errand.go_async(inbox, raises=raise_at_break_point)

    def _resumed(
        self,
        run_id: str,
        streaming_callback: StreamingCallback | None,
        break_point: BreakPoints | None,
        tools: Tools[S] | None,
    ) -> Errand[S]:
        if self._journal is None:
            raise ValueError("this agent has no journal; give it one: Agent(…, journal=…)")
        spec, _ = chosen(up_to_date(self.spec, self._tools), tools)
        at = loaded(self._journal, spec, run_id)
        errand = self._errand(spec, at, streaming_callback, break_point)
        errand.session.feed(Resumed(fresh_id()))
        return errand

    def _start(
        self,
        messages: Messages,
        *,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None,
        generation_kwargs: Mapping[str, object] | None,
        system_prompt: str | None,
        tools: Tools[S] | Sequence[str] | None,
        run_id: str | None,
        state: Mapping[str, object],
    ) -> tuple[AgentSpec[S], Loaded[S]]:
        """The rules of the run to drive, and where it stands."""
        spec, names = chosen(up_to_date(self.spec, self._tools), tools)
        if snapshot is not None:
            _require_nothing_else(
                messages=messages,
                tools=names,
                generation_kwargs=generation_kwargs,
                system_prompt=system_prompt,
                **state,
            )
            given = snapshot_from(snapshot)
            begun = step(spec, run_of(spec, given), Resumed(fresh_id()))
            if self._journal is not None:  # which may have that run already, further on
                begun = forked(begun, run_id or fresh_id())
            return spec, Loaded(begun, 0, given.held)
        if system_prompt:
            spec = evolve(spec, system_prompt=system_prompt)
        begun = start(
            spec,
            _conversation(messages),
            run_id=run_id or fresh_id(),
            state=initial_writes(state),
            options=RunOptions(names, generation_kwargs or {}),
        )
        return spec, Loaded(begun, 0)

    def _errand(
        self,
        spec: AgentSpec[S],
        at: Loaded[S],
        streaming_callback: StreamingCallback | None,
        break_point: BreakPoints | None,
    ) -> Errand[S]:
        tell = self._streaming_callback if streaming_callback is None else streaming_callback
        observers = self._observers if tell is None else (*self._observers, _teller(tell))
        rules = holds_of(break_point, spec.tools)
        recorder = None
        if self._journal is not None:
            recorder = Recorder(self._journal, spec, self._clock.now, at.length)
            if at.length == 0:
                recorder.begin(at.run)
        session = Session(
            spec,
            at.run,
            observers=observers,
            clock=self._clock,
            hold=rules,
            passed=at.passed,
            record=recorder,
        )
        purse = Purse(self.chat_generator, self._executor, self._uis, tell, clock=self._clock)
        return Errand(session, purse, rules, recorder)


def _blank(schema: type[S] | Mapping[str, object] | None) -> S:
    if isinstance(schema, type) and issubclass(schema, TypedState):
        return schema()
    return cast(S, State(schema=cast(Mapping[str, object], schema or {})))


def _policies(strategies: Mapping[str, BlockingConfirmationStrategy]) -> FrozenDict[str, Policy]:
    return FrozenDict(
        {name: _policy(rule.confirmation_policy) for name, rule in strategies.items()}
    )


def _policy(policy: ConfirmationPolicy) -> Policy:
    def verdict(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        params = cast(dict[str, Any], thaw(call.arguments))
        return Ask() if policy.should_ask(tool.name, tool.description, params) else Allow()

    return verdict


def _conversation(messages: Messages) -> Sequence[ChatMessage]:
    if isinstance(messages, str):
        return (ChatMessage.from_user(messages),)
    return (messages,) if isinstance(messages, ChatMessage) else messages


def _teller(tell: StreamingCallback) -> Observer:
    def observe(before: Run[Any], event: Event, after: Run[Any]) -> None:
        for chunk in tool_result_chunks(before, after):
            tell(chunk)

    return observe


def _require_nothing_else(**given: object) -> None:
    """A stored run goes on as it was begun: refuse what would change it."""
    if named := [name for name, value in given.items() if value]:
        raise ValueError(
            f"a snapshot goes on with its own messages, options and state; leave out "
            f"{', '.join(named)}"
        )
