"""Checks of what users hand to constructors: what was expected, what came, what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from math import inf
from typing import Any, TypeVar, cast

from attrs import Attribute, fields

C = TypeVar("C")
Check = Callable[[object, "Attribute[Any]", Any], None]

LONGEST = 100
"""Longer names, in characters, are near no other one."""


def of_kind(kind: type, words: str, *, or_none: bool = False) -> Check:
    """A validator. Raises TypeError unless a value is of a kind, which is called `words`."""
    demand = f"{words} or None" if or_none else words

    def check(instance: object, attribute: Attribute[Any], value: Any) -> None:
        if not (isinstance(value, kind) or (or_none and value is None)):
            raise TypeError(f"{_place(instance, attribute)} is {demand}, got {value!r:.80}")

    return check


def number(least: float, *, is_whole: bool = False, or_none: bool = False) -> Check:
    """A validator. Raises TypeError for what is no number, and ValueError below the least."""
    above = "" if least == -inf else f", {least:g} or more"
    demand = f"a {'whole ' * is_whole}number{above}{', or None' * or_none}"

    def check(instance: object, attribute: Attribute[Any], value: Any) -> None:
        if or_none and value is None:
            return
        is_number = isinstance(value, int if is_whole else int | float)
        if not is_number or isinstance(value, bool):
            raise TypeError(f"{_place(instance, attribute)} is {demand}, got {value!r:.80}")
        if not value >= least:  # as a NaN is not
            raise ValueError(f"{_place(instance, attribute)} is {demand}, got {value!r:.80}")

    return check


def meant(name: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """The end of a sentence about a name that is none of `names`: which of them is near it.

    Of names without meaning a greater `likeness` is to be asked for, up to 1.

    >>> meant("wating", ["waiting", "done"])
    "; did you mean 'waiting'?"
    >>> meant("gone", ["waiting"])
    ''
    """
    close = near_name(name, names, likeness)
    return "" if close is None else f"; did you mean {close!r}?"


def near_name(name: str, names: Iterable[str], likeness: float = 0.6) -> str | None:
    """Which of `names` is near a name that is none of them, if one is.

    RULE: a model may make up names, and to compare long ones takes long.
    """
    from difflib import get_close_matches  # only for a mistake

    if len(name) > LONGEST:
        return None
    short = [other for other in names if len(other) <= LONGEST]
    return next(iter(get_close_matches(name, short, 1, likeness)), None)


def no_attribute(owner: object, name: str, others: Mapping[str, str]) -> AttributeError:
    """What is raised for an attribute that there is not; `others` say what is meant by some.

    Where they do not, Python looks for a name that is near.
    """
    text = f"{type(owner).__name__!r} object has no attribute {name!r}"
    if name in others:
        return AttributeError(f"{text}; did you mean {others[name]}?")
    return AttributeError(text, name=name, obj=owner)


def _place(instance: object, attribute: Attribute[Any]) -> str:
    return f"'{attribute.alias}' of {type(instance).__name__}"


def names_told(cls: type[C]) -> type[C]:
    """A decorator of an attrs class: who misspells an option hears which ones it has."""
    return names_meant({})(cls)


def names_meant(others: Mapping[str, str]) -> Callable[[type[C]], type[C]]:
    """The same, where `others` say what options are called elsewhere, and which ones here."""
    return lambda cls: _names_told(cls, others)


def _names_told(cls: type[C], others: Mapping[str, str]) -> type[C]:
    begin: Callable[..., None] = cls.__init__
    names = [item.alias for item in fields(cast(Any, cls)) if item.init]

    @wraps(begin)
    def init(self: object, *values: Any, **options: Any) -> None:
        for name in options.keys() - names:
            from difflib import get_close_matches  # only for a mistake

            close = [others[name]] if name in others else get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}? It" if close else "it"
            listing = ", ".join(names)
            raise TypeError(f"{cls.__name__} has no option {name!r}; {hint} has {listing}")
        begin(self, *values, **options)

    cast(Any, cls).__init__ = init
    return cls
