"""A worker that ends while its engine is away waits for it no longer than for what is at work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from temporalio.service import RPCError, RPCStatusCode

from detent import MemoryJournal
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.effects.driving import EveryRun
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.engines.driving import EngineDriving, Wake
from detent.adapters.hosts.engines.temporal_activity import EffectActivity
from detent.adapters.hosts.faults import Faults
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.looks import Looks
from detent.adapters.hosts.reading import Reading
from detent.machine import ManualClock
from detent.ports.journal import Entry
from detent.ports.listing import Listing


class Away:
    """A client of Temporal whose server is away."""

    def __init__(self) -> None:
        self.asked = asyncio.Queue[str]()

    def get_async_activity_handle(self, **named: object) -> Away:
        """An activity."""
        return self

    def get_workflow_handle(self, *named: object) -> Away:
        """A workflow."""
        return self

    async def _refuse(self, *said: object) -> None:
        self.asked.put_nowait("")
        raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")

    complete = heartbeat = execute_update = _refuse


@pytest.mark.parametrize(
    ("tell", "known"),
    [
        (lambda activity: activity._known_to_begin(b""), False),
        (lambda activity: activity._completed(b"", {}), None),
        (lambda activity: activity._heard_late("w", {}), None),
    ],
    ids=["begun", "completed", "late"],
)
def test_what_temporal_is_to_hear_is_said_no_more_once_a_worker_leaves(
    tell: Any, known: object
) -> None:
    """Until then it is said again and again: a tool that was told to nobody has not begun."""

    async def main() -> object:
        away: Any = Away()
        outside = Outside({}, Channels(), Faults(ManualClock(0.0)))
        telling = asyncio.create_task(tell(EffectActivity(away, 3.0, outside)))
        for _ in range(3):
            await away.asked.get()
        assert not telling.done()
        outside.cancel()
        async with asyncio.timeout(10):
            return await telling

    assert asyncio.run(main()) is known


def test_an_engine_that_is_away_is_told_of_no_run() -> None:
    """Each would be waited for, and the host would look at its store too rarely to be ready."""

    async def main() -> list[str]:
        journal, clock = MemoryJournal(), ManualClock(1_000.0)
        for run_id in ("a", "b", "c"):
            first = Entry(0, 1.0, "Started", "running", {}, Listing("it"))
            journal.append(run_id, [first])
        told, is_away = list[str](), [False]

        async def wake(one: Wake) -> None:
            told.append(one.run_id)
            is_away[0] = True
            raise ConnectionError("it is away")

        looks = Looks(Finder(journal, EveryRun(), {"it"}, clock), clock, 1.0)
        reading = Reading(journal, {})
        driving = EngineDriving(
            *(reading, Channels(), looks, wake, clock), is_away=lambda: is_away[0]
        )
        for _ in range(2):
            await driving.look()
        assert not looks.trouble
        return told

    assert len(asyncio.run(main())) == 1
