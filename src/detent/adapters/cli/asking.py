"""Who is asked at a terminal, before a tool runs or a command does what it says."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import click
from attrs import define

from detent.adapters.confirmation.console import SimpleConsoleUI
from detent.adapters.system.terminal import drop_typed_keys
from detent.ports.confirmation import ConfirmationUIResult
from detent.ports.pending import PendingCall

CONSOLE = SimpleConsoleUI()


def is_yes(question: str) -> bool:
    """What somebody types at the terminal once the question is there, on standard error.

    `click.confirm` reads what was typed before as well, also when it asks anew.

    Raises:
        click.Abort: the input has ended.
    """
    while True:
        drop_typed_keys()
        click.echo(f"{question} [y/N]: ", nl=False, err=True)
        try:
            answer = input().strip().lower()
        except EOFError:
            raise click.Abort from None
        if answer in {"y", "yes", "n", "no", ""}:
            return answer.startswith("y")
        click.echo("Please answer y or n.", err=True)


@define
class TimedConsoleUI:
    """Asks at the console, and knows how long it has waited for answers."""

    waited_s: float = 0.0

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Ask until the answer is one."""
        with self._timed():
            return CONSOLE.get_user_confirmation(tool_name, tool_description, tool_params)

    def get_user_decision(self, pending: PendingCall) -> ConfirmationUIResult:
        """Ask until the answer is one; changes are checked against the tool's schema.

        Raises:
            EOFError: the input has ended.
        """
        with self._timed():
            return CONSOLE.get_user_decision(pending)

    @contextmanager
    def _timed(self) -> Generator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.waited_s += time.monotonic() - began


class AlwaysYes:
    """What --yes means: whatever is asked, also by a run that was stopped at the question."""

    waited_s = 0.0

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Confirm."""
        return ConfirmationUIResult("confirm")
