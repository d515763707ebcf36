"""Callbacks: the pieces of a run go to listeners, and no listener can break the run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias

from attrs import evolve

from detent.adapters.system.failures import is_stop, outcome_of
from detent.adapters.system.threads_and_loops import in_background
from detent.core.chat.messages import ToolCallResult
from detent.core.machine.turns import answer
from detent.core.run.effects import EffectKey
from detent.core.run.events import Event
from detent.core.run.run import Acting, Delegated, Run
from detent.core.run.spec import AgentSpec
from detent.core.tools.masking import MASK, masked, shown_result
from detent.ports.chat import StreamingCallback, StreamingChunk, ToolCallDelta
from detent.ports.observer import Observer


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
        self._were_told = self._ended = False

    def __call__(self, chunk: StreamingChunk) -> None:
        """Pass a piece on.

        Raises:
            UnheardError: nobody waits any longer, so that the generator gives its connection up.
        """
        if self._ended:
            raise UnheardError("nobody waits for this answer any longer")
        self._were_told = True
        for shown in (chunk,) if self._veil is None else self._veil(chunk):
            self._tell(shown)

    def end(self) -> None:
        """Nobody waits from now on."""
        self._ended = True

    def take_back(self) -> None:
        """Tell that what was passed on does not count: the attempt has failed."""
        if self._were_told and not self._ended:
            self(StreamingChunk(finish_reason="discarded"))


class SecretFilter:
    """Pieces as people may see them: arguments with secrets come at once, masked, when complete.

    `masked` are the secret parameters by the names of their tools, under "*" those of others.
    """

    def __init__(self, masked: Mapping[str, frozenset[str]]) -> None:
        self._masked = masked
        self._held: dict[int, tuple[str, str]] = {}

    def __call__(self, chunk: StreamingChunk) -> Iterator[StreamingChunk]:
        """What may be shown now."""
        deltas = tuple(map(self._veiled, chunk.tool_calls))
        still = {delta.index for delta in deltas}
        for index in [one for one in self._held if one not in still]:
            name, text = self._held.pop(index)
            whole = ToolCallDelta(index, arguments=_masked_json(text, self._secrets(name)))
            yield StreamingChunk(tool_calls=(whole,))
        yield evolve(chunk, tool_calls=deltas) if deltas != chunk.tool_calls else chunk

    def _veiled(self, delta: ToolCallDelta) -> ToolCallDelta:
        if delta.tool_name is not None and self._secrets(delta.tool_name):
            self._held[delta.index] = (delta.tool_name, "")
        if delta.index not in self._held:
            return delta
        name, text = self._held[delta.index]
        self._held[delta.index] = (name, text + delta.arguments)
        return evolve(delta, arguments="")

    def _secrets(self, tool_name: str) -> frozenset[str]:
        return self._masked.get(tool_name, self._masked.get("*", frozenset()))


def _masked_json(text: str, names: frozenset[str]) -> str:
    try:
        return json.dumps(masked(json.loads(text or "{}"), names), ensure_ascii=False)
    except (ValueError, AttributeError, RecursionError):  # no object: no tool runs with it
        return MASK


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
    for was, now in zip(before.slots, after.slots, strict=False):
        if isinstance(was.status, Delegated) and isinstance(now.status, Delegated):
            name = now.status.tool_name
            inner = spec.agents[name]
            for chunk in tool_result_chunks(inner, was.status.run, now.status.run):
                yield evolve(chunk, agents=(name, *chunk.agents))
    known = [answer(slot) for slot in before.slots]
    results = _results(before, after)
    for index, result in enumerate(results):
        # a place is compared with itself alone: two calls of a turn may have equal results
        if result is not None and result not in known[index : index + 1]:
            tool = spec.tools.get(result.origin.tool_name)
            part = result if tool is None else shown_result(result, tool.masked)
            yield StreamingChunk(tool_call_result=part, index=index, start=True)
    if results and not isinstance(after.phase, Acting):
        yield StreamingChunk(finish_reason="tool_call_results")


def _results(before: Run[Any], after: Run[Any]) -> list[ToolCallResult | None]:
    """What is known of the turn's calls, while it is open or when it has just ended."""
    if isinstance(after.phase, Acting):
        return [answer(slot) for slot in after.slots]
    fresh = after.messages[len(before.messages) :]
    return [result for message in fresh for result in message.tool_call_results]


def telling_results(spec: AgentSpec[Any], tell: Callable[[StreamingChunk], object]) -> Observer:
    """An observer that tells of the results of tools, as they come."""

    def observe(before: Run[Any], event: Event, after: Run[Any]) -> None:
        for chunk in tool_result_chunks(spec, before, after):
            tell(chunk)

    return observe
