"""Lists of runs in stores: pages of many, and what damage and other layouts do to them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import psycopg
import pytest

from detent.adapters.journals.lines import line_of
from detent.adapters.journals.run_index import RunIndex
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.adapters.journals.sqlite_tables import listed_runs
from detent.journals import DirectoryJournal, Listing, PostgresJournal, RunQuery, StoredRun
from detent.ports.journal import Entry, Journal, JournalDamagedError, JournalError
from detent.ports.laws.journal import entries
from detent.ports.listing import ALL_RUNS, page_of

STATUSES = ("running", "waiting", "done", "failed")


def begun(run_id: str, status: str = "running", listing: Listing | None = None) -> Entry:
    return Entry(0, 1.0, "Started", status, {}, listing)


def test_an_index_gives_what_a_look_at_all_runs_gives() -> None:
    """Whatever is put in, changed and taken out."""
    dice, index, known = Random(7), RunIndex(), dict[str, StoredRun]()  # noqa: S311 - a test's dice
    for _ in range(400):
        run_id = f"r{dice.randrange(40)}"
        at, status = float(dice.randrange(9)), dice.choice(STATUSES)
        thread = dice.choice(["", "t"])
        labels = dice.choice([(), ("pii",), ("pii", "web")])
        run = StoredRun(run_id, 1, status, at, dice.choice("ab"), thread, labels=labels)
        if dice.random() < 0.2:
            index.put(run_id, None)
            known.pop(run_id, None)
        else:
            index.put(run_id, run)
            known[run_id] = run
        query = RunQuery(
            dice.choice([None, *STATUSES]),
            dice.choice([None, "a"]),
            dice.choice([None, "t", "none"]),
            dice.choice([None, (float(dice.randrange(9)), run_id)]),
            dice.choice([None, 1, 5]),
            label=dice.choice([None, "pii", "web", "none"]),
        )
        assert index.page(query) == page_of(known.values(), query)
    for run_id in known:
        index.put(run_id, None)
    assert index._orders == {}


@pytest.mark.parametrize(
    "before",
    [
        *("r", (1.0,), ("r", 1.0), (1, 2)),
        *((float("nan"), "r"), (10**400, "r"), (1.0, "\ud800"), (1.0, "\0")),
    ],
    ids=repr,
)
def test_what_is_no_place_in_a_list_is_refused(before: object) -> None:
    """A page begins behind a run, or behind its cursor, which JSON makes a list of."""
    with pytest.raises(ValueError, match="before is a run of a list or its cursor"):
        RunQuery(before=before)  # type: ignore[arg-type]  # that is the point
    run = StoredRun("r", 1, "done", 2.0)
    assert RunQuery(before=[2, "r"]) == RunQuery(before=run) == RunQuery(before=run.cursor)


def test_a_page_has_at_least_one_run() -> None:
    """A limit of none is a mistake."""
    with pytest.raises(ValueError, match="at least 1, got 0"):
        RunQuery(limit=0)
    with pytest.raises(ValueError, match="at most 9223372036854775807, got 1e"):
        RunQuery(limit=10**20)


@pytest.fixture
def damaged(tmp_path: Path) -> SQLiteJournal:
    """Three runs of two entries, the first of which waits."""
    journal = SQLiteJournal(tmp_path / "x.db")
    for run_id, status in (("a", "waiting"), ("b", "running"), ("c", "done")):
        listing = Listing("clerk", "t", 5.0, ("pay",), ("pii",))
        journal.append(run_id, [begun(run_id, status, listing)])
        journal.append(run_id, [Entry(1, 2.0, "K", status, {})])
    return journal


def execute(journal: SQLiteJournal, statement: str) -> None:
    with sqlite3.connect(journal._path) as db:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    "change",
    [
        "at = 3.0",
        "length = 1",
        "length = 'x'",
        "agent = 'clerc'",
        "thread_id = x'00'",
        "wake_at = 9",
        "pending = '[]'",
        "pending = x'00'",
        "labels = ''",
        "labels = '[]'",
        "labels = x'00'",
        "crc32 = 1",
    ],
)
def test_damage_in_the_index_is_seen_in_lists(change: str, damaged: SQLiteJournal) -> None:
    """In the whole list, and in the pages that still have the run."""
    execute(damaged, f"UPDATE runs SET {change} WHERE run_id = 'a'")  # noqa: S608 - ours

    for query in (ALL_RUNS, RunQuery(limit=50)):
        found = {run.run_id: run.status for run in damaged.runs(query)}
        assert found == {"a": "damaged", "b": "running", "c": "done"}
    assert [run.run_id for run in damaged.runs(RunQuery("damaged", limit=9))] == ["a"]
    assert damaged.runs(RunQuery("waiting")) == []


@pytest.mark.parametrize("table", ["runs", "entries"])
def test_a_run_that_has_lost_its_rows_is_seen_in_the_whole_list(
    table: str, damaged: SQLiteJournal
) -> None:
    """Whether it is still in the index or not."""
    execute(damaged, f"DELETE FROM {table} WHERE run_id = 'a'")  # noqa: S608 - ours

    assert {run.run_id: run.status for run in damaged.runs()}["a"] == "damaged"
    assert [run.run_id for run in damaged.runs(RunQuery("damaged"))] == ["a"]


def test_what_is_damaged_stays_so(damaged: SQLiteJournal) -> None:
    """New entries of the run do not make good what lists say of it; they can be written."""
    execute(damaged, "UPDATE runs SET agent = 'other' WHERE run_id = 'a'")

    damaged.append("a", [Entry(2, 3.0, "K", "done", {}, Listing("clerk", "t"))])

    assert damaged.runs()[0] == StoredRun("a", 3, "damaged", 3.0, "other", "t")
    assert len(list(damaged.read("a"))) == 3


def test_a_run_that_was_damaged_is_not_on_a_page_of_another_status(damaged: SQLiteJournal) -> None:
    """Nor does it make that page shorter."""
    execute(damaged, "UPDATE runs SET status = 'done' WHERE run_id = 'b'")

    assert [run.run_id for run in damaged.runs(RunQuery("done", limit=1))] == ["c"]


@pytest.mark.parametrize("layout", [0, 7])
def test_another_layout_is_refused(layout: int, tmp_path: Path) -> None:
    """One from before there was an index, and one that is not known yet; nothing is changed."""
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE entries (run_id TEXT)")
        db.execute(f"PRAGMA user_version = {layout}")
    db.close()

    with pytest.raises(JournalError, match=f"has layout {layout}, and this Detent knows layout 1"):
        SQLiteJournal(path)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone() == (1,)
    db.close()


def test_another_layout_in_postgres_is_refused(postgres_url: str) -> None:
    """Whether it says so, or is from before layouts were told apart."""
    PostgresJournal(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        for change, back, found in (
            ("UPDATE detent_layout SET layout = 7", "UPDATE detent_layout SET layout = 1", 7),
            (
                "ALTER TABLE detent_layout RENAME TO gone",
                "ALTER TABLE gone RENAME TO detent_layout",
                0,
            ),
        ):
            db.execute(change.encode())
            try:
                with pytest.raises(JournalError, match=f"has layout {found}, and this Detent"):
                    PostgresJournal(postgres_url)
            finally:
                db.execute(back.encode())


def test_each_line_of_a_directory_says_what_lists_say(tmp_path: Path) -> None:
    """So that a list reads the last one of each file; who has nothing to say says nothing."""
    journal = DirectoryJournal(tmp_path)
    journal.append("a", [begun("a", "waiting", Listing("clerk", pending=("pay",)))])
    journal.append("a", [Entry(1, 2.0, "K", "running", {})])
    journal.append("b", entries(0, 1))

    assert '"listing":{"agent":"clerk","pending":["pay"]}' in (tmp_path / "a.jsonl").read_text()
    assert "listing" not in (tmp_path / "b.jsonl").read_text()
    assert journal.runs()[1].listing == Listing("clerk", pending=("pay",))


@pytest.mark.parametrize("listing", ["3", '{"agent":"x","more":1}'])
def test_a_listing_in_a_directory_that_is_none_is_damage(listing: str, tmp_path: Path) -> None:
    """Whoever has written it."""
    journal: Journal = DirectoryJournal(tmp_path)
    journal.append("a", [begun("a", listing=Listing("clerk"))])
    path = tmp_path / "a.jsonl"
    head, line, _ = path.read_bytes().split(b"\n")
    text = line.replace(b'{"agent":"clerk"}', listing.encode())
    body = {name: value for name, value in json.loads(text).items() if name != "crc32"}
    line = line_of(body)
    end = len(head) + 1 + len(line)
    path.write_bytes(line_of({"detent": "journal", "layout": 1, "end": f"{end:012}"}) + line)

    assert [run.status for run in journal.runs()] == ["damaged"]
    with pytest.raises(JournalDamagedError, match="what it says for lists is no listing"):
        list(journal.read("a"))


@pytest.mark.parametrize(
    "query",
    [
        RunQuery(limit=5),
        RunQuery("waiting", limit=5),
        RunQuery(agent="a1", limit=5),
        RunQuery(agent="", limit=5),
        RunQuery("waiting", agent="", limit=5),
        RunQuery(thread_id="t1", limit=5),
        RunQuery("waiting", before=(40.0, "x"), limit=5),
        RunQuery(label="l1", limit=5),
        RunQuery("waiting", label="web", limit=5),
    ],
    ids=str,
)
def test_a_page_takes_as_long_with_many_runs_as_with_few(query: RunQuery, tmp_path: Path) -> None:
    """Counted in steps of SQLite's machine: nobody looks at all runs."""
    steps: list[int] = []
    journal = SQLiteJournal(tmp_path / "runs.db")
    for last in (50, 500):
        for number in range(len(journal.runs()), last):
            labels = (f"l{number % 3}", "web")
            agent = f"a{number % 3}" if number >= 15 else ""
            listing = Listing(agent, f"t{number % 3}", labels=labels)
            status = ("waiting", "running", "done")[number % 3]
            journal.append(f"{number}", [Entry(0, float(number), "Started", status, {}, listing)])
        ticks: list[int] = []
        with closing(sqlite3.connect(tmp_path / "runs.db")) as db:
            db.set_progress_handler(partial(ticks.append, 1), 10)
            assert len(listed_runs(db, query)) == 5
        steps.append(sum(ticks))

    assert steps[1] < 2 * steps[0]
