"""The forms of types whose values JSON can carry: one look at a type, for all who go through it."""

from __future__ import annotations

from collections import abc, deque
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from attrs import has

from detent.core.schema.record_fields import class_of, fields_of, is_named_tuple
from detent.core.schema.scalars import SCALARS
from detent.core.schema.type_checks import bare_type, type_name
from detent.core.values.frozen import FrozenDict

SCHEMAS: Mapping[Any, Mapping[str, Any]] = {
    object: {},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    NoneType: {"type": "null"},
    **{kind: scalar.schema for kind, scalar in SCALARS.items()},
}
"""The schemas of what is neither made of other things nor of somebody's class."""

ARRAYS: Mapping[Any, abc.Callable[[Any], Any]] = {
    tuple: tuple,
    abc.Sequence: tuple,
    deque: deque,
    **dict.fromkeys((list, abc.MutableSequence, abc.Collection, abc.Iterable), list),
    **dict.fromkeys((set, abc.MutableSet), set),
    **dict.fromkeys((frozenset, abc.Set), frozenset),
}
"""What makes the values of each class that an array can stand for."""

SIMPLE = SCHEMAS.keys() - SCALARS.keys() - {object}
"""The types of what JSON has in one word."""

OBJECTS = frozenset({dict, FrozenDict, abc.Mapping, abc.MutableMapping})

Form: TypeAlias = Literal[
    "scalar", "choice", "annotated", "union", "array", "row", "mapping", "record", "model", "path"
]


class TypeForm(NamedTuple):
    """What a type is: its form, the class or what else makes its values, what those consist of."""

    form: Form
    kind: Any
    parts: tuple[Any, ...] = ()


def type_form(hint: Any) -> TypeForm:
    """The form of a type.

    Raises:
        TypeError: JSON carries no values of it.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return TypeForm("annotated", hint, arguments)
    if origin is Literal:
        return _choice(hint, arguments)
    if origin in (Union, UnionType):
        return TypeForm("union", hint, arguments)
    if isinstance(hint, TypeVar):
        return type_form(_meaning(hint))
    alias = getattr(hint, "__supertype__", getattr(hint, "__value__", None))
    if alias and not arguments:  # what an alias makes of arguments is not said anywhere
        return type_form(alias)
    kind = object if hint is Any else NoneType if hint is None else origin or hint
    form = _form_of_class(kind, hint, arguments) if isinstance(kind, type) else None
    if form is None:
        raise TypeError(f"no JSON Schema describes {type_name(hint)}")
    return form


def _form_of_class(kind: type, hint: Any, arguments: tuple[Any, ...]) -> TypeForm | None:
    if kind in SCHEMAS:
        return TypeForm("scalar", kind)
    if kind is tuple and hint is not tuple and arguments[-1:] != (Ellipsis,):
        return TypeForm("row", tuple, arguments)
    if kind in ARRAYS:
        return _array(ARRAYS[kind], *(arguments[:1] or (Any,)))
    if kind in OBJECTS:
        return _mapping(*(arguments or (Any, Any)))
    if issubclass(kind, Enum):
        return _choice(kind, tuple(kind))
    if hasattr(kind, "model_json_schema"):
        return TypeForm("model", kind)
    if hasattr(kind, "__fspath__"):
        return TypeForm("path", kind)
    if is_named_tuple(kind):
        parts = tuple(field.declared for field in fields_of(hint))
        return TypeForm("row", lambda items: kind(*items), parts)
    if is_typeddict(kind) or has(kind) or is_dataclass(kind):
        return TypeForm("record", hint)
    return None


def _choice(hint: Any, choices: tuple[Any, ...]) -> TypeForm:
    if not SIMPLE.issuperset(map(type, plain_choices(choices))):
        raise TypeError(f"not every choice of {type_name(hint)} is a JSON value")
    return TypeForm("choice", hint, choices)


def plain_choices(choices: abc.Iterable[object]) -> list[object]:
    """Choices as JSON has them: of an enumeration, the values of its members."""
    return [choice.value if isinstance(choice, Enum) else choice for choice in choices]


def _array(make: abc.Callable[[Any], Any], item: Any) -> TypeForm:
    if make in (set, frozenset):
        _require_hashable(item)
    return TypeForm("array", make, (item,))


def _require_hashable(hint: Any) -> None:
    """Raise TypeError for the items of a set that no set can hold."""
    kind = bare_type(hint)
    if get_origin(kind) in (Union, UnionType):
        for option in get_args(kind):
            _require_hashable(option)
    elif getattr(class_of(kind), "__hash__", True) is None:
        name = type_name(kind)
        raise TypeError(f"a set from JSON cannot hold a {name}, a list[{name}] can")


def _mapping(key: Any, item: Any) -> TypeForm:
    if not _is_name(key):
        raise TypeError(
            f"JSON has no objects with keys of type {type_name(key)}; "
            f"take pairs, as in list[tuple[{type_name(key)}, …]]"
        )
    return TypeForm("mapping", dict, (key, item))


def _is_name(hint: Any) -> bool:
    """Whether the name of a property can stand for a value of the type."""
    form, kind, parts = type_form(hint)
    match form:
        case "annotated":
            return _is_name(parts[0])
        case "choice":
            return {str}.issuperset(map(type, plain_choices(parts)))
        case _:
            return form == "path" or (form == "scalar" and kind not in (bool, NoneType))


def _meaning(variable: TypeVar) -> Any:
    """What a type variable stands for that was not given a type."""
    bounds = variable.__constraints__
    return Union[bounds] if bounds else variable.__bound__ or Any  # noqa: UP007 - made at run time
