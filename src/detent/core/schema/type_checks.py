"""Types: what a key may be declared as, and whether a value has that type."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable
from inspect import signature
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)

from detent.core.values.frozen import FrozenDict, FrozenList, FrozenSet
from detent.core.values.shared_list import SharedList
from detent.core.values.short_repr import short_repr

Check: TypeAlias = Literal["all", "first"]
"""Which items of a collection are looked at when a value is checked."""

NO_CLASS: frozenset[type] = frozenset()
LISTS: frozenset[type] = frozenset({list, FrozenList, SharedList})
JOINED = frozenset({dict, set, abc.Mapping, abc.MutableMapping, abc.Set, abc.MutableSet})
STANDING_FOR: dict[type, frozenset[type]] = {
    dict: frozenset({dict, FrozenDict}),
    list: LISTS,
    set: frozenset({set, FrozenSet}),
    float: frozenset({float, int}),
}


def is_type(hint: object) -> bool:
    """Whether `hint` can stand as the type of a value."""
    if hint is Union:  # from Python 3.14 on it is a class
        return False
    is_plain = isinstance(hint, type | NewType) or hint is Any
    return is_plain or get_origin(hint) is not None


def takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function can be called with `count` arguments in order, if it lets that be told."""
    try:
        signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # it is built in, and has no signature
        return True
    return True


def sole_type(hint: Any) -> Any:
    """The type without annotations; of an optional one, the type that it is else."""
    if get_origin(hint) is Annotated:
        return sole_type(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        options = [option for option in get_args(hint) if option is not NoneType]
        return sole_type(options[0]) if len(options) == 1 else hint
    return hint


def is_list(hint: object) -> bool:
    """Whether `hint` is a list type: list, list[X], or an optional or annotated one."""
    kind = sole_type(hint)
    return kind is list or get_origin(kind) is list


def is_joined(hint: object) -> bool:
    """Whether two mappings or two sets that have the type make one that has it, when joined.

    Of two that fit a union, or a typed dict, that is not said.
    """
    kind = sole_type(hint)
    return hint is Any or (get_origin(kind) or kind) in JOINED


def type_name(hint: Any) -> str:
    """A type as people write it: ``int``, ``list[Document]``, ``str | None``."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is SharedList:
        return "list"
    if isinstance(hint, list):
        return f"[{', '.join(map(type_name, hint))}]"
    if origin is Annotated:
        return type_name(arguments[0])
    if origin is Union or origin is UnionType:
        return " | ".join("None" if kind is NoneType else type_name(kind) for kind in arguments)
    if origin is Literal or not hasattr(hint, "__name__"):
        return str(hint).removeprefix("typing.")
    if origin is None:
        return str(hint.__name__)
    names = ("..." if argument is ... else type_name(argument) for argument in arguments)
    return f"{type_name(origin)}[{', '.join(names)}]"


def classes_of(hint: object) -> frozenset[type]:
    """Classes whose own instances surely have the declared type; none when only a look can tell."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return STANDING_FOR.get(hint, frozenset({hint}))
    if hint is None:
        return frozenset({NoneType})
    if get_origin(hint) is Annotated:
        return classes_of(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return NO_CLASS.union(*map(classes_of, get_args(hint)))
    return NO_CLASS


def item_classes_of(hint: object) -> frozenset[type]:
    """Classes whose own instances may surely be items of the declared list type."""
    return classes_of(get_args(hint)[0]) if get_origin(hint) is list else NO_CLASS


def misfit(value: object, hint: Any, items: Check) -> str | None:
    """What keeps `value` from having the declared type, and where in it; None when it has it."""
    # typeguard takes 20 ms to import; keys of plain types do without it
    from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

    strategies = CollectionCheckStrategy
    strategy = strategies.ALL_ITEMS if items == "all" else strategies.FIRST_ITEM
    try:
        check_type(value, hint, collection_check_strategy=strategy)
    except TypeCheckError as error:
        actual = f"got {type_name(type(value))}: {short_repr(value)}"
        reason = str(error).splitlines()[0].rstrip(":")
        # of the value itself it says only what `actual` says; of a part, where that is
        subject = reason.partition(" is not an instance of ")[0]
        return actual if " " not in subject else f"{reason}, {actual}"
    return None


DECORATIONS = (Annotated, Final, Required, NotRequired)


def bare_type(hint: Any) -> Any:
    """A declared type without `Annotated`, `NewType` and the like around it."""
    while True:
        if get_origin(hint) in DECORATIONS:
            hint = get_args(hint)[0]
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        else:
            return hint
