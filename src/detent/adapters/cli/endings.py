"""How a command ends: its exit code, and the message that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import click

from detent.adapters.providers.http.endpoints import KEY_IN_CODE, URL_IN_CODE
from detent.adapters.system.terminal import escape_control
from detent.core.errors import DetentError
from detent.core.machine.calls import DecisionRefusedError
from detent.ports.chat import ChatGeneratorError
from detent.ports.claims import RunBusyError, RunOfEngineError
from detent.ports.journal import JournalConflictError, RunNotFoundError

FAILED, USAGE, WAITING, REFUSED, NOT_FOUND, BUSY, UNWRITTEN = 1, 2, 3, 4, 5, 6, 7
INTERRUPTED = 130
"""The exit codes; 0 is success."""
CODES: tuple[tuple[type[Exception], int], ...] = (
    (RunNotFoundError, NOT_FOUND),
    (RunBusyError, BUSY),
    (RunOfEngineError, BUSY),
    (JournalConflictError, BUSY),
    (DecisionRefusedError, REFUSED),
    (DetentError, FAILED),
    (ChatGeneratorError, FAILED),
    (ImportError, FAILED),
    (OSError, FAILED),
    (ValueError, USAGE),
)
"""The code of each error; the first that fits counts."""


BUSY_WAY = (
    "wait until it is over; detent runs resume can wait for it with --wait SECONDS, or, if it will "
    "not come back, take the run with --take-over"
)
"""What is to be done about a run that is driven elsewhere."""


def ending(text: str, code: int = FAILED) -> click.ClickException:
    """An error that ends the program with a code. What it quotes steers no terminal."""

    class Ended(click.ClickException):
        exit_code = code

    for words in KEY_IN_CODE:  # at a terminal nothing is passed: a variable has the key
        text = text.replace(words, "")
    text = text.replace(URL_IN_CODE, "--base-url")
    return Ended(escape_control(text))


@contextmanager
def stoppable(
    going_on: str, has_begun: Callable[[], bool] = lambda: True, *, busy_way: str = ""
) -> Generator[None]:
    """A run that Ctrl-C stops, or Ctrl-D at a question, or a model that gives no answer.

    It is said how to go on with it, if it `has_begun`. `busy_way` is what to do while it is driven
    elsewhere, if there is anything but to wait.
    """
    try:
        yield
    except (KeyboardInterrupt, EOFError):
        more = f" Nothing is lost; to go on:\n  {going_on}" if has_begun() else ""
        click.echo(escape_control(f"\nStopped.{more}"), err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except RunBusyError as error:
        way = busy_way or f"wait until it is over there; to go on then:\n  {going_on}"
        raise ending(f"{error.driven}: {way}", BUSY) from error
    except ChatGeneratorError as error:
        text = f"{error}\n\nNothing is lost; to ask the model again:\n  {going_on}"
        raise ending(text) from error


def told_of(error: Exception) -> click.ClickException:
    """The same of an error, with its code, and with what is to be done at a command line."""
    text = f"{error.driven}: {BUSY_WAY}" if isinstance(error, RunBusyError) else str(error)
    return ending(text, next((code for kind, code in CODES if isinstance(error, kind)), FAILED))


class CodedCommand(click.Command):
    """A command whose errors end the program with their codes, and a message to stderr."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with coded():
            return super().invoke(ctx)


class CodedGroup(click.Group):
    """Commands of which each is so."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with coded():
            return super().invoke(ctx)


@contextmanager
def coded() -> Generator[None]:
    """What goes wrong inside ends the program with its code, and a message to stderr."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("\nStopped.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except tuple(kind for kind, _ in CODES) as error:
        raise told_of(error) from error
