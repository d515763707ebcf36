"""Named functions: what the code of a function, and what is within reach of it, names by a name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property, partial, partialmethod, singledispatchmethod
from gc import get_referents
from inspect import getattr_static
from itertools import chain, islice
from types import (
    AsyncGeneratorType,
    CellType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, TypeAlias

from attrs import field, frozen

from detent.adapters.agent.agent import Agent
from detent.adapters.testing.proofs.names_in_code import names_in
from detent.adapters.testing.proofs.tables import table_parts
from detent.core.run.spec import AgentSpec
from detent.core.tools.tool import Tool

MOST = 10_000
"""So many values of a table are looked at: it is one of functions, or it is data."""

DEEPEST = 12
"""So many names, and tables, stand behind one another at most, as in ``bank.desk.till.pay``."""

ALL = frozenset({"__dict__", "__globals__", "__builtins__", "f_globals", "f_locals", "modules"})
"""By these a function finds all that there is. It is refused for that, and they lead nowhere."""

BY_PYTHON = frozenset(
    {
        *("read", "readline", "readlines", "readinto", "write", "writelines", "flush", "close"),
        *("fileno", "isatty", "seek", "tell", "aclose", "send", "throw", "asend", "athrow"),
        *("keys", "values", "items", "get", "emit", "handle", "filter", "run", "default"),
        *("acquire", "release", "_missing_"),
        *("start", "end", "data", "comment", "pi", "doctype", "start_ns", "end_ns"),  # of XML
    }
)
"""What functions of Python's library call on what they are handed: `print` writes to its `file`."""

MATCHED = "__match_args__"
"""Where a class says what a pattern looks up that has no names."""

CALL_NO_OTHERS = frozenset({"builtins", "abc", "enum", "typing", "typing_extensions"})
"""Classes of these call special methods alone of what comes of them, and those in `BY_PYTHON`."""

SITE = "site-packages"
"""Where what is installed lies. It knows nothing of users but what these hand it."""

Key: TypeAlias = tuple[int, int]

Step: TypeAlias = tuple[Any, type | None]
"""A value, and the class that it was found by."""

Walked: TypeAlias = dict[Key, tuple[Any, Sequence[Step]]]
"""Values on which all that code elsewhere names is found, with the steps from each that may lead to
what depends on who walks: to what is installed, on which a function looks up its own names alone.

RULE: it is kept for one set of names. It keeps the values alive, whose places are their keys.
"""


@frozen(eq=False)
class Found:
    """A function, and the class that it was found by, where code makes the object at run time."""

    function: Any
    owner: type | None = None

    @property
    def key(self) -> Key:
        """What tells it from others: a method is made anew each time that it is looked for."""
        function = self.function
        bound = getattr(function, "__self__", self.owner)
        return id(getattr(function, "__func__", function)), id(bound)


def layers(function: Any) -> Iterator[Any]:
    """A function, and what it hands its arguments on to, from without: decorators, partials."""
    seen = dict[Key, Any]()
    while (key := Found(function).key) not in seen:  # one may say that it wraps itself
        seen[key] = function
        yield function
        if isinstance(function, partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            wrapped, bound = function.__wrapped__, getattr(function, "__self__", None)
            is_method = isinstance(function, MethodType) and isinstance(wrapped, FunctionType)
            function = MethodType(wrapped, bound) if is_method else wrapped


def named_in(found: Found, elsewhere: AbstractSet[str], walked: Walked) -> Iterator[Found]:
    """What its code names, and the functions and classes within it; not what it is given.

    Of a function of Python's own only what somebody has handed it is of interest. What is named on
    values that are `walked` has been found.

    Args:
        found: the function.
        elsewhere: the names in other code that runs with it. What one function names may be handed
            to another one, or back, which names an attribute of it: ``use(bank)``.
        walked: where others have been with the same names, which this adds to.
    """
    own = own_function(found.function)
    names, values = set[str](), [*_handed_to(found.function, own)]
    if own is not None and not is_of_python(own):
        names = {*names_in(own.__code__)} - ALL
        values += [own.__globals__.get(name, sys.modules.get(name)) for name in names]
        bound = found.owner if own is found.function else found.function
        values.append(getattr(found.function, "__self__", bound))
    has_only_those = names <= elsewhere and MATCHED not in names
    walk = _Walk(names, elsewhere, walked if has_only_those else {})
    if is_installed(own):
        walk = _Walk(names)
    for value in values:
        yield from walk.functions_of(value)


def _handed_to(function: Any, own: FunctionType | None) -> Iterator[Any]:
    """What a function has been handed already: it may call that, or hand it on.

    Of what methods are bound to, where they are not the user's, agents alone are of interest.
    """
    if isinstance(owner := getattr(function, "__self__", None), Agent | AgentSpec):
        yield owner
    if isinstance(function, partial):
        yield from (*function.args, *function.keywords.values())
    elif own is not None:
        yield from (cell.cell_contents for cell in own.__closure__ or () if cell != CellType())
        yield from (*(own.__defaults__ or ()), *(own.__kwdefaults__ or {}).values())


def own_function(function: Any) -> FunctionType | None:
    """The function that is called by a function, a method or an object, if it is none in C.

    A generator or a coroutine that waits is a function of the rest of its code, by what it holds.
    """
    if (frame := _frame_of(function)) is not None:
        cells = tuple(CellType() for _ in frame.f_code.co_freevars)
        held = (*frame.f_locals.values(), *get_referents(function))  # these also of its stack
        return FunctionType(frame.f_code, frame.f_globals, argdefs=held, closure=cells)
    own = getattr(function, "__func__", function)
    if not hasattr(own, "__code__"):  # an object that can be called
        own = getattr_static(type(own), "__call__", None)
    return own if isinstance(own, FunctionType) else None


def is_of_python(own: FunctionType) -> bool:
    """Whether Python has brought a function along."""
    return is_of_others(_home(own))


def is_ours(own: FunctionType) -> bool:
    """Whether it is one of Detent's."""
    return top_of(_home(own)) == "detent"


def is_installed(own: FunctionType | None) -> bool:
    """Whether it is that of a library, or was made by attrs."""
    file = "" if own is None else own.__code__.co_filename
    return SITE in file or file.startswith("<attrs generated")


def _home(own: FunctionType) -> str:
    """The module that a function was written in: it may say another one, as `wraps` has it do."""
    return str(own.__globals__.get("__name__", ""))


@frozen
class _Walk:
    """A walk over values from one to those of its parts that are among some names, each once.

    Those that other code has, `elsewhere`, are looked up on what users have written.
    """

    names: AbstractSet[str]
    elsewhere: AbstractSet[str] = frozenset()
    walked: Walked = field(factory=dict)
    _seen: dict[Key, Any] = field(factory=dict, init=False)  # which keeps them alive

    def functions_of(
        self, value: Any, owner: type | None = None, depth: int = 0
    ) -> Iterator[Found]:
        """The functions that a value stands for, and those of its attributes that are named."""
        key = id(value), id(owner)
        if depth > DEEPEST or key in self._seen:
            return
        self._seen[key] = value
        if isinstance(value, Agent | AgentSpec):
            yield Found(value)
            return
        if key in self.walked:
            _, steps = self.walked[key]
        else:
            yield from _own_functions(value, owner)
            steps = [step for step in self._steps(value) if step[0] is not None]
        for part, by in steps:
            yield from self.functions_of(part, by, depth + 1)
        if not self._is_of_names(value):
            self.walked[key] = value, [step for step in steps if not self._leads_nowhere(step)]

    def _leads_nowhere(self, step: Step) -> bool:
        value, owner = step
        _, further = self.walked.get((id(value), id(owner)), (None, [step]))
        return not further

    def _is_of_names(self, value: Any) -> bool:
        """Whether what is found on a value depends on the names of this walk alone."""
        return _has_attributes(value) and _is_installed_value(value)

    def _steps(self, value: Any) -> Iterator[Step]:
        if isinstance(value, Tool):
            value = value.function
        for part in islice(chain(table_parts(value), _held_by_python(value)), MOST):
            yield part, None
        if _has_attributes(value):
            yield from self._attributes(value)
        elif isinstance(value, FunctionType) or _is_plain(value):
            yield from self._set_attributes(value)

    def _set_attributes(self, value: Any) -> Iterator[Step]:
        """Those that somebody has set on a function, or on an object of Python's own."""
        if isinstance(value, type | ModuleType) or _is_ours(value):
            return
        attributes = {**getattr(value, "__dict__", {})}
        if isinstance(value, FunctionType):
            attributes |= {"__annotations__": value.__annotations__, "__doc__": value.__doc__}
        for name in (self.names | self.elsewhere) & {*attributes} - {"__wrapped__"}:
            yield attributes[name], None

    def _attributes(self, value: Any) -> Iterator[Step]:
        if isinstance(value, type):  # whose own class makes its instances, and is asked for a name
            yield type(value), None
        names = {*self.names, *_special_names(value)}
        if not _is_installed_value(value):
            names |= self.elsewhere
        if MATCHED in self.names:  # by which a pattern without names looks attributes up
            names |= {*getattr(value, MATCHED, ())}
        for name in names:
            for part in (part for held in _held(value, name) for part in called(held, value)):
                if not isinstance(part, FunctionType) or isinstance(value, ModuleType):
                    yield part, None
                elif isinstance(value, type):
                    yield part, value
                else:
                    yield MethodType(part, value), None


def _own_functions(value: Any, owner: type | None) -> Iterator[Found]:
    if isinstance(value, Tool):
        value = value.function
    if callable(value) and not isinstance(value, type):
        yield from (Found(layer, owner) for layer in layers(value))
    elif _frame_of(value) is not None:
        yield Found(value)


def _has_attributes(value: Any) -> bool:
    """Whether names are looked up on it as they are on what users have written."""
    return not isinstance(value, FunctionType | MethodType) and not _is_plain(value)


def _frame_of(value: Any) -> FrameType | None:
    """Where a generator or a coroutine goes on; None where it has ended, or is none of them."""
    names = ("gi_frame", "cr_frame", "ag_frame")
    frames = (getattr(value, name, None) for name in names)
    return next(filter(None, frames), None) if isinstance(value, RESUMED) else None


RESUMED = (GeneratorType, CoroutineType, AsyncGeneratorType)
LED_ON = (type, ModuleType, FrameType, TracebackType, CodeType)
WALKED = (FunctionType, MethodType, *RESUMED)
WIDE = frozenset({"logging", "typing", "unittest"})


def _held_by_python(value: Any) -> Iterable[Any]:
    """What an object of a class of Python holds: a slice, a scheduler, a method of a table.

    All of it, as Python's code names it and not that of the user. But for a logger, which leads to
    every other one, and what leads to all that there is.
    """
    home = top_of(type(value).__module__)
    if home in OURS | WIDE or not is_of_others(home) or isinstance(value, (*LED_ON, *WALKED)):
        return ()
    return [part for part in get_referents(value) if not isinstance(part, LED_ON)]


def _held(value: Any, name: str) -> Iterator[Any]:
    """What a value has by a name: what is found first, and what `super` finds behind that."""
    yield getattr_static(value, name, None)
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    yield from (vars(kind)[name] for kind in kinds if name in vars(kind))


def called(held: Any, value: Any) -> Iterator[Any]:
    """What Python calls, or looks up, where an attribute is used that is held like this."""
    match held:
        case property():
            yield from (held.fget, held.fset, held.fdel)
        case cached_property():
            yield held.func
        case partialmethod():
            yield from (held.func, *held.args, *held.keywords.values())
        case singledispatchmethod():
            yield from (held.func, *held.dispatcher.registry.values())
        case MemberDescriptorType() if not isinstance(value, type):  # a slot, which may be empty
            with suppress(AttributeError):
                yield held.__get__(value)
        case _:
            yield getattr(held, "__func__", held)  # of a class or static method


def _special_names(value: Any) -> Iterator[str]:
    """The methods of a class that no code names: Python calls them, for an operator say.

    Or its library does, which takes whatever has them for a file, a stream or a table. Or it is a
    class of others above it, which may call any: ``HTMLParser`` its ``handle_starttag``.
    """
    if isinstance(value, ModuleType):  # which is asked for a name that it has not got
        yield "__getattr__"
    kind = value if isinstance(value, type) else type(value)
    is_called_by_others = any(map(_calls_methods_below, kind.__mro__))
    for owner in kind.__mro__:
        if not is_of_others(owner.__module__):
            is_any = is_called_by_others and not _is_installed_value(owner)
            names = {*vars(owner)} - {"_abc_impl"}  # which leads to every class there is
            yield from (
                name for name in names if is_any or name.startswith("__") or name in BY_PYTHON
            )


def _calls_methods_below(kind: type) -> bool:
    """Whether a class that is none of the user's may call methods of those that come of it."""
    if top_of(kind.__module__) in CALL_NO_OTHERS:
        return False
    return is_of_others(kind.__module__) or _is_installed_value(kind)


def _is_plain(value: Any) -> bool:
    """Whether it is data, or belongs to whom no function of a user's is known."""
    if isinstance(value, type | ModuleType):
        return is_of_others(getattr(value, "__module__", value.__name__))
    return value is None or is_of_others(type(value).__module__)


def _is_installed_value(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    module = value if isinstance(value, ModuleType) else sys.modules.get(kind.__module__)
    return SITE in str(getattr(module, "__file__", None))


def _is_ours(value: Any) -> bool:
    return top_of(type(value).__module__) == "detent"


OURS = frozenset({"detent", "attr", "attrs"})
"""What values are made of beside Python: it calls what it is handed, and nothing else of users."""


def is_of_others(module: str | None) -> bool:
    """Whether a module is one of Python's, or of what values are made of."""
    top = top_of(module)
    return top in OURS or (top in sys.stdlib_module_names and top != "__main__")


def top_of(module: str | None) -> str:
    """The package that a module is in, however deep."""
    return (module or "").partition(".")[0]
