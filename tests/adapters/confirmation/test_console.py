"""The console UI, at a real terminal: a pseudo one, with a human's keystrokes typed ahead."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
import threading
import tty
from collections.abc import Generator
from contextlib import contextmanager
from select import select
from typing import Any, TextIO

import pytest
from attrs import frozen

from detent import ConfirmationUIResult, RichConsoleUI, SimpleConsoleUI
from detent.adapters.confirmation import console
from detent.core.visible import visible

CONFIRM, REJECT = ConfirmationUIResult("confirm"), ConfirmationUIResult("reject")


@frozen
class Terminal:
    """A terminal: the human's end, and what a program reads from and prints to."""

    human: int
    keys: TextIO | None = None
    screen: TextIO | None = None

    def type(self, keys: str) -> None:
        """Press keys; they wait in the terminal until they are read."""
        os.write(self.human, keys.encode())

    def shown(self, until: str) -> str:
        """What has been printed, up to and with `until`."""
        seen = b""
        while until.encode() not in seen:
            assert select([self.human], [], [], 10)[0], f"nothing more is printed after {seen!r}"
            seen += os.read(self.human, 4096)
        return seen.decode().replace("\r\n", "\n")

    @contextmanager
    def attached(self) -> Generator[None]:
        """This process talks to the terminal."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", self.keys)
            patch.setattr(sys, "stdout", self.screen)
            yield

    def ask(self, **params: Any) -> ConfirmationUIResult:
        """What the human at the terminal decides."""
        with self.attached():
            return question(**params)


def question(**params: Any) -> ConfirmationUIResult:
    return SimpleConsoleUI().get_user_confirmation("pay", "Pays money.", params)


@pytest.fixture
def terminal() -> Generator[Terminal]:
    """A terminal of this process's own; it does not echo."""
    human, program = pty.openpty()
    settings = termios.tcgetattr(program)
    settings[tty.LFLAG] &= ~termios.ECHO
    termios.tcsetattr(program, termios.TCSANOW, settings)
    with open(program) as keys, open(os.dup(program), "w") as screen:  # noqa: PTH123 - a descriptor has no path
        yield Terminal(human, keys, screen)
        os.write(human, b"\x04\x04")  # whoever still waits for an answer is let go
    os.close(human)


def test_the_call_is_shown_with_all_its_arguments(terminal: Terminal) -> None:
    """Texts as they are, all else as JSON."""
    terminal.type("y\n")

    terminal.ask(to="Ann", amount=5, tags=["é"])

    assert terminal.shown("[m]odify: ") == (
        "\n--- pay wants to run ---\nPays money.\n"
        '  to = Ann\n  amount = 5\n  tags = ["é"]\n'
        "Run it? [y]es / [n]o / [a]nswer for it / [r]emember / [s]how all / [m]odify: "
    )


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("y\n", CONFIRM),
        (" YES \n", CONFIRM),
        ("n\n\n", REJECT),
        ("no\ntoo much\n", ConfirmationUIResult("reject", "too much")),
        ("m\n\n\n\n", ConfirmationUIResult("modify", None, {"to": "Ann", "amount": 5})),
        ("m\nBob\n7\n\n", ConfirmationUIResult("modify", None, {"to": "Bob", "amount": 7})),
    ],
)
def test_a_human_confirms_rejects_or_modifies(
    terminal: Terminal, keys: str, said: ConfirmationUIResult
) -> None:
    """By a letter or a word; an empty line keeps an argument and gives no reason."""
    terminal.type(keys)

    assert terminal.ask(to="Ann", amount=5) == said


def test_nothing_but_an_answer_is_an_answer(terminal: Terminal) -> None:
    """The Enter key alone confirms nothing."""
    terminal.type("\nsure\nn\n\n")

    assert terminal.ask() == REJECT
    assert terminal.shown("Why not").count("Please answer y, n, a, r, s or m.") == 2


def test_an_argument_that_is_no_json_is_asked_again(terminal: Terminal) -> None:
    """With what is wrong with it."""
    terminal.type("m\nseven\n7\n\n")

    assert terminal.ask(amount=5).new_tool_params == {"amount": 7}
    assert "That is not JSON" in terminal.shown("not JSON")


def test_end_of_input_is_no_answer(terminal: Terminal) -> None:
    """Ctrl-D decides nothing."""
    terminal.type("\x04")

    with pytest.raises(EOFError):
        terminal.ask()


def test_what_a_model_wrote_cannot_steer_the_terminal(terminal: Terminal) -> None:
    """Escape sequences and direction marks are shown, not obeyed."""
    terminal.type("y\n")

    terminal.ask(to="\x1b[2J\rAnn\u202e")

    shown = terminal.shown("[m]odify")
    assert "\x1b" not in shown
    assert "  to = \\x1b[2J\\rAnn\\u202e\n" in shown


def test_an_argument_cannot_pass_for_the_rest_of_the_question(terminal: Terminal) -> None:
    """Its further lines are barred, those of a made-up name too."""
    terminal.type("y\n")

    terminal.ask(**{"to": "Ann\n  amount = 1", "x\n  amount": 2, "amount": 5000})

    lines = terminal.shown("[m]odify").splitlines()
    assert [line for line in lines if line.startswith("  amount = ")] == ["  amount = 5000"]


@pytest.fixture
def in_colour(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The terminal has colours and is 80 characters wide."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    return terminal


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("y\n", CONFIRM),
        ("no\ntoo much\n", ConfirmationUIResult("reject", "too much")),
        ("a\nin cash\n", ConfirmationUIResult("respond", "in cash")),
        ("r\ntool\n", ConfirmationUIResult("confirm", remember="tool")),
        ("m\nBob\n7\n\n", ConfirmationUIResult("modify", None, {"to": "Bob", "amount": 7})),
    ],
)
def test_a_human_decides_in_colour(
    in_colour: Terminal, keys: str, said: ConfirmationUIResult
) -> None:
    """The rich UI takes the same keys."""
    in_colour.type(keys)
    params = {"to": "Ann", "amount": 5}
    with in_colour.attached():
        assert RichConsoleUI().get_user_confirmation("pay", "Pays money.", params) == said


def test_the_question_is_framed_and_nothing_in_it_is_obeyed(in_colour: Terminal) -> None:
    """Escape sequences of ours colour it; those of a model, and markup, are shown as text."""
    in_colour.type("y\n")
    params = {"to": "\x1b[2J\rAnn\u202e", "note": "[red]x[/red]"}
    with in_colour.attached():
        RichConsoleUI().get_user_confirmation("pay", "Pays [bold]money[/bold].", params)

    shown = in_colour.shown("odify: ")
    assert "\x1b[36m  to" in shown
    assert "\x1b[2J" not in shown
    plain = re.sub("\x1b\\[[0-9;]*m", "", shown)
    assert plain.startswith("╭─ pay wants to run ─")
    inside = [line.strip("│ ") for line in plain.splitlines()[1:4]]
    assert inside == [
        "Pays [bold]money[/bold].",
        "to = \\x1b[2J\\rAnn\\u202e",
        "note = [red]x[/red]",
    ]
    assert plain.splitlines()[-1] == console.CHOICES


def test_tabs_and_lines_stay_readable() -> None:
    """Ordinary text is left alone."""
    assert visible("a\tb\nc é 漢") == "a\tb\nc é 漢"


class WatchedLock:
    """A lock that says when somebody comes to it."""

    def __init__(self) -> None:
        self.lock, self.arrivals = threading.Lock(), threading.Semaphore(0)

    def __enter__(self) -> None:
        self.arrivals.release()
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()


def test_two_questions_do_not_interleave(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is asked when the first has been answered."""
    lock = WatchedLock()
    monkeypatch.setattr(console, "ONE_AT_A_TIME", lock)
    answers: list[str] = []

    def ask() -> None:
        answers.append(question().action)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]

    with terminal.attached():
        for thread in threads:
            thread.start()
            assert lock.arrivals.acquire(timeout=10)
        first = terminal.shown("[m]odify: ")
        terminal.type("y\n")
        second = terminal.shown("[m]odify: ")
        terminal.type("n\n\n")
        for thread in threads:
            thread.join(10)

    assert (first.count("wants to run"), second.count("wants to run")) == (1, 1)
    assert answers == ["confirm", "reject"]


CHILD = """
import os, sys
os.open(os.ttyname(0), os.O_RDWR)  # makes this terminal the one whose Ctrl-C is ours
from detent import SimpleConsoleUI
try:
    SimpleConsoleUI().get_user_confirmation("pay", "", {})
except KeyboardInterrupt:
    print("interrupted, nothing decided")
"""


def test_ctrl_c_is_no_answer() -> None:
    """In a process of its own, which the terminal interrupts."""
    human, program = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=program,
        stdout=program,
        stderr=program,
        start_new_session=True,
    )
    os.close(program)
    terminal = Terminal(human)

    terminal.shown("[m]odify: ")
    terminal.type("\x03\n")  # the line's end wakes a reader that the signal was too early for

    assert "interrupted, nothing decided" in terminal.shown("decided")
    assert child.wait(10) == 0
    os.close(human)
