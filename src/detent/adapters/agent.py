"""The agent as people use it: the core, a driver and the ports, put together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast, overload

from attrs import evolve

from detent.adapters.drivers.pay import Purse
from detent.adapters.drivers.session import Session
from detent.adapters.functions import FunctionToolExecutor
from detent.core.decisions import Allow, Ask, Policy, Verdict
from detent.core.errors import ToolInvocationError
from detent.core.events import Event
from detent.core.frozen import FrozenDict, thaw
from detent.core.messages import ChatMessage, ToolCall
from detent.core.outcomes import Failed
from detent.core.replies import ModelFailure
from detent.core.result import AgentResult
from detent.core.results import ToolFault
from detent.core.run import Run, RunOptions
from detent.core.spec import AgentSpec, Limits, S
from detent.core.state import State, TypedState, initial_writes
from detent.core.step import start
from detent.core.streaming import tool_result_chunks
from detent.core.tools import Tool, by_name
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    ChatGeneratorError,
    StreamingCallback,
)

if TYPE_CHECKING:
    from detent.adapters.confirmation.strategies import (
        BlockingConfirmationStrategy,
        ConfirmationPolicy,
    )
    from detent.adapters.drivers.aio import AsyncInbox
    from detent.adapters.drivers.threads import Inbox
    from detent.ports.observer import Observer
    from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor

Messages: TypeAlias = str | ChatMessage | Sequence[ChatMessage]
"""A conversation: its messages, one message, or what the user says as plain text."""


class Agent(Generic[S]):
    """A model with tools, run until it is done.

    Args:
        chat_generator: who answers the conversation; it has `run`, `run_async` or both.
        tools: what the model may call.
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
        observers: each sees every event of every run.

    Raises:
        WiringError: tools, state and rules do not fit together; every misfit is named.
        SchemaError: `state_schema` is not one.
    """

    @overload
    def __init__(
        self: Agent[State],
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Sequence[Tool] = (),
        system_prompt: str | None = None,
        exit_conditions: Sequence[str] = ("text",),
        state_schema: Mapping[str, object] | None = None,
        max_agent_steps: int = 100,
        streaming_callback: StreamingCallback | None = None,
        raise_on_tool_invocation_failure: bool = False,
        confirmation_strategies: Mapping[str, BlockingConfirmationStrategy] | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        tool_executor: ToolExecutor | AsyncToolExecutor | None = None,
        observers: Sequence[Observer] = (),
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Sequence[Tool] = (),
        system_prompt: str | None = None,
        exit_conditions: Sequence[str] = ("text",),
        state_schema: type[S],
        max_agent_steps: int = 100,
        streaming_callback: StreamingCallback | None = None,
        raise_on_tool_invocation_failure: bool = False,
        confirmation_strategies: Mapping[str, BlockingConfirmationStrategy] | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        tool_executor: ToolExecutor | AsyncToolExecutor | None = None,
        observers: Sequence[Observer] = (),
    ) -> None: ...
    def __init__(
        self,
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator,
        tools: Sequence[Tool] = (),
        system_prompt: str | None = None,
        exit_conditions: Sequence[str] = ("text",),
        state_schema: Any = None,
        max_agent_steps: int = 100,
        streaming_callback: StreamingCallback | None = None,
        raise_on_tool_invocation_failure: bool = False,
        confirmation_strategies: Mapping[str, BlockingConfirmationStrategy] | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        tool_executor: ToolExecutor | AsyncToolExecutor | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        strategies = dict(confirmation_strategies or {})
        self.spec: AgentSpec[S] = AgentSpec(
            state=_blank(state_schema),
            tools=by_name(tools),
            system_prompt=system_prompt,
            exit_conditions=frozenset(exit_conditions),
            policies=FrozenDict(
                {name: _policy(rule.confirmation_policy) for name, rule in strategies.items()}
            ),
            limits=Limits(max_agent_steps),
            generation_kwargs=generation_kwargs or {},
            fail_on_tool_fault=raise_on_tool_invocation_failure,
        )
        self.chat_generator = chat_generator
        self._streaming_callback = streaming_callback
        self._executor = FunctionToolExecutor() if tool_executor is None else tool_executor
        self._uis = {name: rule.confirmation_ui for name, rule in strategies.items()}
        self._observers = tuple(observers)

    def run(
        self,
        messages: Messages = (),
        streaming_callback: StreamingCallback | None = None,
        *,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Sequence[Tool] | Sequence[str] | None = None,
        inbox: Inbox | None = None,
        **state: object,
    ) -> AgentResult[S]:
        """Run until the agent is done, or until it waits for a human whom nobody here can ask.

        Args:
            messages: the conversation so far.
            streaming_callback: as for the agent; it takes that one's place.
            generation_kwargs: options for this run's model calls; they win over the agent's.
            system_prompt: instructions for this run, in place of the agent's.
            tools: the tools of this run: names of the agent's tools, or tools in place of them.
            inbox: where events from outside come in, e.g. `CancelRequested` from another thread.
            state: initial values of state keys.

        Raises:
            ChatGeneratorError: the model gave no answer.
            ToolInvocationError: a tool failed, and `raise_on_tool_invocation_failure` is set.
            StateError: `state` has an unknown key or a value of the wrong type.
        """
        from detent.adapters.drivers.threads import drive

        spec, begun = self._start(messages, generation_kwargs, system_prompt, tools, state)
        purse, session = self._prepare(spec, begun, streaming_callback)
        return _result(drive(session, purse.pay, inbox=inbox), purse)

    async def run_async(
        self,
        messages: Messages = (),
        streaming_callback: StreamingCallback | None = None,
        *,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Sequence[Tool] | Sequence[str] | None = None,
        inbox: AsyncInbox | None = None,
        **state: object,
    ) -> AgentResult[S]:
        """As `run`, in the running event loop."""
        from detent.adapters.drivers.aio import drive_async

        spec, begun = self._start(messages, generation_kwargs, system_prompt, tools, state)
        purse, session = self._prepare(spec, begun, streaming_callback)
        return _result(await drive_async(session, purse.pay_async, inbox=inbox), purse)

    def _start(
        self,
        messages: Messages,
        generation_kwargs: Mapping[str, object] | None,
        system_prompt: str | None,
        tools: Sequence[Tool] | Sequence[str] | None,
        state: Mapping[str, object],
    ) -> tuple[AgentSpec[S], Run[S]]:
        spec, names = _chosen(self.spec, tools)
        if system_prompt:
            spec = evolve(spec, system_prompt=system_prompt)
        begun = start(
            spec,
            _conversation(messages),
            run_id=os.urandom(8).hex(),
            state=initial_writes(state),
            options=RunOptions(names, generation_kwargs or {}),
        )
        return spec, begun

    def _prepare(
        self, spec: AgentSpec[S], run: Run[S], streaming_callback: StreamingCallback | None
    ) -> tuple[Purse, Session[S]]:
        tell = self._streaming_callback if streaming_callback is None else streaming_callback
        observers = self._observers if tell is None else (*self._observers, _teller(tell))
        purse = Purse(self.chat_generator, self._executor, self._uis, tell)
        return purse, Session(spec, run, observers=observers)


def _blank(schema: type[S] | Mapping[str, object] | None) -> S:
    if isinstance(schema, type) and issubclass(schema, TypedState):
        return schema()
    return cast(S, State(schema=cast(Mapping[str, object], schema or {})))


def _policy(policy: ConfirmationPolicy) -> Policy:
    def verdict(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        params = cast(dict[str, Any], thaw(call.arguments))
        return Ask() if policy.should_ask(tool.name, tool.description, params) else Allow()

    return verdict


def _conversation(messages: Messages) -> Sequence[ChatMessage]:
    if isinstance(messages, str):
        return (ChatMessage.from_user(messages),)
    return (messages,) if isinstance(messages, ChatMessage) else messages


def _chosen(
    spec: AgentSpec[S], tools: Sequence[Tool] | Sequence[str] | None
) -> tuple[AgentSpec[S], tuple[str, ...] | None]:
    """The spec and the tool names that a run was given: its own tools, or some of the agent's."""
    if tools is None:
        return spec, None
    own = [tool for tool in tools if isinstance(tool, Tool)]
    if len(own) == len(tools):
        given = by_name(own)
        rules = FrozenDict({name: rule for name, rule in spec.policies.items() if name in given})
        exits = spec.exit_conditions & {"text", *given}
        return evolve(spec, tools=given, policies=rules, exit_conditions=exits), None
    names = tuple(name for name in tools if isinstance(name, str))
    if len(names) < len(tools):
        raise TypeError(f"tools must be all Tool objects or all tool names, got {list(tools)!r}")
    if unknown := [name for name in names if name not in spec.tools]:
        raise ValueError(f"the agent has no tools {unknown}; it has {sorted(spec.tools)}")
    return spec, names


def _teller(tell: StreamingCallback) -> Observer:
    def observe(before: Run[Any], event: Event, after: Run[Any]) -> None:
        for chunk in tool_result_chunks(before, after):
            tell(chunk)

    return observe


def _result(run: Run[S], purse: Purse) -> AgentResult[S]:
    if not isinstance(run.outcome, Failed):
        return AgentResult(run)
    failure = run.outcome.failure
    cause = purse.errors.get(failure)
    if isinstance(failure, ModelFailure):
        if isinstance(cause, ChatGeneratorError):
            raise cause
        raise ChatGeneratorError(failure) from cause
    raise ToolInvocationError(failure.message, _failed_tool(run, failure)) from cause


def _failed_tool(run: Run[Any], fault: ToolFault) -> str:
    """The tool that the run's last turn says has failed like this."""
    answers = [result for message in run.messages for result in message.tool_call_results]
    return next(one.origin.tool_name for one in reversed(answers) if one.text == fault.message)
