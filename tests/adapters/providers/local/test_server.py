"""The local model over HTTP, with OpenAI's API."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from detent.adapters.providers.local.server import local_server

BODY = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8, "temperature": 0}


def text_of(answer: Any) -> str:
    """The text of a whole answer."""
    return str(answer["choices"][0]["message"]["content"])


def streamed(response: httpx.Response) -> str:
    """The text of a streamed answer."""
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line]
    assert lines[-1] == "[DONE]"
    deltas = [json.loads(line)["choices"][0]["delta"] for line in lines[:-1]]
    return "".join(delta.get("content") or "" for delta in deltas)


@pytest.mark.model
def test_the_server_speaks_openais_api(tiny_model: str) -> None:
    """Whole, streamed and held to a schema; when the block ends it is gone."""
    schema = {"type": "object", "properties": {"n": {"enum": [1]}}, "required": ["n"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    with local_server(tiny_model, n_ctx=512) as url:
        whole = httpx.post(f"{url}/chat/completions", json=BODY, timeout=60).json()
        parts = httpx.post(f"{url}/chat/completions", json=BODY | {"stream": True}, timeout=60)
        body = BODY | {"response_format": wanted}
        held = httpx.post(f"{url}/chat/completions", json=body, timeout=60).json()
    assert streamed(parts) == text_of(whole) != ""
    assert whole["usage"]["completion_tokens"] <= 8
    assert text_of(held).startswith("{")
    assert url.startswith("http://127.0.0.1:")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models")


@pytest.mark.model
def test_a_server_with_a_key_answers_only_who_has_it(tiny_model: str) -> None:
    """As a bearer token."""
    with local_server(tiny_model, n_ctx=512, api_key="open sesame") as url:
        refused = httpx.post(f"{url}/chat/completions", json=BODY)
        headers = {"authorization": "Bearer open sesame"}
        let_in = httpx.post(f"{url}/chat/completions", json=BODY, headers=headers, timeout=60)
    assert (refused.status_code, let_in.status_code) == (401, 200)
