"""The agents by which a host is checked: each does one thing, from what the conversation says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from attrs import evolve

from detent.adapters.agent.agent import Agent
from detent.adapters.agent.agent_tool import AgentTool
from detent.adapters.confirmation.policies import (
    AlwaysAskPolicy,
    AskAbove,
    AskOncePolicy,
    WithQuestionOptions,
)
from detent.adapters.tools.decorator import tool
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.core.control.hooks import ToolAnswer, after_tool
from detent.core.run.effects import RunTool
from detent.core.run.events import ToolReturned
from detent.core.run.run import Run
from detent.core.tools.retries import Retries
from detent.ports.chat import ChatGeneratorError, StreamingCallback, StreamingChunk

PAUSE_S = 0.01
NAP_S = 0.5
"""Long enough for somebody to say something meanwhile."""
EXPIRES_S = 0.5
ARGUMENTS: dict[str, dict[str, object]] = {
    "pay": {"amount": 5},
    "give": {"amount": 5},
    "lend": {"amount": 5},
    "helper": {"task": "pay"},
}


@tool(inputs_from_state={"account": "account"})
def pay(amount: int, account: str = "none", note: str = "thanks") -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def sleep() -> str:
    """Sleep for long."""
    await asyncio.sleep(600)
    return "slept"


@tool
def give(amount: int) -> str:
    """Pay, without an account."""
    return f"gave {amount}"


@tool
def lend(amount: int) -> str:
    """Pay, to have it back."""
    return f"lent {amount}"


@tool
async def nap() -> str:
    """Sleep for a moment."""
    await asyncio.sleep(NAP_S)
    return "slept"


@tool(retries=Retries(1, backoff_s=0.2))
def fail() -> str:
    """Fail."""
    raise OSError("down")


@after_tool
def see(call: RunTool, event: ToolAnswer, run: Run[Any]) -> ToolAnswer:
    """Say that a hook has seen it."""
    if not isinstance(event, ToolReturned):
        return event
    return evolve(event, result=evolve(event.result, content=f"{event.result.content}, seen"))


def host_agents(*, has_hooks: bool = True) -> dict[str, Agent[Any, Any]]:
    """The agents that a host must have for `check_host`, by name; new ones each time.

    They need no network, and keep nothing: any process may go on with their runs.

    Args:
        has_hooks: whether there is one with hooks, "hooked", among them.
    """
    clerk = Agent(
        chat_generator=_Caller("pay"),
        tools=[pay],
        state_schema={"account": {"type": str}},
        confirmation_strategies={"pay": AskAbove("amount", 1)},
    )
    asks = AlwaysAskPolicy()
    giver = Agent(
        chat_generator=_Caller("give"), tools=[give], confirmation_strategies={"give": asks}
    )
    helper = AgentTool(giver, name="helper", description="gives")
    lender = giver.evolve(
        chat_generator=_Caller("give", "lend"),
        tools=[give, lend],
        confirmation_strategies={"give": asks, "lend": asks},
    )
    agents = {
        "echo": Agent(chat_generator=_Echo()),
        "clerk": clerk,
        "sleeper": Agent(chat_generator=_Caller("sleep"), tools=[sleep]),
        "failing": Agent(chat_generator=_Failing(), model_retries=0),
        "boss": Agent(chat_generator=_Caller("helper"), tools=[helper]),
        "chief": Agent(
            chat_generator=_Caller("helper"),
            tools=[AgentTool(lender, name="helper", description="gives and lends")],
        ),
        "learner": giver.evolve(
            chat_generator=_Caller("give", "give"),
            confirmation_strategies={"give": AskOncePolicy()},
        ),
        "hasty": giver.evolve(
            confirmation_strategies={"give": WithQuestionOptions(asks, expires_s=EXPIRES_S)}
        ),
        "stubborn": Agent(chat_generator=_Caller("fail"), tools=[fail]),
        "reader": Agent(chat_generator=_Reader(), tools=[nap]),
    }
    if has_hooks:
        agents["hooked"] = Agent(chat_generator=_Caller("give"), tools=[give], hooks=[see])
    return agents


class _Echo:
    """Says what was said, word by word, and how often something was said by now."""

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        streaming_callback: StreamingCallback | None = None,
        **options: object,
    ) -> ChatReply:
        texts = [message.text or "" for message in messages if message.role == "user"]
        words = [*texts[-1].split(), f"({len(texts)})"]
        for word in words:
            if streaming_callback is not None:
                streaming_callback(StreamingChunk(f"{word} ", start=word is words[0]))
            await asyncio.sleep(PAUSE_S)
        return ChatReply(ChatMessage.from_assistant(" ".join(words)))


class _Caller:
    """Calls one tool after the other, with the amount of 5, and says what has come of it."""

    def __init__(self, *tool_names: str) -> None:
        self._names = tool_names

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        results = [result for message in messages for result in message.tool_call_results]
        if len(results) >= len(self._names):
            text = ", ".join(result.text or "" for result in results)
            return ChatReply(ChatMessage.from_assistant(f"Done: {text}"))
        name = self._names[len(results)]
        call = ToolCall(name, ARGUMENTS.get(name, {}))
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))


class _Reader:
    """Has a nap, and then says all that users have said."""

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        if not any(message.tool_call_results for message in messages):
            return ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("nap", {})]))
        texts = [message.text or "" for message in messages if message.role == "user"]
        return ChatReply(ChatMessage.from_assistant(", ".join(texts)))


class _Failing:
    """Never answers."""

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        raise ChatGeneratorError(ModelFailure("bad_request", "the model takes no such request"))
