"""What can be asked of each provider: the one table of the documentation and of `detent models`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from attrs import field, frozen

ThinkingWords = Literal["levels", "tokens", "on or off", ""]
Caching = Literal["by itself", "prompt_cache=", ""]


@frozen(kw_only=True)
class Capabilities:
    """What a provider's API takes and gives; whether a model of it can is another matter.

    Attributes:
        tools: whether models are told of functions that they may call.
        schema: whether a `response_format` with a JSON Schema is sent.
        images: whether images in a user's message are sent.
        thinking: in which words it is told how much to think.
        caching: how the beginning of a conversation is kept for the next request.
        recorded: whether its answers are read as expected in recorded traffic; what was not
            recorded follows its documentation. None was called live.
    """

    tools: bool = True
    schema: bool = True
    images: bool = True
    thinking: ThinkingWords = "levels"
    caching: Caching = "by itself"
    recorded: bool = field(default=True)

    def words(self) -> Iterator[str]:
        """What can be asked, in a word each."""
        yield "streams"
        for word, is_there in (
            ("tools", self.tools),
            ("JSON Schema", self.schema),
            ("images", self.images),
            (f"thinking ({self.thinking})", self.thinking),
            (f"caching ({self.caching})", self.caching),
        ):
            if is_there:
                yield word


CAPABILITIES: Mapping[str, Capabilities] = {
    "anthropic": Capabilities(thinking="tokens", caching="prompt_cache="),
    "azure": Capabilities(),
    "bedrock": Capabilities(caching="prompt_cache="),
    "bedrock-anthropic": Capabilities(thinking="tokens", caching="prompt_cache=", recorded=False),
    "cerebras": Capabilities(images=False),
    "cohere": Capabilities(thinking="tokens", caching=""),
    "deepseek": Capabilities(images=False, thinking="on or off"),
    "fireworks": Capabilities(),
    "gemini": Capabilities(thinking="tokens"),
    "github": Capabilities(caching="", recorded=False),
    "groq": Capabilities(),
    "huggingface": Capabilities(caching=""),
    "litellm": Capabilities(),
    "llamacpp": Capabilities(thinking="on or off"),
    "mistral": Capabilities(),
    "moonshot": Capabilities(thinking="on or off"),
    "ollama": Capabilities(),
    "ollama-v1": Capabilities(),
    "openai": Capabilities(),
    "openai-responses": Capabilities(),
    "openrouter": Capabilities(thinking="tokens"),
    "perplexity": Capabilities(tools=False, caching=""),
    "snowflake": Capabilities(),
    "together": Capabilities(),
    "vercel": Capabilities(thinking="tokens"),
    "vertex": Capabilities(thinking="tokens"),
    "vertex-anthropic": Capabilities(thinking="tokens", caching="prompt_cache=", recorded=False),
    "vllm": Capabilities(thinking="on or off", recorded=False),
    "xai": Capabilities(),
    "zai": Capabilities(thinking="on or off"),
}
"""By the names of the providers."""
