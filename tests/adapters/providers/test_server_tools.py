"""Tools that run at the provider: one way to ask for them, to see them run and to count them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest
from attrs import evolve

from detent import chat_generator
from detent.adapters.providers.meaning.server_tools import (
    NAMES,
    require_server_tools,
    server_tool_data,
    with_labels,
)
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.adapters.providers.registry import PROVIDERS, described, from_description
from detent.core.chat.messages import ChatMessage, Citation, labels_of
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.models import CodeExecution, ComputerUse, FileSearch, ServerTool, WebSearch
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.generators import READERS
from tests.adapters.providers.http.recorded import Record, decoded, needs_records, records
from tests.adapters.providers.test_thinking import NEEDED

HAVE_SOME = {"anthropic", "gemini", "openai-responses", "vertex", "vertex-anthropic"}
DOMAINS = WebSearch(domains=["example.org"])
THREE = WebSearch(max_uses=3)
STORE = FileSearch(["stores/1"])


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)


def request(model: str, *tools: ServerTool, **options: Any) -> httpx.Request:
    """The request that asks for these tools."""
    sent: list[httpx.Request] = []

    def keep(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(400)

    with httpx.Client(transport=httpx.MockTransport(keep)) as client:
        made = chat_generator(model, api_key="k", http_client=client, server_tools=tools, **options)
        with pytest.raises(ChatGeneratorError) as caught:
            made.run([ChatMessage.from_user("Hi")])
    if not sent:
        raise caught.value
    return sent[0]


@pytest.mark.parametrize(
    ("model", "tool", "written"),
    [
        (
            "anthropic:m",
            THREE,
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        ),
        (
            "vertex-anthropic:m",
            DOMAINS,
            {
                "type": "web_search_20250305",
                "name": "web_search",
                "allowed_domains": ["example.org"],
            },
        ),
        (
            "anthropic:m",
            CodeExecution(),
            {"type": "code_execution_20250825", "name": "code_execution"},
        ),
        (
            "openai-responses:m",
            DOMAINS,
            {"type": "web_search", "filters": {"allowed_domains": ["example.org"]}},
        ),
        (
            "openai-responses:m",
            CodeExecution(),
            {"type": "code_interpreter", "container": {"type": "auto"}},
        ),
        (
            "openai-responses:m",
            STORE,
            {"type": "file_search", "vector_store_ids": ["stores/1"]},
        ),
        ("gemini:m", WebSearch(), {"googleSearch": {}}),
        ("vertex:m", CodeExecution(), {"codeExecution": {}}),
        ("gemini:m", STORE, {"fileSearch": {"fileSearchStoreNames": ["stores/1"]}}),
    ],
)
def test_a_tool_is_asked_for_in_the_words_of_the_provider(
    model: str, tool: ServerTool, written: object
) -> None:
    """Beside the tools that are given in its own words."""
    sent = request(model, tool, generation_kwargs={"tools": [{"type": "own"}]})
    assert json.loads(sent.content)["tools"] == [written, {"type": "own"}]


@pytest.mark.parametrize(
    ("model", "tool", "word"),
    [
        ("anthropic:m", STORE, "FileSearch"),
        ("vertex-anthropic:m", CodeExecution(), "CodeExecution"),
        ("openai-responses:m", THREE, "max_tool_calls"),
        ("gemini:m", THREE, "max_uses"),
        ("gemini:m", DOMAINS, "domains"),
        *[
            (f"{name}:m", WebSearch(), "server_tools")
            for name in sorted(PROVIDERS.keys() - HAVE_SOME - {"local"})
        ],
    ],
)
def test_what_a_provider_has_not_is_refused_before_anything_is_sent(
    model: str, tool: ServerTool, word: str
) -> None:
    """The error names it."""
    with pytest.raises(ChatGeneratorError, match=f"cannot be written: .*{word}"):
        request(model, tool)


def test_anthropic_is_asked_for_the_beta_of_code_unless_another_is_named() -> None:
    """As its documentation demands."""
    own = request("anthropic:m", CodeExecution(), headers={"anthropic-beta": "mine"})
    asked = request("anthropic:m", CodeExecution())
    assert own.headers["anthropic-beta"] == "mine"
    assert asked.headers["anthropic-beta"] == "code-execution-2025-08-25"
    assert "anthropic-beta" not in request("anthropic:m", WebSearch()).headers


@pytest.mark.parametrize("wrong", ["web_search", {"type": "web_search"}])
def test_what_is_no_server_tool_is_refused_at_once(wrong: object) -> None:
    """The error says what is one, and where a provider's own go."""
    with pytest.raises(TypeError, match=r"WebSearch, .*generation_kwargs"):
        chat_generator("anthropic:m", server_tools=[wrong])
    with pytest.raises(TypeError, match="list of strings"):
        FileSearch("stores/1")


def test_server_tools_go_through_data_and_back() -> None:
    """With their options."""
    made = chat_generator("anthropic:m", server_tools=[DOMAINS, THREE, CodeExecution(), STORE])
    data = described(made)
    assert json.loads(json.dumps(data["server_tools"])) == [
        {"kind": "web_search", "domains": ["example.org"]},
        {"kind": "web_search", "max_uses": 3},
        {"kind": "code_execution"},
        {"kind": "file_search", "stores": ["stores/1"]},
    ]
    assert described(from_description(json.loads(json.dumps(data)))) == data


@pytest.mark.parametrize(
    "tool", [WebSearch(labels=["web"]), WebSearch(labels=()), FileSearch(["s"], labels=["mail"])]
)
def test_labels_go_through_data_and_back(tool: ServerTool) -> None:
    """Also none, where there would be one."""
    assert require_server_tools(json.loads(json.dumps([server_tool_data(tool)]))) == (tool,)


@pytest.mark.parametrize("wrong", ["untrusted", [""], [1]])
def test_labels_are_texts(wrong: Any) -> None:
    """What is none is refused at once."""
    with pytest.raises(TypeError, match="list of"):
        WebSearch(labels=wrong)


def labels_of_reply(
    name: str, body: Mapping[str, Any], tools: Sequence[ServerTool]
) -> tuple[str, ...]:
    """What an answer brings along into a run."""
    wire = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    with httpx.Client(transport=wire) as client:
        made = chat_generator(name, api_key="k", http_client=client, server_tools=tools)
        return labels_of([made.run([ChatMessage.from_user("Hi")]).message])


@pytest.mark.parametrize(
    ("tools", "labels"),
    [
        ([WebSearch()], ("untrusted",)),
        ([WebSearch(labels=["web"]), CodeExecution(labels=["code"])], ("code", "web")),
        ([WebSearch(labels=["a"]), WebSearch(labels=["b"])], ("a", "b")),
        ([WebSearch(labels=())], ()),
        ([], ("untrusted",)),
    ],
)
@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("anthropic:m", "anthropic"),
        ("openai-responses:m", "openai_responses"),
        ("gemini:m", "gemini"),
    ],
)
def test_what_ran_at_the_provider_labels_the_reply(
    model: str, name: str, tools: Sequence[ServerTool], labels: tuple[str, ...]
) -> None:
    """By the labels of what was asked for; what was asked for in its own words is untrusted."""
    body, used = ANSWERS[name]
    wanted = tuple(label for label in labels if label != "code" or "code_execution" in used)
    assert labels_of_reply(model, body, tools) == wanted


def test_what_did_not_run_labels_nothing() -> None:
    """A tool that may be used is not used yet; nor is a computer of the application one."""
    said = {"type": "message", "content": [{"type": "text", "text": "Hi"}]}
    screen = ComputerUse(width=1, height=1)
    assert labels_of_reply("anthropic:m", said, [WebSearch()]) == ()
    reply = ChatReply(
        ChatMessage.from_assistant("Hi"), extra={"server_tools": {"code_execution": 1}}
    )
    assert with_labels(reply, [screen]) is reply


URL = [Citation("https://a.org")]


@pytest.mark.parametrize(
    ("sources", "extra"),
    [
        (URL, {}),
        ([], {"groundingMetadata": {"groundingChunks": [{}]}}),
        ([], {"urlContextMetadata": {"urlMetadata": [{}]}}),
        (URL, {"server_tools": {"code_execution": 1}}),
    ],
)
def test_what_has_sources_and_does_not_say_by_what_has_them_by_any(
    sources: list[Citation], extra: dict[str, Any]
) -> None:
    """Such as the files of Gemini, and models that search by themselves."""
    message = ChatMessage.from_assistant("Hi", meta={"labels": ["own"]})
    reply = ChatReply(evolve(message, content=[*message.content, *sources]), extra=extra)
    asked = [FileSearch(["s"], labels=["files"])]
    assert labels_of([with_labels(reply, asked).message]) == ("files", "own")
    assert labels_of([with_labels(reply, []).message]) == ("own", "untrusted")


CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
SEARCH_CALL = {"type": "web_search_call", "id": "w", "status": "completed"}
X_SEARCH = {"type": "custom_tool_call", "id": "x", "name": "x_search", "input": "{}"}
COMPUTER = {"type": "computer_call", "id": "c", "status": "completed"}
SERVER_USE = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
BASH_USE = SERVER_USE | {"id": "b", "name": "bash_code_execution"}
ANSWERS: Mapping[str, tuple[Mapping[str, Any], dict[str, int]]] = {
    "anthropic": (
        {"type": "message", "content": [SERVER_USE, BASH_USE], "stop_reason": "end_turn"},
        {"web_search": 1, "code_execution": 1},
    ),
    "openai_responses": (
        {"status": "completed", "output": [SEARCH_CALL, COMPUTER, SEARCH_CALL]},
        {"web_search": 2},
    ),
    "gemini": (
        {
            "candidates": [
                {
                    "content": {"parts": [CODE, RESULT, {"text": "1"}]},
                    "finishReason": "STOP",
                    "groundingMetadata": {"webSearchQueries": ["a", "b"]},
                }
            ]
        },
        {"web_search": 2, "code_execution": 1},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_ran_is_told_and_counted(name: str) -> None:
    """A piece for each as it begins, and how often in the reply; searches of Gemini at the end."""
    body, counted = ANSWERS[name]
    record = {"id": "r", "response_headers": {}, "response_body": body, "status": 200}
    reader = READERS[name]
    pieces, reply = decoded(record, reader)
    assert not isinstance(reply, ModelFailure)
    assert reply.extra["server_tools"] == counted
    shown = Counter(piece.server_tool for piece in pieces if piece.server_tool)
    assert shown == (counted if name != "gemini" else {"code_execution": 1})


def test_a_custom_tool_of_the_provider_is_told_by_its_name() -> None:
    """Such as those of xAI."""
    fold = ResponseFold(())
    pieces = fold.add({"status": "completed", "output": [X_SEARCH]})
    assert not isinstance(pieces, ModelFailure)
    assert [piece.server_tool for piece in pieces] == ["x_search"]
    assert fold.finish(ended=True).unwrap().extra["server_tools"] == {"x_search": 1}


FIFTEEN_ANSWERS = "2c61028f568037ba"
"""A stream of several, of which the last counts."""


def told_by(record: Record) -> list[str]:
    """The kinds of the tools that ran at the provider, as an answer of Anthropic has them."""
    text = record["response_body"]
    if isinstance(text, dict):
        blocks = text.get("content") or ()
    else:
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
        blocks = [json.loads(line).get("content_block") or {} for line in lines]
    names = [str(block.get("name")) for block in blocks if block.get("type") == "server_tool_use"]
    return [NAMES.get(name, name) for name in names]


@needs_records
def test_recorded_answers_tell_every_tool_that_ran() -> None:
    """Streamed or whole; and no other tool is taken for one."""
    seen = 0
    for record in records("anthropic"):
        pieces, reply = decoded(record, READERS["anthropic"])
        if isinstance(reply, ModelFailure) or record["id"] == FIFTEEN_ANSWERS:
            continue
        told = told_by(record)
        seen += len(told)
        assert [piece.server_tool for piece in pieces if piece.server_tool] == told
        assert reply.extra.get("server_tools", {}) == Counter(told)
    assert seen > 5
