"""The parts of an agent put together: the core's rules, the ports, and a run to drive with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from logging import INFO
from math import inf
from typing import Any, Generic

from attrs import Factory, evolve, field, frozen

from detent.adapters.agent.claiming import (
    alone_in,
    claim,
    claim_new,
    given_back_on_failure,
    has_ended,
    require_free,
)
from detent.adapters.agent.continuation import Thread, behind, continued, taken_up
from detent.adapters.agent.inputs import (
    RunRequest,
    conversation_of,
    require_callback,
    require_input,
    require_nothing_else,
    required_run_id,
)
from detent.adapters.agent.measuring import first_leg, known_cost, later_leg, measured
from detent.adapters.agent.origin import origin_of
from detent.adapters.agent.selection import choose_tools, has_toolset, refresh
from detent.adapters.agent.warming import WarmUp, toolsets_in
from detent.adapters.confirmation.rules import Rules
from detent.adapters.control.breakpoints import NO_HOLD, BreakPoints, holds_of
from detent.adapters.drivers.callbacks import CallbackDispatcher, PieceListener, ResultTeller
from detent.adapters.drivers.company.known_runs import KnownRuns
from detent.adapters.drivers.leases import CLAIM_S, Keeper, Lease, keeper_of
from detent.adapters.drivers.loading import Loaded, loaded_steps, require_name
from detent.adapters.drivers.performer import EffectPerformer
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.run_handle import NestedPerformers, RunHandle
from detent.adapters.drivers.session import Session
from detent.adapters.drivers.steps import Steps, answer
from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock
from detent.adapters.system.threads_and_loops import FunctionToolExecutor
from detent.adapters.telemetry.logs import LOGGER, logging_observer
from detent.adapters.tools.toolsets import Tools
from detent.core.chat.messages import labels_of
from detent.core.control.hooks import Hook
from detent.core.machine.step import start
from detent.core.run.events import Resumed
from detent.core.run.run import NO_OPTIONS, Run, RunOptions
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.state.state import initial_writes
from detent.core.state.typevars import S
from detent.core.storage.snapshot import AgentSnapshot, snapshot_from
from detent.ports.approvers import Authenticator
from detent.ports.chance import Chance
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    StreamingCallback,
    require_chat_generator,
)
from detent.ports.clock import Clock
from detent.ports.journal import Journal
from detent.ports.listing import Listing
from detent.ports.observer import Observer
from detent.ports.results import AgentResult
from detent.ports.telemetry import Leg, Telemetry
from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor


@frozen
class Assembly(Generic[S]):
    """An agent's rules and ports; makes handles of runs. `tools` are as the user gave them."""

    spec: AgentSpec[S]
    chat_generator: ChatGenerator | AsyncChatGenerator
    tools: Tools[S] = ()
    rules: Rules = field(factory=Rules)
    streaming_callback: StreamingCallback | None = None
    observers: Sequence[Observer] = ()
    journal: Journal | None = None
    hooks: Sequence[Hook] = ()
    strategies: Mapping[str, Any] = field(factory=dict)
    name: str = ""
    engine: str = field(kw_only=True, default="")  # whose history drives the runs that are begun
    claim_s: float = CLAIM_S
    approvers: Authenticator | None = field(default=None, kw_only=True)
    tool_executor: ToolExecutor | AsyncToolExecutor = field(
        kw_only=True, factory=FunctionToolExecutor
    )
    clock: Clock = field(kw_only=True, factory=SystemClock)
    chance: Chance = field(kw_only=True, factory=SystemChance)
    listener: PieceListener | None = field(kw_only=True, default=None)
    telemetry: Telemetry | None = field(kw_only=True, default=None)
    _warm: WarmUp = field(factory=WarmUp, eq=False, repr=False)
    known_runs: KnownRuns = field(factory=KnownRuns, eq=False, repr=False, kw_only=True)
    _keeper: Keeper | None = field(
        init=False,
        repr=False,
        default=Factory(lambda own: keeper_of(own.journal, own.claim_s), takes_self=True),
    )
    has_toolset: bool = field(
        init=False, repr=False, default=Factory(lambda own: has_toolset(own.tools), takes_self=True)
    )

    def __attrs_post_init__(self) -> None:
        output = self.spec.output
        offers = bool(self.spec.tools) or not (output is None or output.is_native(tools=False))
        require_chat_generator(self.chat_generator, tools=offers)

    def warm_up(self) -> None:
        """Have every part load what it needs that has a method for it, once."""
        self._warm(*self._parts(self.current_spec))

    @property
    def is_warm(self) -> bool:
        """Whether all parts are ready; what a toolset holds may change."""
        return not self.has_toolset and self._warm.is_done(self._parts(self.spec))

    def _parts(self, spec: AgentSpec[S]) -> tuple[object, ...]:
        return (self.chat_generator, self.tool_executor, *spec.tools.values())

    def begin(
        self,
        request: RunRequest[S],
        streaming_callback: StreamingCallback | None,
        after: AgentResult[S, Any] | None = None,
        thread_id: str | None = None,
    ) -> Steps[RunHandle[S]]:
        """A run that is new, or goes on from a snapshot, or where another has ended."""
        begun = self._begin(request, streaming_callback, after, thread_id)
        return alone_in(self.keeper, thread_id, begun) if thread_id else begun

    def _begin(self, request: RunRequest[S], *given: Any) -> Steps[RunHandle[S]]:
        if (snapshot := request.snapshot) is not None:
            return (yield from self._taken_up(snapshot, request, *given))
        streaming_callback, after, thread_id = given
        spec, names = self._chosen(request.tools)
        if request.system_prompt:
            spec = evolve(spec, system_prompt=request.system_prompt)
        run_id, nonce = request.run_id or self.chance.new_id(), self.chance.new_id()
        options = request.generation_kwargs or {}
        thread = None if thread_id is None else Thread(self.journal, thread_id)
        ended = None if thread is None else partial(thread.end, spec, after)
        before, began = (yield from answer(self.journal, ended)) if ended else (after, -inf)
        opening, messages = spec, conversation_of(request.messages)
        if before is not None or spec.system_prompt:
            opening, messages = continued(spec, before, messages)
        require_input(request.state, messages, opening)
        leg = first_leg(self.telemetry, self.name, run_id, thread_id, self.journal)
        new = start(
            *(opening, messages),
            run_id=run_id,
            state=initial_writes(request.state),
            options=RunOptions(names, options) if options or names is not None else NO_OPTIONS,
            at=self.clock.now() if spec.is_timed else None,
            nonce=nonce if leg is None else f"{nonce}{leg.mark}",
            started_by=request.started_by,
            labels=labels_of(messages),
        )
        at = Loaded(new if before is None else behind(new, before), 0)
        ports = streaming_callback, request.break_point, leg
        return (yield from self._begun(spec, at, *ports, thread, began))

    def _taken_up(
        self,
        snapshot: AgentSnapshot | Mapping[str, Any] | str,
        request: RunRequest[S],
        streaming_callback: StreamingCallback | None,
        after: AgentResult[S, Any] | None,
        thread_id: str | None,
    ) -> Steps[RunHandle[S]]:
        """A run that goes on from a snapshot, which has all that is said of a new one."""
        spec, names = self._chosen(request.tools)
        require_nothing_else(request, after=after, thread_id=thread_id, tools=names)
        stored, ports = snapshot_from(snapshot), (self.journal, self.clock, self.chance)
        take_up = partial(taken_up, spec, stored, request.run_id, *ports, self.approvers)
        at = yield from answer(self.journal, take_up)
        leg = yield from later_leg(self.telemetry, self.name, at.run, self.journal)
        return (yield from self._begun(spec, at, streaming_callback, request.break_point, leg))

    def resume(
        self,
        run_id: str,
        streaming_callback: StreamingCallback | None,
        break_point: BreakPoints | None,
        tools: Tools[S] | None,
        *,
        take_over: bool = False,
        is_retried: bool = True,
    ) -> Steps[RunHandle[S]]:
        """A run of the journal, which goes on in this process; one that failed if it `is_retried`.

        Raises:
            RunBusyError, RunOfEngineError: another one drives it, and it is not to be taken over.
        """
        run_id, (spec, _) = required_run_id(run_id), self._chosen(tools)
        require_name(run_id)
        journal, keeper = self.required_journal, self.keeper
        if not (keeper is None or take_over):
            yield from require_free(keeper, journal, run_id)
        at = yield from loaded_steps(journal, spec, run_id)
        if has_ended(at.run, is_retried=is_retried):
            return self._handle(spec, at, streaming_callback, break_point)
        lease = yield from claim(keeper, journal, at, take_over=take_over)

        def go_on() -> Steps[RunHandle[S]]:
            now, later = at, partial(journal.read, run_id, at.length)
            if (yield from answer(journal, lambda: list(later()))):  # it was not ours when we read
                now = yield from loaded_steps(journal, spec, run_id)
            leg = yield from later_leg(self.telemetry, self.name, now.run, journal)
            handle = self._handle(spec, now, streaming_callback, break_point, lease, leg)
            resumed = Resumed(self.chance.new_id(), self.clock.now())
            is_over = has_ended(now.run, is_retried=is_retried)
            return handle if is_over else evolve(handle, opening=(resumed,))

        return (yield from given_back_on_failure(lease, go_on()))

    def _begun(  # noqa: PLR0917 - as below
        self,
        spec: AgentSpec[S],
        at: Loaded[S],
        streaming_callback: StreamingCallback | None,
        break_point: BreakPoints | None,
        leg: Leg | None,
        thread: Thread | None = None,
        behind_s: float = -inf,
    ) -> Steps[RunHandle[S]]:
        """A new run, of a conversation where there is a thread, whose last run began `behind_s`."""
        lease = yield from claim_new(self.keeper, self.journal, at.run.id)
        try:
            ports = streaming_callback, break_point, lease, leg
            handle = self._handle(spec, at, *ports, thread.thread_id if thread else "")
            if handle.recorder is not None:
                origin = origin_of(self.name, self.current_spec, self.engine)
                yield from handle.recorder.begin(at.run, behind_s, origin)
            if thread is not None:
                yield from answer(self.journal, partial(thread.require_begun, at.run.id))
        except BaseException:  # or whoever keeps the error keeps the run
            if lease is not None:
                yield from lease.release_steps()
            raise
        return handle

    @property
    def keeper(self) -> Keeper | None:
        """Who claims runs for this process; a fork has one of its own."""
        if self._keeper is None or self._keeper.pid == os.getpid():
            return self._keeper
        return keeper_of(self.journal, self.claim_s)

    @property
    def current_spec(self) -> AgentSpec[S]:
        """The rules with the tools that there are now, which toolsets may have to look up."""
        if not self.has_toolset:
            return self.spec
        self._warm(*toolsets_in(self.tools))
        return refresh(self.spec, self.tools)

    def _chosen(
        self, tools: Tools[S] | Sequence[str] | None
    ) -> tuple[AgentSpec[S], tuple[str, ...] | None]:
        """The rules of a run that gets these tools; and their names, if it only uses some."""
        if tools is None and not self.has_toolset:
            return self._ready_spec, None
        self._warm(*toolsets_in(tools))
        spec, names = choose_tools(self.current_spec, tools)
        self._warm(*self._parts(spec))
        return spec, names

    @cached_property
    def _ready_spec(self) -> AgentSpec[S]:
        """The agent's own rules, once all parts are ready: from then on they stay so."""
        self._warm(*self._parts(self.spec))
        return self.spec

    @property
    def required_journal(self) -> Journal:
        """The journal. Raises ValueError where there is none."""
        if self.journal is None:
            raise ValueError("this agent has no journal; give it one: Agent(…, journal=…)")
        return self.journal

    def _handle(  # noqa: PLR0917 - what two ways to begin share
        self,
        spec: AgentSpec[S],
        at: Loaded[S],
        streaming_callback: StreamingCallback | None,
        break_point: BreakPoints | None,
        lease: Lease | None = None,
        leg: Leg | None = None,
        thread_id: str = "",
    ) -> RunHandle[S]:
        if streaming_callback is not None:
            require_callback(streaming_callback)
        tell = self.streaming_callback if streaming_callback is None else streaming_callback
        rules = with_inner(self.rules, spec) if spec.agents else self.rules
        holds = NO_HOLD if break_point is None else holds_of(break_point, spec)
        recorder, quiet = None, Listing(self.name, thread_id)
        if self.journal is not None:
            recorder = Recorder(self.journal, spec, self.clock, at, listing=quiet, lease=lease)
        performer = self.performer(spec, tell, lease)
        performers = nested_performers(spec, performer)
        observers = self.watching(spec, rules, performer.dispatcher, at.run)
        if leg is not None:
            performers, observers = measured(performers, leg, at.run), [*observers, leg.observe]
        session = Session(
            spec,
            at.run,
            observers=observers,
            clock=self.clock,
            hold=holds,
            passed=at.passed,
            record=recorder,
            missed=None if recorder is None else recorder.missed,
            hooks=self.hooks,
            inner_hooks=inner_hooks_of(spec) if spec.agents else None,
        )
        if at.run.decisions:  # most runs are new
            rules.tell(spec, at.run.decisions)
        return RunHandle(session, performers, holds, recorder, rules, lease, leg=leg)

    def performer(
        self, spec: AgentSpec[S], tell: StreamingCallback | None, lease: Lease | None
    ) -> EffectPerformer:
        """The agent's own ports."""
        return EffectPerformer(
            *(self.chat_generator, self.tool_executor, self.rules.askers, tell),
            clock=self.clock,
            chance=self.chance.number,
            price=known_cost(spec.limits),
            lease=lease,
            approvers=self.approvers,
            listener=self.listener,
        )

    def watching(
        self, spec: AgentSpec[S], rules: Rules, tell: CallbackDispatcher | None, run: Run[S]
    ) -> list[Observer]:
        """The observers of a run: policies that learn, the user's, who tells, and who logs."""
        learning = [rules.observer(spec)] if rules.learners or rules.inner else []
        telling = [] if tell is None else [ResultTeller(spec, tell)]
        logging = [logging_observer(spec, run)] if LOGGER.isEnabledFor(INFO) else []
        return [*learning, *self.observers, *telling, *logging]


@frozen(init=False)
class AssembledTool(Delegate):
    """A tool that is an agent with its ports: `AgentTool` makes them."""

    assembly: Assembly[Any] = field(kw_only=True, eq=False, repr=False)


def nested_performers(spec: AgentSpec[Any], own: EffectPerformer) -> NestedPerformers:
    """The performer of an agent, with those of the agents among its tools."""
    if not spec.agents:
        return NestedPerformers(own)
    tools = [tool for tool in spec.tools.values() if isinstance(tool, AssembledTool)]
    return NestedPerformers(own, {tool.name: _inner(tool, own) for tool in tools})


def with_inner(rules: Rules, spec: AgentSpec[Any]) -> Rules:
    """The rules of an agent, with those of the agents among its tools."""
    inner = {
        tool.name: with_inner(tool.assembly.rules, tool.assembly.spec)
        for tool in spec.tools.values()
        if isinstance(tool, AssembledTool)
    }
    return evolve(rules, inner=inner)


def inner_hooks_of(spec: AgentSpec[Any]) -> dict[tuple[str, ...], Sequence[Hook]]:
    """The hooks of the agents among its tools, by their names from the outermost."""
    found: dict[tuple[str, ...], Sequence[Hook]] = {}
    for tool in spec.tools.values():
        if isinstance(tool, AssembledTool):
            deeper = inner_hooks_of(tool.assembly.spec).items()
            found |= {(tool.name,): tool.assembly.hooks}
            found |= {(tool.name, *names): hooks for names, hooks in deeper}
    return {names: hooks for names, hooks in found.items() if hooks}


def _inner(tool: AssembledTool, outer: EffectPerformer) -> NestedPerformers:
    parts = tool.assembly
    performer = evolve(
        outer,
        chat=parts.chat_generator,
        tools=parts.tool_executor,
        uis=parts.rules.askers,
        streaming_callback=outer.dispatcher and outer.dispatcher.marked(tool.name),
        price=known_cost(parts.spec.limits, outer.price),
    )
    return nested_performers(parts.spec, performer)
