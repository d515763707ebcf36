"""What fields demand, and what is said of a value that does not have it."""

from __future__ import annotations

from typing import Any

import pytest

from detent.core.validators import Demand, each, ge, instance_of, min_len, optional
from detent.core.values import field, frozen


def holding(demand: Demand) -> Any:
    """A class with a field of which this is demanded."""

    @frozen
    class Order:
        count: object = field(validator=demand)

    return Order


@pytest.mark.parametrize(
    ("demand", "good", "wrong", "error", "said"),
    [
        (instance_of(str), "x", 1, TypeError, "must be of type str, got 1, a int"),
        (instance_of(int, float), 0.5, "x", TypeError, "of type int or float, got 'x', a str"),
        (ge(1), 1, 0, ValueError, "must be at least 1, got 0"),
        (ge(0), 0.0, float("nan"), ValueError, "must be at least 0, got nan"),
        (min_len(1), (1,), (), ValueError, "must have at least 1, got 0"),
        (optional(ge(1)), None, 0, ValueError, "must be at least 1, got 0"),
        (each(instance_of(tuple), ge(1)), (1, 2), (1, 0), ValueError, "must be at least 1, got 0"),
        (each(instance_of(tuple), ge(1)), (), [1], TypeError, r"of type tuple, got \[1\], a list"),
    ],
)
def test_a_value_has_what_is_demanded(
    demand: Demand, good: object, wrong: object, error: type[Exception], said: str
) -> None:
    """Or the error says of which field of which class, what was demanded and what came."""
    kind = holding(demand)

    assert kind(good).count is good
    with pytest.raises(error, match=f"^Order: count .*{said}$"):
        kind(wrong)
