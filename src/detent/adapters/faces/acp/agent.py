"""ACP: an agent in an editor, by stdio: https://agentclientprotocol.com.

What an editor sends is a claim. Who decides is the user of this process, what may run the host.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from pathlib import PurePath
from typing import Any, cast
from uuid import uuid4

from acp import PROTOCOL_VERSION, RequestError
from acp.helpers import update_agent_message_text
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    ClientCapabilities,
    FileSystemCapabilities,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    StopReason,
)
from attrs import define, field
from pydantic import BaseModel, ValidationError

from detent.adapters.faces.acp.files import EDITORS, NoEditorError
from detent.adapters.faces.acp.words import Telling, asked_of, options_of, said_in, stop_reason
from detent.adapters.faces.entrance import ThreadOf, is_name
from detent.adapters.faces.following import Left, begin_of, beside, conversation, follow
from detent.adapters.faces.replies import unreadable
from detent.adapters.faces.threads import Thread
from detent.adapters.system.version import __version__
from detent.adapters.web.people import Person
from detent.core.errors import DetentError
from detent.ports.hosting import Accepted, Host, HostedRun, HostRefusal
from detent.ports.pending import PendingCall

WAITS = "This still waits for a decision, and goes on once it is made."


@define(eq=False)
class Session:
    """A conversation that an editor has open: a thread, and the run that is at work in it."""

    id: str
    thread: Thread
    client: Client
    folder: str
    able: FileSystemCapabilities
    run_id: str = ""
    is_busy: bool = False
    cancelled: asyncio.Event = field(factory=asyncio.Event)
    after: asyncio.Task[object] | None = None

    async def tell(self, update: BaseModel) -> None:
        """Tell the editor what has come."""
        await self.client.session_update(self.id, cast(Any, update))

    async def read(self, path: str) -> str:
        """The text of a file, as the editor has it. Raises NoEditorError."""
        with _no_editor("read", can=self.able.read_text_file):
            return (await self.client.read_text_file(self.id, self._path(path))).content

    async def write(self, path: str, text: str) -> None:
        """Make a file be this text. Raises NoEditorError."""
        with _no_editor("write", can=self.able.write_text_file):
            await self.client.write_text_file(self.id, self._path(path), text)

    def _path(self, path: str) -> str:
        return str(PurePath(self.folder) / path)

    @contextmanager
    def at_work(self, run_id: str) -> Generator[None]:
        """A run is at work in it, and finds its editor."""
        self.run_id, EDITORS[run_id] = run_id, self
        try:
            yield
        finally:
            self.run_id = ""
            EDITORS.pop(run_id, None)


@contextmanager
def _no_editor(what: str, *, can: bool | None) -> Generator[None]:
    """What an editor does not do, as an error of ours."""
    if not can:
        raise NoEditorError(f"the editor does not {what} files")
    try:
        yield
    except (RequestError, ConnectionError, ValidationError) as error:
        why = type(error).__name__
        raise NoEditorError(f"the editor does not {what} this file ({why})") from None


@contextmanager
def _unreadable() -> Generator[None]:
    """What is the matter with the store, in the protocol's words; nothing of it gets out."""
    try:
        yield
    except DetentError as error:
        raise RequestError.internal_error({"details": unreadable(error)}) from None


@define
class EditorAgent:
    """The methods that an editor calls; the fields are those of `run_acp`."""

    host: Host
    agent: str
    person: Person
    thread_of: ThreadOf
    _sessions: dict[str, Session] = field(factory=dict, init=False)
    _client: Client = field(init=False)
    _able: FileSystemCapabilities = field(factory=FileSystemCapabilities, init=False)

    def on_connect(self, conn: Client) -> None:
        """The way to the editor."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **kwargs: Any,
    ) -> InitializeResponse:
        """What is there of the protocol."""
        files = client_capabilities.fs if client_capabilities else None
        self._able = files or FileSystemCapabilities()
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(load_session=True),
            agent_info=Implementation(name="detent", version=__version__),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        """Begin a conversation."""
        session = self._new_session(uuid4().hex, cwd)
        self._sessions[session.id] = session
        return NewSessionResponse(session_id=session.id)

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> LoadSessionResponse:
        """Open one of this person's again: what was said, and what still waits."""
        made = self._new_session(session_id, cwd)
        with _unreadable():
            last = await self._last(made)
            if last is None:
                raise RequestError.resource_not_found(None)
            session = self._sessions.setdefault(session_id, made)
            session.folder = cwd
            said = await beside(partial(conversation, last.run))
            for update in Telling(f"{last.run.id}-past").replayed(said):
                await session.tell(update)
        if last.run.outcome is None and session.after is None and not session.is_busy:
            session.after = asyncio.create_task(self._taken_up(session, last))
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: Sequence[Any], **kwargs: Any) -> PromptResponse:
        """A turn: what waits from before, and then what the user says."""
        session, text = self._session(session_id), said_in(prompt)
        if session.is_busy:
            raise RequestError.invalid_request({"details": "a turn is at work; cancel it first"})
        session.is_busy = True
        session.cancelled.clear()
        try:
            with _unreadable():
                return PromptResponse(stop_reason=await self._turn(session, text))
        finally:
            session.is_busy = False

    async def _turn(self, session: Session, text: str) -> StopReason:
        """Why a turn is over."""
        if session.after is not None:
            await asyncio.wait([session.after])
            session.after = None
        last = await self._last(session)
        if last is not None and last.run.outcome is None:
            last = await self._followed(session, last.run.id, len(last.run.messages))
            if last.run.outcome is None:
                return "end_turn"
        if session.cancelled.is_set():
            return "cancelled"
        run_id = uuid4().hex
        with session.at_work(run_id):  # its first call may want a file at once
            begun = await session.thread.begin(text, run_id)
            if isinstance(begun, HostRefusal):
                raise RequestError.internal_error({"details": begun.text, "why": begun.why})
            if session.cancelled.is_set():  # while it was begun, and not there to be ended
                await session.thread.cancel(run_id)
            hosted = await self.host.run(run_id)
            left = await self._followed(session, run_id, begin_of(hosted.run, text))
        return stop_reason(left.run)

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        """End the turn."""
        session = self._session(session_id)
        session.cancelled.set()
        if session.run_id and (why := await _cancelled(session, session.run_id)):
            await session.tell(update_agent_message_text(why))

    def _new_session(self, session_id: str, cwd: str) -> Session:
        name = self.thread_of(self.person, session_id) if is_name(session_id) else None
        if name is None:
            raise RequestError.resource_not_found(None)
        thread = Thread(self.host, self.agent, self.person, name)
        return Session(session_id, thread, self._client, cwd, self._able)

    def _session(self, session_id: str) -> Session:
        if session_id not in self._sessions:
            raise RequestError.invalid_params({"details": "there is no such session"})
        return self._sessions[session_id]

    async def _last(self, session: Session) -> HostedRun | None:
        """The last run of the thread."""
        last = await session.thread.last()
        return None if last is None else await self.host.run(last)

    async def _taken_up(self, session: Session, last: HostedRun) -> None:
        """What a session that was loaded still waits for."""
        with suppress(ConnectionError, DetentError):  # it is as it was, and the next prompt says so
            await self._followed(session, last.run.id, len(last.run.messages))

    async def _followed(self, session: Session, run_id: str, begin: int) -> HostedRun:
        """Tell what comes of a run and ask what it asks, until it has ended or nobody answers."""
        telling = Telling(run_id)
        with session.at_work(run_id):
            while True:
                left = await self._tell(session, telling, run_id, begin)
                if left.run.outcome is not None:
                    return left
                if why := await self._ask(session, left.pending, telling):
                    if session.cancelled.is_set():  # the word for it may be at work yet
                        why = await _cancelled(session, run_id)
                    if why:
                        await session.tell(update_agent_message_text(why))
                        return left
                telling.begin_again()

    async def _tell(self, session: Session, telling: Telling, run_id: str, begin: int) -> HostedRun:
        async with aclosing(follow(self.host, run_id, begin)) as coming:
            async for item in coming:
                for update in telling.updates(item):
                    await session.tell(update)
                if isinstance(item, Left):
                    return item.hosted
        return await self.host.run(run_id)

    async def _ask(self, session: Session, calls: Sequence[PendingCall], telling: Telling) -> str:
        """Ask the user about each call; "" where that was decided, by them or elsewhere.

        Else why the run does not go on, in words for the user.
        """
        for call in calls:
            asking = asyncio.create_task(self._answer(session, call, telling))
            elsewhere = asyncio.create_task(self._decided_elsewhere(call))
            try:
                await asyncio.wait([asking, elsewhere], return_when=asyncio.FIRST_COMPLETED)
            finally:
                asking.cancel()
                elsewhere.cancel()
                await asyncio.wait([asking, elsewhere])
            if not asking.cancelled() and (why := asking.result()):
                return why
        return ""

    async def _answer(self, session: Session, call: PendingCall, telling: Telling) -> str:
        """Ask the user about a call; "" where they have answered and the run goes on by it."""
        options = options_of(call)
        listed = [option for option, _ in options.values()]
        name = telling.name(call.call_id)
        try:
            response = await session.client.request_permission(
                session.id, asked_of(call, name), listed
            )
        except (RequestError, ValidationError):
            return WAITS
        if (
            not isinstance(response.outcome, AllowedOutcome)
            or response.outcome.option_id not in options
        ):
            return WAITS
        _, says = options[response.outcome.option_id]
        answered = await session.thread.decide([call], [(call.digest, says)])
        return " ".join(answered.remarks) or (WAITS if answered.notes else "")

    async def _decided_elsewhere(self, call: PendingCall) -> None:
        """Return once the question waits no more."""
        length = (await self.host.run(call.run_id)).listed.length
        async with aclosing(self.host.watch(call.run_id, length - 1)) as watched:
            while call.digest in {
                pending.digest for pending in (await self.host.run(call.run_id)).pending
            }:
                if await anext(watched, None) is None:
                    return


async def _cancelled(session: Session, run_id: str) -> str:
    """End a run; what somebody must do until it ends, or ""."""
    sent = await session.thread.cancel(run_id)
    return sent.text if isinstance(sent, Accepted) else ""
