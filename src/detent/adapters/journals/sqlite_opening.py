"""Opening the file of an SQLite journal: it is made, or found to be of another layout."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from detent.adapters.journals.sqlite_tables import RUNS_SCHEMA
from detent.adapters.system.snapshot_files import OWN_FILE
from detent.ports.journal import JournalError

LAYOUT = 1
"""Which tables there are, and what stands in them: the file's `user_version`."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL, data TEXT NOT NULL, crc32 INTEGER NOT NULL, PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS snapshots (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL, crc32 INTEGER NOT NULL,
    PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS claims (
    run_id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
    since REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owners (
    id TEXT NOT NULL PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;
"""
TRIGGER = """
CREATE TEMP TRIGGER lengthen AFTER INSERT ON main.entries BEGIN
    UPDATE runs SET length = NEW.position + 1, at = NEW.at, status = NEW.status
    WHERE run_id = NEW.run_id AND length = NEW.position AND (length = 0 OR EXISTS (
        SELECT 1 FROM entries WHERE run_id = NEW.run_id AND position = NEW.position - 1
    ));
    SELECT RAISE(ABORT, 'it does not follow the last entry') WHERE changes() = 0;
END
"""
"""An entry that does not follow is refused. So one statement is all that most appends need, and a
transaction by itself: with a check before it, an append takes half as many instructions again."""
WAIT_S = 10.0
"""How long a write waits for other processes that write to the same file."""
PAUSE_S = 0.005
"""How long after a refusal a new file is tried again."""
READ_ONLY = (
    ": it, its folder or the disk may only be read here, or it is not there; what a writer that "
    "crashed has left beside it, in a file -wal, can be read where its folder may be written"
)
IS_FOLDER = (
    "it is a folder; name a file in it, such as runs.db, or keep runs in the folder itself by a "
    "DirectoryJournal"
)
TEXT = partial(str, encoding="utf-8", errors="replace")
"""What is no text any more is read as another one, and so found to be damaged."""
PASSING = tuple(
    f"SQLITE_{why}" for why in ["BUSY", "LOCKED", "FULL", "IOERR", "CANTOPEN", "READONLY"]
)


def opened(path: str, mode: str) -> sqlite3.Connection:
    """A connection; the file is made when it is not there, and `mode` has a "c"."""
    if "c" in mode:
        with suppress(OSError):  # SQLite says better why it cannot be
            Path(path).touch(
                OWN_FILE, exist_ok=False
            )  # and gives the files beside it the same mode
    db = _connected(path, mode)
    try:
        _write_ahead(db)
        db.execute("PRAGMA synchronous = FULL")
        if _layout(db) != LAYOUT:
            _make(db, path)
        db.execute(TRIGGER)
    except BaseException:
        db.close()
        raise
    db.text_factory = TEXT
    return db


def _write_ahead(db: sqlite3.Connection) -> None:
    """Have the file keep a write-ahead log, which is what takes writers and readers at once.

    Where several make one file so at the same time, SQLite does not wait: each has begun to read,
    and all but one are refused at once. By the next try that one is done.
    """
    end = time.monotonic() + WAIT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > end:
                raise
            time.sleep(PAUSE_S)
        else:
            return


def _layout(db: sqlite3.Connection) -> int:
    (layout,) = db.execute("PRAGMA user_version").fetchone()
    return int(layout)


def _make(db: sqlite3.Connection, path: str) -> None:
    """Make the tables in a new file, if nobody else has just done so."""
    db.execute("BEGIN IMMEDIATE")
    if db.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone() == (0,):
        for statement in (SCHEMA + RUNS_SCHEMA).split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {LAYOUT}")
    _require_layout(db, path)
    db.execute("COMMIT")


def _require_layout(db: sqlite3.Connection, path: str) -> None:
    """Raise JournalError unless the file has the tables that this Detent knows."""
    if (layout := _layout(db)) != LAYOUT:
        raise JournalError(
            f"the journal {path} has layout {layout}, and this Detent knows layout {LAYOUT}: use "
            "the version of Detent that wrote it"
        )


def reader(path: str) -> sqlite3.Connection:
    """A connection that only reads, and sees what others write in the meantime, if they can."""
    db = _connected(path, "ro")
    try:
        _require_layout(db, path)
    except sqlite3.OperationalError as error:
        db.close()
        if is_read_only(error):
            return readable(path)
        raise
    except BaseException:
        db.close()
        raise
    db.text_factory = TEXT
    return db


def readable(path: str) -> sqlite3.Connection:
    """A connection that only reads, and makes no file beside the one at `path`.

    Without the files beside it, which a writer has and leaves when it crashes, that one has all.
    """
    log = Path(f"{path}-wal")
    is_whole = not (log.exists() and log.stat().st_size)
    db = _connected(path, "ro&immutable=1" if is_whole else "ro")
    try:
        _require_layout(db, path)
    except BaseException:
        db.close()
        raise
    db.text_factory = TEXT
    return db


def _connected(path: str, mode: str) -> sqlite3.Connection:
    uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(
        uri, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=True
    )


def is_read_only(error: Exception) -> bool:
    """Whether something may not be written: the file, or those that SQLite wants beside it."""
    code = getattr(error, "sqlite_errorname", "")
    return code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN"))


def is_passing(error: Exception) -> bool:
    """Whether it may be over in a moment: others hold the file, a disk is full, or away."""
    return getattr(error, "sqlite_errorname", "").startswith(PASSING)


def is_damage(error: Exception) -> bool:
    """Whether what is in the file makes no sense."""
    code = getattr(error, "sqlite_errorname", "")
    return code.startswith("SQLITE_CORRUPT") or code == "SQLITE_NOTADB"
