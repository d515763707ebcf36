"""What a server asks of people and of the model, while it works on a call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import mcp_types as types
from attrs import field, frozen
from mcp.client import ClientRequestContext

from detent.adapters.faces.answers import ask_person
from detent.adapters.faces.replies import sound
from detent.adapters.mcp.schemas import SchemaRefusedError, plain_schema
from detent.adapters.system.threads_and_loops import in_a_thread
from detent.core.chat.messages import ChatMessage, ImageContent, TextContent
from detent.core.chat.replies import ChatReply
from detent.core.run.approval import Answered, Confirmed, Modified, Rejected
from detent.core.schema.validation import Validator
from detent.ports.chat import AsyncChatGenerator, ChatGenerator, ChatGeneratorError
from detent.ports.confirmation import ConfirmationUI, ConfirmationUIResult, decision_of

ASKED_MAX = 3
"""How often a human is asked again whose answer does not fit."""

TOKENS_MAX = 4096
"""How many tokens a server may have the model write at once."""

DECLINED = types.ErrorData(code=types.INVALID_REQUEST, message="the user has declined")


@frozen
class Answering:
    """Answers what a server asks, one question after the other."""

    server: str
    ui: ConfirmationUI | None = None
    sampling: ChatGenerator | AsyncChatGenerator | None = None
    _turn: asyncio.Lock = field(factory=asyncio.Lock, init=False, eq=False, repr=False)

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """What the human says to a question with a form, or with a page to go to."""
        if isinstance(params, types.ElicitRequestURLParams):
            answer = await self._ask("a page to go to", params.message, {"url": params.url})
            return types.ElicitResult(action=_action(answer))
        try:
            schema = plain_schema(params.requested_schema)
            test = Validator(schema)
        except (SchemaRefusedError, ValueError):
            return types.ErrorData(code=types.INVALID_PARAMS, message="the form cannot be shown")
        fields: Mapping[str, Any] = schema.get("properties", {})
        form = {name: rule.get("default") for name, rule in fields.items() if rule is not True}
        text = f"{params.message}\n{_described(fields, schema.get('required', ()))}"
        faults: list[str] = []
        for _ in range(ASKED_MAX):
            question = "\n".join([text, *faults])
            answer = await self._ask("a question", question, dict(form))
            content = form if answer.new_tool_params is None else answer.new_tool_params
            if (action := _action(answer)) != "accept":
                return types.ElicitResult(action=action)
            if not (faults := test.faults(content, "the answer")):
                return types.ElicitResult(action="accept", content=content)
        return types.ElicitResult(action="cancel")

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """What the model says, where the human lets it be asked."""
        messages = [_message(message) for message in params.messages]
        if params.tools or None in messages:
            return types.ErrorData(
                code=types.INVALID_PARAMS, message="only texts and images can be sampled, no tools"
            )
        details = {
            "system_prompt": params.system_prompt,
            "messages": [
                message.model_dump(mode="json", exclude_none=True) for message in params.messages
            ],
        }
        answer = await self._ask("the model", "The server wants to ask the model.", details)
        if answer.action != "confirm":
            return DECLINED
        system = [ChatMessage.from_system(params.system_prompt)] if params.system_prompt else []
        try:
            reply = await self._replied([*system, *filter(None, messages)], params.max_tokens)
        except ChatGeneratorError:
            return types.ErrorData(code=types.INTERNAL_ERROR, message="the model did not answer")
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(text=sound(reply.message.text or "")),
            model=str(reply.message.meta.get("model", "unknown")),
            stop_reason="maxTokens" if reply.finish_reason == "length" else "endTurn",
        )

    async def _replied(self, messages: list[ChatMessage], tokens: int) -> ChatReply:
        options = {"max_tokens": max(1, min(tokens, TOKENS_MAX))}
        if hasattr(self.sampling, "run_async"):
            waiting = cast(AsyncChatGenerator, self.sampling)
            return await waiting.run_async(messages, generation_kwargs=options)
        blocking = cast(ChatGenerator, self.sampling)
        return await in_a_thread(partial(blocking.run, messages, generation_kwargs=options))

    async def _ask(self, what: str, text: str, details: dict[str, Any]) -> ConfirmationUIResult:
        async with self._turn:
            ui = cast(ConfirmationUI, self.ui)
            return await ask_person(ui, f"{self.server}: {what}", text, details)


def _action(answer: ConfirmationUIResult) -> Any:
    match decision_of(answer):
        case Confirmed() | Modified():
            return "accept"
        case Rejected():
            return "decline"
        case Answered() | None:
            return "cancel"


def _described(fields: Mapping[str, Any], required: Any) -> str:
    lines: list[str] = []
    for name, field_schema in fields.items():
        rules: Mapping[str, Any] = field_schema if isinstance(field_schema, Mapping) else {}
        kind = " or ".join(map(str, rules["enum"])) if "enum" in rules else rules.get("type", "any")
        need = "" if name in required else ", may be left out"
        note = rules.get("description") or rules.get("title") or ""
        lines.append(f"{name} ({kind}{need}): {note}")
    return "\n".join(lines)


def _message(message: types.SamplingMessage) -> ChatMessage | None:
    """As a message of ours; None where a part of it is of no kind that a model reads here."""
    parts: list[TextContent | ImageContent] = []
    for block in message.content_as_list:
        if block.type == "text":
            parts.append(TextContent(block.text))
        elif block.type == "image":
            parts.append(ImageContent(block.data, block.mime_type))
        else:
            return None
    if message.role == "user":
        return ChatMessage.from_user(content_parts=parts) if parts else None
    texts = [part.text for part in parts if isinstance(part, TextContent)]
    return ChatMessage.from_assistant("\n".join(texts)) if len(texts) == len(parts) else None
