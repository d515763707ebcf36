"""A host that ends while a tool is at work which does not end in time."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path

import pytest

from detent import Agent, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
from detent.adapters.hosts.engines.host import Mode
from detent.adapters.hosts.stored import StoredHost
from detent.hosts import DBOSHost, LocalHost
from tests.adapters.hosts.engines.sites import need_sqlite_for_dbos

PATIENCE_S = 30.0


@pytest.mark.parametrize("way", ["local", "legs", "effects"])
@pytest.mark.parametrize("is_hurried", [False, True], ids=["at the end of its time", "in a hurry"])
def test_a_call_that_is_left_is_told_of_once(
    way: str,
    is_hurried: bool,  # noqa: FBT001 - the case
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A thread cannot be ended: its tool may do its work, and nobody would know where to look."""
    need_sqlite_for_dbos()
    begun, hold = threading.Event(), threading.Event()

    @tool
    def pay() -> str:
        """Pay."""
        begun.set()
        hold.wait(PATIENCE_S)
        return "paid"

    script = ScriptedChatGenerator(ToolCall("pay", {}), "Done.")
    agents = {"it": Agent(chat_generator=script, tools=[pay])}
    journal = SQLiteJournal(tmp_path / "runs.db")
    drain_s = PATIENCE_S if is_hurried else 0.1

    def made() -> StoredHost:
        if way == "local":
            return LocalHost(agents, journal, drain_s=drain_s)
        mode: Mode = "effects" if way == "effects" else "legs"
        url = f"sqlite:///{tmp_path / 'queue.db'}"
        return DBOSHost(agents, journal, url=url, poll_s=0.05, drain_s=drain_s, mode=mode)

    async def play() -> float:
        host = made()
        await host.open()
        await host.start("it", "go", run_id="r")
        assert await asyncio.to_thread(begun.wait, PATIENCE_S)
        at = time.monotonic()
        closing = asyncio.create_task(host.close())
        await asyncio.sleep(0.05)
        if is_hurried:
            host.hurry()
        await closing
        return time.monotonic() - at

    try:
        with caplog.at_level(logging.WARNING, "detent"):
            took_s = asyncio.run(play())
    finally:
        hold.set()

    left = [one for one in caplog.records if "left in the middle" in one.getMessage()]
    assert [one.__dict__["run_id"] for one in left] == ["r"]
    assert took_s < PATIENCE_S / 2
