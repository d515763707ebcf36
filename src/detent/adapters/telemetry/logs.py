"""Logs: the logger ``detent`` tells at INFO what a run does, and at DEBUG of what it is made.

A record has no contents: no message, argument, result or reason, as each may hold a secret. Its
fields stand on it for handlers that write structured logs: `run_id`, `turn`, `agents`, and where
there is one `tool`, `call_id`, `attempt` and `idempotency_key`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from detent.adapters.system.terminal import escape_control
from detent.core.chat.replies import Usage
from detent.core.machine.delegation import runs_in
from detent.core.run.approval import Allow, Deny, Verdict
from detent.core.run.events import (
    AnswerRejected,
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
from detent.core.run.refs import AgentRef, CallRef, Path
from detent.core.run.run import AwaitingDecision, Run
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


def logging_observer(run: Run[Any]) -> Observer:
    """The observer that logs a run, which begins, or goes on."""
    is_new = run.turn == 1 and run.usage == Usage() and not (run.slots or run.outcome)
    text = f"begins with {len(run.messages)} messages" if is_new else "goes on"
    _emit(logging.INFO, f"run {run.id}: {text}", {"run_id": run.id, "turn": run.turn, "agents": ()})
    return log_event


def log_event(before: Run[Any], event: Event, after: Run[Any]) -> None:
    """Log what an event has changed in a run, and why it has changed nothing."""
    path: Path = ()
    inside, run_id = event, after.id
    while isinstance(inside, HappenedInside):
        path = (*path, AgentRef(*inside.ref, inside.tool_name))
        inside = inside.event
    run = dict(runs_in(before)).get(path) or dict(runs_in(after)).get(path, after)
    common = {"run_id": run_id, "turn": run.turn, "agents": tuple(at.tool_name for at in path)}
    who = "".join(f" > {at.tool_name}" for at in path)
    if after is before:
        text = f"{type(inside).__name__} changed nothing: it is late, or came before"
        _emit(logging.DEBUG, f"run {run_id}{who}: {text}", common)
        return
    now = dict(runs_in(after)).get(path, after)
    for level, text, fields in (*_lines(run, inside, now), *_end(before, after)):
        _emit(level, f"run {run_id}{who}: {text}", common | fields)


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


def _lines(run: Run[Any], event: Event, now: Run[Any]) -> Iterator[Line]:
    """What is told of an event that has happened to a run, as it was before, and is now."""
    match event:
        case ModelReplied(turn, attempt, reply):
            yield _line(f"turn {turn}: the model answered", attempt=attempt)
            used = reply.usage
            counts = f"{used.input_tokens} tokens read, {used.output_tokens} written"
            calls = len(reply.message.tool_calls)
            yield _why(f"{counts}, {calls} tool calls, ended by {reply.finish_reason!r}")
        case ModelFailed(turn, attempt, failure):
            again = "it may be asked again" if failure.retryable else "it is not asked again"
            yield _line(f"turn {turn}: the model gave no answer ({failure.cause})", attempt=attempt)
            yield _why(f"attempt {attempt}; {again}")
        case ToolStarted(ref, attempt) | ToolReturned(ref, attempt):
            word = "began" if isinstance(event, ToolStarted) else "returned"
            yield _of_tool(run, ref, word, attempt=attempt)
            for text in event.result.warnings if isinstance(event, ToolReturned) else ():
                yield logging.WARNING, text, {}
        case ToolRaised(ref, attempt, fault, at):
            yield _of_tool(run, ref, f"failed ({fault.kind})", attempt=attempt)
            again = "it may be tried again" if at is not None else "the model is told"
            yield _why(f"attempt {attempt}; {again}")
        case ToolNeverRan(ref, attempt):
            yield _of_tool(run, ref, "had not run", attempt=attempt)
        case ToolLost(ref, attempt):
            yield _of_tool(run, ref, "has an unknown outcome", attempt=attempt)
        case Judged(ref, verdict):
            yield _of_tool(run, ref, _judged(verdict, now, ref))
        case HumanDecided(ref, _, decision):
            yield _of_tool(run, ref, f"was decided by a human: {type(decision).__name__.lower()}")
        case _:
            yield from _beside(event)


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
        case ClockTicked():
            yield _why("a pause is over")
        case _:
            yield _why(f"{type(event).__name__} happened")


def _judged(verdict: Verdict, now: Run[Any], ref: CallRef) -> str:
    """What a policy has come to. It may ask about a call of which a yes is there already."""
    if isinstance(verdict, Deny):
        return "is denied by its policy"
    if isinstance(verdict, Allow):
        return "is allowed by its policy"
    status = next((slot.status for slot in now.slots if slot.ref == ref), None)
    waits = isinstance(status, AwaitingDecision)
    return "waits for a human" if waits else "goes by what was decided"


def _of_tool(run: Run[Any], ref: CallRef, what: str, **fields: Any) -> Line:
    call = next((slot.call for slot in run.slots if slot.ref == ref), None)
    tool, call_id = ("", None) if call is None else (call.tool_name, call.id)
    return _line(f"turn {ref.turn}: {tool} {what}", tool=tool, call_id=call_id, **fields)


def _end(before: Run[Any], after: Run[Any]) -> Iterator[Line]:
    if before.outcome is None and after.outcome is not None:
        yield _line(f"ended: {after.outcome.exit_reason} after {after.turn} turns")
        used = after.usage
        yield _why(f"in all {used.input_tokens} tokens read, {used.output_tokens} written")


def _line(text: str, **fields: Any) -> Line:
    return logging.INFO, text, fields


def _why(text: str) -> Line:
    return logging.DEBUG, text, {}
