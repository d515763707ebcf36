"""A run on its way to where nothing more can be performed, and what that means for its caller."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from attrs import field, frozen

from detent.adapters.confirmation.rules import Rules
from detent.adapters.control.breakpoints import Holds, rule_to_json
from detent.adapters.drivers.leases import Lease
from detent.adapters.drivers.performer import EffectPerformer
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.session import Session
from detent.adapters.drivers.steps import Steps, at_once, in_event_loop
from detent.adapters.providers.registry import provider_of
from detent.adapters.telemetry.logs import log_waiting
from detent.core.chat.replies import ModelFailure
from detent.core.errors import StateError
from detent.core.machine.outputs import output_of
from detent.core.run.effects import Effect
from detent.core.run.events import Event
from detent.core.run.outcomes import Failed
from detent.core.run.run import Done, Run
from detent.core.run.spec import AgentSpec
from detent.core.schema.conversion import ConversionError
from detent.core.state.typevars import S
from detent.core.storage.snapshot import snapshot_of
from detent.core.tools.result import ToolFault
from detent.ports.chat import ChatGeneratorError
from detent.ports.journal import JournalConflictError
from detent.ports.pending import pending
from detent.ports.results import (
    AgentResult,
    BreakpointException,
    StreamingCallbackError,
    ToolInvocationError,
)
from detent.ports.telemetry import Leg, Model

if TYPE_CHECKING:
    from detent.adapters.drivers.asyncio import AsyncInbox
    from detent.adapters.drivers.threads import Inbox
    from detent.adapters.system.hearing import Listen

Errors = Mapping[ModelFailure, BaseException]
"""What the ports raised, by the failure that the run knows."""


@frozen
class NestedPerformers:
    """An agent's own ports, and by name those of the agents that work for it."""

    own: EffectPerformer
    agents: Mapping[str, NestedPerformers] = field(factory=dict)

    def perform(self, effect: Effect) -> Event | None:
        """As `EffectPerformer.perform`."""
        return self._of(effect).perform(effect)

    def perform_async(self, effect: Effect) -> Coroutine[Any, Any, Event | None]:
        """As `perform`, without blocking the event loop."""
        return self._of(effect).perform_async(effect)

    def drop(self, effect: Effect) -> None:
        """As `EffectPerformer.drop`."""
        self._of(effect).drop(effect)

    @property
    def quickest(self) -> NestedPerformers | EffectPerformer:
        """Who performs the same in fewer steps."""
        return self if self.agents else self.own

    def _of(self, effect: Effect) -> EffectPerformer:
        performers = self
        for at in effect.path:
            performers = performers.agents[at.tool_name]
        return performers.own


@frozen
class MeasuredPerformers(NestedPerformers):
    """Performers that somebody measures."""

    leg: Leg = field(kw_only=True)

    def perform(self, effect: Effect) -> Event | None:
        """As `EffectPerformer.perform`."""
        performer = self._of(effect)
        with self.leg.during(effect, _model_of(performer.chat)) as came:
            event = performer.perform(effect)
            came(event)
            return event

    async def perform_async(self, effect: Effect) -> Event | None:
        """As `perform`, without blocking the event loop."""
        performer = self._of(effect)
        with self.leg.during(effect, _model_of(performer.chat)) as came:
            event = await performer.perform_async(effect)
            came(event)
            return event

    @property
    def quickest(self) -> NestedPerformers:
        """These: no other is measured."""
        return self


def _model_of(chat: object) -> Model:
    """Who answers; a generator that is none of the providers' goes by its class."""
    provider = provider_of(chat) or type(chat).__name__.removesuffix("ChatGenerator").lower()
    model: object = getattr(chat, "model", "")
    return Model(provider, model if isinstance(model, str) else str(getattr(model, "name", "")))


@frozen
class RunHandle(Generic[S]):
    """A session, the ports that perform its effects, its breakpoints, its recorder and its lease.

    `opening` is what happens to the run before anything else does; `leg` measures it.

    For a loop of one's own: `take` from the session, `perform`, `land` in the session,
    until nothing is under way; then `result`. Until then other processes cannot resume the run.
    """

    session: Session[S]
    performer: NestedPerformers
    rules: Holds
    recorder: Recorder | None = None
    confirmation: Rules = field(factory=Rules)
    lease: Lease | None = None
    opening: tuple[Event, ...] = ()
    leg: Leg | None = None

    def go(self, inbox: Inbox | None, *, raises: bool) -> AgentResult[S, Any]:
        """Drive the run, blocking, once. `raises` says whether a breakpoint raises."""
        from detent.adapters.drivers.threads import drive

        performer = self.performer.quickest
        try:
            pay, drop, listen = performer.perform, performer.drop, self._listen()
            if self.recorder is not None:
                self.recorder.write_in_place()
            if self.opening:
                self.session.feed(*self.opening)
            drive(self.session, pay, drop=drop, inbox=inbox, listen=listen)
            return at_once(self._result_steps(raises=raises))
        except KeyboardInterrupt as stopped:
            if self.recorder is not None:
                way = f"agent.resume({self.session.folded.id!r})"
                stopped.add_note(f"nothing is lost: {way} goes on with the run")
            raise
        finally:
            self._leave()

    async def go_async(self, inbox: AsyncInbox | None, *, raises: bool) -> AgentResult[S, Any]:
        """As `go`, in the running event loop."""
        from detent.adapters.drivers.asyncio import drive_async

        dispatcher = self.performer.own.dispatcher
        if dispatcher is not None:
            dispatcher.loop = asyncio.get_running_loop()
        performer = self.performer.quickest
        try:
            if self.opening:
                await in_event_loop(self.session.feed_steps(*self.opening))
            pay, listen = performer.perform_async, self._listen()
            await drive_async(self.session, pay, inbox=inbox, listen=listen)
            if dispatcher is not None:
                await dispatcher.told()
            return await in_event_loop(self._result_steps(raises=raises))
        finally:
            await self.leave_async()

    def _listen(self) -> Listen | None:
        """How to be told what others write to the run, if it is written down."""
        if self.recorder is None:
            return None
        return partial(self.recorder.listen, self.session.folded.id)

    async def leave_async(self) -> None:
        """Leave the run to whoever resumes it, as it is."""
        if self.lease is not None:
            await in_event_loop(self.lease.release_steps())
        self._leave()

    def _leave(self) -> None:
        """Hold neither the run nor an error: an error holds this handle by way of its frames."""
        self._give_back()
        self.session.leave()
        self.performer.own.errors.clear()
        if self.performer.own.dispatcher is not None:
            self.performer.own.dispatcher.error = None

    def result(self, *, raises: bool = True) -> AgentResult[S, Any]:
        """What the run has come to, when it is no longer driven.

        Args:
            raises: whether a run that a breakpoint has stopped raises.

        Raises:
            BreakpointException: a breakpoint has stopped the run.
            HITLBreakpointException: calls wait for a human whom nobody here can ask.
            ChatGeneratorError: the model gave no answer.
            ToolInvocationError: a tool failed in a run that ends when one does.
            StreamingCallbackError: the streaming callback has raised.
        """
        try:
            return at_once(self._result_steps(raises=raises))
        finally:
            self._give_back()

    def _give_back(self) -> None:
        if self.leg is not None:
            self.leg.end(sys.exception())
        if self.lease is not None:
            self.lease.release()

    def _result_steps(self, *, raises: bool) -> Steps[AgentResult[S, Any]]:
        result = yield from self._come_to(raises=raises)
        dispatcher = self.performer.own.dispatcher
        if dispatcher is not None and dispatcher.error is not None:
            raise StreamingCallbackError(result) from dispatcher.error
        return result

    def _come_to(self, *, raises: bool) -> Steps[AgentResult[S, Any]]:
        run, held = self.session.run, self.session.held
        if isinstance(run.phase, Done):
            return ended_result(self.session.spec, run, self.performer.own.errors)
        if held and self.recorder is not None:
            try:
                yield from self.recorder.stop(run, held)
            except JournalConflictError:
                # What people say ends a stop. If they have been faster, it is as if it had been so.
                if not (yield from self.recorder.missed(run, ())):
                    raise
        at = self.performer.own.clock.now()
        result = _stopped(self.session.spec, run, held, self.rules, at=at, raises=raises)
        if raises:
            is_stored = self.recorder is not None
            self.confirmation.stop(self.session.spec, result, is_stored=is_stored)
        return result


def ended_result(spec: AgentSpec[S], run: Run[S], errors: Errors) -> AgentResult[S, Any]:
    """The result of a run that has ended.

    Raises:
        ChatGeneratorError: the model gave no answer.
        ToolInvocationError: a tool failed in a run that ends when one does.
    """
    outcome = run.outcome
    if not isinstance(outcome, Failed):
        return AgentResult(run, (), None, partial(output_of, spec, run))
    failure = outcome.failure
    # RULE: no error that is raised here has a name, or it would hold itself, by way of this frame
    if isinstance(failure, ToolFault):
        raise ToolInvocationError(failure.message, _failed_tool(run, failure), run) from (
            failure.cause or _cause_of(failure)
        )
    if isinstance(errors.get(failure), ChatGeneratorError):
        raise _unanswered(run, errors[failure])
    raise _unanswered(run, ChatGeneratorError(failure)) from errors.get(failure)


def _stopped(
    spec: AgentSpec[S],
    run: Run[S],
    held: tuple[Effect, ...],
    rules: Holds,
    *,
    at: float,
    raises: bool,
) -> AgentResult[S, Any]:
    """The result of a run that waits for a human, or that `rules` have stopped before `held`.

    Raises:
        BreakpointException: a breakpoint has stopped it, and `raises` is set.
    """
    rule = rules.first(run, held[0]) if held else None
    take_snapshot = partial(snapshot_of, spec, run, held, rule_to_json(rule), at)
    read_output = partial(output_of, spec, run)
    result = AgentResult(run, held, take_snapshot, read_output, pending(spec, run))
    if result.pending:
        log_waiting(run.id, result.pending)
    if held and raises:
        raise BreakpointException(result, held, rule)
    return result


def _unanswered(run: Run[Any], error: BaseException) -> BaseException:
    if isinstance(error, ChatGeneratorError):
        error.run = run
        if isinstance(error, AssertionError):  # of a double: where it was raised tells nothing
            error.with_traceback(None)
    return error


def _failed_tool(run: Run[Any], fault: ToolFault) -> str:
    """The tool that the run's last turn says has failed like this."""
    answers = [result for message in run.messages for result in message.tool_call_results]
    return next(one.origin.tool_name for one in reversed(answers) if one.text == fault.message)


def _cause_of(fault: ToolFault) -> Exception | None:
    """The exception that a fault stands for which nobody raised, or that has been stored since."""
    match fault.kind:
        case "timeout":
            return TimeoutError(fault.message)
        case "unknown_tool" | "missing_input":
            return LookupError(fault.message)
        case "invalid_arguments":
            return ConversionError([fault.message])
        case "unmergeable":
            return StateError(fault.message)
        case _:
            return None
