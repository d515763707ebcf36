"""Terminals: text from elsewhere cannot steer one or pass for a question; old keys answer none."""

from __future__ import annotations

import re
import sys
from functools import cache
from select import select
from time import sleep
from unicodedata import bidirectional, category, east_asian_width, is_normalized, name

MARK = "▌"
"""Each row of a question to a human begins with it. No text from elsewhere has it: it is escaped
there, as is all that looks like it, so that no model can print a question of its own making."""

PLAIN_MARK = "[?]"
"""In its place on a terminal that cannot show it. Text from elsewhere can have that."""

QUIET_S = 0.05
"""So long nothing comes, in seconds, until all is dropped that was typed before a question."""


class Marked(str):
    """Rows that are ours: what is from elsewhere in them is escaped already, and `MARK` is theirs.

    RULE: only who escapes what it is made of makes one. A part of one, and whatever it is put into,
    is a plain text again, and is escaped when it is printed.
    """

    __slots__ = ()


_BLANK = {
    # Printable by their category, and yet there is nothing to see.
    *"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159",
    *map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))),
}
_BLOCKS = (range(0x2580, 0x25A0), range(0x1CC00, 0x1CEC0), range(0x1FB00, 0x1FC00))
"""Block Elements, and the Symbols for Legacy Computing: parts of a filled cell, nothing else."""
_UPRIGHT = {"VERTICAL", "BAR", "BARS", "BARLINE", "RECTANGLE", "EXTENSION"}
"""What is drawn as the mark is, from the top of a row to its bottom, has one of these as a name."""
_OTHERWISE = {"HORIZONTAL", "ARROW", "TILE", "ELLIPSIS", "DOTS", "WITH"}
"""What has one of these as well is no such thing: arrows from a bar, dashes, tiles of dominoes."""
_STACKED_MAX = 6
"""So many marks of a letter are shown: what any language writes, and too few to cover lines."""
_STACKED = {"Mn", "Me"}
_DRAWN_IN_COLOUR = "\ufe0f"
_DRAWN = {"So", "Sm", "Po", "Ps", "Pe", "Pd"}
_UNSETTLED = {"So", "Sm", "Sk", "No", "Nl"}
"""A new version of Unicode may draw what is of these two columns wide."""
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_DOUBTFUL = re.compile(r"[^ -~\n\t]")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_COMPOSABLE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
"""Only within such a part do letters change when they are composed."""
_SYLLABLES = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
"""Vowels and final consonants of Hangul: letters that are composed with the one before."""


def escape_control(text: str, encoding: str | None = None) -> str:
    r"""`text` with all made visible that a terminal would obey, hide, or show as `MARK`.

    Escape sequences, carriage returns, direction marks, blank fillers, lone surrogates, marks that
    are piled up on a letter, what `encoding`, that of the terminal, cannot carry, and what is
    written in another way than the composed one (NFC), in which it would look the same. Lines and
    tabs stay.

    >>> escape_control("\x1b[2Jgone")
    '\\x1b[2Jgone'
    >>> escape_control("\u212a, not K")
    '\\u212a, not K'
    """
    text = _DOUBTFUL.sub(_visible, text)
    text = text if encoding is None else spelled(text, encoding)
    # Last: an escape may end with a letter with which the mark behind it would be composed.
    return text if is_normalized("NFC", text) else _COMPOSABLE.sub(_told_apart, text)


def exact_text(text: str) -> str:
    r"""`text` as people are shown it, and nothing else that way: what is spelled out is no text.

    It is escaped after that, with one backslash for what cannot be seen. RULE: whoever shows people
    what is from elsewhere shows it so, unless it is JSON, where this has been done.

    >>> exact_text("C:\\x20 ")
    'C:\\\\x20\\x20'
    """
    return re.sub(r" (?=\n|\Z)", r"\\x20", text.replace("\\", "\\\\"))


def spelled(text: str, encoding: str | None) -> str:
    """`text` with what `encoding` cannot carry spelled out, so that to print it never raises."""
    known = encoding or "utf-8"
    return text.encode(known, "backslashreplace").decode(known)


def is_turned_round(text: str) -> bool:
    """Whether a terminal may draw a line in another order than it is written in."""
    return not text.isascii() and not _RIGHT_TO_LEFT.isdisjoint(map(bidirectional, text))


def mark(encoding: str | None) -> str:
    """What a row of a question begins with, on a terminal with that encoding."""
    return MARK if spelled(MARK, encoding) == MARK else PLAIN_MARK


def columns(char: str) -> int:
    """How many columns of a terminal a letter takes, or may take.

    Terminals, libraries and versions of Python count by tables of different years, and a row that
    is wider than it was counted is broken by the terminal. So two, unless all agree on one: what
    became wide was a symbol or a sign of a number each time, and never a letter.
    """
    width = east_asian_width(char)
    is_settled = width in {"Na", "H"} or (width == "N" and category(char) not in _UNSETTLED)
    return 1 if is_settled else 2


def print_text(text: str, end: str = "\n") -> None:
    """Print `text` at once, as far as the terminal can. What is from elsewhere is escaped first."""
    print(spelled(text, getattr(sys.stdout, "encoding", None)), end=end, flush=True)


def drop_typed_keys() -> None:
    """Forget what was typed at the terminal and not read yet: it answers nothing asked from now on.

    Where the input is no terminal, nothing is dropped: it was written as answers.

    RULE: of a long paste a terminal holds the begin, and takes in more as that is dropped. So it is
    dropped until nothing has come for `QUIET_S`.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        return
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit() or (sleep(QUIET_S), msvcrt.kbhit())[1]:
            msvcrt.getwch()
    else:
        import termios

        typed = sys.stdin.fileno()
        mode = termios.tcgetattr(typed)
        special = mode[6].copy()
        special[termios.VMIN], special[termios.VTIME] = 1, 0
        # else a line is seen once it has ended, and one that is longer than the terminal holds not
        each_key = [*mode[:3], mode[3] & ~termios.ICANON, *mode[4:6], special]
        termios.tcsetattr(typed, termios.TCSANOW, each_key)
        try:
            termios.tcflush(typed, termios.TCIFLUSH)
            while select([typed], [], [], QUIET_S)[0]:
                termios.tcflush(typed, termios.TCIFLUSH)
        finally:
            termios.tcsetattr(typed, termios.TCSANOW, mode)
            termios.tcflush(typed, termios.TCIFLUSH)


def _told_apart(match: re.Match[str]) -> str:
    """A part of a text in which some letter with its marks is not composed, and is spelled out."""
    part = match[0]
    starts = [place for place, char in enumerate(part) if not place or not _goes_on(char)]
    ends = [*starts[1:], len(part)]
    letters = (part[start:end] for start, end in zip(starts, ends, strict=True))
    apart = "".join(x if is_normalized("NFC", x) else _FOREIGN.sub(_named, x) for x in letters)
    # A newer Unicode may compose letters that are no marks.
    return apart if is_normalized("NFC", apart) else _FOREIGN.sub(_named, part)


def _goes_on(char: str) -> bool:
    return category(char)[0] == "M" or any(ord(char) in block for block in _SYLLABLES)


def _named(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


@cache
def _is_like_the_mark(char: str) -> bool:
    if any(ord(char) in block for block in _BLOCKS):
        return True
    if category(char) not in _DRAWN or east_asian_width(char) in "WF":
        return False
    words = re.split("[ -]", name(char, ""))
    is_thin = words[:3] == ["BOX", "DRAWINGS", "LIGHT"]
    return not is_thin and _OTHERWISE.isdisjoint(words) and not _UPRIGHT.isdisjoint(words)


def _visible(match: re.Match[str]) -> str:
    char, before = match[0], match.string[match.start() - 1 : match.start()]
    if char == _DRAWN_IN_COLOUR and before and category(before) == "So":
        return char  # a symbol is drawn as an emoji: that hides nothing
    hidden = not char.isprintable() or char in _BLANK or _is_like_the_mark(char)
    hidden = hidden or _is_piled_up(match.string, match.start())
    return _named(match) if hidden else char


def _is_piled_up(text: str, place: int) -> bool:
    """Whether what stands there is one mark too many on a letter."""
    if category(text[place]) not in _STACKED or place < _STACKED_MAX:
        return False
    return all(category(char) in _STACKED for char in text[place - _STACKED_MAX : place])
