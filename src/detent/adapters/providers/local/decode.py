"""Replies of llama.cpp, as they come: events become text, text becomes pieces and a reply. Pure.

What can be shown of a reply is a function of the text so far, and a piece is the difference that
an event made to it. So it does not matter where the text is cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from detent.adapters.providers.local.encode import Form, Request
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, FailureCause, FinishReason, ModelFailure, Usage
from detent.core.codec.json_text import read_json
from detent.ports.chat import StreamingChunk, ToolCallDelta

FINISH_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}
CAUSES: Mapping[str, FailureCause] = {
    "exceed_context_size_error": "context_length",
    "invalid_request_error": "bad_request",
}
EXCERPT_CHARACTERS = 200
LOOKS = 256

_decoder = json.JSONDecoder(strict=False)
_NAME = r'"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
_CALL = re.compile(rf'\s*\{{\s*"name"\s*:\s*({_NAME})\s*,\s*"arguments"\s*:\s*')
_CALL_END = re.compile(r"\s*\}\s*")
_TEXT = re.compile(r'\{\s*"text"\s*:\s*"')
# The inside of a string as far as it is sure. The first half of a pair of surrogates is not, before
# what follows it is there.
_SURE = re.compile(
    r"""(?: [^"\\]+
          | \\["\\/bfnrt]
          | \\u(?![dD][89abAB])[0-9a-fA-F]{4}
          | \\u[dD][89abAB][0-9a-fA-F]{2}
            (?: \\u[dD][c-fC-F][0-9a-fA-F]{2}
              | (?=[^\\] | \\[^u] | \\u[^dD] | \\u[dD][^c-fC-F]) )
        )*+""",
    re.VERBOSE,
)
_HALF_PAIR = re.compile("[\ud800-\udfff]")


@frozen
class Received:
    """What has come of a reply so far."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    usage: Usage = Usage()


@frozen
class Seen:
    """What can be made out in a reply so far.

    A call is the tool's name and as much of its arguments as is there. `whole` says that nothing is
    missing and nothing is left over.
    """

    reasoning: str = ""
    content: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    whole: bool = False


def receive(received: Received, event: Mapping[str, Any]) -> Received | ModelFailure:
    """`received` with one more event, or the error that the event is."""
    if error := event.get("error"):
        return _refusal(error)
    if usage := event.get("usage"):
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        counted = Usage(usage["prompt_tokens"], usage["completion_tokens"], cached)
        received = evolve(received, usage=counted)
    for choice in event.get("choices") or ():
        delta = choice.get("delta") or {}
        received = evolve(
            received,
            text=received.text + (delta.get("content") or ""),
            reasoning=received.reasoning + (delta.get("reasoning_content") or ""),
            finish_reason=choice.get("finish_reason") or received.finish_reason,
        )
    return received


class ReplyReader:
    """A reply as it comes: events go in, and the pieces that they add come out.

    RULE: what is there is looked at again when there is a 256th more of it, and at its end: then
    all of it takes linear time, and of a long reply the pieces are a few tokens late.
    """

    def __init__(self, form: Form) -> None:
        self._form = form
        self._received = Received()
        self._new: list[Received] = []
        self._new_characters = 0
        self._seen = Seen()

    @property
    def received(self) -> Received:
        """All that has come."""
        self._received, self._new = _joined([self._received, *self._new]), []
        return self._received

    def read(self, event: Mapping[str, Any]) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in an event; gives what can be shown now, or the error that the event is."""
        new = receive(Received(), event)
        if isinstance(new, ModelFailure):
            return new
        self._new.append(new)
        self._new_characters += len(new.text) + len(new.reasoning)
        known = len(self._received.text) + len(self._received.reasoning)
        if self._new_characters * LOOKS < known and not new.finish_reason:
            return ()
        before, self._seen = self._seen, see(self.received, self._form)
        self._new_characters = 0
        return list(pieces(before, self._seen))


def _joined(parts: Sequence[Received]) -> Received:
    """What has come one after the other."""
    used = [part.usage for part in parts if part.usage != Usage()]
    ends = [part.finish_reason for part in parts if part.finish_reason]
    return Received(
        "".join([part.text for part in parts]),
        "".join([part.reasoning for part in parts]),
        ends[-1] if ends else "",
        used[-1] if used else Usage(),
    )


def see(received: Received, form: Form) -> Seen:
    """What can be made out in `received`. More text only ever adds to it."""
    text, at = received.text, 0
    calls: list[tuple[str, str]] = []
    if form.answer is None:
        return Seen(received.reasoning, text, (), _is_whole(text, form))
    while begun := _CALL.match(text, at):
        name, start = str(_decoder.decode(begun[1])), begun.end()
        end = _value_end(text, start)
        after = _CALL_END.match(text, end) if end is not None else None
        at = after.end() if after else len(text)
        if name == form.answer:
            content = _answer(text[start:end], form)
            return Seen(received.reasoning, content, tuple(calls), after is not None)
        calls.append((name, text[start:end]))
        if after is None:
            return Seen(received.reasoning, "", tuple(calls))
    return Seen(received.reasoning, "", tuple(calls), bool(calls) and at == len(text))


def pieces(before: Seen, after: Seen) -> Iterator[StreamingChunk]:
    """What `after` shows that `before` did not."""
    if more := after.reasoning[len(before.reasoning) :]:
        yield StreamingChunk(reasoning=more, start=not before.reasoning)
    if more := after.content[len(before.content) :]:
        yield StreamingChunk(more, start=not before.content)
    for index, (name, arguments) in enumerate(after.calls):
        begun = index < len(before.calls)
        more = arguments[len(before.calls[index][1]) :] if begun else arguments
        if more or not begun:
            delta = ToolCallDelta(index, None if begun else name, more)
            yield StreamingChunk(tool_calls=(delta,), index=index)


def whole_reply(
    received: Received, request: Request, model: str
) -> Result[ChatReply, ModelFailure]:
    """The reply that has come to its end.

    A reply that was cut off by `max_tokens` is one, too: its text ends early, or its last call is
    unreadable. None is one that is not what was asked for, or has filled the model's context in the
    middle of a call.
    """
    if not received.finish_reason:
        return Failure(ModelFailure("cut_stream", "the reply was broken off"))
    seen = see(received, request.form)
    cut = received.finish_reason == "length"
    if cut and seen.calls and received.usage.output_tokens < request.max_tokens:
        text = "the model's context was full before a call was whole"
        return Failure(ModelFailure("context_length", text))
    if not (seen.whole or (cut and (seen.calls or seen.content))):
        return Failure(_unreadable(received.text))
    calls = [_tool_call(*call) for call in seen.calls]
    reason = FINISH_REASONS.get(received.finish_reason, "other")
    reply = ChatReply(
        ChatMessage.from_assistant(
            None if calls else seen.content, tool_calls=calls, reasoning=seen.reasoning or None
        ),
        finish_reason="tool_calls" if calls and not cut else reason,
        usage=received.usage,
        model=model,
        raw_finish_reason=received.finish_reason,
    )
    return Success(reply)


def _is_whole(text: str, form: Form) -> bool:
    return not form.structured or _value_end(text, 0) == len(text)


def _value_end(text: str, start: int) -> int | None:
    """Where the JSON value that begins at `start` ends; None where it has no end yet."""
    try:
        return _decoder.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _answer(arguments: str, form: Form) -> str:
    """The answer out of the arguments of its call: JSON as it is written, or the text in it."""
    if form.structured:
        return arguments
    begun = _TEXT.match(arguments)
    sure = _SURE.match(arguments, begun.end()) if begun else None
    return _paired(_decoder.decode(f'"{sure[0]}"')) if sure else ""


def _tool_call(name: str, arguments: str) -> ToolCall:
    try:
        value = _decoder.decode(arguments)
        value = read_json(_paired(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return ToolCall(name, unreadable=arguments)
    return ToolCall(name, value)


def _paired(text: str) -> str:
    """`text` as it can be encoded: without halves of pairs of surrogates."""
    return _HALF_PAIR.sub("\ufffd", text)


def _refusal(error: Mapping[str, Any]) -> ModelFailure:
    cause = CAUSES.get(error.get("type", ""), "server")
    if cause == "context_length":
        text = (
            f"the conversation has {error.get('n_prompt_tokens')} tokens and the model's context "
            f"{error.get('n_ctx')}: make it shorter, or give the generator a larger n_ctx"
        )
        return ModelFailure(cause, text)
    return ModelFailure(cause, f"llama.cpp refused the request: {error.get('message')}")


def _unreadable(text: str) -> ModelFailure:
    # llama.cpp drops a grammar that it cannot read, and says nothing.
    held = text.lstrip()[:1] in {"", "{", "["}
    why = "max_tokens is too small" if held else "a JSON Schema in the request makes no grammar"
    begins = text[:EXCERPT_CHARACTERS]
    return ModelFailure(
        "bad_response",
        f"the reply is not of the form that was asked for: {why}; it begins {begins!r}",
    )
