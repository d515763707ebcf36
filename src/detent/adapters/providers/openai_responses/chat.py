"""The chat generator for OpenAI's Responses API, and for servers that speak it."""

from __future__ import annotations

from functools import partial
from typing import Unpack

from detent.adapters.providers.http.adapter import (
    Endpoint,
    HttpApi,
    HttpChatGenerator,
    HttpOptions,
    Secret,
)
from detent.adapters.providers.http.api import TokenCount
from detent.adapters.providers.http.calls import custom_tools
from detent.adapters.providers.http.counting import counted_members
from detent.adapters.providers.http.listing import ModelList
from detent.adapters.providers.meaning.server_tools import for_responses
from detent.adapters.providers.openai_responses.computer import has_computer
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.adapters.providers.openai_responses.encode import request_body, under_way

ENDPOINT = Endpoint("https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL")


COUNTED = counted_members(
    {"input", "model", "parallel_tool_calls", "previous_response_id", "reasoning", "text"}
    | {"tool_choice", "tools"}
)


class OpenAIResponsesChatGenerator(HttpChatGenerator):
    """Answers conversations through the Responses API, blocking or as a coroutine.

    By default nothing is stored on the server: the reasoning comes encrypted, is kept in the
    messages, and goes back with them.

    Args:
        model: the model's name.
        api_base_url: where ``/responses`` is; a query is kept. By default the environment's
            OPENAI_BASE_URL, then OpenAI.
        api_key: the key, best as a `Secret`. By default the environment's OPENAI_API_KEY, which
            goes to OpenAI and the environment's server, not to one that `api_base_url` names.
        chained: have the server store the conversation; a request then names the answer before it
            and holds only what is new.
        options: see `HttpOptions`. `generation_kwargs` are members of the request, as the API names
            them (`max_output_tokens`, `reasoning`, `include` …). `max_tokens`, `tool_choice` and
            `response_format` may have the form of Chat Completions, and `tools` are tools that run
            at the server.

    Raises:
        ValueError: `api_base_url` is no HTTP URL.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        chained: bool = False,
        **options: Unpack[HttpOptions],
    ) -> None:
        encode = partial(request_body, chained=chained)
        api = HttpApi(
            ENDPOINT,
            "/responses",
            encode,
            lambda request: ResponseFold(
                custom_tools(request.options), computer=has_computer(request.options)
            ),
            schema_mode="always",
            under_way=under_way,
            count=TokenCount("/responses/input_tokens", COUNTED, "input_tokens"),
            server_tool=partial(for_responses, model=model),
            listing=ModelList(),
        )
        super().__init__(model, api, api_base_url=api_base_url, api_key=api_key, **options)
