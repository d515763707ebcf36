"""Tools without a model: an agent that makes one call, the one that it is told to make."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detent.adapters.agent.agent import Agent
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply
from detent.core.tools.tool import Tool


def agent_of_tools(tools: Iterable[Tool], **options: Any) -> Agent[Any, Any]:
    """An agent without a model: each run of it makes the one call that it is begun with.

    Such a call has all that a call of an agent has: policies, a question to a human, a journal. It
    is what `mcp_server` runs for the `tools` that it serves. Whoever may begin a run of it can call
    all its tools: serve its host by no other face than that. There each call bears all labels that
    anything of that host may bring along, as its client may hand on what another one has read.

    Args:
        tools: what may be called.
        options: as for `Agent`, without a model: `confirmation_strategies`, `journal`, `name`…
    """
    return Agent(chat_generator=_Caller(), tools=list(tools), **options)


def call_message(tool: str, arguments: Mapping[str, Any]) -> str:
    """What a run of such an agent is begun with."""
    return json.dumps({"tool": tool, "arguments": dict(arguments)})


class _Caller:
    """Makes the call that the user's message says, and ends once it has a result."""

    labels = ()

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """The next reply."""
        last = messages[-1]
        if last.tool_call_results:
            return ChatReply(ChatMessage.from_assistant("done"))
        request = json.loads(last.text or "")
        call = ToolCall(request["tool"], request["arguments"], "call")
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))
