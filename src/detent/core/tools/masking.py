"""Masking: parameters whose values no human is shown. RULE: arguments become text only masked."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from attrs import evolve

from detent.core.chat.call_copies import with_secret
from detent.core.chat.messages import (
    ChatMessage,
    FileContent,
    ImageContent,
    ResultPart,
    TextContent,
    ToolCall,
    ToolCallResult,
    with_calls,
)
from detent.core.schema.record_fields import class_of, field_names
from detent.core.tools.redaction import Secrets
from detent.core.values.frozen import FrozenDict
from detent.core.values.short_repr import MASK as MASK  # noqa: PLC0414 - masks are of here

LETTERS, OF_URLS = re.compile(r"[^A-Za-z0-9+/]"), str.maketrans("-_", "+/")
"""What is none of base64, and how those of URLs are written elsewhere."""

PLAIN = frozenset({"type", "properties", "required", "title", "description", "$defs"})
"""The keywords of a schema that says of its properties all at one place."""


class SecretParameter:
    """Marks a parameter whose value nobody is shown: not who is asked, nor in a log or an error.

    ``def sign(key: Annotated[str, SecretParameter], text: str)``. In a schema of one's own,
    ``"writeOnly": True`` says the same of a property. The model knows it: it has chosen it. It is
    in the events, the snapshot and the journal, which are data.
    """


def masked(arguments: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The arguments of a call as people may see them: those of `names` are secrets."""
    return {name: MASK if name in names else value for name, value in arguments.items()}


def shown_call(call: ToolCall, names: Collection[str] | None = None) -> ToolCall:
    """A call as people may see it: without `names`, its secrets are those that it says itself."""
    names = call.secret if names is None else names
    if not names:
        return call
    unreadable = call.unreadable and MASK
    return evolve(call, arguments=masked(call.arguments, names), unreadable=unreadable)


def shown_result(result: ToolCallResult, names: Collection[str] | None = None) -> ToolCallResult:
    """A result as people may see it: nothing in its texts says what its call has as secrets.

    Args:
        result: what came of the call.
        names: which arguments are secret; without them those that the call says.
    """
    call = result.origin
    names = call.secret if names is None else names
    content = result.result if result.display is None else result.display
    if names and (call.unreadable or any(name in call.arguments for name in names)):
        content, call = shown_content(content, call.arguments, names), shown_call(call, names)
    elif result.display is None:
        return result
    return evolve(result, result=content, origin=call, display=None)


def shown_content(
    content: str | Sequence[ResultPart], arguments: Mapping[str, Any], names: Collection[str]
) -> str | tuple[ResultPart, ...]:
    """What a tool has given as people may see it: nothing in it says what is secret."""
    secrets = Secrets(arguments, names)
    if isinstance(content, str):
        return secrets.without(content)
    return tuple(_shown_part(part, secrets) for part in content) if secrets else tuple(content)


def _shown_part(part: ResultPart, secrets: Secrets) -> ResultPart:
    clean = secrets.without_in
    match part:
        case TextContent(text):
            return TextContent(secrets.without(text))
        case FileContent(data, mime_type, name, extra) if not _says(data, secrets):
            return FileContent(data, clean(mime_type), clean(name), clean(extra))
        case ImageContent(data, mime_type, detail, meta) if not _says(data, secrets):
            return ImageContent(data, clean(mime_type), clean(detail), clean(meta))
        case _:
            kind = "a file" if isinstance(part, FileContent) else "an image"
            return TextContent(f"(withheld: {kind} that may say {secrets})")


def _says(data: str, secrets: Secrets) -> bool:
    """Whether a secret stands in what is base64, or is nearly: whoever shows it may be lenient."""
    with suppress(ValueError):
        return secrets.are_in(b64decode(data, validate=True))
    letters = LETTERS.sub("", data.rpartition(",")[2].translate(OF_URLS))
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    return any(map(secrets.are_in, (data.encode(errors="replace"), b64decode(f"{whole}=="))))


def shown_message(message: ChatMessage) -> ChatMessage:
    """A message as people may see it: its calls masked, its results without their secrets."""
    content = [
        shown_call(part)
        if isinstance(part, ToolCall)
        else shown_result(part)
        if isinstance(part, ToolCallResult)
        else part
        for part in message.content
    ]
    return evolve(message, content=content)


def secret_parameters(masked: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """The secret parameters by tool; nothing where none is secret.

    Under "*" are those of calls of what is no tool: a model that has misspelled the name of one
    has its secrets in its arguments.
    """
    if not any(masked.values()):
        return {}
    return {**masked, "*": frozenset[str]().union(*masked.values())}


def with_secrets_marked(message: ChatMessage, names: Mapping[str, Collection[str]]) -> ChatMessage:
    """The message, whose calls know which of their arguments are secret.

    Args:
        message: it has calls, or answers some.
        names: the secret parameters by tool, and of all others under "*".
    """

    def marked(call: ToolCall) -> ToolCall:
        return with_secret(call, names.get(call.tool_name, names.get("*", ())))

    calls, results = message.tool_calls, message.tool_call_results
    if calls:
        message = with_calls(message, list(map(marked, calls)))
    if results:
        content = [
            evolve(part, origin=marked(part.origin)) if isinstance(part, ToolCallResult) else part
            for part in message.content
        ]
        message = evolve(message, content=content)
    return message


def masked_in(
    hints: Mapping[str, Any],
    parameters: Mapping[str, Any],
    defaults: Mapping[str, object] = FrozenDict(),
) -> frozenset[str]:
    """The parameters that are marked, or of which a part is: by types, by the schema, by a default.

    A mark on those that the schema does not name is one on "".
    """
    by_type = {name for name, kind in hints.items() if _is_marked(kind, [])}
    by_default = {name for name, value in defaults.items() if _is_marked(type(value), [])}
    properties: Iterable[tuple[str, object]] = parameters.get("properties", {}).items()
    if not PLAIN.issuperset(parameters):
        from detent.core.schema.projection import property_schemas  # with the first such schema

        properties = property_schemas(parameters)
    by_schema = {name for name, schema in properties if _is_write_only(schema, parameters)}
    return frozenset(by_type | by_default | by_schema)


def _is_marked(kind: Any, seen: list[object]) -> bool:
    """Whether a type is marked, or a part of it. Each class is looked into once: `seen` grows."""
    parts = get_args(kind)
    if get_origin(kind) is Annotated:
        return any(map(_is_mark, parts[1:])) or _is_marked(parts[0], seen)
    origin = get_origin(kind) or class_of(kind)
    if origin not in seen:
        seen.append(origin)
        parts += _parts_of(origin)
    return any(_is_marked(part, seen) for part in parts)


def _is_mark(note: object) -> bool:
    return note is SecretParameter or isinstance(note, SecretParameter)


def _parts_of(kind: Any) -> tuple[Any, ...]:
    """The types that a type is made of: those of its fields, or what it is another name for.

    RULE: where they cannot be told, they are secret. pydantic knows those of its classes itself,
    also where a name in them stands in a function, or for a type that was filled in.
    """
    for name in ("__value__", "__supertype__"):  # ``type Pin = …``, ``NewType("Pin", …)``
        if hasattr(kind, name):
            return (getattr(kind, name),)
    fields: Mapping[str, Any] | None = getattr(kind, "__pydantic_fields__", None)
    if fields is not None:
        hints = tuple(Annotated[(one.annotation, None, *one.metadata)] for one in fields.values())
        with suppress(NameError):
            hints += tuple(get_type_hints(kind, include_extras=True).values())
        return hints
    if not (hasattr(kind, "__required_keys__") or _is_record(kind)):  # the first: a TypedDict
        return ()
    try:
        return tuple(get_type_hints(kind, include_extras=True).values())
    except NameError:
        return (Annotated[object, SecretParameter],)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and field_names(kind) is not None


def _is_write_only(schema: object, root: Mapping[str, Any]) -> bool:
    """Whether a schema says so, or anything in it, or behind a reference that stands in it."""
    names: set[str] = set()
    ahead = [schema]
    while ahead:
        match ahead.pop():
            case {"writeOnly": True}:
                return True
            case Mapping() as part:
                ahead += part.values()
                name = part.get("$ref")
                if isinstance(name, str) and name not in names:
                    from detent.core.schema.accepted_keywords import target_of  # where it is needed

                    names.add(name)
                    # one in a default or an example is none, and leads nowhere
                    ahead.append(target_of(name, root))
            case list() | tuple() as parts:
                ahead += parts
            case _:
                pass
    return False
