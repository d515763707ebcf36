"""Contents: what was said and done, as the attributes of spans; redacted, and only if asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from detent.adapters.telemetry import conventions as names
from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    Citation,
    Content,
    FileContent,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
    ToolCallResult,
)
from detent.core.run.effects import AskModel, RunTool
from detent.core.tools.masking import masked, shown_content, shown_result
from detent.core.tools.result import ToolResult
from detent.core.tools.tool import ToolSpec
from detent.core.values.frozen import thaw

Redact = Callable[[str], str]


def are_wanted() -> bool:
    """Whether the environment asks for contents on spans."""
    return os.environ.get(names.CAPTURE, "").strip().upper() in names.ON_SPANS


@frozen
class Contents:
    """Writes contents as the conventions have them. `redacts` are applied to every text in them."""

    redacts: Sequence[Redact] = ()

    def of_request(self, effect: AskModel) -> dict[str, str]:
        """What the model is sent."""
        secret = _secrets(effect.tools)
        first, rest = _split(effect.messages)
        attributes = {names.INPUT_MESSAGES: self._messages(rest, secret)}
        if first:
            parts = [self._part(part, secret) for message in first for part in message.content]
            attributes[names.SYSTEM_INSTRUCTIONS] = self._json(parts)
        return attributes

    def of_reply(
        self, message: ChatMessage, finish_reason: str, tools: Iterable[ToolSpec]
    ) -> dict[str, str]:
        """What the model has answered."""
        plain = self._message(message, _secrets(tools)) | {"finish_reason": finish_reason}
        return {names.OUTPUT_MESSAGES: self._json([plain])}

    def of_call(self, effect: RunTool) -> dict[str, str]:
        """What a tool is called with. Secret parameters are masked."""
        arguments = masked(effect.call.arguments, effect.tool.masked)
        return {names.TOOL_ARGUMENTS: self._json(thaw(arguments))}

    def of_result(self, effect: RunTool, result: ToolResult) -> dict[str, str]:
        """What a tool has given: a text, or parts, without what is secret in its call."""
        shown = shown_content(result.visible, effect.call.arguments, effect.tool.masked)
        value = self._result(shown)
        return {
            names.TOOL_RESULT: self._redacted(value)
            if isinstance(value, str)
            else self._json(value)
        }

    def _messages(
        self, messages: Iterable[ChatMessage], secret: Mapping[str, frozenset[str]]
    ) -> str:
        return self._json([self._message(message, secret) for message in messages])

    def _message(
        self, message: ChatMessage, secret: Mapping[str, frozenset[str]]
    ) -> dict[str, Any]:
        parts = [self._part(part, secret) for part in message.content]
        return {"role": message.role.value, "parts": parts}

    def _part(self, part: Content, secret: Mapping[str, frozenset[str]]) -> dict[str, Any]:
        match part:
            case TextContent(text):
                return {"type": "text", "content": text}
            case ReasoningContent(text):
                return {"type": "reasoning", "content": text}
            case ToolCall():
                hidden = {*part.secret, *secret.get(part.tool_name, ())}
                arguments = thaw(masked(part.arguments, hidden))
                named = {"id": part.id, "name": part.tool_name, "arguments": arguments}
                return {"type": "tool_call", **named}
            case ToolCallResult(origin=origin):
                shown = shown_result(part, {*origin.secret, *secret.get(origin.tool_name, ())})
                response = self._result(shown.result)
                return {"type": "tool_call_response", "id": origin.id, "response": response}
            case ImageContent() | FileContent():
                kind = "image" if isinstance(part, ImageContent) else "file"
                return {"type": "blob", "modality": kind, "mime_type": part.mime_type}
            case Citation():
                return {"type": "citation", "url": part.url, "title": part.title}

    def _result(self, result: object) -> object:
        if isinstance(result, str) or not isinstance(result, Sequence):
            return result
        return [self._part(part, {}) for part in result]

    def _json(self, value: object) -> str:
        return json.dumps(self._redacted_value(value), ensure_ascii=False, default=str)

    def _redacted_value(self, value: object) -> object:
        match value:
            case str():
                return self._redacted(value)
            case dict():
                return {name: self._redacted_value(item) for name, item in value.items()}
            case list() | tuple():
                return [self._redacted_value(item) for item in value]
            case _:
                return value

    def _redacted(self, text: str) -> str:
        for redact in self.redacts:
            text = redact(text)
        return text


def _secrets(tools: Iterable[ToolSpec]) -> dict[str, frozenset[str]]:
    return {tool.name: frozenset(tool.masked) for tool in tools if tool.masked}


def _split(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[ChatMessage]]:
    """The instructions at the beginning, and the rest."""
    count = 0
    while count < len(messages) and messages[count].role is ChatRole.SYSTEM:
        count += 1
    return list(messages[:count]), list(messages[count:])
