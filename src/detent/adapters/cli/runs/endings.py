"""How a command over runs ends: its exit code, and the message that goes with it."""

from __future__ import annotations

from typing import Any

import click

from detent.core.control.claims import RunBusyError
from detent.core.errors import DetentError
from detent.core.machine.calls import DecisionRefusedError
from detent.ports.chat import ChatGeneratorError
from detent.ports.journal import JournalConflictError, RunNotFoundError

FAILED, USAGE, WAITING, REFUSED, NOT_FOUND, BUSY, INTERRUPTED = 1, 2, 3, 4, 5, 6, 130
"""The exit codes; 0 is success."""
CODES: tuple[tuple[type[Exception], int], ...] = (
    (RunNotFoundError, NOT_FOUND),
    (RunBusyError, BUSY),
    (JournalConflictError, BUSY),
    (DecisionRefusedError, REFUSED),
    (DetentError, FAILED),
    (ChatGeneratorError, FAILED),
    (ImportError, FAILED),
    (OSError, FAILED),
    (ValueError, USAGE),
)
"""The code of each error; the first that fits counts."""


def told(text: str, code: int) -> click.ClickException:
    """An error with a code of ours. What it quotes is escaped where all errors are shown."""

    class Ended(click.ClickException):
        exit_code = code

    return Ended(text)


class CodedGroup(click.Group):
    """Commands whose errors end the program with their codes, and a message to stderr."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except tuple(kind for kind, _ in CODES) as error:
            code = next(code for kind, code in CODES if isinstance(error, kind))
            raise told(str(error), code) from error
