"""Performing: an effect is handed to a port that performs it, and what came of it becomes an event.

The two colours differ only in who waits; what an answer or an exception means is said once.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from inspect import isawaitable
from typing import Any, Never, cast

from attrs import Factory, evolve, field, frozen

from detent.adapters.drivers.callbacks import (
    AttemptStream,
    CallbackDispatcher,
    PieceListener,
    both_told,
)
from detent.adapters.drivers.judging import judge_async, judge_at_once
from detent.adapters.drivers.leases import Lease
from detent.adapters.drivers.questions import asked, asked_async
from detent.adapters.system.clocks import SystemClock
from detent.adapters.system.failures import by_itself, is_stop
from detent.adapters.system.threads_and_loops import (
    await_in_background,
    in_a_thread,
    in_background,
    to_its_end,
)
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.core.errors import require_failure
from detent.core.run.approval import Ask
from detent.core.run.effects import (
    AskHuman,
    AskModel,
    Effect,
    EffectKey,
    Judge,
    Reconcile,
    RunTool,
    WaitUntil,
)
from detent.core.run.events import (
    ClockTicked,
    Event,
    Judged,
    ModelFailed,
    ModelReplied,
    ToolLost,
    ToolNeverRan,
    ToolRaised,
    ToolReturned,
)
from detent.core.run.sizes import are_large, hides_much, takes_long
from detent.core.tools.idempotency import NO_KEY, NeverRan
from detent.core.tools.invocation import Invocation
from detent.core.tools.masking import with_secrets_marked
from detent.core.tools.result import ToolFault
from detent.core.tools.tool import Tool
from detent.core.values.frozen import ATOMS, thaw
from detent.ports.approvers import Authenticator
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    ChatGeneratorError,
    StreamingCallback,
    require_awaitable,
    require_reply,
)
from detent.ports.clock import Clock
from detent.ports.confirmation import ConfirmationStrategy, ConfirmationUI
from detent.ports.stopping import Stop
from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor


def _dispatcher_of(performer: EffectPerformer) -> CallbackDispatcher | None:
    callback = performer.streaming_callback
    return None if callback is None else CallbackDispatcher(callback)


def _no_effect(value: Never) -> TypeError:
    return TypeError(f"perform takes one effect of due(spec, run); got {type(value).__name__}")


@frozen
class EffectPerformer:
    """The ports that perform one run's effects.

    `uis` says by tool name, or "*", who is asked; any other question stays open. `price` says
    what a reply has cost. What a UI or `price` raises is raised; `errors` keeps what the other
    ports raised, by the failure that the run knows. `clock` and `chance`, a number from 0 to 1, are
    read where a call may be tried again. `lease` says that the run is ours: no tool begins without
    a look at it. `listener` is told each piece of an answer, and of which. `dispatcher` hands
    pieces to the callback and knows what that has raised.
    """

    chat: ChatGenerator | AsyncChatGenerator
    tools: ToolExecutor | AsyncToolExecutor
    uis: Mapping[str, ConfirmationUI | ConfirmationStrategy] = field(factory=dict)
    streaming_callback: StreamingCallback | None = None
    errors: dict[ModelFailure, BaseException] = field(factory=dict)
    clock: Clock = field(factory=SystemClock)
    chance: Callable[[], float] = random.random
    price: Callable[[ChatReply], float] | None = None
    lease: Lease | None = None
    approvers: Authenticator | None = None
    listener: PieceListener | None = None
    dispatcher: CallbackDispatcher | None = field(
        init=False, repr=False, default=Factory(_dispatcher_of, takes_self=True)
    )
    _stops: dict[EffectKey, Stop] = field(factory=dict, init=False, repr=False)

    def perform(self, effect: Effect) -> Event | None:
        """Perform `effect`, blocking. None says that nobody here can."""
        match effect:
            case AskModel():
                return self._ask(effect)
            case RunTool():
                return self._run(effect)
            case Reconcile():
                return _reconciled(effect, self.clock)
            case WaitUntil():
                return self._wait(effect)
            case Judge():
                return self._timed(effect, judge_at_once(effect))
            case AskHuman():
                ui = self.uis.get(effect.tool.name, self.uis.get("*"))
                return None if ui is None else asked(ui, effect, self.clock, self.approvers)
            case _:
                raise _no_effect(effect)

    def perform_async(self, effect: Effect) -> Coroutine[Any, Any, Event | None]:
        """As `perform`, without blocking the event loop."""
        match effect:
            case AskModel():
                return self._ask_async(effect)
            case RunTool():
                return self._run_async(effect)
            case Reconcile():
                return _reconciled_async(effect, self.clock)
            case WaitUntil():
                return self._wait_async(effect)
            case Judge():
                return self._judge_async(effect)
            case AskHuman():
                return self._consult_async(effect)
            case _:
                raise _no_effect(effect)

    async def _judge_async(self, effect: Judge) -> Event:
        return self._timed(effect, await judge_async(effect))

    async def _consult_async(self, effect: AskHuman) -> Event | None:
        ui = self.uis.get(effect.tool.name, self.uis.get("*"))
        return None if ui is None else await asked_async(ui, effect, self.clock, self.approvers)

    def _timed(self, effect: Judge, judged: Judged) -> Judged:
        """The verdict with the time, where the question may expire, or what answers it."""
        if not isinstance(judged.verdict, Ask):
            return judged
        ends = (judged.verdict.expires_s, *(grant.expires_at for grant in effect.run.grants))
        return judged if ends.count(None) == len(ends) else evolve(judged, at=self.clock.now())

    def drop(self, effect: Effect) -> None:
        """Nobody waits any longer for an effect that `perform` is performing.

        A coroutine is cancelled. A thread cannot be stopped, but it may heed `when_stopped`, and
        what it does to its state is void.
        """
        self._stops.setdefault(effect.key, Stop()).set()

    def _ask(self, effect: AskModel) -> Event:
        pieces = self._pieces(effect, None)
        stop = self._stops.setdefault(effect.key, Stop())
        if pieces is not None:
            stop.then(pieces.end)
        try:
            reply = self._answer(effect, pieces, stop)
        except BaseException as error:  # noqa: BLE001 - becomes an event
            require_failure(error)
            return self._unanswered(effect, error, pieces)
        finally:
            if pieces is not None:
                pieces.end()
            del self._stops[effect.key]
        return self._replied(effect, reply)

    async def _ask_async(self, effect: AskModel) -> Event:
        pieces = self._pieces(effect, asyncio.get_running_loop())
        try:
            if hasattr(self.chat, "run_async"):
                reply = await self._answer_async(effect, pieces)
            else:
                reply = await self._answer_in_thread(effect, pieces)
        except BaseException as error:
            if is_stop(error):
                raise
            return self._unanswered(effect, error, pieces)
        finally:
            if pieces is not None:
                pieces.end()
        return self._replied(effect, reply)

    def _answer(self, effect: AskModel, pieces: AttemptStream | None, stop: Stop) -> ChatReply:
        if not hasattr(self.chat, "run"):
            return await_in_background(self._answer_async(effect, pieces), stop)
        with stop:
            chat: Any = self.chat
            reply = chat.run(
                effect.messages,
                tools=effect.tools,
                generation_kwargs=effect.generation_kwargs,
                streaming_callback=pieces,
            )
        return self._whole(reply, pieces)

    async def _answer_async(self, effect: AskModel, pieces: AttemptStream | None) -> ChatReply:
        chat: Any = self.chat
        reply: Awaitable[ChatReply] = chat.run_async(
            effect.messages,
            tools=effect.tools,
            generation_kwargs=effect.generation_kwargs,
            streaming_callback=pieces,
        )
        return self._whole(await by_itself(require_awaitable(reply, chat)), pieces)

    async def _answer_in_thread(self, effect: AskModel, pieces: AttemptStream | None) -> ChatReply:
        stop = Stop()
        try:
            return await in_a_thread(partial(self._answer, effect, pieces, stop))
        except asyncio.CancelledError:
            stop.set()  # a thread may go on with it
            raise

    def _pieces(
        self, effect: AskModel, loop: asyncio.AbstractEventLoop | None
    ) -> AttemptStream | None:
        """Where the pieces of an answer go, if anybody listens."""
        if self.dispatcher is not None:
            self.dispatcher.loop = loop
        elif self.listener is None:  # nearly always, and quickly seen
            return None
        told = both_told(self.dispatcher, self.listener, effect.key)
        return None if told is None else AttemptStream(told, effect.secrets())

    def _whole(self, reply: object, pieces: AttemptStream | None) -> ChatReply:
        """The reply, if it is one, and whoever has heard its pieces knows that it is whole."""
        whole = require_reply(reply, self.chat)
        if pieces is not None:
            pieces.complete(whole)
        return whole

    def _replied(self, effect: AskModel, reply: ChatReply) -> Event:
        cost = 0.0 if self.price is None else self.price(reply)
        if secret := effect.secrets():
            reply = evolve(reply, message=with_secrets_marked(reply.message, secret))
        return ModelReplied(effect.turn, effect.attempt, reply, cost)

    def _unanswered(
        self, effect: AskModel, error: BaseException, pieces: AttemptStream | None
    ) -> Event:
        if pieces is not None:
            pieces.take_back()
        failure = _failure(error)
        self.errors[failure] = error
        if not failure.retryable:
            return ModelFailed(effect.turn, effect.attempt, failure)
        return ModelFailed(effect.turn, effect.attempt, failure, self.clock.now(), self.chance())

    def _run(self, effect: RunTool) -> Event:
        if self.lease is not None:
            self.lease.require()
        invocation = _invocation(effect, self.lease)
        stop = self._stops.setdefault(effect.key, Stop())
        stop.then(invocation.end)  # before the arguments: given up while they are made, it must end
        try:
            with stop:
                value = self._execute(effect.tool, invocation.arguments(), stop)
            return ToolReturned(effect.ref, effect.attempt, invocation.result(value))
        except BaseException as error:  # noqa: BLE001 - an event
            require_failure(error)
            return self._raised(effect, invocation.fault(error))
        finally:
            invocation.end()
            del self._stops[effect.key]

    def _execute(self, tool: Tool, arguments: Mapping[str, object], stop: Stop) -> object:
        tools: Any = self.tools
        is_async = tool.signature.is_async or not hasattr(tools, "execute")
        in_loop = is_async and hasattr(tools, "execute_async")
        value: object = (tools.execute_async if in_loop else tools.execute)(tool, arguments)
        if type(value) in ATOMS:  # most are: to ask whether it can be awaited takes far longer
            return value
        return await_in_background(value, stop) if isawaitable(value) else value

    async def _run_async(self, effect: RunTool) -> Event:
        if not (self.lease is None or self.lease.may_begin):
            await in_a_thread(self.lease.require)
        invocation, stop = _invocation(effect, self.lease), Stop()
        tools: Any = self.tools
        try:
            make = invocation.arguments
            arguments = await in_a_thread(make) if are_large([effect.call]) else make()
            with stop:
                if hasattr(tools, "execute_async"):
                    values = [await by_itself(tools.execute_async(effect.tool, arguments))]
                else:
                    call = partial(self._execute, effect.tool, arguments, stop)
                    values = [await in_a_thread(call)]
            is_long = takes_long(values) or hides_much(effect, values[0])
            conclude = partial(invocation.conclude, values)
            # RULE: whoever is cancelled now hears of the result all the same: else it would be lost
            result = await to_its_end(conclude) if is_long else conclude()
            return ToolReturned(effect.ref, effect.attempt, result)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                stop.set()  # a thread may go on with it
            if is_stop(error):
                raise
            # In a thread: to take secrets out of a long text must not stop all that runs beside.
            return self._raised(effect, await in_a_thread(partial(invocation.fault, error)))
        finally:
            invocation.end()

    def _raised(self, effect: RunTool, fault: ToolFault) -> Event:
        if fault.kind == "unknown_outcome":
            return ToolLost(effect.ref, effect.attempt, fault.message, self.clock.now())
        if not (fault.retryable and effect.tool.retries.times):
            return ToolRaised(effect.ref, effect.attempt, fault)
        return ToolRaised(effect.ref, effect.attempt, fault, self.clock.now(), self.chance())

    def _wait(self, effect: WaitUntil) -> Event:
        dropped = threading.Event()
        self._stops.setdefault(effect.key, Stop()).then(dropped.set)
        self.clock.wait(effect.at, dropped)
        del self._stops[effect.key]
        return self._ticked(effect)

    async def _wait_async(self, effect: WaitUntil) -> Event:
        await self.clock.wait_async(effect.at)
        return self._ticked(effect)

    def _ticked(self, effect: WaitUntil) -> Event:
        return ClockTicked(max(self.clock.now(), effect.at), self.chance())


def _invocation(effect: RunTool | Reconcile, lease: Lease | None = None) -> Invocation:
    epoch = 0 if lease is None else lease.claim.epoch
    key = effect.idempotency_key if effect.tool.signature.keys else NO_KEY
    return Invocation(effect.tool, effect.call, effect.state, key, epoch)


def _reconciled(effect: Reconcile, clock: Clock) -> Event:
    try:
        found = _lookup(effect)()
        return _found(effect, in_background(found).result() if isawaitable(found) else found, clock)
    except BaseException as error:  # noqa: BLE001 - an event
        require_failure(error)
        return _not_found(effect, error)


async def _reconciled_async(effect: Reconcile, clock: Clock) -> Event:
    try:
        found = await in_a_thread(_lookup(effect))
        found = await found if isawaitable(found) else found
        return await in_a_thread(partial(_found, effect, found, clock))
    except BaseException as error:
        if is_stop(error):
            raise
        return await in_a_thread(partial(_not_found, effect, error))


def _lookup(effect: Reconcile) -> Callable[[], object]:
    look_up = cast(Callable[..., object], effect.tool.on_unknown)
    return partial(look_up, thaw(effect.call.arguments), effect.idempotency_key)


def _found(effect: Reconcile, value: object, clock: Clock) -> Event:
    if isinstance(value, NeverRan):
        return ToolNeverRan(effect.ref, effect.attempt, clock.now())
    return ToolReturned(effect.ref, effect.attempt, _invocation(effect).result(value))


def _not_found(effect: Reconcile, error: BaseException) -> Event:
    """A lookup that fails, or finds what is no result, says nothing: the run asks a human."""
    return ToolRaised(effect.ref, effect.attempt, _invocation(effect).unknown(error))


def _failure(error: BaseException) -> ModelFailure:
    if isinstance(error, ChatGeneratorError):
        return error.failure
    return ModelFailure("bug", f"the chat generator raised {type(error).__name__}: {error}")
