"""The one DBOS that a process has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

VERSION = "detent"
"""One version for all: what is queued says itself by which rules it goes on."""


def launch(
    workflow: Callable[[Any], Awaitable[object]],
    *,
    workflow_name: str,
    url: str,
    name: str,
    queue: str,
    poll_s: float,
    concurrency: int | None,
) -> None:
    """Begin to take workflows from a queue."""
    import dbos

    sdk: Any = dbos.DBOS
    sdk(
        config={
            "name": "detent",
            "system_database_url": url,
            "executor_id": name,
            "application_version": VERSION,
            "log_level": "WARNING",
            "notification_listener_polling_interval_sec": poll_s,
        }
    )
    sdk.workflow(name=workflow_name)(workflow)
    sdk.listen_queues([queue])
    sdk.launch()
    sdk.register_queue(
        queue,
        worker_concurrency=concurrency,
        polling_interval_sec=poll_s,
        on_conflict="always_update",
    )
