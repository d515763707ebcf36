"""Where an error was raised is said, and not what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from detent.adapters.telemetry.trails import FRAMES, trail_of

PIN = "1234-of-nobody"


def look_up(left: int = 0) -> object:
    return look_up(left - 1) if left else dict[str, object]()[PIN]


def look_up_for_others() -> None:
    try:
        look_up()
    except KeyError as error:
        raise ValueError(PIN) from error


def raised_by(function: Callable[..., object], *arguments: int) -> BaseException:
    with pytest.raises((KeyError, ValueError)) as error:
        function(*arguments)
    return error.value


def test_each_error_is_named_with_its_functions_and_without_its_text() -> None:
    """One that others have led to names those as well."""
    trail = trail_of(raised_by(look_up_for_others))
    first, last = trail.split("; because of ")
    assert first.startswith(f"ValueError in raised_by ({__file__}:")
    assert last.startswith(f"KeyError in look_up_for_others ({__file__}:")
    assert " > look_up (" in last
    assert PIN not in trail


def test_of_many_functions_the_last_are_named() -> None:
    """They are where it was raised."""
    assert trail_of(raised_by(look_up, 100)).count("look_up") == FRAMES


def test_what_has_not_been_raised_has_a_type_alone() -> None:
    """Also where errors are each other's cause."""
    one, other = KeyError(PIN), ValueError(PIN)
    one.__cause__, other.__cause__ = other, one
    assert trail_of(one) == "KeyError; because of ValueError"
