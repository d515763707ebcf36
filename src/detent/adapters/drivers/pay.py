"""Paying: an effect is handed to the port that can perform it, and what came of it becomes an
event.

The two colours differ only in who waits; what an answer or an exception means is said once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from attrs import field, frozen

from detent.core.arguments import arguments_for
from detent.core.effects import AskHuman, AskModel, Effect, RunTool
from detent.core.events import (
    Event,
    HumanDecided,
    ModelFailed,
    ModelReplied,
    ToolRaised,
    ToolReturned,
)
from detent.core.frozen import thaw
from detent.core.replies import ChatReply, ModelFailure
from detent.core.results import ToolFault, result_of
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    ChatGeneratorError,
    StreamingCallback,
)
from detent.ports.confirmation import ConfirmationUI, ConfirmationUIResult, decision_of
from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor


@frozen
class Purse:
    """The ports that one run's effects are paid from.

    `uis` says by tool name who is asked; a question about any other tool stays unpaid, and what a
    UI raises is raised. `errors` keeps what the other ports raised, by the failure that the run
    knows.
    """

    chat: ChatGenerator | AsyncChatGenerator
    tools: ToolExecutor | AsyncToolExecutor
    uis: Mapping[str, ConfirmationUI] = field(factory=dict)
    streaming_callback: StreamingCallback | None = None
    errors: dict[ModelFailure | ToolFault, BaseException] = field(factory=dict)

    def pay(self, effect: Effect) -> Event | None:
        """Perform `effect`, blocking. None says that nobody here can."""
        try:
            match effect:
                case AskModel():
                    return ModelReplied(effect.turn, effect.attempt, self._ask(effect))
                case RunTool():
                    return _returned(effect, self._run(effect))
                case AskHuman():
                    ui = self.uis.get(effect.tool.name)
                    return None if ui is None else _decided(effect, _consult(ui, effect))
        except (Exception, asyncio.CancelledError) as error:
            return self._failed(effect, error)

    async def pay_async(self, effect: Effect) -> Event | None:
        """As `pay`, without blocking the event loop."""
        try:
            match effect:
                case AskModel():
                    return ModelReplied(effect.turn, effect.attempt, await self._ask_async(effect))
                case RunTool():
                    return _returned(effect, await self._run_async(effect))
                case AskHuman():
                    ui = self.uis.get(effect.tool.name)
                    if ui is None:
                        return None
                    return _decided(effect, await asyncio.to_thread(_consult, ui, effect))
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            return self._failed(effect, error)

    def _ask(self, effect: AskModel) -> ChatReply:
        if not hasattr(self.chat, "run"):
            return asyncio.run(self._ask_async(effect))
        return self.chat.run(
            effect.messages,
            tools=effect.tools,
            generation_kwargs=effect.generation_kwargs,
            streaming_callback=self.streaming_callback,
        )

    async def _ask_async(self, effect: AskModel) -> ChatReply:
        if not hasattr(self.chat, "run_async"):
            return await asyncio.to_thread(self._ask, effect)
        return await self.chat.run_async(
            effect.messages,
            tools=effect.tools,
            generation_kwargs=effect.generation_kwargs,
            streaming_callback=self.streaming_callback,
        )

    def _run(self, effect: RunTool) -> object:
        if not hasattr(self.tools, "execute"):
            return asyncio.run(self._run_async(effect))
        return self.tools.execute(
            effect.tool, arguments_for(effect.tool, effect.call, effect.state)
        )

    async def _run_async(self, effect: RunTool) -> object:
        if not hasattr(self.tools, "execute_async"):
            return await asyncio.to_thread(self._run, effect)
        arguments = arguments_for(effect.tool, effect.call, effect.state)
        return await self.tools.execute_async(effect.tool, arguments)

    def _failed(self, effect: Effect, error: BaseException) -> Event:
        match effect:
            case AskModel():
                failure = _failure(error)
                self.errors[failure] = error
                return ModelFailed(effect.turn, effect.attempt, failure)
            case RunTool():
                fault = _fault(effect, error)
                self.errors[fault] = error
                return ToolRaised(effect.ref, effect.attempt, fault)
            case AskHuman():
                raise error


def _returned(effect: RunTool, value: object) -> Event:
    return ToolReturned(effect.ref, effect.attempt, result_of(effect.tool, value))


def _consult(ui: ConfirmationUI, effect: AskHuman) -> ConfirmationUIResult:
    shown = dict(effect.call.arguments)
    return ui.get_user_confirmation(
        effect.tool.name, effect.tool.description, {key: thaw(shown[key]) for key in shown}
    )


def _decided(effect: AskHuman, said: ConfirmationUIResult) -> Event | None:
    decision = decision_of(said)
    return None if decision is None else HumanDecided(effect.ref, effect.digest, decision)


def _is_cancelled() -> bool:
    """Whether somebody cancelled this task: a CancelledError of a tool's own making is a failure."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failure(error: BaseException) -> ModelFailure:
    if isinstance(error, ChatGeneratorError):
        return error.failure
    return ModelFailure("bug", f"the chat generator raised {type(error).__name__}: {error}")


def _fault(effect: RunTool, error: BaseException) -> ToolFault:
    call = effect.call
    text = (
        f"Failed to invoke Tool `{call.tool_name}` with parameters {call.arguments}. "
        f"Error: {type(error).__name__}: {error}"
    )
    return ToolFault("raised", text)
