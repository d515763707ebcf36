"""Images and sound that a model makes: parts of its message, and back where it takes them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from detent.adapters.providers.anthropic.encode import wire_messages as to_anthropic
from detent.adapters.providers.bedrock.encode import wire_messages as to_bedrock
from detent.adapters.providers.gemini.decode import GenerateFold
from detent.adapters.providers.gemini.encode import contents
from detent.adapters.providers.http.answers import Answer, Fold
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.adapters.providers.openai.decode import ChatFold
from detent.adapters.providers.openai.encode import wire_messages as to_openai
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.adapters.providers.openai_responses.encode import wire_items
from detent.core.chat.messages import ChatMessage, ChatRole, FileContent, ImageContent, TextContent
from detent.core.chat.replies import ChatReply
from tests.adapters.providers.http.folds import events, fed
from tests.adapters.providers.http.generators import READERS
from tests.adapters.providers.http.recorded import decoded, needs_records, records
from tests.adapters.providers.http.wires import Wire

Json = Mapping[str, Any]
PNG = ImageContent("aGk=", "image/png")
FOREIGN = ChatMessage(ChatRole.ASSISTANT, (TextContent("Look"), PNG))


def read(fold: Callable[[], Fold], data: bytes) -> ChatReply:
    """The reply of an answer."""
    return fed(data, lambda: Answer(fold(), "h", redact=str))[1]


def encoded(data: bytes) -> str:
    """Bytes as base64."""
    return b64encode(data).decode()


def test_an_image_of_gemini_is_a_part_and_goes_back_with_its_signature() -> None:
    """The model goes on from it."""
    inline = {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "s"}
    body = {"candidates": [{"content": {"parts": [inline]}, "finishReason": "STOP"}]}
    message = read(GenerateFold, json.dumps(body).encode()).message
    assert [image.base64_image for image in message.images] == ["aGk="]
    assert json.loads(json.dumps([*contents([message])]))[0]["parts"] == [inline]


def test_an_image_of_the_responses_api_is_a_part_and_goes_back_as_its_item() -> None:
    """Once, and not beside the item."""
    item = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "output_format": "webp",
        "result": "aGk=",
    }
    body = {"object": "response", "status": "completed", "output": [item]}
    message = read(ResponseFold, json.dumps(body).encode()).message
    assert [(one.base64_image, one.mime_type) for one in message.images] == [("aGk=", "image/webp")]
    assert json.loads(json.dumps([*wire_items([message])])) == [item]


@pytest.mark.parametrize("streamed", [False, True])
def test_images_of_chat_completions_are_parts(*, streamed: bool) -> None:
    """OpenRouter sends them as data; an address alone is none."""
    urls = ["data:image/png;base64,aGk=", "https://a.org/b.png"]
    said = {"content": "Look", "images": [{"image_url": {"url": url}} for url in urls]}
    choice = {"delta" if streamed else "message": said, "finish_reason": "stop"}
    body = {"choices": [choice]}
    reply = read(ChatFold, events(body) if streamed else json.dumps(body).encode())
    assert reply.message.content == (TextContent("Look"), PNG)


def test_sound_is_a_part_and_its_transcript_the_text() -> None:
    """In a stream each piece is base64 by itself."""
    pieces: list[Json] = [
        {"id": "a1", "transcript": "Hel"},
        {"data": encoded(b"abcd")},
        {"data": encoded(b"e"), "transcript": "lo"},
        {"expires_at": 1},
    ]
    deltas = [{"choices": [{"delta": {"audio": piece}}]} for piece in pieces]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    shown, reply = fed(events(*deltas, end), lambda: Answer(ChatFold("pcm16"), "h", redact=str))
    assert reply.message.content == (
        TextContent("Hello"),
        FileContent(encoded(b"abcde"), "audio/pcm"),
    )
    assert "".join(piece.content for piece in shown) == "Hello"
    assert [*to_openai([reply.message])] == [{"role": "assistant", "content": "Hello"}]


def test_the_form_of_sound_is_that_which_was_asked_for() -> None:
    """An answer does not say it."""
    audio = {"id": "a1", "data": encoded(b"abc"), "transcript": "Hi"}
    wire = Wire({"choices": [{"message": {"audio": audio}, "finish_reason": "stop"}]})
    with wire.client() as client:
        generator = OpenAIChatGenerator(
            "m",
            api_key="k",
            http_client=client,
            generation_kwargs={
                "modalities": ["text", "audio"],
                "audio": {"voice": "x", "format": "mp3"},
            },
        )
        reply = generator.run([ChatMessage.from_user("Sing")])
    assert [file.mime_type for file in reply.message.files] == ["audio/mpeg"]


SAID_SO = "(image/png that the model made)"


def test_what_another_model_made_is_said_in_words_to_those_that_take_none() -> None:
    """A conversation can change its provider; the picture itself a user may send."""
    text = {"type": "text", "text": SAID_SO}
    assert to_anthropic([FOREIGN])[0]["content"] == [{"type": "text", "text": "Look"}, text]
    assert to_bedrock([FOREIGN])[0]["content"] == [{"text": "Look"}, {"text": SAID_SO}]
    assert [item["content"] for item in wire_items([FOREIGN])] == ["Look", SAID_SO]


@needs_records
def test_an_image_is_found_in_a_recorded_answer() -> None:
    """The one that holds one."""
    name = "openai_responses"
    replies = [decoded(record, READERS[name])[1] for record in records(name)]
    assert any(isinstance(reply, ChatReply) and reply.message.images for reply in replies)
