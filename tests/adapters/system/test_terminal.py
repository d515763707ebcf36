"""Visible text: it is shown as it is, and steers nothing."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from ast import literal_eval
from select import select
from threading import Thread
from unicodedata import is_normalized, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.system import terminal
from detent.adapters.system.terminal import MARK, PLAIN_MARK, escape_control, mark

SPELLED = re.compile(r"\\(x..|u....|U.{8})")


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


@pytest.mark.parametrize("text", ["שָּׁ֑לוֹם", "Việt ế", "ที่นี่", "བསྒྲུབས", "क्षि", "한국", "ক্ষো", "👍🏽"])
def test_the_marks_of_a_language_are_shown(text: str) -> None:
    """Several on a letter, as some have them, where it is written in one way, the composed one."""
    composed = normalize("NFC", text)
    assert escape_control(composed) == composed


ANOTHER_WAY = [
    *(("José", "Jose\u0301", "Jose\\u0301"), ("\xc5", "\u212b", "\\u212b")),
    *(("K", "\u212a", "\\u212a"), (";", "\u037e", "\\u037e"), ("·", "\u0387", "\\u0387")),
    *(("Ω", "\u2126", "\\u2126"), ("≠", "=\u0338", "=\\u0338"), ("\xe9", "\xe9", "\xe9")),
    ("ệ", "e\u0302\u0323", "e\\u0302\\u0323"),
    ("ệ", "\xea\u0323", "\\xea\\u0323"),
    ("가a", "\u1100\u1161a", "\\u1100\\u1161a"),
    ("각", "\uac00\u11a8", "\\uac00\\u11a8"),
    ("ো", "\u09c7\u09be", "\\u09c7\\u09be"),
    ("豈漢", "\uf900漢", "\\uf900漢"),
    ("a\u0323\u0338", "a\u0338\u0323", "a\\u0338\\u0323"),
    ("\u200e\u0301", "\u200e\u0301", "\\u200e\\u0301"),
]


@pytest.mark.parametrize(("text", "other", "shown"), ANOTHER_WAY)
def test_a_letter_that_is_written_in_another_way_is_shown_by_its_name(
    text: str, other: str, shown: str
) -> None:
    """Both look the same, and are not: of one way of several the composed one is shown."""
    assert normalize("NFC", text) == normalize("NFC", other)
    assert escape_control(other) == shown
    assert escape_control(f"漢 {other}é") == f"漢 {shown}é"


@pytest.mark.parametrize("encoding", [None, "utf-8", "cp1258", "ascii"])
@given(
    st.text(
        st.sampled_from(
            "ae=\t\u0301\u0323\u0338é\u212b\u200e\u1100\u1161\u11a8가\u09c7\u09be\U0001d165"
        )
    )
)
def test_no_two_texts_look_the_same_to_whoever_composes_letters(
    encoding: str | None, text: str
) -> None:
    """As terminals do."""
    shown = escape_control(text, encoding)
    assert is_normalized("NFC", shown)
    assert SPELLED.sub(lambda one: literal_eval(f"'{one[0]}'"), shown) == text


def test_every_letter_is_shown_composed() -> None:
    """Also one by which another goes on, in the tables of whatever Unicode this Python has."""
    every = [chr(code) for code in range(0x110000)]
    pairs = [normalize("NFD", char) for char in every]
    assert [char for char in every if not is_normalized("NFC", escape_control(char))] == []
    assert [pair for pair in pairs if not is_normalized("NFC", escape_control(pair))] == []


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


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
@pytest.mark.parametrize(
    "paste",
    [b"n\n", b"y", b"y\n" * 20_000, b"x" * 20_000 + b"\ny\n", b"\x04y\n"],
    ids=["a line", "a key", "many lines", "a long line", "an end"],
)
def test_a_paste_is_dropped_whole(paste: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what the terminal could not hold at once, and takes in as the rest is dropped."""
    import pty
    import termios

    monkeypatch.setattr(terminal, "QUIET_S", 0.2)
    far, near = pty.openpty()
    mode = termios.tcgetattr(near)
    with os.fdopen(near) as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        pasting = Thread(target=_write_all, args=[far, paste], daemon=True)
        showing = Thread(target=_read_all, args=[far], daemon=True)
        pasting.start()
        showing.start()
        terminal.drop_typed_keys()
        assert termios.tcgetattr(near) == mode
        assert select([near], [], [], 0.1)[0] == []
        pasting.join(10)
        os.write(far, b"no\n")
        assert typed.readline() == "no\n"
    showing.join(10)
    os.close(far)


def _write_all(far: int, paste: bytes) -> None:
    while paste:
        paste = paste[os.write(far, paste[:512]) :]


def _read_all(far: int) -> None:
    """What the terminal shows: it takes in no more once nobody looks at it."""
    with contextlib.suppress(OSError):
        while os.read(far, 65_536):
            pass
