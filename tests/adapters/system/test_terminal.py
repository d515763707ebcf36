"""Visible text: it is shown as it is, and steers nothing."""

from __future__ import annotations

from unicodedata import normalize

import pytest

from detent.adapters.system.terminal import MARK, PLAIN_MARK, escape_control, mark


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc é 漢", "a\tb\nc é 漢"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\r\x00\x7f", "\\r\\x00\\x7f"),
        ("evil\u202elive", "evil\\u202elive"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u3164b\u2800\u034f", "a\\u3164b\\u2800\\u034f"),
        ("\ud800", "\\ud800"),
        ("▌ █", "\\u258c \\u2588"),
        ("⚠\ufe0f", "⚠\ufe0f"),
        ("pay\ufe0f", "pay\\ufe0f"),
    ],
)
def test_what_is_no_plain_text_is_shown_by_its_name(text: str, shown: str) -> None:
    """Escape sequences, carriage returns, direction marks."""
    assert escape_control(text) == shown


PILE = "\u0334\u0335\u0336\u0337\u0338\u0489"


@pytest.mark.parametrize("text", ["שָּׁ֑לוֹם", "Việt ế", "ที่นี่", "བསྒྲུབས", "क्षि"])
def test_the_marks_of_a_language_are_shown(text: str) -> None:
    """Several on a letter, as some have them, and composed or not."""
    assert escape_control(normalize("NFD", text)).replace("\\ufe0f", "\ufe0f") == normalize(
        "NFD", text
    )


@pytest.mark.parametrize("count", [1, 40, 4_000])
def test_marks_that_are_piled_up_on_a_letter_are_shown_by_their_names(count: int) -> None:
    """They would be drawn over the lines above and below, where a question stands."""
    more = "\u20dd\u0301" * count
    escaped = "\\u20dd\\u0301" * count
    assert escape_control(f"x{PILE}{more}y{PILE}") == f"x{PILE}{escaped}y{PILE}"


def test_what_the_terminal_cannot_carry_is_spelled_out() -> None:
    """Only where its encoding is known."""
    assert escape_control("é ▌", "ascii") == "\\xe9 \\u258c"
    assert escape_control("é", "utf-8") == "é"


@pytest.mark.parametrize(
    ("encoding", "drawn"), [("utf-8", MARK), (None, MARK), ("ascii", PLAIN_MARK), ("cp437", MARK)]
)
def test_a_question_has_a_mark_on_every_terminal(encoding: str | None, drawn: str) -> None:
    """Another where it cannot be shown."""
    assert mark(encoding) == drawn


@pytest.mark.parametrize("char", "▌▐█▮┃║┇╏❙❚❘⎸⎢⎥⎪⏐𝄀⸾⦀\U0001fb8c\U0001fb87\U0001cd00")
def test_what_is_drawn_as_the_mark_is_shown_by_its_name(char: str) -> None:
    """Whatever block it is of: by what its name says, so that nobody keeps a list of them."""
    assert escape_control(char) == ascii(char)[1:-1]


@pytest.mark.parametrize("char", "|│─├■●▶—―｜📊🚦🍫→↦⋮…「˥ǀ丨ا")  # noqa: RUF001 - they are meant
def test_what_only_sounds_like_the_mark_is_shown(char: str) -> None:
    """Thin lines, dashes, arrows from a bar, pictures and letters: people and models write them."""
    assert escape_control(char) == char
