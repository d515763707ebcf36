"""What the state holds does not leave through the text of an error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from detent.core.redaction import redacted


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

    def __str__(self) -> str:
        return "opaque-secret"


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("no user 'Alice'", "Alice", "no user '<it>'"),
        ("no user AliceBob", "Alice", "no user <it>Bob"),
        ("a cat", "cat", "a <it>"),
        ("a category", "cat", "a category"),
        ("line 7 of 17", 7, "line <it> of 17"),
        ("it took 1.5 s", 1.5, "it took <it> s"),
        ("'a\\nbcd' is bad", "a\nbcd", "'<it>' is bad"),
        (
            "Account(token='secret', number=42)",
            Account("secret", 42),
            "Account(token='<it>', number=<it>)",
        ),
        ("Person(name='Alice')", Person("Alice"), "Person(name='<it>')"),
        ("['alpha', 'beta']", ["alpha", {"x": "beta"}], "['<it>', '<it>']"),
        ("opaque-secret!", Opaque(), "<it>!"),
        ("crimson", Colour.RED, "<it>"),
        ("b'secret'", b"secret", "<it>"),
        ("None is not True", None, "None is not True"),
        ("None is not True", True, "None is not True"),
        ("nothing", "", "nothing"),
        ("nothing", [], "nothing"),
        ("no bytes", b"", "no bytes"),
    ],
)
def test_a_value_is_replaced_by_its_name(text: str, value: object, expected: str) -> None:
    """And every part of one; a short one only where it stands alone."""
    assert redacted(text, {"it": value}, known="") == expected


def test_what_the_reader_knows_stays() -> None:
    """A model may read what it wrote itself."""
    assert redacted("no book 'cats'", {"query": "cats"}, known='{"q": "cats"}') == "no book 'cats'"
    assert redacted("no 12", {"n": 12}, known='{"q": 123}') == "no <n>"


def test_the_longest_value_goes_first() -> None:
    """One may be part of another."""
    values = {"first": "secret", "both": "secret words"}
    assert redacted("secret words, secret", values, known="") == "<both>, <first>"


@given(st.text(min_size=4), st.text(), st.text())
def test_no_value_is_left(value: str, before: str, after: str) -> None:
    """Whatever it is and whatever surrounds it."""
    left = redacted(f"{before}{value}{after}", {"": value}, known="")
    assert value.strip() == "" or value not in left.replace("<>", "")
