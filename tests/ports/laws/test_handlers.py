"""The laws of handlers: ours keep what they claim, and one that does not is found out."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from detent import (
    add_numbers,
    append_unique,
    append_unique_by,
    keep_last,
    keep_max,
    keep_min,
    merge_dicts,
    merge_lists,
    replace_values,
    unite_sets,
)
from detent.testing import check_handler

Handler = Callable[[Any, Any], Any]
LISTS = [["a"], ["b", "a", "b"], []]
NUMBERS = [0, 3, -2, 2**70]
DICTS = [{"a": 1}, {"a": 2, "b": [1]}, {}]
CLAIMED: list[tuple[Handler, list[Any], dict[str, Any]]] = [
    (replace_values, [*NUMBERS, None, "text"], {"associative": True, "idempotent": True}),
    (merge_lists, LISTS, {"associative": True, "identity": []}),
    (append_unique, LISTS, {"associative": True, "idempotent": True, "identity": []}),
    (append_unique_by(str.lower), LISTS, {"associative": True, "idempotent": True, "identity": []}),
    (keep_last(2), LISTS, {"associative": True, "identity": []}),
    (merge_dicts, DICTS, {"associative": True, "idempotent": True, "identity": {}}),
    (
        unite_sets,
        [{1}, {1, 2}, set()],
        {"associative": True, "commutative": True, "idempotent": True, "identity": set()},
    ),
    (add_numbers, NUMBERS, {"associative": True, "commutative": True, "identity": 0}),
    (keep_max, NUMBERS, {"associative": True, "commutative": True, "idempotent": True}),
    (keep_min, NUMBERS, {"associative": True, "commutative": True, "idempotent": True}),
]


@pytest.mark.parametrize(("handler", "updates", "claims"), CLAIMED)
def test_ours_keep_what_their_docstrings_claim(
    handler: Handler, updates: list[Any], claims: dict[str, Any]
) -> None:
    """With lists, texts, numbers, dicts and sets."""
    check_handler(handler, updates, **claims)


def changing(current: list[int] | None, update: list[int]) -> list[int]:
    """Change what it is given."""
    update.append(1)
    return [*(current or []), *update]


def fickle(current: float | None, update: float) -> float:
    """Throw a die."""
    return DIE.random()


DIE = Random(1)  # noqa: S311 - nothing is secret here


@pytest.mark.parametrize(
    ("handler", "updates", "claims", "law"),
    [
        (
            max,
            [1, 2],
            {},
            "it takes every update into every value, got TypeError: .*; with None, 1",
        ),
        (changing, [[1]], {}, "it leaves what it is given as it is; with None, "),
        (fickle, [1], {}, "the same values always make the same; with None, 1"),
        (
            lambda current, update: update - (current or 0),
            [1, 2],
            {"associative": True},
            "it is associative: 1 is not -1; with 1, 1, 1",
        ),
        (replace_values, [1, 2], {"commutative": True}, "it is commutative: 2 is not 1; with 1, "),
        (
            merge_lists,
            [[1]],
            {"idempotent": True},
            r"it is idempotent: \[1, 1\] is not \[1, 1, 1\]",
        ),
        (replace_values, [1], {"identity": 0}, "it has the identity 0: 1 is not 0; with 1, 0"),
        (
            lambda current, update: "begun" if current is None else update or current,
            ["text"],
            {"identity": ""},
            "it has the identity '': 'begun' is not 'text'; with '', 'text'",
        ),
    ],
)
def test_a_handler_that_breaks_a_law_is_found_out(
    handler: Handler, updates: list[Any], claims: dict[str, Any], law: str
) -> None:
    """The message is the law, with the values that break it."""
    with pytest.raises(AssertionError, match=f"the handler breaks a law: {law}"):
        check_handler(handler, updates, **claims)
