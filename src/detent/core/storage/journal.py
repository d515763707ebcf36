"""A run and its events as plain JSON and back, by the agent at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from detent.core.codec.json_text import TAG
from detent.core.codec.own_values import data_of, dump, load
from detent.core.errors import StoredDataError
from detent.core.machine.delegation import runs_in
from detent.core.machine.turns import has_no_answer
from detent.core.run.events import Event
from detent.core.run.run import Acting, AwaitingDecision, Delegated, Done, Run, is_settled
from detent.core.run.spec import AgentSpec
from detent.core.state.state import conversation_in
from detent.core.state.typevars import S
from detent.core.storage.fingerprint import fingerprint
from detent.core.storage.writes import register_forms
from detent.core.values.short_repr import short_repr

register_forms()

FORMAT = 1
"""The version of the stored form of runs and events."""


def require_format(version: object) -> None:
    """Raise unless this Detent reads what was stored in that format.

    Raises:
        StoredDataError: another Detent wrote it.
    """
    if type(version) is not int or version != FORMAT:
        found = short_repr(version)
        raise StoredDataError(
            f"this was stored in format {found:.40}, and this Detent reads format {FORMAT}; "
            "use the version of Detent that wrote it"
        )


def run_to_json(spec: AgentSpec[S], run: Run[S]) -> dict[str, Any]:
    """Everything that `run` knows.

    Raises:
        UnstorableError: a value in it cannot be written as JSON.
    """
    return cast("dict[str, Any]", dump(run, Run, spec))


def run_from_json(spec: AgentSpec[S], data: Mapping[str, object]) -> Run[S]:
    """The run that `data` says, with the state's schema, the tools and the handlers of this agent.

    Raises:
        StoredDataError: it says none, or this agent cannot go on with it.
    """
    run = cast("Run[S]", load(data, Run, spec))
    for _, inner in runs_in(run):
        calls = inner.phase.reply.message.tool_calls if isinstance(inner.phase, Acting) else ()
        refs = [(inner.turn, place) for place in range(len(calls))]
        if [slot.ref for slot in inner.slots] != refs:  # by them each call is found
            raise StoredDataError(f"the calls of run {inner.id!r} are not those of its last reply")
    return run


def start_data(spec: AgentSpec[Any], run: Run[Any]) -> dict[str, Any]:
    """A snapshot of `run`, for a journal: nothing holds it.

    Raises:
        UnstorableError: a value in the run cannot be written as JSON.
    """
    return {
        "detent": "snapshot",
        "format": FORMAT,
        "held": [],
        "about_to": "",
        "break_point": {},
        "agent": fingerprint(spec, run),
        "run": data_of(run, Run, spec),
    }


def event_to_json(spec: AgentSpec[Any], event: Event) -> dict[str, Any]:
    """An event, with what a tool wrote to the state.

    Raises:
        UnstorableError: a value in it cannot be written as JSON.
    """
    return cast("dict[str, Any]", dump(event, Event, spec))


def event_from_json(spec: AgentSpec[Any], data: Mapping[str, object]) -> Event:
    """The event that `data` says.

    Raises:
        StoredDataError: it says none, or names what this agent does not have.
    """
    return cast(Event, load(data, cast(Any, Event), spec))


def event_of_kind(spec: AgentSpec[Any], kind: str, data: Mapping[str, object]) -> Event:
    """The event of this kind that `data` says, without its kind: that is read more quickly.

    Raises:
        StoredDataError: it says none, or names what this agent does not have.
    """
    known = KINDS.get(kind)
    return load(data, known, spec) if known else event_from_json(spec, {**data, TAG: kind})


def status_of(run: Run[Any]) -> str:
    """How far a run has come: "running", "waiting", "failed" or "done".

    One that is "waiting" waits for a human and nothing else. One that has "failed" has ended
    because the model gave no answer: resumed, it asks again.
    """
    if isinstance(run.phase, Done):
        return "failed" if has_no_answer(run) else "done"
    still = False
    for slot in run.phase.slots if isinstance(run.phase, Acting) else ():
        status = slot.status
        if isinstance(status, AwaitingDecision) or (
            isinstance(status, Delegated) and status_of(status.run) == "waiting"
        ):
            still = True
        elif not is_settled(slot):
            return "running"
    return "waiting" if still else "running"


def progress_mark(run: Run[Any]) -> str:
    """How far a run has come, in a line: two runs that differ here do not go on alike.

    The turn, the phase, how many messages there are, and how far each call has come, with the mark
    of an agent that is at work on it.
    """
    phase = run.phase
    mark = f"{run.turn} {type(phase).__name__} {len(conversation_in(run.state))}"
    for slot in phase.slots if isinstance(phase, Acting) else ():
        mark += f" {type(slot.status).__name__}"
        if isinstance(slot.status, Delegated):
            mark += f"({progress_mark(slot.status.run)})"
    return f"{mark} {len(run.unread)} unread" if run.unread else mark


KINDS: Mapping[str, type[Event]] = {one.__name__: one for one in get_args(Event)}
