"""AG-UI: runs as streams of events, for front ends that speak it: https://docs.ag-ui.com.

What a client sends is a claim. Who asks is known by the request, what may run by the host.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from attrs import frozen
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from detent.adapters.faces.entrance import (
    Entrance,
    ThreadOf,
    TurnedAwayError,
    agent_of,
    body_of,
    is_name,
    name_of,
    own_threads,
)
from detent.adapters.faces.following import Quiet, begin_of, beside, conversation, follow
from detent.adapters.faces.replies import KEEP_ALIVE, event, event_stream, turned_away, unreadable
from detent.adapters.faces.threads import Thread
from detent.adapters.hosts.stored import opened
from detent.adapters.system.installation import install_command
from detent.adapters.web.people import SignIn
from detent.core.errors import DetentError
from detent.ports.hosting import Host, HostRefusal

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent, ResumeEntry, RunAgentInput

HELD_UP = "held_up"
"""The code of an error where what the client has answered is kept, and nobody goes on by it yet."""


def agui_app(
    host: Host,
    *,
    sign_in: SignIn | None = None,
    state: Collection[str] = (),
    thread_of: ThreadOf = own_threads,
) -> Starlette:
    """An ASGI app that answers `POST /NAME`, a run of the agent of this name, with its events.

    Args:
        host: whose agents they are.
        sign_in: says whose a request is: `Tokens`, for "Authorization: Bearer", or a function of
            the app around. Without it only this machine is answered.
        state: the keys of the state that clients see.
        thread_of: which thread of the host a person means by the name that their client sends;
            None is one that they may not see. Without it each person has their own.

    Raises:
        ImportError: the extra ``detent[agui]`` is not installed.
    """
    if find_spec("ag_ui") is None:
        raise ImportError(
            f"agui_app needs the protocol's own library; install it with: {install_command('agui')}"
        )
    face = _Face(host, Entrance(sign_in, thread_of), tuple(state))
    routes = [Route("/{agent}", face.run, methods=["POST"])]
    return Starlette(routes=routes, lifespan=lambda app: opened(host))


@frozen
class _Asked:
    """What a client wants in a thread."""

    thread: Thread
    input: RunAgentInput

    @property
    def text(self) -> str | None:
        """What the user says now; None where the client only wants to hear on."""
        from ag_ui.core import TextPart, UserMessage

        last = self.input.messages[-1] if self.input.messages else None
        if not isinstance(last, UserMessage):
            return None
        if isinstance(last.content, str):
            return last.content
        if not all(isinstance(part, TextPart) for part in last.content):
            raise TurnedAwayError(400, "invalid_request", "of a message only texts can be read")
        return "\n".join(part.text for part in last.content if isinstance(part, TextPart))


@frozen
class _Face:
    host: Host
    entrance: Entrance
    shown_keys: tuple[str, ...]

    async def run(self, request: Request) -> Response:
        try:
            client_request = await self._request_of(request)
            try:
                return event_stream(await self._answer(client_request))
            except DetentError as error:
                return event_stream(
                    _failed(client_request, type(error).__name__, unreadable(error))
                )
        except TurnedAwayError as error:
            return turned_away(error)

    async def _request_of(self, request: Request) -> _Asked:
        from ag_ui.core import RunAgentInput

        person = await self.entrance.person(request)
        agent = await agent_of(self.host, request.path_params["agent"])
        try:
            sent = await body_of(request, RunAgentInput.model_validate)
        except ValueError:  # of pydantic; its text repeats what was sent
            text = "the body is no RunAgentInput of AG-UI 1.0"
            raise TurnedAwayError(400, "invalid_request", text) from None
        if not is_name(sent.run_id):
            raise TurnedAwayError(400, "invalid_request", "runId is no name")
        name = self.entrance.thread(person, sent.thread_id)
        return _Asked(Thread(self.host, agent.name, person, name), sent)

    async def _answer(self, client_request: _Asked) -> AsyncGenerator[str]:
        """What the client is told, of which run."""
        thread, text = client_request.thread, client_request.text
        if client_request.input.resume:
            answers = map(_entry, client_request.input.resume)
            answered = await thread.decide(await thread.waiting(), answers)
            if answered.remarks:  # the run goes on for nobody until that is done
                texts = [*answered.remarks, *dict.fromkeys(answered.notes.values())]
                return _failed(client_request, HELD_UP, " ".join(texts))
            return self._events_of(client_request, await _last(thread), None, answered.notes)
        if text is None:
            return self._events_of(client_request, await _last(thread), None)
        run_id = name_of("agui", thread.agent, str(thread.id), client_request.input.run_id)
        begun = await thread.begin(text, run_id)
        if isinstance(begun, HostRefusal):
            if begun.why == "thread_busy" and await thread.waiting():
                return self._events_of(client_request, await _last(thread), None)
            return _failed(client_request, begun.why, begun.text)
        return self._events_of(client_request, run_id, text, is_new=begun.is_new)

    async def _events_of(
        self,
        client_request: _Asked,
        run_id: str,
        text: str | None,
        notes: Mapping[str, str] | None = None,
        *,
        is_new: bool = False,
    ) -> AsyncGenerator[str]:
        from ag_ui.core import RunErrorEvent

        from detent.adapters.faces.agui_events import Telling

        telling = Telling(
            thread_id=client_request.input.thread_id,
            run_id=client_request.input.run_id,
            key=name_of("messages", str(client_request.thread.id))[:12],
            state_keys=self.shown_keys,
            notes=notes or {},
            now=time.time(),
        )
        yield _started(client_request)
        try:
            run = (await self.host.run(run_id)).run
            begin = begin_of(run, text)
            if not is_new:
                said = await beside(partial(conversation, run))
                yield _event(telling.snapshot(said[:begin]))
            async with aclosing(follow(self.host, run_id, begin)) as coming:
                async for item in coming:
                    if isinstance(item, Quiet):
                        yield KEEP_ALIVE
                    for event in telling.events(item):
                        yield _event(event)
        except DetentError as error:
            yield _event(RunErrorEvent(message=unreadable(error), code=type(error).__name__))


async def _last(thread: Thread) -> str:
    """The last run of a thread. Raises TurnedAwayError."""
    if last := await thread.last():
        return last
    raise TurnedAwayError(404, "unknown_run", "nothing has been said in this thread yet")


def _entry(entry: ResumeEntry) -> tuple[str, Mapping[str, Any]]:
    """The digest and the answer; what is not resolved is a no."""
    payload: Any = entry.payload if isinstance(entry.payload, dict) else {}
    no = {} if entry.status == "resolved" else {"approved": False}
    return entry.interrupt_id, payload | no


def _event(of: BaseEvent) -> str:
    # not in the mode of JSON, which has no names with half characters: a model may write one
    return event(of.model_dump(by_alias=True))


def _started(client_request: _Asked) -> str:
    from ag_ui.core import PROTOCOL_VERSION, RunStartedEvent

    thread_id, run_id = client_request.input.thread_id, client_request.input.run_id
    version = PROTOCOL_VERSION
    return _event(RunStartedEvent(thread_id=thread_id, run_id=run_id, protocol_version=version))


async def _failed(client_request: _Asked, code: str, text: str) -> AsyncGenerator[str]:
    from ag_ui.core import RunErrorEvent

    yield _started(client_request)
    yield _event(RunErrorEvent(message=text, code=code))
