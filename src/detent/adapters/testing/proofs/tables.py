"""Tables: what holds other values, and how to look at these without using it up."""

from __future__ import annotations

from collections import ChainMap, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from enum import Enum, EnumType
from gc import get_referents
from itertools import chain
from queue import Queue, SimpleQueue
from types import MappingProxyType
from typing import Any, get_args, get_origin
from weakref import ReferenceType, WeakKeyDictionary, WeakSet, WeakValueDictionary, finalize


def _current_of(variable: ContextVar[Any]) -> Iterable[Any]:
    with suppress(LookupError):  # nothing is in it, and nothing stands for that
        return (variable.get(),)
    return ()


BUILT_INS = frozenset({"builtins", "itertools"})
TABLES: tuple[tuple[Any, Callable[[Any], Iterable[Any]]], ...] = (
    (defaultdict, lambda table: chain([table.default_factory], table.values(), table)),
    ((dict, MappingProxyType), lambda table: chain(table.values(), table)),
    ((list, tuple, set, frozenset, deque, UserList), iter),
    ((UserDict, WeakValueDictionary, WeakKeyDictionary, WeakSet), lambda table: (table.data,)),
    (ChainMap, lambda table: table.maps),
    (Queue, lambda queue: tuple(queue.queue)),
    (SimpleQueue, get_referents),
    (ReferenceType, lambda reference: (reference(),)),
    (finalize, lambda last: last.peek() or ()),
    (ContextVar, _current_of),
    (EnumType, lambda kind: kind.__members__.values()),
    (Enum, lambda member: (vars(member).get("_value_"),)),
)
"""What holds others, each with how to look at these without using it up."""


def table_parts(value: Any) -> Iterable[Any]:
    """What a table holds, or what an iterator goes over or goes on with."""
    for kind, parts in TABLES:
        if isinstance(value, kind):
            return parts(value)
    if isinstance(value, Iterator) and type(value).__module__ in BUILT_INS:
        return get_referents(value)  # what it iterates over: to go on with it would use it up
    # of a type, which may have a note, as Annotated[int, pay] has, and stands for another one
    return (*get_args(value), get_origin(value))
