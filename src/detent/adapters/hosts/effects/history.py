"""What is needed of an engine whose history is the truth about a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from attrs import frozen

Json: TypeAlias = dict[str, Any]
NOTHING_SAID: Json = {}
Future: TypeAlias = Any
"""What an engine gives for what it has begun: `result` is what came of it."""


def size_of(data: object) -> int:
    """How many bytes it has as JSON, as the libraries of engines write it: at most."""
    return len(json.dumps(data))


class History(Protocol):
    """What the inside needs of an engine. All of it comes out the same when it is replayed."""

    @property
    def room(self) -> int | None:
        """How many bytes of events a job carries beside each other; None is any number."""
        ...

    def now(self) -> float:
        """The time, in seconds since 1970."""
        ...

    def number(self) -> float:
        """By chance, from 0 to 1."""
        ...

    def begin(self, name: str, job: Json, *, is_once: bool) -> Future:
        """Have a worker perform a job; `is_once` says that it must not be begun a second time."""
        ...

    def sleep(self, name: str, until: float) -> Future:
        """Wait for a time."""
        ...

    def hear(self) -> Future:
        """Wait for the next word to the run, and for who wants to know whether it counts."""
        ...

    async def first(self, futures: Mapping[str, Future]) -> Sequence[str]:
        """Wait until one is done, and say which are: always in the same order."""
        ...

    def drop(self, future: Future) -> None:
        """Nobody waits for it any longer."""
        ...

    def is_long(self) -> bool:
        """Whether the history is so long that another one should go on."""
        ...


@frozen
class EngineClock:
    """Says the time of the history, and waits for nothing."""

    engine: History

    def now(self) -> float:
        """The time of the history."""
        return self.engine.now()

    def wait(self, until: float, dropped: object) -> None:
        """Never."""
        raise AssertionError("the inside waits by the engine")

    async def wait_async(self, until: float) -> None:
        """Never."""
        raise AssertionError("the inside waits by the engine")
