"""Names: what a run and a conversation may be called, so that all stores and engines hold it."""

from __future__ import annotations

NAME_MAX = 255
"""Of how many characters a name is at most.

RULE: every store and every engine holds all names of so many characters, whatever these are. They
are made of at most 1020 bytes, and what their keys may have is 1000 in Temporal and 2700 in
PostgreSQL; a file's name has 255.
"""


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
