"""What came of a job, as plain JSON: a report, or what has kept a worker from reporting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detent.adapters.drivers.loading import marked_event
from detent.adapters.hosts.effects.contract import OtherJournalError, StepTooLargeError
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.stored import report_to_json
from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import StoredDataError
from detent.core.machine.beginning import Begun
from detent.core.machine.delegation import wrap_event
from detent.core.run.effects import Effect, EffectKey, RunTool
from detent.core.run.events import Event, ToolNeverRan
from detent.core.run.refs import CallRef
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import event_to_json
from detent.ports.journal import Entry, JournalDamagedError

LATER: Json = {"later": "what comes before is on its way"}


def is_tool(job: Json) -> bool:
    """Whether a job is a tool, which is not begun twice."""
    return (job["effect"] or "").startswith("tool/")


def later(job: Json, error: BaseException) -> Json:
    """A job could not be begun; it is tried again."""
    name = type(error).__name__
    said = error if isinstance(error, OtherJournalError | StepTooLargeError) else name
    LOGGER.warning(
        "run %s could not go on here with %s: %s",
        *(job["run_id"], job["effect"] or "what has happened", said),
        extra={"run_id": job["run_id"]},
    )
    return {"later": name, "fault": True}


def is_fault(outcome: Json) -> bool:
    """Whether a worker, or its journal, was in the way: elsewhere, or later, the job may go well.

    So an engine that tries a job again by itself may do so, and needs no other one from the run.
    """
    return bool(outcome.get("fault", False))


def never_ran(spec: AgentSpec[Any], job: Json, at: float) -> Json:
    """A tool was not begun."""
    key = EffectKey.from_text(job["effect"])
    event = ToolNeverRan(CallRef(key.turn, key.place), key.attempt, at)
    report = {"detent": "report", "effect": job["effect"], "event": event_to_json(spec, event)}
    wrapped = event_to_json(spec, wrap_event(key.path, event))
    return {"report": report, "wrapped": wrapped, "never_ran": True}


def agent_never_ran(spec: AgentSpec[Any], begun: Begun, at: float) -> Json:
    """An agent was given a call by the run, and does not begin to work on it here."""
    event = wrap_event(begun.path, ToolNeverRan(begun.ref, begun.attempt, at))
    return {"instead": [event_to_json(spec, event)]}


def with_judgement(spec: AgentSpec[Any], outcome: Json, judged: Event) -> Json:
    """The same, with what the rules of the worker say of the call."""
    return outcome | {"instead": [*outcome.get("instead", ()), event_to_json(spec, judged)]}


def reported(spec: AgentSpec[Any], effect: Effect, event: Event | None) -> Json:
    """An effect was performed."""
    report: Json = {"report": report_to_json(spec, effect, event)}
    if isinstance(effect, RunTool) and event is not None:
        report["wrapped"] = event_to_json(spec, wrap_event(effect.path, event))
    return report


def entry_to_json(spec: AgentSpec[Any], run_id: str, entry: Entry, data: Mapping[str, Any]) -> Json:
    """An entry of the journal as the inside says it."""
    try:
        return event_to_json(spec, marked_event(spec, entry.kind, data).event)
    except StoredDataError as error:
        where = f"entry {entry.position} of run {run_id!r}"
        raise JournalDamagedError(f"{where} is none that an engine has written: {error}") from error
