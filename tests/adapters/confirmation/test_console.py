"""The console UI, at a real terminal: a pseudo one, with a human who types when they are asked."""

from __future__ import annotations

import io
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
from attrs import evolve, field, frozen

from detent import ConfirmationUIResult, RichConsoleUI, SimpleConsoleUI
from detent.adapters.confirmation import console
from detent.adapters.system.terminal import escape_control
from detent.approvals import PendingCall
from detent.core.tools.masking import MASK

SIMPLE = SimpleConsoleUI()
PROMPT_END = re.compile(rb"odify: |empty\): |result: |the \[tool\]\? |\]: ")
"""The end of a question: "why not", and each parameter that may be changed, are some as well."""
CONFIRM, REJECT = ConfirmationUIResult("confirm"), ConfirmationUIResult("reject")


@frozen
class Terminal:
    """A terminal: the human's end, and what a program reads from and prints to."""

    human: int
    keys: TextIO | None = None
    screen: TextIO | None = None
    unread: bytearray = field(factory=bytearray)
    plan: list[str] = field(factory=list)

    def type(self, keys: str) -> None:
        """Press keys; they wait in the terminal until they are read."""
        os.write(self.human, keys.encode())

    def will_type(self, *keys: str) -> None:
        """What the human types at each question, in one go, when all of it has been printed."""
        self.plan.extend(keys)

    def will_answer(self, keys: str) -> None:
        """A line for each question."""
        self.will_type(*keys.splitlines(keepends=True))

    def _play(self) -> None:
        for asked, keys in enumerate(self.plan, start=1):
            while len(PROMPT_END.findall(self.unread)) < asked:
                self.unread.extend(os.read(self.human, 4096))
            self.type(keys)

    def shown(self, until: str) -> str:
        """What has been printed, up to and with `until`."""
        wanted = until.encode()
        while wanted not in self.unread:
            seen = bytes(self.unread)
            assert select([self.human], [], [], 10)[0], f"nothing more is printed after {seen!r}"
            self.unread.extend(os.read(self.human, 4096))
        end = self.unread.index(wanted) + len(wanted)
        seen = bytes(self.unread[:end])
        del self.unread[:end]
        return seen.decode().replace("\r\n", "\n")

    @contextmanager
    def attached(self) -> Generator[None]:
        """This process talks to the terminal."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", self.keys)
            patch.setattr(sys, "stdout", self.screen)
            human = threading.Thread(target=self._play, daemon=True)
            human.start()
            yield
            human.join(10)
            assert not human.is_alive(), "there were fewer questions than answers"

    def ask(self, **params: Any) -> ConfirmationUIResult:
        """What the human at the terminal decides."""
        with self.attached():
            return question(**params)


def question(ui: SimpleConsoleUI = SIMPLE, **params: Any) -> ConfirmationUIResult:
    return ui.get_user_confirmation("pay", "Pays money.", params)


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
    terminal.will_type("y\n")

    terminal.ask(to="Ann", amount=5, tags=["é"])

    assert terminal.shown("[m]odify: ") == (
        "\n▌ pay wants to run\n▌ Pays money.\n"
        '▌   to = "Ann"\n▌   amount = 5\n▌   tags = ["é"]\n'
        "▌ Run pay? [y]es [n]o [a]nswer for it [r]emember [s]how all [m]odify: "
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
    terminal.will_answer(keys)

    assert terminal.ask(to="Ann", amount=5) == said


def test_nothing_but_an_answer_is_an_answer(terminal: Terminal) -> None:
    """The Enter key alone confirms nothing."""
    terminal.will_answer("\nsure\nn\n\n")

    assert terminal.ask() == REJECT
    assert terminal.shown("Why not").count("Please answer y, n, a, r, s or m.") == 2


def test_an_argument_that_is_no_json_is_asked_again(terminal: Terminal) -> None:
    """With what is wrong with it."""
    terminal.will_answer("m\nseven\n7\n\n")

    assert terminal.ask(amount=5).new_tool_params == {"amount": 7}
    shown = terminal.shown("such as 3")
    assert "That does not fit: expected JSON, such as 3" in shown


def test_end_of_input_is_no_answer(terminal: Terminal) -> None:
    """Ctrl-D decides nothing."""
    terminal.will_type("\x04")

    with pytest.raises(EOFError):
        terminal.ask()


def test_what_a_model_wrote_cannot_steer_the_terminal(terminal: Terminal) -> None:
    """Escape sequences and direction marks are shown, not obeyed."""
    terminal.will_type("y\n")

    terminal.ask(to="\x1b[2J\rAnn\u202e")

    shown = terminal.shown("[m]odify")
    assert "\x1b" not in shown
    assert '▌   to = "\\x1b[2J\\rAnn\\u202e"\n' in shown


def test_an_argument_cannot_pass_for_the_rest_of_the_question(terminal: Terminal) -> None:
    """Its further lines are barred, those of a made-up name too."""
    terminal.will_type("y\n")

    terminal.ask(**{"to": "Ann\n  amount = 1", "x\n  amount": 2, "amount": 5000})

    lines = terminal.shown("[m]odify").splitlines()
    assert [line for line in lines if line.startswith("▌   amount = ")] == ["▌   amount = 5000"]


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
        ("r\ncall\n", ConfirmationUIResult("confirm", remember="call")),
        ("m\nBob\n7\n\n", ConfirmationUIResult("modify", None, {"to": "Bob", "amount": 7})),
    ],
)
def test_a_human_decides_in_colour(
    in_colour: Terminal, keys: str, said: ConfirmationUIResult
) -> None:
    """The rich UI takes the same keys."""
    in_colour.will_answer(keys)
    params = {"to": "Ann", "amount": 5}
    with in_colour.attached():
        assert RichConsoleUI().get_user_confirmation("pay", "Pays money.", params) == said


def test_the_question_is_framed_and_nothing_in_it_is_obeyed(in_colour: Terminal) -> None:
    """Escape sequences of ours colour it; those of a model, and markup, are shown as text."""
    in_colour.will_type("y\n")
    params = {"to": "\x1b[2J\rAnn\u202e", "note": "[red]x[/red]"}
    with in_colour.attached():
        RichConsoleUI().get_user_confirmation("pay", "Pays [bold]money[/bold].", params)

    shown = in_colour.shown("odify: ")
    assert "\x1b[36m  to" in shown
    assert "\x1b[2J" not in shown
    plain = re.sub("\x1b\\[[0-9;]*m", "", shown)
    assert plain.startswith("▛▀ pay wants to run ▀")
    inside = [line.strip("▌▐ ") for line in plain.splitlines()[1:4]]
    assert inside == [
        "Pays [bold]money[/bold].",
        'to = "\\x1b[2J\\rAnn\\u202e"',
        'note = "[red]x[/red]"',
    ]
    assert plain.splitlines()[-1] == "▌ " + console.CHOICES.format("pay")


SCHEMA = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "amount": {"type": "integer", "maximum": 50},
        "kind": {"type": "string", "enum": ["gift", "loan"]},
        "pin": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["to", "amount"],
}
PAYING = PendingCall(
    *("r", 1, 0, "c", "pay", "Pays money."),
    {"to": "Ann", "amount": 5, "kind": "gift", "pin": MASK, "tags": []},
    *("", "digest", SCHEMA),
    masked=("pin",),
)


@pytest.mark.parametrize("ui", [SimpleConsoleUI(), RichConsoleUI()], ids=["simple", "rich"])
def test_arguments_are_changed_one_by_one(terminal: Terminal, ui: SimpleConsoleUI) -> None:
    """With their types; what does not fit is said at once, and asked again."""
    terminal.will_answer("m\n" + "\n"  # to: as it is
                  + "lots\n70\n7\n" + "bribe\nloan\n" + "x\n12\n" + '[1]\n["a"]\n'
                  + "5 o'clock\n" + "less\n")  # fmt: skip
    with terminal.attached():
        said = ui.get_user_decision(PAYING)

    changed = {"to": "Ann", "amount": 7, "kind": "loan", "pin": 12, "tags": ["a"]}
    changed |= {"note": "5 o'clock"}
    assert said == ConfirmationUIResult("modify", "less", changed)
    shown = terminal.shown("(may be empty): ")
    for prompt, count in (
        *((' to (string) ["Ann"]: ', 1), (" amount (integer) [5]: ", 3)),
        *((' kind ("gift" or "loan") ["gift"]: ', 2), (f" pin (integer) [{MASK} (secret)]: ", 2)),
        *((" tags (array) [[]]: ", 2), (" note (string or null) [not given]: ", 1)),
        *(
            ("That does not fit: expected integer, such as 3", 2),
            ("'amount' must be at most 50", 1),
        ),
        *(("'kind' must be", 1), ("'tags[0]' must be a string, got 1", 1)),
    ):
        assert re.sub("\x1b\\[[0-9;]*m", "", shown).count(prompt) == count, prompt


@pytest.mark.parametrize(("typed", "value"), [("null", None), ("", "absent"), ('"null"', "null")])
def test_what_may_be_text_or_not_is_read_as_what_fits(
    terminal: Terminal, typed: str, value: object
) -> None:
    """JSON first; an empty line gives nothing."""
    terminal.will_answer("m\n" + "\n" * 5 + f"{typed}\n\n")
    with terminal.attached():
        said = SimpleConsoleUI().get_user_decision(PAYING)

    assert said.new_tool_params is not None
    assert said.new_tool_params.get("note", "absent") == value


@pytest.mark.parametrize("ui", [SimpleConsoleUI(), RichConsoleUI()], ids=["simple", "rich"])
def test_a_long_argument_is_shown_whole_when_wanted(
    terminal: Terminal, ui: SimpleConsoleUI
) -> None:
    """Shortened at first, and with how much is left."""
    terminal.will_type("s\n", "y\n")
    text = "\n".join(f"line {n}" for n in range(99))
    with terminal.attached():
        ui.get_user_confirmation("mail", "Sends.", {"text": text})

    first, whole = terminal.shown("odify: "), terminal.shown("odify: ")
    assert ("line 11" in first, "line 12" in first) == (True, False)
    assert "… 696 more characters, see [s]how all" in first
    assert "line 98" in whole


@pytest.mark.parametrize("ui", [SimpleConsoleUI(), RichConsoleUI()], ids=["simple", "rich"])
def test_a_line_that_is_wrapped_cannot_pass_for_another(
    terminal: Terminal, ui: SimpleConsoleUI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor can a reason that a model has a word in; wide characters take two places."""
    monkeypatch.setenv("COLUMNS", "40")
    terminal.will_type("y\n")
    value = "Ann" + " " * 29 + "  amount = 1" + " " * 30 + "  amount = 2" + "漢" * 60
    call = evolve(PAYING, arguments={"to": value, "amount": 5000}, reason="x\n  amount = 3")
    with terminal.attached():
        ui.get_user_decision(call)

    shown = re.sub("\x1b\\[[0-9;]*m", "", terminal.shown("odify: ")).partition("Run pay?")[0]
    rows = [line.removeprefix("▌ ") for line in shown.splitlines()]
    assert [row.strip(" ▐") for row in rows if row.startswith("  amount")] == ["amount = 5000"]
    assert max(len(row) + row.count("漢") for row in shown.splitlines()) <= 40


@pytest.mark.parametrize("columns", [30, 40, 74])
@pytest.mark.parametrize("ui", [SimpleConsoleUI(), RichConsoleUI()], ids=["simple", "rich"])
def test_on_a_narrow_terminal_each_row_has_the_mark_and_ends_with_a_word(
    ui: SimpleConsoleUI, columns: int, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the choices as well: what a terminal makes of a long row has no mark."""
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal.will_type("y\n")
    call = evolve(PAYING, reason="an amount of so much needs the confirmation of a human")
    with terminal.attached():
        ui.get_user_decision(call)

    rows = plain(terminal.shown("odify: ")).lstrip("\n").splitlines()
    assert all(row[0] in "▌▛▙" and len(row) <= columns for row in rows)
    words = {word for row in rows for word in row.split()}
    assert {"confirmation", "[r]emember", "[m]odify:"} <= words


def test_tabs_and_lines_stay_readable() -> None:
    """Ordinary text is left alone."""
    assert escape_control("a\tb\nc é 漢") == "a\tb\nc é 漢"


UIS = pytest.mark.parametrize("ui", [SimpleConsoleUI(), RichConsoleUI()], ids=["simple", "rich"])


def plain(shown: str) -> str:
    """Without our colours."""
    return re.sub("\x1b\\[[0-9;]*m", "", shown)


@UIS
def test_a_name_that_a_model_makes_up_looks_like_no_row(
    terminal: Terminal, ui: SimpleConsoleUI
) -> None:
    """It stands in quotes: nothing in it passes for the value of another argument."""
    terminal.will_answer("n\n\n")
    with terminal.attached():
        question(ui, **{'to = "Ann"': "x", "to": "Mallory"})
    shown = plain(terminal.shown("[m]odify: "))
    assert r'  "to = \"Ann\"" = "x"' in shown
    assert '  to = "Mallory"' in shown


@UIS
def test_keys_typed_ahead_approve_nothing(terminal: Terminal, ui: SimpleConsoleUI) -> None:
    """Neither what was typed before a question, nor what was left over from the last answer."""
    terminal.type("y\ny")
    terminal.will_type("n\n\ny\n", "\ny\n", "no\n", "really\n")
    with terminal.attached():
        first, second = question(ui, to="Mallory"), question(ui, to="Mallory")

    assert (first, second) == (REJECT, ConfirmationUIResult("reject", "really"))


@UIS
def test_keys_typed_ahead_of_the_whole_question_approve_nothing(
    terminal: Terminal, ui: SimpleConsoleUI
) -> None:
    """Who asks for all of it says y after that, not before."""
    terminal.will_type("s\ny\n", "n\n", "\n")
    with terminal.attached():
        assert question(ui, to="Mallory") == REJECT


@pytest.mark.parametrize(
    ("bursts", "said"),
    [
        (("r\ntool\n", "call\n"), ConfirmationUIResult("confirm", remember="call")),
        (("n\nall is well\n", "no\n"), ConfirmationUIResult("reject", "no")),
        (("a\npaid\n", "not paid\n"), ConfirmationUIResult("respond", "not paid")),
        (("r\n", "why\ny\n", "n\n", "\n"), REJECT),
        (
            ("m\nMallory\n\n", "\n\n", "well\n"),
            ConfirmationUIResult("modify", "well", {"to": "Ann"}),
        ),
    ],
)
@UIS
def test_keys_typed_ahead_of_a_further_question_answer_none(
    terminal: Terminal, ui: SimpleConsoleUI, bursts: tuple[str, ...], said: ConfirmationUIResult
) -> None:
    """What a yes counts for, why not, what to run instead: each is asked on its own."""
    terminal.will_type(*bursts)
    with terminal.attached():
        assert question(ui, to="Ann") == said


def test_what_is_no_terminal_is_read_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers in a file or a pipe were written for the questions that come."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\ny\n"))

    assert question(to="Ann") == CONFIRM


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("100", 'to = "100"'),
        (100, "to = 100"),
        ("true", 'to = "true"'),
        (True, "to = true"),
        ("", 'to = ""'),
        ("Ann\u3164", 'to = "Ann\\u3164"'),
        ("\u2800", 'to = "\\u2800"'),
        ("Ann\u200b\u202e", 'to = "Ann\\u200b\\u202e"'),
        (MASK, f'to = "{MASK}"'),
        ({"a": "\u3164"}, 'to = {"a": "\\u3164"}'),
        ("▌", 'to = "\\u258c"'),
    ],
)
@UIS
def test_values_that_are_not_the_same_do_not_look_the_same(
    terminal: Terminal, ui: SimpleConsoleUI, value: object, shown: str
) -> None:
    """Texts and numbers, a mask and the text of one, names and names with what has no picture."""
    terminal.will_type("y\n")
    with terminal.attached():
        question(ui, to=value)

    assert shown in plain(terminal.shown("odify: "))


class AtNoon(SimpleConsoleUI):
    """Asked at a certain time."""

    def now(self) -> float:
        """As it says."""
        return 1_000.0


class AtNoonInColour(RichConsoleUI):
    """As above."""

    now = AtNoon.now


@pytest.mark.parametrize("ui", [AtNoon(), AtNoonInColour()], ids=["simple", "rich"])
def test_a_question_says_where_it_comes_from(terminal: Terminal, ui: SimpleConsoleUI) -> None:
    """The run, the turn, the agents, until when it counts, what the tool gets from elsewhere."""
    terminal.will_type("y\n")
    call = evolve(PAYING, agents=("office", "buyer"), expires_at=4725.0, state={"limit": "50"})
    with terminal.attached():
        ui.get_user_decision(call)

    shown = plain(terminal.shown("odify: "))
    for text in (
        "run r, turn 1, the agent office > buyer",
        "1970-01-01 01:18:45 UTC: for another 1 h 2 min",
        'limit = "50"  (from the state)',
        f"pin = {MASK} (secret)",
        "▌ Run pay? [y]es",
    ):
        assert text in re.sub(r"\s*▐\n▌ +\| ", "", shown), text


@UIS
def test_what_a_question_says_beyond_is_seen_as_well(
    terminal: Terminal, ui: SimpleConsoleUI
) -> None:
    """What the model has left out, what has changed, and what was there before; no secret of it."""
    terminal.will_type("y\n")
    more = ("", "digest", SCHEMA, {"payee": "Mallory"})
    call = PendingCall(
        *("r", 1, 0, "c", "pay", "Pays money."),
        {"to": "Bob", "amount": 5},
        *more,
        masked=("pin",),
        defaults=("amount",),
        changed="The state is another one.",
        former_state={"to": "Ann", "pin": "1234"},
    )
    with terminal.attached():
        ui.get_user_decision(call)

    shown = plain(terminal.shown("odify: "))
    for text in (
        *("The state is another one.", 'to = "Bob"', "amount = 5  (default)"),
        *('payee = "Mallory"  (from the state)', 'to = "Ann"  (former state)'),
        f"pin = {MASK} (secret)  (former state)",
    ):
        assert text in shown, text


@UIS
def test_each_row_of_a_question_has_the_mark(terminal: Terminal, ui: SimpleConsoleUI) -> None:
    """Which no text of a model can have; so no other row is one."""
    terminal.will_answer("m\n\n\n")
    call = evolve(PAYING, arguments={"to": "Ann\n▌ Run pay? [y]es\n" + "▌" * 200}, parameters={})
    with terminal.attached():
        ui.get_user_decision(call)

    rows = plain(terminal.shown("(may be empty): ")).strip().splitlines()
    assert [row for row in rows if row[0] not in "▌▛▙"] == []
    assert sum(row.startswith("▌ Run") for row in rows) == 1


class WatchedLock:
    """A lock that says when somebody comes to it."""

    def __init__(self) -> None:
        self.lock, self.arrivals = threading.Lock(), threading.Semaphore(0)

    def __enter__(self) -> None:
        self.arrivals.release()
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()


@pytest.mark.parametrize("ui", [SimpleConsoleUI(), RichConsoleUI()], ids=["simple", "rich"])
def test_two_questions_do_not_interleave(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, ui: SimpleConsoleUI
) -> None:
    """The second is asked when the first has been answered."""
    lock = WatchedLock()
    monkeypatch.setattr(console, "ONE_AT_A_TIME", lock)
    answers: list[str] = []

    def ask() -> None:
        answers.append(question(ui).action)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]

    with terminal.attached():
        for thread in threads:
            thread.start()
            assert lock.arrivals.acquire(timeout=10)
        first = terminal.shown("[m]odify: ")
        terminal.type("y\n")
        second = terminal.shown("[m]odify: ")
        terminal.type("n\n")
        terminal.shown("empty): ")
        terminal.type("\n")
        for thread in threads:
            thread.join(10)

    assert (first.count("wants to run"), second.count("wants to run")) == (1, 1)
    assert answers == ["confirm", "reject"]


CHILD = """
import os, sys
os.open(os.ttyname(0), os.O_RDWR)  # makes this terminal the one whose Ctrl-C is ours
import detent
from detent import *

@tool
def pay(to: str, amount: int) -> str:
    "Pays money."
    return f"paid {amount} to {to}"

def call(messages):
    return "done" if messages[-1].role == "tool" else ToolCall("pay", {"to": "Ann", "amount": 5})

ui = getattr(detent, sys.argv[1])()
agent = Agent(chat_generator=ScriptedChatGenerator(*[call] * 9), tools=[pay],
              confirmation_strategies={"*": BlockingConfirmationStrategy(AlwaysAskPolicy(), ui)},
              journal=MemoryJournal())
begin = lambda: agent.run("go", run_id="r")
while True:
    try:
        result = begin()
    except KeyboardInterrupt:
        begin = lambda: agent.resume("r")
        print(f"interrupted: {len(agent.pending('r'))} waits", flush=True)
    else:
        break
print(f"ended: {result.text}", [one.text for one in result.messages[-2].tool_call_results])
"""


@pytest.mark.parametrize("ui", ["SimpleConsoleUI", "RichConsoleUI"])
def test_ctrl_c_is_no_answer_to_any_question(ui: str) -> None:
    """The call stays pending, and the run goes on; in a process that the terminal interrupts."""
    human, program = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, ui],
        stdin=program,
        stdout=program,
        stderr=program,
        start_new_session=True,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(program)
    terminal = Terminal(human)

    def answer(*answers: str) -> None:
        for keys, prompt in zip(
            answers, ("odify: ", "to (string)", "amount (int", "What w"), strict=False
        ):
            terminal.shown(prompt)
            terminal.type(keys)

    for answers, prompt in (
        *(
            ((), "odify: "),
            (("n\n",), "Why not?"),
            (("a\n",), "tool's result: "),
            (("r\n",), "or the [tool]?"),
        ),
        *((("m\n",), "to (string)"), (("m\n", "Bob\n"), "amount (integer)")),
        (("m\n", "Bob\n", "7\n"), "What was"),
    ):
        answer(*answers)
        terminal.shown(prompt)
        terminal.type("\x03\n")  # the line's end wakes a reader that the signal was too early for
        assert "1 waits" in terminal.shown("waits")
    answer("m\n", "Bob\n", "7\n", "\n")

    assert "paid 7 to Bob" in terminal.shown("']")
    assert child.wait(10) == 0
    os.close(human)


def test_an_input_that_has_ended_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a service without a terminal: whoever runs it reads what to do instead."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(EOFError, match=r"nobody decides about 'pay', which did not run; .* policy"):
        SIMPLE.get_user_confirmation("pay", "Pay.", {"amount": 3})


def test_a_ui_in_colour_without_rich_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is made: not in the middle of a run, when somebody is waited for."""
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'detent\[cli\]'"):
        RichConsoleUI()


@pytest.mark.parametrize("choice", ["y", "r", "m"])
def test_what_was_shortened_is_shown_whole_before_it_is_let_run(
    terminal: Terminal, choice: str
) -> None:
    """The first answer shows the rest, and says so; after it has been seen, once is enough."""
    script = "\n".join(["# step"] * 12 + ["rm -rf /"])
    rest = {"y": "", "r": "call\n", "m": "\n\n"}[choice]

    terminal.will_answer(f"{choice}\nn\n\n")
    assert terminal.ask(script=script) == REJECT
    first = terminal.shown("[m]odify: ")
    second = terminal.shown("[m]odify: ")
    assert "rm -rf /" not in first
    assert "rm -rf /" in second
    assert "This is all of it: please answer once more." in second

    terminal.plan.clear()
    terminal.unread.clear()
    terminal.will_answer(f"s\n{choice}\n{rest}")
    assert terminal.ask(script=script).action in {"confirm", "modify"}


def test_a_no_needs_no_more_than_was_shown(terminal: Terminal) -> None:
    """It lets nothing run."""
    terminal.will_answer("n\n\n")

    assert terminal.ask(script="x" * 2000) == REJECT
