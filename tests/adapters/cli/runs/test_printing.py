"""What is printed, where, and what is never printed."""

from __future__ import annotations

from io import StringIO
from typing import cast

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from rich.console import Console

from detent import (
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.cli.main import main
from detent.adapters.cli.runs.printing import age, duration, put_lines, table
from detent.adapters.cli.runs.views import timeline
from detent.adapters.confirmation.rows import barred
from detent.adapters.stories.parts import Stretch
from detent.adapters.stories.story import story_of
from detent.adapters.system.terminal import Marked
from tests.adapters.cli.runs.clerks import (
    HOSTILE,
    PAY,
    app,
    begin,
    call,
    clerk,
    pay,
    said,
)


def test_secrets_are_masked_everywhere(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a decision that has changed the arguments, where nothing says that they are."""
    agent = clerk(SQLiteJournal(path), said(text="Paid."))
    (one,) = agent.pending("order-1")
    agent.decide("order-1", one.modify({"amount": 6, "pin": "********"}, by="Ada"))

    commands = ["show", "export", "watch", "diff", "pending"]
    for command in commands:
        words = [command, "order-1", *(["talk-1"] if command == "diff" else [])]
        words += ["--timeout", "0"] if command == "watch" else []
        assert "hush" not in call(*words).output
        assert "hush" not in call(*words, "--json").output
    assert "hush" not in call("show", "order-1", "--view", "entries").output
    assert "changed by Ada" in call("show", "order-1").stdout


def test_the_timeline_is_to_scale(path: str) -> None:
    """Waits are drawn in another way; a terminal that cannot show lines gets signs."""
    store = SQLiteJournal(path)
    story = story_of("order-1", store.read("order-1"))
    assert story is not None
    story.began_at, story.last_at = 0.0, 100.0
    story.turns[0].began_at, story.turns[0].replied_at = 0.0, 50.0
    story.turns[0].asked = [Stretch("model", 0.0, 50.0)]
    story.turns[0].calls[1].stretches = [Stretch("wait", 50.0)]

    lines = [text for text, _ in timeline(story, 80, lambda text: True)]
    model = next(line for line in lines if line.startswith("model 1"))
    wait = next(line for line in lines if line.startswith("wait: pay"))
    assert model.count("━") == wait.count("┄") == 19
    assert model.index("━") < wait.index("┄")
    assert "=" in "".join(text for text, _ in timeline(story, 80, lambda text: False)[2:])
    assert "wait: pay" in call("show", "order-1", "--view", "timeline").stdout


def test_work_of_which_only_the_beginning_is_known_has_no_duration(path: str) -> None:
    """Its process has ended right then, for all that is written: that is not 0.00 s of work."""
    story = story_of("order-1", SQLiteJournal(path).read("order-1"))
    assert story is not None
    story.began_at, story.last_at = 0.0, 100.0
    story.turns[0].calls[0].stretches = [Stretch("work", 50.0, 50.0, "cut short")]
    story.turns[0].calls[1].stretches = [Stretch("work", 50.0, 60.0, "cut short")]

    rows = [text for width in (80, 40) for text, _ in timeline(story, width, lambda text: True)]
    ends = [row.split("✗")[1].strip() for row in rows if row.endswith(("✗", " s")) and "✗" in row]
    assert ends == ["", "10 s"] * 2


def test_on_a_narrow_terminal_bars_stand_below_their_names(path: str) -> None:
    """Each row stays within its 40 columns, and a bar has most of them."""
    story = story_of("order-1", SQLiteJournal(path).read("order-1"))
    assert story is not None
    story.began_at, story.last_at = 0.0, 100.0
    story.turns[0].began_at, story.turns[0].replied_at = 0.0, 50.0
    story.turns[0].asked = [Stretch("model", 0.0, 50.0)]
    story.turns[0].calls[1].stretches = [Stretch("wait", 50.0)]

    rows = [text for text, _ in timeline(story, 40, lambda text: True)]

    assert rows[:3] == ["run order-1", "waiting", "agent clerk"]
    first = rows.index("model 1")
    assert rows[first + 1] == "━" * 13 + " " * 13 + " 50 s"
    assert max(map(len, rows)) <= 40


def test_each_attempt_and_each_wait_is_drawn(path: str) -> None:
    """Where a process ended stands a mark; a model that failed and a retry have rows as well."""
    story = story_of("order-1", SQLiteJournal(path).read("order-1"))
    assert story is not None
    story.began_at, story.last_at = 0.0, 100.0
    story.turns[0].asked = [Stretch("model", 0.0, 5.0, "failed"), Stretch("model", 5.0, 10.0)]
    looked, paid = story.turns[0].calls
    looked.stretches = []
    paid.status, paid.stretches = (
        "done",
        [
            Stretch("wait", 10.0, 25.0, "decided"),
            Stretch("work", 25.0, 50.0, "cut short"),
            Stretch("wait", 75.0, 99.0, "decided"),
            Stretch("work", 99.0, 100.0),
        ],
    )

    def drawn(width: int, *, can: bool) -> list[tuple[str, str]]:
        rows = timeline(story, width, lambda text: can)[2:]
        return [(" ".join(text.split()), style) for text, style in rows]

    assert drawn(62, can=True) == [
        ("model 1 ━ 5 s", "red"),
        ("model 1 ━ 5 s", "cyan"),
        ("wait: pay ┄┄┄ 15 s", "yellow"),
        ("pay ━━━━✗ 25 s", "red"),
        ("wait: pay ┄┄┄┄┄ 24 s", "yellow"),
        ("pay ━ 1 s", "green"),
        ("✗ cut short: nobody saw when", "dim"),
    ]
    assert ("pay ====x 25 s", "red") in drawn(62, can=False)


def test_hostile_texts_steer_no_terminal(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the model, of tools, of users, in ids, names, reasons and errors: all are escaped."""

    @tool
    def echo(text: str) -> str:
        """Echo."""
        return text

    store = SQLiteJournal(path)
    lines = said(ToolCall("echo", {"text": HOSTILE, HOSTILE: 1}), PAY, text=HOSTILE)
    agent = clerk(store, lines, tools=[echo, pay], name=HOSTILE)
    agent.run(HOSTILE, run_id=f"x{HOSTILE}", thread_id=HOSTILE, raise_at_break_point=False)
    call("cancel", f"x{HOSTILE}", "--reason", HOSTILE)
    begin(store, "y", said(PAY), name=HOSTILE)

    for words in (
        *(["list"], ["pending"], ["verify"], ["diff", "x", "y"], ["watch", "x"]),
        *(["show", "x", "--view", view] for view in ("tree", "timeline", "cost", "entries")),
        *(["show", HOSTILE], ["decide", "y", HOSTILE, "--app", app(monkeypatch)]),
        *(["list", "--store", HOSTILE], ["resume", "y", "--app", f"{HOSTILE}:x"]),
        *(["cancel", "x"], ["export", "x"]),
    ):
        shown = CliRunner().invoke(main, ["runs", *words])
        assert shown.exception is None or isinstance(shown.exception, SystemExit), words
        assert "\x1b" not in shown.output, words
        assert "\u202e" not in shown.output, words
        assert "▌" not in shown.output, words


def test_a_row_of_a_question_keeps_its_mark_and_makes_no_second_row() -> None:
    """On a terminal as well as in its pager: `pending` prints by it."""
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    put_lines([(barred("pay"), ""), (Marked("▌ one\ntwo"), ""), ("▌ forged", "")], console)

    shown = cast(StringIO, console.file).getvalue()
    assert shown.splitlines() == ["▌ pay", r"▌ one\ntwo", r"\u258c forged"]


def test_no_name_of_a_tool_makes_rows_of_its_own(path: str) -> None:
    """A model makes names up: one could say that somebody has confirmed what never ran."""
    name = "look\n├─ pay {}\n│  confirmed by Ada" + " " * 300 + "└─ pay {}"
    begin(SQLiteJournal(path), "forged", said(ToolCall(name, {})), said(text="Done."))

    for view in ("tree", "timeline", "cost"):
        rows = call("show", "forged", "--view", view).stdout.splitlines()
        assert not [row for row in rows if row.startswith(("├─ pay", "│  confirmed"))]
        assert not [row for row in rows if " " * 100 in row]


def test_a_shell_completes_ids(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the store that was named; one that is not there completes nothing."""

    def completed(*words: str) -> list[str]:
        shell = ShellComplete(main, {}, "detent", "_DETENT_COMPLETE")
        return [one.value for one in shell.get_completions(["runs", *words], "o")]

    assert completed("show") == ["order-1"]
    monkeypatch.setattr("detent.adapters.cli.runs.stores.PAGE", 1)
    assert completed("show") == ["order-1"]
    assert completed("show", "--store", "missing.db") == []
    assert completed("resume", "--store", path) == ["order-1"]


def test_a_narrow_terminal_gets_no_table() -> None:
    """The parts of each row stand below each other; a wide one gets no cell without an end."""
    narrow = Console(width=40, force_terminal=True)
    rows = [["order-1", "waiting", ""], ["x" * 50, "done", "T"]]

    assert [text for text, _ in table(("RUN", "STATUS", "THREAD"), rows, narrow)] == [
        *("order-1", "  status: waiting", "x" * 50, "  status: done", "  thread: T")
    ]
    hostile = table(("RUN", "STATUS"), [[HOSTILE, "done"]], Console(width=99))
    assert hostile[0][0].index("STATUS") == hostile[1][0].index("done")
    assert "\x1b" not in hostile[1][0]
    wide = table(("RUN", "STATUS", "THREAD"), rows, Console(width=100, force_terminal=True))
    assert wide[2][0].startswith("x" * 39 + "…  done")
    assert table(("RUN",), [["x" * 50]], Console(width=30))[1][0] == "x" * 50


def test_only_a_terminal_gets_a_pager_and_colours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe gets plain lines, and a terminal with NO_COLOR no colours."""
    lines = [("x", "red")] * 100
    paged = list[str]()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("pydoc.pager", paged.append)

    put_lines(lines)
    assert capsys.readouterr().out == "x\n" * 100
    assert paged == []
    put_lines(lines, Console(force_terminal=True, width=80, height=20, color_system="standard"))
    assert len(paged) == 1
    assert "\x1b[31m" in paged[0]
    monkeypatch.setenv("NO_COLOR", "1")
    put_lines(lines, Console(force_terminal=True, width=80, height=20))
    assert "\x1b[31m" not in paged[1]


def test_times_are_told_in_one_word() -> None:
    """The largest unit that fits."""
    assert [duration(one) for one in (0.25, 5, 90, 7_200, 129_600)] == [
        *("0.25 s", "5 s", "1.5 min", "2 h", "1.5 d")
    ]
    assert age(100, now=160) == "1 min ago"
