"""Recording: what is kept grows by what is new, and going on reads only what it needs."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from detent import (
    Agent,
    ChatMessage,
    MemoryJournal,
    Runs,
    SQLiteJournal,
    StoredDataError,
    Tool,
    ToolCall,
    UnstorableError,
    create_tool_from_function,
)
from detent.adapters.control.breakpoints import break_every_step
from detent.adapters.drivers import recording
from detent.adapters.drivers.loading import loaded
from detent.core.storage.checkpoints import checkpoint_data
from detent.journals import Checkpoint, DirectoryJournal, Entry, Journal, JournalDamagedError
from detent.machine import ManualClock
from detent.models import ChatReply

KILOBYTE = 1000


@frozen
class Busy:
    """A model that calls one tool in each of so many turns. It keeps nothing of what it hears."""

    turns: int

    def run(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """As the port says."""
        turn = len(messages) // 2
        if turn == self.turns:
            return ChatReply(ChatMessage.from_assistant("done"))
        call = ToolCall("read", {"n": turn}, f"c{turn}")
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]), "tool_calls")


def reading(size: int) -> Tool:
    """A tool whose results have this many characters."""

    def read(n: int) -> str:
        """Read."""
        return str(n % 10) * size

    return create_tool_from_function(read)


def agent_of(journal: Journal, turns: int, size: int = KILOBYTE, **options: Any) -> Agent[Any]:
    return Agent(
        chat_generator=Busy(turns),
        tools=[reading(size)],
        max_agent_steps=turns + 1,
        journal=journal,
        **options,
    )


STORES: dict[str, Callable[[Path], Journal]] = {
    "directory": DirectoryJournal,
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
}


class Counting(MemoryJournal):
    """Counts the entries that are read."""

    seen = 0

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:  # type: ignore[override]  # any iterable will do
        """One by one."""
        for entry in super().read(run_id, start):
            self.seen += 1
            yield entry


def bytes_in(place: Path) -> int:
    """What a store has written, without what it only needs while it is open."""
    return sum(one.stat().st_size for one in place.rglob("*") if not one.name.endswith("-shm"))


class Backwards(ManualClock):
    """Each look at it is a day before the last one."""

    def now(self) -> float:
        """Earlier and earlier."""
        self._day = getattr(self, "_day", 20_000) - 1
        return self._day * 86_400.0


@pytest.mark.parametrize("store", STORES)
def test_a_clock_that_jumps_backwards_orders_nothing(store: str, tmp_path: Path) -> None:
    """Entries keep their order, and a run that stopped goes on."""
    stop: dict[str, Any] = {"break_point": break_every_step, "raise_at_break_point": False}
    agent = agent_of(STORES[store](tmp_path), 3, clock=Backwards())
    agent.run("go", run_id="r", **stop)

    result = agent_of(STORES[store](tmp_path), 3, clock=Backwards()).resume("r")

    times = [entry.at for entry in STORES[store](tmp_path).read("r")]
    assert result.text == "done"
    assert times == sorted(times[:2], reverse=True) + times[2:]
    assert times[1:] != sorted(times[1:])
    assert Runs(STORES[store](tmp_path), agent.spec).replay("r") == result.run


@pytest.mark.parametrize("store", STORES)
def test_two_hundred_turns_of_a_kilobyte_take_less_than_a_megabyte(
    store: str, tmp_path: Path
) -> None:
    """Storage grows by what is new."""
    journal = STORES[store](tmp_path)
    agent_of(journal, 200).run("go", run_id="r")
    if isinstance(journal, SQLiteJournal):
        journal.close()

    assert bytes_in(tmp_path) < 1_000_000
    assert agent_of(STORES[store](tmp_path), 200).resume("r").step_count == 201


def size_of(turns: int) -> float:
    """The characters that a run of so many turns takes, for each turn."""
    journal = MemoryJournal()
    agent_of(journal, turns).run("go", run_id="r")
    entries = [one.data for one in journal.read("r")]
    checkpoints = [one.data for one in journal.checkpoints("r")]
    return sum(len(json.dumps(data)) for data in (*entries, *checkpoints)) / turns


def test_a_turn_takes_as_much_room_in_a_long_run_as_in_a_short_one() -> None:
    """And less than three times what its tool gave, with its events and checkpoints."""
    assert size_of(400) == pytest.approx(size_of(200), rel=0.03)
    assert size_of(400) < 3 * KILOBYTE


def test_a_long_run_goes_on_without_reading_all_of_it() -> None:
    """From the last checkpoint on: of ten thousand turns a few entries."""
    journal = Counting()
    agent = agent_of(journal, 10_000, size=1)
    agent.run("go", run_id="r")
    entries = journal.runs()[0].length

    run = loaded(journal, agent.spec, "r").run

    assert entries > 30_000
    assert len(run.messages) == 20_002
    assert journal.seen <= recording.ENTRIES


def test_a_look_back_reads_from_the_checkpoint_before() -> None:
    """Not from the start."""
    journal = Counting()
    agent = agent_of(journal, 200, size=1)
    agent.run("go", run_id="r")
    journal.seen = 0

    assert Runs(journal, agent.spec).at("r", 301).turn == 101
    assert journal.seen <= recording.ENTRIES + 1


def test_a_run_that_ends_early_each_time_gets_checkpoints_all_the_same() -> None:
    """Processes that come and go count the entries of those before them."""
    journal = MemoryJournal()
    agent = agent_of(journal, 60, size=1)
    stop: dict[str, Any] = {
        "break_point": lambda run, effect: run.turn % 3 == 0 and effect.key.kind == "model",
        "raise_at_break_point": False,
    }
    result = agent.run("go", run_id="r", **stop)
    while result.exit_reason is None:
        result = agent.resume("r", **stop)

    found = [one.position for one in journal.checkpoints("r")]
    gaps = [after - before for before, after in zip([0, *found], found, strict=False)]
    assert len(found) > 3
    assert max(gaps) <= 2 * recording.ENTRIES


def test_a_large_state_is_not_written_again_and_again() -> None:
    """A checkpoint comes when there is as much that is new."""
    journal = MemoryJournal()
    agent = agent_of(journal, 200, size=1, state_schema={"book": {"type": str}})
    agent.run("go", run_id="r", book="x" * 20_000)

    entries = sum(len(json.dumps(one.data)) for one in journal.read("r"))
    checkpoints = sum(len(json.dumps(one.data)) for one in journal.checkpoints("r"))
    assert 1 < len(journal.checkpoints("r")) < 10
    assert checkpoints < 2 * entries


def recorded() -> tuple[MemoryJournal, Agent[Any]]:
    """A short run."""
    journal = MemoryJournal()
    agent = agent_of(journal, 2, size=1)
    agent.run("go", run_id="r")
    return journal, agent


class Tampered(MemoryJournal):
    """A journal that has these entries, whatever their positions."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__()
        self.found = entries

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """Those from a place on."""
        return self.found[start:]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda entries: entries[1:], "does not begin with its start"),
        (lambda entries: [*entries[:2], *entries[3:]], "entry 2 is not there"),
        (
            lambda entries: [
                *entries[:2],
                evolve(entries[2], data={**entries[2].data, "ref": [7, 0]}),
            ],
            r"entry 2 of run 'r' \(.*\) cannot be followed",
        ),
    ],
    ids=["start", "gap", "nonsense"],
)
def test_entries_that_make_no_run_are_an_error(change: Any, told: str) -> None:
    """Never a run that never was."""
    journal, agent = recorded()

    with pytest.raises((JournalDamagedError, StoredDataError), match=told):
        loaded(Tampered(change(list(journal.read("r")))), agent.spec, "r")


def test_a_store_in_memory_says_what_one_on_disk_says(tmp_path: Path) -> None:
    """Byte for byte."""
    memory, disk = MemoryJournal(), DirectoryJournal(tmp_path)
    agent_of(memory, 60, 5).run("go", run_id="r")
    for entry in memory.read("r"):
        whole = [one for one in memory.checkpoints("r") if one.position == entry.position + 1]
        disk.append("r", [entry], *whole)

    kept = [(one.kind, one.status, one.text) for one in memory.read("r")]
    assert kept == [(one.kind, one.status, one.text) for one in disk.read("r")]
    assert list(memory.checkpoints("r")) == list(disk.checkpoints("r"))
    assert pickle.loads(pickle.dumps(memory.read("r"))) == memory.read("r")  # noqa: S301 - ours


def test_what_cannot_be_stored_is_refused_at_once() -> None:
    """Also by a store in memory, which need not write anything."""

    class Careless:
        """A model whose reply has no text in JSON."""

        def run(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
            extra = {"at": object()}
            return ChatReply(ChatMessage.from_assistant("x"), extra=extra)

    agent = Agent(chat_generator=Careless(), journal=MemoryJournal())

    with pytest.raises(UnstorableError, match="object"):
        agent.run("go")


class Watched(SQLiteJournal):
    """Knows how long what is submitted in an event loop was, and what was appended apart."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.submitted, self.appended = list[int](), list[int]()

    def submit(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """Text is made of them where this is called."""
        self.submitted += [len(entry.text) for entry in entries]
        return super().submit(run_id, entries, checkpoint)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """The same."""
        assert threading.current_thread() is not threading.main_thread()
        self.appended += [len(entry.text) for entry in entries]
        super().append(run_id, entries, checkpoint)


def test_what_is_long_is_made_text_of_apart_from_the_loop(tmp_path: Path) -> None:
    """Whatever brings it: a tool, or a conversation that goes on; what is short is submitted."""
    size = 1000 * KILOBYTE
    journal = Watched(tmp_path / "runs.db")

    async def main() -> None:
        result = await agent_of(journal, 1, size).run_async("go", run_id="r")
        behind = [*result.messages, ChatMessage.from_user("and more")]
        assert (await agent_of(journal, 2).run_async(behind)).text == "done"

    asyncio.run(main())
    assert journal.submitted
    assert max(journal.submitted) < size
    assert [length > size for length in journal.appended] == [True, True]


def test_a_whole_run_is_made_json_of_apart_from_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows before how large it is."""
    made_in = set[threading.Thread]()

    def watched(*at: Any) -> Any:
        made_in.add(threading.current_thread())
        return checkpoint_data(*at)

    monkeypatch.setattr("detent.adapters.drivers.recording.checkpoint_data", watched)
    journal = SQLiteJournal(tmp_path / "runs.db")
    asyncio.run(agent_of(journal, recording.ENTRIES).run_async("go", run_id="r"))
    assert [*journal.checkpoints("r")]
    assert threading.main_thread() not in made_in
    assert made_in
