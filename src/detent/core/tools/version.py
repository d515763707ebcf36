"""The version of a tool: a digest of all of it that decides what a call does."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial, partialmethod, singledispatchmethod
from inspect import isroutine
from types import CodeType, FunctionType
from typing import Any

from detent.core.codec.json_text import NATIVE
from detent.core.values.frozen import thaw


def hash_of(*parts: object) -> str:
    """A digest of plain values. Equal JSON has equal digests."""
    from hashlib import sha256  # which brings OpenSSL: 4 % of what importing us takes

    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=_plain)
    return sha256(text.encode()).hexdigest()


def json_of(value: object) -> Any:
    """A value as plain JSON. One without a form there is the name of its type."""
    from detent.core.schema.conversion import plain_as_read  # with the first default

    try:
        return json.loads(json.dumps(thaw(value), default=plain_as_read))
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__qualname__}>"


VALUES = frozenset({str, bytes, int, float, bool, complex, range, tuple, frozenset})
"""Builtin classes of values, whose methods say what they do together with the value."""
DEEP = 32
"""How deep rules may be made of rules: of what is deeper, the class counts alone."""


def rule_of(value: object, deep: int = 0) -> object:
    """What a rule says, as far as its class, its options and its code say it.

    What it has got to know since it was made is no part of it, nor is what a closure has captured.
    """
    from detent.core.codec.whole_forms import scalar_form  # loaded with the first rule
    from detent.core.schema.record_fields import field_names

    if isinstance(value, bytes | CodeType) or type(value) in NATIVE:
        return value
    if deep == DEEP:
        return type(value).__qualname__
    if isinstance(value, Mapping):
        return {_name(key): rule_of(item, deep + 1) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(hash_of(rule_of(item, deep + 1)) for item in value)
    if isinstance(value, list | tuple | deque):
        return [rule_of(item, deep + 1) for item in value]
    if isinstance(value, type) or isroutine(value) or isinstance(value, partial):
        return hash_of(value)
    if (form := scalar_form(value)) is not None:
        return form
    kind = type(value)
    if isinstance(value, slice):
        return [kind.__qualname__, rule_of([value.start, value.stop, value.step], deep + 1)]
    options = {name: getattr(value, name, None) for name in field_names(kind) or ()}
    options |= getattr(value, "__pydantic_extra__", None) or {}
    told = {name: rule_of(option, deep + 1) for name, option in options.items()}
    return [kind.__qualname__, told, _codes(kind)]


def _name(key: object) -> str:
    return key if isinstance(key, str) else hash_of(rule_of(key))


def form_of(value: object, deep: int = 0) -> object:
    """What a function has been given beforehand: as JSON, and else as `rule_of` has it."""
    from detent.core.codec.whole_forms import with_whole_form  # loaded with the first version

    form = json_of(value)
    if form != f"<{type(value).__qualname__}>":
        return with_whole_form(form, value)
    if deep == DEEP:
        return form
    if isinstance(value, Mapping):
        return {str(key): form_of(value[key], deep + 1) for key in value}
    if isinstance(value, list | tuple):
        return [form_of(item, deep + 1) for item in value]
    return rule_of(value, deep)


def _codes(kind: type, around: tuple[type, ...] = ()) -> dict[str, list[object]]:
    """The code of a class, by the names of its members; of those that stand in it, too.

    Not what is in its tables: they may be filled while the program runs, and by what one process
    has imported and another one has not. Nor what it inherits from a class of those `around` it:
    that is told there, and a case of a sum type stands in the type that it is one of.
    """
    codes = dict[str, list[object]]()
    for owner in kind.__mro__[::-1]:
        if any(owner is one for one in around):
            continue
        for name, member in vars(owner).items():
            is_inside = isinstance(member, type) and _stands_in(member, owner)
            inner = (*around, owner)
            codes[name] = [_codes(member, inner)] if is_inside else list(_code_in(member))
    return {name: code for name, code in codes.items() if code}


def _stands_in(kind: type, owner: type) -> bool:
    """Whether a class was written inside another one, and is none that it only names."""
    return kind.__qualname__.startswith(f"{owner.__qualname__}.")


def _code_in(member: object) -> Iterator[object]:
    """What runs where a member of a class is used: also behind a property or a decorator."""
    match member:
        case FunctionType():
            yield from () if _is_generated(member) else (member.__code__,)
        case staticmethod() | classmethod():
            yield from _code_in(member.__func__)
        case property():
            for part in (member.fget, member.fset, member.fdel):
                yield from _code_in(part)
        case partialmethod():
            yield from _code_in(member.func)
            yield form_of([member.args, member.keywords])
        case cached_property() | singledispatchmethod():
            yield from _code_in(member.func)
        case _:
            pass
    if callable(member) and not isinstance(member, type):
        yield from _code_in(getattr(member, "__wrapped__", None))


def _is_generated(function: FunctionType) -> bool:
    """Whether attrs, dataclasses or a named tuple made a method, of fields that are told anyhow.

    The code of some is another one in every process: attrs hashes by a number that is. That a
    method has no file says nothing: so it is with each class of a notebook, or of `python -`.
    """
    code = function.__code__
    return (
        code.co_filename.startswith("<attrs generated")
        or code.co_qualname.startswith("__create_fn__.")
        or (code.co_name == "<lambda>" and function.__name__ == "__new__")
    )


def _plain(value: object) -> object:
    """What stands for a value that JSON has no form for: in every process the same.

    RULE: never its `repr`, which may hold an address: a decision would count in no other process.
    """
    if isinstance(value, CodeType):
        # The same instructions do something else with other arguments, cells or handlers of errors.
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        counts = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount)
        table = value.co_exceptiontable.hex()
        return [value.co_code.hex(), value.co_flags, table, *counts, *names, value.co_consts]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, complex):
        return {"complex": str(value)}
    if isinstance(value, set | frozenset):  # which has another order in every process
        return {"set": sorted(map(repr, value))}
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
    code = getattr(own, "__code__", None)
    yield code
    owner = getattr(function, "__self__", None if hasattr(function, "__code__") else function)
    if type(owner) in VALUES:  # none that may fill while the program runs
        yield form_of(owner)
    yield type(getattr(function, "__self__", None)).__qualname__
    helpers = _codes(owner if isinstance(owner, type) else type(owner))
    # one that stands alone says no more than its code does
    if len(helpers) > 1 or any(code not in codes for codes in helpers.values()):
        yield helpers
    if (inner := getattr(function, "__wrapped__", None)) is not None:
        yield inner
