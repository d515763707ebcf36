"""Flushing: what was measured is sent while its process still lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.telemetry.logs import LOGGER
from detent.ports.telemetry import Telemetry

FLUSH_S = 5.0
"""So long it is waited for at the end of a host. Who is away then gets nothing more."""


async def flush(measuring: Iterable[Telemetry | None]) -> None:
    """Have all of them send what they hold, each once; what is not sent in time is lost.

    RULE: a process that ends by a signal, as the workers of uvicorn do, calls nothing at its exit.
    Who has driven runs sends what it knows of them before it says that it has ended.
    """
    calls = {id(each): _flush_of(each) for each in measuring if each is not None}
    sending = [asyncio.create_task(in_a_thread(call)) for call in calls.values() if call]
    if not sending:
        return
    done, late = await asyncio.wait(sending, timeout=FLUSH_S)
    for task in late:
        task.cancel()
        LOGGER.warning("telemetry was not sent within %g s, and is lost", FLUSH_S)
    for task in done:
        if (error := task.exception()) is not None:
            LOGGER.warning("telemetry could not be sent, and is lost: %s", type(error).__name__)


def _flush_of(telemetry: Telemetry) -> Callable[[], object] | None:
    found: Callable[[], object] | None = getattr(telemetry, "flush", None)
    return found
