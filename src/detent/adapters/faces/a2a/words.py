"""A run in words of A2A: https://a2a-protocol.org. Needs the extra ``detent[a2a]``.

Numbers in the protocol's data are doubles: arguments that people decide about are told as JSON
texts, in which each digit stands as it will run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Artifact,
    HTTPAuthSecurityScheme,
    Message,
    Part,
    Role,
    SecurityRequirement,
    SecurityScheme,
    StringList,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
)
from a2a.utils.constants import PROTOCOL_VERSION_1_0, TransportProtocol
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from attrs import frozen
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from detent.adapters.faces.entrance import name_of
from detent.adapters.faces.following import Spoken
from detent.adapters.faces.replies import failure_text, question_line, sound
from detent.adapters.faces.threads import Thread
from detent.core.chat.messages import ChatRole
from detent.core.control.pending import PendingCall
from detent.core.run.outcomes import Cancelled, Exhausted, Failed, Finished
from detent.core.run.run import Acting, Run
from detent.ports.hosting import HostedAgent, HostedRun

EXACT = 2**53
"""Below it each whole number is a double; from it on two may be the same."""
JSON_TYPE, TEXT_TYPE = "application/json", "text/plain"

Answers: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]


def card_of(agent: HostedAgent, url: str, about: str, *, is_open: bool, pushes: bool) -> AgentCard:
    """What an agent says of itself: its name, what it is for, and how to come in."""
    face = AgentInterface(
        url=url,
        protocol_binding=TransportProtocol.JSONRPC.value,
        protocol_version=PROTOCOL_VERSION_1_0,
    )
    skill = AgentSkill(id=agent.name, name=agent.name, description=about, tags=["agent"])
    card = AgentCard(
        name=agent.name,
        description=about,
        version=agent.fingerprint[:16],
        supported_interfaces=[face],
        capabilities=AgentCapabilities(streaming=True, push_notifications=pushes),
        default_input_modes=[TEXT_TYPE, JSON_TYPE],
        default_output_modes=[TEXT_TYPE],
        skills=[skill],
    )
    if not is_open:
        bearer = HTTPAuthSecurityScheme(scheme="Bearer")
        card.security_schemes["bearer"].CopyFrom(SecurityScheme(http_auth_security_scheme=bearer))
        card.security_requirements.append(SecurityRequirement(schemes={"bearer": StringList()}))
    return card


@frozen
class Place:
    """A run as a client knows it.

    The id of a task is that of its run and the name of its context, so that a task is found, and
    whose it is, by nothing but its id.
    """

    thread: Thread
    context: str
    run_id: str

    @property
    def task_id(self) -> str:
        """What the client calls it."""
        return f"{quote(self.run_id, safe='').replace('.', '%2E')}.{self.context}"


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
    plain: dict[str, Any] = _whole(MessageToDict(Struct(fields={"said": data})))
    match plain["said"]:
        case {"digest": str(digest), "approved": bool()} as said:
            return digest, cast("Mapping[str, Any]", said)
        case _:
            raise InvalidParamsError('an answer is {"digest": …, "approved": true or false, …}')


def _whole(value: Any) -> Any:
    """The data with its whole numbers, which came as doubles."""
    match value:
        case dict():
            return {name: _whole(one) for name, one in value.items()}
        case list():
            return [_whole(one) for one in value]
        case float() if value.is_integer():
            if abs(value) >= EXACT:
                raise InvalidParamsError(
                    "the protocol cannot tell numbers as great as that exactly"
                )
            return int(value)
        case _:
            return value


def _data(value: dict[str, Any]) -> Part:
    return Part(data=ParseDict(value, Value()), media_type=JSON_TYPE)


def question_parts(call: PendingCall, note: str = "") -> Iterator[Part]:
    """A question in words, and as data with the digest by which it is answered."""
    plain = call.to_dict()
    arguments = json.dumps(plain["arguments"], default=repr)
    asked = (note, f"This waits for a decision: {question_line(call)}", call.reason)
    yield Part(text=sound("\n".join(filter(None, asked))))
    data: dict[str, Any] = {
        "kind": "detent/question",
        "digest": call.digest,
        "tool": call.tool_name,
        "description": sound(call.description),
        "arguments": arguments,
        "parameters": json.dumps(plain["parameters"], default=repr),
        "reason": sound(call.reason),
        "editable": call.answers.modify != (),
    }
    if call.expires_at is not None:
        data["expiresAt"] = datetime.fromtimestamp(call.expires_at, UTC).isoformat()
    yield _data(data)


def status_of(place: Place, hosted: HostedRun, notes: Mapping[str, str]) -> TaskStatus:
    """How far a run has come, and what it asks."""
    state, parts = _state(hosted, notes)
    at = Timestamp()
    at.FromDatetime(datetime.fromtimestamp(hosted.listed.at, UTC))
    found = TaskStatus(state=state, timestamp=at)
    if parts:
        name = name_of("a2a-status", place.run_id, str(hosted.listed.length))
        said = _message(place, name, Role.ROLE_AGENT, parts)
        found.message.CopyFrom(said)
    return found


def _state(hosted: HostedRun, notes: Mapping[str, str]) -> tuple[TaskState, list[Part]]:
    match hosted.run.outcome:
        case None:
            calls = hosted.pending if hosted.listed.status == "waiting" else ()
            parts = [p for call in calls for p in question_parts(call, notes.get(call.digest, ""))]
            asks = TaskState.TASK_STATE_INPUT_REQUIRED
            return (asks if parts else TaskState.TASK_STATE_WORKING), parts
        case Finished():
            return TaskState.TASK_STATE_COMPLETED, []
        case Cancelled():
            return TaskState.TASK_STATE_CANCELED, []
        case Exhausted(reason):
            why = f"the task has used up what it may: {reason}"
        case Failed() as failed:
            _, why = failure_text(failed)
    return TaskState.TASK_STATE_FAILED, [Part(text=why)]


def is_over(status: TaskStatus) -> bool:
    """Whether nothing more comes of a task."""
    goes_on = (TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_INPUT_REQUIRED)
    return status.state not in goes_on


def _message(place: Place, name: str, role: Role, parts: Iterable[Part]) -> Message:
    return Message(
        message_id=name,
        role=role,
        parts=parts,
        context_id=place.context,
        task_id=place.task_id,
    )


def task_of(
    place: Place, hosted: HostedRun, begin: int, notes: Mapping[str, str] | None = None
) -> Task:
    """A run as a task: how it is, what was asked of it, and what its model has said."""
    texts = dict(_texts(hosted.run, begin))
    artifacts = [_artifact(str(key), text) for key, text in texts.items()]
    asked = hosted.run.messages[begin - 1] if 0 < begin <= len(hosted.run.messages) else None
    history: list[Message] = []
    if asked is not None and asked.role is ChatRole.USER:
        part = Part(text=sound(asked.text or ""))
        history.append(_message(place, f"{place.run_id}-asked", Role.ROLE_USER, [part]))
    return Task(
        id=place.task_id,
        context_id=place.context,
        status=status_of(place, hosted, notes or {}),
        artifacts=artifacts,
        history=history,
    )


def _texts(run: Run[Any], begin: int) -> Iterator[tuple[int, str]]:
    said = list(run.messages)
    if isinstance(run.phase, Acting):
        said.append(run.phase.reply.message)
    for at, one in enumerate(said[begin:], begin):
        if one.role is ChatRole.ASSISTANT and one.text:
            yield at, one.text


def _artifact(key: str, text: str) -> Artifact:
    return Artifact(artifact_id=f"text-{key}", name="text", parts=[Part(text=sound(text))])


class Telling:
    """Makes artifacts of what a model says. A text that breaks off and comes again is replaced."""

    def __init__(self, place: Place) -> None:
        self._place, self._message = place, ""

    def piece(self, spoken: Spoken) -> TaskArtifactUpdateEvent:
        """A piece of a text, for a client."""
        is_more, self._message = spoken.message == self._message, spoken.message
        return TaskArtifactUpdateEvent(
            task_id=self._place.task_id,
            context_id=self._place.context,
            artifact=_artifact(spoken.message.partition(".")[0], spoken.text),
            append=is_more,
        )
