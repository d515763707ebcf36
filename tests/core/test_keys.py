"""Keys: what they declare, and how they check and merge an update."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from detent import Key, SchemaError, StateError, StateTypeError, Write, merge_lists, replace_values
from detent.core.keys import is_list, key_of


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (list, True),
        (list[int], True),
        (list[int] | None, True),
        (Annotated[list[int], "numbers"], True),
        (tuple, False),
        (list[int] | str, False),
        (str, False),
    ],
    ids=str,
)
def test_list_types_are_known(declared: object, expected: bool) -> None:  # noqa: FBT001 - a parameter
    """They merge by default, the others are replaced."""
    assert is_list(declared) == expected
    default = merge_lists if expected else replace_values
    assert key_of("k", {"type": declared}).handler is default


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({}, "needs a 'type' entry"),
        ("str", "needs a 'type' entry"),
        ({"type": "str"}, "must be a type"),
        ({"type": str, "handler": 3}, "must be callable"),
        ({"type": str, "handlr": None}, "unknown entries"),
    ],
)
def test_an_entry_that_is_none_is_refused(entry: object, fault: str) -> None:
    """With the key's name."""
    with pytest.raises(SchemaError, match=f"'k' .*{fault}"):
        key_of("k", entry)


def test_an_update_of_the_wrong_type_is_refused() -> None:
    """Also one item of it, at its place."""
    numbers: Key[Any, Any] = key_of("numbers", {"type": list[int]})

    with pytest.raises(StateTypeError, match=r"'numbers' holds list\[int\].*item 1"):
        numbers.merge([1], Write("numbers", [2, "three"]))


def test_a_handler_that_fails_is_named() -> None:
    """So is its exception."""

    def clumsy(current: object, update: object) -> object:
        raise KeyError("oops")

    key: Key[Any, Any] = key_of("k", {"type": int, "handler": clumsy})

    with pytest.raises(StateError, match="clumsy of state key 'k' raised KeyError"):
        key.merge(1, Write("k", 2))
