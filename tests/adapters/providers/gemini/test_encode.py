"""Conversations, tools and options as the body of a request to Gemini."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detent.adapters.providers.gemini.encode import NO_SIGNATURE, contents, request_body
from detent.adapters.providers.http.api import ChatRequest
from detent.core.chat.messages import (
    ChatMessage,
    FileContent,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
)
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError

Json = dict[str, Any]

PNG = ImageContent("aGk=", "image/png")
PNG_WIRE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
TOOL = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
TOOL_WIRE = {
    "functionDeclarations": [
        {
            "name": "add",
            "description": "Adds.",
            "parametersJsonSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
        }
    ]
}


def own(**extra: object) -> Json:
    """Gemini's own data about a part."""
    return {"gemini": extra}


def call(**extra: object) -> ToolCall:
    """A call that Gemini made."""
    return ToolCall("add", {"a": 1}, "c1", own(**extra))


def call_wire(**members: object) -> Json:
    """The same on the wire."""
    return {"functionCall": {"name": "add", "args": {"a": 1}, **members}}


def response(text: str, key: str = "output", **members: object) -> Json:
    """A result on the wire."""
    return {"functionResponse": {"name": "add", "response": {key: text}, **members}}


def model(*parts: Json) -> list[Json]:
    """What the model said, on the wire."""
    return [{"role": "model", "parts": list(parts)}]


def user(*parts: Json) -> list[Json]:
    """What the user said, on the wire."""
    return [{"role": "user", "parts": list(parts)}]


MESSAGES: dict[str, tuple[ChatMessage, list[Json]]] = {
    "system": (ChatMessage.from_system("Be kind"), []),
    "user": (ChatMessage.from_user("Hi"), user({"text": "Hi"})),
    "image": (
        ChatMessage.from_user(content_parts=["Look", PNG]),
        user({"text": "Look"}, PNG_WIRE),
    ),
    "file": (
        ChatMessage.from_user(content_parts=[FileContent("aGk=", "application/pdf", "a.pdf")]),
        user({"inlineData": {"mimeType": "application/pdf", "data": "aGk="}}),
    ),
    "file elsewhere": (
        ChatMessage.from_user(
            content_parts=[FileContent("", "", extra=own(fileData={"fileUri": "gs://a/b"}))]
        ),
        user({"fileData": {"fileUri": "gs://a/b"}}),
    ),
    "answer": (ChatMessage.from_assistant("Hello"), model({"text": "Hello"})),
    "empty answer": (ChatMessage.from_assistant(""), []),
    "no answer": (ChatMessage.from_assistant(), []),
    "image of the model": (ChatMessage("assistant", [PNG]), model(PNG_WIRE)),
    "call": (ChatMessage.from_assistant(tool_calls=[call()]), model(call_wire())),
    "call with an id": (
        ChatMessage.from_assistant(tool_calls=[call(id="g1")]),
        model(call_wire(id="g1")),
    ),
    "call with a signature": (
        ChatMessage.from_assistant(tool_calls=[call(thoughtSignature="c2ln")]),
        model(call_wire() | {"thoughtSignature": "c2ln"}),
    ),
    "calls of another provider": (
        ChatMessage.from_assistant(
            tool_calls=[ToolCall("add", {"a": 1}, "x1"), ToolCall("add", {"a": 1}, "x2")]
        ),
        model(call_wire() | {"thoughtSignature": NO_SIGNATURE}, call_wire()),
    ),
    "unreadable call": (
        ChatMessage.from_assistant(
            tool_calls=[ToolCall("add", {}, "c1", own(), unreadable='{"a": ')]
        ),
        model({"functionCall": {"name": "add", "args": {"unreadable": '{"a": '}}}),
    ),
    "thought": (
        ChatMessage.from_assistant(
            "Hi", reasoning=ReasoningContent("hm", own(thoughtSignature="c2ln"))
        ),
        model({"text": "hm", "thought": True, "thoughtSignature": "c2ln"}, {"text": "Hi"}),
    ),
    "thought of another provider": (
        ChatMessage.from_assistant("Hi", reasoning=ReasoningContent("hm", {"signature": "x"})),
        model({"text": "Hi"}),
    ),
    "result": (ChatMessage.from_tool("3", call()), user(response("3"))),
    "result by id": (ChatMessage.from_tool("3", call(id="g1")), user(response("3", id="g1"))),
    "error": (ChatMessage.from_tool("no", call(), error=True), user(response("no", "error"))),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_its_form(kind: str) -> None:
    """Checked as JSON, as the server sees it."""
    message, wire = MESSAGES[kind]
    assert json.loads(json.dumps([*contents([message])])) == wire


def test_the_results_of_one_turn_are_one_content() -> None:
    """What is attached to them follows in another one, and then what the user says."""
    messages = [
        ChatMessage.from_tool([TextContent("done"), PNG], call()),
        ChatMessage.from_tool("3", call()),
        ChatMessage.from_user("And?"),
    ]
    results = user(response("done"), response("3"))
    attached = user({"text": "Attached to the result of tool add:"}, PNG_WIRE)
    assert [*contents(messages)] == [*results, *attached, *user({"text": "And?"})]
    assert [*contents(messages[:2])] == [*results, *attached]


def test_a_model_that_sees_results_gets_what_is_attached_within_them() -> None:
    """Each in its own, since Gemini 3."""
    messages = [
        ChatMessage.from_tool([TextContent("done"), PNG], call()),
        ChatMessage.from_tool("3", call()),
    ]
    request = ChatRequest("gemini-3-pro", messages)
    seen = response("done")
    seen["functionResponse"]["parts"] = [PNG_WIRE]
    assert json.loads(request_body(request))["contents"] == user(seen, response("3"))


def body_of(given: list[ToolSpec] | None = None, /, **options: object) -> Json:
    """The body of a request with one message."""
    body: Json = json.loads(
        request_body(ChatRequest("m", [ChatMessage.from_user("Hi")], given or [], options))
    )
    assert body.pop("contents") == user({"text": "Hi"})
    return body


def calling(**members: object) -> Json:
    """Tools, and how they may be called."""
    return {"tools": [TOOL_WIRE], "toolConfig": {"functionCallingConfig": members}}


SCHEMA = {"type": "object"}
FORM = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
BODIES: dict[str, tuple[Json, Json]] = {
    "plain": (body_of(), {}),
    "tools": (body_of([TOOL]), {"tools": [TOOL_WIRE]}),
    "options that all providers have": (
        body_of(temperature=0, max_tokens=5, top_p=0.5, stop="x", seed=None),
        {
            "generationConfig": {
                "temperature": 0,
                "maxOutputTokens": 5,
                "topP": 0.5,
                "stopSequences": ["x"],
            }
        },
    ),
    "several stops": (body_of(stop=["x"]), {"generationConfig": {"stopSequences": ["x"]}}),
    "options as the API names them": (
        body_of(temperature=0, generationConfig={"temperature": 1, "topK": 2}, labels={"a": "b"}),
        {"generationConfig": {"temperature": 1, "topK": 2}, "labels": {"a": "b"}},
    ),
    "tools of Google": (
        body_of([TOOL], tools=[{"googleSearch": {}}]),
        {"tools": [TOOL_WIRE, {"googleSearch": {}}]},
    ),
    "choice without tools": (body_of(tool_choice="required", parallel_tool_calls=False), {}),
    "no choice": (body_of([TOOL], tool_choice="auto"), calling(mode="AUTO")),
    "a tool demanded": (body_of([TOOL], tool_choice="required"), calling(mode="ANY")),
    "no tool": (body_of([TOOL], tool_choice="none"), calling(mode="NONE")),
    "this tool": (
        body_of([TOOL], tool_choice="add"),
        calling(mode="ANY", allowedFunctionNames=["add"]),
    ),
    "JSON": (
        body_of(response_format={"type": "json_object"}),
        {"generationConfig": {"responseMimeType": "application/json"}},
    ),
    "JSON of a schema": (
        body_of(response_format=FORM),
        {
            "generationConfig": {
                "responseMimeType": "application/json",
                "responseJsonSchema": SCHEMA,
            }
        },
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_the_body_holds_what_was_asked_for(kind: str) -> None:
    """Common options find their place; None takes one out."""
    made, members = BODIES[kind]
    assert made == members


def test_what_the_system_says_stands_apart() -> None:
    """All of it, wherever in the conversation it was said."""
    messages = [
        ChatMessage.from_system("Be kind"),
        ChatMessage.from_user("Hi"),
        ChatMessage.from_system("Be brief"),
    ]
    body = json.loads(request_body(ChatRequest("m", messages)))
    assert body["systemInstruction"] == {"parts": [{"text": "Be kind"}, {"text": "Be brief"}]}
    assert body["contents"] == user({"text": "Hi"})


@pytest.mark.parametrize(
    ("message", "options", "text"),
    [
        (ChatMessage("user", [call()]), {}, "ToolCall in a message of a user"),
        (ChatMessage.from_user("Hi"), {"response_format": {"type": "xml"}}, "response_format"),
        (ChatMessage.from_user("Hi"), {"tool_choice": {"any": {}}}, "tool_choice"),
        (ChatMessage.from_user("Hi"), {"seed": float("nan")}, "not JSON"),
    ],
)
def test_what_cannot_be_sent_is_a_bad_request(
    message: ChatMessage, options: Json, text: str
) -> None:
    """It is found before anything is sent."""
    with pytest.raises(ChatGeneratorError, match=text) as caught:
        request_body(ChatRequest("m", [message], [TOOL], options))
    assert caught.value.failure.cause == "bad_request"
