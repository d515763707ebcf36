"""Rows of a question on a terminal: marked, never too wide, and no two texts look the same."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from shutil import get_terminal_size

from detent.adapters.system.terminal import (
    Marked,
    columns,
    escape_control,
    is_turned_round,
    mark,
    spelled,
)

BAR, FOLD = "    | ", "  ... "
"""How a further line of a text begins, and how a line goes on that is too long for a row.

RULE: they differ. What stands behind a ``#`` is a comment in the same line, and a command in the
next one."""

ORDER = "  <-> "
"""How a line begins that says again, in the order in which it is written, what is drawn otherwise.

RULE: terminals turn round what stands beside a letter of Hebrew or Arabic, digits as well, so that
two texts would be drawn as one."""

SPACE = "\\x20"
"""A space that could not be seen otherwise. A text that is exact has none of it."""


def terminal_encoding() -> str | None:
    """What the terminal can carry; None if it does not say."""
    return getattr(sys.stdout, "encoding", None)


def barred(
    text: str, before: str = "", *, inside: int = 0, count: Callable[[str], int] = columns
) -> Marked:
    """Text for the screen, each row marked and further ones barred: none passes for one of ours.

    Also those that a terminal would make of a long line: they end where a word does. A frame, with
    so many columns `inside`, has the mark already.
    """
    start = "" if inside else f"{mark(terminal_encoding())} "
    width = inside or get_terminal_size().columns - 1
    first = width - len(start) - bool(start)  # the mark may be drawn two columns wide
    further = first - len(BAR)
    # As many spaces as fill a row would be a blank one, of which nobody can count them.
    most = max(further - 2, 1)
    visible = escape_control(text.replace("\t", "\\t"), terminal_encoding())
    visible = visible.replace(" " * most, " " * (most - 1) + SPACE)
    rows = list[str]()
    for number, line in enumerate(visible.split("\n")):
        begin, room = (BAR, further) if number else ("", first)
        for row in _folded(line, room, further, count):
            rows.append(begin + row)
            begin = FOLD
        if is_turned_round(line):
            rows += [
                ORDER + row for row in _folded(spelled(line, "ascii"), further, further, count)
            ]
    return Marked(before + start + f"\n{start}".join(rows))


def _folded(line: str, room: int, further: int, count: Callable[[str], int]) -> Iterator[str]:
    """A line in rows. RULE: none but the last ends with a space, which could not be seen there."""
    row, used = "", 0
    for char in line:
        if row and used + count(char) > room:
            moved = _moved(row, char)
            if sum(map(count, moved + char)) > further:  # behind a bar is less room
                moved = ""
            yield row.removesuffix(moved)
            row, used, room = moved, sum(map(count, moved)), further
        row += char
        used += count(char)
    yield row


def _moved(row: str, char: str) -> str:
    """What of a full row goes on in the next one: the last word, and the spaces before it."""
    word = "" if char == " " else row.rpartition(" ")[2]
    kept = row.removesuffix(word).rstrip(" ")
    return row[len(kept) :] if kept else ""
