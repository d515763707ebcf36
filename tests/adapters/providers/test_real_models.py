"""The guard: where real models are forbidden, none is reached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from detent import Agent, ChatGeneratorError, ChatMessage, OpenAIChatGenerator
from detent.models import LocalChatGenerator
from detent.testing import RealModelForbiddenError, allow_real_models, forbid_real_models

HELLO = [ChatMessage.from_user("hello")]
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}


def openai(url: str = "https://models.test/v1", **options: Any) -> OpenAIChatGenerator:
    """A generator that would reach out."""
    return OpenAIChatGenerator("m", api_key="k", api_base_url=url, **options)


@pytest.mark.parametrize("make", [openai, LocalChatGenerator], ids=["http", "local"])
def test_a_real_model_is_not_reached(make: Callable[[], Any]) -> None:
    """Blocking or not, over HTTP or in this process; the message says what to do."""
    chat = make()
    with forbid_real_models(), pytest.raises(RealModelForbiddenError, match="script the model"):
        chat.run(HELLO)
    with forbid_real_models(), pytest.raises(RealModelForbiddenError, match="allow_real_models"):
        asyncio.run(chat.run_async(HELLO))


def test_an_agent_tells_why() -> None:
    """The error comes through as the cause of the model's failure."""
    with (
        forbid_real_models(),
        pytest.raises(ChatGeneratorError, match=r"at models\.test") as caught,
    ):
        Agent(chat_generator=openai()).run("hello")
    assert isinstance(caught.value.__cause__, RealModelForbiddenError)


def test_a_client_that_reaches_nobody_is_let_pass() -> None:
    """A mock of the transport is no model, whatever the URL."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=ANSWER)

    transport = httpx.MockTransport(answer)
    chat = openai(
        http_client=httpx.Client(transport=transport),
        async_http_client=httpx.AsyncClient(transport=transport),
    )
    with forbid_real_models():
        assert chat.run(HELLO).message.text == "hi"
        assert asyncio.run(chat.run_async(HELLO)).message.text == "hi"


def test_what_is_allowed_is_reached(
    serve: Callable[[Callable[[BaseHTTPRequestHandler], None]], str],
) -> None:
    """All, or the hosts that are named; the innermost block counts."""
    base = serve(lambda handler: handler.send_error(404))
    host = base.removeprefix("http://").removesuffix("/v1")
    chat = openai(base)
    with forbid_real_models():
        for hosts in ((), (host,), ("models.test", host)):
            with allow_real_models(*hosts), pytest.raises(ChatGeneratorError):
                chat.run(HELLO)
        with allow_real_models("models.test"), pytest.raises(RealModelForbiddenError):
            chat.run(HELLO)
        with allow_real_models(), forbid_real_models(), pytest.raises(RealModelForbiddenError):
            chat.run(HELLO)
    with pytest.raises(ChatGeneratorError):
        chat.run(HELLO)
