"""Pushing: clients of A2A that have left are told when a task waits, or has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import httpx
from a2a.server.context import ServerCallContext
from a2a.server.tasks import BasePushNotificationSender, PushNotificationConfigStore
from a2a.types import TaskPushNotificationConfig, TaskState
from a2a.utils.errors import InvalidParamsError, UnsupportedOperationError

from detent.adapters.faces.a2a.words import Place, task_of
from detent.adapters.faces.following import begin_of
from detent.core.errors import DetentError
from detent.ports.journal import Entry

CONFIGS_MAX = 10
"""To how many places a person may be told of one task."""
SEND_S = 10.0

AcceptsURL: TypeAlias = Callable[[str], Awaitable[bool]]
"""Whether somebody may have us send to a URL."""

_log = logging.getLogger("detent.a2a")


class Pushing:
    """Tells clients, as long as this process lives; afterwards once the task is asked for again.

    Args:
        store: of the SDK; where it is kept who is told, and where.
        accepts: which URLs are sent to.
    """

    def __init__(self, store: PushNotificationConfigStore, accepts: AcceptsURL) -> None:
        self._store, self._accepts = store, accepts
        self._followed: dict[str, asyncio.Task[None]] = {}

    async def add(
        self, place: Place, wanted: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Have somebody told. Raises an error of the protocol."""
        if not await self._accepts(wanted.url):
            raise InvalidParamsError("nothing is sent to this URL")
        known = await self.listed(place, context)
        config_id = wanted.id or place.task_id
        if len(known) >= CONFIGS_MAX and config_id not in {one.id for one in known}:
            raise UnsupportedOperationError(f"at most {CONFIGS_MAX} places are told of one task")
        await self._store.set_info(place.task_id, wanted, context)
        await self.goes_on(place, context)
        (added,) = [one for one in await self.listed(place, context) if one.id == config_id]
        return added

    async def listed(
        self, place: Place, context: ServerCallContext
    ) -> Sequence[TaskPushNotificationConfig]:
        """Where this person is told of a task."""
        return await self._store.get_info(place.task_id, context)

    async def remove(self, place: Place, config_id: str, context: ServerCallContext) -> None:
        """Tell them there no more."""
        await self._store.delete_info(place.task_id, context, config_id)

    async def goes_on(self, place: Place, context: ServerCallContext) -> None:
        """Follow the task, where somebody wants to be told and nobody does yet."""
        name = place.task_id
        if name not in self._followed and await self.listed(place, context):
            following = asyncio.create_task(self._follow(place))
            self._followed[name] = following
            following.add_done_callback(lambda _: self._followed.pop(name, None))

    async def _follow(self, place: Place) -> None:
        host = place.thread.host
        try:
            length = (await host.run(place.run_id)).listed.length
            await self._tell(place)
            async for seen in host.watch(place.run_id, length - 1):
                if isinstance(seen, Entry) and seen.status != "running":
                    await self._tell(place)
        except DetentError as error:
            _log.warning("nobody is told of a task any more: %s", type(error).__name__)

    async def _tell(self, place: Place) -> None:
        hosted = await place.thread.host.run(place.run_id)
        task = task_of(place, hosted, begin_of(hosted.run))
        if task.status.state == TaskState.TASK_STATE_WORKING:
            return
        async with httpx.AsyncClient(timeout=SEND_S) as client:
            sender = BasePushNotificationSender(
                client, self._store, push_url_validator=self._accepts
            )
            await sender.send_notification(place.task_id, task)
