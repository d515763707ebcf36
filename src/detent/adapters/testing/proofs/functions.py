"""Functions behind tools: whether two tools do the same, or one does what another one does."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dis import get_instructions
from functools import cached_property, partial
from inspect import getattr_static
from itertools import islice
from types import (
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

from detent.core.tools.tool import Tool

MOST = 10_000
"""So many values of a table are looked at: it is one of functions, or it is data."""


UNSEEN_BY_REASON: Mapping[str, frozenset[str]] = {
    "code that is made at run time": frozenset(
        {
            *("eval", "exec", "compile", "FunctionType", "LambdaType", "CodeType", "__code__"),
            *("get_type_hints", "ForwardRef", "dictConfig", "fileConfig", "breakpoint", "help"),
        }
    ),
    "something by its name": frozenset(
        {
            *(
                "__import__",
                "import_module",
                "load_module",
                "exec_module",
                "__loader__",
                "__spec__",
            ),
            *("getattr", "attrgetter", "methodcaller", "getattr_static", "getmembers"),
            *("globals", "locals", "vars", "modules", "__getattribute__", "__dict__"),
            *("__globals__", "__builtins__", "f_globals", "f_locals", "f_builtins"),
        }
    ),
    "something among all that there is": frozenset(
        {"__closure__", "__subclasses__", "get_objects", "get_referrers", "get_referents"}
    ),
    "a process of its own": frozenset({"popen", "posix_spawn", "fork", "execv", "execve"}),
}
"""By these a function finds others, whose names need not stand in its code."""

UNSEEN = frozenset[str]().union(*UNSEEN_BY_REASON.values())

UNSEEN_MODULES = frozenset(
    {
        *(
            "bdb",
            "code",
            "codeop",
            "cProfile",
            "doctest",
            "pdb",
            "profile",
            "runpy",
            "timeit",
            "trace",
        ),
        *("_pickle", "copyreg", "ctypes", "marshal", "pickle", "pickletools", "shelve"),
        *("gc", "imp", "importlib", "pkgutil", "pydoc", "zipimport", "zipapp"),
        *("multiprocessing", "pty", "subprocess"),
    }
)
"""Modules of Python whose functions do one of these, under names that mean too much elsewhere."""


def behind(function: Any) -> Any:
    """The function that does the work: not what only hands arguments on to it."""
    while True:
        if isinstance(function, partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            return function


def called_by(tool: Tool) -> Iterator[Any]:
    """The functions that the function of a tool names, and those that they name in turn.

    A tool that is named stands for its function. What is found at run time alone is not seen: see
    `finds_unseen`.
    """
    seen: dict[tuple[int, int], Any] = {}
    left = [*_named_in(behind(tool.function)), *_argument_functions(tool.function)]
    while left:
        function = left.pop()
        # a method is made anew each time that it is looked for
        key = id(getattr(function, "__func__", function)), id(getattr(function, "__self__", None))
        if key not in seen:
            seen[key] = function
            yield function
            left += _named_in(function)


def finds_unseen(tool: Tool) -> bool:
    """Whether the function of a tool, or one that it calls, may call what no code names."""
    owns = map(_own_function, (behind(tool.function), *called_by(tool)))
    return any(own is not None and _finds_unseen(own) for own in owns)


def _finds_unseen(own: FunctionType) -> bool:
    names = {*_names_in(own.__code__)}
    named = (own.__globals__.get(name) for name in names)
    modules = {*_imports_in(own.__code__), *map(_module_of, named)}
    # one that is named is one, unless it is a word that anything may have as an attribute
    modules |= names - {"code", "profile", "trace", "imp"}
    return bool(UNSEEN & names or any(name.partition(".")[0] in UNSEEN_MODULES for name in modules))


def _module_of(value: Any) -> str:
    """Where a value comes from that a function has from without."""
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", "")) if callable(value) else ""


def _argument_functions(function: Any) -> Iterator[Any]:
    """The functions among the arguments of what `behind` looks through."""
    while behind(function) is not function:
        if isinstance(function, partial):
            for value in (*function.args, *function.keywords.values()):
                yield from _functions_of(value, ())
            function = function.func
        else:
            function = function.__wrapped__


def _named_in(function: Any) -> Iterator[Any]:
    """What its code names, and the functions and classes within it; not what it is given."""
    own = _own_function(function)
    if own is None:
        return
    owner = getattr(function, "__self__", None if own is function else function)
    names = {*_names_in(own.__code__)}
    values = [own.__globals__.get(name, sys.modules.get(name)) for name in names]
    values += [cell.cell_contents for cell in own.__closure__ or () if cell != CellType()]
    values += [*(own.__defaults__ or ()), *(own.__kwdefaults__ or {}).values(), owner]
    for value in values:
        yield from _functions_of(value, names)


def _own_function(function: Any) -> FunctionType | None:
    """The function of a user's own that is called by a function, a method or an object."""
    own = getattr(function, "__func__", function)
    if not hasattr(own, "__code__"):  # an object that can be called
        own = getattr_static(type(own), "__call__", None)
    return own if isinstance(own, FunctionType) and not _is_of_others(own.__module__) else None


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):  # of a function, a class or, before 3.12, a comprehension
            yield from _names_in(inner)


def _imports_in(code: CodeType) -> Iterator[str]:
    yield from (
        instruction.argval
        for instruction in get_instructions(code)
        if instruction.opname == "IMPORT_NAME"
    )
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _imports_in(inner)


def _functions_of(value: Any, names: Collection[str], depth: int = 3) -> Iterator[Any]:
    """The functions that a value stands for, and those of its attributes that are named as well."""
    if isinstance(value, Tool):
        yield behind(value.function)
        return
    if callable(value) and not isinstance(value, type):
        yield behind(value)
        yield from _argument_functions(value)
    if isinstance(value, GeneratorType) and value.gi_frame is not None:  # what it goes on with
        for name in {*_names_in(value.gi_code)} if depth else ():
            yield from _functions_of(value.gi_frame.f_globals.get(name), names, depth - 1)
    if depth and isinstance(value, dict | list | tuple | set | frozenset | deque):
        parts = value.values() if isinstance(value, dict) else value
        for part in islice(parts, MOST):
            yield from _functions_of(part, names, depth - 1)
    if depth and not isinstance(value, FunctionType | MethodType) and not _is_plain(value):
        yield from _attribute_functions(value, names, depth)


def _attribute_functions(value: Any, names: Collection[str], depth: int) -> Iterator[Any]:
    if isinstance(value, type):  # whose own class makes its instances, and is asked for a name
        yield from _functions_of(type(value), names, depth - 1)
    for name in (*names, *_special_names(value)):
        part = getattr_static(value, name, None)
        part = getattr(part, "__func__", part)  # of a class or static method
        if isinstance(part, property | cached_property):
            part = getattr(part, "fget" if isinstance(part, property) else "func")
        is_method = isinstance(part, FunctionType) and not isinstance(value, type | ModuleType)
        yield from _functions_of(MethodType(part, value) if is_method else part, names, depth - 1)


def _special_names(value: Any) -> Iterator[str]:
    """The methods of a class that no code names: Python calls them for an operator or a `with`."""
    kind = value if isinstance(value, type) else type(value)
    for owner in kind.__mro__:
        if not _is_of_others(owner.__module__):
            yield from (name for name in vars(owner) if name.startswith("__"))


def _is_plain(value: Any) -> bool:
    """Whether it is data, or belongs to whom no function of a user's is known."""
    if isinstance(value, type | ModuleType):
        return _is_of_others(getattr(value, "__module__", value.__name__))
    return value is None or _is_of_others(type(value).__module__)


def _is_of_others(module: str | None) -> bool:
    top = (module or "").partition(".")[0]
    return top == "detent" or (top in sys.stdlib_module_names and top != "__main__")
