"""Logs: the logger ``detent`` tells at INFO what a run does, and at DEBUG of what it is made.

A record has no contents: no message, argument, result or reason, as each may hold a secret. Its
fields stand on it for handlers that write structured logs: `run_id`, `turn`, `agents`, and where
there is one `tool`, `call_id`, `attempt` and `idempotency_key`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from attrs import frozen

from detent.adapters.system.terminal import escape_control
from detent.core.chat.messages import ToolCall
from detent.core.chat.replies import Usage
from detent.core.machine.calls import after_tick
from detent.core.machine.delegation import runs_in
from detent.core.machine.opening import fault_kind
from detent.core.machine.turns import failed_at_once
from detent.core.run.approval import Allow, Deny, Verdict
from detent.core.run.events import (
    AnswerRejected,
    Attempted,
    CancelRequested,
    ClockTicked,
    Event,
    GrantRevoked,
    HappenedInside,
    HumanDecided,
    Judged,
    MessageReceived,
    ModelFailed,
    ModelReplied,
    Resumed,
    ToolLost,
    ToolNeverRan,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.run.outcomes import Exhausted
from detent.core.run.refs import AgentRef, CallRef, Path
from detent.core.run.run import (
    AwaitingDecision,
    BackingOff,
    Faulted,
    Ready,
    Run,
    Running,
    Slot,
    Status,
)
from detent.core.run.spec import AgentSpec
from detent.core.tools.result import FaultKind, ToolFault
from detent.core.tools.tool import Tool
from detent.ports.observer import Observer
from detent.ports.pending import PendingCall

LOGGER = logging.getLogger("detent")
LOGGER.addHandler(logging.NullHandler())  # silent, until somebody turns it on


def _in_one_line(record: logging.LogRecord) -> bool:
    """Have a record say what it is about in one line, which nothing in it steers.

    RULE: ids and names are texts of others. None of them may look like the next record.
    """
    if isinstance(record.args, tuple):
        record.args = tuple(map(_line_of, record.args))
    return True


def _line_of(value: object) -> object:
    if isinstance(value, str | BaseException):
        return escape_control(str(value)).replace("\n", "\\n").replace("\t", "\\t")
    return value


LOGGER.addFilter(_in_one_line)

Line: TypeAlias = tuple[int, str, dict[str, Any]]
"""A level, a sentence, and the fields of its record beyond those of every record."""
MISFIT = "does not fit the output type"


def logging_observer(spec: AgentSpec[Any], run: Run[Any]) -> Observer:
    """The observer that logs a run of the agent `spec`, which begins, or goes on."""
    is_new = run.turn == 1 and run.usage == Usage() and not (run.slots or run.outcome)
    text = f"begins with {len(run.messages)} messages" if is_new else "goes on"
    _emit(logging.INFO, f"run {run.id}: {text}", {"run_id": run.id, "turn": run.turn, "agents": ()})
    return partial(log_event, spec)


def log_event(spec: AgentSpec[Any], before: Run[Any], event: Event, after: Run[Any]) -> None:
    """Log what an event has changed in a run, and why it has changed nothing."""
    path: Path = ()
    inside, run_id = event, after.id
    while isinstance(inside, HappenedInside):
        path = (*path, AgentRef(*inside.ref, inside.tool_name))
        spec = spec.agents.get(inside.tool_name, spec)
        inside = inside.event
    earlier, later = dict(runs_in(before)), dict(runs_in(after))
    run = earlier.get(path) or later.get(path, after)
    names = tuple(at.tool_name for at in path)
    common = {"run_id": run_id, "turn": run.turn, "agents": names}
    who = "".join(f" > {name}" for name in names)
    if after is before:
        text = f"{type(inside).__name__} changed nothing: it is late, or came before"
        _emit(logging.DEBUG, f"run {run_id}{who}: {text}", common)
        return
    step = _Step(spec, run, later.get(path))
    for level, text, fields in (*_lines(step, inside), *_end(before, after)):
        _emit(level, f"run {run_id}{who}: {text}", common | fields)


@frozen
class _Step:
    """A step of a run of the agent `spec`: the run before it and behind it.

    Behind it an agent inside may be gone, as it has ended: there is no `after` then.
    """

    spec: AgentSpec[Any]
    before: Run[Any]
    after: Run[Any] | None

    def status(self, ref: CallRef) -> Status | None:
        """What has become of a call; None where its turn is over."""
        slots = () if self.after is None else self.after.slots
        return next((slot.status for slot in slots if slot.ref == ref), None)


def log_undescribed(tools: Mapping[str, Tool]) -> None:
    """Warn of tools that the model knows by nothing but their names."""
    for name, tool in tools.items():
        if not tool.description.strip():
            text = f"tool {name} has no description: the model knows it by its name alone; give its"
            fields = {"run_id": None, "turn": None, "agents": (), "tool": name}
            _emit(logging.WARNING, f"{text} function a docstring", fields)


def log_unknown_people(tools: Iterable[str]) -> None:
    """Warn of tools about which certain people are asked, where nobody knows who answers.

    An agent among the tools of another one has that one's approvers, which it does not know yet.
    """
    for name in tools:
        text = f"certain people alone may answer about {name}, and the agent cannot tell who does: "
        text += "give it, or the agent that it is a tool of, approvers, by Agent(approvers=…)"
        fields = {"run_id": None, "turn": None, "agents": (), "tool": name}
        _emit(logging.WARNING, text, fields)


def log_waiting(run_id: str, pending: Sequence[PendingCall]) -> None:
    """Warn that a run has stopped, as calls wait for humans: nothing more happens by itself.

    What may have been done is an error, each in a line of its own: somebody must look into it.
    """
    names = ", ".join(dict.fromkeys(call.tool_name for call in pending))
    text = f"waits for a human to decide about: {names}; see agent.pending({run_id!r})"
    text += ", `detent runs pending` or the inbox"
    fields = {"run_id": run_id, "turn": pending[0].turn, "agents": pending[0].agents}
    _emit(logging.WARNING, f"run {run_id}: {text}", fields)
    for call in pending:
        if call.trouble:
            who = "".join(f" > {name}" for name in call.agents)
            key = f"; its key is {call.idempotency_key}" if call.idempotency_key else ""
            text = f"nobody knows what came of {call.tool_name} in turn {call.turn}{key}"
            fields = {"run_id": run_id, "turn": call.turn, "agents": call.agents}
            fields |= {"tool": call.tool_name, "call_id": call.call_id}
            fields |= {"idempotency_key": call.idempotency_key}
            _emit(logging.ERROR, f"run {run_id}{who}: {text}", fields)


def log_failed(run_id: str, cause: str) -> None:
    """Warn that a run has failed where no caller is told: its host goes on with others."""
    text = f"has failed: {cause}; see detent runs show {run_id}"
    _emit(logging.WARNING, f"run {run_id}: {text}", {"run_id": run_id, "turn": None, "agents": ()})


def log_left(run_id: str) -> None:
    """Warn that a run is left in the middle of what is at work on it, as its host ends."""
    text = (
        "is left in the middle, as its host ends: where a tool is at work, nobody hears any more "
    )
    text += f"what it does, and its outcome is unknown; see detent runs show {run_id}"
    _emit(logging.WARNING, f"run {run_id}: {text}", {"run_id": run_id, "turn": None, "agents": ()})


def _emit(level: int, text: str, fields: dict[str, Any]) -> None:
    LOGGER.log(level, "%s", text, extra=fields)


def _lines(step: _Step, event: Event) -> Iterator[Line]:
    """What is told of an event that has happened to a run."""
    match event:
        case ModelReplied():
            yield from _of_reply(step, event)
        case ModelFailed(turn, attempt, failure):
            goes_on = step.after is not None and step.after.outcome is None
            again = "it is asked again" if goes_on else "it is not asked again"
            yield _line(f"turn {turn}: the model gave no answer ({failure.cause})", attempt=attempt)
            yield _why(f"attempt {attempt}; {again}")
        case ToolStarted() | ToolReturned() | ToolRaised() | ToolNeverRan() | ToolLost():
            yield from _of_attempt(step, event)
        case Judged(ref, verdict):
            yield _of_tool(step.before, ref, _judged(verdict, step.status(ref)))
        case HumanDecided(ref, _, decision):
            what = f"was decided by a human: {type(decision).__name__.lower()}"
            yield _of_tool(step.before, ref, what)
        case ClockTicked():
            yield from _of_tick(step, event)
        case _:
            yield from _beside(event)


def _of_reply(step: _Step, event: ModelReplied) -> Iterator[Line]:
    """What has come, and what of it is of no use: calls that do not run, answers that do not fit.

    The run behind it says which; where that of an agent is gone, the end of its call does.
    """
    run, spec, reply, used = step.before, step.spec, event.reply, event.reply.usage
    calls, most = reply.message.tool_calls, spec.limits.max_calls_per_reply
    yield _line(f"turn {event.turn}: the model answered", attempt=event.attempt)
    counts = f"{used.input_tokens} tokens read, {used.output_tokens} written"
    yield _why(f"{counts}, {len(calls)} tool calls, ended by {reply.finish_reason!r}")
    if len(calls) > most:
        yield _line(f"turn {event.turn}: its {len(calls)} calls did not run (over_limit)")
    elif step.after is not None:
        for _, told in failed_at_once(reply, step.after):
            is_answer = spec.output is not None and told.origin.tool_name == spec.output.name
            what = MISFIT if is_answer else _not_run(fault_kind(spec, run, told))
            yield _of_call(told.origin, event.turn, what)
        if not calls and step.after.invalid_answers > run.invalid_answers:
            yield _line(f"turn {event.turn}: the answer {MISFIT}")


def _of_attempt(step: _Step, event: Attempted) -> Iterator[Line]:
    run, ref, attempt = step.before, event.ref, event.attempt
    match event:
        case ToolStarted():
            status = step.status(ref)
            what = _not_run(status.fault.kind) if isinstance(status, Faulted) else "began"
            yield _of_tool(run, ref, what, attempt=attempt)
        case ToolReturned():
            yield _of_tool(run, ref, "returned", attempt=attempt)
            yield from ((logging.WARNING, text, {}) for text in event.result.warnings)
        case ToolRaised():
            again = isinstance(step.status(ref), Ready | BackingOff)
            yield from _of_fault(run, ref, attempt, event.fault, again=again)
        case ToolNeverRan():
            yield _of_tool(run, ref, "had not run", attempt=attempt)
        case ToolLost():
            yield _of_tool(run, ref, "has an unknown outcome", attempt=attempt)


def _of_fault(
    run: Run[Any], ref: CallRef, attempt: int, fault: ToolFault, *, again: bool
) -> Iterator[Line]:
    yield _of_tool(run, ref, f"failed ({fault.kind})", attempt=attempt)
    yield _why(f"attempt {attempt}; {'it is tried again' if again else 'the model is told'}")


def _of_tick(step: _Step, event: ClockTicked) -> Iterator[Line]:
    """What it is time for: calls that have taken too long, questions that nobody has answered."""
    run, after = step.before, step.after
    is_over = after is not None and after.outcome == Exhausted("max_seconds")
    lines = list[Line]()
    for slot in () if is_over else run.slots:
        status, now = slot.status, after_tick(step.spec, slot, event)
        if isinstance(status, Running) and now is not slot:
            again = isinstance(now.status, Ready | BackingOff)
            fault = ToolFault("timeout", "")
            lines += _of_fault(run, slot.ref, status.attempt, fault, again=again)
    for record in () if after is None else after.decisions[len(run.decisions) :]:
        lines.append(_of_tool(run, record.ref, "was not decided about in time"))
    yield from lines or [_why("a pause is over")]


def _not_run(kind: FaultKind) -> str:
    return f"did not run ({kind})"


def _beside(event: Event) -> Iterator[Line]:
    """What is told of an event that is about no call."""
    match event:
        case Resumed():
            yield _why("what was under way has an unknown outcome")
        case CancelRequested():
            yield _line("is to end")
        case MessageReceived():
            yield _line("a user has said more")
        case AnswerRejected():
            yield _line("a hook has rejected the answer")
        case GrantRevoked():
            yield _line("a confirmation counts no longer")
        case _:
            yield _why(f"{type(event).__name__} happened")


def _judged(verdict: Verdict, status: Status | None) -> str:
    """What a policy has come to. It may ask about a call of which a yes is there already."""
    if isinstance(verdict, Deny):
        return "is denied by its policy"
    if isinstance(verdict, Allow):
        return "is allowed by its policy"
    waits = isinstance(status, AwaitingDecision)
    return "waits for a human" if waits else "goes by what was decided"


def _of_tool(run: Run[Any], ref: CallRef, what: str, **fields: Any) -> Line:
    slot = next((slot for slot in run.slots if slot.ref == ref), None)
    if slot is not None:
        return _of_slot(slot, what, **fields)
    return _line(f"turn {ref.turn}:  {what}", tool="", call_id=None, **fields)


def _of_slot(slot: Slot, what: str, **fields: Any) -> Line:
    return _of_call(slot.call, slot.ref.turn, what, **fields)


def _of_call(call: ToolCall, turn: int, what: str, **fields: Any) -> Line:
    fields |= {"tool": call.tool_name, "call_id": call.id}
    return _line(f"turn {turn}: {call.tool_name} {what}", **fields)


def _end(before: Run[Any], after: Run[Any]) -> Iterator[Line]:
    if before.outcome is None and after.outcome is not None:
        yield _line(f"ended: {after.outcome.exit_reason} after {after.turn} turns")
        used = after.usage
        yield _why(f"in all {used.input_tokens} tokens read, {used.output_tokens} written")


def _line(text: str, **fields: Any) -> Line:
    return logging.INFO, text, fields


def _why(text: str) -> Line:
    return logging.DEBUG, text, {}
