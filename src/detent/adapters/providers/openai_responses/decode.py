"""Answers of the Responses API, streamed or whole, folded into pieces and a reply. Pure.

Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from returns.result import Failure, Result, Success

from detent.adapters.providers.http.calls import FREE_TEXT
from detent.adapters.providers.http.failures import failure_in_answer, unfinished
from detent.adapters.providers.meaning.citations import citation, cited
from detent.adapters.providers.meaning.logprobs import logprobs
from detent.adapters.providers.meaning.neutral import decided_reason
from detent.adapters.providers.meaning.parts import Opaque, Part, Said, assistant_message, without
from detent.adapters.providers.meaning.server_tools import COMPUTER, server_tool_begun, uses
from detent.adapters.providers.meaning.wire import first_count, read_arguments
from detent.adapters.providers.openai_responses.computer import (
    ARGUMENTS as OF_COMPUTER,
)
from detent.adapters.providers.openai_responses.computer import (
    COMPUTER_CALL,
    arguments_of_item,
)
from detent.adapters.providers.openai_responses.encode import CUSTOM_CALL, PROVIDER
from detent.core.chat.messages import ImageContent, ReasoningContent, ToolCall
from detent.core.chat.replies import ChatReply, FinishReason, ModelFailure, TokenLogprob, Usage
from detent.ports.chat import StreamingChunk, ToolCallDelta

Json: TypeAlias = Mapping[str, Any]

FINISH_REASONS: Mapping[str, FinishReason] = {
    "completed": "stop",
    "complete": "stop",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
THOUGHTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
ARGUMENTS = frozenset(
    {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}
)
WANTED = frozenset({"apply_patch_call", "computer_call", "local_shell_call", "shell_call"})
"""What the application is asked to do, by other items than functions."""

UNDER_WAY = frozenset({"in_progress", "queued"})
# What the answer repeats of the request, or what the reply says elsewhere.
NOT_EXTRA = frozenset({"instructions", "model", "object", "output", "status", "text", "tools"})


class ResponseFold:
    """Folds the events of one answer. A whole answer is like the last event of a stream.

    `custom` are the names of our tools that take free text: xAI's own search calls such tools, too,
    and runs them. None says that all are ours. `computer` says that the application has one, which
    its tool of that name operates.
    """

    def __init__(self, custom: Container[str] | None = None, *, computer: bool = False) -> None:
        self._custom = custom
        self._computer = computer
        self._response: Json = {}  # as the last event that held all of it said
        self._items: dict[int, Json] = {}
        self._last_item = 0  # the largest of their numbers
        self._places: dict[int, int] = {}  # the number of each call among the calls
        self._begun: set[int] = set()  # the items of which something was shown
        self._text_at: tuple[object, ...] = ()  # which text is going on

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the next event; give what can be shown of it, or the error that it is."""
        kind = value.get("type")
        if kind in TEXTS or kind in THOUGHTS:
            return self._grown(value, thought=kind in THOUGHTS)
        if kind in ARGUMENTS:
            return self._argued(self._index(value), value.get("delta"))
        match value:
            case {"type": "response.output_item.added", "item": Mapping() as item}:
                return self._open(self._index(value, len(self._items)), item)
            case {"type": "response.output_item.done", "item": Mapping() as item}:
                return self._close(self._index(value), item)
            case {"type": "response.output_text.annotation.added"}:
                return cited(value.get("annotation"))
            case {"response": Mapping() as response}:
                return self._tell(response)
            case {"output": _} | {"object": "response"}:
                return self._tell(value)
            case _ if kind == "error" or value.get("error"):
                return failure_in_answer(value)
            case _:
                return ()  # progress, and events that are not known yet

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """The reply; a failure where the answer was cut off before its end, or is none."""
        status = str(self._response.get("status") or "")
        cut_off = not ended and (not status or status in UNDER_WAY)
        goes_on = status in UNDER_WAY and bool(self._response.get("background"))
        if goes_on and self._response.get("id"):
            return Success(self._reply((), status, "paused", under_way=True))
        if cut_off or not self._response:
            return Failure(unfinished("response", cut_off=cut_off))
        parts = self._parts(cut=status == "incomplete")
        reason = self._reason(status, parts)
        return Success(self._reply(parts, status, reason))

    def _parts(self, *, cut: bool) -> list[Part]:
        """The parts of the message."""
        items = self._told_items()
        last = items[-1] if cut and items else None
        return [part for item in items for part in self._parts_of(item, cut=item is last)]

    def _reason(self, status: str, parts: Iterable[Part]) -> FinishReason:
        cause = (self._response.get("incomplete_details") or {}).get("reason") or status
        reason = FINISH_REASONS.get(cause, "other")
        if reason == "stop" and any(map(_refused, parts)):
            return "refusal"
        return decided_reason(reason, calls=any(isinstance(part, ToolCall) for part in parts))

    def _reply(
        self, parts: Sequence[Part], status: str, reason: FinishReason, *, under_way: bool = False
    ) -> ChatReply:
        response = self._response
        kept = (
            {"id": response["id"]} | ({"under_way": True} if under_way else {})
            if response.get("id") and response.get("store") is not False
            else None
        )
        refusal = "".join(map(_refused, parts))
        return ChatReply(
            assistant_message(PROVIDER, _with_citations(parts), kept),
            finish_reason=reason,
            usage=_usage(response.get("usage") or {}),
            model=str(response.get("model") or ""),
            raw_finish_reason=status,
            extra={
                name: value
                for name, value in {**response, "refusal": refusal}.items()
                if value and name not in NOT_EXTRA
            }
            | uses(map(_name_at_server, filter(self._runs_at_server, self._told_items()))),
            logprobs=tuple(self._logprobs()),
        )

    def _logprobs(self) -> list[TokenLogprob]:
        items = [item for item in self._told_items() if item.get("type") == "message"]
        parts = [part for item in items for part in item.get("content") or ()]
        return [token for part in parts for token in logprobs(part.get("logprobs"))]

    def _told_items(self) -> list[Json]:
        """The items: the ChatGPT backend tells them one by one alone."""
        streamed = (item for _, item in sorted(self._items.items()))
        return list(self._response.get("output") or streamed)

    def _tell(self, response: Json) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the whole response, which is told as it begins and as it ends."""
        if response.get("error") or response.get("status") == "failed":
            return failure_in_answer(response)
        self._response = response
        if self._items:
            return ()
        items = enumerate(response.get("output") or ())
        return [piece for index, item in items for piece in self._close(index, item)]

    def _index(self, event: Json, default: int | None = None) -> int:
        """The number of the item that an event is about; without one it is about the last."""
        index = event.get("output_index")
        if isinstance(index, int):
            return index
        return self._last_item if default is None else default

    def _open(self, index: int, item: Json) -> Sequence[StreamingChunk]:
        is_new = index not in self._items
        self._last_item = max(self._last_item, index) if self._items else index
        self._items[index] = item
        if self._runs_at_server(item):
            return server_tool_begun(_name_at_server(item)) if is_new else ()
        if not self._is_call(item) or index in self._places:
            return ()
        place = self._places[index] = len(self._places)
        delta = ToolCallDelta(place, _called(item), "", _call_id(item))
        return (StreamingChunk(tool_calls=(delta,)),)

    def _close(self, index: int, item: Json) -> Sequence[StreamingChunk]:
        """Take in a whole item; show it, if nothing was shown of it as it grew."""
        pieces = [*self._open(index, item)]
        if index in self._begun:
            return pieces
        if self._is_call(item):
            pieces += self._argued(index, _arguments_text(item))
        for number, (text, thought) in enumerate(_texts(item)):
            event = {"output_index": index, "content_index": number, "delta": text}
            pieces += self._grown(event, thought=thought)
        return pieces

    def _grown(self, event: Json, *, thought: bool) -> Sequence[StreamingChunk]:
        text, index = event.get("delta"), self._index(event)
        if not text:
            return ()
        self._begun.add(index)
        at = (index, event.get("content_index"), event.get("summary_index"))
        start, self._text_at = at != self._text_at, at
        if thought:
            return (StreamingChunk(reasoning=text, start=start),)
        return (StreamingChunk(text, start=start),)

    def _is_call(self, item: Json) -> bool:
        """Whether it calls a tool of ours."""
        kind = item.get("type")
        is_ours = self._custom is None or str(item.get("name")) in self._custom
        if kind == COMPUTER_CALL:
            return self._computer
        return kind == "function_call" or (kind == CUSTOM_CALL and is_ours)

    def _runs_at_server(self, item: Json) -> bool:
        """Whether the provider itself runs a tool here."""
        kind = str(item.get("type"))
        return kind.endswith("_call") and kind not in WANTED and not self._is_call(item)

    def _parts_of(self, item: Json, *, cut: bool) -> Iterator[Part]:
        """What an item says. Where the answer was `cut` off in it, a call is not whole."""
        match item.get("type"):
            case "message":
                own = without(item, "content")
                for part in item.get("content") or ():
                    of_part = without(part, "text", "refusal", "logprobs")
                    yield Said(_text_of(part), {"item": own, "part": of_part})
            case "reasoning":
                text = "".join(text for text, _ in _texts(item))
                yield ReasoningContent(text, {PROVIDER: item})
            case "image_generation_call" if item.get("result"):
                mime_type = f"image/{item.get('output_format') or 'png'}"
                own = without(item, "result")
                yield ImageContent(item["result"], mime_type, meta={PROVIDER: own})
            case _ if self._is_call(item):
                yield _call(item, cut=cut and item.get("status") != "completed")
            case _:
                yield Opaque(item)

    def _argued(self, index: int, arguments: str | None) -> Sequence[StreamingChunk]:
        if not arguments or index not in self._places:
            return ()
        self._begun.add(index)
        return (StreamingChunk(tool_calls=(ToolCallDelta(self._places[index], None, arguments),)),)


def _with_citations(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        if isinstance(part, Said):
            yield from map(citation, part.extra["part"].get("annotations") or ())


def _call(item: Json, *, cut: bool) -> ToolCall:
    """A call; the free text of a custom one is its only argument."""
    written = _arguments_text(item)
    if item.get("type") == CUSTOM_CALL:
        read: Json | None = None if cut else {FREE_TEXT: written}
    else:
        read = read_arguments(written, cut=cut)
    return ToolCall(
        str(_called(item) or ""),
        read or {},
        _call_id(item),
        {PROVIDER: without(item, "arguments", "call_id", "input", "name", *OF_COMPUTER)},
        written if read is None else None,
    )


def _name_at_server(item: Json) -> object:
    kind = item["type"]
    return item.get("name") if kind == CUSTOM_CALL else kind


def _call_id(call: Json) -> str | None:
    """What a result names its call by; some servers have but one id."""
    return call.get("call_id") or call.get("id")


def _called(call: Json) -> str | None:
    """The name of our tool that is called."""
    return COMPUTER if call.get("type") == COMPUTER_CALL else call.get("name")


def _arguments_text(call: Json) -> str:
    if call.get("type") == COMPUTER_CALL:
        return json.dumps(arguments_of_item(call))
    return str(call.get("arguments") or call.get("input") or "")


def _texts(item: Json) -> Iterator[tuple[str, bool]]:
    """The texts of a message or a thought, and whether they are a thought."""
    thought = item.get("type") == "reasoning"
    if thought or item.get("type") == "message":
        for part in (*(item.get("summary") or ()), *(item.get("content") or ())):
            yield _text_of(part), thought


def _text_of(part: Json) -> str:
    return part.get("text") or part.get("refusal") or ""


def _refused(part: Part) -> str:
    """The text of a refusal; none of any other part."""
    if isinstance(part, Said) and part.extra["part"].get("type") == "refusal":
        return part.text
    return ""


def _usage(usage: Json) -> Usage:
    """Usage in the common shape, in which the API counts."""
    read, written = first_count(usage.get("input_tokens")), first_count(usage.get("output_tokens"))
    cached = (usage.get("input_tokens_details") or {}).get("cached_tokens")
    reasoning = (usage.get("output_tokens_details") or {}).get("reasoning_tokens")
    return Usage(
        read, written, min(first_count(cached), read), min(first_count(reasoning), written)
    )
