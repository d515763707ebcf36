"""Claude in the clouds of Google and Amazon, through Anthropic's own API there.

Source: https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai and
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Unpack
from urllib.parse import quote

from attrs import evolve

from detent.adapters.providers.anthropic.decode import MessageFold
from detent.adapters.providers.anthropic.encode import CacheTime, request_body
from detent.adapters.providers.bedrock.chat import AccessKey, BedrockChatGenerator
from detent.adapters.providers.bedrock.payloads import ConversePayloads
from detent.adapters.providers.bedrock.profiles import AwsProfile
from detent.adapters.providers.gemini.chat import vertex
from detent.adapters.providers.http.adapter import (
    ChatRequest,
    HttpApi,
    HttpChatGenerator,
    HttpOptions,
    Secret,
    below,
)
from detent.adapters.providers.meaning.server_tools import for_claude_on_vertex

ON_VERTEX = "vertex-2023-10-16"
ON_BEDROCK = "bedrock-2023-05-31"


class VertexAnthropicChatGenerator(HttpChatGenerator):
    """Answers conversations through Claude on Vertex AI, blocking or as a coroutine.

    Args:
        model: the model's name there, such as ``claude-sonnet-4-5@20250929``.
        project: by default the environment's GOOGLE_CLOUD_PROJECT.
        location: by default the environment's GOOGLE_CLOUD_LOCATION, then ``global``.
        api_key: an access token, by default the environment's GOOGLE_OAUTH_ACCESS_TOKEN; tokens
            expire, so best a `Secret` made from a function.
        api_base_url: another server, up to ``/publishers/anthropic``.
        prompt_cache: as for `AnthropicChatGenerator`.
        options: see `HttpOptions`, and `AnthropicChatGenerator` for `generation_kwargs`.

    Raises:
        ValueError: there is no project, or `api_base_url` is no HTTP URL.
    """

    def __init__(
        self,
        model: str,
        *,
        project: str | None = None,
        location: str | None = None,
        api_key: str | Secret | None = None,
        api_base_url: str | None = None,
        prompt_cache: CacheTime | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        named = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
        if not named:
            raise ValueError("Vertex AI needs project=, or GOOGLE_CLOUD_PROJECT to be set")
        place = location or os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
        api = HttpApi(
            vertex(named, place, publisher="anthropic"),
            f"/models/{quote(model)}:",
            partial(_body, version=ON_VERTEX, prompt_cache=prompt_cache),
            lambda _: MessageFold(),
            server_tool=for_claude_on_vertex,
        )
        super().__init__(model, api, api_base_url=api_base_url, api_key=api_key, **options)

    def _url(self, *, stream: bool) -> str:
        verb = "streamRawPredict" if stream else "rawPredict"
        return below(self._base_url, f"{self.api.path}{verb}")


class BedrockAnthropicChatGenerator(BedrockChatGenerator):
    """Answers conversations through Claude on Bedrock in Anthropic's own words, not Converse's.

    What Anthropic has and Converse has not can so be asked for. Betas are named by
    ``anthropic_beta`` in `generation_kwargs`, which are those of `AnthropicChatGenerator`.

    Args:
        model: the id or ARN of a model or an inference profile.
        region: as for `BedrockChatGenerator`, like the others.
        access_key: signs the requests.
        api_key: an API key of Bedrock, sent in place of a signature.
        api_base_url: where ``/model`` is.
        prompt_cache: as for `AnthropicChatGenerator`.
        options: see `HttpOptions`.

    Raises:
        ValueError: no region is given, or `api_base_url` is no HTTP URL.
    """

    def __init__(
        self,
        model: str,
        *,
        region: str | None = None,
        access_key: AccessKey | AwsProfile | None = None,
        api_key: str | Secret | None = None,
        api_base_url: str | None = None,
        prompt_cache: CacheTime | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(
            model,
            region=region,
            access_key=access_key,
            api_key=api_key,
            api_base_url=api_base_url,
            **options,
        )
        self.api = HttpApi(
            self.api.endpoint,
            f"/model/{quote(model, safe='')}/invoke",
            partial(_body, version=ON_BEDROCK, prompt_cache=prompt_cache),
            lambda _: MessageFold(),
            MessagePayloads,
        )

    def _url(self, *, stream: bool) -> str:
        return below(self._base_url, self.api.path + ("-with-response-stream" if stream else ""))


class MessagePayloads(ConversePayloads):
    """Takes Anthropic's events out of the chunks of Bedrock's event stream."""

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        """The values that are complete with `data`; take them all before feeding more.

        Raises:
            EventStreamError: the stream is broken.
            ValueError: an event, or the body, is not JSON.
        """
        for value in super().feed(data):
            chunk = value.get("chunk")
            yield json.loads(b64decode(chunk["bytes"])) if isinstance(chunk, Mapping) else value


def _body(request: ChatRequest, *, version: str, prompt_cache: CacheTime | None) -> bytes:
    """The body of a request: the address names the model and, on Bedrock, asks for a stream."""
    own: dict[str, object] = {"model": None, "anthropic_version": version}
    stream = request.stream and version == ON_VERTEX
    cloud_request = evolve(request, options={**request.options, **own}, stream=stream)
    return request_body(cloud_request, prompt_cache=prompt_cache)
