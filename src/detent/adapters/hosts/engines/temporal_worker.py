"""The worker of a host on Temporal, by legs or by effects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Interceptor, Worker


def worker_of(
    client: Client,
    queue: str,
    workflow: type,
    activities: Sequence[Callable[..., Any]],
    *,
    running: int,
    drain_s: float,
    pause_s: float,
    interceptors: Sequence[Interceptor] = (),
) -> Worker:
    """A worker that beats so often.

    To save a way, the server would give an activity to the worker that has followed its workflow.
    RULE: it is given to any. One that cannot perform it, as its release is another one, and can
    follow its workflow all the same, would be given it for ever.

    Raises:
        ValueError: another worker of this client takes work from the same queue.
    """
    try:
        return Worker(
            client,
            task_queue=queue,
            workflows=[workflow],
            activities=activities,
            interceptors=interceptors,
            max_concurrent_activities=running,
            graceful_shutdown_timeout=timedelta(seconds=drain_s),
            max_heartbeat_throttle_interval=timedelta(seconds=pause_s),
            disable_eager_activity_execution=True,
        )
    except RuntimeError as error:  # which is all that the SDK says, but for what is in its text
        if "multiple workers" not in str(error):
            raise
        raise ValueError(
            f"another host of this process works on the queue {queue!r} by the same client of "
            "Temporal: give each of them a client, or a queue, of its own"
        ) from error


def fault_of(serving: asyncio.Task[None] | None) -> str | None:
    """Why a worker takes nothing any more; None while it does, or where there is none."""
    if serving is None or not serving.done():
        return None
    error = None if serving.cancelled() else serving.exception()
    return f"the worker of this host has ended, and takes no runs: {error!r:.200}; open a new one"
