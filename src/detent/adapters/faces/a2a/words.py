"""A run in words of A2A: https://a2a-protocol.org. Needs the extra ``detent[a2a]``.

Numbers in the protocol's data are doubles: arguments that people decide about are told as JSON
texts, in which each digit stands as it will run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote

from a2a.helpers import new_data_part, new_text_artifact, new_text_part
from a2a.types import (
    AgentCard,
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.constants import PROTOCOL_VERSION_1_0, TransportProtocol
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from attrs import evolve, field, frozen
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from detent.adapters.faces.entrance import name_of
from detent.adapters.faces.following import Spoken
from detent.adapters.faces.replies import failure_text, question_text, sound
from detent.adapters.faces.threads import Thread
from detent.core.chat.messages import ChatRole
from detent.core.codec.json_text import EXACT
from detent.core.run.outcomes import Cancelled, Exhausted, Failed, Finished
from detent.core.run.run import Acting
from detent.ports.hosting import HostedAgent, HostedRun
from detent.ports.pending import PendingCall

JSON_TYPE, TEXT_TYPE = "application/json", "text/plain"

Answers: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]


def card_of(agent: HostedAgent, url: str, about: str, *, is_open: bool, pushes: bool) -> AgentCard:
    """What an agent says of itself: its name, what it is for, and how to come in."""
    binding = TransportProtocol.JSONRPC.value
    face = {"url": url, "protocolBinding": binding, "protocolVersion": PROTOCOL_VERSION_1_0}
    skill = {"id": agent.name, "name": agent.name, "description": about, "tags": ["agent"]}
    card: dict[str, Any] = {
        "name": agent.name,
        "description": about,
        "version": agent.fingerprint[:16],
        "supportedInterfaces": [face],
        "capabilities": {"streaming": True, "pushNotifications": pushes},
        "defaultInputModes": [TEXT_TYPE, JSON_TYPE],
        "defaultOutputModes": [TEXT_TYPE],
        "skills": [skill],
    }
    if not is_open:
        card["securitySchemes"] = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
        card["securityRequirements"] = [{"schemes": {"bearer": {}}}]
    return ParseDict(card, AgentCard())


def parts_of_id(task_id: str) -> tuple[str, str]:
    """The run and the context that a task's id names."""
    run, _, context = task_id.partition(".")
    return unquote(run), context


def said_in(message: Message) -> tuple[str, Answers]:
    """What a client says, and what it answers to questions. Raises an error of the protocol."""
    texts: list[str] = []
    answers: list[tuple[str, Mapping[str, Any]]] = []
    for part in message.parts:
        match part.WhichOneof("content"):
            case "text":
                texts.append(part.text)
            case "data":
                answers.append(_answer(part.data))
            case _:
                raise ContentTypeNotSupportedError("only texts, and answers as data, can be read")
    return "\n".join(texts), answers


def _answer(data: Value) -> tuple[str, Mapping[str, Any]]:
    match json.loads(json.dumps(MessageToDict(data)), parse_float=_number):
        case {"digest": str(digest), "approved": bool()} as answer:
            return digest, cast("Mapping[str, Any]", answer)
        case _:
            raise InvalidParamsError('an answer is {"digest": …, "approved": true or false, …}')


def _number(text: str) -> float:
    """A number of the data; a whole one, which came as a double, is whole again."""
    number = float(text)
    if not number.is_integer():
        return number
    if abs(number) >= EXACT:
        raise InvalidParamsError("the protocol cannot tell numbers as great as that exactly")
    return int(number)


def question_parts(call: PendingCall, note: str = "") -> Iterator[Part]:
    """A question in words, and as data with the digest by which it is answered."""
    plain = call.to_dict()
    yield new_text_part(sound(question_text(call, note, "This waits for a decision: ")))
    data: dict[str, Any] = {
        "kind": "detent/question",
        "digest": call.digest,
        "tool": call.tool_name,
        "description": sound(call.description),
        "arguments": json.dumps(plain["arguments"], default=repr),
        "state": json.dumps(plain["state"], default=repr),
        "parameters": json.dumps(plain["parameters"], default=repr),
        "reason": sound(call.reason),
        "editable": call.answers.modify != (),
        "agents": list(map(sound, call.agents)),
        "note": sound(note),
    }
    if call.expires_at is not None:
        data["expiresAt"] = datetime.fromtimestamp(call.expires_at, UTC).isoformat()
    yield new_data_part(data, JSON_TYPE)


@frozen
class RunTask:
    """A run as a task.

    The id of a task is that of its run and the name of its context, so that a task is found, and
    whose it is, by nothing but its id.

    Attributes:
        thread: of the host, whose run it is.
        context: what the client calls the thread.
        hosted: the run, as it was read.
        begin: where in the conversation the task begins.
        notes: by digest, why an answer of the client does not count.
        remarks: what somebody must do first, until what the client has said counts.
    """

    thread: Thread
    context: str
    hosted: HostedRun
    begin: int
    notes: Mapping[str, str] = field(factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def run_id(self) -> str:
        """The run."""
        return self.hosted.listed.run_id

    @property
    def id(self) -> str:
        """What the client calls it."""
        return f"{quote(self.run_id, safe='').replace('.', '%2E')}.{self.context}"

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.hosted.run.outcome is not None

    async def again(self) -> RunTask:
        """The task as it is by now."""
        return evolve(self, hosted=await self.thread.host.run(self.run_id))

    def whole(self) -> Task:
        """How it is, what was asked of it, and what its model has said."""
        run, history = self.hosted.run, list[Message]()
        messages = [
            *run.messages,
            *([run.phase.reply.message] if isinstance(run.phase, Acting) else []),
        ]
        request = messages[self.begin - 1] if self.begin else None
        if request is not None and request.role is ChatRole.USER:
            part = new_text_part(sound(request.text or ""))
            history.append(self._message(f"{self.run_id}-asked", Role.ROLE_USER, [part]))
        artifacts = [
            _artifact(str(place), message.text)
            for place, message in enumerate(messages[self.begin :], self.begin)
            if message.role is ChatRole.ASSISTANT and message.text
        ]
        return Task(
            id=self.id,
            context_id=self.context,
            status=self.status(),
            artifacts=artifacts,
            history=history,
        )

    def status(self) -> TaskStatus:
        """How far it has come, and what it asks."""
        state, parts = self._state()
        found = TaskStatus(state=state)
        found.timestamp.FromDatetime(datetime.fromtimestamp(self.hosted.listed.at, UTC))
        if parts:
            name = name_of("a2a-status", self.run_id, str(self.hosted.listed.length))
            found.message.CopyFrom(self._message(name, Role.ROLE_AGENT, parts))
        return found

    def update(self) -> TaskStatusUpdateEvent:
        """The status, as an event."""
        return TaskStatusUpdateEvent(task_id=self.id, context_id=self.context, status=self.status())

    def piece(self, spoken: Spoken, *, is_more: bool) -> TaskArtifactUpdateEvent:
        """A piece of a text, as an event; one that is no more than begun replaces what was said."""
        return TaskArtifactUpdateEvent(
            task_id=self.id,
            context_id=self.context,
            artifact=_artifact(spoken.message.partition(".")[0], spoken.text),
            append=is_more,
        )

    def _state(self) -> tuple[TaskState, list[Part]]:
        match self.hosted.run.outcome:
            case None:
                calls = self.hosted.pending if self.hosted.listed.status == "waiting" else ()
                notes = [self.notes.get(call.digest, "") for call in calls]
                parts = [p for c, n in zip(calls, notes, strict=True) for p in question_parts(c, n)]
                asks = TaskState.TASK_STATE_INPUT_REQUIRED
                remarks = [new_text_part(remark) for remark in self.remarks]
                return (asks if parts else TaskState.TASK_STATE_WORKING), [*remarks, *parts]
            case Finished():
                return TaskState.TASK_STATE_COMPLETED, []
            case Cancelled():
                return TaskState.TASK_STATE_CANCELED, []
            case Exhausted(reason):
                why = f"the task has used up what it may: {reason}"
            case Failed() as failed:
                _, why = failure_text(failed)
        return TaskState.TASK_STATE_FAILED, [new_text_part(why)]

    def _message(self, name: str, role: Role, parts: Sequence[Part]) -> Message:
        return Message(
            message_id=name, role=role, parts=parts, context_id=self.context, task_id=self.id
        )


def _artifact(key: str, text: str) -> Artifact:
    return new_text_artifact("text", sound(text), artifact_id=f"text-{key}")
