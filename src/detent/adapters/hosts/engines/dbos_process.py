"""The one DBOS that a process has."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbos import DBOSClient

VERSION = "detent"
"""One version for all: what is queued says itself by which rules it goes on."""

IDLE_S = 5.0
"""How long PostgreSQL keeps the transaction of a worker that has fallen silent in the middle of it.
Until then nobody else can go on with its run, and DBOS's own are over in milliseconds."""

RETRIES = "_sys_db.py"
"""The module of DBOS in which threads try again and again, by a function called wrapper."""


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
            "sys_db_idle_transaction_timeout_sec": IDLE_S,
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


def client_of(url: str) -> DBOSClient:
    """A client of the database of DBOS."""
    from dbos import DBOSClient

    return DBOSClient(system_database_url=url, sys_db_idle_transaction_timeout_sec=IDLE_S)


def waits_for_database() -> bool:
    """Whether a thread of DBOS goes on trying to reach its database, though DBOS is destroyed.

    It does so for ever, nobody can end it, and Python waits for it before the process ends.
    """
    for frame in sys._current_frames().values():  # noqa: SLF001 - as its documentation shows
        at: FrameType | None = frame
        while at is not None:
            code = at.f_code
            if code.co_name == "wrapper" and code.co_filename.endswith(RETRIES):
                return True
            at = at.f_back
    return False
