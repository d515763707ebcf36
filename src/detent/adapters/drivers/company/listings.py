"""What a list says of a run, as its recorder writes it down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve

from detent.core.machine.due import due
from detent.core.run.effects import WaitUntil
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
    return evolve(quiet, wake_at=min(times, default=None), pending=tuple(_asked(spec, run)))


def _asked(spec: AgentSpec[Any], run: Run[Any]) -> Iterator[str]:
    """The tools of the calls about which a human is asked, also by rules that are not here.

    RULE: a question that is of another release's tool is listed. Who looks finds that it fits no
    more, and has it put anew; what no list has, nobody reads. One that its own process was to judge
    anew is not: whoever goes on with the run asks.
    """
    for slot in run.slots:
        status = slot.status
        if isinstance(status, AwaitingDecision):
            if not (status.is_stale and slot.call.tool_name in spec.guards):
                yield slot.call.tool_name
        elif isinstance(status, Delegated):
            yield from _asked(spec.agents[status.tool_name], status.run)


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
