"""A run in events of AG-UI: https://docs.ag-ui.com. Needs the extra ``detent[agui]``."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    FunctionCall,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)
from ag_ui.core import ToolCall as AGUIToolCall

from detent.adapters.faces.following import Followed, Left, Spoken
from detent.adapters.faces.replies import arguments_text, failure_text, question_text
from detent.core.chat.messages import ChatMessage, ChatRole, ToolCall, ToolCallResult
from detent.core.run.outcomes import Cancelled, Exhausted, Failed, Finished
from detent.core.run.run import Run
from detent.core.values.frozen import thaw
from detent.ports.hosting import HostedRun
from detent.ports.pending import PendingCall

EXPIRES_S = 24 * 60 * 60.0
"""When a client is to ask again about a question that does not lapse, in seconds: the protocol
wants a time, for a thread whose interrupt never ends can hang at the client for good."""


def interrupt_of(call: PendingCall, now: float, note: str = "") -> Interrupt:
    """A question, whose id is the digest of all that would run."""
    at = call.expires_at if call.expires_at is not None else now + EXPIRES_S
    answers: dict[str, Any] = {"approved": {"type": "boolean"}, "feedback": {"type": "string"}}
    plain = call.to_dict()
    if call.answers.modify != ():
        answers["editedArgs"] = plain["parameters"]
    return Interrupt(
        id=call.digest,
        reason="tool_call",
        message=question_text(call, note),
        tool_call_id=call.call_id,
        response_schema={"type": "object", "properties": answers, "required": ["approved"]},
        expires_at=datetime.fromtimestamp(at, UTC).isoformat(),
        metadata={"detent": plain},
    )


class Telling:
    """Makes events of what comes of a run.

    Args:
        thread_id: the thread, as the client calls it.
        run_id: the run, as the client calls it.
        key: what the ids of messages begin with: the same for each run of a thread.
        state_keys: which keys of the state the client sees.
        notes: by digest, why an answer of the client does not count.
        now: the time.
    """

    def __init__(
        self,
        *,
        thread_id: str,
        run_id: str,
        key: str,
        state_keys: Collection[str],
        notes: Mapping[str, str],
        now: float,
    ) -> None:
        self._thread_id, self._run_id, self._key = thread_id, run_id, key
        self._state_keys, self._notes, self._now = state_keys, notes, now
        self._open: tuple[str, bool] | None = None
        self._state: dict[str, Any] | None = None

    def snapshot(self, messages: Sequence[ChatMessage]) -> MessagesSnapshotEvent:
        """What has been said before, as it is here: it stands in place of what a client has."""
        found: list[Message] = []
        for place, message in enumerate(messages):
            name = f"{self._key}-{place}"
            if message.role is ChatRole.USER:
                found.append(UserMessage(id=name, content=message.text or ""))
            elif message.role is ChatRole.ASSISTANT:
                calls = [_call(call) for call in message.tool_calls]
                found.append(
                    AssistantMessage(id=name, content=message.text or "", tool_calls=calls or None)
                )
            found += [
                ToolMessage(
                    id=f"{name}-{at}", tool_call_id=result.origin.id or "", content=result.text
                )
                for at, result in enumerate(message.tool_call_results)
            ]
        return MessagesSnapshotEvent(messages=found)

    def events(self, followed: Followed) -> Iterator[BaseEvent]:
        """The events of what has come."""
        match followed:
            case Spoken(message, text, is_thought):
                yield from self._spoken(f"{self._key}-{message}", text, is_thought=is_thought)
            case ToolCall():
                yield from self.closed()
                yield from _called(followed)
            case ToolCallResult(origin=origin):
                yield from self.closed()
                call_id = origin.id or ""
                yield ToolCallResultEvent(
                    message_id=f"{self._key}-{call_id}-result",
                    tool_call_id=call_id,
                    content=followed.text,
                    role="tool",
                )
            case HostedRun(run=run):
                yield from self._state_of(run)
            case Left(hosted):
                yield from self.closed()
                yield self._end(hosted)
            case _:
                pass

    def _spoken(self, name: str, text: str, *, is_thought: bool) -> Iterator[BaseEvent]:
        if self._open != (name, is_thought):
            yield from self.closed()
            self._open = (name, is_thought)
            if is_thought:
                yield ReasoningStartEvent(message_id=f"{name}-why")
                yield ReasoningMessageStartEvent(message_id=f"{name}-why", role="reasoning")
            else:
                yield TextMessageStartEvent(message_id=name, role="assistant")
        if is_thought:
            yield ReasoningMessageContentEvent(message_id=f"{name}-why", delta=text)
        else:
            yield TextMessageContentEvent(message_id=name, delta=text)

    def closed(self) -> Iterator[BaseEvent]:
        """The end of the text that is open."""
        match self._open:
            case (name, True):
                yield ReasoningMessageEndEvent(message_id=f"{name}-why")
                yield ReasoningEndEvent(message_id=f"{name}-why")
            case (name, False):
                yield TextMessageEndEvent(message_id=name)
            case None:
                pass
        self._open = None

    def _state_of(self, run: Run[Any]) -> Iterator[BaseEvent]:
        """The state that is shown: first the whole, then each key that has changed."""
        if not self._state_keys:
            return
        now = {name: _plain(run.state.read(name)) for name in self._state_keys}
        before, self._state = self._state, now
        if before is None:
            yield StateSnapshotEvent(snapshot=now)
            return
        # "add" replaces what is there: RFC 6902, 4.1
        changed = [name for name in now if now[name] != before[name]]
        if changed:
            delta = [{"op": "add", "path": _pointer(name), "value": now[name]} for name in changed]
            yield StateDeltaEvent.model_validate({"delta": delta})

    def _end(self, hosted: HostedRun) -> BaseEvent:
        outcome: Any = RunFinishedSuccessOutcome()
        result: Any = None
        match hosted.run.outcome:
            case None:
                questions = [
                    interrupt_of(call, self._now, self._notes.get(call.digest, ""))
                    for call in hosted.pending
                ]
                outcome = RunFinishedInterruptOutcome(interrupts=questions)
            case Cancelled():
                outcome = RunFinishedCancelledOutcome()
            case Failed() as failed:
                cause, text = failure_text(failed)
                return RunErrorEvent(message=text, code=cause)
            case Finished(reason, answer):
                result = {"exit_reason": reason, "answer": thaw(answer)}
            case Exhausted(reason):
                result = {"exit_reason": reason}
        return RunFinishedEvent(
            thread_id=self._thread_id, run_id=self._run_id, outcome=outcome, result=result
        )


def _call(call: ToolCall) -> AGUIToolCall:
    function = FunctionCall(name=call.tool_name, arguments=arguments_text(call))
    return AGUIToolCall(id=call.id or "", type="function", function=function)


def _called(call: ToolCall) -> Iterator[BaseEvent]:
    name = call.id or ""
    yield ToolCallStartEvent(tool_call_id=name, tool_call_name=call.tool_name)
    yield ToolCallArgsEvent(tool_call_id=name, delta=arguments_text(call))
    yield ToolCallEndEvent(tool_call_id=name)


def _plain(value: object) -> Any:
    return json.loads(json.dumps(thaw(value), default=repr))


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")
