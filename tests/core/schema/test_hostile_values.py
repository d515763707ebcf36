"""What a model may send, and a schema may say, to harm who checks it."""

from __future__ import annotations

import socket
import threading
from enum import IntEnum, StrEnum
from math import inf, nan
from time import perf_counter
from typing import Any

import pytest

from detent.core.schema.accepted_keywords import schema_faults
from detent.core.schema.validation import BITS_MAX, DEPTH_MAX, Validator
from detent.core.values.frozen import freeze

TREE: dict[str, object] = {"anyOf": [{"type": "null"}, {"items": {"$ref": "#"}, "type": "array"}]}


def nested(depth: int) -> object:
    """A list in a list in a list."""
    value: object = None
    for _ in range(depth):
        value = [value]
    return value


class Word(StrEnum):
    """A text of somebody's own class."""

    UP = "up"


class Level(IntEnum):
    """A number of somebody's own class."""

    LOW = 1


class Metres(int):
    """A number that is no enumeration."""


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (nan, "JSON has no nan"),
        (-inf, "JSON has no -inf"),
        ({"a": [{"b": nan}]}, "JSON has no nan"),
        (10**5000, "an integer has more than 14000 bits"),
        ([-(10**5000)], "an integer has more than 14000 bits"),
        (nested(DEPTH_MAX + 1), "more than 128 levels deep"),
        (object(), "Unsupported type: 'object'"),
        (Metres(1), "Unsupported type: 'Metres'"),
        ({1: 2}, "Dict key must be str or str enum. Got 'int'"),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("schema", [{"type": ["integer", "object", "array"]}, {"minProperties": 1}])
def test_what_is_no_json_fits_nothing(
    value: object, reason: str, schema: dict[str, object]
) -> None:
    """The library would take it for null, overflow the stack, or raise."""
    test = Validator(schema)
    assert not test.fits(value)
    assert test.faults(value) == [f"the arguments cannot be checked: {reason}"]


def test_half_a_character_fits_no_text_that_is_looked_into() -> None:
    """JSON can say one, and no text that is read by others can hold it."""
    test = Validator({"properties": {"a": {"pattern": "^.$"}}})
    assert not test.fits({"a": "\ud800"})
    assert "surrogates not allowed" in test.faults({"a": "\ud800"})[0]
    assert Validator({"properties": {"a": {"type": "string"}}}).fits({"a": "\ud800"})


def test_large_and_foreign_values_are_read_as_they_are() -> None:
    """Up to what Python itself reads from JSON."""
    large = 2**BITS_MAX - 1
    assert Validator({"const": 2**70}).fits(2**70)
    assert not Validator({"const": 2**70}).fits(2**70 + 1)
    assert Validator({"type": "integer", "minimum": 2**70}).fits(large)
    assert not Validator({"minimum": 0}).fits(-large)
    assert Validator({"maxLength": 1, "minLength": 1}).fits("😀")
    assert Validator({"type": "string", "maxLength": 2}).fits(Word.UP)
    assert not Validator({"type": "string", "maxLength": 1}).fits(Word.UP)
    assert Validator({"const": 1}).fits(Level.LOW)
    assert Validator({"type": "array"}).fits((1, 2))


@pytest.mark.parametrize(
    "value", [nested(DEPTH_MAX - 1), [nested(DEPTH_MAX - 2), 1]], ids=["", "bad"]
)
def test_deep_values_fit_a_small_stack(value: Any) -> None:
    """That of a thread on musl, where an overflow would end the process."""
    done: list[object] = []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: done.append(Validator(TREE).faults(freeze(value))))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert len(done) == 1


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*x", "(x+x+)+y"])
def test_no_pattern_takes_long(pattern: str) -> None:
    """The engine of `re` takes twice as long for each further letter."""
    test = Validator({"pattern": pattern})
    before = perf_counter()
    assert not test.fits("a" * 50_000 + "b")
    assert perf_counter() - before < 5


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.org/x.json",
        "http://127.0.0.1:1/x",
        "file:///etc/hostname",
        "x.json",
        "//a/b",
    ],
)
def test_nothing_is_fetched(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when a schema is looked at, nor by whoever makes a test of it all the same."""
    monkeypatch.setattr(socket, "socket", None)
    assert "must name a schema in '$defs'" in schema_faults({"$ref": reference})[0]
    with pytest.raises(ValueError, match=r"Retrieval is disabled|No base URI|not present"):
        Validator({"items": {"$ref": reference}})
    with pytest.raises(ValueError, match=r"Retrieval is disabled"):
        Validator({"$id": "https://example.org/", "items": {"$ref": "x.json"}})


def test_a_property_may_be_called_like_a_keyword() -> None:
    """Sentences are made from paths through schemas, in which both stand."""
    names = ("additionalProperties", "properties", "dependentRequired", "propertyNames")
    schema = {"properties": dict.fromkeys(names, False), "additionalProperties": False}
    assert Validator(schema).faults(dict.fromkeys(names, 1)) == [
        f"'{name}' must be left out" for name in names
    ]
    assert Validator({"additionalProperties": False}).faults({"a": 1}) == [
        "'a' is not known; there is: nothing"
    ]
