"""What a list says of a run, as its recorder writes it down."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from detent.core.machine.due import due
from detent.core.run.effects import AskHuman, WaitUntil
from detent.core.run.run import AwaitingDecision, BackingOff, Delegated, Pausing, Run
from detent.core.run.spec import AgentSpec
from detent.ports.listing import Listing

SILENT = {"deadline", "limit"}
"""Waits that are only of whoever drives a run."""


def listing_of(spec: AgentSpec[Any], run: Run[Any], quiet: Listing) -> Listing:
    """What a list says of `run`; `quiet` itself while it waits for nobody and for no time."""
    if not _waits(run):
        return quiet
    owed = due(spec, run)
    # RULE: no process takes a run up for the end of its time, or of a tool's: whoever does gives it
    # all of its time again, and would be the next to go for that reason.
    times = [one.at for one in owed if isinstance(one, WaitUntil) and one.reason not in SILENT]
    asked = tuple(one.tool.name for one in owed if isinstance(one, AskHuman))
    return evolve(quiet, wake_at=min(times, default=None), pending=asked)


def _waits(run: Run[Any]) -> bool:
    """Whether a call waits for a human, or anything for a time."""
    for slot in run.slots:
        status = slot.status
        kind = type(status)
        if kind is AwaitingDecision or kind is BackingOff:
            return True
        if isinstance(status, Delegated) and _waits(status.run):
            return True
    return type(run.phase) is Pausing
