"""Quick constructors for the frozen values of which every turn makes some.

attrs fills a frozen instance field by field through ``object.__setattr__``, which takes most of the
time. Here an instance first becomes one of its twin, a class that is alike and can be changed; then
it is filled, and the last assignment makes it one of its own class again. For four fields that is
half the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from attrs import NOTHING, Attribute, fields

T = TypeVar("T")
Names = dict[str, Any]
BECOME: Callable[[object, type], None] = vars(object)["__class__"].__set__
_become: Callable[[object, object], None] = vars(object)["__class__"].__set__
"""Sets the class in six tenths of the time that ``object.__setattr__`` takes to find it."""


def quick(kind: type[T]) -> type[T]:
    """A frozen attrs class with slots, with a constructor that takes half the time.

    In all else it is as before. A subclass keeps the constructor that attrs has made.

    Raises:
        TypeError: a field has a validator: those are not called here.
    """
    every: tuple[Attribute[Any], ...] = fields(cast(Any, kind))
    names: Names = {"NOTHING": NOTHING, "_become": _become, "_kind": kind}
    names |= {"_slow": kind.__init__, "_twin": twin(kind)}
    given = [one for one in every if one.init]
    made = [line for one in every for line in _made(one, names)]
    late = "self.__attrs_post_init__()" if hasattr(kind, "__attrs_post_init__") else "return"
    lines = [
        f"def __init__(self, {', '.join(_parameters(given, names))}):",
        "if self.__class__ is not _kind:",
        f"    return _slow(self, {', '.join(f'{_alias(one)}={_alias(one)}' for one in given)})",
        *made,
        "_become(self, _twin)",
        *(f"self.{one.name} = {_held(one, names)}" for one in every),
        "self.__class__ = _kind",
        late,
    ]
    source = "\n    ".join(lines)
    exec(compile(source, f"<{kind.__qualname__}>", "exec"), names)  # noqa: S102  # it holds only names of our own
    init = names["__init__"]
    init.__annotations__ = kind.__init__.__annotations__
    init.__wrapped__ = kind.__init__  # where `typing.get_type_hints` finds what these name
    init.__module__, init.__qualname__ = kind.__module__, f"{kind.__qualname__}.__init__"
    type.__setattr__(kind, "__init__", init)
    return kind


def _parameters(given: list[Attribute[Any]], names: Names) -> Iterator[str]:
    """The parameters with their defaults: a factory's is made later."""
    named = [one for one in given if one.kw_only]
    for one in sorted(given, key=lambda one: bool(one.kw_only)):
        if named and one is named[0]:
            yield "*"
        if one.default is NOTHING:
            yield _alias(one)
        else:
            names[f"_default_{one.name}"] = NOTHING if _factory(one) else one.default
            yield f"{_alias(one)}=_default_{one.name}"


def _made(one: Attribute[Any], names: Names) -> Iterator[str]:
    """The lines that make what the field holds, before the instance can be changed."""
    factory, alias, convert = _factory(one), _alias(one), cast(Any, one.converter)
    if one.validator is not None:
        raise TypeError(f"{one.name} has a validator, which a quick constructor does not call")
    if one.init and factory is not None:
        names[f"_make_{one.name}"] = factory.factory
        yield f"if {alias} is NOTHING: {alias} = _make_{one.name}()"
    if one.init and convert is not None:
        names[f"_convert_{one.name}"] = convert
        as_it_is = factory is None and one.default is not NOTHING and convert(one.default)
        unless = f"if {alias} is not _default_{one.name}: " if as_it_is is one.default else ""
        yield f"{unless}{alias} = _convert_{one.name}({alias})"


def _held(one: Attribute[Any], names: Names) -> str:
    """What the field is filled with."""
    factory = _factory(one)
    if one.init:
        return _alias(one)
    if factory is None:
        names[f"_default_{one.name}"] = one.default
        return f"_default_{one.name}"
    names[f"_make_{one.name}"] = factory.factory
    return f"_make_{one.name}({'self' if factory.takes_self else ''})"


def _alias(one: Attribute[Any]) -> str:
    return one.alias or one.name


def _factory(one: Attribute[Any]) -> Any:
    return one.default if hasattr(one.default, "takes_self") else None


def twin(kind: type[object]) -> Callable[[], Any]:
    """What makes empty instances, to be filled, of a frozen attrs class with slots.

    Once they are, assign the class: ``new.__class__ = kind``. Nothing is converted, and nobody else
    may have seen the instance before.
    """
    free = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    empty = {"__slots__": (), "__init__": object.__init__, **free}
    return cast("Callable[[], Any]", type(f"{kind.__name__}Twin", (kind,), empty))
