"""Answers as bytes, fed to whatever reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import frozen
from returns.result import Result

from detent.adapters.providers.http.answers import Answer
from detent.core.chat.replies import ChatReply, FailureCause, ModelFailure
from detent.ports.chat import StreamingChunk

Failures: TypeAlias = Sequence[tuple[bytes, FailureCause, bool]]
"""Answers that are none, each with its cause and whether it is worth another try."""
Reply: TypeAlias = tuple[list[StreamingChunk], ChatReply]


@frozen
class Codec:
    """How the answers of one API are read, and what every codec is tested with.

    Attributes:
        answer: an answer of which nothing has come.
        failures: answers that are none.
        talk: a stream with a thought, text and a call.
        members: names that mean something to the codec.
        strange: streams with a value of any shape in them.
    """

    answer: Callable[[], Answer]
    failures: Failures
    talk: bytes
    members: str
    strange: Callable[[Any], Sequence[bytes]]


def events(*values: Mapping[str, object], end: str = "") -> bytes:
    """A stream of these values as server-sent events."""
    lines = [*map(json.dumps, values), *([end] if end else [])]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def fed(data: bytes, make: Callable[[], Answer], *, size: int | None = None) -> Reply:
    """The pieces and the reply of an answer fed in chunks of `size` bytes."""
    return outcome(data, make, size=size).unwrap()


def outcome(
    data: bytes, make: Callable[[], Answer], *, size: int | None = None
) -> Result[Reply, ModelFailure]:
    """The pieces and the reply of an answer, or its failure."""
    answer, step = make(), size or max(1, len(data))
    answer.begin(200, {})
    chunks = [data[at : at + step] for at in range(0, len(data), step)]
    pieces = [piece for chunk in chunks for piece in answer.feed(chunk)]
    return answer.finish().map(lambda ending: ([*pieces, *ending[0]], ending[1]))


def failure_of(data: bytes, make: Callable[[], Answer]) -> ModelFailure:
    """The failure that an answer leads to."""
    return outcome(data, make).failure()
