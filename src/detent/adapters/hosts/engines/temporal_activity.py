"""One effect as an activity of Temporal: it is performed, and the engine hears what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from attrs import frozen
from temporalio import activity
from temporalio.client import (
    AsyncActivityCancelledError,
    Client,
    RPCTimeoutOrCancelledError,
    WorkflowExecutionStatus,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from detent.adapters.hosts.effects.contract import OtherJournalError
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.outcomes import is_fault, is_tool
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.pages import without_missed
from detent.adapters.hosts.engines.temporal_follow import BEGUN, ROOM, SAY
from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import AgentChangedError
from detent.ports.listing import UnknownAgentError

if TYPE_CHECKING:
    from temporalio.client import WorkflowHandle

BEATS = 4
"""An effect beats so often in the time in which its worker is missed."""
TELL_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""How far apart the tries are to say something to the engine; the last one again and again."""


ELSEWHERE_S, ELSEWHERE_TRIES = 0.2, 30
"""After how long, and how often, what a worker cannot perform is given to one that perhaps can,
before that is tried later and later."""
WRONG_WORKER = frozenset(
    error.__name__ for error in (AgentChangedError, OtherJournalError, UnknownAgentError)
)


def pauses() -> Iterator[float]:
    """The seconds between tries, without an end."""
    return chain(TELL_S, repeat(TELL_S[-1]))


@frozen
class EffectActivity:
    """Performs jobs, each in an activity, which beats meanwhile.

    Attributes:
        client: for what is said to the engine from outside of the activity.
        beat_s: after so long without a beat, the engine misses the worker.
        outside: carries a job out.
    """

    client: Client
    beat_s: float
    outside: Outside

    async def perform(self, job: Json) -> Json:
        """Perform a job. One for which the engine waits no longer goes on, and tells what it did.

        RULE: a known outcome is never thrown away. A tool that the run itself has dropped is void.
        RULE: a tool begins once the engine knows that it does, and beats from then on. One that was
        given to a worker which nobody has heard of since has not begun.
        RULE: what a worker or its journal is in the way of is tried again by the engine: that adds
        nothing to the history, and another job would have its input in there once more.

        Raises:
            ApplicationError: it cannot be performed here, or now.
        """
        token = activity.info().task_token
        beating = asyncio.create_task(self._beat(None))

        async def begins() -> bool:
            nonlocal beating
            is_known = await self._known_to_begin(token)
            beating = asyncio.create_task(self._beat(BEGUN))
            return is_known

        if is_tool(job):
            beating.cancel()  # it must not say less, later
        performed = asyncio.create_task(self.outside.perform(job, begins))
        performed.add_done_callback(lambda _: beating.cancel())  # what has ended beats no more
        report = asyncio.create_task(self._report(job, performed))
        try:
            outcome = await asyncio.shield(report)
        except asyncio.CancelledError:
            why = activity.cancellation_details()
            is_dropped = why is None or why.cancel_requested
            if why is not None and why.not_found:  # a run that has ended asks for nothing more
                is_dropped = await self._is_over(activity.info().workflow_id or "")
            if why is None or is_dropped or why.worker_shutdown or not is_tool(job):
                performed.cancel()
            if is_dropped or not is_tool(job):
                report.cancel()
                raise
            outcome = await report
        finally:
            beating.cancel()
        if is_tool(job):
            activity.raise_complete_async()
        if is_fault(outcome):
            raise _again(outcome["later"])
        return outcome

    async def page(self, wanted: Json, offset: int) -> Json:
        """A page of what is in the journal.

        Raises:
            ApplicationError: it cannot be read here, or now; the engine has it tried again.
        """
        beating = asyncio.create_task(self._beat(None))
        try:
            return await self.outside.page(wanted, offset)
        except Exception as error:  # noqa: BLE001 - whatever it is, another worker may read it
            raise _again(type(error).__name__) from None
        finally:
            beating.cancel()

    async def _is_over(self, workflow_id: str) -> bool:
        handle: WorkflowHandle[Any, Any] = self.client.get_workflow_handle(workflow_id)
        try:
            status = (await handle.describe()).status
        except RPCError as error:
            return error.status is RPCStatusCode.NOT_FOUND
        return status is not WorkflowExecutionStatus.RUNNING

    async def _beat(self, what: str | None) -> None:
        while True:
            activity.heartbeat(*[] if what is None else [what])
            await asyncio.sleep(self.beat_s / BEATS)

    async def _tries(self) -> AsyncGenerator[None]:
        """Try, again and again, until a worker that ends waits for nobody any more."""
        for pause_s in pauses():
            yield
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self.outside.left.wait()
            if self.outside.left.is_set():
                return

    async def _known_to_begin(self, token: bytes) -> bool:
        handle = self.client.get_async_activity_handle(task_token=token)
        async for _ in self._tries():
            try:
                await handle.heartbeat(BEGUN)
            except AsyncActivityCancelledError:
                return False
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    return False
            else:
                return True
        return False

    async def _report(self, job: Json, performed: asyncio.Task[Json]) -> Json:
        """What came of a job; of a tool the engine has been told."""
        await asyncio.wait([performed])
        if performed.cancelled():
            outcome: Json = {"lost": "its worker was ended while it was at work"}
        else:
            outcome = without_missed(performed.result(), ROOM)
        if is_tool(job):
            late = self.outside.late(job, outcome)
            outcome.pop("wrapped", None)
            info = activity.info()
            is_heard = await self._completed(info.task_token, outcome)
            if is_heard is False and late is not None:
                is_heard = await self._heard_late(info.workflow_id or "", late)
            if is_heard is None and late is not None:
                await self.outside.keep(job, late)
        return outcome

    async def _completed(self, token: bytes, outcome: Json) -> bool | None:
        """Complete the activity of a tool; False says that it was given up.

        None is that the engine is away, and this worker leaves.
        """
        handle = self.client.get_async_activity_handle(task_token=token)
        async for _ in self._tries():
            try:
                await handle.complete(outcome)
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    return False
                LOGGER.warning("the engine could not be told of a tool: %s", error.status.name)
            else:
                return True
        return None

    async def _heard_late(self, workflow_id: str, late: Json) -> bool | None:
        """Have the run hear what a tool has done that was given up; one that has ended does not.

        None is that nobody has heard it, and this worker leaves.
        """
        handle: WorkflowHandle[Any, Any] = self.client.get_workflow_handle(workflow_id)
        async for _ in self._tries():
            try:
                await handle.execute_update(SAY, late)
            except WorkflowUpdateFailedError:
                return True
            except (RPCError, RPCTimeoutOrCancelledError) as error:  # nobody hears it yet
                if isinstance(error, RPCError) and error.status is RPCStatusCode.NOT_FOUND:
                    return True
            else:
                return True
        return None


def _again(name: str) -> ApplicationError:
    """Has the engine try a job again. What was in the way the log and the health say.

    RULE: where it is this worker that cannot, another one is to be found soon. Temporal asks those
    that have waited longest, in several queues: all of one worker's may come before another's.
    """
    is_elsewhere = name in WRONG_WORKER and activity.info().attempt < ELSEWHERE_TRIES
    delay = timedelta(seconds=ELSEWHERE_S) if is_elsewhere else None
    benign = ApplicationErrorCategory.BENIGN
    return ApplicationError(name, type=name, category=benign, next_retry_delay=delay)
