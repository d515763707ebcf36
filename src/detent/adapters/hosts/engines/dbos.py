"""DBOS: a queue of legs in SQLite or PostgreSQL, without a server of its own.

Source: https://docs.dbos.dev/python/tutorials/queue-tutorial and
https://docs.dbos.dev/python/reference/client.
"""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack
from uuid import uuid4

from detent.adapters.agent.agent import Agent
from detent.adapters.hosts.effects.driving import HistoryKeeper
from detent.adapters.hosts.effects.identity import workflow_id
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.engines.dbos_process import (
    VERSION,
    client_of,
    launch,
    waits_for_database,
)
from detent.adapters.hosts.engines.driving import Wake
from detent.adapters.hosts.engines.host import (
    EngineHost,
    EngineOptions,
    EngineUnavailableError,
    Leg,
    Mode,
)
from detent.adapters.hosts.reading import asked
from detent.adapters.system.installation import install_command
from detent.ports.journal import Journal

if TYPE_CHECKING:
    from dbos import DBOSClient, EnqueueOptions

WORKFLOW = "detent_leg"
END_S = 5
"""How long it is waited at most for DBOS to write down that legs have ended."""
IDLE_S = 1
"""The same where none was at work; the thread that reads the queue needs it to end."""
NEWER_PYTHON, SQLITE_FOR_IT = (3, 12), (3, 42)
"""From this Python on, DBOS has SQLite tell the time by a function of this version."""


def sqlite_fault(url: str, python: tuple[int, ...], sqlite: tuple[int, ...]) -> str | None:
    """Why DBOS cannot keep its queue there with these versions; None where it can."""
    if not url.startswith("sqlite") or python < NEWER_PYTHON or sqlite >= SQLITE_FOR_IT:
        return None
    return (
        "DBOS needs SQLite 3.42 or newer where Python is 3.12 or newer, and this Python has "
        f"{'.'.join(map(str, sqlite))}: take a Python with a newer one, or url='postgresql://…'"
    )


class DBOSHost(EngineHost):
    """Runs that are workflows of DBOS: ``async with DBOSHost(…)``.

    A process has at most one, as it has one DBOS. By legs, one that waits for a worker is in the
    queue; one that waits for a time is delayed there; a run that waits for a human is nowhere but
    in the journal. By effects, each call of a model or tool is a step of the run's workflow, and a
    run that waits is a task of its worker.

    Args:
        agents: by the names that runs are started with; the same in each process.
        journal: where the runs are; one with claims that all processes reach.
        url: the system database of DBOS: ``postgresql://…`` or ``sqlite:///runs-queue.db``.
        name: of this process: one that is started again under its name takes up at once what it
            was at. Without it, another worker does so once the claim is over.
        queue: the name of the queue; by effects, with "-effects" behind it.
        poll_s: how often the queue is looked at, in seconds.
        mode: what DBOS keeps: "legs", or "effects". A store has runs of one of them.
        options: see `EngineOptions`.

    Raises:
        ImportError: dbos is not installed: ``pip install 'detent[dbos]'``.
        ValueError: the journal has no claims, there is no agent, or SQLite is too old for DBOS.
    """

    engine_name = "DBOS"

    def __init__(
        self,
        agents: Mapping[str, Agent[Any, Any]],
        journal: Journal,
        *,
        url: str,
        name: str | None = None,
        queue: str = "detent",
        poll_s: float = 0.2,
        mode: Mode = "legs",
        **options: Unpack[EngineOptions],
    ) -> None:
        super().__init__(agents, journal, mode=mode, **options)
        if fault := sqlite_fault(url, sys.version_info[:3], sqlite3.sqlite_version_info):
            raise ValueError(fault)
        self._url, self._name = url, name or f"detent-{uuid4().hex}"
        self._queue, self._poll_s = queue, poll_s
        self._client: DBOSClient | None = None

    async def _effects_engine(
        self, parts: Mapping[str, EffectParts], outside: Outside
    ) -> HistoryKeeper:
        _require_dbos()
        from detent.adapters.hosts.engines.dbos_effects import DBOSEffects

        return DBOSEffects(
            *(self._url, self._name, f"{self._queue}-effects", self._poll_s),
            *(self._journal, self._keeper, parts, outside),
            running=self._running,
            drain_s=self._drain_s,
        )

    async def _connect(self, leg: Leg | None) -> None:
        _require_dbos()
        import dbos
        from sqlalchemy.exc import SQLAlchemyError

        try:
            if leg is not None:
                await asyncio.to_thread(self._launch, asyncio.get_running_loop())
            self._client = await asyncio.to_thread(client_of, self._url)
        except SQLAlchemyError as error:
            if leg is not None:  # or no other host of this process could begin
                await asyncio.to_thread(dbos.DBOS.destroy, destroy_registry=True)
            raise EngineUnavailableError("the database of DBOS", "", error) from error

    def _launch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to take legs from the queue, each of which is driven in the event loop of ours."""

        async def detent_leg(run_id: str) -> None:
            driven = asyncio.run_coroutine_threadsafe(self._driving.leg_and_wake(run_id), loop)
            await asyncio.wrap_future(driven)

        launch(
            detent_leg,
            workflow_name=WORKFLOW,
            url=self._url,
            name=self._name,
            queue=self._queue,
            poll_s=self._poll_s,
            concurrency=self._running,
        )

    async def _wake(self, wake: Wake) -> None:
        if self._client is None:  # it has ended, and a leg has not: the next look finds its run
            return
        options: EnqueueOptions = {
            "queue_name": self._queue,
            "workflow_name": WORKFLOW,
            "workflow_id": workflow_id(wake.name, self._queue),
            "app_version": VERSION,
        }
        if wake.at is not None:
            options["delay_seconds"] = max(0.0, wake.at - self._clock.now())
        await self._client.enqueue_async(options, wake.run_id)

    async def _answer(self) -> None:
        if self._client is not None:
            await asked(self._client.check_connection)

    async def _close(self) -> None:
        """Where the database of DBOS is gone, it is not waited for longer than what is at work."""
        closing = asyncio.create_task(super()._close())
        await asyncio.wait([closing], timeout=self._drain_s + END_S)
        while not (closing.done() or waits_for_database()):
            await asyncio.wait([closing], timeout=1)
        if closing.done():
            await closing
        self.is_held = waits_for_database()

    async def _disconnect(self) -> None:
        if self._works:
            from dbos import DBOS

            wait_s = END_S if self._was_at_work else IDLE_S
            await asyncio.to_thread(
                DBOS.destroy, destroy_registry=True, workflow_completion_timeout_sec=wait_s
            )
        # RULE: not before. The legs that have just ended have their runs handed on by it.
        client, self._client = self._client, None
        if client is not None:
            await asyncio.to_thread(client.destroy)


def _require_dbos() -> None:
    try:
        importlib.import_module("dbos")
    except ModuleNotFoundError as error:
        raise ImportError(f"DBOSHost needs dbos: {install_command('dbos')}") from error
