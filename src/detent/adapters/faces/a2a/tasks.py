"""What A2A's methods do: a task is a run of a host, and all of it is found there again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

from a2a.auth.user import User
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
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatusUpdateEvent,
)
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
from attrs import frozen

from detent.adapters.faces.a2a.words import (
    Place,
    Telling,
    is_over,
    parts_of_id,
    said_in,
    status_of,
    task_of,
)
from detent.adapters.faces.entrance import Entrance, TurnedAwayError, is_name, name_of
from detent.adapters.faces.following import Left, Spoken, begin_of, follow
from detent.adapters.faces.replies import unreadable
from detent.adapters.faces.threads import Thread
from detent.adapters.web.people import Person
from detent.core.errors import DetentError
from detent.ports.hosting import Host, HostedRun, HostRefusal

if TYPE_CHECKING:
    from detent.adapters.faces.a2a.push import Pushing

LISTED_MAX = 1000
"""How many tasks of one context are listed."""
CANCEL_S = 10.0
"""Seconds that a client waits for the end of a task that it cancels; it ends in any case."""


class Caller(User):
    """Who calls, as the entrance has found out."""

    def __init__(self, person: Person) -> None:
        self.person = person

    @property
    def is_authenticated(self) -> bool:
        """They have shown who they are."""
        return True

    @property
    def user_name(self) -> str:
        """Their name."""
        return self.person.name


@frozen
class _Found:
    """A run that the client may see, and where in its conversation it begins."""

    place: Place
    hosted: HostedRun
    begin: int
    notes: Mapping[str, str]

    @property
    def task(self) -> Task:
        return task_of(self.place, self.hosted, self.begin, self.notes)


@contextmanager
def _told() -> Generator[None]:
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

    def __init__(
        self, host: Host, entrance: Entrance, agent: str, push: Pushing | None = None
    ) -> None:
        self._host, self._entrance, self._agent, self._push = host, entrance, agent, push

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """How a task is."""
        validate_history_length(params)
        with _told():
            return apply_history_length((await self._found(params.id, context)).task, params)

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """The tasks of a context, the one last written to first."""
        validate_history_length(params)
        if params.HasField("page_size"):
            validate_page_size(params.page_size)
        if not params.context_id:
            raise UnsupportedOperationError("tasks are listed for one contextId at a time")
        with _told():
            return await self._listed(params, self._thread(params.context_id, context))

    async def _listed(self, params: ListTasksRequest, thread: Thread) -> ListTasksResponse:
        runs = await self._host.runs(agent=self._agent, thread_id=thread.id, limit=LISTED_MAX)
        size = params.page_size or 50
        start = int(params.page_token) if params.page_token.isdecimal() else 0
        tasks: list[Task] = []
        for run in runs[start : start + size]:
            place = Place(thread, params.context_id, run.run_id)
            hosted = await self._host.run(run.run_id)
            task = task_of(place, hosted, begin_of(hosted.run))
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
        with _told():
            found = await self._found(params.id, context)
            run_id = found.place.run_id
            if refusal := await found.place.thread.cancel(run_id):
                raise TaskNotCancelableError(refusal.text)
            try:
                async with asyncio.timeout(CANCEL_S):
                    async for _ in self._host.watch(run_id):
                        pass
            except TimeoutError:
                pass
            return (await self._again(found)).task

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task:
        """Begin a task, or answer what it asks: how it is once it has ended or waits."""
        validate_history_length(params.configuration)
        with _told():
            found = await self._taken(params, context)
            if not params.configuration.return_immediately:
                async with aclosing(follow(self._host, found.place.run_id, found.begin)) as coming:
                    async for _ in coming:
                        pass
                found = await self._again(found)
            return apply_history_length(found.task, params.configuration)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """As `on_message_send`, with all that comes of it."""
        validate_history_length(params.configuration)
        with _told():
            found = await self._taken(params, context)
            yield apply_history_length(found.task, params.configuration)
            async with aclosing(self._stream(found)) as coming:
                async for event in coming:
                    yield event

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """What still comes of a task."""
        with _told():
            found = await self._found(params.id, context)
            if is_over(found.task.status):
                raise UnsupportedOperationError("the task has ended")
            yield found.task
            async with aclosing(self._stream(found)) as coming:
                async for event in coming:
                    yield event

    async def _stream(self, found: _Found) -> AsyncGenerator[Event]:
        """What comes behind the task as it was found, until it has ended or waits."""
        place, telling = found.place, Telling(found.place)
        begin = max(found.begin, len(found.hosted.run.messages))
        async with aclosing(follow(self._host, place.run_id, begin)) as coming:
            async for one in coming:
                if isinstance(one, Spoken) and not one.is_thought:
                    yield telling.piece(one)
                elif isinstance(one, Left):
                    yield TaskStatusUpdateEvent(
                        task_id=place.task_id,
                        context_id=place.context,
                        status=status_of(place, one.hosted, found.notes),
                    )

    async def _taken(self, params: SendMessageRequest, context: ServerCallContext) -> _Found:
        """The task that a message is about: begun by it, answered by it, or as it is."""
        message = params.message
        text, answers = said_in(message)
        if message.task_id:
            found = await self._found(message.task_id, context)
            if message.context_id not in ("", found.place.context):
                raise InvalidParamsError("the task is not of this context")
            if not answers and is_over(found.task.status):
                raise UnsupportedOperationError("the task has ended; leave its id out to go on")
            notes = await found.place.thread.decide(found.hosted.pending, answers)
            found = await self._again(found, notes)
        elif answers or not text:
            raise InvalidParamsError(
                "a task begins with a text; an answer names the task by taskId"
            )
        else:
            found = await self._begun(message.message_id, message.context_id, text, context)
        if params.configuration.HasField("task_push_notification_config"):
            wanted = params.configuration.task_push_notification_config
            await self._pushing.add(found.place, wanted, context)
        return found

    async def _begun(
        self, message_id: str, context_id: str, text: str, context: ServerCallContext
    ) -> _Found:
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
        return _Found(Place(thread, name, run_id), hosted, begin_of(hosted.run, text), {})

    def _thread(self, name: str, context: ServerCallContext) -> Thread:
        """The thread that a context is. Raises TurnedAwayError."""
        person = _person(context)
        return Thread(self._host, self._agent, person, self._entrance.thread(person, name))

    async def _found(self, task_id: str, context: ServerCallContext) -> _Found:
        """The task of this agent, in a thread of this person. Raises TaskNotFoundError."""
        run_id, name = parts_of_id(task_id)
        try:
            thread = self._thread(name, context)
        except TurnedAwayError:
            raise TaskNotFoundError from None
        hosted = await thread.run(run_id)
        if hosted is None:
            raise TaskNotFoundError
        found = _Found(Place(thread, name, run_id), hosted, begin_of(hosted.run), {})
        if self._push is not None:
            await self._push.goes_on(found.place, context)
        return found

    async def _again(self, found: _Found, notes: Mapping[str, str] | None = None) -> _Found:
        hosted = await self._host.run(found.place.run_id)
        return _Found(found.place, hosted, found.begin, found.notes if notes is None else notes)

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Have a client told of a task that it does not wait for."""
        with _told():
            found = await self._found(params.task_id, context)
            return await self._pushing.add(found.place, params, context)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Where a client is told."""
        with _told():
            found = await self._found(params.task_id, context)
            for config in await self._pushing.listed(found.place, context):
                if config.id == params.id:
                    return config
        raise TaskNotFoundError

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """All places where this person is told of a task."""
        with _told():
            found = await self._found(params.task_id, context)
            configs = await self._pushing.listed(found.place, context)
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Tell a client no more."""
        with _told():
            found = await self._found(params.task_id, context)
            await self._pushing.remove(found.place, params.id, context)

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


def _person(context: ServerCallContext) -> Person:
    if not isinstance(context.user, Caller):
        raise InternalError("nobody has signed in")
    return context.user.person
