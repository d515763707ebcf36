"""Recorded answers written otherwise: what means the same is read the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import pytest
from attrs import frozen
from returns.result import Failure

from detent.adapters.providers.meaning.parts import without
from detent.core.chat.replies import ChatReply, ModelFailure
from tests.adapters.providers.http.generators import READERS
from tests.adapters.providers.http.recorded import (
    Reader,
    Record,
    body_of,
    decoded,
    needs_records,
    records,
)
from tests.adapters.providers.openai.recorded import PROFILES

pytestmark = needs_records

Json: TypeAlias = Any
Rewrite: TypeAlias = Callable[["Told"], bytes]

# Streams of Bedrock are not text.
TEXTUAL = [name for name in READERS if name != "bedrock_converse"]
# What stands below these is the user's: a member more would be another meaning.
ARGUMENTS = {"arguments", "args", "input", "json", "partialArgs", "parameters", "response"}
FUTURE: dict[str, Json] = {
    "zz_object": {"a": [1, None]},
    "zz_null": None,
    "zz_text": "",
    "zz_list": [],
}
OPTIONAL = ("id", "index", "model", "name", "object", "output_index", "role", "usage")
STRANGE: Mapping[str, Sequence[Json]] = {
    "anthropic": ({"type": "zz_event", "index": 0, "delta": {}}, {"type": "ping"}, {}),
    "cohere": ({"type": "zz-event", "index": 7, "delta": {}}, {}),
    "gemini": ({"candidates": []}, {"zz": 1}),
    "openai_responses": ({"type": "response.zz.delta", "delta": "a"}, {"type": "keepalive"}, {}),
}


@frozen
class Told:
    """A recorded answer: its values, and whether they came as events."""

    name: str
    values: tuple[Json, ...]
    is_stream: bool

    def written(
        self, values: Sequence[Json], before: str = "data: ", end: str = "\n", between: str = ""
    ) -> bytes:
        """Other values, framed as these were."""
        if not self.is_stream:
            return "\n".join(map(json.dumps, values)).encode()
        lines = (value if isinstance(value, str) else json.dumps(value) for value in values)
        return "".join(f"{between}{before}{line}{end}{end}" for line in lines).encode()


def told(name: str, record: Record) -> Told:
    """The answer in a record; what is no JSON in it (an end mark) stays a text."""
    body = record["response_body"]
    if not isinstance(body, str):
        return Told(name, (body,), is_stream=False)
    if not re.match(r"\s*(data|event|id|:)", body):
        whole = [body] if body.startswith("[") else filter(str.strip, body.splitlines())
        return Told(name, tuple(map(json.loads, whole)), is_stream=False)
    events = re.split(r"\r?\n\r?\n", body)
    data = ("\n".join(re.findall(r"^data: ?(.*?)\r?$", event, re.MULTILINE)) for event in events)
    return Told(name, tuple(map(value_of, filter(None, data))), is_stream=True)


def value_of(text: str) -> Json:
    """JSON, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def changed(value: Json, change: Callable[[dict[str, Json]], dict[str, Json]]) -> Json:
    """A value with every object of the protocol changed."""
    if isinstance(value, list):
        return [changed(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {
        name: item if name in ARGUMENTS else changed(item, change) for name, item in value.items()
    }
    return change(inner)


def another_choice(value: Json) -> Json:
    """A value with one more choice, which is not the first one, before the others."""
    if not isinstance(value, dict) or not value.get("choices"):
        return value
    other = {"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}
    return value | {"choices": [other, *value["choices"]]}


def with_nulls(members: dict[str, Json]) -> dict[str, Json]:
    """An object in which everything that a delta of Chat Completions may hold is there."""
    names = ("content", "refusal", "tool_calls", "reasoning", "reasoning_content", "audio")
    if "delta" not in members or not isinstance(members["delta"], dict):
        return members
    return members | {"delta": dict.fromkeys(names) | members["delta"]}


REWRITES: Mapping[str, Rewrite] = {
    "members in another order": lambda one: one.written(
        changed(list(one.values), lambda members: dict(reversed(members.items())))
    ),
    "CRLF": lambda one: one.written(one.values, end="\r\n"),
    "CR": lambda one: one.written(one.values, end="\r"),
    "no space": lambda one: one.written(one.values, before="data:"),
    "other fields": lambda one: one.written(one.values, before="id: 7\nevent: zz\nzz: 1\ndata: "),
    "comments": lambda one: one.written(one.values, between=": waiting\n\n:\n"),
    "byte order mark": lambda one: b"\xef\xbb\xbf" + one.written(one.values),
    "no end": lambda one: one.written(one.values).rstrip(),
    "strange events": lambda one: one.written(
        [event for value in one.values for event in (*STRANGE.get(one.name, [{}]), value)]
        if one.is_stream
        else one.values
    ),
    "usage twice": lambda one: one.written(
        [
            again
            for value in one.values
            for again in ([value, value | {"choices": []}] if repeatable(one, value) else [value])
        ]
    ),
    "several choices": lambda one: one.written(
        [*map(another_choice, one.values)] if one.name in PROFILES else one.values
    ),
    "nulls": lambda one: one.written(changed(list(one.values), with_nulls)),
}


def repeatable(one: Told, value: Json) -> bool:
    """Whether usage stands in a value of a stream of Chat Completions."""
    return (
        one.is_stream
        and one.name in PROFILES
        and bool(isinstance(value, dict) and value.get("usage"))
    )


@frozen
class Meaning:
    """What counts of a reply."""

    content: object
    reason: str
    usage: object


def meaning(result: ChatReply | ModelFailure) -> Meaning:
    """What a result means, which must be a reply."""
    assert isinstance(result, ChatReply), result
    return Meaning(result.message.content, result.finish_reason, result.usage)


def at_one_go(data: bytes, seed: str) -> Iterator[bytes]:
    """Not cut at all: other tests cut."""
    yield data


def read_again(record: Record, data: bytes, name: str) -> Meaning:
    """What a record means that was rewritten as `data`."""
    again = record | {"response_body": data.decode()}
    return meaning(decoded(again, READERS[name], at_one_go)[1])


@cache
def answers(name: str) -> Sequence[tuple[Record, Told, Meaning]]:
    """The records of a file that are answers, taken apart, and what they mean."""
    results = ((record, decoded(record, READERS[name])[1]) for record in records(name))
    return [
        (record, told(name, record), meaning(result))
        for record, result in results
        if isinstance(result, ChatReply)
    ]


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize("name", TEXTUAL)
def test_an_answer_written_otherwise_means_the_same(name: str, rewrite: str) -> None:
    """Other framing, other order, more than we know of, and what stands for nothing."""
    for record, one, wanted in answers(name):
        assert read_again(record, REWRITES[rewrite](one), name) == wanted, record["id"]


@pytest.mark.parametrize("name", TEXTUAL)
def test_members_that_nobody_knows_are_not_fatal(name: str) -> None:
    """Reason and usage are what they were; a part may keep what is new about it."""
    for record, one, wanted in answers(name):
        data = one.written(changed(list(one.values), lambda members: FUTURE | members | FUTURE))
        got = read_again(record, data, name)
        assert (got.reason, got.usage) == (wanted.reason, wanted.usage), record["id"]


@pytest.mark.parametrize("missing", OPTIONAL)
@pytest.mark.parametrize("name", TEXTUAL)
def test_a_member_that_is_missing_is_not_fatal(name: str, missing: str) -> None:
    """Gateways leave out much; what can still be read is an answer."""
    for record, one, wanted in answers(name):
        values = list(one.values)
        absent = changed(values, lambda members: without(members, missing))
        null = changed(values, lambda members: members | {missing: None})
        for given in (absent, null):
            got = read_again(record, one.written(given), name)
            # Work in the background that has no name can never be fetched: it does not go on.
            reason = "other" if (missing, wanted.reason) == ("id", "paused") else wanted.reason
            assert got.reason == reason, record["id"]


BROKEN = ModelFailure("cut_stream", "the connection broke")
UNMARKED = {  # streams in which what looks like the end is not always the end
    "2c61028f568037ba",  # fifteen answers, each with its own
    "da455697c261ac36",  # a reason to end after each call
}


@pytest.mark.parametrize("name", READERS)
def test_a_stream_that_breaks_is_whole_or_has_failed(name: str) -> None:
    """Wherever it breaks: never is a part of an answer taken for the whole of it."""
    reader = READERS[name]
    streams = [one for one in records(name) if one["stream"] and one["id"] not in UNMARKED]
    for record in streams:
        whole = decoded(record, reader, at_one_go)[1]
        if isinstance(whole, ModelFailure):
            continue
        data = body_of(record)
        for length in (*range(0, len(data), len(data) // 23 + 1), len(data)):
            content = content_until(length, data, reader)
            assert content == whole.message.content or (content is None and length < len(data))


def content_until(length: int, data: bytes, reader: Reader) -> object:
    """What a stream says that breaks after so many bytes; None where its end had not come."""
    made = reader.answer()
    made.begin(200, {})
    list(made.feed(data[:length]))
    made.break_off(BROKEN)
    ending = made.finish()
    if isinstance(ending, Failure):
        return None if ending.failure() == BROKEN else ending
    reply = ending.unwrap()[1]
    return None if reply.finish_reason == "paused" else reply.message.content
