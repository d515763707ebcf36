"""The chat generator for Google Gemini, on AI Studio and on Vertex AI."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Unpack
from urllib.parse import quote

from attrs import evolve

from detent.adapters.providers.gemini.decode import GenerateFold
from detent.adapters.providers.gemini.encode import request_body
from detent.adapters.providers.http.adapter import (
    Endpoint,
    HttpApi,
    HttpChatGenerator,
    HttpOptions,
    Secret,
    below,
)
from detent.adapters.providers.http.api import TokenCount
from detent.adapters.providers.http.counting import counted_members
from detent.adapters.providers.http.listing import ModelList
from detent.adapters.providers.meaning.server_tools import for_gemini

AI_STUDIO = Endpoint(
    "https://generativelanguage.googleapis.com/v1beta",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "GOOGLE_GEMINI_BASE_URL",
    key_header=("x-goog-api-key", ""),
)
TOKEN_VAR = "GOOGLE_OAUTH_ACCESS_TOKEN"  # noqa: S105 - where a token is, not one


class GeminiChatGenerator(HttpChatGenerator):
    """Answers conversations through Gemini's generateContent, blocking or as a coroutine.

    With a `project` it speaks to Vertex AI, otherwise to AI Studio.

    Args:
        model: the model's name, such as ``gemini-2.5-flash``, or the path of one that you tuned.
        project: the Google Cloud project, for Vertex AI.
        location: where Vertex AI shall run the model. By default the environment's
            GOOGLE_CLOUD_LOCATION, then ``global``.
        api_key: the key of AI Studio, by default the environment's GEMINI_API_KEY or
            GOOGLE_API_KEY. With a `project` an access token, by default the environment's
            GOOGLE_OAUTH_ACCESS_TOKEN; tokens expire, so best a `Secret` made from a function.
        api_base_url: another server than Google's, with the version in its path.
        options: see `HttpOptions`. `generation_kwargs` are ``temperature``, ``max_tokens``,
            ``top_p``, ``stop``, ``seed``, ``tool_choice`` and ``response_format``, which mean the
            same for every provider, and members of the request, as the API names them
            (``generationConfig``, ``safetySettings``, ``cachedContent``, ``tools`` …).

    Raises:
        ValueError: `api_base_url` is no HTTP URL.
    """

    def __init__(
        self,
        model: str,
        *,
        project: str | None = None,
        location: str | None = None,
        api_key: str | Secret | None = None,
        api_base_url: str | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        place = location or os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
        home = vertex(project, place) if project else AI_STUDIO
        path = quote(model if "/" in model else f"models/{model}")
        api = HttpApi(
            home, f"/{path}:", request_body, lambda _: GenerateFold(), schema_mode="without_tools"
        )
        count = TokenCount(
            f"/{path}:countTokens", ON_VERTEX if project else _wrapped(path), "totalTokens"
        )
        listing = None if project else ModelList(query="pageSize=1000", before_name="models/")
        api = evolve(api, count=count, server_tool=for_gemini, listing=listing)
        super().__init__(model, api, api_base_url=api_base_url, api_key=api_key, **options)

    def _url(self, *, stream: bool) -> str:
        if stream:
            return below(self._base_url, f"{self.api.path}streamGenerateContent", "alt=sse")
        return below(self._base_url, f"{self.api.path}generateContent")


ON_VERTEX = counted_members({"contents", "generationConfig", "systemInstruction", "tools"})


def _wrapped(path: str) -> Callable[[bytes], bytes]:
    """Makes the body of a count for AI Studio, which counts a whole request."""

    def body(request: bytes) -> bytes:
        whole = {"model": path, **json.loads(request)}
        return json.dumps({"generateContentRequest": whole}).encode()

    return body


def vertex(project: str, location: str, *, publisher: str = "google") -> Endpoint:
    """The models of a publisher on Vertex AI, of a project at a location.

    Source: https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest
    """
    host = "aiplatform.googleapis.com"
    regional = host if location == "global" else f"{location}-{host}"
    path = f"projects/{quote(project, safe='')}/locations/{quote(location, safe='')}"
    version = "v1beta1" if publisher == "google" else "v1"
    return Endpoint(f"https://{regional}/{version}/{path}/publishers/{publisher}", (TOKEN_VAR,))


def VertexChatGenerator(  # noqa: N802 - it reads like the class that it makes one of
    model: str,
    *,
    project: str | None = None,
    location: str | None = None,
    api_key: str | Secret | None = None,
    **options: Unpack[HttpOptions],
) -> GeminiChatGenerator:
    """A `GeminiChatGenerator` for Vertex AI.

    Its `project` is by default the environment's GOOGLE_CLOUD_PROJECT.

    Raises:
        ValueError: there is no project.
    """
    named = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    if not named:
        raise ValueError("Vertex AI needs project=, or GOOGLE_CLOUD_PROJECT to be set")
    return GeminiChatGenerator(model, project=named, location=location, api_key=api_key, **options)
