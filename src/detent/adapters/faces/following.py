"""Following a run: what is said and done in it, in order, until it has ended or waits for somebody.

Texts come piece by piece where the host has the pieces, and whole where it has not. Each part of
the conversation is told once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias, TypeVar

from attrs import frozen

from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.live import with_pauses
from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    ReasoningContent,
    ToolCall,
    ToolCallResult,
)
from detent.core.machine.turns import answer
from detent.core.run.effects import EffectKey
from detent.core.run.run import Acting, Pausing, Run, Thinking
from detent.core.tools.masking import shown_message, shown_result
from detent.ports.hosting import Host, HostedRun, Piece, Watched

T = TypeVar("T")


@frozen
class Spoken:
    """A piece of what the model says, or thinks.

    Attributes:
        message: which message it is a piece of: its place in the conversation, and, where an answer
            has broken off and come again, which attempt.
        text: the piece.
        is_thought: whether it is what the model thought before it answered.
    """

    message: str
    text: str
    is_thought: bool = False


@frozen
class Quiet:
    """Nothing has come for a while."""


@frozen
class Left:
    """The run has ended, or waits for people: nothing comes until somebody acts."""

    hosted: HostedRun


Followed: TypeAlias = Spoken | ToolCall | ToolCallResult | Quiet | Left | HostedRun
"""What comes of a run. A `HostedRun` is how it is then, whenever it was looked at."""


def conversation(run: Run[Any]) -> tuple[ChatMessage, ...]:
    """What was said and done in a run, as people may see it.

    RULE: a face tells what it has from here or from `follow`, never from the run itself: a result
    may quote a secret of its call.
    """
    return tuple(map(shown_message, run.messages))


def begin_of(run: Run[Any], text: str | None = None) -> int:
    """Where in a conversation the answer to its last message begins, or to the one that `said`."""
    places = [
        place for place, message in enumerate(run.messages, 1) if message.role is ChatRole.USER
    ]
    own = [place for place in places if run.messages[place - 1].text == text]
    return (own or places or [0])[-1]


async def follow(host: Host, run_id: str, begin: int) -> AsyncGenerator[Followed]:
    """What comes of a run, behind the first `begin` messages of its conversation.

    Raises:
        DetentError: the run is not there, or cannot be read.
    """
    teller = _Teller(begin)
    hosted = await host.run(run_id)
    for item in await beside(partial(teller.look, hosted)):
        yield item
    if _is_left(hosted):
        yield Left(hosted)
        return
    async with (
        aclosing(host.watch(run_id, hosted.listed.length - 1)) as watched,
        aclosing(with_pauses(watched)) as seen_or_quiet,
    ):
        async for seen in seen_or_quiet:
            if seen is None:
                yield Quiet()
                continue
            if teller.has_to_look(seen):
                hosted = await host.run(run_id)
                for item in await beside(partial(teller.look, hosted)):
                    yield item
                if _is_left(hosted):
                    yield Left(hosted)
                    return
            if isinstance(seen, Piece):
                for item in teller.piece(seen):
                    yield item


async def beside(make: Callable[[], Iterable[T]]) -> Sequence[T]:
    """What is made of parts of a run, in a thread: of long ones it takes longer than a loop may."""
    return await in_a_thread(lambda: [*make()])


def _is_left(hosted: HostedRun) -> bool:
    waits = hosted.listed.status == "waiting" and bool(hosted.pending)
    return waits or hosted.run.outcome is not None


class _Teller:
    """What was told so far: whole messages up to a place, and pieces of the one that stands there.

    The run is read at the first piece of an answer, at its last, and where it pauses: as often as
    the model itself reads the conversation.
    """

    def __init__(self, begin: int) -> None:
        self._place = begin
        self._reply = -1
        self._answered: set[str | None] = set()
        self._effect: EffectKey | None = None
        self._is_live = False
        self._message = ""
        self._told: dict[bool, list[str]] = {False: [], True: []}

    def has_to_look(self, seen: Watched) -> bool:
        if isinstance(seen, Piece):
            return not seen.effect.path and seen.effect != self._effect
        return seen.status != "running" or seen.kind in {"ModelReplied", "ModelFailed"}

    def look(self, hosted: HostedRun) -> Iterator[Followed]:
        """What is there of the conversation that was not told."""
        run, self._run = hosted.run, hosted.run
        yield hosted
        count = len(run.messages)
        for place in range(self._place, count):
            yield from self._message_at(place, run.messages[place])
        self._place = max(self._place, count)
        if isinstance(run.phase, Acting):
            yield from self._message_at(count, run.phase.reply.message)
            yield from self._results(filter(None, map(answer, run.slots)))

    def _message_at(self, place: int, message: ChatMessage) -> Iterator[Followed]:
        if message.role is ChatRole.ASSISTANT and place != self._reply:
            self._reply = place
            self._answered.clear()
            yield from self._whole(place, shown_message(message))
        yield from self._results(message.tool_call_results)

    def _results(self, results: Iterable[ToolCallResult]) -> Iterator[Followed]:
        for result in results:
            if result.origin.id not in self._answered:
                self._answered.add(result.origin.id)
                yield shown_result(result)

    def _whole(self, place: int, message: ChatMessage) -> Iterator[Followed]:
        """A message, without what was told of it in pieces."""
        thoughts = [p.reasoning_text for p in message.content if isinstance(p, ReasoningContent)]
        for is_thought, text in ((True, "".join(thoughts)), (False, message.text or "")):
            streamed, key = "".join(self._told[is_thought]), self._message or str(place)
            if not text.startswith(streamed):
                streamed, key = "", f"{place}.whole"
            if rest := text[len(streamed) :]:
                yield Spoken(key, rest, is_thought)
        self._forget("")
        yield from message.tool_calls

    def _forget(self, message: str) -> None:
        self._told, self._is_live, self._message = {False: [], True: []}, False, message

    def piece(self, piece: Piece) -> Iterator[Followed]:
        """What a piece says, if it is of the answer that is next."""
        effect, chunk, run = piece.effect, piece.chunk, self._run
        if effect.path or chunk.agents:
            return
        if effect != self._effect:
            self._effect = effect
            self._forget(f"{self._place}.{effect.attempt}" if effect.attempt > 1 else "")
            self._message = self._message or str(self._place)
            self._is_live = run.turn == effect.turn and isinstance(run.phase, Thinking | Pausing)
        if not self._is_live:
            return
        for is_thought, text in ((True, chunk.reasoning), (False, chunk.content)):
            if text:
                self._told[is_thought].append(text)
                yield Spoken(self._message, text, is_thought)
