"""A run in words of ACP: https://agentclientprotocol.com. Needs the extra ``detent[acp]``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from acp import RequestError
from acp.helpers import (
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import PermissionOption, StopReason, ToolCallStatus, ToolCallUpdate
from pydantic import BaseModel

from detent.adapters.faces.following import Followed, Spoken
from detent.adapters.faces.replies import failure_text, question_line, question_reasons, sound
from detent.core.chat.messages import ChatMessage, ChatRole, ToolCall, ToolCallResult
from detent.core.run.approval import SCOPES
from detent.core.run.outcomes import Cancelled, Exhausted, Failed, Finished
from detent.core.run.run import Run
from detent.core.tools.masking import masked
from detent.ports.pending import PendingCall

REASONS: Mapping[str, StopReason] = {
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
}
"""Why a client is told that a turn is over, where it is not "end_turn"."""


def said_in(prompt: Sequence[Any]) -> str:
    """What a user says. Raises RequestError where it is no text and no link."""
    texts: list[str] = []
    for block in prompt:
        match block.type:
            case "text":
                texts.append(block.text)
            case "resource_link":
                texts.append(f"[{block.name}]({block.uri})")
            case kind:
                raise RequestError.invalid_params({"details": f"{kind} cannot be read, only texts"})
    if not any(texts):
        raise RequestError.invalid_params({"details": "a prompt needs a text"})
    return sound("\n".join(texts))


def _plain(value: object) -> Any:
    """As JSON that can be sent: half characters stand as their escapes."""
    return json.loads(sound(json.dumps(value, default=repr, ensure_ascii=False)))


Occurrence: TypeAlias = tuple[str | None, int]
"""The id of a call, and how often that has come."""


class Telling:
    """Makes updates of what comes of a run; what is told again is told once.

    RULE: an id is a model's word, and may come again in another turn. So each call has a name of
    its own here, by how often its id has come.

    Args:
        key: what the names of calls begin with: other ones for each turn.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._names: dict[Occurrence, str] = {}
        self._told, self._now = set[object](), set[object]()
        self._calls, self._results = Counter[str | None](), Counter[str | None]()

    def begin_again(self) -> None:
        """What comes from here on begins where it began before, and may have been told."""
        self._told |= self._now
        self._calls.clear()
        self._results.clear()

    def updates(self, followed: Followed) -> Iterator[BaseModel]:
        """The updates of what has come."""
        match followed:
            case Spoken(message, text):
                if self._is_new(("text", message.partition(".")[0])):
                    says = update_agent_message_text
                    yield (update_agent_thought_text if followed.is_thought else says)(sound(text))
            case ToolCall(id=name):
                self._calls[name] += 1
                occurrence = name, self._calls[name]
                if self._is_new(("call", *occurrence)):
                    yield self._started(occurrence, followed)
            case ToolCallResult(origin=ToolCall(id=name)):
                self._results[name] += 1
                occurrence = name, self._results[name]
                if self._is_new(("result", *occurrence)):
                    yield self._ended(occurrence, followed)
            case _:
                pass

    def _is_new(self, what: object) -> bool:
        self._now.add(what)
        return what not in self._told

    def name(self, call_id: str | None) -> str:
        """What the last call of that id is called here."""
        return self._name((call_id, self._calls[call_id]))

    def _name(self, occurrence: Occurrence) -> str:
        return self._names.get(occurrence, f"{self._key}-{occurrence[0]}")

    def _started(self, occurrence: Occurrence, call: ToolCall) -> BaseModel:
        name = self._names[occurrence] = f"{self._key}-{len(self._names) + 1}"
        arguments = _plain(masked(call.arguments, call.secret))
        return start_tool_call(name, sound(call.tool_name), status="pending", raw_input=arguments)

    def _ended(self, occurrence: Occurrence, result: ToolCallResult) -> BaseModel:
        content = tool_content(text_block(sound(result.text)))
        status: ToolCallStatus = "failed" if result.error else "completed"
        return update_tool_call(self._name(occurrence), status=status, content=[content])

    def replayed(self, messages: Sequence[ChatMessage]) -> Iterator[BaseModel]:
        """What was said and done before."""
        for place, message in enumerate(messages):
            if message.role is ChatRole.USER and message.text:
                yield update_user_message_text(sound(message.text))
            if message.role is ChatRole.ASSISTANT and message.text:
                yield from self.updates(Spoken(f"{place}", message.text))
            for call in message.tool_calls:
                yield from self.updates(call)
            for result in message.tool_call_results:
                yield from self.updates(result)


def asked_of(call: PendingCall, name: str) -> ToolCallUpdate:
    """The call that a question is about, with all that would run."""
    plain = call.to_dict()
    why = "\n".join(question_reasons(call))
    return ToolCallUpdate(
        tool_call_id=name,
        title=sound(question_line(call)),
        status="pending",
        raw_input=_plain({**plain["arguments"], **plain["state"]}),
        content=[tool_content(text_block(why))] if why else None,
        field_meta={"detent": {"digest": call.digest, "question": _plain(plain)}},
    )


def options_of(call: PendingCall) -> Mapping[str, tuple[PermissionOption, Mapping[str, Any]]]:
    """The answers that a question takes, by their ids, each as `decide` takes it."""
    allow, always = f"allow {call.digest}", f"always {call.digest}"
    found: dict[str, tuple[PermissionOption, Mapping[str, Any]]] = {}
    if call.answers.confirm:
        once = PermissionOption(option_id=allow, name="Allow", kind="allow_once")
        # who is shown "always" beside it means this call; else what the policy says is as much
        found[allow] = once, {"approved": True, "remember": "call"}
        if SCOPES.index(call.answers.remember) >= SCOPES.index("arguments"):
            text = "Always allow exactly this"
            same = PermissionOption(option_id=always, name=text, kind="allow_always")
            found[always] = same, {"approved": True, "remember": "arguments"}
    no = f"reject {call.digest}"
    reject = PermissionOption(option_id=no, name="Reject", kind="reject_once")
    return found | {no: (reject, {"approved": False})}


def stop_reason(run: Run[Any]) -> StopReason:
    """Why a turn is over. Raises RequestError where the run has failed."""
    match run.outcome:
        case Finished(exit_reason=reason):
            return REASONS.get(reason, "end_turn")
        case Exhausted():
            return "max_turn_requests"
        case Cancelled():
            return "cancelled"
        case Failed() as failed:
            raise RequestError.internal_error({"details": failure_text(failed)[1]})
        case None:
            return "end_turn"
