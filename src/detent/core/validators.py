"""What the fields of values demand, by the names that attrs has for it, without importing attrs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias


class Named(Protocol):
    """A field, as far as a demand looks at it."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


Demand: TypeAlias = Callable[[object, Named, Any], None]


def instance_of(*kinds: type) -> Demand:
    """The value is of one of these classes; else a TypeError."""

    def check(value: object, field: Named, given: object) -> None:
        if not isinstance(given, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"{_of(value, field)} must be of type {wanted}, got {_told(given)}")

    return check


def ge(least: float) -> Demand:
    """The value is at least this; else a ValueError."""

    def check(value: object, field: Named, given: Any) -> None:
        if not given >= least:
            raise ValueError(f"{_of(value, field)} must be at least {least}, got {given!r}")

    return check


def min_len(least: int) -> Demand:
    """The value has at least so many items; else a ValueError."""

    def check(value: object, field: Named, given: Any) -> None:
        if len(given) < least:
            raise ValueError(f"{_of(value, field)} must have at least {least}, got {len(given)}")

    return check


def optional(demand: Demand) -> Demand:
    """What is demanded of a value that is not None."""

    def check(value: object, field: Named, given: Any) -> None:
        if given is not None:
            demand(value, field, given)

    return check


def each(whole: Demand, item: Demand) -> Demand:
    """What is demanded of a collection, and of every item in it."""

    def check(value: object, field: Named, given: Iterable[Any]) -> None:
        whole(value, field, given)
        for one in given:
            item(value, field, one)

    return check


def _of(value: object, field: Named) -> str:
    return f"{type(value).__name__}: {field.name}"


def _told(given: object) -> str:
    return f"{given!r}, a {type(given).__name__}"
