"""The parts of an agent put together: the core's rules, the ports, and a run to drive with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast

from attrs import evolve, field, frozen

from detent.adapters.agent.inputs import require_callback, require_conversation
from detent.adapters.agent.selection import chosen, up_to_date
from detent.adapters.confirmation.rules import NO_RULES, Rules
from detent.adapters.drivers.callbacks import CallbackDispatcher
from detent.adapters.drivers.observations import observing
from detent.adapters.drivers.performer import EffectPerformer
from detent.adapters.drivers.performers import NestedPerformers
from detent.adapters.drivers.recording import Loaded, Recorder, loaded
from detent.adapters.drivers.run_handle import RunHandle
from detent.adapters.drivers.session import Session
from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock
from detent.adapters.system.threads_and_loops import FunctionToolExecutor
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import StreamingChunk
from detent.core.control.breakpoints import BreakPoints, holds_of
from detent.core.control.hooks import Hook
from detent.core.control.pending import decided_run
from detent.core.control.streaming import tool_result_chunks
from detent.core.machine.delegation import is_timed
from detent.core.machine.recovery import rebound
from detent.core.machine.step import start, step
from detent.core.run.events import Event, Resumed
from detent.core.run.limits import Limits, limits_of
from detent.core.run.output_type import OutputType
from detent.core.run.run import NO_OPTIONS, Run, RunOptions
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.state.state import State, TypedState, initial_writes
from detent.core.state.typevars import S, T
from detent.core.storage.snapshot import AgentSnapshot, run_of, snapshot_from
from detent.core.tools.retries import Retries, retries_of
from detent.core.tools.tool import by_name
from detent.core.tools.toolsets import Tools, flat
from detent.ports.chance import Chance
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    StreamingCallback,
    require_chat_generator,
    schema_mode_of,
)
from detent.ports.clock import Clock
from detent.ports.journal import Journal
from detent.ports.observer import Observer
from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor

if TYPE_CHECKING:
    from detent.adapters.agent.strategies import Strategies

Messages: TypeAlias = str | ChatMessage | Sequence[ChatMessage]
"""A conversation: its messages, one message, or what the user says as plain text."""


def _executor(given: ToolExecutor | AsyncToolExecutor | None) -> ToolExecutor | AsyncToolExecutor:
    return FunctionToolExecutor() if given is None else given


def _clock(given: Clock | None) -> Clock:
    return SystemClock() if given is None else given


def _chance(given: Chance | None) -> Chance:
    return SystemChance() if given is None else given


@frozen
class Assembly(Generic[S]):
    """An agent's rules and its ports; it makes errands of runs.

    `tools` are as the user gave them: what a toolset holds may change between runs.
    """

    spec: AgentSpec[S]
    chat_generator: ChatGenerator | AsyncChatGenerator
    tools: Tools[S] = ()
    rules: Rules = field(factory=Rules)
    streaming_callback: StreamingCallback | None = None
    executor: ToolExecutor | AsyncToolExecutor = field(default=None, converter=_executor)
    clock: Clock = field(default=None, converter=_clock)
    observers: Sequence[Observer] = ()
    journal: Journal | None = None
    chance: Chance = field(default=None, converter=_chance)
    hooks: Sequence[Hook] = ()
    strategies: Mapping[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        output = self.spec.output
        offers = bool(self.spec.tools) or not (output is None or output.is_native(tools=False))
        require_chat_generator(self.chat_generator, tools=offers)

    def watched(self, tell: Callable[[Event], object]) -> Assembly[S]:
        """The same, with somebody who is told each event that changes a run."""
        return evolve(self, observers=(*self.observers, observing(tell)))

    def warm_up(self) -> None:
        """Have every part load what it needs that has a method for it."""
        for part in (self.chat_generator, self.executor, *self.spec.tools.values()):
            warm_up = getattr(part, "warm_up", None)
            if callable(warm_up):
                warm_up()

    def begun(
        self,
        messages: Messages,
        streaming_callback: StreamingCallback | None,
        break_point: BreakPoints | None,
        *,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None,
        generation_kwargs: Mapping[str, object] | None,
        system_prompt: str | None,
        tools: Tools[S] | Sequence[str] | None,
        run_id: str | None,
        state: Mapping[str, object],
    ) -> RunHandle[S]:
        """A run that is new, or goes on from a snapshot."""
        spec, names = chosen(up_to_date(self.spec, self.tools), tools)
        if snapshot is not None:
            _require_nothing_else(
                messages=messages,
                tools=names,
                generation_kwargs=generation_kwargs,
                system_prompt=system_prompt,
                **state,
            )
            at = self._stopped(spec, snapshot_from(snapshot), run_id)
            return self._errand(spec, at, streaming_callback, break_point)
        if system_prompt:
            spec = evolve(spec, system_prompt=system_prompt)
        chose = names is not None or generation_kwargs
        new = start(
            spec,
            _conversation(messages),
            run_id=run_id or self.chance.new_id(),
            state=initial_writes(state),
            options=RunOptions(names, generation_kwargs or {}) if chose else NO_OPTIONS,
            at=self._time(spec),
        )
        return self._errand(spec, Loaded(new, 0), streaming_callback, break_point)

    def resumed(
        self,
        run_id: str,
        streaming_callback: StreamingCallback | None,
        break_point: BreakPoints | None,
        tools: Tools[S] | None,
    ) -> RunHandle[S]:
        """A run of the journal, which goes on in this process."""
        spec, _ = chosen(up_to_date(self.spec, self.tools), tools)
        at = loaded(self.kept(), spec, run_id)
        errand = self._errand(spec, at, streaming_callback, break_point)
        errand.session.feed(Resumed(self.chance.new_id(), self._time(spec)))
        return errand

    def _time(self, spec: AgentSpec[S]) -> float | None:
        return self.clock.now() if is_timed(spec) else None

    def kept(self) -> Journal:
        """The journal. Raises ValueError where there is none."""
        if self.journal is None:
            raise ValueError("this agent has no journal; give it one: Agent(…, journal=…)")
        return self.journal

    def _stopped(self, spec: AgentSpec[S], given: AgentSnapshot, run_id: str | None) -> Loaded[S]:
        run, _ = decided_run(spec, run_of(spec, given), given.decisions, self.clock.now())
        run = step(spec, run, Resumed(self.chance.new_id(), self._time(spec)))
        if self.journal is not None:  # which may have that run already, further on
            run = rebound(spec, run, run_id or self.chance.new_id())
        return Loaded(run, 0, given.held)

    def _errand(
        self,
        spec: AgentSpec[S],
        at: Loaded[S],
        streaming_callback: StreamingCallback | None,
        break_point: BreakPoints | None,
    ) -> RunHandle[S]:
        tell = self.streaming_callback
        if streaming_callback is not None:
            require_callback(streaming_callback)
            tell = streaming_callback
        performer = self._purse(spec, tell)
        rules = _with_inner(self.rules, spec) if spec.agents else self.rules
        holds = holds_of(break_point, spec)
        recorder = None
        if self.journal is not None:
            recorder = Recorder(self.journal, spec, self.clock.now, at)
            if at.length == 0:
                recorder.begin(at.run)
        session = Session(
            spec,
            at.run,
            observers=self._watching(spec, rules, performer.dispatcher),
            clock=self.clock,
            hold=holds,
            passed=at.passed,
            record=recorder,
            hooks=self.hooks,
            inner_hooks=_inner_hooks(spec) if spec.agents else None,
        )
        if at.run.decisions:
            rules.tell(spec, at.run.decisions)
        performers = _purses(spec, performer) if spec.agents else NestedPerformers(performer)
        return RunHandle(session, performers, holds, recorder, rules)

    def _purse(self, spec: AgentSpec[S], tell: StreamingCallback | None) -> EffectPerformer:
        return EffectPerformer(
            self.chat_generator,
            self.executor,
            self.rules.askers,
            tell,
            clock=self.clock,
            chance=self.chance.number,
            price=spec.limits.price,
        )

    def _watching(
        self, spec: AgentSpec[S], rules: Rules, tell: CallbackDispatcher | None
    ) -> list[Observer]:
        """The observers of a run: policies that learn, the user's, and who tells of results."""
        learning = [rules.observer(spec)] if rules.learners or rules.inner else []
        return [*learning, *self.observers, *([] if tell is None else [_telling(spec, tell)])]


@frozen(init=False)
class AssembledTool(Delegate):
    """A tool that is an agent with its ports: `AgentTool` makes them."""

    assembly: Assembly[Any] = field(kw_only=True, eq=False, repr=False)


def _purses(spec: AgentSpec[Any], own: EffectPerformer) -> NestedPerformers:
    """The purse of an agent, with those of the agents among its tools."""
    tools = [tool for tool in spec.tools.values() if isinstance(tool, AssembledTool)]
    return NestedPerformers(own, {tool.name: _inner(tool, own) for tool in tools})


def _with_inner(rules: Rules, spec: AgentSpec[Any]) -> Rules:
    """The rules of an agent, with those of the agents among its tools."""
    inner = {
        tool.name: _with_inner(tool.assembly.rules, tool.assembly.spec)
        for tool in spec.tools.values()
        if isinstance(tool, AssembledTool)
    }
    return evolve(rules, inner=inner)


def _inner_hooks(spec: AgentSpec[Any]) -> dict[tuple[str, ...], Sequence[Hook]]:
    """The hooks of the agents among its tools, by their names from the outermost."""
    found: dict[tuple[str, ...], Sequence[Hook]] = {}
    for tool in spec.tools.values():
        if isinstance(tool, AssembledTool):
            deeper = _inner_hooks(tool.assembly.spec).items()
            found |= {(tool.name,): tool.assembly.hooks}
            found |= {(tool.name, *names): hooks for names, hooks in deeper}
    return {names: hooks for names, hooks in found.items() if hooks}


def _inner(tool: AssembledTool, outer: EffectPerformer) -> NestedPerformers:
    parts = tool.assembly
    marked = (
        None if outer.dispatcher is None else partial(_tell_marked, outer.dispatcher, tool.name)
    )
    performer = evolve(
        outer,
        chat=parts.chat_generator,
        tools=parts.executor,
        uis=parts.rules.askers,
        streaming_callback=marked,
        price=parts.spec.limits.price or outer.price,
    )
    return _purses(parts.spec, performer)


def _tell_marked(tell: CallbackDispatcher, name: str, chunk: StreamingChunk) -> None:
    tell(evolve(chunk, agents=(name, *chunk.agents)))


def assembled(
    chat_generator: ChatGenerator | AsyncChatGenerator,
    tools: Tools[S],
    state_schema: type[S] | Mapping[str, object] | None,
    output_type: type[object] | OutputType[object] | None,
    *,
    system_prompt: str | None = None,
    exit_conditions: Sequence[str] = ("text",),
    max_agent_steps: int | None = None,
    limits: Limits | None = None,
    streaming_callback: StreamingCallback | None = None,
    raise_on_tool_invocation_failure: bool = False,
    confirmation_strategies: Strategies | None = None,
    generation_kwargs: Mapping[str, object] | None = None,
    model_retries: Retries | int = 2,
    tool_executor: ToolExecutor | AsyncToolExecutor | None = None,
    parallel_tool_calls: int | None = None,
    clock: Clock | None = None,
    observers: Sequence[Observer] = (),
    journal: Journal | None = None,
    chance: Chance | None = None,
    hooks: Sequence[Hook] = (),
) -> Assembly[S]:
    """The parts that `Agent` is given, put together; see there."""
    rules = _rules(confirmation_strategies) if confirmation_strategies else NO_RULES
    spec: AgentSpec[S] = AgentSpec(
        state=blank_state(state_schema),
        tools=by_name(flat(tools)),
        system_prompt=system_prompt,
        exit_conditions=_exits(exit_conditions),
        policies=rules.policies,
        wordings=rules.wordings,
        limits=limits_of(limits, max_agent_steps, parallel_tool_calls),
        generation_kwargs=generation_kwargs or {},
        model_retries=retries_of(model_retries),
        fail_on_tool_fault=raise_on_tool_invocation_failure,
        output=output_for(chat_generator, output_type),
    )
    ports = (tool_executor, clock, observers, journal, chance, hooks, rules.named)
    return Assembly(spec, chat_generator, tools, rules, streaming_callback, *ports)


def _rules(strategies: Strategies) -> Rules:
    from detent.adapters.agent.strategies import (
        rules_of,  # with all policies, which most never need
    )

    return rules_of(strategies)


def _exits(given: Sequence[str]) -> frozenset[str]:
    return frozenset([given] if isinstance(given, str) else given)


def blank_state(schema: type[S] | Mapping[str, object] | None) -> S:
    """The state that a schema describes, when nothing has happened."""
    if isinstance(schema, type) and issubclass(schema, TypedState):
        return schema()
    if schema is not None and not isinstance(schema, Mapping):
        raise TypeError(
            "state_schema is a dict, {'key': {'type': …}}, or a subclass of TypedState, got "
            f"{schema!r}"
        )
    return cast(S, State(schema=cast(Mapping[str, object], schema or {})))


def output_for(
    chat_generator: object, given: type[T] | OutputType[T] | None
) -> OutputType[T] | None:
    """The output type as the core wants it: it says when its schema goes to the provider."""
    if given is None:
        return None
    wanted = given if isinstance(given, OutputType) else OutputType(given)
    return evolve(wanted, native=wanted.native or schema_mode_of(chat_generator))


def _conversation(messages: Messages) -> Sequence[ChatMessage]:
    if isinstance(messages, str):
        return (ChatMessage.from_user(messages),)
    if isinstance(messages, ChatMessage):
        return (messages,)
    require_conversation(messages)
    return messages


def _telling(spec: AgentSpec[Any], tell: CallbackDispatcher) -> Observer:
    def observe(before: Run[Any], event: Event, after: Run[Any]) -> None:
        for chunk in tool_result_chunks(spec, before, after):
            tell(chunk)

    return observe


def _require_nothing_else(**given: object) -> None:
    """A stored run goes on as it was begun: refuse what would change it."""
    if named := [name for name, value in given.items() if value]:
        raise ValueError(
            f"a snapshot goes on with its own messages, options and state; leave out "
            f"{', '.join(named)}"
        )
