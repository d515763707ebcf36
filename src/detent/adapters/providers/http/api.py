"""One API over HTTP, as a value: where it is, how a request is written, how an answer is read.

And the options that every chat generator by such an API has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from attrs import field, frozen

from detent.adapters.providers.http.answers import Fold, Payloads
from detent.adapters.providers.http.endpoints import Endpoint
from detent.adapters.providers.http.listing import ModelList
from detent.adapters.providers.http.payloads import PayloadDecoder
from detent.adapters.providers.meaning.server_tools import ServerToolMember
from detent.adapters.providers.meaning.thinking import ThinkingLevel
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import SchemaMode
from detent.core.tools.tool import ToolSpec
from detent.core.values.checks import meant

if TYPE_CHECKING:
    import httpx

    from detent.adapters.providers.http.caller import Timeouts
    from detent.adapters.providers.http.secrets import Secret
    from detent.adapters.providers.meaning.server_tools import ServerTool


@frozen
class ChatRequest:
    """What a model is asked.

    Attributes:
        model: the model's name.
        messages: the conversation, oldest first.
        tools: what the model may call.
        options: further members of the request: those of the generator, and of the call.
        stream: whether the answer is wanted in pieces.
        thinking: how much the model shall think; None leaves it to the model.
    """

    model: str
    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec] = ()
    options: Mapping[str, object] = field(factory=dict)
    stream: bool = field(default=False, kw_only=True)
    thinking: ThinkingLevel | None = field(default=None, kw_only=True)


@frozen
class TokenCount:
    """How an API counts the tokens of a request without answering it. All of it is pure.

    Attributes:
        path: where the request goes, below the address of the server.
        body: makes of the body of a request that of its count.
        member: the member of the answer that is the number.
    """

    path: str
    body: Callable[[bytes], bytes]
    member: str


def nowhere(messages: Sequence[ChatMessage]) -> None:
    """Of an API that makes no answer while nobody waits."""


@frozen
class HttpApi:
    """How one API is spoken. All of it is pure.

    Attributes:
        endpoint: the provider's own server.
        path: where requests go, below the address of the server.
        encode: writes the body of a request; raises ChatGeneratorError for what cannot be sent.
        decode: makes what folds the JSON values of the answer to a request.
        payloads: makes what takes the JSON values out of the bytes of one answer.
        schema_mode: when the provider holds the model's answer to the JSON Schema of a
            `response_format`.
        under_way: where the answer is to be had that the server is still making, as the last of
            the messages says; None where it is to be asked for.
        count: how it counts tokens, if it does.
        server_tool: writes a tool that the provider knows, if it has portable ones.
        listing: where it lists its models, if it does.
    """

    endpoint: Endpoint
    path: str
    encode: Callable[[ChatRequest], bytes]
    decode: Callable[[ChatRequest], Fold]
    payloads: Callable[[], Payloads] = PayloadDecoder
    schema_mode: SchemaMode = "never"
    under_way: Callable[[Sequence[ChatMessage]], str | None] = nowhere
    count: TokenCount | None = None
    server_tool: ServerToolMember | None = None
    listing: ModelList | None = None


class HttpOptions(TypedDict, total=False):
    """The options of every chat generator over HTTP.

    Attributes:
        generation_kwargs: further members of each request. None leaves a member out.
        thinking: how much the model shall think before it answers: "off", "low", "medium", "high",
            or at most so many tokens; in the words of the provider, as near as it has them. What
            `generation_kwargs` says in the provider's own words wins. By default the model's own.
        server_tools: what the provider runs itself while the model answers: `WebSearch`,
            `CodeExecution`, `FileSearch`; and `ComputerUse`, which the agent's tool ``computer``
            runs. One that the provider has not is refused before anything is sent.
        timeout: seconds for a whole call, or `Timeouts`.
        headers: further request headers; a `Secret` among them never prints.
        http_client: sends the blocking calls, for proxies, certificates and tests; it stays yours.
        async_http_client: the same for coroutines; it must be used in one event loop only.
    """

    generation_kwargs: Mapping[str, object] | None
    thinking: ThinkingLevel | None
    server_tools: Sequence[ServerTool]
    timeout: float | Timeouts
    headers: Mapping[str, str | Secret] | None
    http_client: httpx.Client | None
    async_http_client: httpx.AsyncClient | None


def require_known(owner: str, names: Collection[str]) -> None:
    """Raise TypeError where one of `names` is no option: by its name, and what is near it."""
    known = HttpOptions.__annotations__
    if unknown := sorted({*names} - known.keys()):
        near = meant(unknown[0], (*known, "api_base_url", "api_key"))
        raise TypeError(
            f"{owner} has no option {', '.join(map(repr, unknown))}; beside its own it has "
            f"{', '.join(known)}; what goes into requests is generation_kwargs{near}"
        )
