"""The agents by which a host is checked: each does one thing, from what the conversation says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from detent.adapters.agent.agent import Agent
from detent.adapters.confirmation.policies import AskAbove
from detent.adapters.tools.decorator import tool
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.ports.chat import ChatGeneratorError, StreamingCallback, StreamingChunk

PAUSE_S = 0.01


@tool(inputs_from_state={"account": "account"})
def pay(amount: int, account: str = "none", note: str = "thanks") -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def sleep() -> str:
    """Sleep for long."""
    await asyncio.sleep(600)
    return "slept"


def host_agents() -> dict[str, Agent[Any, Any]]:
    """The agents that a host must have for `check_host`, by name; new ones each time.

    They need no network, and keep nothing: any process may go on with their runs.
    """
    clerk = Agent(
        chat_generator=_Caller("pay"),
        tools=[pay],
        state_schema={"account": {"type": str}},
        confirmation_strategies={"pay": AskAbove("amount", 1)},
    )
    return {
        "echo": Agent(chat_generator=_Echo()),
        "clerk": clerk,
        "sleeper": Agent(chat_generator=_Caller("sleep"), tools=[sleep]),
        "failing": Agent(chat_generator=_Failing(), model_retries=0),
    }


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
    """Calls one tool, with the amount of 5, and says what has come of it."""

    def __init__(self, tool_name: str) -> None:
        self._name = tool_name

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        results = [result for message in messages for result in message.tool_call_results]
        if results:
            return ChatReply(ChatMessage.from_assistant(f"Done: {results[0].text}"))
        arguments = {"amount": 5} if self._name == "pay" else {}
        call = ToolCall(self._name, arguments)
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))


class _Failing:
    """Never answers."""

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        raise ChatGeneratorError(ModelFailure("bad_request", "the model takes no such request"))
