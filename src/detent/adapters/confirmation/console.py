"""Confirmation UIs on the terminal: they show the call, read an answer, and check changes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from shutil import get_terminal_size
from threading import Lock
from typing import Any, get_args

from attrs import fields, frozen

from detent.adapters.confirmation.described import Described
from detent.adapters.confirmation.durations import deadline
from detent.adapters.confirmation.rows import barred, terminal_encoding
from detent.adapters.confirmation.typed_values import (
    faults_about,
    kinds_of,
    no_value_of,
    readers_of,
)
from detent.adapters.system.installation import install_command
from detent.adapters.system.terminal import (
    columns,
    drop_typed_keys,
    exact_text,
    print_text,
    spelled,
)
from detent.core.run.approval import Scope
from detent.core.tools.masking import MASK
from detent.core.values.frozen import thaw
from detent.ports.confirmation import ConfirmationUIResult
from detent.ports.pending import PendingCall

ONE_AT_A_TIME = Lock()
"""Prompts of several runs in one process do not interleave."""

LINES, WIDTH = 12, 1000
"""An argument with more lines or characters is shortened, until the human wants to see it all."""

NAME_WIDTH = 30
"""A tool's name with more characters is whole above the arguments, and shortened in the prompt."""

FRAMED, NARROWEST = 5, 16
"""The columns of a frame and of what is free in it; with fewer ones a row would be cut in it."""

NOT_GIVEN = object()

CHOICES = "Run {}? [y]es [n]o [a]nswer for it [r]emember [s]how all [m]odify: "
APPROVING = frozenset({"y", "yes", "r", "remember", "m", "modify"})
SHOWING = frozenset({"s", "show"})
NOW_WHOLE = "Some of it had been shortened. This is all of it: please answer once more."
SCOPES = "Count it, in this run, for this [call], these [arguments] or the [tool]? "


@frozen
class SimpleConsoleUI(Described):
    """Asks with `print` and `input`: confirm, reject, modify, answer, or confirm for further calls.

    What was typed at the terminal before a question is complete does not answer it. Each row of a
    question begins with a mark that no text of a model can have. Texts stand in quotes, so that
    "100" is no 100. Ctrl-C and the end of input pass through and decide nothing: the call stays
    pending.
    """

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Ask until the answer is one."""
        nowhere = ("", 0, 0, None)
        return self.get_user_decision(
            PendingCall(*nowhere, tool_name, tool_description, tool_params, "", "", {})
        )

    def get_user_decision(self, pending: PendingCall) -> ConfirmationUIResult:
        """Ask until the answer is one; changes are checked against the tool's schema.

        Raises:
            EOFError: the input has ended.
        """
        try:
            return self._decision(pending)
        except EOFError:
            raise EOFError(
                f"the input has ended, so that nobody decides about {pending.tool_name!r}, which "
                "did not run; where no one sits at a terminal, give a policy without a UI: the "
                "run then stops, and agent.decide and agent.resume go on with it"
            ) from None

    def _decision(self, pending: PendingCall) -> ConfirmationUIResult:
        with ONE_AT_A_TIME:
            self.show(pending, whole=False)
            is_whole = not _is_shortened(pending, self.now())
            prompt = barred(CHOICES.format(_shortened(pending.tool_name)))
            while True:
                # Right before each reading: "y" is typed by one who has the whole question before
                # them, also the second time, when they have asked for all of it.
                drop_typed_keys()
                choice = self.ask(prompt).strip().lower()
                if choice in APPROVING and not is_whole:
                    # RULE: what a human lets run has been before them, all of it.
                    self.show(pending, whole=True)
                    self.say(barred(NOW_WHOLE))
                    is_whole = True
                    continue
                is_whole = is_whole or choice in SHOWING
                if (result := self._answer(pending, choice)) is not None:
                    return result

    def say(self, text: str) -> None:
        """Show a line to the human."""
        print_text(text)

    def ask(self, prompt: str) -> str:
        """Ask the human for a line."""
        return input(spelled(prompt, terminal_encoding()))

    def now(self) -> float:
        """The time, in seconds since 1970: how long is left to answer is counted from it."""
        return time.time()

    def show(self, pending: PendingCall, *, whole: bool) -> None:
        """Show what is to be decided; long arguments shortened, unless `whole`."""
        self.say(barred(exact_text(f"{pending.tool_name} wants to run"), "\n"))
        for _, text in _question(pending, self.now(), whole=whole):
            self.say(barred(text))

    def _answer(self, pending: PendingCall, choice: str) -> ConfirmationUIResult | None:
        """What an answer means; None says that the human is to be asked again."""
        match choice:
            case "y" | "yes":
                return ConfirmationUIResult("confirm")
            case "n" | "no":
                return ConfirmationUIResult("reject", self._line("Why not? (may be empty): "))
            case "a" | "answer":
                return ConfirmationUIResult("respond", self.ask(barred("The tool's result: ")))
            case "r" | "remember":
                return self._remembered()
            case "m" | "modify":
                return self._modified(pending)
            case "s" | "show":
                self.show(pending, whole=True)
            case _:
                self.say(barred("Please answer y, n, a, r, s or m."))
        return None

    def _line(self, prompt: str) -> str | None:
        return self.ask(barred(prompt)).strip() or None

    def _remembered(self) -> ConfirmationUIResult | None:
        choice = self.ask(barred(SCOPES)).strip().lower()
        scopes: tuple[Scope, ...] = get_args(Scope)
        fitting: list[Scope] = [scope for scope in scopes if choice and scope.startswith(choice)]
        if len(fitting) != 1:
            self.say(barred("Please answer call, arguments or tool."))
            return None
        return ConfirmationUIResult("confirm", remember=fitting[0])

    def _modified(self, pending: PendingCall) -> ConfirmationUIResult:
        """Every parameter, as it is or as the human retypes it, until all of them fit."""
        arguments = {name: thaw(value) for name, value in pending.arguments.items()}
        optional = [name for name in _properties(pending) if name not in arguments]
        while True:
            arguments = {
                name: self._retyped(pending, name, value) for name, value in arguments.items()
            }
            for name in optional:
                if (new := self._retyped(pending, name, NOT_GIVEN)) is not NOT_GIVEN:
                    arguments[name] = new
            if not (faults := pending.faults(arguments)):
                return ConfirmationUIResult(
                    "modify", self._line("What was wrong? (may be empty): "), arguments
                )
            self.say(barred("  That does not fit the tool: " + "; ".join(faults)))

    def _retyped(self, pending: PendingCall, name: str, value: object) -> object:
        """The value of a parameter, as it is or as the human types it: checked on the spot."""
        kinds = kinds_of(_properties(pending).get(name))
        label = f" ({' or '.join(kinds)})" if kinds else ""
        now = "not given" if value is NOT_GIVEN else _argument(pending, name, value, whole=False)
        while text := self.ask(barred(f"  {name}{label} [{now}]: ")):
            sentences: list[str] = []
            for read in readers_of(kinds, value):
                try:
                    new = read(text)
                except ValueError:
                    sentences = [no_value_of(kinds)]
                    continue
                if not (
                    sentences := faults_about(
                        name, pending.faults({**pending.arguments, name: new})
                    )
                ):
                    return new
            self.say(barred(f"  That does not fit: {'; '.join(sentences)}"))
        return value


@frozen
class RichConsoleUI(SimpleConsoleUI):
    """As `SimpleConsoleUI`, in colour, in a frame.

    Raises:
        ImportError: `rich` is not installed.
    """

    def __attrs_post_init__(self) -> None:
        if find_spec("rich") is None:  # said now, and not when a call waits for its answer
            raise ModuleNotFoundError(
                f"RichConsoleUI needs rich: {install_command('cli')}; SimpleConsoleUI needs "
                "nothing",
                name="rich",
            )

    def say(self, text: str) -> None:
        """Show a line, as plain text: nothing in it is markup."""
        plain = spelled(text, terminal_encoding())
        _rich().print(plain, markup=False, highlight=False, soft_wrap=True)

    def ask(self, prompt: str) -> str:
        """Ask for a line."""
        from rich.text import Text

        plain = spelled(prompt, terminal_encoding())
        _rich().print(Text(plain, style="bold cyan"), end="", soft_wrap=True)
        return input()

    def show(self, pending: PendingCall, *, whole: bool) -> None:
        """Show the call in a frame of `MARK` and its like; its title is the tool, if it fits."""
        from rich.box import Box
        from rich.console import Group
        from rich.panel import Panel

        screen = _rich()
        inside = screen.width - FRAMED
        parts = [
            _framed(text, inside, "cyan", len(label))
            for label, text in _question(pending, self.now(), whole=whole)
        ]
        wants = exact_text(f"{pending.tool_name} wants to run")
        title = _framed(wants, inside - 2, "bold")
        if "\n" in title.plain:  # rich would show its beginning, and two tools would look alike
            parts.insert(0, _framed(wants, inside, "bold"))
            title = None
        screen.print(Panel(Group(*parts), Box(FRAME), title=title, title_align="left"))


FRAME = "\n".join(("▛▀▀▜", *["▌  ▐"] * 6, "▙▄▄▟"))
"""A row each for the top, what may be in between, and the bottom, as rich draws a box."""


def _rich() -> Any:
    """A console that obeys nothing in a text, and is no wider than the terminal.

    On one of which it knows nothing, rich goes by 80 columns.
    """
    from rich.console import Console

    screen = Console(highlight=False, emoji=False)
    width = min(screen.width, get_terminal_size().columns)
    screen.size = (max(width, NARROWEST), screen.height)
    return screen


def _framed(text: str, inside: int, style: str, styled: int | None = None) -> Any:
    """Text in rows for so many columns, of which rich breaks none again: that had no bar."""
    from rich.cells import cell_len
    from rich.text import Text

    rows = barred(text, inside=inside, count=lambda char: max(columns(char), cell_len(char)))
    framed = Text(rows, no_wrap=True)
    framed.stylize(style, 0, styled)
    return framed


def _properties(pending: PendingCall) -> Mapping[str, Any]:
    found: Mapping[str, Any] = pending.parameters.get("properties", {})
    return found


def _question(pending: PendingCall, now: float, *, whole: bool) -> Iterator[tuple[str, str]]:
    """What a human is asked about a call, line by line; first the part that is a label."""
    if pending.run_id:
        inside = f", the agent {' > '.join(pending.agents)}" if pending.agents else ""
        yield "", f"run {pending.run_id}, turn {pending.turn}{inside}"
    if pending.expires_at is not None:
        yield "", deadline(pending.expires_at, now)
    for text in filter(None, (pending.description, pending.reason, _of(pending, "changed"))):
        yield "", exact_text(text)
    left_out = _of(pending, "defaults") or ()
    for name, value in pending.arguments.items():
        source = "  (default)" if name in left_out else ""
        label = f"  {argument_label(name)}"
        yield label, f"{label} = {_argument(pending, name, value, whole=whole)}{source}"
    # What else there is to compare or to know: from the state, or what was decided about before.
    for part in fields(type(pending)):
        values = getattr(pending, part.name)
        if not isinstance(values, Mapping) or part.name in {"arguments", "parameters"}:
            continue
        source = "from the state" if part.name == "state" else part.name.replace("_", " ")
        for name, value in values.items():
            label, text = f"  {argument_label(name)}", _argument(pending, name, value, whole=whole)
            yield label, f"{label} = {text}  ({source})"


def _is_shortened(pending: PendingCall, now: float) -> bool:
    """Whether some of a question is left out until the human wants to see it all."""
    short, whole = (_question(pending, now, whole=is_whole) for is_whole in (False, True))
    return any(one != other for one, other in zip(short, whole, strict=True))


def argument_label(name: str) -> str:
    """The name of an argument; a model may make one up, which is to look like no other row."""
    return name if re.fullmatch(r"[\w.-]+", name) else json.dumps(name, ensure_ascii=False)


def _of(pending: PendingCall, name: str) -> Any:
    """What a question says beyond the least that each of them says; None if it does not."""
    return getattr(pending, name, None)


def _argument(pending: PendingCall, name: str, value: object, *, whole: bool) -> str:
    """An argument as a value, or, without quotes, the mask of a secret."""
    return f"{MASK} (secret)" if name in pending.masked else _value(value, whole=whole)


def _value(value: object, *, whole: bool) -> str:
    plain = thaw(value)
    if isinstance(plain, str):  # in quotes, but with its own lines: a letter is read as a letter
        kept, more = _kept(plain, whole=whole)
        return exact_text(f'"{kept}"') + more
    indent = 2 if _is_deep(plain) else None
    text = json.dumps(plain, ensure_ascii=False, indent=indent, default=str)
    return "".join(_kept(text, whole=whole))


def _kept(text: str, *, whole: bool) -> tuple[str, str]:
    """What is shown of a text, and what says how much of it is not."""
    kept = text if whole else "\n".join(text[:WIDTH].split("\n")[:LINES])
    left = len(text) - len(kept)
    return kept, f" … {left} more characters, see [s]how all" if left > 0 else ""


def _is_deep(value: object) -> bool:
    return isinstance(value, dict | list) and len(json.dumps(value, default=str)) > LINES * 5


def _shortened(name: str) -> str:
    """The name of a tool in one line; what a server asks is said at its end, which is kept."""
    end = NAME_WIDTH // 2
    short = name if len(name) <= NAME_WIDTH else f"{name[: end - 1]}…{name[-end:]}"
    return json.dumps(short, ensure_ascii=False)[1:-1]
