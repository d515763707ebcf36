"""A store that is interrupted cancels no tool at work, and loses no outcome."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from detent import Agent, ChatMessage, ScriptedChatGenerator, ToolCall, tool
from detent.journals import Checkpoint, Entry, Journal, JournalError, MemoryJournal, SQLiteJournal
from detent.ports.laws.breaking import PATIENCE_S

RUN = "r"
RAISED: dict[type[BaseException], type[BaseException]] = {
    KeyboardInterrupt: KeyboardInterrupt,
    SystemExit: SystemExit,
    GeneratorExit: JournalError,
    CancelledError: JournalError,
}
"""What a store raises, and what whoever drives the run sees of it."""
APPENDS = 3
"""So many there are at least; there are more where the tools do not end together."""
Ways = dict[str, Callable[[Agent[Any]], Any]]
WAYS: Ways = {
    "blocking": lambda agent: agent.run("go", run_id=RUN),
    "async": lambda agent: asyncio.run(agent.run_async("go", run_id=RUN)),
}


class Interrupted:
    """A journal whose append is interrupted, once, behind its work or before it."""

    def __init__(self, journal: Journal, at: int, kind: type[BaseException], how: str) -> None:
        self.journal, self.left, self.kind, self.how = journal, at, kind, how

    def __getattr__(self, name: str) -> Any:
        return getattr(self.journal, name)

    @property
    def submit(self) -> Any:
        """The same for an event loop, where that does not write itself."""
        return self._submitted if self.how == "submitted" else None

    def _submitted(self, *new: Any) -> Future[None]:
        future = Future[None]()
        try:
            self.append(*new)
        except BaseException as error:  # noqa: BLE001 - as a writer does
            future.set_exception(error)
        else:
            future.set_result(None)
        return future

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says, but for once."""
        self.left -= 1
        is_now = self.left == 0
        if is_now and self.how == "before":
            raise self.kind
        self.journal.append(run_id, entries, checkpoint)
        if is_now:
            raise self.kind


def agent_on(journal: Any, ran: list[str]) -> Agent[Any]:
    """One whose two tools are at work together."""
    together = Barrier(2)

    @tool
    def slow(name: str) -> str:
        """Work."""
        together.wait(PATIENCE_S)
        ran.append(name)
        return name

    def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
        if any(message.role == "tool" for message in messages):
            return "done"
        calls = [ToolCall("slow", {"name": name}, name) for name in ("a", "b")]
        return ChatMessage.from_assistant(tool_calls=calls)

    chat = ScriptedChatGenerator(*[answer] * 4)
    return Agent(chat_generator=chat, tools=[slow], journal=journal)


@pytest.mark.parametrize("kind", RAISED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("how", ["before", "behind", "submitted"])
@pytest.mark.parametrize("way", WAYS)
def test_an_interrupted_store_loses_nothing(
    kind: type[BaseException], how: str, way: str, tmp_path: Path
) -> None:
    """At whichever append: what was begun has its outcome, and runs once."""
    for at in range(1, 7):
        store: Journal = MemoryJournal() if at % 2 else SQLiteJournal(tmp_path / f"{at}.db")
        ran: list[str] = []
        journal = Interrupted(store, at, kind, how)
        with pytest.raises(RAISED[kind]) if at <= APPENDS else suppress(RAISED[kind]):
            WAYS[way](agent_on(journal, ran))
        kinds = [entry.kind for entry in store.read(RUN)]
        assert kinds.count("ToolStarted") == kinds.count("ToolReturned") == len(ran)

        result = agent_on(store, ran).resume(RUN)

        assert result.text == "done"
        assert sorted(ran) == ["a", "b"]
