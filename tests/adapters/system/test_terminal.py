"""Visible text: it is shown as it is, and steers nothing."""

from __future__ import annotations

import pytest

from detent.adapters.system.terminal import escape_control


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc é 漢", "a\tb\nc é 漢"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\r\x00\x7f", "\\r\\x00\\x7f"),
        ("evil\u202elive", "evil\\u202elive"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_what_is_no_plain_text_is_shown_by_its_name(text: str, shown: str) -> None:
    """Escape sequences, carriage returns, direction marks."""
    assert escape_control(text) == shown
