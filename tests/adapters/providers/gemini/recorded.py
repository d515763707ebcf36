"""Recorded traffic of Gemini, from AI Studio and from Vertex AI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
from attrs import evolve

from detent.adapters.providers.gemini.chat import GeminiChatGenerator
from detent.adapters.providers.gemini.decode import GenerateFold
from detent.adapters.providers.http.answers import Answer
from detent.core.chat.messages import Content, FileContent, ImageContent, ToolCall
from tests.adapters.providers.http.recorded import Reader, Record, summed
from tests.adapters.providers.http.replayed import Api, Item, arguments_of, payload_of

READER = Reader(
    lambda: Answer(GenerateFold(), "recorded", redact=str),
    summed("totalTokenCount"),
    no_answer={
        "8cdfb23f2d7acc7e": "cut_stream",  # events without empty lines between and after them
    },
    better={
        "4e7de9e72bcb6ab2": "arguments in pieces: two calls, where the other reader saw eight",
    },
)


RAW = {"args", "response", "parameters", "parameters_json_schema", "parametersJsonSchema"}


def snake_less(value: Any) -> Any:
    """JSON with every name in camel case; both are accepted."""
    if isinstance(value, list):
        return [snake_less(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"_(\w)", lambda letter: letter[1].upper(), name): (
            inner if name in RAW else snake_less(inner)
        )
        for name, inner in value.items()
    }


def items(body: Mapping[str, Any]) -> Iterator[Item]:
    """A request to generateContent, flattened."""
    plain = snake_less(body)
    for part in (plain.get("systemInstruction") or {}).get("parts", ()):
        yield Item("text", "system", part["text"])
    for content in plain["contents"]:
        role: Any = "assistant" if content.get("role") == "model" else "user"
        for part in content.get("parts", ()):
            yield from part_items(part, role)


def part_items(part: Mapping[str, Any], role: Any) -> Iterator[Item]:
    """One part, flattened."""
    match part:
        case {"functionCall": call}:
            name, arguments = call["name"], arguments_of(call.get("args"))
            yield Item("call", role, arguments, call.get("id"), name)
        case {"functionResponse": result}:
            payload = payload_of(result["response"])
            yield Item("result", "tool", payload, result.get("id"), result["name"])
        case {"text": text}:
            yield Item("thought" if part.get("thought") else "text", role, text)
        case {"inlineData": data}:
            yield Item("media", role, ImageContent(data["data"], data["mimeType"]))
        case _:
            block = {name: value for name, value in part.items() if name != "thoughtSignature"}
            block = {
                name: {member: value for member, value in inner.items() if value != {}}
                for name, inner in block.items()
            }
            yield Item("media", role, FileContent("", "", extra={"gemini": block}))
    if signature := part.get("thoughtSignature"):
        same = signature.replace("-", "+").replace("_", "/").rstrip("=")
        yield Item("signature", role, same)


def tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the functions in a request, by their names."""
    given = snake_less(body).get("tools") or []
    functions = [
        function
        for tool in (given if isinstance(given, list) else [given])
        for function in tool.get("functionDeclarations", ())
    ]
    return {
        function["name"]: function.get("parameters") or function.get("parametersJsonSchema") or {}
        for function in functions
    }


def generator(record: Record, client: httpx.Client) -> GeminiChatGenerator:
    """A generator for the model of a record."""
    return GeminiChatGenerator(record["model"], api_key="k", http_client=client)


def signed(part: Content, signature: str) -> Content:
    """A call with its signature."""
    assert isinstance(part, ToolCall)
    return evolve(part, extra={"gemini": {"thoughtSignature": signature}})


API = Api(
    generator,
    items,
    tools,
    issues_ids=False,
    signed=signed,
    known={"run_02a50cb0aa1b": "the client put the sources into what a tool of Google gave"},
)
