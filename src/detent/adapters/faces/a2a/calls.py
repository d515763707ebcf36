"""Calls of an agent elsewhere: a task of it, what it asks meanwhile, and what it comes to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError, UnsupportedOperationError
from attrs import frozen
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.struct_pb2 import Value

from detent.adapters.faces.a2a.faults import A2AAgentError
from detent.adapters.faces.answers import ask_person
from detent.adapters.faces.replies import quoted
from detent.core.codec.json_text import read_json
from detent.core.run.approval import Answered, Confirmed, Modified, Rejected
from detent.core.values.frozen import thaw
from detent.ports.confirmation import ConfirmationUI, decision_of

ANSWER_BYTES = 16 * 1024 * 1024
"""How many bytes one answer of an agent may have, a stream as well."""
TEXT_MAX = 4_000_000
"""How many characters the model is told at most."""
QUESTIONS_MAX = 20
"""How many questions of one call the human is shown."""
CONNECT_S = 30.0
FAULTS = (
    A2AClientError,
    A2AError,
    httpx.HTTPError,
    httpx.InvalidURL,
    ParseError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TimeoutError,
    TypeError,
    ValueError,
)
"""What the SDK raises where an agent is not there, or talks garbage of whatever kind."""
AT_WORK = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)


@frozen
class Line:
    """The way to an agent; the fields are those of `A2AAgentTool`."""

    name: str
    url: str
    shown_url: str
    headers: Mapping[str, str]
    ui: ConfirmationUI | None
    wait_s: float
    make: Callable[[], httpx.AsyncClient] | None

    async def call(self, text: str, task_id: str, name: str) -> str:
        """What the model is told. Raises A2AAgentError."""
        async with self._client() as client:
            return await _Call(self, client).task_text(text, task_id, name)

    @contextmanager
    def errors_of_agent(self, what: str, *, may_have_run: bool) -> Generator[None]:
        """What goes wrong with the agent, as an error of ours that repeats nothing of it."""
        try:
            yield
        except FAULTS as error:
            text = f"{what} ({type(error).__name__})"
            raise A2AAgentError(self.shown_url, text, may_have_run=may_have_run) from None

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[Client]:
        made = httpx.AsyncClient() if self.make is None else self.make()
        made.headers.update({**self.headers, "accept-encoding": "identity"})
        made.timeout = httpx.Timeout(CONNECT_S, read=self.wait_s)
        made.event_hooks["response"] = [*made.event_hooks["response"], _bound]
        async with made:
            with self.errors_of_agent("cannot be reached", may_have_run=False):
                async with asyncio.timeout(CONNECT_S):
                    card = await A2ACardResolver(made, self.url).get_agent_card()
                ours = [face for face in card.supported_interfaces if _is_at(self.url, face.url)]
                del card.supported_interfaces[:]
                card.supported_interfaces.extend(ours)
                client = ClientFactory(ClientConfig(httpx_client=made)).create(card)
            yield client


def _is_at(url: str, other: str) -> bool:
    """Whether both are at one server: what a card says must not lead our headers elsewhere."""
    first, second = urlsplit(url), urlsplit(other)
    return (first.scheme, first.netloc) == (second.scheme, second.netloc)


async def _bound(response: httpx.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx.DecodingError("a compressed answer was not asked for")
    response.stream = _Bounded(response.stream)


class _Bounded(httpx.AsyncByteStream):
    """A body that breaks off behind its limit."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._left = stream, ANSWER_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise httpx.ReadError("the answer is larger than the limit")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


@frozen
class _Call:
    line: Line
    client: Client

    async def task_text(self, text: str, task_id: str, name: str) -> str:
        """What the model is told of a task that is begun, answered, or asked about."""
        if text:
            whole = text.encode(errors="replace").decode()
            outcome: Task | str = await self._send([Part(text=whole)], task_id, name)
        else:
            outcome = await self._looked(task_id)
        for number in range(QUESTIONS_MAX):
            if (
                isinstance(outcome, str)
                or outcome.status.state != TaskState.TASK_STATE_INPUT_REQUIRED
            ):
                break
            answer = await self._ask_person(outcome)
            if answer is None:
                break
            outcome = await self._send(answer, outcome.id, f"{name}-{number}")
        return (outcome if isinstance(outcome, str) else self._text_of_task(outcome))[:TEXT_MAX]

    async def _send(self, parts: list[Part], task_id: str, name: str) -> Task | str:
        message = Message(message_id=name, role=Role.ROLE_USER, parts=parts, task_id=task_id)
        with self.line.errors_of_agent("gave no answer", may_have_run=True):
            coming = self.client.send_message(SendMessageRequest(message=message))
            return await self._until_it_pauses(coming, Task(id=task_id))

    async def _looked(self, task_id: str) -> Task | str:
        with self.line.errors_of_agent("does not say how the task is", may_have_run=False):
            return await self._how_it_is(GetTaskRequest(id=task_id))

    async def _how_it_is(self, request: GetTaskRequest) -> Task | str:
        task = await self.client.get_task(request)
        if task.status.state not in AT_WORK:
            return task
        try:
            coming = self.client.subscribe(SubscribeToTaskRequest(id=request.id))
            return await self._until_it_pauses(coming, task)
        except UnsupportedOperationError:  # it has ended meanwhile, or the agent has no streams
            return await self.client.get_task(request)

    async def _until_it_pauses(self, coming: Any, task: Task) -> Task | str:
        """The task, put together of what comes; or a text, where there is no task."""
        stream: AsyncGenerator[StreamResponse] = coming
        taken = _Taken(task)
        try:
            async with asyncio.timeout(self.line.wait_s), aclosing(stream):
                async for response in stream:
                    if response.HasField("message"):
                        return _text(list(response.message.parts))
                    taken.take(response)
                    if task.status.state not in AT_WORK:
                        break
        except TimeoutError:
            if not task.id:
                raise A2AAgentError(self.line.shown_url, "was silent", may_have_run=True) from None
        return task

    def _text_of_task(self, task: Task) -> str:
        state, why = task.status.state, _text(list(task.status.message.parts))
        texts = "\n\n".join(
            filter(None, (_text(list(artifact.parts)) for artifact in task.artifacts))
        )
        match state:
            case TaskState.TASK_STATE_COMPLETED:
                return texts or why or "The task is done; the agent has said nothing."
            case TaskState.TASK_STATE_INPUT_REQUIRED:
                asks = f"The agent asks, and waits for an answer:\n{why}"
                return f"{asks}\n\nNothing is done yet. Its task_id: {task.id}"
            case TaskState.TASK_STATE_SUBMITTED | TaskState.TASK_STATE_WORKING:
                return f"The task goes on. To hear how it is, call this with task_id: {task.id}"
            case _:
                kind = TaskState.Name(state).removeprefix("TASK_STATE_").lower()
                raise A2AAgentError(
                    self.line.shown_url, f"says that the task is {kind}: {why[:1000]}"
                )

    async def _ask_person(self, task: Task) -> list[Part] | None:
        """What the human says to the questions of a task; None where they say nothing."""
        ui = self.line.ui
        if ui is None:
            return None
        questions = [found for part in task.status.message.parts if (found := _question(part))]
        if not questions:
            text = _text(list(task.status.message.parts))
            result = await ask_person(ui, f"{self.line.name}: a question", text, {"answer": ""})
            answer = (result.new_tool_params or {}).get("answer")
            is_said = result.action in ("confirm", "modify") and isinstance(answer, str) and answer
            return [Part(text=answer)] if is_said else None
        parts: list[Part] = []
        for question in questions:
            what = f"{self.line.name}: {question.get('tool')}"
            result = await ask_person(ui, what, _question_text(question), question["arguments"])
            match decision_of(result):
                case Confirmed(remember):
                    data: dict[str, Any] = {"approved": True, "remember": remember}
                case Modified(arguments, feedback):
                    whole = thaw(arguments)
                    data = {"approved": True, "editedArgs": whole, "feedback": feedback}
                case Rejected(feedback):
                    data = {"approved": False, "feedback": feedback}
                case Answered() | None:  # the wire has no result in the tool's place
                    return None
            data = {name: value for name, value in data.items() if value is not None}
            data["digest"] = question["digest"]
            parts.append(Part(data=ParseDict(data, Value())))
        return parts


def _question(part: Part) -> Mapping[str, Any] | None:
    """A question with a digest, as an agent of ours asks it."""
    if not part.HasField("data"):
        return None
    match MessageToDict(part.data):
        case {"kind": "detent/question", "digest": str(), "arguments": str(text)} as found:
            with suppress(ValueError):
                arguments = read_json(text)
                return {**found, "arguments": arguments} if isinstance(arguments, dict) else None
        case _:
            pass
    return None


def _question_text(question: Mapping[str, Any]) -> str:
    """All that a question says beside the call, a line each: no text of theirs makes another."""
    labels = {
        "note": "note",
        "description": "description",
        "reason": "reason",
        "state": "from its state",
        "agents": "in its agents",
        "expiresAt": "lapses",
    }
    lines: list[str] = []
    for name, label in labels.items():
        value = question.get(name)
        text = value if name == "state" and isinstance(value, str) else quoted(value)
        lines += [f"{label}: {text}"] if value and value != "{}" else []
    return "\n".join(lines)


class _Taken:
    """A task, put together of what comes."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._known = {artifact.artifact_id: artifact for artifact in task.artifacts}

    def take(self, response: StreamResponse) -> None:
        if response.HasField("task"):
            self.task.CopyFrom(response.task)
            self._known = {each.artifact_id: each for each in self.task.artifacts}
        elif response.HasField("status_update"):
            self.task.id = response.status_update.task_id
            self.task.status.CopyFrom(response.status_update.status)
        else:
            update = response.artifact_update
            name = update.artifact.artifact_id
            if name not in self._known:
                self._known[name] = self.task.artifacts.add()
            if update.append:
                self._known[name].parts.extend(update.artifact.parts)
            else:
                self._known[name].CopyFrom(update.artifact)


def _text(parts: list[Part]) -> str:
    """What the parts say in words: pieces of a text one after the other, data as JSON."""
    texts: list[str] = []
    for part in parts:
        match part.WhichOneof("content"):
            case "text":
                texts.append(part.text)
            case "data":
                texts.append(f"\n{json.dumps(MessageToDict(part.data), sort_keys=True)}\n")
            case "url":
                texts.append(f"\n{part.url}\n")
            case _:
                texts.append(f"\n(a file that cannot be read here: {part.media_type})\n")
    return "".join(texts).strip()
