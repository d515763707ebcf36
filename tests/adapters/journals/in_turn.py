"""One process of several that work on one run: ``python in_turn.py STORE PLACE DIE_IN_TURN``.

It begins the run, or goes on with it, pays once in each turn, and kills itself with SIGKILL in the
turn that is named, once the payment is made and before anybody is told. It prints what the model
says in the end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from detent import (
    NEVER_RAN,
    Agent,
    ChatMessage,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    create_tool_from_function,
)
from detent.journals import DirectoryJournal, Journal, PostgresJournal, RunNotFoundError

STORES: dict[str, Callable[[Path], Journal]] = {
    "directory": lambda place: DirectoryJournal(place / "runs"),
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
    "postgres": lambda place: PostgresJournal(os.environ["DETENT_TEST_POSTGRES"]),
}
TURNS = 4
RUN = "in turn"


def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """The model: a payment in each turn, then what has come of them."""
    paid = [one.text for message in messages for one in message.tool_call_results]
    if len(paid) == TURNS:
        return ", ".join(paid)
    return ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {"n": len(paid) + 1})])


def main() -> None:
    """Work on the run until it ends, or this process does."""
    store, place, die_in = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    ledger = place / "ledger"

    def pay(n: int) -> str:
        """Pay."""
        with ledger.open("a") as file:
            file.write(f"{n} by {os.getpid()}\n")
        if n == die_in:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"paid {n}"

    def look_up(arguments: dict[str, Any], key: str) -> object:
        n = arguments["n"]
        return f"paid {n}" if f"{n} by" in ledger.read_text() else NEVER_RAN

    agent = Agent(
        chat_generator=ScriptedChatGenerator(*[answer] * (TURNS + 1)),
        tools=[create_tool_from_function(pay, on_unknown=look_up)],
        journal=STORES[store](place),
    )
    try:
        result = agent.resume(RUN)
    except RunNotFoundError:
        result = agent.run("pay", run_id=RUN)
    print(result.text)  # noqa: T201 - for the process that has begun this one


if __name__ == "__main__":
    main()
