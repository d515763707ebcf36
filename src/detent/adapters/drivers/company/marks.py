"""Marks: what entries say of a call to whoever cannot make their run, as its rules differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from detent.adapters.drivers.company.mark_words import words_in
from detent.adapters.drivers.loading import FORGOTTEN
from detent.core.run.events import Event, ToolNeverRan, ToolRaised, ToolReturned
from detent.ports.journal import Entry

AWAITED = frozenset({"Unknown", "AwaitingDecision"})
"""How a call stands that was at work when its run was taken up, as long as nobody knows of it."""
LOOKUP = "unknown_outcome"


def outcomes_of(events: Iterable[Event]) -> list[ToolReturned | ToolRaised | ToolNeverRan]:
    """What of a driver's events has come of its calls, and can be read by any rules.

    RULE: what a tool writes to the state is read by the rules that know its keys, and else nobody
    could read the run any more; and inside of agents the marks of a run do not reach.
    """
    return [
        event
        for event in events
        if isinstance(event, ToolReturned | ToolRaised | ToolNeverRan)
        and not (isinstance(event, ToolReturned) and event.result.writes)
    ]


def is_awaited(
    entries: Iterable[tuple[Entry, Mapping[str, Any]]],
    event: ToolReturned | ToolRaised | ToolNeverRan,
) -> bool:
    """Whether a run waits to hear of an attempt, by what others have written since it began.

    It does where its call is unknown, and nobody has said anything of it since, but that it could
    not be looked up.
    """
    mark = ""
    for entry, data in entries:
        mark = str(data.get("mark", mark))
        is_of_it = list(data.get("ref", ())) == [*event.ref]
        if entry.kind == FORGOTTEN or (is_of_it and not _is_lookup(data)):
            return False
    match words_in(mark):
        case [turn, "Acting", _, *statuses] if turn == str(event.ref.turn):
            return not AWAITED.isdisjoint(statuses[event.ref.place : event.ref.place + 1])
        case _:
            return False


def _is_lookup(data: Mapping[str, Any]) -> bool:
    fault: Any = data.get("fault")
    return isinstance(fault, Mapping) and fault.get("kind") == LOOKUP
