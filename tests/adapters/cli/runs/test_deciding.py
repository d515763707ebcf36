"""`decide` at a real terminal: who says yes has the whole question before them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from detent import AlwaysAskPolicy, SQLiteJournal, Tool, ToolCall
from detent.adapters.cli.endings import REFUSED
from detent.adapters.cli.show import put
from detent.adapters.confirmation.rows import barred
from tests.adapters.cli.runs.clerks import PAY, app, begin, call, clerk, said

pty = pytest.importorskip("pty", reason="a terminal of its own is had on POSIX alone")

APP = "from tests.adapters.cli.runs.clerks import clerk\nagent = clerk(None)\n"
ASKED = b"[y/N]"
ROOT = Path(__file__).parents[4]
PATH = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
PATIENCE_S = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a run that waits, and the module of its agent."""
    (tmp_path / "the_desk.py").write_text(APP)
    begin(SQLiteJournal(tmp_path / "runs.db"), "order-1", PAY)
    return tmp_path


def decide(
    folder: Path,
    early: bytes,
    late: bytes | tuple[bytes, ...],
    *way: str,
    stdout: Path | None = None,
) -> tuple[str, int]:
    """What a person sees who types before and each time they are asked, and the exit code."""
    words = ("decide", "order-1", *(way or ("--confirm",)))
    typed = late if isinstance(late, tuple) else (late,)
    return at_a_terminal(folder, words, early, typed, stdout)


def at_a_terminal(
    folder: Path,
    words: Sequence[str],
    early: bytes = b"",
    late: Sequence[bytes] = (b"",),
    stdout: Path | None = None,
) -> tuple[str, int]:
    """What a person sees of a command of `detent runs`, and the exit code."""
    words = ("runs", *words, "--app", "the_desk:agent")
    ours, theirs = pty.openpty()
    os.write(ours, early)
    with (stdout or Path(os.devnull)).open("wb") as elsewhere:
        program = subprocess.Popen(
            [sys.executable, "-m", "detent", *words, "--store", "runs.db"],
            cwd=folder,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "200", "PYTHONPATH": PATH},
            stdin=theirs,
            stdout=theirs if stdout is None else elsewhere,
            stderr=theirs,
        )
    os.close(theirs)
    try:
        seen = b""
        for asked, keys in enumerate(late, start=1):
            while seen.count(ASKED) < asked and (piece := _read(ours)):
                seen += piece
            os.write(ours, keys)
        while piece := _read(ours):
            seen += piece
        return seen.decode(), program.wait(PATIENCE_S)
    finally:
        program.kill()
        program.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the program has ended, and nothing is left to read
        return b""


def waits(folder: Path) -> bool:
    return bool(clerk(SQLiteJournal(folder / "runs.db")).pending("order-1"))


@pytest.mark.parametrize(
    ("early", "late"),
    [(b"", (b"n\n",)), (b"y\n", (b"n\n",)), (b"y\ny\n", (b"\n",)), (b"", (b"who\ny\n", b"n\n"))],
)
def test_what_was_typed_before_the_question_is_no_answer(
    folder: Path, early: bytes, late: tuple[bytes, ...]
) -> None:
    """Not while the command still began, either, and not before it was asked anew."""
    seen, code = decide(folder, early, late)

    assert "amount = 5" in seen
    assert (code, waits(folder)) == (REFUSED, True)


@pytest.mark.parametrize(("key", "code"), [(b"y\n", 0), (b"n\n", REFUSED), (b"\x04", 130)])
def test_a_terminal_shows_what_waits_and_asks(folder: Path, key: bytes, code: int) -> None:
    """Where no digest says what was seen. Only a yes to that is one."""
    seen, ended = decide(folder, b"", key)

    assert "amount = 5" in seen[: seen.index("Is it about this?")]
    assert (ended, waits(folder)) == (code, code != 0)


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8", "▌ "), ("ascii", "[?] ")])
def test_each_row_of_a_question_has_its_mark(
    folder: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, mark: str
) -> None:
    """As the terminal can show it. What looks like it and is from elsewhere is escaped."""
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    seen, _ = decide(folder, b"", b"n\n")

    rows = seen[: seen.index("Is it about this?")].strip().splitlines()
    assert [row for row in rows if row and not row.startswith(mark)] == []
    assert f"{mark}  amount = 5" in rows


def test_what_pending_shows_on_a_terminal_has_the_mark_too(folder: Path) -> None:
    """It is the first that a person sees of a question."""
    seen, _ = at_a_terminal(folder, ("pending",))

    rows = [row for row in seen.splitlines() if "amount" in row or "order-1  pay" in row]
    assert rows
    assert [row for row in rows if not row.startswith("▌ ")] == []


def test_what_is_made_of_a_row_is_a_plain_text() -> None:
    """The mark is not taken along into what is put together of it, and none is forged."""
    file = StringIO()
    console = Console(file=file, width=80)
    row = barred("▌ Run pay?")
    for text in (row, row[2:], f"{row}", "▌ Run pay?"):
        put(console, text)

    ours, *others = file.getvalue().splitlines()
    assert ours == r"▌ \u258c Run pay?"
    assert [text for text in others if "▌" in text] == []


def test_a_changed_call_is_asked_about_by_its_changes(folder: Path) -> None:
    """A yes is to them, and not to what stands above."""
    seen, code = decide(folder, b"", b"y\n", "--modify", '{"amount": 3}')

    assert "amount = 5" in seen
    asked = "Is it about this, to run with " + '{"amount": 3, "pin": "********"} instead? [y/N]'
    assert asked in seen
    assert (code, waits(folder)) == (0, False)


def test_the_question_stands_where_it_is_answered(folder: Path) -> None:
    """Though what the command prints goes to a file."""
    seen, code = decide(folder, b"", b"y\n", stdout=folder / "log.txt")

    assert "amount = 5" in seen[: seen.index("Is it about this?")]
    assert (code, waits(folder)) == (0, False)


def test_no_name_passes_for_a_row(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may make up the names of arguments, and the id of a call."""
    name = 'note\n  amount = 5\n  to = "Ann"\n  digest: 264e52238fc5'
    free = Tool("free", "Takes anything.", {"type": "object"}, lambda **_: "done")
    options = {"tools": [free], "confirmation_strategies": {"free": AlwaysAskPolicy()}}
    calls = [ToolCall("free", {name: 7}, f"{number}\n  amount = 5") for number in range(2)]
    begin(SQLiteJournal(path), "order-2", said(*calls), **options)
    the_app = app(monkeypatch, **options)

    rows = call("pending", "order-2").output.splitlines()
    rows += call("decide", "order-2", "--confirm", "--app", the_app, code=2).output.splitlines()

    assert not [
        row for row in rows if row.strip().startswith(("amount = 5", "to =", "digest: 264"))
    ]
