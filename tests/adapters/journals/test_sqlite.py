"""The SQLite store: damage, other processes, and a file that goes and comes back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import compress

import pytest

from detent.adapters.journals import sqlite_file, sqlite_tables
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalConflictError,
    JournalDamagedError,
    JournalError,
    JournalUnavailableError,
)
from detent.ports.laws.journal import entries


def test_a_file_that_is_no_database_is_an_error(tmp_path: Path) -> None:
    """And stays as it is."""
    path = tmp_path / "x.db"
    path.write_bytes(b"no database at all" * 99)

    with pytest.raises(JournalDamagedError, match=r"x\.db .*not a database; name one that"):
        SQLiteJournal(path)
    assert path.read_bytes() == b"no database at all" * 99


def test_a_new_file_that_another_is_just_making_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the workers of a service do that begin for the first time: SQLite refuses all but one."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as another:
        another.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("time.sleep", lambda _: another.execute("ROLLBACK"))

        assert list(SQLiteJournal(path).runs()) == []


FORKED = """
import gc, os, sys
from threading import Thread

os.register_at_fork(before=gc.collect)  # behind those that are registered later
from detent.journals import Entry, SQLiteJournal

journal, is_over = SQLiteJournal(sys.argv[1]), False
forgotten = [SQLiteJournal(sys.argv[1])]
forgotten.append(forgotten)
del forgotten  # found by the collector, in the middle of the fork


def write(run_id, count):
    for position in range(count):
        journal.append(run_id, [Entry(position, 1.0, "Started", "running", {})])


def write_on():
    position = 0
    while not is_over:
        journal.append("busy", [Entry(position, 1.0, "Started", "running", {})])
        position += 1


write("parent", 1)
(begun, begin), (ended, end) = os.pipe(), os.pipe()
if os.fork() == 0:
    write("first", 2)
    os.write(begin, b"x")
    os.read(ended, 1)
    journal.append("first", [Entry(2, 1.0, "Started", "running", {})])
    os._exit(0)
os.read(begun, 1)
journal.close()  # as the last one here, while a child goes on
os.write(end, b"x")
assert os.wait()[1] == 0
writer = Thread(target=write_on)
writer.start()
for number in range(5):
    if os.fork() == 0:  # while another thread is at work with the file
        write(f"child {number}", 1)
        os._exit(0)
    assert os.wait()[1] == 0
is_over = True
writer.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_nothing_that_a_child_writes_is_lost_whatever_its_parent_does(tmp_path: Path) -> None:
    """It closes the file, or is at work with it in another thread at the fork."""
    path = tmp_path / "runs.db"
    program = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED, str(path)]

    subprocess.run(program, check=True, timeout=60)

    lengths = {run.run_id: run.length for run in SQLiteJournal(path).runs()}
    assert lengths.pop("busy") > 0
    children = {f"child {number}": 1 for number in range(5)}
    assert lengths == {"parent": 1, "first": 3, **children}


ENDED = """
import sys
from detent import Agent, ScriptedChatGenerator, SQLiteJournal

agent = Agent(chat_generator=ScriptedChatGenerator("Hello."), journal=SQLiteJournal(sys.argv[1]))
agent.run("Hi.", run_id="r")
"""


def test_a_program_that_has_ended_leaves_all_in_one_file(tmp_path: Path) -> None:
    """Whoever copies that alone has every run."""
    path, copy = tmp_path / "runs.db", tmp_path / "copy" / "runs.db"
    subprocess.run([sys.executable, "-c", ENDED, str(path)], check=True, timeout=60)
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())

    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["runs.db"]
    assert [(run.run_id, run.status) for run in SQLiteJournal(copy).runs()] == [("r", "done")]


WATCHED = """
import os, sys, sqlite3
from threading import Event, Thread
from detent.journals import Entry, SQLiteJournal

how, path = sys.argv[1:]
journal, begun = SQLiteJournal(path), Event()


def write(run_id, first, last):
    for position in range(first, last):
        journal.append(run_id, [Entry(position, 1.0, "Started", "running", {})])


def tell(name, *_):  # as soon as the copy, or the look, is at work
    if name == ("sqlite3.connect/handle" if how == "wait" else "sqlite3.connect"):
        begun.set()


write("parent", 0, 1)
work = {
    "wait": lambda: journal.wait("parent", 1, 1.0),
    "backup": lambda: journal.backup(path + ".copy"),
}
sys.addaudithook(tell)
at_work = Thread(target=work[how])
at_work.start()
begun.wait()
(written, write_on), (closed, close) = os.pipe(), os.pipe()
if os.fork() == 0:
    write("child", 0, 2)
    os.write(write_on, b"x")
    os.read(closed, 1)
    write("child", 2, 4)
    os._exit(0)
os.read(written, 1)
at_work.join()
write("parent", 1, 2)
journal.close()  # as the last one here, while a child goes on
os.write(close, b"x")
assert os.wait()[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("how", ["wait", "backup"])
def test_a_fork_while_the_file_is_watched_or_copied_loses_nothing(tmp_path: Path, how: str) -> None:
    """All that is opened beside the journal's own connection is closed by then as well."""
    path = tmp_path / "runs.db"
    program = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", WATCHED, how, str(path)]

    subprocess.run(program, check=True, timeout=60)

    found = {run.run_id: run.length for run in SQLiteJournal(path).runs()}
    assert found == {"parent": 2, "child": 4}


def test_what_others_write_is_heard_where_the_numbers_of_rows_return(tmp_path: Path) -> None:
    """The newest run is deleted, and as many entries of others take its place."""
    path = tmp_path / "runs.db"
    journal, other = SQLiteJournal(path), SQLiteJournal(path)
    other.append("run", entries(0, 1))
    other.append("old", entries(0, 1))
    news = journal.from_others(lambda: ["run"])
    assert [next(news), next(news)] == [["run"], []]

    other.delete("old")
    other.append("run", entries(1, 1))

    assert next(news) == ["run"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(JournalError, match="could not be opened"):
        SQLiteJournal(tmp_path / "none" / "x.db")


def test_every_append_is_on_the_disk(tmp_path: Path) -> None:
    """Write-ahead, and synchronous to the full."""
    journal = SQLiteJournal(tmp_path / "x.db")
    db = journal._file._connection()
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)


@pytest.mark.parametrize("text", ["{", "3", "null", "[" * 9999])
def test_damaged_data_is_an_error(text: str, tmp_path: Path) -> None:
    """In an entry, and in a checkpoint."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1), Checkpoint(1, {}))
    with sqlite3.connect(tmp_path / "x.db") as db:
        entry_sum = sqlite_tables.entry_checksum("a", 0, 100.0, "Kind0", "running", text)
        db.execute("UPDATE entries SET data = ?, crc32 = ?", (text, entry_sum))
        kept_sum = sqlite_tables.checkpoint_checksum("a", 1, text)
        db.execute("UPDATE snapshots SET data = ?, crc32 = ?", (text, kept_sum))
    db.close()

    (entry,), (checkpoint,) = journal.read("a"), journal.checkpoints("a")
    with pytest.raises(JournalDamagedError, match="is damaged"):
        _ = entry.data
    with pytest.raises(JournalDamagedError, match="is damaged"):
        _ = checkpoint.data


def test_what_is_no_text_is_an_error(tmp_path: Path) -> None:
    """SQLite lets anything stand in any column."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1), Checkpoint(1, {}))
    with sqlite3.connect(tmp_path / "x.db") as db:
        entry_sum = sqlite_tables.entry_checksum("a", 0, 100.0, "Kind0", "running", b"\0")
        db.execute("UPDATE entries SET data = x'00', crc32 = ?", (entry_sum,))
        kept_sum = sqlite_tables.checkpoint_checksum("a", 1, None)
        db.execute("UPDATE snapshots SET data = x'00', crc32 = ?", (kept_sum,))
    db.close()

    with pytest.raises(JournalDamagedError, match="run 'a' is damaged"):
        list(journal.read("a"))
    with pytest.raises(JournalDamagedError, match="run 'a' is damaged"):
        journal.checkpoints("a")


@pytest.mark.parametrize(
    "change",
    ["at = 7", "status = 'done'", "kind = x'ff'", "data = replace(data, 1, 2)", "crc32 = 'x'"],
)
def test_a_row_that_was_changed_is_an_error(change: str, tmp_path: Path) -> None:
    """What is before it can be read, and others are not harmed."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 3), Checkpoint(3, {"n": 3}))
    journal.append("b", entries(0, 1))
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute(f"UPDATE entries SET {change} WHERE run_id = 'a' AND position = 1")  # noqa: S608 - ours
    db.close()

    found = iter(journal.read("a"))
    assert next(found) == entries(0, 1)[0]
    with pytest.raises(JournalDamagedError, match="entry 1 of run 'a' is not what was") as caught:
        next(found)
    assert caught.value.whole == 1
    assert [run.status for run in journal.runs()] == ["running", "running"]
    assert list(journal.read("b")) == entries(0, 1)


def test_a_changed_last_entry_is_seen_in_the_list(tmp_path: Path) -> None:
    """Nobody should forget a run because of it."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 2), Checkpoint(2, {"n": 2}))
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute("UPDATE entries SET status = 'done' WHERE position = 1")
        db.execute("UPDATE snapshots SET data = '{}'")
    db.close()

    assert [(run.status, run.length) for run in journal.runs()] == [("damaged", 2)]
    with pytest.raises(JournalDamagedError, match=r"a checkpoint of run 'a' .* delete"):
        journal.checkpoints("a")


def test_a_row_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """In the middle, and at the end: the length of a run is written down."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 2))
    journal.append("a", entries(2, 2))
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute("DELETE FROM entries WHERE position = 3")
        db.commit()
        with pytest.raises(JournalDamagedError, match="had 4 entries, and 3 are left") as caught:
            list(journal.read("a", 1))
        assert caught.value.whole == 3
        for position in (3, 4):  # as one would who has just read it, and one who wrote it
            with pytest.raises(JournalDamagedError, match="had 4 entries, and 3 are left"):
                journal.append("a", entries(position, 1))
        db.execute("DELETE FROM entries WHERE position = 1")
    db.close()

    with pytest.raises(JournalDamagedError, match="entry 1 of run 'a'"):
        list(journal.read("a"))


def test_what_stands_in_most_rows_takes_little_room(tmp_path: Path) -> None:
    """A letter, which no kind is taken for, and which can be damaged as well."""
    journal = SQLiteJournal(tmp_path / "x.db")
    kept = [Entry(0, 1.0, "ToolReturned", "running", {}), Entry(1, 2.5, "R", "r", {})]
    journal.append("a", kept)

    with sqlite3.connect(tmp_path / "x.db") as db:
        rows = db.execute("SELECT kind, status FROM entries").fetchall()
        assert rows == [(b"R", b"r"), ("R", "r")]
        assert list(journal.read("a")) == kept
        db.execute("UPDATE entries SET kind = CAST('S' AS BLOB) WHERE position = 0")
    db.close()

    with pytest.raises(JournalDamagedError, match="entry 0 of run 'a' is not what was"):
        list(journal.read("a"))


def test_many_entries_are_appended_at_once(tmp_path: Path) -> None:
    """All or none, whether one statement can hold them or not."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1))
    for count in (2, sqlite_file.AT_ONCE, sqlite_file.AT_ONCE + 1, 99):
        length = len(list(journal.read("a")))
        with pytest.raises(JournalConflictError):
            journal.append("a", entries(length - 1, count))
        journal.append("a", entries(length, count))

    assert list(journal.read("a")) == entries(0, 1 + 2 + 2 * sqlite_file.AT_ONCE + 1 + 99)


def test_nothing_is_left_of_what_fails_among_others(tmp_path: Path) -> None:
    """Its entries are written first; then its checkpoint turns out to be there already."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1), Checkpoint(2, {}))

    failed = journal.submit("a", entries(1, 1), Checkpoint(2, {}))
    other = journal.submit("b", entries(0, 1))

    with pytest.raises(JournalError, match="could not be written: UNIQUE"):
        failed.result(10)
    other.result(10)
    assert list(journal.read("a")) == entries(0, 1)
    journal.append("a", entries(1, 1))


def test_a_checkpoint_takes_little_room(tmp_path: Path) -> None:
    """It says again what the entries say."""
    journal = SQLiteJournal(tmp_path / "x.db")
    checkpoint = Checkpoint(1, {"said": ["the same again"] * 1000})
    journal.append("a", entries(0, 1), checkpoint)

    db = journal._file._connection()
    (size,) = db.execute("SELECT LENGTH(data) FROM snapshots").fetchone()
    assert size < 500
    assert journal.checkpoints("a") == [checkpoint]


@pytest.mark.parametrize("data", [b"", b"no", compress(bytes(2**26 + 1), 1), compress(b"\xff")])
def test_a_checkpoint_that_cannot_be_unpacked_is_damaged(data: bytes, tmp_path: Path) -> None:
    """Or would be larger than any that is packed."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1), Checkpoint(1, {"n": 1}))
    checksum = sqlite_tables.checkpoint_checksum("a", 1, None)
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute("UPDATE snapshots SET data = ?, crc32 = ?", (data, checksum))
    db.close()

    with pytest.raises(JournalDamagedError, match="run 'a' is damaged"):
        journal.checkpoints("a")


def test_a_checkpoint_too_long_to_be_packed_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is."""
    monkeypatch.setattr(sqlite_tables, "PACKED_MAX", 10)
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1), Checkpoint(1, {"said": "much more"}))

    assert journal.checkpoints("a") == [Checkpoint(1, {"said": "much more"})]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    """The error says so; afterwards there is room for the same entry."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 2))
    db = journal._file._connection()
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")

    big = [entry.__class__(2, 1.0, "K", "running", {"n": "x" * 99_999}) for entry in entries(2, 1)]
    with pytest.raises(JournalError, match="could not be written: database or disk is full"):
        journal.append("a", big)

    journal.append("a", entries(2, 1))
    assert list(journal.read("a")) == entries(0, 3)


def test_a_journal_that_was_closed_opens_again(tmp_path: Path) -> None:
    """When it is needed."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1))
    journal.close()
    journal.close()

    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)
    journal.close()


def test_a_file_that_may_only_be_read_is_an_error(tmp_path: Path) -> None:
    """What is there can be read; afterwards the same entry can be written."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1))
    db = journal._file._connection()
    db.execute("PRAGMA query_only = ON")

    assert list(journal.read("a")) == entries(0, 1)
    with pytest.raises(JournalError, match=r"could not be written: .*readonly"):
        journal.append("a", entries(1, 1))

    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)


READER = """
import os, sys
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.ports.journal import JournalError
from detent.ports.laws.journal import entries

if os.geteuid() == 0:  # who may write everywhere
    os.seteuid(65534)
try:
    journal = SQLiteJournal(sys.argv[1])
    print([(run.run_id, run.length) for run in journal.runs()])
    print(list(journal.read("a")) == entries(0, 2), journal.checkpoints("a")[0].data["n"])
    journal.append(sys.argv[2], entries(int(sys.argv[3]), 1))
except JournalError as error:
    print(error)
"""


def as_reader(path: Path, run_id: str = "a", position: int = 2) -> list[str]:
    """What a process gets that may not write: it lists, reads, and appends an entry."""
    command = [sys.executable, "-c", READER, str(path), run_id, str(position)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that others may look into."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such rights there")
@pytest.mark.parametrize(("folder", "file"), [(0o555, 0o444), (0o777, 0o444), (0o555, 0o666)])
def test_what_may_only_be_read_can_be_read(folder: int, file: int, shared: Path) -> None:
    """As on a disk that is mounted so; a write says what the matter is, and nothing is changed."""
    path = shared / "x.db"
    journal = SQLiteJournal(path)
    journal.append("a", entries(0, 2), Checkpoint(2, {"n": 2}))
    journal.close()
    path.chmod(file)
    shared.chmod(folder)
    before = path.read_bytes()

    for run_id, position in (("a", 2), ("b", 0)):
        listed, read, refused = as_reader(path, run_id, position)
        assert listed == "[('a', 2)]"
        assert read == "True 2"
        assert "x.db could not be written: attempt to write a readonly database" in refused
        assert "may only be read here" in refused
    assert path.read_bytes() == before
    shared.chmod(0o755)
    path.chmod(0o644)
    journal.append("a", entries(2, 1))
    assert list(journal.read("a")) == entries(0, 3)
    journal.close()


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such rights there")
def test_what_a_writer_has_left_beside_the_file_is_not_left_out(shared: Path) -> None:
    """Of a run without its last entries nobody would see that they are missing."""
    path, copy = shared / "x.db", shared / "copy"
    copy.mkdir()
    journal = SQLiteJournal(path)
    journal.append("a", entries(0, 2), Checkpoint(2, {"n": 2}))
    for name in ("x.db", "x.db-wal"):  # as a crash leaves them, and a copy of the disk
        (copy / name).write_bytes((shared / name).read_bytes())
    copy.chmod(0o555)

    (refused,) = as_reader(copy / "x.db")

    assert "unable to open database file" in refused
    assert "what a writer that crashed has left beside it" in refused
    copy.chmod(0o755)
    assert list(SQLiteJournal(copy / "x.db").read("a")) == entries(0, 2)
    journal.close()


def test_a_file_with_a_damaged_page_is_an_error(tmp_path: Path) -> None:
    """Never other entries than those that were written."""
    path = tmp_path / "x.db"
    journal = SQLiteJournal(path)
    for position in range(200):
        journal.append("a", entries(position, 1))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * 4096 + whole[12288:])

    with pytest.raises(JournalDamagedError):
        list(SQLiteJournal(path).read("a"))


def test_a_file_that_is_gone_is_an_error_until_it_is_back(tmp_path: Path) -> None:
    """Nothing is written to a file that nobody will find."""
    folder, away = tmp_path / "here", tmp_path / "away"
    folder.mkdir()
    journal = SQLiteJournal(folder / "x.db")
    journal.append("a", entries(0, 1))
    folder.rename(away)

    with pytest.raises(JournalError, match="could not be written"):
        journal.append("a", entries(1, 1))

    away.rename(folder)
    journal.append("a", entries(1, 1))
    assert list(SQLiteJournal(folder / "x.db").read("a")) == entries(0, 2)


def test_a_backup_has_all_runs_of_one_instant(tmp_path: Path) -> None:
    """Others go on writing, what is still beside the file is in it, and it can be written to."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 2), Checkpoint(2, {"n": 2}))
    journal.backup(tmp_path / "copy.db")
    journal.append("a", entries(2, 1))

    copy = SQLiteJournal(tmp_path / "copy.db")
    assert list(copy.read("a")) == entries(0, 2)
    assert copy.checkpoints("a") == journal.checkpoints("a")
    assert [(run.run_id, run.length) for run in copy.runs()] == [("a", 2)]
    copy.append("b", entries(0, 1))
    copy.close()
    assert {path.name for path in tmp_path.glob("copy*")} == {"copy.db"}


def test_a_later_backup_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    """And one that cannot be made leaves that alone."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.append("a", entries(0, 1))
    journal.backup(tmp_path / "copy.db")
    journal.append("a", entries(1, 1))
    with pytest.raises(JournalError, match=r"there is a file at .*copy\.db already"):
        journal.backup(tmp_path / "copy.db")
    journal.backup(tmp_path / "copy.db", replace=True)
    copy = SQLiteJournal(tmp_path / "copy.db")
    assert list(copy.read("a")) == entries(0, 2)

    journal.close()
    (tmp_path / "x.db").write_bytes(b"no database at all" * 99)
    with pytest.raises(JournalError, match=r"x\.db could not be copied to .*copy\.db: file is not"):
        journal.backup(tmp_path / "copy.db", replace=True)
    with pytest.raises(JournalError, match="could not be copied"):
        journal.backup(tmp_path / "none" / "copy.db")
    assert list(copy.read("a")) == entries(0, 2)


def test_a_backup_is_what_it_is_whatever_a_crash_has_left_beside_the_old_one(
    tmp_path: Path,
) -> None:
    """A log that waits there is not read into it."""
    crashed, journal = SQLiteJournal(tmp_path / "old.db"), SQLiteJournal(tmp_path / "x.db")
    crashed.append("old", entries(0, 3))
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{tmp_path}/old.db{suffix}", f"{tmp_path}/copy.db{suffix}")
    journal.append("new", entries(0, 2))
    journal.backup(tmp_path / "copy.db", replace=True)
    copy = SQLiteJournal(tmp_path / "copy.db")
    assert [(run.run_id, run.length) for run in copy.runs()] == [("new", 2)]

    (tmp_path / "text.db").write_text("no database")
    (tmp_path / "text.db-wal").write_text("nor a log")
    journal.backup(tmp_path / "text.db", replace=True)
    assert [run.run_id for run in SQLiteJournal(tmp_path / "text.db").runs()] == ["new"]


def test_no_backup_takes_the_place_of_what_is_in_use(tmp_path: Path) -> None:
    """Neither of another journal, nor of itself: what is written there meanwhile would be lost."""
    other, journal = SQLiteJournal(tmp_path / "other.db"), SQLiteJournal(tmp_path / "x.db")
    for one in (other, journal):
        one.append("a", entries(0, 1))
    with pytest.raises(JournalError, match=r"other\.db: database is locked"):
        journal.backup(tmp_path / "other.db", replace=True)
    with pytest.raises(JournalError, match="a journal is no copy of itself"):
        journal.backup(tmp_path / "x.db", replace=True)
    for one in (other, journal):
        one.append("a", entries(1, 1))
        assert list(one.read("a")) == entries(0, 2)


def test_a_backup_can_be_made_of_what_may_only_be_read(shared: Path, tmp_path: Path) -> None:
    """As from a disk that is mounted so."""
    path = shared / "x.db"
    journal = SQLiteJournal(path)
    journal.append("a", entries(0, 2))
    journal.close()
    path.chmod(0o444)
    shared.chmod(0o555)

    SQLiteJournal(path).backup(tmp_path / "copy.db")

    assert list(SQLiteJournal(tmp_path / "copy.db").read("a")) == entries(0, 2)


def test_a_folder_that_is_away_may_come_back(tmp_path: Path) -> None:
    """So it is worth to try again, which a run does for a while."""
    (tmp_path / "runs").mkdir()
    journal = SQLiteJournal(tmp_path / "runs" / "x.db")
    journal.append("a", entries(0, 1))
    (tmp_path / "runs").rename(tmp_path / "away")
    with pytest.raises(JournalUnavailableError, match="could not be written"):
        journal.append("a", entries(1, 1))
    (tmp_path / "away").rename(tmp_path / "runs")
    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)
