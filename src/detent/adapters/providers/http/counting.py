"""Counting the tokens of a request without having it answered, where a provider does that. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from returns.result import Failure, Result, Success

from detent.adapters.providers.http.failures import failure_in_answer, unfinished
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, ModelFailure, Usage
from detent.ports.chat import StreamingChunk

Json: TypeAlias = Mapping[str, Any]


class CountFold:
    """Reads the answer to a count: its `member` is the number of tokens that would be read."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._count: int | None = None

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the answer."""
        if value.get("error"):
            return failure_in_answer(value)
        self._count = int(value[self._member])
        return ()

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """A reply that says nothing, with the count as its usage."""
        if self._count is None:
            return Failure(unfinished("count", cut_off=not ended))
        return Success(ChatReply(ChatMessage.from_assistant(), usage=Usage(self._count)))


def members_of(body: bytes, names: Collection[str]) -> dict[str, Any]:
    """The members of a request that count, as JSON."""
    return {name: value for name, value in json.loads(body).items() if name in names}


def counted_members(names: Collection[str]) -> Callable[[bytes], bytes]:
    """Makes of the body of a request that of its count."""
    return lambda body: json.dumps(members_of(body, names)).encode()
