"""Confirmation UIs on the terminal: they show the call, read an answer, and check changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from shutil import get_terminal_size
from threading import Lock
from typing import Any, get_args
from unicodedata import east_asian_width

from attrs import frozen

from detent.adapters.confirmation.described import Described
from detent.adapters.system.terminal import escape_control
from detent.core.control.pending import PendingCall
from detent.core.run.approval import Scope
from detent.core.values.frozen import thaw
from detent.ports.confirmation import ConfirmationUIResult

ONE_AT_A_TIME = Lock()
"""Prompts of several runs in one process do not interleave."""

LINES, WIDTH = 12, 1000
"""An argument with more lines or characters is shortened, until the human wants to see it all."""

BAR = "    | "
NOT_GIVEN = object()

CHOICES = "Run it? [y]es / [n]o / [a]nswer for it / [r]emember / [s]how all / [m]odify: "
SCOPES = "Count it for this [call], these [arguments], or the whole [tool], in this run? "


@frozen
class SimpleConsoleUI(Described):
    """Asks with `print` and `input`: confirm, reject, modify, answer, or confirm for further calls.

    Ctrl-C and the end of input pass through and decide nothing: the call stays pending.
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
        """Ask until the answer is one; changes are checked against the tool's schema."""
        with ONE_AT_A_TIME:
            self.show(pending, whole=False)
            while True:
                said = self._answer(pending, self.ask(CHOICES).strip().lower())
                if said is not None:
                    return said

    def say(self, text: str) -> None:
        """Show a line to the human."""
        print(text)

    def ask(self, prompt: str) -> str:
        """Ask the human for a line."""
        return input(prompt)

    def show(self, pending: PendingCall, *, whole: bool) -> None:
        """Show what is to be decided; long arguments shortened, unless `whole`."""
        self.say(_barred(f"--- {pending.tool_name} wants to run ---", "\n"))
        for _, text in _told(pending, whole=whole):
            self.say(_barred(text))

    def _answer(self, pending: PendingCall, choice: str) -> ConfirmationUIResult | None:
        """What an answer means; None says that the human is to be asked again."""
        match choice:
            case "y" | "yes":
                return ConfirmationUIResult("confirm")
            case "n" | "no":
                return ConfirmationUIResult("reject", self._line("Why not? (may be empty): "))
            case "a" | "answer":
                return ConfirmationUIResult("respond", self.ask("The tool's result: "))
            case "r" | "remember":
                return self._remembered()
            case "m" | "modify":
                return self._modified(pending)
            case "s" | "show":
                self.show(pending, whole=True)
            case _:
                self.say("Please answer y, n, a, r, s or m.")
        return None

    def _line(self, prompt: str) -> str | None:
        return self.ask(prompt).strip() or None

    def _remembered(self) -> ConfirmationUIResult | None:
        said = self.ask(SCOPES).strip().lower()
        fitting: list[Scope] = [one for one in get_args(Scope) if said and one.startswith(said)]
        if len(fitting) != 1:
            self.say("Please answer call, arguments or tool.")
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
            self.say(_barred("  That does not fit the tool: " + "; ".join(faults)))

    def _retyped(self, pending: PendingCall, name: str, value: object) -> object:
        """The value of a parameter, as it is or as the human types it: checked on the spot."""
        kinds = _kinds(_properties(pending).get(name))
        label = f" ({' or '.join(kinds)})" if kinds else ""
        shown = "not given" if value is NOT_GIVEN else _value(value, whole=False)
        while text := self.ask(_barred(f"  {name}{label} [{shown}]: ")):
            said: list[str] = []
            for read in _readers(kinds, value):
                try:
                    new = read(text)
                except ValueError:
                    said = ["it is not JSON"]
                    continue
                if not (said := _about(name, pending.faults({**pending.arguments, name: new}))):
                    return new
            self.say(_barred(f"  That does not fit: {'; '.join(said)}"))
        return value


@frozen
class RichConsoleUI(SimpleConsoleUI):
    """As `SimpleConsoleUI`, in colour, with the arguments as highlighted JSON. Needs `rich`."""

    def say(self, text: str) -> None:
        """Show a line, as plain text: nothing in it is markup."""
        _rich().print(text, markup=False, highlight=False, soft_wrap=True)

    def ask(self, prompt: str) -> str:
        """Ask for a line."""
        return str(_rich().input(f"[bold cyan]{_escaped(prompt)}[/]"))

    def show(self, pending: PendingCall, *, whole: bool) -> None:
        """Show the call in a frame."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        lines = []
        for label, text in _told(pending, whole=whole):
            lines.append(Text(_barred(text, frame=4)))
            lines[-1].stylize("cyan", 0, len(label))
        title = Text(f"{escape_control(pending.tool_name)} wants to run", style="bold")
        _rich().print(Panel(Group(*lines), title=title, title_align="left"))


def _rich() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _about(name: str, faults: list[str]) -> list[str]:
    return [text for text in faults if f"'{name}" in text or text.startswith(name)]


def _readers(kinds: Sequence[str], value: object) -> Sequence[Callable[[str], object]]:
    """How to take what a human types: text as it is, all else as JSON, or the one that fits."""
    if set(kinds) == {"string"} or (not kinds and isinstance(value, str)):
        return (str,)
    is_choice = any(kind.startswith('"') for kind in kinds)
    return (json.loads, str) if is_choice or "string" in kinds else (json.loads,)


def _properties(pending: PendingCall) -> Mapping[str, Any]:
    found: Mapping[str, Any] = pending.parameters.get("properties", {})
    return found


def _kinds(schema: object) -> list[str]:
    """The types of a parameter for people: "integer"; none where nothing says them."""
    match schema:
        case {"enum": [*choices]}:
            return [json.dumps(one, ensure_ascii=False) for one in choices]
        case {"type": str(kind)}:
            return [kind]
        case {"type": [*kinds]}:
            return [str(kind) for kind in kinds]
        case {"anyOf": [*options]} | {"oneOf": [*options]}:
            return list(dict.fromkeys(kind for one in options for kind in _kinds(one)))
        case _:
            return []


def _told(pending: PendingCall, *, whole: bool) -> Iterator[tuple[str, str]]:
    """What a human is told about a call, line by line; first the part that is a label."""
    for text in filter(None, (pending.description, pending.reason)):
        yield "", text
    for name, value in pending.arguments.items():
        yield f"  {name}", f"  {name} = {_value(value, whole=whole)}"
    for name, value in pending.state.items():
        yield f"  {name}", f"  {name} = {_value(value, whole=whole)}  (from the state)"


def _value(value: object, *, whole: bool) -> str:
    plain = thaw(value)
    text = (
        plain
        if isinstance(plain, str)
        else json.dumps(
            plain, ensure_ascii=False, indent=2 if _is_deep(plain) else None, default=str
        )
    )
    if whole:
        return text
    kept = "\n".join(text[:WIDTH].split("\n")[:LINES])
    left = len(text) - len(kept)
    return kept + (f" … {left} more characters, see [s]how all" if left > 0 else "")


def _is_deep(value: object) -> bool:
    return isinstance(value, dict | list) and len(json.dumps(value, default=str)) > LINES * 5


def _barred(text: str, before: str = "", *, frame: int = 0) -> str:
    """Text for the screen, its further rows barred: none passes for one of ours.

    Also those that a terminal, with a `frame` around it, would make of a long line.
    """
    rows, used, columns = [""], 0, get_terminal_size().columns - frame - 1
    for char in escape_control(text).expandtabs():
        used += 2 if east_asian_width(char) in "WFA" else 1
        if char == "\n" or used > columns:
            rows.append("")
            used = len(BAR) + 1
        if char != "\n":
            rows[-1] += char
    return before + f"\n{BAR}".join(rows)
