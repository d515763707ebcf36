"""What an adapter of a provider is made of, in one import.

`HttpApi` is all of it: the provider's `Endpoint`, an `encode` that writes a `ChatRequest`, and a
`Fold` that reads the answer. The rest is what most of them need to write and to read.
"""

from __future__ import annotations

from detent.adapters.providers.http.answers import Answer, Fold, Payloads
from detent.adapters.providers.http.api import ChatRequest, HttpApi, HttpOptions
from detent.adapters.providers.http.calls import arguments_of, function_tool, id_of
from detent.adapters.providers.http.endpoints import Endpoint, below
from detent.adapters.providers.http.failures import failure_in_answer, unfinished
from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.adapters.providers.http.secrets import Secret
from detent.adapters.providers.meaning.neutral import (
    decided_reason,
    encoded_body,
    named_tool,
    wanted_schema,
)
from detent.adapters.providers.meaning.parts import (
    Opaque,
    Part,
    Said,
    assistant_message,
    own_data,
    parts_of,
)
from detent.adapters.providers.meaning.turns import in_turns
from detent.adapters.providers.meaning.wire import cannot_send, first_count, read_arguments
from detent.core.chat.replies import FinishReason

__all__ = [
    "Answer",
    "ChatRequest",
    "Endpoint",
    "FinishReason",
    "Fold",
    "HttpApi",
    "HttpChatGenerator",
    "HttpOptions",
    "Opaque",
    "Part",
    "Payloads",
    "Said",
    "Secret",
    "arguments_of",
    "assistant_message",
    "below",
    "cannot_send",
    "decided_reason",
    "encoded_body",
    "failure_in_answer",
    "first_count",
    "function_tool",
    "id_of",
    "in_turns",
    "named_tool",
    "own_data",
    "parts_of",
    "read_arguments",
    "unfinished",
    "wanted_schema",
]
