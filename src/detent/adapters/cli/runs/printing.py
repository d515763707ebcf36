"""Printing for people and for programs: lines and tables on a terminal, one document of JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import click
from attrs import asdict
from rich.cells import cell_len, set_cell_size
from rich.console import Console

from detent.adapters.cli.show import put
from detent.adapters.system.terminal import Marked, escape_control

Line: TypeAlias = tuple[str, str]
"""A text, and its style. RULE: it is printed as one row, whatever is in it: the name of a tool that
a model has made up could hold rows of its own, of decisions that nobody has taken."""

NARROW = 60
"""On a terminal with fewer columns the parts of a row stand below each other."""
WIDEST_CELL = 40
UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def put_json(value: object) -> None:
    """One document, and nothing else. Values of ours become objects."""
    click.echo(json.dumps(value, indent=2, default=_plain))


def put_lines(lines: Iterable[Line], console: Console | None = None) -> None:
    """Lines for people; by a pager where they are more than a terminal shows."""
    console = console or Console()
    all_lines = [(_as_row(text), style) for text, style in lines]
    is_long = len(all_lines) >= console.height
    if not (console.is_terminal and sys.stdin.isatty() and is_long):
        for text, style in all_lines:
            put(console, text, style)
        return
    os.environ.setdefault("LESS", "FRX")
    with console.pager(styles=not console.no_color):
        for text, style in all_lines:
            put(console, text, style)


def _as_row(text: str) -> str:
    row = "\\n".join(text.splitlines())
    return Marked(row) if isinstance(text, Marked) else row  # or our own mark would be escaped


def table(
    names: Sequence[str], rows: Sequence[Sequence[str]], console: Console | None = None
) -> list[Line]:
    """Rows below the names of their columns; on a narrow terminal each row as lines of its own."""
    console = console or Console()
    plain = [[escape_control(" ".join(cell.split())) for cell in row] for row in rows]
    if console.is_terminal and console.width < NARROW:
        return [line for row in plain for line in _stacked(names, row)]
    longest = WIDEST_CELL if console.is_terminal else None
    widths = [max(map(cell_len, column)) for column in zip(names, *plain, strict=True)]
    if longest is not None:
        widths = [min(width, longest) for width in widths]
    lines = [(_row(names, widths), "bold")]
    return lines + [(_row(row, widths), "") for row in plain]


def age(at: float, now: float | None = None) -> str:
    """How long ago a time was, in one word."""
    return f"{duration(max(0.0, (time.time() if now is None else now) - at))} ago"


def duration(seconds: float) -> str:
    """A time, in its largest unit: "3 h", "0.25 s"."""
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.2f} s"


def moment(at: float) -> str:
    """A time of day, here."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def short(text: str, length: int = 100) -> str:
    """A text in one line, and not too long."""
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1] + "…"


def one_line(text: str) -> str:
    """A text in one line, however long."""
    return " ".join(text.split())


def one_row(text: object) -> str:
    """A text of anybody's without ends of lines: it cannot pass for a row of ours."""
    return " ↵ ".join(str(text).splitlines())


def exact_row(text: str) -> str:
    """JSON, or a text whose backslashes are doubled, in a row that no other one gives."""
    return escape_control(text).replace("\n", "\\n")


def say(text: str) -> None:
    """A message to whoever looks on: to stderr, so that it is in no document."""
    click.echo(escape_control(text, getattr(sys.stderr, "encoding", None)), err=True)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    fitted = [_fitted(cell, width) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(fitted).rstrip()


def _fitted(cell: str, width: int) -> str:
    return cell[: width - 1] + "…" if cell_len(cell) > width else set_cell_size(cell, width)


def _stacked(names: Sequence[str], row: Sequence[str]) -> list[Line]:
    first, *rest = row
    more = [f"  {name.lower()}: {cell}" for name, cell in zip(names[1:], rest, strict=True) if cell]
    return [(first, "bold"), *((text, "") for text in more)]


def _plain(value: Any) -> Any:
    try:
        return asdict(value)
    except Exception:  # noqa: BLE001 - whatever it is, its text is better than no document
        return str(value)
