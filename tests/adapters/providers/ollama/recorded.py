"""Recorded traffic of Ollama's own API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.ollama.chat import OllamaChatGenerator
from detent.adapters.providers.ollama.decode import ChatFold
from detent.core.chat.messages import ImageContent
from detent.core.chat.replies import Usage
from tests.adapters.providers.http.recorded import Reader, Record
from tests.adapters.providers.http.replayed import Api, Item, arguments_of


def usage(told: Mapping[str, Any], counted: Usage) -> None:
    """A prompt that was cached is not counted."""
    assert counted == Usage(told.get("prompt_eval_count") or 0, told.get("eval_count") or 0)


READER = Reader(lambda: Answer(ChatFold(), "recorded", redact=str), usage)


def items(body: Mapping[str, Any]) -> Iterator[Item]:
    """A request to /api/chat, flattened."""
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            call_id, name = message.get("tool_call_id"), message.get("tool_name")
            yield Item("result", role, message["content"], call_id, name)
            continue
        if thinking := message.get("thinking"):
            yield Item("thought", role, thinking)
        yield Item("text", role, message["content"])
        for image in message.get("images") or ():
            yield Item("media", role, ImageContent(image))
        for call in message.get("tool_calls") or ():
            function = call["function"]
            arguments = arguments_of(function.get("arguments"))
            yield Item("call", role, arguments, call.get("id"), function["name"])


def tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the functions in a request, by their names."""
    functions = [tool["function"] for tool in body.get("tools") or ()]
    return {function["name"]: function.get("parameters") for function in functions}


def generator(record: Record, client: httpx.Client) -> OllamaChatGenerator:
    """A generator for the model of a record."""
    return OllamaChatGenerator(record["model"], http_client=client)


API = Api(generator, items, tools, issues_ids=False)
