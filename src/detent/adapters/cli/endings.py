"""How a command ends that has not done what it was asked for: its exit code, and what it says."""

from __future__ import annotations

import click

from detent.adapters.system.terminal import escape_control
from detent.core.control.claims import RunBusyError
from detent.core.machine.calls import DecisionRefusedError
from detent.ports.journal import RunNotFoundError

FAILED, WAITING, REFUSED, NOT_FOUND, BUSY, INTERRUPTED = 1, 3, 4, 5, 6, 130
"""The exit codes beside 0, success, and click's own 2: the command was not written as it should."""
CODES: tuple[tuple[type[Exception], int], ...] = (
    (RunNotFoundError, NOT_FOUND),
    (RunBusyError, BUSY),
    (DecisionRefusedError, REFUSED),
)


def told(text: str, code: int = FAILED) -> click.ClickException:
    """An error that ends the program with a code. What it quotes steers no terminal."""

    class Ended(click.ClickException):
        exit_code = code

    return Ended(escape_control(text))


def told_of(error: Exception) -> click.ClickException:
    """The same of an error of ours, with its code."""
    code = next((code for kind, code in CODES if isinstance(error, kind)), FAILED)
    return told(str(error), code)
