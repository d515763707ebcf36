"""What the state holds does not leave through the text of an error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from hashlib import sha256
from itertools import takewhile
from time import process_time

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from detent.core.tools.redaction import (
    _beginnings,
    _borders,
    _chain,
    _found_together,
    _merged,
    _parts,
    _spans,
    redacted,
)


class Colour(Enum):
    """A choice."""

    RED = "crimson"


@frozen
class Account:
    """A record with a secret."""

    token: str
    number: int


@dataclass
class Person:
    """A dataclass."""

    name: str


class Opaque:
    """What JSON cannot carry."""

    __slots__ = ("__dict__", "inner", "unset")

    def __init__(self) -> None:
        self.inner = "inner-secret"
        self.outer = ["outer-secret", self]

    def __str__(self) -> str:
        return "opaque-secret"


class Broken:
    """What cannot be printed."""

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = "its text"

    def __repr__(self) -> str:
        raise RuntimeError


LOOP: list[object] = ["alpha"]
LOOP.append(LOOP)
KEY = "0123456789" * 12


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("no user 'Alice'", "Alice", "no user '<it>'"),
        ("no user AliceBob", "Alice", "no user <it>Bob"),
        ("a cat", "cat", "a <it>"),
        ("pincatx", "cat", "pin<it>x"),
        ("as a gas", "as", "<it> a gas"),
        ("as_1, as1, 1as", "as", "<it>_1, <it>1, 1<it>"),
        ("x! and !", "!", "x<it> and <it>"),
        ("line 7 of 17", 7, "line <it> of 17"),
        ("user7 of v70", 7, "user<it> of v70"),
        ("1234 12345", 1234, "<it> 12345"),
        ("1234 12345", "1234", "<it> <it>5"),
        ("it took 1.5 s", 1.5, "it took <it> s"),
        ("'a\\nbcd' is bad", "a\nbcd", "'<it>' is bad"),
        (
            "Account(token='secret', number=42)",
            Account("secret", 42),
            "Account(token='<it>', number=<it>)",
        ),
        ("Person(name='Alice')", Person("Alice"), "Person(name='<it>')"),
        ("['alpha', 'beta']", ["alpha", {"x": "beta"}], "['<it>', '<it>']"),
        ('{"aé\\nb": 1}', "aé\nb", '{"<it>": 1}'),
        ("lone \ud800!", "lone \ud800", "<it>!"),
        ('say \\"hi\\"\\u00e9', 'say "hi"é', "<it>"),
        ("GET /?key=a%2Fb%2Bc%3D&x", "a/b+c=", "GET /?key=<it>&x"),
        ("GET /a/b%2Bc%3D?x", "a/b+c=", "GET /<it>?x"),
        ("q=two+words+%26+more", "two words & more", "q=<it>"),
        ("no key 'alpha'", {"alpha": 1}, "no key '<it>'"),
        ("opaque-secret!", Opaque(), "<it>!"),
        ("inner-secret, outer-secret", Opaque(), "<it>, <it>"),
        ("its text", Broken(), "<it>"),
        ("crimson Colour.RED RED", Colour.RED, "<it> <it> <it>"),
        ("b'secret'", b"secret", "b'<it>'"),
        ("secret c2VjcmV0", b"secret", "<it> <it>"),
        (r"b'\xff\xfe\xfd'", b"\xff\xfe\xfd", "b'<it>'"),
        ("2026-01-31T00:00:00", datetime(2026, 1, 31), "<it>"),  # noqa: DTZ001 - as people have it
        ("alphabet", LOOP, "<it>bet"),
        ("aaaaaa", "aaaa", "<it>"),
        ("--- -- -", "--", "<it> <it> -"),
        ("1.1.1, 1.1.12", 1.1, "<it>, <it>.12"),
        (f"'{KEY[:40]}...{KEY[-30:]}' and {KEY}", KEY, "'<it>...<it>' and <it>"),
        ("str and len", [str, len], "str and len"),
        ("None is not True", None, "None is not True"),
        ("None is not True", True, "None is not True"),
        ("nothing", "", "nothing"),
        ("nothing", [], "nothing"),
        ("no bytes", b"", "no bytes"),
    ],
)
def test_a_value_is_replaced_by_its_name(text: str, value: object, expected: str) -> None:
    """And every part of one; a short one only where it stands alone."""
    assert redacted(text, {"it": value}, known={}) == expected


def test_what_the_reader_knows_stays() -> None:
    """A model may read what it wrote itself."""
    assert redacted("no book 'cats'", {"query": "cats"}, known={"q": "cats"}) == "no book 'cats'"
    assert redacted("no 12", {"n": 12}, known={"q": 123}) == "no <n>"


def test_what_only_stands_in_what_the_reader_knows_goes() -> None:
    """A secret is not known because a longer text that the model wrote has it."""
    known = {"q": ["order 12345"]}
    assert redacted("1234, order 12345", {"pin": "1234"}, known=known) == "<pin>, order 12345"
    assert redacted("order 12345678", {"pin": "12345678"}, known=known) == "order <pin>"


def test_names_that_stand_for_values_are_no_values() -> None:
    """A value that is the name of another key, or the mark of one, is not found in it."""
    values = {"name": "Alice", "field": "name", "mark": "<name>"}
    assert redacted("Alice", values, known={}) == "<name>"
    assert redacted("AliceAlice: name", values, known={}) == "<name><name>: <field>"


def test_values_that_overlap_go_together() -> None:
    """Nothing is left of the second."""
    values = {"one": "abcd", "two": "cdef"}
    assert redacted("(abcdef)", values, known={}) == "(<one>)"


def test_the_longest_value_goes_first() -> None:
    """One may be part of another."""
    values = {"first": "secret", "both": "secret words"}
    assert redacted("secret words, secret", values, known={}) == "<both>, <first>"


@given(st.text(min_size=4), st.text(), st.text())
def test_no_value_is_left(value: str, before: str, after: str) -> None:
    """Whatever it is and whatever surrounds it."""
    left = redacted(f"{before}{value}{after}", {"": value}, known={})
    assert value.strip() == "" or all(value not in piece for piece in left.split("<>"))


def test_the_beginning_and_the_end_of_a_long_text_are_taken_out() -> None:
    """Texts are cut, by others too; a piece from the middle is not found."""
    letters = "".join(chr(ord("a") + n * 7 % 26) + str(n % 10) for n in range(40))
    secret = {"token": letters}

    assert redacted(f"it was {letters[:30]}…", secret, known={}) == "it was <token>…"
    assert redacted(f"it was …{letters[-30:]}", secret, known={}) == "it was …<token>"
    assert redacted(letters[:23], secret, known={}) == letters[:23]


def test_bytes_are_recognised_as_the_text_that_they_are() -> None:
    """Also as Python writes them, and in base64."""
    key = {"key": b"s3cret-\xff"}

    assert redacted("key s3cret-\ufffd", key, known={}) == "key <key>"
    assert redacted(r"key b's3cret-\xff'", key, known={}) == "key b'<key>'"
    assert redacted("key czNjcmV0Lf8=", key, known={}) == "key <key>"


SIZE = 1_000_000
MOMENT_S = 10
NESTED = ("a" * 30 + "b") * 500 + "c"


@pytest.mark.parametrize(
    "value",
    [
        *("abc", "aba", "aaaa", "7", "abcdefghijklm" * 3),
        *("a" * 16_000, "abc" * 1_000, "ab" * 8_000, "a" * 9_000 + "b" + "a" * 7_000),
        *(NESTED, "a" * 30 + "SECRET", "0123456789abcdefghijklmnopqrst" * 99 + "!"),
    ],
    ids=lambda value: f"{value[:10]} {len(value)}",
)
@pytest.mark.parametrize(
    "around", ["{}", "{}, ", "{}\n{} ", "a", "ab"], ids=["whole", "apart", "mixed", "a", "ab"]
)
def test_a_million_characters_take_a_moment(value: str, around: str) -> None:
    """Whatever repeats itself, in the text or in the secret; a search of each place takes minutes.

    The worst takes a fifth of a second; what is not linear takes minutes. So no machine is too slow
    for this limit, and no other way is quick enough.
    """
    text = around.format(value, value[:-1])
    text = (text * (SIZE // len(text) + 1))[:SIZE]
    began = process_time()
    left = redacted(text, {"it": value}, known={})

    assert process_time() - began < MOMENT_S
    assert len(value) == 1 or value not in left.replace("<it>", "\0")


@pytest.mark.parametrize("known", ["a" * 16_000, "abc"])
def test_what_is_known_costs_no_more(known: str) -> None:
    """It is looked for in the same way."""
    text = known * (SIZE // len(known))
    began = process_time()

    assert redacted(text, {"it": known}, known={"q": known}) == text
    assert process_time() - began < MOMENT_S


def test_all_of_a_text_that_overlaps_itself_goes() -> None:
    """Its beginning and its end, cut, stand in one another as well."""
    value = "abc" * 20 + "X"
    assert redacted(f"({'abc' * 100}X)", {"it": value}, known={}) == "(<it>)"
    assert redacted(f"({value}{value})", {"it": value}, known={}) == "(<it><it>)"
    assert redacted("ababababa!", {"it": "abab"}, known={}) == "<it>a!"


def naive_beginnings(literal: str, text: str, least: int) -> list[tuple[int, int]]:
    """As `_beginnings`, by looking at each place."""
    found: list[tuple[int, int]] = []
    for start in range(len(text)):
        pairs = zip(literal, text[start:], strict=False)
        size = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if size >= least and found and start < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], start + size)
        elif size >= least:
            found.append((start, start + size))
    return found


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        *(("ababc", "abababa!"), ("ababc", "ababab!"), ("ababc", "abababc"), ("ababc", "abab")),
        *(("ababab", "xabababab"), ("ababcabab", "ababcababcabab"), ("aaaab", "aaaaaaab")),
        ("abcd", "abcdabcd"),
    ],
)
def test_a_run_of_the_same_characters_is_taken_as_a_whole(literal: str, text: str) -> None:
    """Also where it ends in the middle of them, or the text goes on in it."""
    assert _merged(_beginnings(literal, text, 4)) == naive_beginnings(literal, text, 4)


@given(st.text("ab", min_size=2, max_size=9), st.text("ab", max_size=24), st.integers(1, 9))
def test_no_place_that_reaches_further_is_passed_over(literal: str, text: str, least: int) -> None:
    """However often a text repeats itself."""
    least = min(least, len(literal))
    assert _merged(_beginnings(literal, text, least)) == naive_beginnings(literal, text, least)


@given(st.text("ab", min_size=2, max_size=12), st.text("ab", max_size=24))
def test_a_short_text_is_found_as_far_as_it_overlaps_itself(literal: str, text: str) -> None:
    """Each place that overlaps the one before is of the same piece."""
    spans = [match.span() for match in re.finditer(_chain(literal), text)]
    assert spans == naive_beginnings(literal, text, len(literal))


@pytest.mark.parametrize(
    ("literal", "table"),
    [("ab", [-1, 0, 0]), ("abac", [-1, 0, -1, 1, 0]), ("aabaaac", [-1, -1, 1, -1, -1, 2, 2, 0])],
)
def test_where_a_text_can_go_on_within_itself(literal: str, table: list[int]) -> None:
    """Nowhere, where its next character is no beginning of it."""
    assert _borders(literal) == table


def test_the_middle_one_of_places_that_overlap_may_be_the_longest() -> None:
    """The rest of a secret would stay behind where a text was cut."""
    text = "bad: " + "a" * 51 + "SECRETKEY-1234567"
    assert redacted(text, {"k": "a" * 50 + "SECRETKEY-12345678"}, known={}) == "bad: <k>"


def secrets(size: int) -> list[str]:
    """As many texts, of which none is like another."""
    return [sha256(b"%d" % at).hexdigest()[: (at % 3) * 15 + 8] for at in range(size)]


@pytest.mark.parametrize("text", ["a" * SIZE, " ".join(secrets(32_000))], ids=["none", "all"])
def test_many_secrets_are_looked_for_together(text: str) -> None:
    """A search for each of them takes a minute."""
    began = process_time()
    left = redacted(text, {"it": [*secrets(32_000), *range(10_000, 20_000)]}, known={})

    assert process_time() - began < MOMENT_S
    assert left == text or not set(secrets(32_000)) & set(re.split("<it>| ", left))


@given(
    st.lists(st.one_of(st.text("ab1 ", max_size=6), st.integers(0, 120)), max_size=9),
    st.text("ab1 ", max_size=60),
    st.text("ab1 ", min_size=25, max_size=40),
)
def test_what_is_looked_for_together_is_found_as_each_is(
    short: list[str | int], text: str, long: str
) -> None:
    """However the texts overlap, at the ends of the text as well."""
    text = f"{text}{long[:26]}1{long[-25:]}{text}"
    parts = set(_parts([*short, long, long + long]))
    each = _merged([span for part in parts for span in _spans(part, text)])

    assert _merged(_found_together(parts, text)) == each
