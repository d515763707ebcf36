"""The tables of an SQLite journal: the rows of entries and checkpoints, and the index of the runs.

Rows are short where most are alike, and each has a CRC-32 of the rest of it. What lists say of a
run is kept in one transaction with its entries. A row of the index is checked against the run's
last entry, so that most appends need no further checksum; what a `Listing` says, which changes
seldom, has one.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice, product
from typing import Any, TypeAlias

from attrs import evolve

from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalDamagedError,
    listing_after,
)
from detent.ports.listing import ALL_RUNS, NO_LISTING, Listing, RunQuery, StoredRun, page_of

CODES: Mapping[str, bytes] = {
    "ModelReplied": b"M",
    "ToolStarted": b"S",
    "ToolReturned": b"R",
    "Judged": b"J",
    "HappenedInside": b"I",
    "running": b"r",
}
"""The kinds and the status that stand in most rows. A blob is no text: nothing else looks so."""
NAMES: Mapping[object, str] = {code: name for name, code in CODES.items()}
NUMBERS = struct.Struct("<qd")
"""The position and the time of an entry, for its checksum."""
PACKED_MAX = 2**26
"""Longer texts are kept as they are: what a file can make of little is bounded."""
RUNS_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT NOT NULL PRIMARY KEY, length INTEGER NOT NULL, at REAL NOT NULL,
    status TEXT NOT NULL, agent TEXT NOT NULL, thread_id TEXT NOT NULL, wake_at REAL,
    pending TEXT NOT NULL, crc32 INTEGER NOT NULL, labels TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_status ON runs (status, at, run_id);
CREATE INDEX IF NOT EXISTS runs_by_agent ON runs (agent, status, at, run_id) WHERE agent <> '';
CREATE INDEX IF NOT EXISTS runs_without_agent ON runs (status, at, run_id) WHERE agent = '';
CREATE INDEX IF NOT EXISTS runs_by_thread ON runs (thread_id, at, run_id) WHERE thread_id <> '';
CREATE INDEX IF NOT EXISTS runs_by_labels ON runs (labels, status, at, run_id)
    WHERE labels <> '';
"""
OPEN = "INSERT OR REPLACE INTO runs VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?)"
LISTING = "SELECT agent, thread_id, wake_at, pending, crc32, labels FROM runs WHERE run_id = ?"
LISTED = "UPDATE runs SET wake_at = ?, pending = ?, crc32 = ?, labels = ? WHERE run_id = ?"
RUNS = """
SELECT position, entries.at, kind, entries.status, data, entries.crc32,
    (SELECT at FROM entries WHERE entries.run_id = runs.run_id AND position = 0), runs.*
FROM runs {} LEFT JOIN entries ON entries.run_id = runs.run_id AND position = length - 1
WHERE {} ORDER BY runs.at DESC, runs.run_id DESC
"""
STATUSES = """
WITH RECURSIVE each(status) AS (
    SELECT MIN(status) FROM runs UNION ALL
    SELECT (SELECT MIN(status) FROM runs WHERE status > each.status) FROM each
    WHERE each.status IS NOT NULL
) SELECT status FROM each WHERE status IS NOT NULL
"""
"""Which there are, by a look at each. A blob comes behind every text."""
LABELS = """
WITH RECURSIVE each(labels) AS (
    SELECT MIN(labels) FROM runs WHERE labels <> '' UNION ALL
    SELECT (SELECT MIN(labels) FROM runs WHERE labels <> '' AND labels > each.labels) FROM each
    WHERE each.labels IS NOT NULL
) SELECT labels FROM each WHERE labels IS NOT NULL
"""
"""The same of the labels that runs have together."""
LOST = """
SELECT run_id, MAX(at) FROM entries WHERE run_id NOT IN (SELECT run_id FROM runs) GROUP BY run_id
"""


def require_all(path: str, run_id: str, count: int, known: object, start: int = 0) -> None:
    """Raise when a run, of which `count` entries are there from `start` on, was once longer."""
    if known is None and not count:
        return
    if not isinstance(known, int) or start + count < known:
        had = "an unknown number of" if known is None else known
        raise JournalDamagedError(
            f"the journal {path} is damaged: run {run_id!r} had {had} entries, and "
            f"{start + count} are left"
        )


def entry_row(run_id: str, entry: Entry, text: str) -> tuple[object, ...]:
    """An entry as it is kept."""
    at, kind, status = float(entry.at), entry.kind, entry.status
    checksum = entry_checksum(run_id, entry.position, at, kind, status, text)
    code, short = CODES.get(kind, kind), CODES.get(status, status)
    return run_id, entry.position, at, code, short, text, checksum


def checkpoint_row(run_id: str, checkpoint: Checkpoint) -> tuple[object, ...]:
    """A checkpoint as it is kept."""
    place, text = checkpoint.position, checkpoint.text
    return run_id, place, pack(text), checkpoint_checksum(run_id, place, text)


def full_row(row: Any) -> tuple[Any, ...]:
    """A row of an entry with its kind and status in full."""
    position, at, kind, status, data, checksum = row
    return position, at, NAMES.get(kind, kind), NAMES.get(status, status), data, checksum


def entry_checksum(run_id: str, *entry: Any) -> int:
    """Of an entry."""
    position, at, kind, status, text = entry
    numbers = zlib.crc32(NUMBERS.pack(position, at))
    return zlib.crc32(f"{run_id}\n{kind}\n{status}\n{text}".encode(), numbers)


def checkpoint_checksum(run_id: str, position: int, text: object) -> int:
    """Of a checkpoint."""
    return zlib.crc32(f"{json.dumps([run_id, position])}{text}".encode())


def is_whole(run_id: str, row: Any, checksum_of: Callable[..., int]) -> bool:
    """Whether its checksum is right."""
    *columns, checksum = row
    try:
        return bool(checksum == checksum_of(run_id, *columns))
    except (TypeError, ValueError, struct.error):  # what is in a column is not of its type
        return False


def pack(text: str) -> str | bytes:
    """A checkpoint says again what entries say: of English it then takes 40 % of the room."""
    return zlib.compress(text.encode(), 1) if len(text) <= PACKED_MAX else text


def unpack(data: object) -> object:
    """The text, or what is none. One that was too long to be packed is there as it is."""
    if not isinstance(data, bytes):
        return data
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data, PACKED_MAX)
        return text.decode() if unpacking.eof else None
    except (zlib.error, ValueError):
        return None


def text_of(run_id: str, data: object) -> str:
    """The data in a row.

    Raises:
        JournalDamagedError: it is no text.
    """
    if not isinstance(data, str):
        raise JournalDamagedError(f"the journal of run {run_id!r} is damaged: an entry is no text")
    return data


def open_run(db: sqlite3.Connection, run_id: str, entries: Sequence[Entry]) -> None:
    """Take in a run that is new, before its entries: each of them lengthens it."""
    first = entries[0]
    row = _listing_row(run_id, listing_after(NO_LISTING, entries))
    db.execute(OPEN, (run_id, float(first.at), CODES.get(first.status, first.status), *row))


def list_anew(db: sqlite3.Connection, run_id: str, entries: Sequence[Entry]) -> None:
    """Take in what is said of a run from now on. What is damaged stays so, for lists to show."""
    if all(entry.listing is None for entry in entries):
        return
    listing = _listing(run_id, db.execute(LISTING, (run_id,)).fetchone())
    if listing is not None:
        _, _, *rest = _listing_row(run_id, listing_after(listing, entries))
        db.execute(LISTED, (*rest, run_id))


def listed_runs(db: sqlite3.Connection, query: RunQuery) -> list[StoredRun]:
    """The runs that a query asks for.

    The whole list is made without the indexes, and names also the runs that are not in the index
    any more, as damaged; so is the list of those.
    """
    if query == ALL_RUNS or query.status == "damaged":
        sql = RUNS.format("NOT INDEXED", "TRUE")
        lost = db.execute(LOST).fetchall()
        found = [StoredRun(run_id, 0, "damaged", at) for run_id, at in lost]
        return page_of([*found, *_listed(db.execute(sql))], query)
    statuses: list[object] = [CODES.get(query.status or "", query.status)]
    sets: Sequence[str | None] = [None]
    is_narrow = query.thread_id or query.run_id
    if query.status is None and not is_narrow:
        statuses = [status for (status,) in db.execute(STATUSES)]
    if query.label is not None and not is_narrow:
        sets = _with_label(db, query.label)
    # Each in its order; read one by one, so that a page has what fits, and no more. An index by
    # time alone would save the merging, but each entry of any run would have to move it.
    rows = [db.execute(*_page(query, *part)) for part in product(statuses, sets)]
    newest = merge(*map(_listed, rows), key=lambda run: run.cursor, reverse=True)
    return list(islice(filter(query.fits, newest), query.limit))


def _with_label(db: sqlite3.Connection, label: str) -> list[str]:
    """Which labels runs have together that have this one: there are few, however many runs."""
    texts = [text for (text,) in db.execute(LABELS)]
    return [text for text in texts if label in _labels(text)]


def _page(query: RunQuery, status: object, labels: object) -> tuple[str, list[object]]:
    """The statement for a page, by the index that leaves the fewest runs over."""
    index, where, values = "runs_by_status", ["TRUE"], list[object]()
    if status is not None:
        where.append("runs.status = ?")
        values.append(status)
    if query.agent:
        index, where = "runs_by_agent", [*where, "agent = ? AND agent <> ''"]
        values.append(query.agent)
    if labels is not None:
        index, where = "runs_by_labels", [*where, "labels = ? AND labels <> ''"]
        values.append(labels)
    if query.thread_id:
        index, where = "runs_by_thread", [*where, "thread_id = ? AND thread_id <> ''"]
        values.append(query.thread_id)
    index = f"INDEXED BY {index}"
    if query.agent == "":  # a file may have been made before there was an index of these
        index, where = "", [*where, "agent = ''"]
    if query.run_id is not None:
        index, where = "", [*where, "runs.run_id = ?"]
        values.append(query.run_id)
    if query.before is not None:
        where.append("(runs.at, runs.run_id) < (?, ?)")
        values += query.before
    return RUNS.format(index, " AND ".join(where)), values


def _listed(rows: sqlite3.Cursor) -> Iterator[StoredRun]:
    for row in rows:
        entry, (began, run_id, length, at, status, *listed) = full_row(row[:6]), row[6:]
        listing = _listing(run_id, listed)
        known = (length - 1 if isinstance(length, int) else None, at, NAMES.get(status, status))
        is_sound = (entry[0], entry[1], entry[3]) == known
        if listing and is_sound and is_whole(run_id, entry, entry_checksum):
            run = StoredRun.listed(run_id, length, known[2], at, listing)
            yield evolve(run, began=began if isinstance(began, float) else None)
        else:
            agent, thread_id = (one if isinstance(one, str) else "" for one in listed[:2])
            count = length if isinstance(length, int) else 0
            yield StoredRun(run_id, count, "damaged", at, agent, thread_id)


def _listing_row(run_id: str, listing: Listing) -> tuple[object, ...]:
    wake_at = None if listing.wake_at is None else float(listing.wake_at)
    row = (listing.agent, listing.thread_id, wake_at, json.dumps(listing.pending))
    labels = json.dumps(listing.labels) if listing.labels else ""
    return *row, _checksum(run_id, *row, labels), labels


def _checksum(run_id: str, *row: object) -> int:
    """Of what is said of a run; without labels it is as it was before there were any."""
    *rest, labels = row
    said = row if labels != "" else rest
    return zlib.crc32(json.dumps([run_id, *said]).encode())


def _listing(run_id: str, row: Sequence[Any]) -> Listing | None:
    """What a row says of a run; None when it is not what was written."""
    agent, thread_id, wake_at, pending, checksum, *more = row
    labels = more[0] if more else ""
    if not is_whole(run_id, (agent, thread_id, wake_at, pending, labels, checksum), _checksum):
        return None
    return Listing(agent, thread_id, wake_at, tuple(json.loads(pending)), _labels(labels))


def _labels(text: object) -> tuple[str, ...]:
    """The labels in a row; none where there is damage, which is seen where the run is read."""
    try:
        found = json.loads(text) if isinstance(text, str) and text else ()
    except ValueError:
        return ()
    return tuple(found) if isinstance(found, list) else ()


def version_of(db: sqlite3.Connection) -> tuple[int, int]:
    """Which connection it is, and a number that changes when any other one has written."""
    (version,) = db.execute("PRAGMA data_version").fetchone()
    return id(db), version


Row: TypeAlias = tuple[int, str, int, float]
"""An entry by the number of its row, and which it is: where some are deleted, numbers return."""
NO_ROW: Row = (0, "", 0, 0.0)
ROWS = "SELECT rowid, run_id, position, at FROM entries"


def written_behind(row: Row | None, db: sqlite3.Connection) -> tuple[Row | None, list[str] | None]:
    """The last row of entries, and to which runs those behind another one belong.

    None where nobody knows: at first, and where that other one is not there any more.
    """
    last = db.execute(f"{ROWS} ORDER BY rowid DESC LIMIT 1").fetchone() or NO_ROW
    if row is None:
        return last, None
    if row != NO_ROW and db.execute(f"{ROWS} WHERE rowid = ?", row[:1]).fetchone() != row:
        return last, None
    found = db.execute("SELECT DISTINCT run_id FROM entries WHERE rowid > ?", row[:1])
    return last, [run_id for (run_id,) in found]
