"""What time has ended: tools that took too long, questions that nobody answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from detent.adapters.stories.parts import TIMED_OUT, Call, Story
from detent.adapters.stories.statuses import BEGUN, WAITS

Before: TypeAlias = Sequence[tuple[Call, str]]
"""Calls that have no answer, each with its status."""
TICKED, TIMES = "ClockTicked", frozenset({"ClockTicked", "Resumed"})
"""The events that say how late it is."""
NO_DECISION, NO_RESULT = "nobody decided in time", "it gave no answer in time"


def open_calls(story: Story) -> Before:
    """Those of the turn that a run is in, and of the agents inside."""
    found = list[tuple[Call, str]]()
    for call in story.turns[-1].calls if story.turns else ():
        if call.ended_at is None:
            found.append((call, call.status))
            found += open_calls(call.inside) if call.inside else ()
    return found


def only_waits(story: Story) -> bool:
    """Whether humans are waited for, and nobody is at work."""
    calls = [status for call, status in open_calls(story) if call.inside is None]
    return {*calls} == {WAITS}


def lapse(before: Before, at: float, kind: str) -> None:
    """Say of each call that waited, or was at work, before such an event that it has ended that.

    RULE: whoever resumes a run finds work that its process has left: that did not take too long.
    """
    for call, status in before:
        if status == WAITS and call.ended_at is not None:
            call.said.append(NO_DECISION)
        elif kind != TICKED or status != BEGUN or call.status == BEGUN:
            continue
        elif work := call.of("work"):
            call.close("work", at)
            work[-1].came_to = TIMED_OUT
            if call.ended_at is not None:
                call.result = call.result or NO_RESULT
