"""One API over HTTP, as a value: where it is, how a request is written, how an answer is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
