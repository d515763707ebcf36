"""What A2A's methods do: a task is a run of a host, and all of it is found there again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextlib import aclosing, contextmanager, suppress
from typing import TYPE_CHECKING, cast

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
    ExtendedAgentCardNotConfiguredError,
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size
from attrs import evolve
from starlette.requests import Request

from detent.adapters.faces.a2a.words import RunTask, parts_of_id, said_in
from detent.adapters.faces.entrance import Entrance, TurnedAwayError, is_name, name_of
from detent.adapters.faces.following import Left, Quiet, Spoken, begin_of, follow
from detent.adapters.faces.replies import unreadable
from detent.adapters.faces.threads import Thread
from detent.adapters.web.people import Person
from detent.core.errors import DetentError
from detent.ports.hosting import Host, HostRefusal

if TYPE_CHECKING:
    from detent.adapters.faces.a2a.push import Pushing

LISTED_MAX = 1000
"""How many tasks of one context are listed."""
CANCEL_S = 10.0
"""Seconds that a client waits for the end of a task that it cancels; it ends in any case."""


@contextmanager
def _errors_of_protocol() -> Generator[None]:
    """What is the matter, in the protocol's words; nothing of the store gets out."""
    try:
        yield
    except TurnedAwayError as error:
        raise InvalidParamsError(error.text) from None
    except DetentError as error:
        raise InternalError(unreadable(error)) from None


class Tasks(RequestHandler):
    """The methods of one agent.

    Args:
        host: where its runs live.
        entrance: says which threads somebody has.
        agent: its name.
        push: who tells clients that have left; None is nobody.
    """

    def __init__(self, host: Host, entrance: Entrance, agent: str, push: Pushing | None) -> None:
        self._host, self._entrance, self._agent, self._push = host, entrance, agent, push

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """How a task is."""
        validate_history_length(params)
        with _errors_of_protocol():
            return apply_history_length(
                (await self._known_task(params.id, context)).whole(), params
            )

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """The tasks of a context, the one last written to first."""
        validate_history_length(params)
        if params.HasField("page_size"):
            validate_page_size(params.page_size)
        if not params.context_id:
            raise UnsupportedOperationError("tasks are listed for one contextId at a time")
        with _errors_of_protocol():
            return await self._listed(params, self._thread(params.context_id, context))

    async def _listed(self, params: ListTasksRequest, thread: Thread) -> ListTasksResponse:
        runs = await self._host.runs(agent=self._agent, thread_id=thread.id, limit=LISTED_MAX)
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        start = _place(params.page_token)
        tasks: list[Task] = []
        for run in runs[start : start + size]:
            hosted = await self._host.run(run.run_id)
            task = RunTask(thread, params.context_id, hosted, begin_of(hosted.run)).whole()
            if not params.include_artifacts:
                task.ClearField("artifacts")
            if params.status in (TaskState.TASK_STATE_UNSPECIFIED, task.status.state):
                tasks.append(apply_history_length(task, params))
        more = str(start + size) if start + size < len(runs) else ""
        return ListTasksResponse(
            tasks=tasks, next_page_token=more, page_size=len(tasks), total_size=len(runs)
        )

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """End a task. Raises TaskNotCancelableError where it has ended."""
        with _errors_of_protocol():
            found = await self._known_task(params.id, context)
            sent = await found.thread.cancel(found.run_id)
            if isinstance(sent, HostRefusal):
                raise TaskNotCancelableError(sent.text)
            if sent.text:
                return evolve(await found.again(), remarks=(sent.text,)).whole()
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_S):
                    async for _ in self._host.watch(found.run_id):
                        pass
            return (await found.again()).whole()

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task:
        """Begin a task, or answer what it asks: how it is once it has ended or waits."""
        with _errors_of_protocol():
            found = await self._task_of(params, context)
            if not (params.configuration.return_immediately or found.remarks):
                request: Request = context.state["request"]
                async with aclosing(follow(self._host, found.run_id, found.begin)) as coming:
                    async for item in coming:
                        if isinstance(item, Quiet) and await request.is_disconnected():
                            break  # nobody reads it; the run goes on
                found = await found.again()
            return apply_history_length(found.whole(), params.configuration)

    def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """As `on_message_send`, with all that comes of it."""
        return self._stream(self._task_of(params, context), params.configuration)

    def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """What still comes of a task."""
        return self._stream(self._going(params.id, context))

    async def _stream(
        self, finding: Awaitable[RunTask], wanted: SendMessageConfiguration | None = None
    ) -> AsyncGenerator[Event]:
        """A task as it is found, and what comes behind, until it has ended or waits.

        A text that breaks off and comes again is replaced.
        """
        with _errors_of_protocol():
            found, message = await finding, ""
            yield apply_history_length(found.whole(), wanted)
            if found.remarks:  # nothing more comes until that is done
                return
            begin = max(found.begin, len(found.hosted.run.messages))
            async with aclosing(follow(self._host, found.run_id, begin)) as coming:
                async for item in coming:
                    if isinstance(item, Spoken) and not item.is_thought:
                        yield found.piece(item, is_more=item.message == message)
                        message = item.message
                    elif isinstance(item, Left):
                        yield evolve(found, hosted=item.hosted).update()

    async def _task_of(self, params: SendMessageRequest, context: ServerCallContext) -> RunTask:
        """The task that a message is about: begun by it, answered by it, or as it is."""
        validate_history_length(params.configuration)
        message = params.message
        text, answers = said_in(message)
        if message.task_id:
            found = await self._known_task(message.task_id, context)
            if message.context_id not in ("", found.context):
                raise InvalidParamsError("the task is not of this context")
            if not answers and found.is_over:
                raise UnsupportedOperationError("the task has ended; leave its id out to go on")
            answered = await found.thread.decide(found.hosted.pending, answers)
            found = evolve(await found.again(), notes=answered.notes, remarks=answered.remarks)
        elif answers or not text:
            raise InvalidParamsError("a task begins with a text; an answer names its taskId")
        else:
            found = await self._begin(message.message_id, message.context_id, text, context)
        if params.configuration.HasField("task_push_notification_config"):
            wanted = params.configuration.task_push_notification_config
            await self._pushing.add(found, wanted, context)
        return found

    async def _begin(
        self, message_id: str, context_id: str, text: str, context: ServerCallContext
    ) -> RunTask:
        if not is_name(message_id):
            raise InvalidParamsError("messageId is no name")
        person = _person(context).name
        name = context_id or name_of("a2a-context", self._agent, person, message_id)
        thread = self._thread(name, context)
        run_id = name_of("a2a", self._agent, person, str(thread.id), message_id)
        begun = await thread.begin(text, run_id)
        if isinstance(begun, HostRefusal):
            raise UnsupportedOperationError(f"{begun.why}: {begun.text}")
        hosted = await self._host.run(run_id)
        return RunTask(thread, name, hosted, begin_of(hosted.run, text))

    def _thread(self, name: str, context: ServerCallContext) -> Thread:
        """The thread that a context is. Raises TurnedAwayError."""
        person = _person(context)
        return Thread(self._host, self._agent, person, self._entrance.thread(person, name))

    async def _known_task(self, task_id: str, context: ServerCallContext) -> RunTask:
        """The task of this agent, in a thread of this person. Raises TaskNotFoundError."""
        run_id, name = parts_of_id(task_id)
        try:
            thread = self._thread(name, context)
        except TurnedAwayError:
            raise TaskNotFoundError from None
        hosted = await thread.run(run_id)
        if hosted is None:
            raise TaskNotFoundError
        found = RunTask(thread, name, hosted, begin_of(hosted.run))
        if self._push is not None:
            await self._push.goes_on(found, context)
        return found

    async def _going(self, task_id: str, context: ServerCallContext) -> RunTask:
        """One that has not ended. Raises UnsupportedOperationError as well."""
        found = await self._known_task(task_id, context)
        if found.is_over:
            raise UnsupportedOperationError("the task has ended")
        return found

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Have a client told of a task that it does not wait for."""
        with _errors_of_protocol():
            found = await self._known_task(params.task_id, context)
            return await self._pushing.add(found, params, context)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Where a client is told."""
        with _errors_of_protocol():
            found = await self._known_task(params.task_id, context)
            for config in await self._pushing.listed(found, context):
                if config.id == params.id:
                    return config
        raise TaskNotFoundError

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """All places where this person is told of a task."""
        with _errors_of_protocol():
            found = await self._known_task(params.task_id, context)
            configs = await self._pushing.listed(found, context)
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Tell a client no more."""
        with _errors_of_protocol():
            found = await self._known_task(params.task_id, context)
            await self._pushing.remove(found, params.id, context)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """There is one card for all."""
        raise ExtendedAgentCardNotConfiguredError

    @property
    def _pushing(self) -> Pushing:
        if self._push is None:
            raise PushNotificationNotSupportedError
        return self._push


def _place(token: str) -> int:
    """Where a page begins. Raises InvalidParamsError."""
    if token and not (token.isdecimal() and len(token) <= len(str(LISTED_MAX))):
        raise InvalidParamsError("pageToken is none that was given")
    return int(token or 0)


def _person(context: ServerCallContext) -> Person:
    """Whose request it is, as the entrance has found out."""
    return cast(Person, context.state["person"])
