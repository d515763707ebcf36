"""What holds for the answers of every provider, whatever their form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.chat.replies import FailureCause
from tests.adapters.providers.anthropic.test_decode import CODEC as ANTHROPIC
from tests.adapters.providers.bedrock.test_decode import CODEC as BEDROCK
from tests.adapters.providers.cohere.test_decode import CODEC as COHERE
from tests.adapters.providers.gemini.test_decode import CODEC as GEMINI
from tests.adapters.providers.http.folds import Codec, failure_of, fed, outcome
from tests.adapters.providers.ollama.test_decode import CODEC as OLLAMA
from tests.adapters.providers.openai.test_decode import CODEC as OPENAI
from tests.adapters.providers.openai_responses.test_decode import CODEC as RESPONSES

CODECS: Mapping[str, Codec] = {
    "anthropic": ANTHROPIC,
    "bedrock": BEDROCK,
    "cohere": COHERE,
    "gemini": GEMINI,
    "ollama": OLLAMA,
    "openai": OPENAI,
    "openai_responses": RESPONSES,
}
LINE_ENDS = {"bedrock": [b"\n"], "ollama": [b"\n", b"\r\n", b"\n\n"]}
"""Of the APIs whose streams are no server-sent events."""


@pytest.mark.parametrize(
    ("name", "data", "cause", "retryable"),
    [(name, *failure) for name, codec in CODECS.items() for failure in codec.failures],
)
def test_an_answer_that_is_none_is_a_typed_failure(
    name: str, data: bytes, cause: FailureCause, *, retryable: bool
) -> None:
    """Errors under status 200, broken streams and other shapes."""
    failure = failure_of(data, CODECS[name].answer)
    assert (failure.cause, failure.retryable) == (cause, retryable)


@pytest.mark.parametrize("name", CODECS)
@given(data=st.data())
def test_cutting_a_stream_changes_nothing(name: str, data: st.DataObject) -> None:
    """The same pieces and the same reply, wherever the network cuts."""
    codec = CODECS[name]
    size = data.draw(st.integers(1, len(codec.talk)))
    end = data.draw(st.sampled_from(LINE_ENDS.get(name, [b"\n", b"\r\n", b"\r"])))
    talk = codec.talk.replace(b"\n", end)
    assert fed(talk, codec.answer, size=size) == fed(codec.talk, codec.answer)


def values(members: str) -> st.SearchStrategy[Any]:
    """JSON of any shape, with the names that mean something."""
    names = st.sampled_from(members.split())
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | names,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3),
        max_leaves=12,
    )


@pytest.mark.parametrize("name", CODECS)
@given(data=st.data())
def test_no_json_does_more_harm_than_to_be_refused(name: str, data: st.DataObject) -> None:
    """Values of any shape, anywhere in a stream, give a reply or a typed failure."""
    codec = CODECS[name]
    streams = codec.strange(data.draw(values(codec.members)))
    outcome(data.draw(st.sampled_from(streams)), codec.answer)


CALL = '{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"x\\":1e999}"}}'
WHOLE: Mapping[str, str] = {
    "anthropic": '{"type":"message","role":"assistant","stop_reason":"tool_use","content":'
    '[{"type":"tool_use","id":"c","name":"f","input":{"x":1e999}}]}',
    "bedrock": '{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"c",'
    '"name":"f","input":{"x":1e999}}}]}},"stopReason":"tool_use"}',
    "cohere": '{"message":{"role":"assistant","tool_calls":['
    + CALL
    + ']},"finish_reason":"TOOL_CALL"}',
    "gemini": '{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f",'
    '"args":{"x":1e999}}}]},"finishReason":"STOP"}]}',
    "ollama": '{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f",'
    '"arguments":{"x":1e999}}}]},"done":true,"done_reason":"stop"}',
    "openai": '{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":['
    + CALL
    + ']},"finish_reason":"tool_calls"}]}',
    "openai_responses": '{"object":"response","status":"completed","output":[{"type":'
    '"function_call","call_id":"c","name":"f","arguments":"{\\"x\\":1e999}"}]}',
}
"""An answer in one body, with a call whose argument is a number beyond all floats."""


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
@pytest.mark.parametrize("name", CODECS)
def test_arguments_with_a_number_that_json_has_not_are_unreadable(name: str, number: str) -> None:
    """Stored as infinite they could never be sent again, and nothing of the conversation either."""
    body = WHOLE[name].replace("1e999", number).encode()
    _, reply = fed(body, CODECS[name].answer)
    (call,) = reply.message.tool_calls
    assert (call.arguments, call.tool_name) == ({}, "f")
    assert call.unreadable is not None


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("anthropic", '"name":"f"', '"name":"f","caller":1e999'),
        ("gemini", '"functionCall"', '"thoughtSignature":1e999,"functionCall"'),
        ("openai_responses", '"call_id"', '"index":1e999,"call_id"'),
    ],
)
def test_what_is_to_be_sent_back_and_has_no_json_is_no_answer(
    name: str, before: str, after: str
) -> None:
    """A failure of this one call, which may be made once more, and not of all that would follow."""
    body = WHOLE[name].replace("1e999", "1").replace(before, after, 1).encode()
    assert failure_of(body, CODECS[name].answer).cause == "bad_response"
