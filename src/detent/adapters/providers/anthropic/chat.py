"""The chat generator for Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Unpack

from detent.adapters.providers.anthropic.decode import MessageFold
from detent.adapters.providers.anthropic.encode import CacheTime, request_body
from detent.adapters.providers.http.adapter import (
    Endpoint,
    HttpApi,
    HttpChatGenerator,
    HttpOptions,
    Secret,
)
from detent.adapters.providers.http.api import TokenCount
from detent.adapters.providers.http.counting import counted_members
from detent.adapters.providers.http.listing import ModelList
from detent.adapters.providers.meaning.server_tools import (
    CodeExecution,
    ComputerUse,
    ServerTool,
    computer_version,
    for_claude,
)

ENDPOINT = Endpoint(
    "https://api.anthropic.com",
    ("ANTHROPIC_API_KEY",),
    "ANTHROPIC_BASE_URL",
    key_header=("x-api-key", ""),
)
COUNTED = counted_members({"messages", "model", "system", "thinking", "tool_choice", "tools"})
VERSION = "2023-06-01"
CODE_EXECUTION = "code-execution-2025-08-25"
BEFORE_SCHEMAS = re.compile(r"claude-(?:instant|2|3|(?:opus|sonnet)-4(?:-0|-2025|$))")
"""The models that came before `output_config`.

Source: https://docs.claude.com/en/docs/build-with-claude/structured-outputs
"""


def _betas(model: str, tools: Iterable[ServerTool]) -> Iterator[str]:
    """The betas that these tools are."""
    kinds = {type(tool) for tool in tools}
    yield from (CODE_EXECUTION,) if CodeExecution in kinds else ()
    yield from (computer_version(model)[1],) if ComputerUse in kinds else ()


class AnthropicChatGenerator(HttpChatGenerator):
    """Answers conversations through Anthropic's Messages API, blocking or as a coroutine.

    Args:
        model: the model's name.
        api_base_url: where ``/v1/messages`` is. By default the environment's ANTHROPIC_BASE_URL,
            then Anthropic.
        api_key: the key, best as a `Secret`. By default the environment's ANTHROPIC_API_KEY, which
            goes to Anthropic and the environment's server, not to one that `api_base_url` names.
        prompt_cache: have the instructions and the conversation kept in the provider's cache, for
            five minutes or an hour after each use. By default nothing is kept.
        options: see `HttpOptions`. `generation_kwargs` are members of the request, as the API names
            them (`max_tokens`, 8192 by default, `thinking`, `temperature` …) or, where they mean
            the same, Chat Completions does (`stop`, `tool_choice`, `response_format` …). `tools`
            are tools that run at Anthropic. Betas are asked for by
            ``headers={"anthropic-beta": …}``; those of `CodeExecution` and
            `ComputerUse` are asked for where none is.

    Raises:
        ValueError: `api_base_url` is no HTTP URL.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        prompt_cache: CacheTime | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        headers = {"anthropic-version": VERSION, **(options.get("headers") or {})}
        if betas := ",".join(_betas(model, options.get("server_tools", ()))):
            headers.setdefault("anthropic-beta", betas)
        options["headers"] = headers
        api = HttpApi(
            ENDPOINT,
            "/v1/messages",
            partial(request_body, prompt_cache=prompt_cache),
            lambda _: MessageFold(),
            count=TokenCount("/v1/messages/count_tokens", COUNTED, "input_tokens"),
            server_tool=partial(for_claude, model=model),
            listing=ModelList("/v1/models", query="limit=1000"),
            schema_mode="never" if BEFORE_SCHEMAS.match(model) else "always",
        )
        super().__init__(model, api, api_base_url=api_base_url, api_key=api_key, **options)
