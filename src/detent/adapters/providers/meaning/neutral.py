"""What means the same for every provider, whatever its words: options, and why a model ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from detent.adapters.providers.meaning.wire import cannot_send, json_text
from detent.core.chat.replies import FinishReason

BROKEN_OFF = frozenset({"length", "content_filter", "refusal"})
TOOL_CHOICES = frozenset({"auto", "none", "required"})
ABSENT: tuple[object, ...] = (None, [], {})


@frozen
class JsonSchema:
    """The form in which an answer is wanted."""

    name: str
    schema: Mapping[str, Any]
    description: Any = None
    strict: Any = None


def wanted_schema(response_format: object, api: str) -> JsonSchema | None:
    """What a `response_format` asks for; None when any text will do.

    It has OpenAI's form: ``{"type": "json_schema", "json_schema": {"name": …, "schema": …}}``.

    Raises:
        ChatGeneratorError: it is of another form, which `api` does not take.
    """
    match response_format:
        case None | {"type": "text"}:
            return None
        case {"type": "json_schema", "json_schema": {"schema": Mapping() as schema, **rest}}:
            return JsonSchema(
                name=str(rest.get("name") or "answer"),
                schema=schema,
                description=rest.get("description"),
                strict=rest.get("strict"),
            )
        case _:
            what = (
                'response_format other than {"type": "json_schema", "json_schema": {"schema": …}}'
            )
            raise cannot_send(api, what)


def named_tool(tool_choice: object) -> str | None:
    """The tool that a `tool_choice` names, bare or in one of OpenAI's forms; None if it names none.

    >>> named_tool("add"), named_tool({"type": "function", "function": {"name": "add"}})
    ('add', 'add')
    >>> named_tool("auto"), named_tool({"any": {}})
    (None, None)
    """
    match tool_choice:
        case {"type": "function", "function": {"name": str(name)}}:
            return name
        case {"type": "function", "name": str(name)}:
            return name
        case str(name) if name not in TOOL_CHOICES:
            return name
        case _:
            return None


def decided_reason(reason: FinishReason, *, calls: bool) -> FinishReason:
    """Why the model ended, decided on what came: with calls it waits for their results.

    >>> decided_reason("stop", calls=True), decided_reason("tool_calls", calls=False)
    ('tool_calls', 'other')
    """
    if calls:
        return reason if reason in BROKEN_OFF else "tool_calls"
    return "other" if reason == "tool_calls" else reason


def encoded_body(body: Mapping[str, object], api: str) -> bytes:
    """A request's body as it is sent: what is None or empty is left out.

    Raises:
        ChatGeneratorError: it is not JSON; the message says that it is for `api`.
    """
    present = {name: value for name, value in body.items() if value not in ABSENT}
    return json_text(present, api).encode()
