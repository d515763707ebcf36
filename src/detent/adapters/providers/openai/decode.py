"""Answers of Chat Completions, streamed or whole, folded into pieces and a reply. Pure.

Source: https://platform.openai.com/docs/api-reference/chat/streaming, and what compatible servers
send beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import evolve
from returns.result import Failure, Result, Success

from detent.adapters.providers.http.failures import failure_in_answer, read_error, unfinished
from detent.adapters.providers.meaning.citations import citation
from detent.adapters.providers.meaning.logprobs import logprobs
from detent.adapters.providers.meaning.media import audio_of, image_of_url
from detent.adapters.providers.meaning.wire import first_choice, first_count
from detent.adapters.providers.openai.calls import Calls
from detent.adapters.providers.openai.reasoning import Details
from detent.core.chat.messages import (
    ChatMessage,
    FileContent,
    ImageContent,
    ReasoningContent,
    ToolCall,
)
from detent.core.chat.replies import ChatReply, FinishReason, ModelFailure, TokenLogprob, Usage
from detent.ports.chat import StreamingChunk

Json: TypeAlias = Mapping[str, Any]

FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",  # Together
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",  # Mistral
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
CUT = frozenset({"length", "content_filter"})
NOT_EXTRA = frozenset({"choices", "model", "object", "obfuscation", "p"})


class ChatFold:
    """Folds the values of one answer. A whole answer is a stream of one value to it.

    `audio_format` is that in which sound was asked for: an answer does not say it.
    """

    def __init__(self, audio_format: str = "wav") -> None:
        self._audio_format = audio_format
        self._about: dict[str, Any] = {}  # what stands beside the choices; the last word counts
        self._usage: Json | None = None
        self._chosen = False
        self._finish = ""
        self._over = False
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field = ""
        self._details = Details()
        self._calls = Calls()
        self._annotations: list[Json] = []
        self._audio: list[str] = []
        self._images: list[str] = []
        self._extra_content: dict[str, Any] = {}
        self._logprobs: list[TokenLogprob] = []

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the next value; give what can be shown of it, or the error that it is."""
        if value.get("error"):
            return failure_in_answer(value)
        self._about.update(value)
        if usage := value.get("usage"):
            self._usage = usage
        choice = first_choice(value.get("choices"))
        if choice is None:
            return ()
        self._chosen = True
        message = choice.get("message")
        delta = choice.get("delta", message)
        if reason := choice.get("finish_reason"):
            self._finish, self._over = reason, True
            self._usage = choice.get("usage") or self._usage  # Moonshot puts it here
        elif delta and delta.get("tool_calls"):
            self._over = False  # Together gives a reason after each call
        if tokens := choice.get("logprobs"):
            self._logprobs += logprobs(tokens.get("content"))
        pieces = self._pieces(delta) if delta else ()
        if reason and message is not delta and message and not self._has_spoken:
            return self._pieces(message)  # Perplexity: all is in it, and the delta is empty
        return pieces

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """The reply; a failure where the answer was cut off before its end, or is none."""
        if not self._chosen or not (ended or self._over) or self._finish == "error":
            return Failure(self._failure(ended=ended))
        calls = self._calls.tool_calls(cut=self._finish in CUT)
        refusal = "".join(self._refusal)
        text = "".join(self._text) or refusal or None
        reason = _finish_reason(self._finish, calls=bool(calls), refused=bool(refusal))
        usage = self._usage or (self._about.get("x_groq") or {}).get("usage") or {}
        about = self._about | {"usage": usage, "refusal": refusal}
        reply = ChatReply(
            self._message(text, calls),
            finish_reason=reason,
            usage=_usage(usage),
            model=str(self._about.get("model") or ""),
            raw_finish_reason=str(self._finish),
            extra={name: value for name, value in about.items() if value and name not in NOT_EXTRA},
            logprobs=tuple(self._logprobs),
        )
        return Success(reply)

    def _message(self, text: str | None, calls: Sequence[ToolCall]) -> ChatMessage:
        own = {"openai": {"extra_content": self._extra_content}} if self._extra_content else None
        message = ChatMessage.from_assistant(
            text, tool_calls=calls, reasoning=self._reasoning_part(), meta=own
        )
        # Perplexity and xAI name their sources beside the choices, some only by their addresses.
        annotations = self._annotations or self._about.get("search_results")
        found = annotations or [
            {"url": source} if isinstance(source, str) else source
            for source in self._about.get("citations") or ()
        ]
        sound = [audio_of(self._audio, self._audio_format)] if self._audio else []
        images = [image for url in self._images if (image := image_of_url(url)) is not None]
        media: tuple[ImageContent | FileContent, ...] = (*images, *sound)
        if not (found or media):
            return message
        before = message.content[: len(message.content) - len(calls)]
        return evolve(message, content=(*before, *map(citation, found), *media, *calls))

    @property
    def _has_spoken(self) -> bool:
        content = self._text or self._refusal or self._reasoning or self._details
        return bool(content or self._calls or self._audio or self._images)

    def _pieces(self, delta: Json) -> Sequence[StreamingChunk]:
        if len(delta) == 1 and isinstance(text := delta.get("content"), str):  # as in nearly all
            return (self._say(text, self._text),) if text else ()
        pieces = [*self._thoughts(delta)]
        if content := delta.get("content"):
            if isinstance(content, str):
                pieces.append(self._say(content, self._text))
            elif isinstance(content, Mapping):  # Cloudflare, asked for JSON
                pieces.append(self._say(json.dumps(content), self._text))
            else:
                pieces.extend(self._parts(content))
        if refusal := delta.get("refusal"):
            pieces.append(self._say(refusal, self._refusal))
        if calls := delta.get("tool_calls"):
            pieces.append(StreamingChunk(tool_calls=tuple(map(self._calls.add, calls))))
        pieces += self._further(delta)
        return pieces

    def _further(self, delta: Json) -> Iterator[StreamingChunk]:
        """What few answers have: sources, images, and sound, whose text is what was said."""
        if annotations := delta.get("annotations"):
            self._annotations += annotations
            yield StreamingChunk(citations=tuple(map(citation, annotations)))
        self._images += [image["image_url"]["url"] for image in delta.get("images") or ()]
        self._extra_content.update(delta.get("extra_content") or {})  # Gemini's signature of it
        if audio := delta.get("audio"):
            self._audio += filter(None, (audio.get("data"),))
            if transcript := audio.get("transcript"):
                yield self._say(transcript, self._text)

    def _thoughts(self, delta: Json) -> Iterator[StreamingChunk]:
        if thought := delta.get("reasoning_content"):
            yield self._think("reasoning_content", thought)
        elif thought := delta.get("reasoning"):
            yield self._think("reasoning", thought)
        if details := delta.get("reasoning_details"):
            self._details.add(details)

    def _say(self, text: str, texts: list[str]) -> StreamingChunk:
        start = not texts
        texts.append(text)
        return StreamingChunk(text, start=start)

    def _think(self, name: str, text: str) -> StreamingChunk:
        start = not self._reasoning
        self._reasoning.append(text)
        self._reasoning_field = name
        return StreamingChunk(reasoning=text, start=start)

    def _parts(self, parts: Iterable[Json]) -> Iterator[StreamingChunk]:
        """Mistral's form of content: a list of texts and thoughts."""
        for part in parts:
            if part.get("type") == "thinking":
                thinking = part.get("thinking") or ()
                pieces = (
                    [thinking]
                    if isinstance(thinking, str)
                    else [piece.get("text") or "" for piece in thinking]
                )
                yield self._think("content", "".join(pieces))
            elif part.get("type") == "text" and (text := part.get("text")):
                yield self._say(text, self._text)

    def _reasoning_part(self) -> ReasoningContent | None:
        extra: dict[str, object] = {}
        if self._reasoning:
            extra["field"] = self._reasoning_field
        if self._details:
            extra["reasoning_details"] = self._details.whole()
        return ReasoningContent("".join(self._reasoning), extra) if extra else None

    def _failure(self, *, ended: bool) -> ModelFailure:
        if self._finish == "error":
            return ModelFailure("server", "the provider broke off with an error", retryable=True)
        if ended and read_error(self._about).message:
            return failure_in_answer(self._about)
        is_of_other_api = bool(self._about) and "choices" not in self._about
        return unfinished("choice", cut_off=not ended and not is_of_other_api)


def _finish_reason(raw: str, *, calls: bool, refused: bool) -> FinishReason:
    """The reason, decided on what came: servers say "stop" beside calls if a tool was demanded."""
    reason = FINISH_REASONS.get(raw, "other")
    if calls:
        return reason if raw in CUT else "tool_calls"
    if refused:
        return "refusal"
    return "other" if reason == "tool_calls" else reason


def _usage(usage: Json) -> Usage:
    """Usage in the common shape.

    Some servers (xAI, Gemini) leave reasoning out of the completion but not out of the total; some
    gateways report more reasoning than there was completion.
    """
    of_prompt = usage.get("prompt_tokens_details") or {}
    of_completion = usage.get("completion_tokens_details") or {}
    read = first_count(usage.get("prompt_tokens"))
    total = first_count(usage.get("total_tokens"))
    written = max(first_count(usage.get("completion_tokens")), total - read)
    cached = first_count(
        of_prompt.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),  # DeepSeek
        usage.get("cached_tokens"),
    )
    reasoning = first_count(of_completion.get("reasoning_tokens"), usage.get("reasoning_tokens"))
    return Usage(read, written, min(cached, read), min(reasoning, written))
