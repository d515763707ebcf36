"""Legs: a run as spans, from where a process takes it up to where it leaves it."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import Any, TypeAlias

from attrs import define
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, TraceFlags, Tracer
from opentelemetry.util.types import AttributeValue

from detent.adapters.telemetry import conventions as names
from detent.adapters.telemetry.contents import Contents
from detent.adapters.telemetry.instruments import Instruments
from detent.adapters.telemetry.works import (
    Came,
    ModelWork,
    ToolWork,
    Work,
    failed,
    fault_type,
)
from detent.core.machine.delegation import nested_run, runs_in
from detent.core.run.approval import DecisionRecord
from detent.core.run.effects import AskModel, Effect, RunTool
from detent.core.run.events import Event, HappenedInside
from detent.core.run.outcomes import Failed
from detent.core.run.refs import AgentRef, CallRef, Path
from detent.core.run.run import AwaitingDecision, Delegated, Faulted, Run, Slot
from detent.core.storage.journal import status_of
from detent.core.tools.result import ToolFault
from detent.ports.confirmation import HITLBreakpointException
from detent.ports.results import BreakpointException
from detent.ports.telemetry import Drive, Model

Attributes: TypeAlias = dict[str, AttributeValue]
Place: TypeAlias = tuple[Path, CallRef]
"""A call of the run, or of an agent inside it."""

MARK = re.compile(r"\.00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})\Z")
OTHER = "_OTHER"
"""What the conventions say of an error that has no name."""
PAUSED = (BreakpointException, HITLBreakpointException)
"""What the caller of a run is told that waits: it is no error."""


@define
class _Open:
    """What is under way that no driver performs: a question to a human, or an agent at work."""

    span: Span
    since: float
    tool_name: str
    inner: Span | None = None
    inferences: int = 0
    tool_calls: int = 0


class TracedLeg:
    """The spans of a run while this process drives it. See `detent.ports.telemetry.Leg`."""

    def __init__(
        self, tracer: Tracer, instruments: Instruments, contents: Contents | None, drive: Drive
    ) -> None:
        self._tracer, self._instruments, self._contents = tracer, instruments, contents
        self._drive = drive
        self._common: Attributes = {names.CONVERSATION: drive.conversation_id}
        first = _context_in(drive.nonce)
        self._root = self._agent_span(
            drive.agent,
            None,
            {names.RUN_ID: drive.run_id},
            [] if first is None else [Link(first)],
        )
        self._since = perf_counter()
        self._open: dict[Place, _Open] = {}
        self._totals = _Open(self._root, self._since, "")
        self._run: Run[Any] | None = None
        self._first: Run[Any] | None = None
        self._is_ended = False

    @property
    def mark(self) -> str:
        """The root span, as a `traceparent`; "" where nobody traces."""
        at = self._root.get_span_context()
        if not at.is_valid:
            return ""
        return f".00-{at.trace_id:032x}-{at.span_id:016x}-{at.trace_flags:02x}"

    def take_up(self, run: Run[Any]) -> None:
        """As `Leg.take_up` says."""
        self._run = self._first = run
        for record in run.decisions:
            asked_at = None if record.path else self._drive.asked_at.get(record.ref)
            if asked_at is not None:
                self._decided_elsewhere(record, asked_at)
        self._look_at_all(run)

    def observe(self, before: Run[Any], event: Event, after: Run[Any], /) -> None:
        """As `Leg.observe` says."""
        self._run = after
        if after is before:
            return
        path: Path = ()
        while isinstance(event, HappenedInside):
            self._look_at(after, path, event.ref, before)
            path = (*path, AgentRef(*event.ref, event.tool_name))
            event = event.event
        ref: CallRef | None = getattr(event, "ref", None)
        if ref is not None:
            self._look_at(after, path, ref, before)
        elif self._open:
            for place in list(self._open):
                self._look_at(after, *place, before)
        if not isinstance(ref, CallRef):
            self._look_at_all(after, path)

    def during(self, effect: Effect, model: Model) -> AbstractContextManager[Came]:
        """As `Leg.during` says."""
        if isinstance(effect, AskModel):
            return self._work(ModelWork(effect, model), effect.path)
        if isinstance(effect, RunTool):
            return self._work(ToolWork.of(effect), effect.path)
        return _unmeasured()

    def end(self, error: BaseException | None) -> None:
        """As `Leg.end` says."""
        if self._is_ended:
            return
        self._is_ended = True
        for place in list(self._open):
            self._close(place, None, is_left=True)
        kind = _error_type(self._run, error)
        if self._run is not None and self._first is not None:
            self._root.set_attributes(_summary(self._first, self._run))
        self._end_agent(self._totals, self._root, self._drive.agent, kind)

    def _agent_span(
        self, name: str, context: Context | None, more: Attributes, links: list[Link] | None = None
    ) -> Span:
        attributes = {names.OPERATION: names.INVOKE_AGENT, **self._common, **more}
        if name:
            attributes[names.AGENT_NAME] = name
        title = f"{names.INVOKE_AGENT} {name}".strip()
        kind = SpanKind.INTERNAL
        return self._tracer.start_span(title, context, kind, attributes, links)

    def _end_agent(self, work: _Open, span: Span, name: str, kind: str | None) -> None:
        traits = {names.AGENT_NAME: name} if name else {}
        if kind is not None:
            failed(span, kind)
            traits[names.ERROR_TYPE] = kind
        span.end()
        seconds = perf_counter() - work.since
        self._instruments.agent(seconds, work.inferences, work.tool_calls, traits)

    def _below(self, path: Path) -> Context:
        """Where the spans of the agent at `path` hang."""
        while path:
            found = self._open.get((path[:-1], path[-1].ref))
            if found is not None and found.inner is not None:
                return trace.set_span_in_context(found.inner)
            path = path[:-1]
        return trace.set_span_in_context(self._root)

    def _count(self, path: Path, *, is_tool: bool) -> None:
        agent = self._open.get((path[:-1], path[-1].ref)) if path else self._totals
        if agent is not None:
            agent.inferences += not is_tool
            agent.tool_calls += is_tool

    @contextmanager
    def _work(self, work: Work, path: Path) -> Generator[Came]:
        self._count(path, is_tool=isinstance(work, ToolWork))
        began = {**work.attributes, **self._common}
        span = self._tracer.start_span(work.title, self._below(path), work.kind, began)
        contents = self._contents if span.is_recording() else None
        if contents is not None:
            span.set_attributes(work.asked(contents))
        since, kind = perf_counter(), "cancelled"

        def record(event: Event | None) -> None:
            nonlocal kind
            kind = work.record(span, event, contents)

        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield record
        except BaseException as error:
            kind = type(error).__qualname__
            raise
        finally:
            if kind:
                failed(span, kind)
            span.end()
            work.measure(self._instruments, perf_counter() - since, kind)

    def _look_at_all(self, run: Run[Any], path: Path = ()) -> None:
        for at, inner in runs_in(run):
            if at[: len(path)] == path:
                for slot in inner.slots:
                    self._look_at_slot(at, slot)

    def _look_at(self, run: Run[Any], path: Path, ref: CallRef, before: Run[Any]) -> None:
        """Begin or end what a call is at, after something has happened to it."""
        slot = _slot(run, path, ref)
        if slot is None:
            self._close((path, ref), _kind_of_answer(run, before, path, ref))
        else:
            self._look_at_slot(path, slot)

    def _look_at_slot(self, path: Path, slot: Slot) -> None:
        place, status = (path, slot.ref), slot.status
        found = self._open.get(place)
        is_agent = isinstance(status, Delegated)
        if is_agent or isinstance(status, AwaitingDecision):
            if found is not None and (found.inner is not None) is is_agent:
                return
            self._close(place, _fault_kind(slot))
            self._open[place] = (
                self._begun_agent(path, slot) if is_agent else self._open_question(path, slot)
            )
        elif found is not None:
            self._close(place, _fault_kind(slot))

    def _begun_agent(self, path: Path, slot: Slot) -> _Open:
        work = ToolWork.of_agent(slot)
        self._count(path, is_tool=True)
        began = {**work.attributes, **self._common}
        span = self._tracer.start_span(work.title, self._below(path), work.kind, began)
        name, below = slot.call.tool_name, trace.set_span_in_context(span)
        inner = self._agent_span(name, below, {})
        return _Open(span, perf_counter(), name, inner)

    def _open_question(self, path: Path, slot: Slot) -> _Open:
        name = slot.call.tool_name
        span = self._question(name, slot.call.id, self._below(path))
        if isinstance(slot.status, AwaitingDecision) and slot.status.trouble:
            span.set_attribute(names.OUTCOME_UNKNOWN, value=True)
            if self._run is not self._first:  # else whoever drove the run before has counted it
                self._instruments.unknown({names.TOOL_NAME: name})
        return _Open(span, perf_counter(), name)

    def _question(
        self, tool_name: str, call_id: str | None, context: Context, at: float | None = None
    ) -> Span:
        began: Attributes = {names.OPERATION: names.ASK_HUMAN, names.TOOL_NAME: tool_name}
        if call_id is not None:
            began[names.TOOL_CALL_ID] = call_id
        title, since = f"{names.ASK_HUMAN} {tool_name}", None if at is None else _nanoseconds(at)
        started = self._tracer.start_span
        return started(title, context, attributes={**began, **self._common}, start_time=since)

    def _decided_elsewhere(self, record: DecisionRecord, asked_at: float) -> None:
        """A wait that was over before this process took up the run."""
        if record.at is None:
            return
        context, call = self._below(()), record.call
        span = self._question(call.tool_name, call.id, context, asked_at)
        span.set_attribute(names.DECISION, type(record.decision).__name__.lower())
        span.end(_nanoseconds(max(record.at, asked_at)))
        traits = {names.TOOL_NAME: call.tool_name}
        self._instruments.human(max(0.0, record.at - asked_at), traits)

    def _close(self, place: Place, kind: str | None, *, is_left: bool = False) -> None:
        """End what was open at a place, and say how it has failed, if it has.

        What is left there is open still, in another leg.
        """
        found = self._open.pop(place, None)
        if found is None:
            return
        if found.inner is not None:
            self._end_agent(found, found.inner, found.tool_name, kind)
        elif not is_left:
            found.span.set_attribute(names.DECISION, self._decision(place))
            traits = {names.TOOL_NAME: found.tool_name}
            self._instruments.human(perf_counter() - found.since, traits)
        else:
            found.span.set_attribute(names.STATUS, "waiting")
        if found.inner is not None and not is_left:
            seconds = perf_counter() - found.since
            self._instruments.tool(seconds, {names.TOOL_NAME: found.tool_name})
            if kind is not None:
                failed(found.span, kind)
        found.span.end()

    def _decision(self, place: Place) -> str:
        """What came of a question."""
        path, ref = place
        records = () if self._run is None else self._run.decisions
        decisions = [
            record.decision for record in records if (record.path, record.ref) == (path, ref)
        ]
        return type(decisions[-1]).__name__.lower() if decisions else "void"


@contextmanager
def _unmeasured() -> Generator[Came]:
    def record(event: Event | None) -> None:
        """Nobody measures it."""

    yield record


def _context_in(nonce: str) -> SpanContext | None:
    """The span in which a run began, as its nonce says."""
    found = MARK.search(nonce)
    if found is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in found.groups())
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))


def _slot(run: Run[Any], path: Path, ref: CallRef) -> Slot | None:
    for at in path:
        around = _slot(run, (), at.ref)
        if around is None or not isinstance(around.status, Delegated):
            return None
        run = around.status.run
    slots = run.slots
    slot = slots[ref.place] if ref.place < len(slots) else None
    return slot if slot is not None and slot.ref == ref else None


def _fault_kind(slot: Slot) -> str | None:
    return slot.status.fault.kind if isinstance(slot.status, Faulted) else None


def _kind_of_answer(run: Run[Any], before: Run[Any], path: Path, ref: CallRef) -> str | None:
    """Whether a call whose turn is over has failed: the conversation has its answer."""
    try:
        inner, count = nested_run(run, path), len(nested_run(before, path).slots)
    except LookupError:  # so is the turn of the agent around it
        return None
    results = [
        result for message in inner.messages[-count:] for result in message.tool_call_results
    ]
    is_known = len(results) == count > ref.place
    return OTHER if is_known and results[ref.place].error else None


def _summary(first: Run[Any], run: Run[Any]) -> Attributes:
    """How far a run has come, and what that took in this leg."""
    used = run.usage - first.usage
    found: Attributes = {
        names.STATUS: status_of(run),
        names.TURNS: run.turn,
        names.INPUT_TOKENS: used.input_tokens,
        names.OUTPUT_TOKENS: used.output_tokens,
    }
    if run.outcome is not None:
        found[names.EXIT_REASON] = run.outcome.exit_reason
    return found


def _error_type(run: Run[Any] | None, error: BaseException | None) -> str | None:
    """Why a leg has failed; None where it has not: who waits for a human has not failed."""
    if run is not None and isinstance(run.outcome, Failed):
        failure = run.outcome.failure
        return fault_type(failure) if isinstance(failure, ToolFault) else failure.cause
    if error is None or isinstance(error, PAUSED):
        return None
    return type(error).__qualname__


def _nanoseconds(at: float) -> int:
    return round(at * 1e9)
