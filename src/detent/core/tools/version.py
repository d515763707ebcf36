"""The version of a tool: a digest of all of it that decides what a call does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import isfunction, isroutine
from types import CodeType
from typing import Any

from detent.core.values.frozen import thaw


def hashed(*parts: object) -> str:
    """A digest of plain values. Equal JSON has equal digests."""
    from hashlib import sha256  # which brings OpenSSL: 4 % of what importing us takes

    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=_plain)
    return sha256(text.encode()).hexdigest()


def json_of(value: object) -> Any:
    """A value as plain JSON. One without a form there is the name of its type."""
    from detent.core.schema.conversion import plain  # loaded with the first default

    try:
        return json.loads(json.dumps(thaw(value), default=plain))
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__qualname__}>"


DEEP = 32
"""How deep rules may be made of rules: of what is deeper, the class counts alone."""


def rule_of(value: object, deep: int = 0) -> object:
    """What a rule says, as far as its class, its options and its code say it.

    What it has got to know since it was made is no part of it, nor is what a closure has captured.
    """
    from detent.core.schema.record_fields import field_names  # loaded with the first rule

    if isinstance(value, str | int | float | bytes | CodeType) or value is None:
        return value
    if deep == DEEP:
        return type(value).__qualname__
    if isinstance(value, Mapping):
        return {str(key): rule_of(value[key], deep + 1) for key in sorted(value, key=str)}
    if isinstance(value, set | frozenset):
        return sorted(hashed(rule_of(item, deep + 1)) for item in value)
    if isinstance(value, list | tuple):
        return [rule_of(item, deep + 1) for item in value]
    if isinstance(value, type) or isroutine(value) or isinstance(value, partial):
        return hashed(value)
    kind = type(value)
    options = {
        name: rule_of(getattr(value, name, None), deep + 1) for name in field_names(kind) or ()
    }
    return [kind.__qualname__, options, _codes(kind)]


def form_of(value: object, deep: int = 0) -> object:
    """What a function has been given beforehand: as JSON, and else as `rule_of` has it."""
    known = json_of(value)
    if known != f"<{type(value).__qualname__}>" or deep == DEEP:
        return known
    if isinstance(value, Mapping):
        return {str(key): form_of(value[key], deep + 1) for key in value}
    if isinstance(value, list | tuple):
        return [form_of(item, deep + 1) for item in value]
    return rule_of(value, deep)


def _codes(kind: type) -> dict[str, CodeType]:
    """The code of a class, by the names of its functions."""
    # what attrs makes beside them has another code in every process
    names = [name for name in dir(kind) if name == "__call__" or not name.startswith("__")]
    return {name: one.__code__ for name in names if isfunction(one := getattr(kind, name, None))}


def _plain(value: object) -> object:
    """What stands for a value that JSON has no form for: in every process the same.

    RULE: never its `repr`, which may hold an address: a decision would count in no other process.
    """
    if isinstance(value, CodeType):
        return [value.co_code.hex(), value.co_names, value.co_consts]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, set | frozenset):  # which has another order in every process
        return sorted(map(repr, value))
    return list(_function(value)) if callable(value) else type(value).__qualname__


def _function(function: Callable[..., Any]) -> Iterator[object]:
    """Its name, its code, and those of what it wraps. Not its module: a script has another one."""
    if isinstance(function, partial):
        yield from (function.func, form_of(function.args), form_of(function.keywords))
        return
    yield getattr(function, "__qualname__", type(function).__qualname__)
    own = getattr(function, "__func__", function)  # a method's object counts by its class
    if not hasattr(own, "__code__") and not isinstance(own, type):
        own = type(function).__call__
    yield getattr(own, "__code__", None)
    owner = getattr(function, "__self__", None if hasattr(function, "__code__") else function)
    yield type(getattr(function, "__self__", None)).__qualname__
    # one that stands alone says no more than its code does
    helpers = _codes(owner if isinstance(owner, type) else type(owner))
    if len(helpers) > 1:
        yield helpers
    if (wrapped := getattr(function, "__wrapped__", None)) is not None:
        yield wrapped
