"""Callbacks: the pieces of a run go to listeners, and no listener can break the run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from inspect import isawaitable
from typing import Any, NamedTuple, TypeAlias

from attrs import define, evolve, field, frozen

from detent.adapters.drivers.steps import Steps, Wait, at_once
from detent.adapters.system.failures import is_stop, outcome_of
from detent.adapters.system.threads_and_loops import in_background
from detent.core.chat.messages import ToolCallResult
from detent.core.chat.replies import ChatReply
from detent.core.machine.turns import answer
from detent.core.run.effects import EffectKey
from detent.core.run.events import Event
from detent.core.run.run import Acting, Delegated, Run
from detent.core.run.sizes import hide_much
from detent.core.run.spec import AgentSpec
from detent.core.tools.masking import MASK, masked, shown_result
from detent.ports.chat import StreamingCallback, StreamingChunk, ToolCallDelta


class CallbackDispatcher:
    """Hands pieces to a streaming callback, one after another.

    What the callback raises is kept as `error`, and from then on it is told nothing more. Where it
    is a coroutine function, it is awaited in `loop`, or without one in the background.
    """

    def __init__(self, callback: StreamingCallback) -> None:
        self._callback = callback
        self._last: asyncio.Task[None] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.error: BaseException | None = None

    def __call__(self, chunk: StreamingChunk) -> None:
        """Tell one piece. Never raises."""
        if self.error is not None:
            return
        try:
            later = self._callback(chunk)
            if later is not None and isawaitable(later):
                self._await(later)
        except BaseException as error:
            if is_stop(error):
                raise
            self.error = error

    def marked(self, name: str) -> StreamingCallback:
        """Tells the pieces of the agent at work inside that goes by this name."""
        return lambda chunk: self(evolve(chunk, agents=(name, *chunk.agents)))

    async def told(self) -> None:
        """Wait until the callback has dealt with all that it was told."""
        if self._last is not None:
            await self._last

    def _await(self, later: Awaitable[object]) -> None:
        if self.loop is None:
            in_background(later).result()
        elif self.loop is _running_loop():
            self._last = self.loop.create_task(self._after(self._last, later))
        else:
            asyncio.run_coroutine_threadsafe(self._after(None, later), self.loop).result()

    async def _after(self, before: asyncio.Task[None] | None, later: Awaitable[object]) -> None:
        if before is not None:
            await before
        came = await outcome_of(later)
        if isinstance(came, BaseException):
            self.error = self.error or came


PieceListener: TypeAlias = Callable[[EffectKey, StreamingChunk], object]
"""Is told each piece of an answer, and of which answer it is one. It must not raise."""


def both_told(
    dispatcher: CallbackDispatcher | None, listener: PieceListener | None, effect: EffectKey
) -> Callable[[StreamingChunk], object] | None:
    """Who is told of the pieces of the answer to `effect`; None where nobody is."""
    if listener is None:
        return dispatcher

    def tell(chunk: StreamingChunk) -> None:
        if dispatcher is not None:
            dispatcher(chunk)
        listener(effect, chunk)

    return tell


class UnheardError(Exception):
    """Nobody waits for an answer any longer. It stops the chat generator that still gives it."""


class AttemptStream:
    """The pieces of one attempt to get an answer, until nobody waits for it any longer.

    `secrets` are the parameters that nobody is shown, by the names of their tools.
    """

    def __init__(
        self, tell: Callable[[StreamingChunk], object], secrets: Mapping[str, frozenset[str]]
    ) -> None:
        self._tell = tell
        self._veil = SecretFilter(secrets) if secrets else None
        self._were_told = self._are_whole = self._ended = False

    def __call__(self, chunk: StreamingChunk) -> None:
        """Pass a piece on.

        Raises:
            UnheardError: nobody waits any longer, so that the generator gives its connection up.
        """
        if self._ended:
            raise UnheardError("nobody waits for this answer any longer")
        self._were_told = True
        self._are_whole = self._are_whole or chunk.finish_reason is not None
        for shown in (chunk,) if self._veil is None else self._veil(chunk):
            self._tell(shown)

    def complete(self, reply: ChatReply) -> None:
        """The answer is there: say so, if its generator did not, to whoever has seen of it."""
        if self._were_told and not self._are_whole and not self._ended:
            self(StreamingChunk(finish_reason=reply.finish_reason))

    def end(self) -> None:
        """Nobody waits from now on."""
        self._ended = True

    def take_back(self) -> None:
        """Tell that what was passed on does not count: the attempt has failed."""
        if self._were_told and not self._ended:
            self(StreamingChunk(finish_reason="discarded"))


@define
class _StreamedCall:
    """A call of a message that is not over: what of it was held back, and what is known of it.

    `secrets` are its secret arguments; None as long as nobody knows its tool.
    """

    id: str | None = None
    tool_name: str = ""
    secrets: frozenset[str] | None = None
    held: list[str] = field(factory=list)
    is_told: bool = False
    size: int = 0
    least: int = 0
    """With fewer characters it is no object yet: each look takes as long as all that is held."""

    def is_another_than(self, delta: ToolCallDelta) -> bool:
        """Whether a piece begins another call at the same place."""
        return bool(self.tool_name and delta.tool_name) and (
            self.tool_name != delta.tool_name
            or (None not in (self.id, delta.id) and self.id != delta.id)
        )

    def told(self, index: int, arguments: str) -> StreamingChunk:
        """All of its arguments, which are told once."""
        self.is_told = True
        self.held.clear()
        return StreamingChunk(tool_calls=(ToolCallDelta(index, arguments=arguments),))


class SecretFilter:
    """Pieces as people may see them: arguments with secrets come at once, masked, when complete.

    `masked` are the secret parameters by the names of their tools, under "*" those of others.

    RULE: of a call whose tool has secrets, or is not known yet, no piece passes as it came, until
    its message ends: servers may send anything between two pieces of a call.
    """

    def __init__(self, masked: Mapping[str, frozenset[str]]) -> None:
        self._masked = masked
        self._calls: dict[int, _StreamedCall] = {}
        self._fresh: dict[int, _StreamedCall] = {}
        """Those that were at it last: a piece of something else may show that they are complete."""

    def __call__(self, chunk: StreamingChunk) -> Iterator[StreamingChunk]:
        """What may be shown now."""
        if chunk.finish_reason == "discarded":  # and so is what was held back of it
            self._forget()
        yield from self._ended_by(chunk)
        deltas = tuple(map(self._veiled, chunk.tool_calls))
        if deltas != chunk.tool_calls:
            chunk = evolve(chunk, tool_calls=deltas)
        if chunk.finish_reason is None:
            yield chunk
            return
        if deltas:  # the last pieces come along with the end
            yield evolve(chunk, finish_reason=None)
            chunk = evolve(chunk, tool_calls=())
        for index, call in self._calls.items():
            yield from self._rest(index, call)
        self._forget()
        yield chunk

    def _forget(self) -> None:
        self._calls, self._fresh = {}, {}

    def _ended_by(self, chunk: StreamingChunk) -> Iterator[StreamingChunk]:
        """The calls that a piece of something else shows to be complete."""
        for delta in chunk.tool_calls:
            call = self._calls.get(delta.index)
            if call is not None and call.is_another_than(delta):
                yield from self._rest(delta.index, call)
                del self._calls[delta.index]
                self._fresh.pop(delta.index, None)
        if not self._fresh:
            return
        going_on = {delta.index for delta in chunk.tool_calls}
        for index in [index for index in self._fresh if index not in going_on]:
            call = self._fresh.pop(index)
            if call.size >= call.least and call.held[-1].endswith("}"):
                call.least = 2 * call.size
                text = _masked_json("".join(call.held), call.secrets or frozenset())
                if text is not None:
                    yield call.told(index, text)

    def _veiled(self, delta: ToolCallDelta) -> ToolCallDelta:
        call = self._calls.setdefault(delta.index, _StreamedCall())
        call.id = call.id or delta.id
        if delta.tool_name and not call.tool_name:
            call.tool_name = delta.tool_name
            others = self._masked.get("*", frozenset())
            call.secrets = self._masked.get(delta.tool_name, others)
        if call.secrets is not None and not call.secrets:
            if not call.held:
                return delta
            held = "".join(call.held)  # from before its tool was known
            call.held.clear()
            return evolve(delta, arguments=held + delta.arguments)
        if not call.is_told and delta.arguments:
            call.held.append(delta.arguments)
            call.size += len(delta.arguments)
        if not call.is_told and call.secrets and call.held:
            self._fresh[delta.index] = call
        return evolve(delta, arguments="") if delta.arguments else delta

    def _rest(self, index: int, call: _StreamedCall) -> Iterator[StreamingChunk]:
        """What was held back of a call that is over, masked, if it was not told yet."""
        is_known = call.secrets is not None
        if call.is_told or not (call.secrets if is_known else call.held):
            return
        names = call.secrets or frozenset[str]().union(*self._masked.values())
        text = _masked_json("".join(call.held), names)
        yield call.told(index, MASK if text is None else text)


def _masked_json(text: str, names: frozenset[str]) -> str | None:
    """The arguments that a text says, masked; None where it is no object: no tool runs with it."""
    try:
        return json.dumps(masked(json.loads(text or "{}"), names), ensure_ascii=False)
    except (ValueError, AttributeError, RecursionError):
        return None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def tool_result_chunks(
    spec: AgentSpec[Any], before: Run[Any], after: Run[Any]
) -> Iterator[StreamingChunk]:
    """The results of tool calls that `before` had not, each with its place among the turn's calls.

    A result comes when its call has ended. One that does not fit the state comes a second time when
    the turn is complete, as the fault that the model is told. Those of agents at work are marked
    with the agents' names.
    """
    return map(_visible, _new_pieces(spec, before, after))


class _Piece(NamedTuple):
    """A piece as it came; of a result, the secret parameters of its call as well."""

    chunk: StreamingChunk
    secrets: frozenset[str] | None = None


def _visible(piece: _Piece) -> StreamingChunk:
    chunk, secrets = piece
    if secrets is None or chunk.tool_call_result is None:
        return chunk
    return evolve(chunk, tool_call_result=shown_result(chunk.tool_call_result, secrets))


def _new_pieces(spec: AgentSpec[Any], before: Run[Any], after: Run[Any]) -> Iterator[_Piece]:
    for was, now in zip(before.slots, after.slots, strict=False):
        if isinstance(was.status, Delegated) and isinstance(now.status, Delegated):
            name = now.status.tool_name
            inner = spec.agents[name]
            for chunk, secrets in _new_pieces(inner, was.status.run, now.status.run):
                yield _Piece(evolve(chunk, agents=(name, *chunk.agents)), secrets)
    known = [answer(slot) for slot in before.slots]
    results = _results(before, after)
    for index, result in enumerate(results):
        # a place is compared with itself alone: two calls of a turn may have equal results
        if result is not None and result not in known[index : index + 1]:
            tool = spec.tools.get(result.origin.tool_name)
            chunk = StreamingChunk(tool_call_result=result, index=index, start=True)
            yield _Piece(chunk, None if tool is None else tool.masked)
    if results and not isinstance(after.phase, Acting):
        yield _Piece(StreamingChunk(finish_reason="tool_call_results"))


def _results(before: Run[Any], after: Run[Any]) -> list[ToolCallResult | None]:
    """What is known of the turn's calls, while it is open or when it has just ended."""
    if isinstance(after.phase, Acting):
        return [answer(slot) for slot in after.slots]
    fresh = after.messages[len(before.messages) :]
    return [result for message in fresh for result in message.tool_call_results]


@frozen
class ResultTeller:
    """An observer that tells of the results of tools, as they come."""

    spec: AgentSpec[Any]
    tell: Callable[[StreamingChunk], object]

    def __call__(self, before: Run[Any], event: Event, after: Run[Any]) -> None:
        """Tell of those that are new."""
        at_once(self.steps(before, after))

    def steps(self, before: Run[Any], after: Run[Any]) -> Steps[None]:
        """The same: to take many secrets out of them holds no event loop."""
        pieces = list(_new_pieces(self.spec, before, after))
        make = partial(list[StreamingChunk], map(_visible, pieces))
        results = ((one.chunk.tool_call_result, one.secrets or ()) for one in pieces)
        chunks: list[StreamingChunk] = (yield Wait(make)) if hide_much(results) else make()
        for chunk in chunks:
            self.tell(chunk)
