"""Functions behind tools: whether two tools do the same, or one does what another one does."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from detent.adapters.testing.proofs.named_functions import (
    FORMAT,
    Found,
    Key,
    arguments_of,
    imports_in,
    is_of_others,
    is_of_python,
    layers,
    named_in,
    names_in,
    own_function,
)
from detent.adapters.testing.proofs.roots import carried_by, of_types
from detent.core.tools.tool import Tool

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
            *("hasattr", "setattr", "delattr", "vformat", "Formatter", "Template", FORMAT),
            *("globals", "locals", "vars", "modules", "__getattribute__", "__dict__"),
            *("__globals__", "__builtins__", "f_globals", "f_locals", "f_builtins"),
        }
    ),
    "something among all that there is": frozenset(
        {"__closure__", "__subclasses__", "get_objects", "get_referrers", "get_referents"}
    ),
    "a process of its own": frozenset(
        {
            *("popen", "system", "startfile", "posix_spawn", "posix_spawnp", "fork", "forkpty"),
            *("spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp"),
            *("spawnvpe", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp"),
            *("execvpe", "create_subprocess_exec", "create_subprocess_shell"),
            *("subprocess_exec", "subprocess_shell"),
        }
    ),
}
"""By these a function finds others, whose names need not stand in its code."""

NAMED = FunctionType | BuiltinFunctionType | type
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
        *("gc", "imp", "importlib", "inspect", "pkgutil", "pydoc", "zipimport", "zipapp"),
        *("multiprocessing", "pty", "subprocess"),
    }
)
"""Modules of Python whose functions do one of these, under names that mean too much elsewhere."""


def behind(function: Any) -> Any:
    """The function that does the work: not what only hands arguments on to it."""
    (*_, last) = layers(function)
    return last


def called_by(tool: Tool) -> Iterator[Any]:
    """The functions that run for a tool, but for its own: those that it names or carries.

    And those that they name in turn. Each decorator is one of them as well: it may call others
    before it hands the arguments on. A tool that is named stands for its function. What is found at
    run time alone is not seen: see `finds_unseen`.
    """
    return reached_from(chain(_begun_by(tool), of_types(tool)))


def reached_from(roots: Iterable[Found]) -> Iterator[Any]:
    """Functions, and all that they name, and what that names in turn, each once."""
    seen = dict[Key, Found]()
    left = [*roots]
    while left:
        found = left.pop()
        if found.key not in seen:
            seen[found.key] = found
            yield found.function
            left += named_in(found)


def _begun_by(tool: Tool) -> Iterator[Found]:
    for layer in layers(tool.function):
        yield from named_in(Found(layer))
    yield from arguments_of(tool.function)
    yield from carried_by(tool)


def finds_unseen(tool: Tool) -> bool:
    """Whether the function of a tool, or one that it calls, may call what no code names.

    Of a class of an argument only what its author has written counts: what attrs and pydantic
    make of it look fields up by their names, and would have every such tool refused.
    """
    owns = map(own_function, (*layers(tool.function), *reached_from(_begun_by(tool))))
    made = (
        own for own in map(own_function, reached_from(of_types(tool))) if not _is_installed(own)
    )
    return any(
        own is not None and not is_of_python(own) and _finds_unseen(own)
        for own in chain(owns, made)
    )


def _is_installed(own: FunctionType | None) -> bool:
    """Whether a function is that of a library, or was made by attrs."""
    file = "" if own is None else own.__code__.co_filename
    return "site-packages" in file or file.startswith("<attrs generated")


def _finds_unseen(own: FunctionType) -> bool:
    names = {*names_in(own.__code__)}
    named = [own.__globals__.get(name) for name in names]
    names |= {value.__name__ for value in named if isinstance(value, NAMED)}  # by another name
    modules = {*imports_in(own.__code__), *map(_module_of, named)}
    if any(name not in sys.modules and not is_of_others(name) for name in imports_in(own.__code__)):
        return True  # a module of which nothing is known yet
    # one that is named is one, unless it is a word that anything may have as an attribute
    modules |= names - {"code", "profile", "trace", "imp", "inspect"}
    return bool(UNSEEN & names or any(name.partition(".")[0] in UNSEEN_MODULES for name in modules))


def _module_of(value: Any) -> str:
    """Where a value comes from that a function has from without."""
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", "")) if callable(value) else ""
