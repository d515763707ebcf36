"""Any conversation is a request as the providers' own SDKs type it, after published schemas."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import TypeAdapter

from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply
from tests.adapters.providers.http.generators import READERS
from tests.adapters.providers.http.recorded import decoded, needs_records, records
from tests.adapters.providers.http.test_switching import (
    SHORTENED,
    conversations,
    results_of,
    written,
)

TYPES = {
    "anthropic": ("anthropic.types.message_create_params", "MessageCreateParamsNonStreaming"),
    "openai_chat": (
        "openai.types.chat.completion_create_params",
        "CompletionCreateParamsNonStreaming",
    ),
    "openai_responses": (
        "openai.types.responses.response_create_params",
        "ResponseCreateParamsNonStreaming",
    ),
}
"""Where each is; importing an SDK takes seconds, which only the worker with these tests pays."""

NAMES = (*TYPES, "bedrock_converse")


@cache
def adapter(name: str) -> TypeAdapter[Any]:
    """Holds requests to the types of the SDK."""
    module, type_name = TYPES[name]
    return TypeAdapter(getattr(import_module(module), type_name))


def read(value: object) -> object:
    """A value to its depths: pydantic looks into what is iterable only as it is read."""
    if isinstance(value, Mapping):
        return {name: read(inner) for name, inner in value.items()}
    if isinstance(value, list | Iterator) or type(value).__name__ == "ValidatorIterator":
        return [read(inner) for inner in value]  # type: ignore[attr-defined]  # it is one
    return value


@cache
def converse() -> Any:
    """What Bedrock's model of itself says that a request to Converse is."""
    loader: Any = import_module("botocore.loaders").Loader()  # it has no types
    described = loader.load_service_model("bedrock-runtime", "service-2")
    model: Any = import_module("botocore.model").ServiceModel(described)
    return model.operation_model("Converse").input_shape


def parameters(value: Any, shape: Any) -> Any:
    """A request as botocore takes it: with bytes, which go over the wire in base64."""
    match value:
        case {} if shape.type_name == "structure" and not shape.is_document_type:
            return {n: parameters(x, shape.members[n]) for n, x in value.items()}
        case [*items] if shape.type_name == "list":
            return [parameters(item, shape.member) for item in items]
        case str() if shape.type_name == "blob":
            return b64decode(value, validate=True)
        case _:
            return value


def held(name: str, body: Mapping[str, Any]) -> None:
    """Raise where a request is not of the types."""
    if name != "bedrock_converse":
        read(adapter(name).validate_python(body))
        return
    asked = {"modelId": "m", **parameters(body, converse())}
    check: Any = import_module("botocore.validate").ParamValidator()
    if faults := check.validate(asked, converse()).generate_report():
        raise ValueError(faults)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(messages=conversations())
def test_any_conversation_is_of_the_types_of_the_sdk(
    name: str, messages: list[ChatMessage]
) -> None:
    """Texts, pictures, thoughts, calls and results."""
    held(name, written(name, messages))


@needs_records
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", READERS)
def test_what_any_provider_has_answered_is_of_the_types_of_the_sdk(source: str, name: str) -> None:
    """When the conversation goes on with another provider."""
    for record in records(source):
        reply = decoded(record, READERS[source])[1]
        if not isinstance(reply, ChatReply) or record["id"] == SHORTENED:
            continue
        calls = [call for call in reply.message.tool_calls if call.id and not call.unreadable]
        if len(calls) < len(reply.message.tool_calls):
            continue
        ask = ChatMessage.from_user("Go on")
        if READERS[source] is not READERS[name]:  # what it said itself it gets back as it came
            held(name, written(name, [ask, reply.message, *results_of(calls), ask]))


@pytest.mark.parametrize("name", NAMES)
def test_the_types_refuse_what_is_none(name: str) -> None:
    """They would else prove nothing."""
    body = written(name, [ChatMessage.from_user("Hi")])
    member = "input" if name == "openai_responses" else "messages"
    for wrong in ([{"role": "user", "content": 7}], [{"role": "nobody", "content": "Hi"}]):
        with pytest.raises(ValueError):  # noqa: PT011  # pydantic's is one
            held(name, {**body, member: wrong})
