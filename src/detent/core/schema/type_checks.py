"""Types: what a key may be declared as, and whether a value has that type."""

from __future__ import annotations

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
STANDING_FOR: dict[type, frozenset[type]] = {
    dict: frozenset({dict, FrozenDict}),
    list: LISTS,
    set: frozenset({set, FrozenSet}),
    float: frozenset({float, int}),
}


def is_type(declared: object) -> bool:
    """Whether `declared` can stand as the type of a value."""
    if declared is Union:  # from Python 3.14 on it is a class
        return False
    known = isinstance(declared, type | NewType) or declared is Any
    return known or get_origin(declared) is not None


def takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function can be called with `count` arguments in order, if it lets that be told."""
    try:
        signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # it is built in, and has no signature
        return True
    return True


def sole_type(declared: Any) -> Any:
    """The type without annotations; of an optional one, the type that it is else."""
    if get_origin(declared) is Annotated:
        return sole_type(get_args(declared)[0])
    if get_origin(declared) in (Union, UnionType):
        options = [option for option in get_args(declared) if option is not NoneType]
        return sole_type(options[0]) if len(options) == 1 else declared
    return declared


def is_list(declared: object) -> bool:
    """Whether `declared` is a list type: list, list[X], or an optional or annotated one."""
    kind = sole_type(declared)
    return kind is list or get_origin(kind) is list


def type_name(declared: Any) -> str:
    """A type as people write it: ``int``, ``list[Document]``, ``str | None``."""
    origin, arguments = get_origin(declared), get_args(declared)
    if declared is SharedList:
        return "list"
    if isinstance(declared, list):
        return f"[{', '.join(map(type_name, declared))}]"
    if origin is Annotated:
        return type_name(arguments[0])
    if origin is Union or origin is UnionType:
        return " | ".join("None" if kind is NoneType else type_name(kind) for kind in arguments)
    if origin is Literal or not hasattr(declared, "__name__"):
        return str(declared).removeprefix("typing.")
    if origin is None:
        return str(declared.__name__)
    names = ("..." if argument is ... else type_name(argument) for argument in arguments)
    return f"{type_name(origin)}[{', '.join(names)}]"


def classes_of(declared: object) -> frozenset[type]:
    """Classes whose own instances surely have the declared type; none when only a look can tell."""
    if isinstance(declared, type) and get_origin(declared) is None:
        return STANDING_FOR.get(declared, frozenset({declared}))
    if declared is None:
        return frozenset({NoneType})
    if get_origin(declared) is Annotated:
        return classes_of(get_args(declared)[0])
    if get_origin(declared) in (Union, UnionType):
        return NO_CLASS.union(*map(classes_of, get_args(declared)))
    return NO_CLASS


def item_classes_of(declared: object) -> frozenset[type]:
    """Classes whose own instances may surely be items of the declared list type."""
    return classes_of(get_args(declared)[0]) if get_origin(declared) is list else NO_CLASS


def misfit(value: object, declared: Any, items: Check) -> str | None:
    """What keeps `value` from having the declared type, and where in it; None when it has it."""
    # typeguard takes 20 ms to import; keys of plain types do without it
    from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

    strategies = CollectionCheckStrategy
    strategy = strategies.ALL_ITEMS if items == "all" else strategies.FIRST_ITEM
    try:
        check_type(value, declared, collection_check_strategy=strategy)
    except TypeCheckError as error:
        got = f"got {type_name(type(value))}: {short_repr(value)}"
        reason = str(error).splitlines()[0].rstrip(":")
        # of the value itself it says only what `got` says; of a part, where that is
        subject = reason.partition(" is not an instance of ")[0]
        return got if " " not in subject else f"{reason}, {got}"
    return None


DECORATIONS = (Annotated, Final, Required, NotRequired)


def undecorated(declared: Any) -> Any:
    """A declared type without `Annotated`, `NewType` and the like around it."""
    while True:
        if get_origin(declared) in DECORATIONS:
            declared = get_args(declared)[0]
        elif hasattr(declared, "__supertype__"):
            declared = declared.__supertype__
        elif type(declared).__name__ == "TypeAliasType":
            declared = declared.__value__
        else:
            return declared
