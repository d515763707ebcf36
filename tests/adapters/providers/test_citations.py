"""The sources that a model names, and how likely it found its words, from every provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from detent.adapters.providers.anthropic.decode import MessageFold
from detent.adapters.providers.anthropic.encode import wire_messages as to_anthropic
from detent.adapters.providers.bedrock.decode import ConverseFold
from detent.adapters.providers.bedrock.encode import wire_messages as to_bedrock
from detent.adapters.providers.cohere.decode import ChatFold as CohereFold
from detent.adapters.providers.cohere.encode import wire_messages as to_cohere
from detent.adapters.providers.gemini.decode import GenerateFold
from detent.adapters.providers.gemini.encode import contents as to_gemini
from detent.adapters.providers.http.answers import Answer, Fold
from detent.adapters.providers.ollama.encode import wire_messages as to_ollama
from detent.adapters.providers.openai.decode import ChatFold
from detent.adapters.providers.openai.encode import wire_messages as to_openai
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.adapters.providers.openai_responses.encode import wire_items
from detent.core.chat.messages import ChatMessage, ChatRole, Citation, TextContent
from detent.core.chat.replies import ChatReply, TokenLogprob
from detent.models import Citation as PublicCitation
from tests.adapters.providers.http.folds import events, fed
from tests.adapters.providers.http.generators import READERS
from tests.adapters.providers.http.recorded import decoded, needs_records, records

Json = Mapping[str, Any]
SAID = "It is Ü 4."
SOURCE = {"url": "https://a.org", "title": "A"}
A = Citation("https://a.org", "A")
OF_ANTHROPIC = {"type": "web_search_result_location", **SOURCE, "cited_text": "four"}
URL = {"type": "url_citation", **SOURCE, "start_index": 0, "end_index": 5}
NESTED = {"type": "url_citation", "url_citation": {**SOURCE, "start_index": 0, "end_index": 5}}
GROUNDED = {
    "groundingChunks": [{"web": {"uri": "https://a.org", "title": "A"}}],
    "groundingSupports": [
        {"segment": {"startIndex": 6, "endIndex": 8, "text": "Ü"}, "groundingChunkIndices": [0, 7]}
    ],
}


def gemini(**members: object) -> Json:
    """An answer of Gemini."""
    content = {"parts": [{"text": SAID}]}
    return {"candidates": [{"content": content, "finishReason": "STOP", **members}]}


def openai(message: Json, **members: object) -> Json:
    """An answer of Chat Completions."""
    choice = {"message": {"content": SAID, **message}, "finish_reason": "stop"}
    return {"choices": [choice], **members}


def cohere(*sources: Json) -> Json:
    """An answer of Cohere."""
    cited = {"start": 6, "end": 7, "text": "Ü", "sources": sources}
    message = {"content": [{"type": "text", "text": SAID}], "citations": [cited]}
    return {"id": "1", "message": message, "finish_reason": "COMPLETE"}


def responses(**part: object) -> Json:
    """An answer of the Responses API."""
    told = {"type": "output_text", "text": SAID, "annotations": [], **part}
    item = {"type": "message", "id": "m", "role": "assistant", "content": [told]}
    return {"object": "response", "status": "completed", "output": [item]}


def anthropic(*citations: Json) -> Json:
    """An answer of Anthropic."""
    block = {"type": "text", "text": SAID, "citations": [*citations]}
    return {"type": "message", "content": [block], "stop_reason": "end_turn"}


def bedrock(**citation: object) -> Json:
    """An answer of Bedrock."""
    cited = {"citationsContent": {"content": [{"text": SAID}], "citations": [citation]}}
    return {"output": {"message": {"content": [cited]}}, "stopReason": "end_turn"}


CITED: list[tuple[Callable[[], Fold], Json, Sequence[Citation]]] = [
    (MessageFold, anthropic(OF_ANTHROPIC), [Citation("https://a.org", "A", "four")]),
    (
        MessageFold,
        anthropic({"type": "char_location", "document_title": "D", "start_char_index": 3}),
        [Citation(None, "D")],
    ),
    (ResponseFold, responses(annotations=[URL]), [Citation("https://a.org", "A", None, 0, 5)]),
    (
        ResponseFold,
        responses(annotations=[{"type": "file_citation", "filename": "a.pdf", "index": 9}]),
        [Citation(None, "a.pdf")],
    ),
    (ChatFold, openai({"annotations": [NESTED]}), [Citation("https://a.org", "A", None, 0, 5)]),
    (ChatFold, openai({}, search_results=[{**SOURCE, "date": None}]), [A]),
    (ChatFold, openai({}, citations=["https://a.org"]), [Citation("https://a.org")]),
    (
        GenerateFold,
        gemini(groundingMetadata=GROUNDED),
        [Citation("https://a.org", "A", None, 6, 7)],
    ),
    (GenerateFold, gemini(groundingMetadata={"groundingChunks": GROUNDED["groundingChunks"]}), [A]),
    (
        GenerateFold,
        gemini(citationMetadata={"citationSources": [{"endIndex": 5, "uri": "https://a.org"}, {}]}),
        [Citation("https://a.org", None, None, 0, 5)],
    ),
    (
        CohereFold,
        cohere({"type": "document", "id": "d", "document": SOURCE}, {"type": "tool", "id": "t:0"}),
        [Citation("https://a.org", "A", None, 6, 7), Citation(None, "t:0", None, 6, 7)],
    ),
    (
        ConverseFold,
        bedrock(title="D", sourceContent=[{"text": "fo"}, {"text": "ur"}]),
        [Citation(None, "D", "four")],
    ),
    (
        ConverseFold,
        bedrock(location={"web": {"url": "https://a.org"}}),
        [Citation("https://a.org")],
    ),
]


def reply_of(fold: Callable[[], Fold], body: Json) -> ChatReply:
    """The reply of an answer in one body."""
    return fed(json.dumps(body).encode(), lambda: Answer(fold(), "h", redact=str))[1]


@pytest.mark.parametrize(("fold", "body", "citations"), CITED)
def test_sources_are_parts_of_the_message(
    fold: Callable[[], Fold], body: Json, citations: Sequence[Citation]
) -> None:
    """Behind the text, in one form for all."""
    message = reply_of(fold, body).message
    assert message.content == (TextContent(SAID), *citations)
    assert (message.citations, message.text) == (tuple(citations), SAID)
    assert ChatMessage.from_dict(message.to_dict()) == message


TO_THE_WIRE: Mapping[str, Callable[[list[ChatMessage]], Iterable[object]]] = {
    "anthropic": to_anthropic,
    "bedrock": to_bedrock,
    "cohere": to_cohere,
    "gemini": to_gemini,
    "ollama": to_ollama,
    "openai": to_openai,
    "responses": wire_items,
}


@pytest.mark.parametrize("name", TO_THE_WIRE)
def test_sources_are_sent_to_no_provider_as_parts(name: str) -> None:
    """Its own has them in what belongs to the text; another has no use for them."""
    said = ChatMessage(ChatRole.ASSISTANT, (TextContent(SAID), A))
    write = TO_THE_WIRE[name]
    assert [*write([said])] == [*write([ChatMessage.from_assistant(SAID)])]
    assert PublicCitation is Citation


def test_the_own_sources_of_a_provider_go_back_to_it() -> None:
    """Unchanged, where it wants them."""
    message = reply_of(MessageFold, anthropic(OF_ANTHROPIC)).message
    wire = json.loads(json.dumps(to_anthropic([message])))
    assert wire[0]["content"] == anthropic(OF_ANTHROPIC)["content"]


def test_sources_come_in_streams_too() -> None:
    """In any of their pieces."""
    stream = events(
        {"choices": [{"delta": {"content": SAID}}]},
        {"choices": [{"delta": {"annotations": [NESTED]}, "finish_reason": "stop"}]},
    )
    reply = fed(stream, lambda: Answer(ChatFold(), "h", redact=str))[1]
    assert reply.message.citations == (Citation("https://a.org", "A", None, 0, 5),)


@pytest.mark.parametrize(("fold", "body", "citations"), CITED)
def test_sources_are_told_in_a_piece_before_the_end(
    fold: Callable[[], Fold], body: Json, citations: Sequence[Citation]
) -> None:
    """Those that a provider names beside its text come before the reason to end, and once."""
    pieces, _ = fed(json.dumps(body).encode(), lambda: Answer(fold(), "h", redact=str))
    assert [cited for piece in pieces for cited in piece.citations] == [*citations]
    assert pieces[-1].finish_reason == "stop"


CITED_ANTHROPIC = {"type": "citations_delta", "citation": OF_ANTHROPIC}
OF_BEDROCK = {"title": "D", "sourceContent": [{"text": "four"}]}
TOLD_AT_ONCE: Mapping[str, tuple[Callable[[], Fold], Sequence[Json], Citation]] = {
    "anthropic": (
        MessageFold,
        [
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
            {"type": "content_block_delta", "index": 0, "delta": CITED_ANTHROPIC},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": SAID},
            },
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        ],
        Citation("https://a.org", "A", "four"),
    ),
    "bedrock": (
        ConverseFold,
        [
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"citation": OF_BEDROCK}}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": SAID}}},
            {"messageStop": {"stopReason": "end_turn"}},
        ],
        Citation(None, "D", "four"),
    ),
    "cohere": (
        CohereFold,
        [
            {"delta": {"message": {"citations": {"start": 0, "end": 2, "sources": [SOURCE]}}}},
            {"delta": {"message": {"content": {"text": SAID}}}},
            {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
        ],
        Citation("https://a.org", "A", None, 0, 2),
    ),
    "openai": (
        ChatFold,
        [
            {"choices": [{"delta": {"annotations": [NESTED]}}]},
            {"choices": [{"delta": {"content": SAID}}]},
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        ],
        Citation("https://a.org", "A", None, 0, 5),
    ),
    "responses": (
        ResponseFold,
        [
            {"type": "response.output_text.annotation.added", "annotation": URL},
            {"type": "response.output_text.annotation.added", "annotation": None},
            {"type": "response.output_text.delta", "output_index": 0, "delta": SAID},
            {"type": "response.completed", "response": responses(annotations=[URL])},
        ],
        Citation("https://a.org", "A", None, 0, 5),
    ),
}


@pytest.mark.parametrize("name", TOLD_AT_ONCE)
def test_a_source_that_a_stream_tells_as_it_comes_is_shown_at_once(name: str) -> None:
    """Before the text that follows it; the end does not tell it again."""
    fold, values, wanted = TOLD_AT_ONCE[name]
    data = "".join(f"{json.dumps(value)}\n" for value in values).encode()
    pieces, reply = fed(data, lambda: Answer(fold(), "h", redact=str))
    shown = [(piece.citations, piece.content) for piece in pieces]
    assert [one for one in shown if any(one)] == [((wanted,), ""), ((), SAID)]
    assert reply.message.citations == (wanted,)


NAMED = {  # how many sources, in records that name them
    ("anthropic", "f410aac52a9e26e4"),
    ("bedrock_converse", "cedaeb62cec1b393"),
    ("bedrock_converse", "e39f81c6886efaed"),
    ("cohere", "d4c6c0b8b44bcd89"),
    ("gemini", "c12236fadee35b2a"),
    ("openai_chat", "37e75603f4f692d4"),
    ("openai_compatible", "c826a47e5a63149d"),
    ("openai_responses", "417d8ac435bf1d6f"),
    ("openrouter", "2c7174ddd13d92a4"),
}


@needs_records
@pytest.mark.parametrize(("name", "record_id"), sorted(NAMED))
def test_sources_are_found_in_recorded_answers(name: str, record_id: str) -> None:
    """Each has a title or an address."""
    record = next(one for one in records(name) if one["id"] == record_id)
    _, reply = decoded(record, READERS[name])
    assert isinstance(reply, ChatReply)
    assert reply.message.citations
    assert all(cited.url or cited.title for cited in reply.message.citations)


TOKEN = {"token": "4", "logprob": -0.5, "top_logprobs": [{"token": "5", "logprob": -1.5}]}
LIKELY = {
    "chosenCandidates": [{"token": "4", "logProbability": -0.5}],
    "topCandidates": [{"candidates": [{"token": "5", "logProbability": -1.5}]}],
}
LIKELIHOODS: list[tuple[Callable[[], Fold], Json]] = [
    (ResponseFold, responses(logprobs=[TOKEN])),
    (GenerateFold, gemini(logprobsResult=LIKELY)),
    (
        ChatFold,
        {
            "choices": [
                {
                    "message": {"content": "4"},
                    "finish_reason": "stop",
                    "logprobs": {"content": [TOKEN], "refusal": None},
                }
            ]
        },
    ),
]


@pytest.mark.parametrize(("fold", "body"), LIKELIHOODS)
def test_how_likely_each_token_was_is_in_the_reply(fold: Callable[[], Fold], body: Json) -> None:
    """Where it was asked for, in one form for all."""
    assert reply_of(fold, body).logprobs == (TokenLogprob("4", -0.5, (("5", -1.5),)),)


def test_tokens_come_in_streams_too() -> None:
    """A piece has those of its own text."""
    pieces = [
        {"choices": [{"delta": {"content": text}, "logprobs": {"content": [TOKEN]}}]}
        for text in "44"
    ]
    end: Json = {"choices": [{"delta": {}, "logprobs": None, "finish_reason": "stop"}]}
    reply = fed(events(*pieces, end), lambda: Answer(ChatFold(), "h", redact=str))[1]
    assert [token.token for token in reply.logprobs] == ["4", "4"]
