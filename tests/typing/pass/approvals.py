"""Every kind of policy and strategy is taken where one is wanted."""

from __future__ import annotations

from detent import (
    Agent,
    AlwaysAskPolicy,
    AskAbove,
    AskAfter,
    BlockingConfirmationStrategy,
    BreakpointConfirmationStrategy,
    ScriptedChatGenerator,
    SimpleConsoleUI,
    State,
    Tool,
    ToolCall,
)
from detent.approvals import Allow, Ask
from detent.core.run.approval import Verdict
from detent.machine import Run


def mine(call: ToolCall, tool: Tool, run: Run[State]) -> Verdict:
    return Ask("why not") if call.arguments else Allow()


async def slow(call: ToolCall, tool: Tool, run: Run[State]) -> Verdict:
    return Allow()


Agent(
    chat_generator=ScriptedChatGenerator(),
    confirmation_strategies={"a": AskAbove("amount", 100), "*": AlwaysAskPolicy()},
)
Agent(chat_generator=ScriptedChatGenerator(), confirmation_strategies={"a": mine})
Agent(
    chat_generator=ScriptedChatGenerator(),
    confirmation_strategies={
        ("b", "c"): BlockingConfirmationStrategy(AskAbove("n", 1) | AskAfter(3), SimpleConsoleUI()),
        "d": BreakpointConfirmationStrategy(confirmation_policy=slow),
        "e": mine,
    },
)
by_name = {"d": BreakpointConfirmationStrategy()}
Agent(chat_generator=ScriptedChatGenerator(), confirmation_strategies=by_name)

# strategies of several kinds in a variable, with keys of both kinds
mixed = {
    "a": AlwaysAskPolicy(),
    "b": BlockingConfirmationStrategy(AlwaysAskPolicy(), SimpleConsoleUI()),
    ("c", "d"): BreakpointConfirmationStrategy(),
}
Agent(chat_generator=ScriptedChatGenerator(), confirmation_strategies=mixed)
