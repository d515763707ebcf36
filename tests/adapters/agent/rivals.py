"""A process that drives a run, and is blocked in its tool, or frozen just before it.

``python rivals.py STORE FOLDER blocked|frozen``, where the store is a directory, an SQLite file or
the URL of a PostgreSQL server.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from detent import (
    NEVER_RAN,
    Agent,
    ChatMessage,
    FencingToken,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.journals import DirectoryJournal, Journal, PostgresJournal, RunBusyError
from detent.machine import ToolStarted
from detent.models import ChatReply

RUN = "rivals"


def journal_at(store: str) -> Journal:
    """The store that a text names."""
    if store.startswith("postgres"):
        return PostgresJournal(store)
    return SQLiteJournal(store) if store.endswith(".db") else DirectoryJournal(store)


class Script:
    """Pays once, then it is done."""

    def run(self, messages: Any, **options: object) -> ChatReply:
        """The next reply."""
        if len(messages) > 1:
            return ChatReply(ChatMessage.from_assistant("done"))
        return ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {})]))


def freeze(before: object, event: object, after: object) -> None:
    """Stop once it is recorded that a tool begins: the signal is there before this returns."""
    if isinstance(event, ToolStarted):
        os.kill(os.getpid(), signal.SIGSTOP)


def agent_on(store: str, folder: Path, how: str = "") -> Agent[Any, Any]:
    """Who pays, and writes down who has paid with which token."""

    @tool(on_unknown=lambda arguments, key: NEVER_RAN)
    def pay(token: FencingToken) -> str:
        """Pay."""
        if how == "blocked":
            (folder / "begun").write_text("")  # a pipe: whoever reads it knows that we are here
            (folder / "never").read_text()
        with (folder / "done.txt").open("a") as done:
            done.write(f"{os.getpid()} {token}\n")
        return "paid"

    return Agent(
        chat_generator=Script(),
        tools=[pay],
        journal=journal_at(store),
        claim_s=0.3 if how == "frozen" else 15.0,
        observers=[freeze] if how == "frozen" else [],
    )


def main(store: str, folder: str, how: str) -> None:
    """Drive the run, and say how that ended."""
    try:
        said = str(agent_on(store, Path(folder), how).run("pay", run_id=RUN).text)
    except RunBusyError as busy:
        said = str(busy)
    sys.stdout.write(said)


if __name__ == "__main__":
    main(*sys.argv[1:])
