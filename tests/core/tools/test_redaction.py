"""What the state holds does not leave through the text of an error."""

from __future__ import annotations

import re
from base64 import b32encode, b64encode
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from time import process_time

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from detent.core.tools.redaction import (
    LONG,
    MOST,
    READ,
    SHORT,
    TOLD,
    all_without_secrets,
    redact,
    without_secrets,
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


class Silent:
    """What prints itself as nothing."""

    def __str__(self) -> str:
        return ""


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
        ("nothing", Silent(), "nothing"),
        ("no bytes", b"", "no bytes"),
    ],
)
def test_a_value_is_replaced_by_its_name(text: str, value: object, expected: str) -> None:
    """And every part of one; a short one only where it stands alone."""
    assert redact(text, {"it": value}, known={}) == expected


def test_what_the_reader_knows_stays() -> None:
    """A model may read what it wrote itself."""
    assert redact("no book 'cats'", {"query": "cats"}, known={"q": "cats"}) == "no book 'cats'"
    assert redact("no 12", {"n": 12}, known={"q": 123}) == "no <n>"


def test_what_only_stands_in_what_the_reader_knows_goes() -> None:
    """A secret is not known because a longer text that the model wrote has it."""
    known = {"q": ["order 12345"]}
    assert redact("1234, order 12345", {"pin": "1234"}, known=known) == "<pin>, order 12345"
    assert redact("order 12345678", {"pin": "12345678"}, known=known) == "order <pin>"


def test_names_that_stand_for_values_are_no_values() -> None:
    """A value that is the name of another key, or the mark of one, is not found in it."""
    values = {"name": "Alice", "field": "name", "mark": "<name>"}
    assert redact("Alice", values, known={}) == "<name>"
    assert redact("AliceAlice: name", values, known={}) == "<name><name>: <field>"


def test_values_that_overlap_go_together() -> None:
    """Nothing is left of the second."""
    values = {"one": "abcd", "two": "cdef"}
    assert redact("(abcdef)", values, known={}) == "(<one>)"


def test_the_longest_value_goes_first() -> None:
    """One may be part of another."""
    values = {"first": "secret", "both": "secret words"}
    assert redact("secret words, secret", values, known={}) == "<both>, <first>"


@given(st.text(min_size=4), st.text(), st.text())
def test_no_value_is_left(value: str, before: str, after: str) -> None:
    """Whatever it is and whatever surrounds it."""
    left = redact(f"{before}{value}{after}", {"": value}, known={})
    assert value.strip() == "" or all(value not in piece for piece in left.split("<>"))


def test_the_beginning_and_the_end_of_a_long_text_are_taken_out() -> None:
    """Texts are cut, by others too; what is left is found, unless it may be anybody's."""
    letters = "".join(chr(ord("a") + n * 7 % 26) + str(n % 10) for n in range(40))
    secret = {"token": letters}

    assert redact(f"it was {letters[:30]}…", secret, known={}) == "it was <token>…"
    assert redact(f"it was …{letters[-30:]}", secret, known={}) == "it was …<token>"
    assert redact(f"it was …{letters[30:60]}…", secret, known={}) == "it was …<token>…"
    assert redact(letters[:23], secret, known={}) == letters[:23]


def test_bytes_are_recognised_as_the_text_that_they_are() -> None:
    """Also as Python writes them, and in base64."""
    key = {"key": b"s3cret-\xff"}

    assert redact("key s3cret-\ufffd", key, known={}) == "key <key>"
    assert redact(r"key b's3cret-\xff'", key, known={}) == "key b'<key>'"
    assert redact("key czNjcmV0Lf8=", key, known={}) == "key <key>"


SIZE = 1_000_000
MOMENT_S = 2
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
def test_a_large_text_takes_a_moment(value: str, around: str) -> None:
    """Whatever repeats itself, in the text or in the secret; a search of each place takes minutes.

    The worst takes a tenth of a second; what is not linear takes minutes. So hardly a machine is
    too slow for this limit, and no other way is quick enough.
    """
    text = around.format(value, value[:-1])
    text = (text * (SIZE // len(text) + 1))[:SIZE]
    began = process_time()
    left = redact(text, {"it": value}, known={})

    assert process_time() - began < MOMENT_S
    assert len(value) == 1 or value not in left.replace("<it>", "\0")


@pytest.mark.parametrize("known", ["a" * 16_000, "abc"])
def test_what_is_known_costs_no_more(known: str) -> None:
    """It is looked for in the same way."""
    text = known * (SIZE // len(known))
    began = process_time()

    left = redact(text, {"it": known}, known={"q": known})
    assert left == f"{text[:TOLD]}… ({len(text) - TOLD} more characters)"
    assert process_time() - began < MOMENT_S


def test_all_of_a_text_that_overlaps_itself_goes() -> None:
    """Its beginning and its end, cut, stand in one another as well."""
    value = "abc" * 20 + "X"
    assert redact(f"({'abc' * 100}X)", {"it": value}, known={}) == "(<it>)"
    assert redact(f"({value}{value})", {"it": value}, known={}) == "(<it><it>)"
    assert redact("ababababa!", {"it": "abab"}, known={}) == "<it>a!"
    assert redact("abababab, abab", {"it": "abab"}, known={}) == "<it>, <it>"


def test_the_middle_one_of_places_that_overlap_may_be_the_longest() -> None:
    """The rest of a secret would stay behind where a text was cut."""
    text = "bad: " + "a" * 51 + "SECRETKEY-1234567"
    assert redact(text, {"k": "a" * 50 + "SECRETKEY-12345678"}, known={}) == "bad: <k>"


def secrets(size: int) -> list[str]:
    """As many texts, of which none is like another."""
    return [sha256(b"%d" % at).hexdigest()[: (at % 3) * 15 + 8] for at in range(size)]


@pytest.mark.parametrize("text", ["a" * SIZE, " ".join(secrets(32_000))], ids=["none", "all"])
def test_many_secrets_are_looked_for_together(text: str) -> None:
    """A search for each takes a minute; together it is half a second, or two if traced."""
    began = process_time()
    left = redact(text, {"it": [*secrets(32_000), *range(10_000, 20_000)]}, known={})

    assert process_time() - began < 10 * MOMENT_S
    assert "<it>" not in left or not set(secrets(32_000)) & set(re.split("<it>| ", left))


KEY_OF_A_BANK = "sk-live-" + "abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        ("pa<ss>&word", "bad pa&lt;ss&gt;&amp;word", "bad <key>"),
        ("AKIA1234567890ABCDXY", "bad akia1234567890abcdxy", "bad <key>"),
        ("AKIA1234567890ABCDXY", b"AKIA1234567890ABCDXY".hex(), "<key>"),
        ("a/b+c d=e", "GET /?q=a%2fb%2bc%20d%3de", "GET /?q=<key>"),
        (" password\n", "bad 'password'", "bad '<key>'"),
        ("pässwörtßé12", "bad pa\u0308sswo\u0308rtße\u030112", "bad <key>"),
        ("pässwörtßé12", repr("pässwörtßé12".encode()), "b'<key>'"),
        (KEY_OF_A_BANK, f"{KEY_OF_A_BANK[:12]}…{KEY_OF_A_BANK[-9:]}", "<key>…<key>"),
        (KEY_OF_A_BANK, f"{{'token': '{KEY_OF_A_BANK[10:20]}", "{'token': '<key>"),
        ("short", "a shorter text", "a <key>er text"),
        ("1234", "1234, 12345", "<key>, <key>5"),
        ("JBSWY3DPEHPK3PXP", b32encode(b"id:JBSWY3DPEHPK3PXP").decode(), "NFSDU<key>A="),
        ("AKIA1234567890ABCDXY", "YXDCBA0987654321AIKA", "<key>"),
        ("AKIA1234567890ABCDXY", "A K I A 1 2 3 4 5 6 7 8 9 0", "<key>"),
        ("ab", "a b, ba", "a b, ba"),
        (1234, "1234, 12345", "<key>, 12345"),
    ],
)
def test_a_secret_is_found_as_it_may_be_repeated(secret: object, text: str, expected: str) -> None:
    """In small letters, in pieces, and in the forms that libraries give to what they quote."""
    assert without_secrets(text, {"key": secret, "n": 1}, ["key", "not there"]) == expected


@given(st.text(min_size=12), st.text())
def test_nothing_of_a_secret_is_left_in_base64(secret: str, before: str) -> None:
    """But for the first and the last letters, which are made of what stands beside it as well."""
    data, name = secret.encode(errors="replace"), before.encode(errors="replace")
    encoded = b64encode(name + data).decode()
    left = without_secrets(encoded, {"": secret}, [""]).replace("<>", "").rstrip("=")
    assert len(left) <= (len(name) * 4 + 2) // 3 + 4


def test_no_secrets_change_nothing() -> None:
    """Neither where none is named, nor where it is not there."""
    assert without_secrets("as it is", {"key": "it"}, []) == "as it is"
    assert without_secrets("as it is", {"key": "it"}, ["other"]) == "as it is"


@pytest.mark.parametrize("size", [200, 20_000])
def test_a_value_that_is_longer_than_the_text_is_found_by_pieces(size: int) -> None:
    """Of either only as much is kept as the shorter one has."""
    value = "".join(secrets(size))
    text = f"it was {value[1000:1100]}, of {value[50:70]}"
    assert redact(text, {"it": value}, known={}) == f"it was <it>, of {value[50:70]}"
    assert redact(text * 30, {"it": value}, known={"q": value}) == text * 30


@given(
    st.lists(st.one_of(st.text("ab1 ", max_size=6), st.integers(0, 120)), max_size=20),
    st.text("ab1 ", max_size=60),
    st.text("ab1 ", min_size=25, max_size=60),
)
def test_nothing_of_many_values_is_left(short: list[str | int], text: str, long: str) -> None:
    """However they overlap; each stands where the text has it, and nowhere else."""
    whole = f"{text}{long[:26]}1{long[-25:]}{text}"
    left = re.split("<it>", redact(whole, {"it": [*short, long]}, known={}))
    wanted = [one for one in short if isinstance(one, str) and len(one) >= SHORT and one.strip()]
    wanted += [long[at : at + LONG] for at in range(len(long) - LONG + 1) if len(long) > LONG]
    assert not [one for one in wanted for piece in left if one in piece]
    assert all(piece in whole for piece in left)


NUMBERS = [
    0,
    -1,
    *(10**size + 7 for size in range(1, 160)),
    *(7.5 / 10**size for size in range(40)),
]


@pytest.mark.parametrize("around", ["lorem {} dolor, ", "{},", "{}"])
def test_numbers_of_all_sizes_take_a_moment(around: str) -> None:
    """A pass over the text for each size of a number takes minutes, and holds up everything."""
    text = around.format(NUMBERS[20])
    text = text * (1_000_000 // len(text))
    began = process_time()

    left = redact(text, {"it": NUMBERS}, known={})

    assert process_time() - began < MOMENT_S
    assert str(NUMBERS[20]) not in left or around == "{}"


def test_a_text_is_read_no_further_than_anybody_wants_to() -> None:
    """The rest is counted. What begins in what is told, and ends behind it, goes as well."""
    text = f"{'-' * (TOLD - 4)}Alice Smith{'-' * READ}"
    more = len(text) - TOLD
    told = redact(text, {"who": "Alice Smith"}, known={})
    assert told == f"{'-' * (TOLD - 4)}<who>… ({more} more characters)"
    told = redact(text, {"who": "Smith"}, known={})
    assert told == f"{text[:TOLD]}… ({more} more characters)"
    assert without_secrets("-" * READ, {"who": "Alice"}, ["who"]) == "-" * READ


@pytest.mark.parametrize("secret", ["x" * (MOST + 1), secrets(4_000)], ids=["long", "many"])
def test_nothing_is_told_of_what_may_have_secrets_that_are_too_long(secret: object) -> None:
    """To look for all forms of them takes too long; to leave one out would tell it."""
    arguments = {"key": secret, "pin": 1}
    told = without_secrets(f"no {secret}", arguments, ["key", "pin", "not there"])
    assert told == "(withheld: it may say <key>, <pin>)"
    assert all_without_secrets(["one", "two"], arguments, ["key"]) == [
        "(withheld: it may say <key>)"
    ]


@pytest.mark.parametrize(
    "text",
    ["ab" * 500_000, "\\" * 1_000_000, "a, 7. b; " * 111_111, "\u0300\u0316" * 500_000],
    ids=["ab", "backslashes", "every second place", "marks"],
)
@pytest.mark.parametrize("share", [1, 0.5, 0.00005])
def test_a_text_takes_a_moment_whatever_it_has_of_a_value(text: str, share: float) -> None:
    """All of it, half of it, or the words and signs of which it is made."""
    value = text[: int(len(text) * share)]
    began = process_time()
    redact(text, {"it": value, "each": list(set(value))}, known={"q": text})
    without_secrets(text, {"it": value}, ["it"])
    assert process_time() - began < MOMENT_S


def test_a_number_that_nobody_can_print_is_in_no_text() -> None:
    """Python refuses to write so many digits."""
    assert redact("as it is", {"n": 10**5_000}, known={}) == "as it is"


def test_a_long_value_is_found_among_many_words() -> None:
    """The text has more pieces than are looked for one by one."""
    words, value = " ".join(map(str, range(1_000))), "abcdefghijklmnopqrstuvwxyz0123"
    text = f"{words} {value}"
    assert redact(text, {"it": value, "no": value[::-1]}, known={}) == f"{words} <it>"


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (73915, ["73,915", "73'915", "73_915", "73\u202f915", "73915.00", "73,915.00"]),
        (7391.5, ["7391.50", "7,391.5", "7,391.50"]),
        (7391.0, ["7391", "7,391", "7391.00"]),
        (-12000.25, ["-12,000.25"]),
        (Decimal("73915.50"), ["73915.5", "73,915.50", "73915.50"]),
        (Decimal("0.1"), ["0.10"]),
    ],
)
def test_a_number_is_found_as_people_write_it(number: object, texts: list[str]) -> None:
    """With its thousands apart, and with two digits behind the point, or none."""
    for text in texts:
        assert without_secrets(f"got {text}!", {"pin": number}, {"pin"}) in {
            "got <pin>!",
            "got -<pin>!",
        }
        longer = f"got 1{text.strip('-')}"
        if text != str(number):
            assert without_secrets(longer, {"pin": number}, {"pin"}) != "got 1<pin>"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (73915, "73.915 or 73 915 or 73,9150"),
        (7391.5, "7391.51 or 7391"),
        (73915, "73,915,000 or 2'073'915 or 73,915.5"),
        (391000, "2,391,000 or 391,000,000.00"),
        (0.125, "0.13 or 0.12 or 0"),
        (10**15, "1,000,000,000,000,000"),
        (float("inf"), "1"),
        (Decimal("1e-400"), "0"),
        (Decimal("NaN"), "0"),
        (Decimal("sNaN"), "0"),
    ],
)
def test_another_number_stays(number: object, text: str) -> None:
    """Also one that it would be if it were rounded; an enormous one is written in one way."""
    assert without_secrets(text, {"pin": number}, {"pin"}) == text


@pytest.mark.parametrize(
    ("secret", "text", "visible"),
    [
        (1000, "1,000, 2,000", "<pin>, 2,000"),
        (1000, "2, 1,000.", "2, <pin>."),
        (1000, "1,000.000 or -1,000", "<pin>.000 or -<pin>"),
        (1000, "1,000,2 or 1,000'000", "<pin>,2 or <pin>'000"),
        (1234.5, "1,234.50,000", "<pin>,000"),
        (-1000, "2,-1,000 or 5-1,000", "2,<pin> or 5<pin>"),
        (5, "[5,100] or 5.25", "[<pin>,100] or <pin>.25"),
        ("5,", "1,5,,100", "1,<pin>,100"),
    ],
)
def test_a_number_beside_another_one_is_found(secret: object, text: str, visible: str) -> None:
    """A sentence goes on, or a list does: what cannot be told from that counts as one."""
    assert without_secrets(text, {"pin": secret}, {"pin"}) == visible
