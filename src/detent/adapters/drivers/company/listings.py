"""What a list says of a run, as its recorder writes it down."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from attrs import evolve

from detent.core.machine.binding import outdated_questions
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
    # RULE: a question that fits no more is listed as well. Who looks finds that, and has it put
    # anew; what no list has, nobody reads.
    asked = tuple(name for name, _, _ in _questions(spec, run))
    return evolve(quiet, wake_at=min(times, default=None), pending=asked)


def is_to_be_judged(spec: AgentSpec[Any], run: Run[Any]) -> bool:
    """Whether a policy is to be asked once more about a call that waits for a human.

    RULE: whoever goes on with the run does so, and nobody is asked before. One whose tool is of
    another release is not counted: that release may still be up, and its people asked there.
    """
    is_stale = any(each.is_stale and name in guards for name, each, guards in _questions(spec, run))
    return is_stale or any(one.was == one.now for one in outdated_questions(spec, run))


def _questions(
    spec: AgentSpec[Any], run: Run[Any]
) -> Iterator[tuple[str, AwaitingDecision, Container[str]]]:
    """What waits for humans: each with its tool, and the tools that have policies there."""
    for slot in run.slots:
        status = slot.status
        if isinstance(status, AwaitingDecision):
            yield slot.call.tool_name, status, spec.guards
        elif isinstance(status, Delegated):
            yield from _questions(spec.agents[status.tool_name], status.run)


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
