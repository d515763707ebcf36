"""Triage of tickets: agents in worker processes, to which Temporal gives the tickets.

What is queued is the id of a run. The run itself is in a journal that all processes reach, so a
worker that is killed loses nothing: the next one looks up on the board whether the ticket that was
under way is there, and goes on. The same ticket sent twice is one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from detent import (
    NEVER_RAN,
    Agent,
    ChatMessage,
    IdempotencyKey,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    chat_generator,
    tool,
)
from detent.approvals import AskWhen
from detent.hosts import HostRefusal, TemporalHost, serve_until_signal
from detent.models import ChatGenerator
from detent.testing import When

Level = Literal["urgent", "normal"]
PROMPT = (
    "You triage tickets of a help desk. Put each on the board by the tool, once: urgent where "
    "people or machines are in danger, else normal. Then say in one sentence what you have done."
)


class Board:
    """Where people look: a line of JSON for each ticket, appended in one write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def put(self, key: str, ticket: str, level: str) -> None:
        """Write a ticket down. It does not look whether it is there already."""
        with self.path.open("ab", buffering=0) as lines:
            lines.write(json.dumps([key, ticket, level, os.getpid()]).encode() + b"\n")

    def tickets(self) -> dict[str, str]:
        """The number of each ticket, by its key."""
        lines = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        return {key: ticket for key, ticket, _, _ in lines}


def make_triage(board: Board, model: ChatGenerator, journal: SQLiteJournal | None = None) -> Agent:
    """The agent, the same in each worker; a host has a journal for it."""

    def look_up(arguments: Mapping[str, object], key: str) -> object:
        """After a crash the board knows whether the ticket is there."""
        return "it is on the board" if key in board.tickets() else NEVER_RAN

    @tool(on_unknown=look_up)
    def put(ticket: str, level: Level, key: IdempotencyKey) -> str:
        """Put a ticket on the board. Somebody is woken for an urgent one.

        Args:
            ticket: its number.
            level: whether it can wait until the morning.
            key: the same for every attempt at this one call; the model does not see it.
        """
        board.put(key, ticket, level)
        return "it is on the board"

    urgent = AskWhen(lambda arguments: arguments["level"] == "urgent", "somebody will be woken")
    return Agent(
        name="triage",
        chat_generator=model,
        tools=[put],
        system_prompt=PROMPT,
        max_agent_steps=4,
        journal=journal,
        confirmation_strategies={"put": urgent},
    )


def agents() -> Agent:
    """What `detent runs decide` has to know of it: the tool, and its rule."""
    return make_triage(Board(Path("board.jsonl")), scripted())


def make_host(folder: Path, address: str, model: ChatGenerator, *, works: bool) -> TemporalHost:
    """A host on Temporal: a worker, or one that only begins runs."""
    triage = make_triage(Board(folder / "board.jsonl"), model)
    journal = SQLiteJournal(folder / "runs.db")
    return TemporalHost({"triage": triage}, journal, client=address, queue="triage", works=works)


async def send(host: TemporalHost, number: str, text: str) -> str:
    """Hand a ticket in; the same one again is the same run."""
    async with host:
        said = await host.start("triage", f"Ticket {number}: {text}", run_id=f"ticket-{number}")
        if isinstance(said, HostRefusal):
            return said.text
        return f"ticket {number} is {'taken' if said.is_new else 'known'}"


def scripted() -> ScriptedChatGenerator:
    """A stand-in for the model: it knows danger by one word."""

    def answer(messages: Sequence[ChatMessage]) -> ToolCall | str:
        text = messages[-1].text or ""
        number = re.match(r"Ticket (\w+):", text)
        if number is None:
            return "Done."
        level = "urgent" if "smoke" in text else "normal"
        return ToolCall("put", {"ticket": number[1], "level": level})

    return ScriptedChatGenerator(When(lambda _: True, answer))


def main() -> None:
    """Work until SIGTERM or Ctrl-C, or hand a ticket in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["work", "send"])
    parser.add_argument("ticket", nargs="*", help="with send: its number and its text")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--temporal", default="localhost:7233", metavar="HOST:PORT")
    parser.add_argument("--model", help="'local', 'openai:NAME' and so on; a script without it")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    model = chat_generator(options.model) if options.model else scripted()
    works = options.command == "work"
    if works == bool(options.ticket):
        parser.error("send takes a ticket's number and its text, work takes none")
    host = make_host(options.folder, options.temporal, model, works=works)
    if works:
        asyncio.run(serve_until_signal(host, lambda: print("ready", flush=True)))
    else:
        number, *words = options.ticket
        print(asyncio.run(send(host, number, " ".join(words))))


if __name__ == "__main__":
    main()
