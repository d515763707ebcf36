"""A host that ends while a tool is at work which does not end in time."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from detent import Agent, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
from detent.adapters.hosts.engines.host import Mode
from detent.adapters.hosts.stored import StoredHost
from detent.adapters.system import threads_and_loops as functions
from detent.hosts import BlockingHost, DBOSHost, HostNotOpenError, LocalHost
from detent.journals import MemoryJournal
from detent.testing import host_agents
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


def test_threads_that_wait_for_a_run_end_with_the_host() -> None:
    """Else the program could not end: nobody can end a thread that waits."""
    raised, entered = list[Exception](), threading.Semaphore(0)

    def wait(ask: Callable[[], object]) -> None:
        entered.release()
        try:
            ask()
        except HostNotOpenError as error:
            raised.append(error)

    with BlockingHost(LocalHost(host_agents(), MemoryJournal())) as host:
        host.start("clerk", "pay", run_id="r")
        waits = (lambda: host.result("r"), lambda: [*host.watch("r")])
        threads = [threading.Thread(target=wait, args=(ask,), daemon=True) for ask in waits]
        for thread in threads:
            thread.start()
            assert entered.acquire(timeout=PATIENCE_S)
    for thread in threads:
        thread.join(PATIENCE_S)
    assert ["the host was closed" in str(error) for error in raised] == [True, True]
    assert [run.run_id for run in host.runs()] == ["r"]


def test_what_ends_while_a_host_drains_is_given_to_who_waits() -> None:
    """They are told of the end of the host only where the run has none."""

    async def main() -> str | None:
        host = LocalHost(host_agents(), MemoryJournal())
        async with host, asyncio.timeout(PATIENCE_S):
            await host.start("clerk", "pay", run_id="r")
            while not (questions := await host.pending()):  # noqa: ASYNC110 - it comes elsewhere
                await asyncio.sleep(0.005)
            waiting = asyncio.create_task(host.result("r"))
            await host.send("r", questions[0].call.reject("no", by="Ada"))
        return (await waiting).text

    assert asyncio.run(main()) is not None


def _no_thread(self: threading.Thread) -> None:
    """As Python says it where the machine has no more."""
    raise RuntimeError("can't start new thread")


def test_what_is_at_work_is_heard_out_where_no_thread_can_be_begun(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What this release has asked anew is let go of in a thread, and would be left to lapse."""
    journal = MemoryJournal()

    async def play() -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        @tool
        async def pay() -> str:
            """Pay."""
            begun.set()
            await may_end.wait()
            return "paid"

        script = ScriptedChatGenerator(ToolCall("pay", {}), "Done.")
        host = LocalHost({"it": Agent(chat_generator=script, tools=[pay])}, journal, look_s=60)
        await host.open()
        await host.start("it", "go", run_id="r")
        async with asyncio.timeout(PATIENCE_S):
            await begun.wait()
            with monkeypatch.context() as patch:
                patch.setattr(functions, "_idle", [])
                patch.setattr(threading.Thread, "start", _no_thread)
                closing = asyncio.create_task(host.close())
                await asyncio.sleep(0)  # it has begun
                may_end.set()
                await closing

    asyncio.run(play())
    assert "ToolReturned" in [entry.kind for entry in journal.read("r")]
    assert "no thread can be begun" in caplog.text
