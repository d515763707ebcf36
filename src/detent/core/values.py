"""Classes of values, as attrs makes them, in a tenth of the time.

To type checkers, to cattrs and to whoever asks attrs about it, what is decorated here is an attrs
class. It is made without attrs: that takes 0.35 ms for each class, most of it to compile methods
that a program may never call, and the first run of an agent needs 130 classes. Here it takes
0.03 ms: a method is written when it is first called, and attrs is imported when it is asked.

RULE: this knows what our own classes use, and no more. For any other class attrs is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from reprlib import recursive_repr
from types import CellType, FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

if TYPE_CHECKING:
    from inspect import Signature

Kind = type[Any]
Method = Callable[..., Any]


class Field:
    """How a field was declared; its parts have the names that they have in attrs."""

    PARTS = (
        *("name", "alias", "type", "default", "init", "kw_only", "eq", "repr", "converter"),
        "validator",
    )
    __slots__ = PARTS
    name: str
    alias: str
    type: object
    default: Any
    init: bool
    kw_only: bool
    eq: Any
    repr: Any
    converter: Any
    validator: Any

    def __init__(self, **parts: object) -> None:
        for name in Field.PARTS:
            setattr(self, name, parts[name])


class _Factory:
    """Makes the default of a field; with `takes_self`, out of the value that is being made."""

    def __init__(self, factory: Callable[..., object], *, takes_self: bool = False) -> None:
        self.factory = factory
        self.takes_self = takes_self


class _Nothing:
    """The default of a field that has none."""

    def __repr__(self) -> str:
        return "NOTHING"


_NOTHING: Final = _Nothing()
_USUAL: Final = dict.fromkeys(Field.PARTS) | {"default": _NOTHING, "init": True, "kw_only": False}
_NOT_KEPT: Final = ("__dict__", "__weakref__", "__slots__")


def _field(*, factory: Callable[[], object] | None = None, **parts: object) -> Field:
    default = {} if factory is None else {"default": _Factory(factory)}
    return Field(**{**_USUAL, "eq": True, "repr": True, **parts, **default})


def _fields(kind: Kind) -> tuple[Any, ...]:
    for base in kind.__mro__:
        if "__made_with__" in base.__dict__:
            return _made_with(base)
        if "__attrs_attrs__" in base.__dict__:
            break  # made by attrs itself, maybe out of one of ours
    import attrs

    return tuple(_from_attrs(one, attrs.NOTHING) for one in attrs.fields(kind))


def _from_attrs(one: Any, nothing: object) -> Field:
    parts = {part: getattr(one, part) for part in Field.PARTS}
    return Field(**{**parts, "default": _NOTHING if one.default is nothing else one.default})


def _has(kind: Any) -> bool:
    kind = getattr(kind, "__origin__", kind)
    return hasattr(kind, "__made_with__") or hasattr(kind, "__attrs_attrs__")


def _evolve(value: Any, /, **changes: object) -> Any:
    kind = type(value)
    for one in _fields(kind):
        if one.init and one.alias not in changes:
            changes[one.alias] = getattr(value, one.name)
    return kind(**changes)


def is_frozen(kind: type) -> bool:
    """Whether it is a class of ours whose values cannot be changed."""
    return kind.__setattr__ is _refuse


def _frozen(kind: Kind | None = None, /, **asked: bool) -> Any:
    return _made(kind, frozen=True) if kind else lambda kind: _made(kind, frozen=True, **asked)


def _define(kind: Kind | None = None, /, **asked: bool) -> Any:
    return _made(kind, frozen=False) if kind else lambda kind: _made(kind, frozen=False, **asked)


def _made(
    kind: Kind, *, frozen: bool, slots: bool = True, kw_only: bool = False, **methods: bool
) -> Kind:
    """The class with its fields, and the methods that follow from them, in the place of `kind`."""
    own = {one.name: one for one in _declared(kind, kw_only=kw_only)}
    before = {one.name: one for base in kind.__mro__[:0:-1] for one in _made_with(base)}
    fields = (*(one for name, one in before.items() if name not in own), *own.values())
    body = {k: item for k, item in kind.__dict__.items() if k not in own and k not in _NOT_KEPT}
    body |= {"__made_with__": fields, "__attrs_attrs__": _AS_ATTRS, "__signature__": _SIGNATURE}
    body["__qualname__"] = kind.__qualname__
    body["__match_args__"] = tuple(one.name for one in fields if one.init and not one.kw_only)
    if frozen:
        body["__setattr__"] = body["__delattr__"] = _refuse
    if slots:
        body = _with_slots(kind, body, tuple(own))
    made: Kind = cast(Any, type(kind))(kind.__name__, kind.__bases__, body)
    _rebind(kind, made)
    _add_methods(made, kind.__dict__.keys(), frozen=frozen, **methods)
    return made


def _declared(kind: Kind, *, kw_only: bool) -> Iterator[Field]:
    """The fields that the class itself declares."""
    for name, declared in kind.__annotations__.items():
        if str(declared).startswith("ClassVar"):
            continue
        given = kind.__dict__.get(name, _NOTHING)
        one = given if isinstance(given, Field) else _field(default=given)
        one.name, one.type = name, declared
        one.alias = one.alias or name.lstrip("_")
        one.kw_only = one.kw_only or kw_only
        yield one


def _made_with(kind: Kind) -> tuple[Field, ...]:
    """The fields of one of our classes; none if it is no such class, or only comes from one."""
    found: tuple[Field, ...] = kind.__dict__.get("__made_with__", ())
    return found


def _with_slots(kind: Kind, body: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """What the class consists of when it has slots, which also hold what is computed once."""
    bases = kind.__mro__[1:]
    inherited = {name for base in bases for name in base.__dict__.get("__slots__", ())}
    computed = {k: item.func for k, item in body.items() if isinstance(item, cached_property)}
    weak = () if any(base.__weakrefoffset__ for base in bases) else ("__weakref__",)
    slots = (*(name for name in names if name not in inherited), *computed, *weak)
    body = {name: item for name, item in body.items() if name not in computed}
    if computed:
        body["__getattr__"] = _computing(computed)
    return {**body, "__slots__": slots, "__getstate__": _state_of, "__setstate__": _set_state}


def _computing(computed: dict[str, Method]) -> Method:
    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807 - where a slot is empty
        if name not in computed:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = computed[name](self)
        object.__setattr__(self, name, value)
        return value

    return __getattr__


def _rebind(kind: Kind, made: Kind) -> None:
    """What `super()` without arguments means in the methods: their class has become another."""
    for item in kind.__dict__.values():
        inner = getattr(item, "__func__", getattr(item, "fget", getattr(item, "func", item)))
        if isinstance(inner, FunctionType) and "__class__" in inner.__code__.co_freevars:
            place = inner.__code__.co_freevars.index("__class__")
            cells = cast("tuple[CellType, ...]", inner.__closure__)
            if cells[place].cell_contents is kind:  # and not a class around this one
                cells[place].cell_contents = made


def _add_methods(
    kind: Kind,
    own: Any,
    *,
    frozen: bool,
    init: bool = True,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - as attrs
) -> None:
    """All that it does not define itself. `own` are the names that it defines."""
    _add_late(kind, "__init__" if init and "__init__" not in own else "__attrs_init__", _init)
    if eq and "__eq__" not in own:
        _add_late(kind, "__eq__", _eq)
        if not frozen:
            setattr(kind, "__hash__", None)  # noqa: B010 - which a checker has as a method
        elif "__hash__" not in own:
            _add_late(kind, "__hash__", _hash)
    if repr and "__repr__" not in own:
        setattr(kind, "__repr__", _repr)  # noqa: B010 - as above


def _add_late(kind: Kind, name: str, write: Callable[[Kind, str], Method]) -> None:
    """Adds a method that is written when it is first called."""

    def written() -> Method:
        method = write(kind, name)
        method.__module__, method.__qualname__ = kind.__module__, f"{kind.__qualname__}.{name}"
        setattr(kind, name, method)
        return method

    def late(self: Any, *given: Any, **named: Any) -> Any:
        return written()(self, *given, **named)

    late.written = written  # type: ignore[attr-defined]  # for `_Signature`
    setattr(kind, name, late)


def _init(kind: Kind, name: str) -> Method:
    scope: dict[str, Any] = {"NOTHING": _NOTHING, "_set": object.__setattr__}
    fields = _made_with(kind)
    lines = [line for at, one in enumerate(fields) for line in _setting(kind, at, one, scope)]
    for at, one in enumerate(fields):
        several = one.validator if isinstance(one.validator, tuple) else (one.validator,)
        for n, check in enumerate(several if one.validator else ()):
            scope |= {f"_check{at}_{n}": check, f"_field{at}": one}
            lines.append(f"_check{at}_{n}(self, _field{at}, self.{one.name})")
    if hasattr(kind, "__attrs_post_init__"):
        lines.append("self.__attrs_post_init__()")
    asked = [one for one in enumerate(fields) if one[1].init]
    places = [_parameter(at, one, scope) for at, one in asked if not one.kw_only]
    names = [_parameter(at, one, scope) for at, one in asked if one.kw_only]
    method = _compiled(
        kind, name, ", ".join(["self", *places, *(["*", *names] if names else [])]), lines, scope
    )
    method.__annotations__ = {one.alias: one.type for _, one in asked} | {"return": None}
    return method


def _parameter(at: int, one: Field, scope: dict[str, Any]) -> str:
    if one.default is _NOTHING:
        return one.alias
    if isinstance(one.default, _Factory):
        return f"{one.alias}=NOTHING"
    scope[f"_default{at}"] = one.default
    return f"{one.alias}=_default{at}"


def _setting(kind: Kind, at: int, one: Field, scope: dict[str, Any]) -> Iterator[str]:
    """The line that fills a field."""
    value = one.alias
    if isinstance(one.default, _Factory):
        scope[f"_make{at}"] = one.default.factory
        made = f"_make{at}({'self' if one.default.takes_self else ''})"
        value = f"{made} if {one.alias} is NOTHING else {one.alias}" if one.init else made
    elif not one.init:
        if one.default is _NOTHING:
            return
        scope[f"_default{at}"] = one.default
        value = f"_default{at}"
    if one.converter is not None:
        scope[f"_convert{at}"] = one.converter
        value = f"_convert{at}({value})"
    slot = getattr(kind, one.name, None)
    if kind.__setattr__ is not _refuse:
        yield f"self.{one.name} = {value}"
    elif isinstance(slot, MemberDescriptorType):  # a quarter quicker than by its name
        scope[f"_put{at}"] = slot.__set__
        yield f"_put{at}(self, {value})"
    else:
        yield f"_set(self, {one.name!r}, {value})"


def _eq(kind: Kind, name: str) -> Method:
    scope: dict[str, Any] = {}
    pairs = zip(_compared(kind, "self", scope), _compared(kind, "other", scope), strict=True)
    same = " and ".join(f"{mine} == {theirs}" for mine, theirs in pairs) or "True"
    other = "if other.__class__ is not self.__class__: return NotImplemented"
    return _compiled(kind, name, "self, other", [other, f"return {same}"], scope)


def _hash(kind: Kind, name: str) -> Method:
    scope: dict[str, Any] = {"_of_kind": hash(f"{kind.__module__}.{kind.__qualname__}")}
    parts = ", ".join(("_of_kind", *_compared(kind, "self", scope)))
    return _compiled(kind, name, "self", [f"return hash(({parts},))"], scope)


def _compared(kind: Kind, whose: str, scope: dict[str, Any]) -> Iterator[str]:
    for at, one in enumerate(_made_with(kind)):
        if callable(one.eq):
            scope[f"_key{at}"] = one.eq
            yield f"_key{at}({whose}.{one.name})"
        elif one.eq:
            yield f"{whose}.{one.name}"


def _compiled(kind: Kind, name: str, head: str, lines: list[str], scope: dict[str, Any]) -> Method:
    source = "\n ".join((f"def {name}({head}):", *(lines or ["pass"])))
    file = f"<{name} of {kind.__module__}.{kind.__qualname__}>"
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - our own names, as attrs does it
    method: Method = scope[name]
    return method


@recursive_repr("...")
def _repr(self: Any) -> str:
    kind = type(self)
    told = (
        f"{one.name}={(repr if one.repr is True else one.repr)(getattr(self, one.name, _NOTHING))}"
        for one in _fields(kind)
        if one.repr
    )
    return f"{kind.__qualname__.rpartition('>.')[2]}({', '.join(told)})"


def _refuse(self: Any, name: str, value: object = None) -> NoReturn:
    from attrs.exceptions import FrozenInstanceError

    raise FrozenInstanceError


def _state_of(self: Any) -> dict[str, Any]:
    return {one.name: getattr(self, one.name) for one in _fields(type(self))}


def _set_state(self: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        object.__setattr__(self, name, value)


class _AsAttrs:
    """The fields as attrs has them, for who asks attrs. They are made when they are first read."""

    def __get__(self, value: object, kind: Kind) -> Any:
        import attrs

        owner: Kind = next(base for base in kind.__mro__ if "__made_with__" in base.__dict__)
        declared = {one.name: self._field(one) for one in _made_with(owner)}
        twin = attrs.make_class(kind.__name__, declared, init=False, eq=False, repr=False)
        owner.__attrs_attrs__ = attrs.fields(twin)
        return attrs.fields(twin)

    def _field(self, one: Field) -> Any:
        import attrs

        factory: Any = attrs.Factory
        parts: dict[str, Any] = {part: getattr(one, part) for part in Field.PARTS[1:]}
        if one.default is _NOTHING:
            parts["default"] = attrs.NOTHING
        elif isinstance(one.default, _Factory):
            parts["default"] = factory(one.default.factory, one.default.takes_self)
        return attrs.field(**parts)


class _Signature:
    """How the class is called, for who asks for it: its `__init__` may not be written yet."""

    def __get__(self, value: object, kind: Kind) -> Signature:
        from inspect import signature

        if value is not None:  # an instance that is called has a signature of its own
            raise AttributeError("__signature__")
        init: Any = kind.__init__
        found = signature(init.written() if hasattr(init, "written") else init)
        return found.replace(parameters=list(found.parameters.values())[1:])


_AS_ATTRS, _SIGNATURE = _AsAttrs(), _Signature()

if TYPE_CHECKING:
    from attrs import NOTHING, Attribute, Factory, define, evolve, field, fields, frozen, has
else:
    NOTHING, Attribute, Factory = _NOTHING, Field, _Factory
    define, evolve, field, fields, frozen, has = _define, _evolve, _field, _fields, _frozen, _has

__all__ = [
    "NOTHING",
    "Attribute",
    "Factory",
    "define",
    "evolve",
    "field",
    "fields",
    "frozen",
    "has",
    "is_frozen",
]
