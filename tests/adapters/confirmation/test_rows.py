"""The rows of a question, whatever is in it: no terminal breaks one once more, and none is cut."""

from __future__ import annotations

import io
import re
import sys
from ast import literal_eval
from collections.abc import Iterator
from unicodedata import is_normalized

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from detent import RichConsoleUI, SimpleConsoleUI
from detent.adapters.confirmation.console import NARROWEST
from detent.adapters.confirmation.rows import BAR, FOLD, ORDER, SPACE
from detent.adapters.system.terminal import columns, escape_control, exact_text
from detent.approvals import PendingCall

UIS = pytest.mark.parametrize("ui", [SimpleConsoleUI(), RichConsoleUI()], ids=["simple", "rich"])
WIDTHS = pytest.mark.parametrize("width", [20, 40, 80])
LONG = "remove_all_records_of_customer_"

NEWLY_WIDE = "䷀☰⚊𝌀𝍠"
"""Two columns since Unicode 16: Pythons, libraries and terminals do not agree about them."""
LETTERS = st.one_of(st.characters(), st.sampled_from(NEWLY_WIDE + "漢é©\ufe0f\u0301▌ =a\n\tאع٣"))
TEXTS = st.text(LETTERS, max_size=150)


def call_of(memo: str, name: str = "pay") -> PendingCall:
    arguments = {"memo": memo, "to": "Mallory"}
    return PendingCall("", 0, 0, None, name, "Pays.", arguments, "", "", {})


def shown(ui: SimpleConsoleUI, call: PendingCall, width: int, keys: str = "y\n") -> list[str]:
    """The rows of a question and of what it asks for, on a terminal with that many columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setattr(sys, "stdin", io.StringIO(keys))
        patch.setattr(sys, "stdout", screen := io.StringIO())
        ui.get_user_decision(call)
    return screen.getvalue().strip("\n").split("\n")


def inside(rows: list[str]) -> Iterator[str]:
    """Without marks and frames, and without what says the order of letters again."""
    texts = (row[2:].removesuffix("▐").rstrip() for row in rows if row[0] == "▌")
    return (text for text in texts if not text.startswith(ORDER))


def letters(text: str) -> str:
    return "".join(text.split())


def unbarred(row: str) -> str:
    """What of a text is in a row."""
    return row.removeprefix(BAR.rstrip()).removeprefix(FOLD.rstrip())


SPELLED = re.compile(r"\\(\\|x..|u....|U........|[nrt])")


def read_back(rows: list[str]) -> str:
    """The memo that a question shows, as they read it who cannot see a space at a row's end."""
    texts = list[str]()
    for row in inside(rows):
        if row.startswith(FOLD):
            texts[-1] += row.removeprefix(FOLD)
        elif row.startswith(BAR.rstrip()):
            texts[-1] += "\n" + row[len(BAR) :]
        else:
            texts.append(row)
    exact = (SPELLED.sub(lambda one: literal_eval(f"'{one[0]}'"), text) for text in texts)
    (memo,) = (text for text in exact if text.startswith("  memo = "))
    return memo.removeprefix('  memo = "').removesuffix('"')


@UIS
@WIDTHS
@given(memo=TEXTS)
@example(memo='rent" ' + "䷀" * 38 + ' to = "Ann"\n' + "䷀" * 38 + " amount = 5")
@example(memo="☰" * 7 + " to = 1")
@example(memo="\n\n")
@example(memo="©\ufe0f" * 60)
@example(memo="of " + "a" * 70 + "to=1")
def test_no_row_is_wider_than_the_terminal_and_none_is_cut(
    ui: SimpleConsoleUI, width: int, memo: str
) -> None:
    """By the count of rich as by ours; each has the mark, those that go on have the bar."""
    rows = shown(ui, call_of(memo), width)

    assert [row for row in rows if max(cell_len(row), _ours(row)) > width] == []
    assert [row for row in rows if row[0] not in "▌▛▙"] == []
    first = [text for text in inside(rows) if not text.startswith((BAR.rstrip(), FOLD.rstrip()))]
    starts = ["pay wants", "Pays.", "  memo =", "  to =", "Run pay?"]
    starts = starts[1:] if rows[0].startswith("▛▀ pay") else starts  # it is the title
    assert len(first) == len(starts), first
    assert all(text.startswith(start) for text, start in zip(first, starts, strict=True)), first
    whole = "".join(map(unbarred, inside(rows)))
    shown_as = escape_control(exact_text(f'"{memo}"').replace("\t", "\\t"))
    assert letters(shown_as.replace(SPACE, "")) in letters(whole.replace(SPACE, ""))


def _ours(row: str) -> int:
    """Without the frame and its space: where these are too wide, no text goes to a new row."""
    return sum(map(columns, row.strip("▌▐▛▜▙▟▀▄ ")))


ALIKE = st.text(
    st.sampled_from("aa  \n\t\\|.\u05d07漢\u200b\x1b☰\ufe0fe\u0301\u0323é\u212b\u030c"),
    max_size=80,
)
"""Of what could be taken for something else: much of it at the end of a row."""


@UIS
@given(memo=TEXTS | ALIKE, width=st.integers(1, 90))
@example(memo="df -h /srv # how much is left?\nrm -rf /srv", width=80)
@example(memo="a" * 80 + "  \n" + " " * 200 + "漢 漢" * 30, width=40)
@example(memo="Jose\u0301 \t\u030c \u212b \u037e", width=80)
@example(memo="\\u200b \u200b \\\u200b \\x20 \\n \x1b \\x1b \t \\t ", width=80)
def test_no_two_texts_look_the_same(ui: SimpleConsoleUI, memo: str, width: int) -> None:
    """What is shown can be read back, so that it is shown of that text alone."""
    assume(width >= NARROWEST or not isinstance(ui, RichConsoleUI))  # the terminal breaks its rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setattr(sys, "stdout", screen := io.StringIO())
        ui.show(call_of(memo), whole=True)

    assert is_normalized("NFC", screen.getvalue())
    assert read_back(screen.getvalue().strip("\n").split("\n")) == memo


@UIS
def test_what_a_terminal_turns_round_is_said_again_in_its_order(ui: SimpleConsoleUI) -> None:
    """Beside a letter of Hebrew it draws the digits of either text in the same place."""
    one, other = ("\n".join(shown(ui, call_of(memo), 80)) for memo in ("\u05d0 7", "7 \u05d0"))

    assert f'{ORDER}  memo = "\\u05d0 7"' in one
    assert f'{ORDER}  memo = "7 \\u05d0"' in other
    assert ORDER not in "\n".join(shown(ui, call_of("漢 7"), 80))


@UIS
def test_a_line_that_goes_on_is_not_drawn_as_the_next_one(ui: SimpleConsoleUI) -> None:
    """Behind a # the one is a comment, and the other one is run."""
    head = "df -h /srv # how much room is there? " + "x" * 28
    goes_on, next_one = (shown(ui, call_of(f"{head}{end}rm -rf /srv"), 80) for end in " \n")

    assert any("  ...  rm -rf /srv" in row for row in goes_on)
    assert any("    | rm -rf /srv" in row for row in next_one)


@UIS
@WIDTHS
def test_tools_with_long_names_do_not_look_alike(ui: SimpleConsoleUI, width: int) -> None:
    """The name is whole above the arguments, and behind them it is seen to be shortened."""
    there, gone = (shown(ui, call_of("x", LONG + end), width) for end in ("in_preview", "for_ever"))

    assert there != gone
    text = there[0].strip("▛▀▜ ") + "".join(map(unbarred, inside(there)))
    assert f"{LONG}in_previewwantstorun" in letters(text)
    name = f"{LONG}in_preview"
    assert f"Run{name[:14]}…{name[-15:]}?" in letters(text)


def test_what_a_server_asks_is_said_however_long_its_name_is() -> None:
    """A question is named by the server first: what it is stands at the end."""
    first, *rows = shown(SimpleConsoleUI(), call_of("x", f"{LONG}: a question"), 100)

    assert ": a question? [y]es" in "".join([first, *rows])


@pytest.mark.parametrize("name", ["p" * 60, "䷀" * 30, "a\nRun it?"])
def test_a_name_that_fits_no_title_has_a_row_in_the_frame(name: str) -> None:
    """A title has one row, of which rich would show the beginning."""
    first, second, *_ = shown(RichConsoleUI(), call_of("x", name), 66)

    assert set(first) == set("▛▀▜")
    assert second.startswith(f"▌ {name[:1]}")


def test_a_name_of_a_single_row_is_the_title() -> None:
    """It is whole there, as it would be in a row."""
    first, *_ = shown(RichConsoleUI(), call_of("x", "p" * 45), 66)

    assert first.startswith(f"▛▀ {'p' * 45} wants to run ▀")


@pytest.mark.parametrize("width", [5, 12])
def test_the_narrowest_terminal_cuts_nothing(width: int) -> None:
    """It breaks rows of the frame: to hide what is asked about would be worse."""
    rows = shown(RichConsoleUI(), call_of("abcdefghijk䷀lmnop"), width)

    assert "abcdefghijk䷀lmnop" in letters("".join(map(unbarred, inside(rows))))


def test_a_frame_is_as_wide_as_the_terminal_where_rich_takes_it_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A terminal of which it knows nothing has 80 columns for rich."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("FORCE_COLOR", "1")

    rows = shown(RichConsoleUI(), call_of("x" * 90), 40)

    assert max(len(row) for row in rows if row[0] == "▛") == 40


@UIS
def test_names_of_emojis_are_no_emojis(ui: SimpleConsoleUI) -> None:
    """What is approved is what stands there, letter by letter."""
    rows = shown(ui, call_of(":bomb:", ":bomb:"), 80, "m\n\n\n\n")

    assert sum(row.count(":bomb:") for row in rows) == 4


@pytest.mark.parametrize("text", [*NEWLY_WIDE, *"漢é±☺①½"])
def test_a_letter_that_may_be_wide_takes_two_columns(text: str) -> None:
    """Symbols and signs of numbers: what Unicode has made wide, and will, is among them."""
    assert columns(text) == 2


@pytest.mark.parametrize("text", [*"aZ5~$_ŭאक", "\u0947"])
def test_a_letter_that_no_terminal_draws_wide_takes_one(text: str) -> None:
    """Most texts fill their rows."""
    assert columns(text) == 1


def test_no_letter_takes_more_columns_than_are_counted() -> None:
    """Of those that are shown as they are, by the count of rich."""
    every = map(chr, (*range(0xD800), *range(0xE000, 0x20000)))
    as_they_are = [char for char in every if escape_control(char) == char]

    assert [char for char in as_they_are if cell_len(char) > columns(char)] == []
    assert len(as_they_are) > 50_000
