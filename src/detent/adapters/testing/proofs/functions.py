"""Functions behind tools: whether two tools do the same, or one does what another one does."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from detent.adapters.agent.agent import Agent
from detent.adapters.testing.proofs.agents_by_hand import begun_by, run_by_hand
from detent.adapters.testing.proofs.named_functions import (
    ALL,
    Found,
    Key,
    Walked,
    is_installed,
    is_of_others,
    is_of_python,
    layers,
    named_in,
    own_function,
)
from detent.adapters.testing.proofs.names_in_code import FORMAT, imports_in, names_in
from detent.adapters.testing.proofs.roots import of_types
from detent.core.run.spec import AgentSpec
from detent.core.tools.tool import Tool
from detent.core.tools.wiring import AS_IT_IS

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

OF_RESULTS = frozenset({"to_dict", "from_dict", "model_dump", "value"})
"""What Detent itself names of what it is given, to make a text of it, or to store it.

The types of results alone do not tell of what: a tool may say that it gives ``Any``.
"""

SCALARS = (str, bytes, bool, int, float, None, NoneType, ...)
"""Of these, and of tables of them, Detent makes a text without a call; `...` is of tuples."""

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
    """The functions that run for a tool: its own, and those that it names or carries.

    And those that they name in turn. Each decorator is one of them as well: it may call others
    before it hands the arguments on. A tool that is named stands for its function. What is found at
    run time alone is not seen: see `finds_unseen`.
    """
    return reached_from(chain(begun_by(tool), of_types(tool)), OF_RESULTS)


def reached_from(roots: Iterable[Found], names: frozenset[str] = frozenset()) -> Iterator[Any]:
    """Functions, and all that they name, and what that names in turn, each once.

    An attribute that one of them names may be that of what another one names and hands over. So may
    `names`, which whoever calls them has in his code.
    """
    roots, known = [*roots], dict[Key, Found]()
    while True:
        for found in _reached_by(roots, names):
            if found.key not in known:
                known[found.key] = found
                yield found.function
        more = names.union(*(_names_of_users(found.function) for found in known.values()))
        if more == names:
            return
        names = more  # with which more may be reached, and never less


def _reached_by(roots: Iterable[Found], names: frozenset[str]) -> Iterator[Found]:
    seen, walked = dict[Key, Found](), Walked()
    left = [*roots]
    while left:
        found = left.pop()
        if found.key not in seen:
            seen[found.key] = found
            yield found
            if isinstance(found.function, Agent | AgentSpec):
                left += run_by_hand(found.function)
            left += named_in(found, names, walked)


def _names_of_users(function: Any) -> Iterable[str]:
    own = own_function(function)
    if own is None or is_of_python(own) or is_installed(own):
        return ()
    return {*names_in(own.__code__)} - ALL


def finds_unseen(tool: Tool) -> bool:
    """Whether the function of a tool, or one that it calls, may call what no code names.

    Of a class of an argument only what its author has written counts: what attrs and pydantic
    make of it look fields up by their names, and would have every such tool refused.
    And on a text, a number or a table of these, Detent calls nothing.
    """
    of_results = frozenset[str]() if _gives_scalars(tool) else OF_RESULTS
    owns = map(own_function, reached_from(begun_by(tool), of_results))
    made = (own for own in map(own_function, reached_from(of_types(tool))) if not is_installed(own))
    return any(
        own is not None and not is_of_python(own) and _finds_unseen(own)
        for own in chain(owns, made)
    )


def _gives_scalars(tool: Tool) -> bool:
    """Whether nothing of a tool's reaches a text or the state but these, as it says."""
    goes_as_it_is = tool.text_rules is AS_IT_IS and not tool.outputs
    return goes_as_it_is and tool.signature.state is None and _is_of_scalars(tool.signature.returns)


def _is_of_scalars(hint: Any) -> bool:
    parts, origin = get_args(hint), get_origin(hint)
    if origin is Annotated:
        parts = parts[:1]
    is_scalar = origin is Literal or any(hint is scalar for scalar in SCALARS)
    return is_scalar or bool(parts and all(map(_is_of_scalars, parts)))


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
