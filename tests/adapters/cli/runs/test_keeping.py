"""`watch`, `export`, `verify`, `backup` and `clean`."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import Annotated

import pytest
from attrs import evolve

from detent import SecretParameter, SQLiteJournal, tool
from detent.journals import Entry
from tests.adapters.cli.runs.clerks import (
    PAY,
    app,
    begin_by,
    call,
    document,
    fail,
    look,
    said,
)


def test_watch_gives_each_entry_once(path: str) -> None:
    """A line of JSON for each, also of those that another process writes meanwhile."""
    lines = call("watch", "talk-1", "--json").stdout.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["Started", "ModelReplied"]
    assert call("watch", "order-1", "--until-waiting").stdout.count("\n") == 5
    assert call("watch", "talk-1", "--after", "0", "--json").stdout.count("\n") == 1
    call("watch", "talk-1", "--after", "7", code=5)
    assert call("watch", "order-1", "--after", "4", "--timeout", "0").stdout == ""

    def cancelled() -> None:
        store = SQLiteJournal(path)
        store.wait("order-1", 5, 0.05)  # nobody else writes: the watcher looks in the meantime
        store.append("order-1", [Entry(5, 0.0, "CancelRequested", "done", {"reason": "late"})])

    other = threading.Thread(target=cancelled)
    other.start()
    seen = call("watch", "order-1", "--after", "3", "--json").stdout.splitlines()
    other.join()
    assert [json.loads(line)["position"] for line in seen] == [4, 5]


@pytest.mark.parametrize("is_begun_anew", [False, True])
def test_watch_does_not_go_on_in_another_run_of_the_same_id(
    is_begun_anew: bool,  # noqa: FBT001 - the case
    path: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was deleted while it was watched, and perhaps begun anew."""

    def replaced(store: SQLiteJournal, run_id: str, *rest: object) -> bool:
        entries = list(store.read(run_id))
        store.delete(run_id)
        if is_begun_anew:
            entries.append(evolve(entries[-1], position=len(entries)))
            store.append(run_id, [evolve(one, at=one.at + 1) for one in entries])
        return True

    monkeypatch.setattr(SQLiteJournal, "wait", replaced)
    assert "run 'order-1' has been deleted" in call("watch", "order-1", code=5).stderr


def test_ctrl_c_ends_with_130(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And with a word on stderr, not a trace."""

    def interrupted(*args: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(SQLiteJournal, "wait", interrupted)

    assert "Stopped." in call("watch", "order-1", code=130).stderr


def test_export_is_all_of_it(path: str, tmp_path: Path) -> None:
    """Lines, or one document; to stdout or a file."""
    lines = call("export", "talk-1").stdout.splitlines()
    assert [json.loads(line)["position"] for line in lines] == [0, 1]
    assert document("export", "talk-1")["entries"] == [json.loads(line) for line in lines]
    call("export", "talk-1", "--output", "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines() == lines


def test_verify_finds_what_is_not_as_it_was(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By reading all; with the agent's code by doing it again, too."""
    assert document("verify")["damaged"] == 0
    (talk,) = document("verify", "talk", "--app", app(monkeypatch))["runs"]
    assert (talk["run_id"], talk["whole"], talk["problem"]) == ("talk-1", True, None)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE entries SET data = replace(data, 'Hello.', 'Hellooo')")
    db.close()

    found = document("verify", code=1)
    assert found["damaged"] == 1
    assert [one["run_id"] for one in found["runs"] if not one["whole"]] == ["talk-1"]


def test_verify_holds_a_run_against_a_head_of_before(path: str) -> None:
    """So is found what lists know nothing of: the last entries are gone, and the list is old."""
    said = call("verify", "order-1").stderr
    (head,) = [
        line.rpartition(": ")[2] for line in said.splitlines() if line.startswith("head of run")
    ]
    store = SQLiteJournal(path)
    store.append("order-1", [Entry(5, 0.0, "CancelRequested", "done", {"reason": "late"})])
    store.close()
    (run,) = document("verify", "order-1", "--expect-head", head)["runs"]
    assert run["head"] != head
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM entries WHERE run_id = 'order-1' AND position > 3")
        db.execute("UPDATE runs SET length = 4 WHERE run_id = 'order-1'")
        db.execute("DELETE FROM snapshots WHERE run_id = 'order-1' AND position > 4")
    db.close()

    assert call("verify", "order-1")
    lost = call("verify", "order-1", "--expect-head", head, code=1).stderr
    assert "has not got what was at the head" in lost
    assert "name that" in call("verify", "--expect-head", head, code=2).stderr


def test_verify_calls_no_run_damaged_that_a_release_cannot_follow(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is whole, and it is another matter to look for damage in a store."""

    @tool
    def pay(amount: int, memo: str, pin: Annotated[str, SecretParameter] = "") -> str:
        """Pay."""
        return f"paid {amount}"

    released = app(monkeypatch, tools=[look, pay, fail])
    found = document("verify", "order", "--app", released, code=1)
    (run,) = found["runs"]
    assert (run["run_id"], run["whole"]) == ("order-1", True)
    assert "the agent's rules have changed since" in run["problem"]
    assert (found["damaged"], found["unfollowed"]) == (0, 1)

    said = call("verify", "--app", released, code=1)
    assert "runs read: 2, of them damaged: 0" in said.stderr
    assert "1 are whole, and cannot be followed by the agents at --app" in said.stderr


def test_verify_says_which_runs_an_engine_holds_to_more(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a run can be followed by what is stored is not all that its engine asks."""
    begin_by("Temporal", SQLiteJournal(path), "driven", said(PAY))
    place = ("--store", path, "--app", app(monkeypatch))

    assert "1 go on by the effects of an engine" in call("verify", *place).stderr
    assert "by the effects" not in call("verify", "order-1", *place).stderr


def test_backup_and_clean(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy is whole; only what has ended, and is old, is deleted, and not without a word."""
    call("backup", "copy.db")
    assert len(document("list", "--store", "copy.db")["runs"]) == 2
    Path("notes.txt").write_text("mine")
    for words in (("backup", "notes.txt"), ("export", "talk-1", "--output", "notes.txt")):
        assert "there is a file notes.txt already" in call(*words, code=2).stderr
        assert Path("notes.txt").read_text() == "mine"
    call("backup", "notes.txt", "--replace")
    call("export", "talk-1", "--output", "notes.txt", "--replace")
    assert Path("notes.txt").read_text().startswith("{")

    assert document("clean", "--older-than", "1d", "--yes") == {"deleted": []}
    assert document("clean", "--older-than", "0s", "--dry-run") == {"would_delete": ["talk-1"]}
    assert "--yes" in call("clean", "--older-than", "0s", code=2).stderr
    assert call("clean", "--older-than", "0s", "--yes").stdout == "talk-1\n"
    assert [one["run_id"] for one in document("list")["runs"]] == ["order-1"]
    call("clean", "--older-than", "soon", code=2)
    assert "1m may be minutes or months" in call("clean", "--older-than", "1m", code=2).stderr
