"""A store that can be read, and not written: what a host says of itself then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import LiteralString

import pytest

from detent.adapters.hosts import looks
from detent.adapters.hosts.stored import StoredHost
from detent.adapters.journals.memory import MemoryClaims
from detent.hosts import Accepted, DBOSHost, LocalHost
from detent.journals import (
    Checkpoint,
    Entry,
    JournalUnavailableError,
    MemoryJournal,
    PostgresJournal,
)
from detent.machine import CancelRequested, ManualClock
from detent.ports.claims import Claim, Owner
from detent.testing import host_agents
from tests.adapters.hosts.engines.sites import need_sqlite_for_dbos

NOW = 1_000_000.0
FAILS = "the store of the runs could not be written to: JournalUnavailableError"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The time, of day and as nobody sets it."""
    clock = ManualClock(NOW)
    monkeypatch.setattr(looks, "monotonic", clock.now)
    return clock


class Disk:
    """Where a store is. It may be full."""

    is_full = False

    def must_have_room(self) -> None:
        """Raise where it is."""
        if self.is_full:
            raise JournalUnavailableError("no space left on device")


class DiskClaims(MemoryClaims):
    """Claims that other processes see, on a disk; with the owners that were written."""

    is_shared = True

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self.disk, self.kept = disk, list[Owner]()

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As the port says, where there is room."""
        self.disk.must_have_room()
        return super().swap(run_id, was, now)

    def keep(self, owner: Owner) -> None:
        """As the port says, where there is room."""
        self.disk.must_have_room()
        self.kept.append(owner)
        super().keep(owner)


class DiskJournal(MemoryJournal):
    """Entries and claims on one disk."""

    outage_s = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.disk = Disk()
        self.claims: DiskClaims = DiskClaims(self.disk)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says, where there is room."""
        self.disk.must_have_room()
        super().append(run_id, entries, checkpoint)


async def until(holds: Callable[[], bool]) -> None:
    """Let others go on until something holds."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - a health tells nobody of itself
            await asyncio.sleep(0.005)


async def begin(host: StoredHost) -> None:
    """A run that has ended is there before the store is full."""
    assert isinstance(await host.start("echo", "hi", run_id="old"), Accepted)
    await host.result("old", timeout=10)
    assert isinstance(await host.start("clerk", "pay", run_id="asks"), Accepted)
    while not await host.pending():  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.005)
    await until(lambda: host.health().running == 0 and host.health().is_ready)


async def start(host: StoredHost) -> None:
    """A claim is what cannot be written."""
    await host.start("echo", "hi", run_id="new")


async def cancel(host: StoredHost) -> None:
    """An entry is."""
    await host.send("asks", CancelRequested("too dear"))


@pytest.mark.parametrize("write", [start, cancel])
@pytest.mark.parametrize("kind", ["local", "dbos", "asker"])
def test_a_host_whose_store_takes_nothing_is_not_ready(
    kind: str,
    write: Callable[[StoredHost], Awaitable[None]],
    tmp_path: Path,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It can be looked at all the time. Once it takes something, nobody has to ask for that."""
    journal = DiskJournal()
    host: StoredHost = LocalHost(host_agents(), journal, look_s=0.01, clock=clock)
    if kind != "local":
        need_sqlite_for_dbos()
        url = f"sqlite:///{tmp_path / 'queue.db'}"
        host = DBOSHost(
            host_agents(), journal, url=url, works=kind == "dbos", look_s=0.01, clock=clock
        )

    async def main() -> None:
        async with LocalHost(host_agents(), journal, look_s=0.01) as before:
            await begin(before)
        async with host:
            await until(lambda: host.health().is_ready)
            journal.disk.is_full = True
            with pytest.raises(JournalUnavailableError):
                await write(host)
            assert host.health().is_ready  # it may be over before the next look
            await until(lambda: caplog.text.count(FAILS) >= 5)
            clock.advance(5.0)
            assert not host.health().is_ready
            assert "is away: it could not be written to" in host.health().why_not_ready
            journal.disk.is_full = False
            await until(lambda: host.health().is_ready)
            clock.advance(4.0)
            assert host.health().is_ready
            assert (await host.run("old")).listed.status == "done"

    asyncio.run(main())
    assert {run.run_id for run in journal.runs()} == {"old", "asks"}


def test_a_host_whose_store_takes_what_is_written_writes_nothing_to_try_that(
    clock: ManualClock,
) -> None:
    """Only what failed once is tried again, and that once."""
    journal = DiskJournal()

    async def main() -> None:
        async with LocalHost(host_agents(), journal, look_s=0.01, clock=clock) as host:
            await begin(host)
            kept = list(journal.claims.kept)
            clock.advance(10.0)
            await until(lambda: host.health().is_ready)  # it has been looked at
            assert journal.claims.kept == kept
            journal.disk.is_full = True
            with pytest.raises(JournalUnavailableError):
                await host.send("asks", CancelRequested("too dear"))
            journal.disk.is_full = False
            await until(lambda: len(journal.claims.kept) == len(kept) + 1)
            clock.advance(10.0)
            await until(lambda: host.health().is_ready)
            [tried] = journal.claims.kept[len(kept) :]
            assert tried.id not in {owner.id for owner in kept}

    asyncio.run(main())


def test_a_database_that_is_read_only_is_not_ready(
    postgres_url: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """As behind a fail-over, where a host is still connected to what only copies by now."""
    import psycopg

    journal = PostgresJournal(postgres_url, outage_s=0.0)
    run_id = "of-a-database-that-is-read-only"
    journal.delete(run_id)
    admin = psycopg.connect(postgres_url, autocommit=True)
    admin.execute("SET default_transaction_read_only = off")

    def begin_to(change: LiteralString) -> None:
        admin.execute(change)
        admin.execute("SELECT pg_reload_conf()")

    async def is_written() -> bool:
        try:
            await host.start("echo", "hi", run_id=run_id)
        except JournalUnavailableError:
            return False
        return True

    host = LocalHost(host_agents(), journal, look_s=0.01, clock=clock)

    async def main() -> None:
        async with host:
            await until(lambda: host.health().is_ready)
            begin_to("ALTER SYSTEM SET default_transaction_read_only = on")
            async with asyncio.timeout(20):
                while await is_written():
                    await host.result(run_id)
                    journal.delete(run_id)
            await until(lambda: caplog.text.count(FAILS) >= 5)
            clock.advance(5.0)
            assert not host.health().is_ready
            begin_to("ALTER SYSTEM RESET default_transaction_read_only")
            await until(lambda: host.health().is_ready)
            assert await is_written()

    try:
        asyncio.run(main())
    finally:
        begin_to("ALTER SYSTEM RESET default_transaction_read_only")
        admin.close()
        journal.delete(run_id)
