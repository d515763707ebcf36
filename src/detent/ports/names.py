"""Names: what a run and a conversation may be called, so that all stores and engines hold it."""

from __future__ import annotations

from unicodedata import category

NAME_MAX = 255
"""Of how many characters a name is at most.

RULE: every store and every engine holds all names of so many characters, whatever these are. They
are made of at most 1020 bytes, and what their keys may have is 1000 in Temporal and 2700 in
PostgreSQL; a file's name has 255.
"""

_BREAKING = frozenset({"Cc", "Zl", "Zp"})
"""The categories of control characters, and of what else breaks a line. What hides or turns letters
round stays: some languages cannot be written without, and whatever prints a name escapes it."""
_LEFT_OUT = frozenset({".", ".."})
"""What clients take out of the path of a URL, however it is written there (RFC 3986, 5.2.4)."""


def new_name_fault(what: str, name: object) -> str | None:
    """Why nothing new may be called that, in a sentence; None if it may. See also `name_fault`.

    RULE: names stand in logs, at terminals, in commands and in links. What is stored is read by any
    name.
    """
    if (fault := name_fault(what, name)) is not None:
        return fault
    if any(category(char) in _BREAKING for char in str(name)):
        return f"{what} is a text without control characters, got {name!r:.80}"
    if name in _LEFT_OUT:
        return f"{what} stands in links, out of which clients take {name!r}: add a letter or digit"
    return None


def name_fault(what: str, name: object) -> str | None:
    """Why this cannot be the name of a run, or of a conversation, in a sentence; None if it can.

    Args:
        what: what the name is handed over as: "run_id", "thread_id".
        name: the name, which may be anything.
    """
    if not isinstance(name, str):
        got = f"{name!r:.80}"
    elif not name:
        got = "one without a character"
    elif len(name) > NAME_MAX:
        got = f"one of {len(name)}, {name!r:.40}…"
    elif not is_storable(name):
        got = f"{name!r:.80}, with {'U+0000' if chr(0) in name else 'half of a character'}"
    else:
        return None
    return f"{what} is a text of 1 to {NAME_MAX} characters that every store can keep, got {got}"


def is_storable(text: str) -> bool:
    """Whether every store can look for a text: half a character and U+0000 are in none."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
