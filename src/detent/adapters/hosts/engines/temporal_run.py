"""The workflow of a run on Temporal: its legs, one after the other, and the sleep in between.

It says nothing of what the run does, so that it never has to change with an agent: what is stored
in the engine can be replayed by every version.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

LEG, WAKE = "detent_leg", "wake"
LEG_MAX = timedelta(days=365)
"""How long a leg may take; what ends it earlier is a worker that beats no more."""
AGAIN = RetryPolicy(initial_interval=timedelta(seconds=0.5), maximum_interval=timedelta(seconds=10))


@workflow.defn(name="detent_run", sandboxed=False)
class DetentRun:
    """One run. It ends when nothing is owed, and is begun again when somebody has spoken."""

    def __init__(self) -> None:
        self._is_woken = False

    @workflow.run
    async def run(self, run_id: str, beat_s: float) -> None:
        """Have legs driven until nothing is owed."""
        while True:
            self._is_woken = False
            at: float | None = await workflow.execute_activity(
                LEG,
                run_id,
                start_to_close_timeout=LEG_MAX,
                heartbeat_timeout=timedelta(seconds=beat_s),
                retry_policy=AGAIN,
            )
            if at is not None:
                pause = timedelta(seconds=max(0.0, at - workflow.time()))
                with suppress(asyncio.TimeoutError):
                    await workflow.wait_condition(lambda: self._is_woken, timeout=pause)
            elif not self._is_woken:
                return
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(args=[run_id, beat_s])

    @workflow.signal(name=WAKE)
    def wake(self) -> None:
        """Somebody has spoken."""
        self._is_woken = True
