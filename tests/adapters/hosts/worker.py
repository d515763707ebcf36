"""A process that hosts runs until it is told to end, or is killed: ``worker.py STORE FOLDER``."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from detent import NEVER_RAN, Agent, ChatMessage, IdempotencyKey, SQLiteJournal, ToolCall, tool
from detent.hosts import LocalHost, serve_until_signal
from detent.journals import DirectoryJournal, Journal, PostgresJournal
from detent.models import ChatReply

TURNS = 3
STATEMENT_S = 8.0
"""Short, so that who stands still inside a transaction soon keeps nobody else from the run."""


class Script:
    """Books and pays in each of some turns, then it is done."""

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """The next reply."""
        await asyncio.sleep(0.01)
        turn = sum(message.role == "assistant" for message in messages)
        if turn == TURNS:
            return ChatReply(ChatMessage.from_assistant("done"))
        calls = [ToolCall("book", {"who": "Ann"}), ToolCall("pay", {"who": "Bob"})]
        return ChatReply(ChatMessage.from_assistant(tool_calls=calls))


def payer(folder: Path, rule: str = "look up", **options: Any) -> Agent[Any, Any]:
    """Pays two people at a time, one quickly, and writes down each payment by its key.

    The rule says what becomes of a payment of which nobody knows: "look up", or "ask"; where there
    is more of it, it is that of another release, which describes its tool by it. Each begin of a
    tool and each look is written down as well.
    """
    paid, noted = folder / "paid.txt", folder / "noted.txt"

    def note(what: str, key: IdempotencyKey) -> None:
        with noted.open("a") as file:
            file.write(f"{what} {key}\n")

    def look_up(arguments: object, key: IdempotencyKey) -> object:
        note("look", key)
        is_there = paid.exists() and f"{key}" in paid.read_text().split()
        return "paid" if is_there else NEVER_RAN

    def write_down(key: IdempotencyKey) -> None:
        with paid.open("a") as file:
            file.write(f"{key}\n")

    on_unknown: Any = "ask" if rule.startswith("ask") else look_up
    release = rule.removeprefix("ask").removeprefix("look up")

    @tool(on_unknown=on_unknown)
    def book(who: str, key: IdempotencyKey) -> str:
        """Pay, and be done at once: it is settled while the other one is at work."""
        note("begin", key)
        write_down(key)
        return "paid"

    @tool(on_unknown=on_unknown, description=f"Pay{release}.")
    def pay(who: str, key: IdempotencyKey) -> str:
        note("begin", key)
        time.sleep(0.02)
        (folder / "begun").touch()
        while (folder / "hold").exists():
            time.sleep(0.01)
        write_down(key)
        time.sleep(0.05)  # whoever is killed here has paid, and not said so
        return "paid"

    return Agent(chat_generator=Script(), tools=[book, pay], **options)


def journal_at(store: str) -> Journal:
    """The store that a text names."""
    if store.startswith("postgres"):
        return PostgresJournal(store, statement_s=STATEMENT_S)
    return SQLiteJournal(store) if store.endswith(".db") else DirectoryJournal(store)


def host_at(store: str, folder: Path) -> LocalHost:
    """A host of the store."""
    return LocalHost({"payer": payer(folder)}, journal_at(store), look_s=0.1)


def main(store: str, folder: str) -> None:
    """Host until the end."""
    host = host_at(store, Path(folder))
    number = asyncio.run(
        serve_until_signal(host, lambda: print("ready", flush=True))  # noqa: T201 - for the test
    )
    print(f"ended by {number}")  # noqa: T201 - as above


if __name__ == "__main__":
    main(*sys.argv[1:])
