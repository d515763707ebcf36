"""Frozen values that every turn makes: built and evolved in a part of the time that attrs takes.

attrs fills a frozen instance field by field through ``object.__setattr__``. Here an instance is for
a moment one of its twin, a subclass without that guard, is filled by plain assignments, and becomes
one of its own class; nobody else has seen it by then. This module alone makes code and touches
``__class__``: without it a turn takes 26 % more instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import WRAPPER_ASSIGNMENTS, update_wrapper
from typing import Any, TypeVar

from attrs import NOTHING, fields

T = TypeVar("T")

_become: Callable[[object, object], None] = vars(object)["__class__"].__set__
"""Sets the class in six tenths of the time that ``object.__setattr__`` takes to find it."""


def fast_init(kind: type[T]) -> type[T]:
    """A frozen attrs class with slots, with a constructor that takes half the time.

    Raises:
        TypeError: a field has more than a default and a converter, or more happens at the end.
    """
    every: Any = fields(kind)  # type: ignore[arg-type]  # it is an attrs class
    if hasattr(kind, "__attrs_post_init__"):
        raise TypeError(f"{kind.__name__}.__attrs_post_init__ would not be called")
    names = {"BECOME": _become, "KIND": kind, "SLOW": kind.__init__, "TWIN": _twin(kind)}
    params: dict[str, str] = {}
    for field in every:
        if field.validator or field.kw_only or field.init == hasattr(field.default, "factory"):
            raise TypeError(f"{kind.__name__}.{field.name} has more than a default and a converter")
        name = field.alias
        if field.init:  # else its default is made of the others
            params[name] = name if field.default is NOTHING else f"{name}=default_{name}"
        names |= {f"default_{name}": field.default, f"make_{name}": field.converter}
    init = _function(
        f"__init__(self, {', '.join(params.values())})",
        "if self.__class__ is not KIND:",  # a subclass keeps the constructor of attrs
        f"    return SLOW(self, {', '.join(params)})",
        *(f"if {x} is not default_{x}: {x} = make_{x}({x})" for x in params if names[f"make_{x}"]),
        "BECOME(self, TWIN)",
        *(f"self.{field.name} = {field.alias}" for field in every if field.init),
        *(f"self.{x.name} = default_{x.alias}.factory(self)" for x in every if not x.init),
        "self.__class__ = KIND",
        names=names,
    )
    update_wrapper(init, kind.__init__, (*WRAPPER_ASSIGNMENTS, "__annotations__"))  # for `typing`
    type.__setattr__(kind, "__init__", init)
    return kind


def fast_evolve(kind: type[Any]) -> Callable[..., Any]:
    """`attrs.evolve` for instances of one frozen class, and of no subclass of it.

    No converter and no validator of a field is called: the changes are what these would give.
    """
    every = [field.name for field in fields(kind)]
    evolve: Callable[..., Any] = _function(
        "evolve(value, **changes)",
        "new = TWIN()",
        *(f"new.{name} = value.{name}" for name in every),
        "for name, item in changes.items():",  # a name that it has not is an AttributeError
        "    setattr(new, name, item)",
        "new.__class__ = KIND",
        "return new",
        names={"KIND": kind, "TWIN": _twin(kind)},
    )
    return evolve


def _function(head: str, *lines: str, names: dict[str, Any]) -> Any:
    """The function with this head and these lines, which hold only names of our own."""
    exec("\n    ".join([f"def {head}:", *lines]), names)  # noqa: S102  # see above
    return names[head.partition("(")[0]]


def _twin(kind: type[Any]) -> type[Any]:
    own = {"__slots__": (), "__init__": object.__init__}
    free = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(f"{kind.__name__}Twin", (kind,), own | free)
