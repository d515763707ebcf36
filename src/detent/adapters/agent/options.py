"""The options of an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, Self, TypedDict, Unpack

from detent.core.state.typevars import S
from detent.core.values.checks import no_attribute

if TYPE_CHECKING:
    from detent.adapters.agent.strategies import Strategies
    from detent.adapters.tools.toolsets import Tools
    from detent.core.control.hooks import Hook
    from detent.core.run.limits import Limits
    from detent.core.tools.retries import Retries
    from detent.ports.approvers import Authenticator
    from detent.ports.chance import Chance
    from detent.ports.chat import AsyncChatGenerator, ChatGenerator, StreamingCallback
    from detent.ports.clock import Clock
    from detent.ports.journal import Journal
    from detent.ports.observer import Observer
    from detent.ports.telemetry import Telemetry
    from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor


class AgentOptions(TypedDict, total=False):
    """The options of `Agent` that are the same whatever its state and its output.

    Attributes:
        name: what lists of runs call the agent.
        system_prompt: instructions that open every conversation.
        exit_conditions: tools that end the run once they have succeeded; "text" stands for a reply
            without tool calls, which always ends it.
        max_agent_steps: how often the model is asked at most; 100 without.
        limits: what else a run may spend: tokens, cost, time.
        streaming_callback: receives the pieces of replies, and tool results, as they come; a
            function or a coroutine function.
        raise_on_tool_invocation_failure: raise `ToolInvocationError` when a tool fails, in place of
            telling the model.
        confirmation_strategies: by tool name, tuple of names, or "*", who is asked before the tool
            runs: see `Strategies`.
        generation_kwargs: options for every model call.
        model_retries: how often the model is asked again after a failure that may pass (a rate
            limit, an overloaded server, a time-out, a stream that was cut), and when.
        tool_executor: who runs the tools' functions.
        parallel_tool_calls: how many tools run at once; 32 without.
        tool_invoker_kwargs: other names of options of tools: `max_workers` is
            `parallel_tool_calls`, `raise_on_failure` is `raise_on_tool_invocation_failure`.
        clock: tells the time where a tool has a time-out, or a call is tried again.
        observers: each sees every event of every run.
        journal: keeps what happens, so that `resume` can go on after a crash.
        approvers: say who makes a decision; with them, only decisions of people whom they know
            count. See `Authenticator`.
        claim_s: how long a run of the journal stays with this process when that falls silent,
            before another one may go on with it; 15 without. See `Agent.resume`.
        chance: gives new ids, and spreads further attempts; tests have one with a seed.
        telemetry: measures every run, those of the agents inside it included: `OpenTelemetry`.
        hooks: functions around model calls and tools and before the end: the first is outermost.
    """

    name: str
    system_prompt: str | None
    exit_conditions: Sequence[str] | None
    max_agent_steps: int | None
    limits: Limits | None
    streaming_callback: StreamingCallback | None
    raise_on_tool_invocation_failure: bool
    confirmation_strategies: Strategies | None
    generation_kwargs: Mapping[str, object] | None
    model_retries: Retries | int
    tool_executor: ToolExecutor | AsyncToolExecutor | None
    parallel_tool_calls: int | None
    tool_invoker_kwargs: Mapping[str, object] | None
    clock: Clock | None
    observers: Sequence[Observer] | None
    journal: Journal | None
    claim_s: float
    approvers: Authenticator | None
    chance: Chance | None
    telemetry: Telemetry | None
    hooks: Sequence[Hook] | None


def copied(parts: Sequence[object], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an agent is made of, where nobody who has a list of it can add to that."""
    names = ("chat_generator", "tools", "state_schema", "output_type")
    made = {**dict(zip(names, parts, strict=True)), **options}
    return {
        name: copy(part) if isinstance(part, list | dict) else part for name, part in made.items()
    }


_RUN, _RUN_ASYNC, _STREAM = "agent.run('…')", "agent.run_async('…')", "agent.stream('…')"
_OTHER_METHODS = {
    **dict.fromkeys(("invoke", "run_sync", "call", "chat", "ask", "kickoff"), _RUN),
    **dict.fromkeys(("ainvoke", "arun", "invoke_async", "acall", "achat"), _RUN_ASYNC),
    **dict.fromkeys(("run_stream", "run_streamed", "iter", "stream_events"), _STREAM),
    "astream": "agent.stream_async('…')",
}
"""What people look for who know another library."""


class OtherMethods:
    """Says of methods of other libraries which ones are meant. Checkers know those that there are.

    >>> OtherMethods().invoke("Hi.")
    Traceback (most recent call last):
    AttributeError: 'OtherMethods' object has no attribute 'invoke'; did you mean agent.run('…')?
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise no_attribute(self, name, _OTHER_METHODS)


class Evolving(OtherMethods, Generic[S]):
    """Makes agents like this one. `_given` is what this one was made of."""

    _given: Mapping[str, Any]

    def evolve(
        self,
        *,
        chat_generator: ChatGenerator | AsyncChatGenerator | None = None,
        tools: Tools[S] | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """An agent like this one, with other parts: ``agent.evolve(journal=journal)``.

        This one stays as it is. An option that is None is as if it had never been given. State and
        output stay what they are, since they are what kind of agent it is.

        Raises:
            TypeError: a part is none of an agent's, or not what it should be.
            WiringError: the parts do not fit together; every misfit is named.
        """
        if kept := sorted({"state_schema", "output_type"} & options.keys()):
            raise TypeError(f"evolve keeps {' and '.join(kept)}: make another agent by Agent(…)")
        own = {"chat_generator": chat_generator, "tools": tools}
        others = {name: part for name, part in own.items() if part is not None}
        return type(self)(**{**self._given, **others, **options})
