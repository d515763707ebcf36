"""Answers as bytes, fed to whatever reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

import pytest

from detent.adapters.providers.http.answers import Answer
from detent.core.chat.replies import ChatReply, ModelFailure, StreamingChunk
from detent.ports.chat import ChatGeneratorError

Reply: TypeAlias = tuple[list[StreamingChunk], ChatReply]


def events(*values: Mapping[str, object], end: str = "") -> bytes:
    """A stream of these values as server-sent events."""
    lines = [*map(json.dumps, values), *([end] if end else [])]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def fed(data: bytes, make: Callable[[], Answer], *, size: int | None = None) -> Reply:
    """The pieces and the reply of an answer fed in chunks of `size` bytes."""
    answer, step = make(), size or max(1, len(data))
    answer.begin(200, {})
    chunks = [data[at : at + step] for at in range(0, len(data), step)]
    pieces = [piece for chunk in chunks for piece in answer.feed(chunk)]
    last, reply = answer.finish()
    return [*pieces, *last], reply


def failure_of(data: bytes, make: Callable[[], Answer]) -> ModelFailure:
    """The failure that an answer leads to."""
    with pytest.raises(ChatGeneratorError) as caught:
        fed(data, make)
    return caught.value.failure
