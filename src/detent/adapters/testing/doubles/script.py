"""A script: lines that are said in order, and an account of those that were not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Generic, TypeVar

Line = TypeVar("Line")


class Script(Generic[Line]):
    """Gives its lines one by one, to whichever thread asks. `noun` is what a line is called."""

    def __init__(self, lines: Iterable[Line], noun: str) -> None:
        self._lines = tuple(lines)
        self._noun = noun
        self._said = 0
        self._lock = Lock()

    def next(self, description: Callable[[], str]) -> Line:
        """The next line; `asked` describes what it is wanted for, if there is none.

        Raises:
            AssertionError: there is none left.
        """
        with self._lock:
            at, self._said = self._said, self._said + 1
        if at >= len(self._lines):
            there = counted(len(self._lines), self._noun)
            raise AssertionError(
                f"the script has {there}, and was asked for more:\n{description()}"
            )
        return self._lines[at]

    def left(self) -> list[str]:
        """The lines that were never asked for, as text."""
        return [repr(line) for line in self._lines[self._said :]]


def require_line(line: object, kinds: tuple[type, ...], noun: str) -> None:
    """Raise TypeError unless `line` is of one of these kinds, or a function that makes one."""
    if isinstance(line, kinds) or callable(line):
        return
    names = ", ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
    several = "; several calls are ChatMessage.from_assistant(tool_calls=[…])"
    raise TypeError(
        f"{noun} of a script is one of {names}, or a function that makes one; this is "
        f"{type(line).__name__}: {line!r:.200}{several if isinstance(line, list | tuple) else ''}"
    )


def require_none_left(left: Iterable[str], noun: str) -> None:
    """Raise AssertionError with the lines that are `left`, if there are any."""
    if unused := list(left):
        was = "was" if len(unused) == 1 else "were"
        lines = "\n".join(f"  {line}" for line in unused)
        raise AssertionError(
            f"{counted(len(unused), noun)} of the script {was} never asked for:\n{lines}"
        )


def counted(count: int, noun: str) -> str:
    """A number with its noun, in the plural where there is not one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
