"""Visible: text that came from elsewhere, made such that it cannot steer a terminal."""

from __future__ import annotations


def escape_control(text: str) -> str:
    r"""`text` with control characters made visible: escape sequences are shown, not obeyed.

    >>> escape_control("\x1b[2Jgone")
    '\\x1b[2Jgone'
    """
    return "".join(
        char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text
    )
