"""How servers that speak Chat Completions differ from OpenAI, as data."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

from detent.adapters.providers.http.endpoints import BEARER, Endpoint
from detent.adapters.providers.meaning.thinking import (
    ThinkingMembers,
    as_effort,
    as_reasoning,
    as_switch,
    as_template,
)
from detent.adapters.providers.meaning.wire import cannot_send
from detent.core.chat.replies import SchemaMode

Message: TypeAlias = dict[str, Any]
Rewrite: TypeAlias = Callable[[Iterable[Message]], Iterator[Message]]
"""Makes of the messages of a request, as they are on the wire, what one server wants of them."""

REASONING_MEMBERS = frozenset(
    {"reasoning", "reasoning_content", "reasoning_details", "content", "extra_content"}
)


@frozen
class Profile:
    """One server, or one kind of server.

    Attributes:
        endpoint: where it is, and the variables that hold its key or name another place.
        renamed: members of the request that have another name here, by their usual one.
        replays: members of an assistant's message in which the server takes its reasoning back.
            Strict servers refuse those that they do not know.
        rewrites: what has to be done to the messages.
        schema_mode: when it holds answers to the JSON Schema of a `response_format`.
        thinking: how it is told how much a model shall think.
        lists_models: whether it lists its models below its address.
    """

    endpoint: Endpoint
    renamed: Mapping[str, str] = field(factory=dict)
    replays: frozenset[str] = REASONING_MEMBERS
    rewrites: tuple[Rewrite, ...] = ()
    schema_mode: SchemaMode = "never"
    thinking: ThinkingMembers = as_effort
    lists_models: bool = field(default=True, kw_only=True)

    def rewritten(self, messages: Iterable[Message]) -> Iterable[Message]:
        """The messages as this server wants them."""
        for rewrite in self.rewrites:
            messages = rewrite(messages)
        return messages


CALL_ID_LENGTH = 9
CALL_ID_CHARACTERS = frozenset(string.ascii_letters + string.digits)


def with_short_call_ids(messages: Iterable[Message]) -> Iterator[Message]:
    """Call ids as Mistral takes them: nine letters and digits. Its own stay, others are hashed."""
    for message in messages:
        short = dict(message)
        if call_id := message.get("tool_call_id"):
            short["tool_call_id"] = short_call_id(call_id)
        if calls := message.get("tool_calls"):
            short["tool_calls"] = [call | {"id": short_call_id(call["id"])} for call in calls]
        yield short


def short_call_id(call_id: str) -> str:
    """An id that Mistral takes, the same one for the same `call_id`.

    >>> short_call_id("g6fVbXS8K"), short_call_id("call_1_0")
    ('g6fVbXS8K', '8474f0992')
    """
    if len(call_id) == CALL_ID_LENGTH and CALL_ID_CHARACTERS.issuperset(call_id):
        return call_id
    import hashlib  # few servers need it

    return hashlib.sha256(call_id.encode()).hexdigest()[:CALL_ID_LENGTH]


def with_results_acknowledged(messages: Iterable[Message]) -> Iterator[Message]:
    """An assistant's "OK" between a tool's result and a user: most models of Mistral demand one."""
    before = None
    for message in messages:
        if before == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": "OK"}
        before = message["role"]
        yield message


def with_document_urls(messages: Iterable[Message]) -> Iterator[Message]:
    """Files as Mistral takes them: each as the URL of a document."""
    for message in messages:
        parts = message.get("content")
        documents = [_document(part) for part in parts] if isinstance(parts, list) else parts
        yield message | {"content": documents}


def _document(part: Message) -> Message:
    data = part["file"].get("file_data") if part["type"] == "file" else None
    return {"type": "document_url", "document_url": data} if data else part


def refusing(*kinds: str) -> Rewrite:
    """Parts of these kinds are refused before the server does it in words of its own."""

    def rewrite(messages: Iterable[Message]) -> Iterator[Message]:
        for message in messages:
            parts = message.get("content")
            for part in parts if isinstance(parts, list) else ():
                if part["type"] in kinds:
                    raise cannot_send("this server", f"part of type {part['type']!r}")
            yield message

    return rewrite


def without_names(messages: Iterable[Message]) -> Iterator[Message]:
    """No names of who speaks: Mistral refuses them."""
    for message in messages:
        yield {member: value for member, value in message.items() if member != "name"}


OPENAI = Profile(
    Endpoint("https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL"),
    renamed={"max_tokens": "max_completion_tokens"},  # its reasoning models refuse the old name
    replays=frozenset(),
    schema_mode="always",
)
COMPATIBLE = Profile(OPENAI.endpoint)
MISTRAL = Profile(
    Endpoint("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    renamed={"max_completion_tokens": "max_tokens", "seed": "random_seed"},
    replays=frozenset({"content"}),
    rewrites=(
        with_short_call_ids,
        with_results_acknowledged,
        with_document_urls,
        without_names,
    ),
    schema_mode="without_tools",
)
GROQ = Profile(
    Endpoint("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    replays=frozenset({"reasoning"}),
    rewrites=(refusing("file"),),
)
OPENROUTER = Profile(
    Endpoint("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)), thinking=as_reasoning
)
DEEPSEEK = Profile(
    Endpoint("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    renamed={"max_completion_tokens": "max_tokens"},
    replays=frozenset({"reasoning_content"}),
    rewrites=(refusing("file", "image_url"),),
    thinking=as_switch,
)
XAI = Profile(
    Endpoint("https://api.x.ai/v1", ("XAI_API_KEY",)),
    replays=frozenset({"reasoning_content"}),
    rewrites=(refusing("file"),),
    schema_mode="without_tools",
)
TOGETHER = Profile(
    Endpoint("https://api.together.xyz/v1", ("TOGETHER_API_KEY",)), rewrites=(refusing("file"),)
)
VLLM = Profile(
    Endpoint("http://localhost:8000/v1", ("VLLM_API_KEY",), "VLLM_BASE_URL", needs_key=False),
    rewrites=(refusing("file"),),
    thinking=as_template,
    schema_mode="without_tools",
)
LLAMA_CPP = Profile(
    Endpoint("http://localhost:8080/v1", ("LLAMA_API_KEY",), "LLAMA_BASE_URL", needs_key=False),
    rewrites=(refusing("file"),),
    thinking=as_template,
    schema_mode="without_tools",
)
OLLAMA = Profile(
    Endpoint("http://localhost:11434/v1", ("OLLAMA_API_KEY",), "OLLAMA_BASE_URL", needs_key=False),
    rewrites=(refusing("file"),),
    schema_mode="without_tools",
)


PERPLEXITY = Profile(
    Endpoint("https://api.perplexity.ai", ("PERPLEXITY_API_KEY", "PPLX_API_KEY")),
    renamed={"max_completion_tokens": "max_tokens"},
    replays=frozenset(),
    schema_mode="without_tools",
    lists_models=False,
)
CEREBRAS = Profile(
    Endpoint("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    renamed={"max_tokens": "max_completion_tokens"},
    replays=frozenset({"reasoning"}),
    rewrites=(refusing("file", "image_url"),),
    schema_mode="without_tools",
)
HUGGING_FACE = Profile(
    Endpoint("https://router.huggingface.co/v1", ("HF_TOKEN",)), rewrites=(refusing("file"),)
)
FIREWORKS = Profile(
    Endpoint("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    replays=frozenset({"reasoning_content"}),
    rewrites=(refusing("file"),),
    schema_mode="without_tools",
)
MOONSHOT = Profile(
    Endpoint("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)),
    renamed={"max_completion_tokens": "max_tokens"},
    replays=frozenset({"reasoning_content"}),
    rewrites=(refusing("file"),),
    thinking=as_switch,
)
ZAI = Profile(
    Endpoint("https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",), "ZAI_BASE_URL"),
    renamed={"max_completion_tokens": "max_tokens"},
    replays=frozenset({"reasoning_content"}),
    rewrites=(refusing("file"), without_names),
    thinking=as_switch,
)
GITHUB = Profile(
    Endpoint("https://models.github.ai/inference", ("GITHUB_TOKEN",)),
    replays=frozenset(),
    rewrites=(refusing("file"),),
    schema_mode="always",
    lists_models=False,
)
LITELLM = Profile(
    Endpoint(
        "http://localhost:4000", ("LITELLM_API_KEY",), "LITELLM_PROXY_API_BASE", needs_key=False
    ),
    schema_mode="without_tools",
)
VERCEL = Profile(
    Endpoint("https://ai-gateway.vercel.sh/v1", ("AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")),
    schema_mode="without_tools",
    thinking=as_reasoning,
)


def snowflake(account: str) -> Profile:
    """Cortex in one account of Snowflake.

    Source: https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api
    """
    base_url = f"https://{account}.snowflakecomputing.com/api/v2/cortex/v1"
    return Profile(
        Endpoint(base_url, ("SNOWFLAKE_PAT",)),
        renamed={"max_tokens": "max_completion_tokens"},
        replays=frozenset({"reasoning_details"}),
        rewrites=(refusing("file"),),
        schema_mode="without_tools",
        lists_models=False,
    )


LONGER_NAMES = "2024-09"
"""The version of Azure's API that first knew `max_completion_tokens`."""


def azure(endpoint: str, deployment: str, api_version: str = "", *, token: bool = False) -> Profile:
    """One deployment of Azure OpenAI.

    Args:
        endpoint: the resource, such as ``https://NAME.openai.azure.com``.
        deployment: its name.
        api_version: a dated version of the API. Without one its v1, where the name is in the body.
        token: whether the key is a token of Microsoft Entra ID.

    Source: https://learn.microsoft.com/azure/ai-foundry/openai/reference
    """
    dated = f"/openai/deployments/{deployment}?api-version={api_version}"
    base_url = endpoint.rstrip("/") + (dated if api_version else "/openai/v1")
    key_vars = ("AZURE_OPENAI_AD_TOKEN",) if token else ("AZURE_OPENAI_API_KEY",)
    key_header = BEARER if token else ("api-key", "")
    resource = Endpoint(base_url, key_vars, key_header=key_header)
    return Profile(
        resource,
        renamed={} if "" < api_version < LONGER_NAMES else OPENAI.renamed,
        replays=frozenset(),
        schema_mode="always",
        lists_models=False,  # but those that could be deployed
    )
