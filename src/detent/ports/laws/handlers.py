"""The laws of handlers as checks: run them against a handler of your own.

def test_my_handler():
    check_handler(keep_best, [["a"], ["b", "a"], []], associative=True, idempotent=True)
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import product
from typing import Any

from detent.core.state.handlers import Handler
from detent.core.values.short_repr import short_repr
from detent.ports.laws.breaking import expect

NO_IDENTITY = object()
HANDLER = "the handler"


def check_handler(
    handler: Handler[Any, Any],
    updates: Sequence[object],
    *,
    associative: bool = False,
    commutative: bool = False,
    idempotent: bool = False,
    identity: object = NO_IDENTITY,
) -> None:
    """Check that a handler takes all `updates` in any order, is pure, and keeps the laws it claims.

    Args:
        handler: merges what a key holds with an update.
        updates: what tools may write, of every kind; each is merged into nothing, and into what
            each two others have made.
        associative: two updates merged one after the other are the same as one made of both.
        commutative: updates may come in any order.
        idempotent: an update that comes twice counts once.
        identity: the update that changes nothing, if there is one.

    Raises:
        AssertionError: it does not; the message is the law, and the values that break it.
    """
    for first, second, other in product(updates, repeat=3):
        start = _merged(handler, None, first)
        then = _merged(handler, start, second)
        last = _merged(handler, then, other)
        if associative:
            both = _merged(handler, _merged(handler, None, second), other)
            _same(last, _merged(handler, start, both), "is associative", (first, second, other))
        if commutative:
            swapped = _merged(handler, _merged(handler, start, other), second)
            _same(last, swapped, "is commutative", (first, second, other))
        if idempotent:
            _same(then, _merged(handler, then, second), "is idempotent", (first, second, second))
        if identity is not NO_IDENTITY:
            law = f"has the identity {identity!r}"
            _same(start, _merged(handler, start, identity), law, (first, identity))
            begun = _merged(handler, _merged(handler, None, identity), first)
            _same(start, begun, law, (identity, first))


def _merged(handler: Handler[Any, Any], current: object, update: object) -> object:
    """What the handler makes of the two: it takes everything, and is pure."""
    values = (deepcopy(current), deepcopy(update))
    try:
        made = handler(current, update)
    except Exception as error:
        sentence = f"it takes every update into every value, got {type(error).__name__}: {error}"
        raise AssertionError(f"{HANDLER} breaks a law: {sentence}{_of(values)}") from error
    expect(
        (current, update) == values, HANDLER, f"it leaves what it is given as it is{_of(values)}"
    )
    again = handler(current, update)
    expect(made == again, HANDLER, f"the same values always make the same{_of(values)}")
    return made


def _same(made: object, other: object, law: str, updates: Sequence[object]) -> None:
    expect(
        made == other,
        HANDLER,
        f"it {law}: {short_repr(made)} is not {short_repr(other)}{_of(updates)}",
    )


def _of(values: Sequence[object]) -> str:
    return f"; with {', '.join(map(short_repr, values))}"
