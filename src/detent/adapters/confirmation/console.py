"""Confirmation UIs on the terminal: they show the call, read an answer, and check changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from threading import Lock
from typing import Any, get_args

from attrs import frozen

from detent.core.decisions import Scope
from detent.core.described import Described
from detent.core.frozen import thaw
from detent.core.pending import PendingCall
from detent.core.secrecy import MASK
from detent.core.visible import visible
from detent.ports.confirmation import ConfirmationUIResult

ONE_AT_A_TIME = Lock()
"""Prompts of several runs in one process do not interleave."""

LINES, WIDTH = 12, 1000
"""An argument with more lines or characters is shortened, until the human wants to see it all."""

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
        self.say(f"\n--- {visible(pending.tool_name)} wants to run ---")
        for text in filter(None, (pending.description, pending.reason)):
            self.say(visible(text))
        for name, value in pending.arguments.items():
            self.say(f"  {_barred(name)} = {_value(value, whole=whole)}")
        for name, value in pending.state.items():
            self.say(f"  {_barred(name)} = {_value(value, whole=whole)}  (from the state)")

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
                if text := self.ask(f"  {_barred(name)} ({_type(pending, name)}) [not given]: "):
                    arguments[name] = _read(text, is_text=_type(pending, name) == "string")
            if not (faults := pending.faults(arguments)):
                return ConfirmationUIResult(
                    "modify", self._line("What was wrong? (may be empty): "), arguments
                )
            self.say(visible("  That does not fit the tool: " + "; ".join(faults)))

    def _retyped(self, pending: PendingCall, name: str, value: object) -> object:
        kind = _type(pending, name)
        label = f" ({kind})" if kind else ""
        is_text = kind == "string" or (not kind and isinstance(value, str))
        while True:
            text = self.ask(f"  {_barred(name)}{label} [{_value(value, whole=False)}]: ")
            if not text:
                return value
            try:
                new = _read(text, is_text=is_text)
            except json.JSONDecodeError as error:
                self.say(f"  That is not JSON: {error}")
                continue
            alone = {**pending.arguments, name: new}
            if value == MASK or not (faults := _about(name, pending.faults(alone))):
                return new
            self.say(visible(f"  That does not fit: {'; '.join(faults)}"))


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

        lines = [Text(visible(text)) for text in (pending.description, pending.reason) if text]
        for name, value in (*pending.arguments.items(), *pending.state.items()):
            mark = "  (from the state)" if name in pending.state else ""
            shown = f" = {_value(value, whole=whole)}{mark}"
            lines.append(Text.assemble((f"  {_barred(name)}", "cyan"), shown))
        title = Text(f"{visible(pending.tool_name)} wants to run", style="bold")
        _rich().print(Panel(Group(*lines), title=title, title_align="left"))


def _rich() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _about(name: str, faults: list[str]) -> list[str]:
    return [text for text in faults if repr(name) in text or text.startswith(name)]


def _read(text: str, *, is_text: bool) -> object:
    """What a human has typed: text as it is, all else as JSON."""
    return text if is_text else json.loads(text)


def _properties(pending: PendingCall) -> Mapping[str, Any]:
    found: Mapping[str, Any] = pending.parameters.get("properties", {})
    return found


def _type(pending: PendingCall, name: str) -> str:
    """The type of a parameter for people: "integer"; "" where nothing says it."""
    schema = _properties(pending).get(name)
    if not isinstance(schema, Mapping):
        return ""
    if "enum" in schema:
        return " or ".join(json.dumps(one) for one in schema["enum"])
    kind = schema.get("type", "")
    return kind if isinstance(kind, str) else " or ".join(kind)


def _value(value: object, *, whole: bool) -> str:
    """A value for the screen, its further lines barred: none passes for one of ours."""
    plain = thaw(value)
    text = (
        plain
        if isinstance(plain, str)
        else json.dumps(
            plain, ensure_ascii=False, indent=2 if _is_deep(plain) else None, default=str
        )
    )
    if whole:
        return _barred(text)
    lines = text[:WIDTH].split("\n")
    kept = "\n".join(lines[:LINES])
    left = len(text) - len(kept)
    return _barred(kept) + (f" … {left} more characters, see [s]how all" if left > 0 else "")


def _is_deep(value: object) -> bool:
    return isinstance(value, dict | list) and len(json.dumps(value, default=str)) > LINES * 5


def _barred(text: str) -> str:
    return visible(text).replace("\n", "\n    | ")
