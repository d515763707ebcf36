"""Agents to serve in a process of their own; the folder is the current one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from detent import Agent, AlwaysAskPolicy, ScriptedChatGenerator, ToolCall, tool


@tool
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    with Path("paid.txt").open("a") as file:
        file.write(f"{to} {amount}\n")
    return f"paid {to}"


def agents() -> dict[str, Agent[Any, Any]]:
    """A clerk who wants to pay Ann."""
    script = ScriptedChatGenerator(
        lambda messages: (
            "Done."
            if messages[-1].tool_call_results
            else ToolCall("pay", {"to": "Ann", "amount": 5}, "c1")
        ),
        "Done.",
    )
    rules = {"pay": AlwaysAskPolicy()}
    return {"clerk": Agent(chat_generator=script, tools=[pay], confirmation_strategies=rules)}
