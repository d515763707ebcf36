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

from detent.adapters.faces.a2a.words import RunTask
from detent.core.errors import DetentError
from detent.ports.journal import Entry

CONFIGS_MAX = 10
"""To how many places a person may be told of one task."""
ENDED_MAX = 1_000
"""How many tasks that have ended are known as told."""
SEND_S = 10.0

AcceptsURL: TypeAlias = Callable[[str], Awaitable[bool]]
"""Whether somebody may have us send to a URL."""

_log = logging.getLogger("detent.a2a")


class Pushing:
    """Tells clients, as long as this process lives; afterwards once the task is asked for again.

    Of an end they are told once by a process: who is told may ask for the task in answer.

    Args:
        store: of the SDK; where it is kept who is told, and where.
        accepts: which URLs are sent to.
    """

    def __init__(self, store: PushNotificationConfigStore, accepts: AcceptsURL) -> None:
        self._store, self._accepts = store, accepts
        self._followed: dict[str, asyncio.Task[None]] = {}

    async def add(
        self, task: RunTask, wanted: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Have somebody told. Raises an error of the protocol."""
        if not await self._accepts(wanted.url):
            raise InvalidParamsError("nothing is sent to this URL")
        known = await self.listed(task, context)
        config_id = wanted.id or task.id
        if len(known) >= CONFIGS_MAX and config_id not in {config.id for config in known}:
            raise UnsupportedOperationError(f"at most {CONFIGS_MAX} places are told of one task")
        await self._store.set_info(task.id, wanted, context)
        if (before := self._followed.get(task.id)) is not None and before.done():
            del self._followed[task.id]  # of the end this place was not told
        await self.goes_on(task, context)
        (added,) = [config for config in await self.listed(task, context) if config.id == config_id]
        return added

    async def listed(
        self, task: RunTask, context: ServerCallContext
    ) -> Sequence[TaskPushNotificationConfig]:
        """Where this person is told of a task."""
        return await self._store.get_info(task.id, context)

    async def remove(self, task: RunTask, config_id: str, context: ServerCallContext) -> None:
        """Tell them there no more."""
        await self._store.delete_info(task.id, context, config_id)

    async def goes_on(self, task: RunTask, context: ServerCallContext) -> None:
        """Follow the task, where somebody wants to be told and nobody does yet."""
        if task.id not in self._followed and await self.listed(task, context):
            self._followed[task.id] = asyncio.create_task(self._follow(task))
            for name in [name for name, follower in self._followed.items() if follower.done()][
                :-ENDED_MAX
            ]:
                del self._followed[name]

    async def _follow(self, task: RunTask) -> None:
        try:
            task = await task.again()
            await self._tell(task)
            async for seen in task.thread.host.watch(task.run_id, task.hosted.listed.length - 1):
                if isinstance(seen, Entry) and seen.status != "running":
                    await self._tell(await task.again())
        except DetentError as error:
            _log.warning("nobody is told of a task any more: %s", type(error).__name__)
            del self._followed[task.id]

    async def _tell(self, task: RunTask) -> None:
        whole_task = task.whole()
        if whole_task.status.state == TaskState.TASK_STATE_WORKING:
            return
        async with httpx.AsyncClient(timeout=SEND_S) as client:
            sender = BasePushNotificationSender(
                client, self._store, push_url_validator=self._accepts
            )
            await sender.send_notification(task.id, whole_task)
