"""Channels: what this process knows of a run beside its journal: pieces of answers, and news."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial

from attrs import define, field

from detent.core.run.effects import EffectKey
from detent.core.run.events import Event, HappenedInside, ModelFailed, ModelReplied
from detent.core.run.refs import AgentRef, Path
from detent.ports.chat import StreamingChunk
from detent.ports.hosting import Piece

PIECES_MAX = 10_000
"""So many pieces of an answer are kept for whoever comes in the middle of it, and for each reader
who does not read: one that would miss some is given no more of that answer."""


class Reader:
    """What one watcher of a run is still to be given."""

    def __init__(self, channel: _Channel, is_ended: Callable[[], bool]) -> None:
        self._channel, self._is_ended = channel, is_ended
        self.news = asyncio.Event()
        self._pieces = deque[Piece](maxlen=PIECES_MAX)
        self._next: dict[EffectKey, int] = {}

    @property
    def length(self) -> int:
        """How many entries the run has, as far as it is written to here."""
        return self._channel.length

    @property
    def is_ended(self) -> bool:
        """Whether nothing more is told here, as the host was closed."""
        return self._is_ended()

    def add(self, piece: Piece) -> None:
        """Take in a piece."""
        self._pieces.append(piece)
        self.news.set()

    def pieces(self, length: int) -> Iterator[Piece]:
        """Those that came when the run had so many entries, or fewer; of whole answers only."""
        while self._pieces and self._pieces[0].length <= length:
            piece = self._pieces.popleft()
            if piece.number == self._next.get(piece.effect, 0):
                self._next[piece.effect] = piece.number + 1
                yield piece


@define(eq=False)
class _Answer:
    """The pieces of an answer so far, as many as are kept, and how many there were."""

    count: int = 0
    pieces: list[Piece] = field(factory=list)


@define(eq=False)
class _Channel:
    """Of one run: how many entries it has, the answers under way, and who reads."""

    users: int = 0
    length: int = 0
    answers: dict[EffectKey, _Answer] = field(factory=dict)
    readers: list[Reader] = field(factory=list)

    def tell(self, run_id: str, effect: EffectKey, chunk: StreamingChunk, length: int) -> None:
        answer = self.answers.setdefault(effect, _Answer())
        piece = Piece(run_id, effect, answer.count, chunk, length)
        answer.count += 1
        if len(answer.pieces) < PIECES_MAX:
            answer.pieces.append(piece)
        for reader in self.readers:
            reader.add(piece)


class Channels:
    """The channels of the runs that are driven or watched in this process, in one event loop.

    What is told comes from any thread.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._channels: dict[str, _Channel] = {}
        self._is_ended = False

    @contextmanager
    def open(self, run_id: str) -> Generator[_Channel]:
        """The channel of a run, for as long as somebody drives or watches it."""
        channel = self._channels.setdefault(run_id, _Channel())
        channel.users += 1
        try:
            yield channel
        finally:
            channel.users -= 1
            if not channel.users:
                self._channels.pop(run_id, None)

    @contextmanager
    def reader(self, run_id: str) -> Generator[Reader]:
        """Somebody who watches a run. The answers under way come from their first piece on."""
        with self.open(run_id) as channel:
            reader = Reader(channel, lambda: self._is_ended)
            kept = [piece for answer in channel.answers.values() for piece in answer.pieces]
            for piece in sorted(kept, key=lambda piece: piece.length):
                reader.add(piece)
            channel.readers.append(reader)
            try:
                yield reader
            finally:
                channel.readers.remove(reader)

    def written(self, run_id: str, length: int) -> None:
        """A run has so many entries now."""
        channel = self._channels.get(run_id)
        if channel is not None:
            channel.length = length
            if channel.readers:
                self._soon(partial(self._wake, channel))

    def tell(self, run_id: str, effect: EffectKey, chunk: StreamingChunk) -> None:
        """A piece of an answer has come."""
        channel = self._channels.get(run_id)
        if channel is not None:
            self._soon(partial(channel.tell, run_id, effect, chunk, channel.length))

    def happened(self, run_id: str, event: Event) -> None:
        """Something is written down: if it is an answer, nobody needs the pieces of it any more."""
        answer, channel = answered(event), self._channels.get(run_id)
        if answer is not None and channel is not None:
            channel.answers.pop(answer, None)

    def end(self) -> None:
        """Tell nothing more, and wake all who wait for it; in the event loop."""
        self._is_ended = True
        for channel in self._channels.values():
            self._wake(channel)

    def _wake(self, channel: _Channel) -> None:
        for reader in channel.readers:
            reader.news.set()

    def _soon(self, call: partial[None]) -> None:
        try:
            is_here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            is_here = False
        if is_here:
            call()
        else:
            self._loop.call_soon_threadsafe(call)


def answered(event: Event) -> EffectKey | None:
    """The question to a model that an event answers."""
    path: Path = ()
    while isinstance(event, HappenedInside):
        path = (*path, AgentRef(*event.ref, event.tool_name))
        event = event.event
    if isinstance(event, ModelReplied | ModelFailed):
        return EffectKey("model", event.turn, 0, event.attempt, path)
    return None
