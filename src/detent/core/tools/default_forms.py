"""Forms of defaults: the JSON that a model would have to write for the same value.

RULE: who judges a call sees what runs. A class may write itself as another value than it is, and
JSON has no names for some keys, so a form counts once it is read back as the value that it is of.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from datetime import datetime, time
from enum import Enum
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from detent.core.codec.json_text import NATIVE
from detent.core.codec.whole_forms import (
    CONTAINERS,
    COUNTED,
    attributes_of,
    scalar_form,
    whole_form,
)
from detent.core.errors import ToolDefinitionError
from detent.core.schema.conversion import plain_as_read, reader
from detent.core.schema.json_values import identity
from detent.core.schema.model_names import has_model_parts
from detent.core.schema.record_fields import field_names
from detent.core.schema.type_checks import type_name
from detent.core.schema.type_forms import type_form
from detent.core.values.frozen import FrozenDict, FrozenList, FrozenSet, thaw

ROWS = (list, tuple, deque, FrozenList, range)
SETS: tuple[type, ...] = (set, frozenset, FrozenSet, type({}.keys()), type({}.items()))
OBJECTS = (dict, FrozenDict, OrderedDict, Counter, defaultdict, MappingProxyType)


class NoDefaultFormError(TypeError):
    """No JSON says what a value is."""


@frozen
class DefaultForm:
    """What stands for a default.

    Attributes:
        value: the default.
        data: its JSON, if that says all of it.
        fault: why no JSON says all of it; "" where one does.
        is_of_model: whether it is of a type that says what a model may write.
        is_read: whether its JSON is read as this value.
    """

    value: object = field(repr=False)
    data: Any = field(repr=False)
    fault: str = ""
    is_of_model: bool = True
    is_read: bool = False


def default_form(value: object, hint: Any) -> DefaultForm:
    """What stands for the default of something of the type `hint`."""
    try:
        form = value_form(value)
        is_read = _is_read_as(value, form, hint)
        if is_read or _says_all(value):
            return DefaultForm(value, form, is_read=is_read)
        name = type_name(type(value))
        fault = f"what JSON has for this {name} is read as another value, or not at all"
    except NoDefaultFormError as error:
        fault = str(error)
    return DefaultForm(value, None, fault, _says_what(hint))


def require_sayable(tool_name: str, forms: Mapping[str, DefaultForm]) -> None:
    """Raise ToolDefinitionError for a default that no JSON says, of what a model may write.

    RULE: it would run unseen. What may be anything, a connection say, is not for a model to write:
    of that rules know that they cannot look at it.
    """
    for name, form in forms.items():
        if form.fault and form.is_of_model:
            raise ToolDefinitionError(
                f"tool {tool_name!r}: parameter {name!r}: nobody can be shown its default, and no "
                f"rule can look at it: {form.fault}; take a default that JSON can say, let the "
                "model say it (no default), or fill it from the state"
            )


def value_form(value: Any) -> Any:
    """What stands for a value in JSON, whether it says all of it or not.

    Raises:
        NoDefaultFormError: nothing does.
    """
    try:
        return _form(value)
    except NoDefaultFormError:
        raise
    except Exception as error:  # of the class that writes itself
        raise NoDefaultFormError(f"it cannot be written as JSON: {error}") from error


def _says_what(hint: Any) -> bool:
    """Whether a type says what a model may write: one of which JSON has values, and not any."""
    try:
        form, kind, parts = type_form(hint)
    except (TypeError, NameError):
        return False
    match form:
        case "annotated":
            return _says_what(parts[0])
        case "union":
            return all(map(_says_what, parts))
        case _:
            return form != "scalar" or kind is not object


def _form(value: Any) -> Any:
    if isinstance(value, Enum):
        return _form(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return _base(value)
    if isinstance(value, Mapping):
        names = [_name(key) for key in value]
        if len({*names}) < len(names):
            raise NoDefaultFormError("several keys of a dict in it have one name in JSON")
        return {name: _form(item) for name, item in zip(names, value.values(), strict=True)}
    if isinstance(value, list | tuple):
        return [_form(item) for item in value]
    return _form(plain_as_read(value))


def _name(key: object) -> str:
    """A key of a dict as the name that is read as it."""
    form = _form(key)
    if isinstance(form, str):
        return form
    if isinstance(form, int | float) and not isinstance(form, bool):
        return json.dumps(form)
    raise NoDefaultFormError(f"JSON has no name for a key of the type {type_name(type(key))}")


def _says_all(value: Any) -> bool:
    """Whether the form of a value says all of it, where no type says how it is read."""
    kind: Any = type(value)
    if kind in NATIVE:
        return True
    if isinstance(value, Enum):  # several flags of one, say, of which a type says no value
        return _says_all(value.value)
    if kind in OBJECTS:
        return all(type(name) is str and _says_all(item) for name, item in value.items())
    if kind in (*ROWS, *SETS):
        return all(map(_says_all, value))
    return _says_parts(value) or _is_read_as(value, value_form(value), kind)


def _says_parts(value: Any) -> bool:
    """Whether the form of a record has all that is kept in it, and says all of that."""
    kind: Any = type(value)
    names = kind.__pydantic_fields__ if has_model_parts(kind) else field_names(kind)
    kept = {name for name, part in attributes_of(value).items() if part or name not in COUNTED}
    return (
        names is not None and kept <= {*names} and all(_says_all(getattr(value, x)) for x in names)
    )


def _is_read_as(value: object, form: Any, hint: Any) -> bool:
    try:
        return _is_same(reader(hint)(thaw(form), "it"), value)
    except Exception:  # noqa: BLE001 - whatever keeps it from being read, it is not read as this
        return False


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are alike in all that they hold: what a class says of that may be a lie.

    A list may stand for a tuple, a whole number for another kind of number, and what an enum has
    for the enum.
    """
    kind: Any = type(other)
    if issubclass(kind, int | float | str) and not issubclass(kind, Enum):
        is_kept = attributes_of(one) == attributes_of(other)
        return is_kept and identity(_base(one)) == identity(_base(other))
    if kind in ROWS and type(one) in ROWS:
        return len(one) == len(other) and all(map(_is_same, one, other))
    if kind in SETS and type(one) in SETS:
        return whole_form({*one}) == whole_form({*other})
    if kind in OBJECTS and type(one) in OBJECTS:
        is_keyed_alike = whole_form({*one}) == whole_form({*other})
        return is_keyed_alike and all(_is_same(one[key], item) for key, item in other.items())
    if type(one) is not kind:
        return isinstance(other, Enum) and _is_same(one, other.value)
    if kind in (datetime, time):  # the offset stands for the zone
        return bool(one == other)
    attributes = attributes_of(one), attributes_of(other)
    if scalar_form(other) is not None or isinstance(other, CONTAINERS) or not attributes[1]:
        return whole_form(one) == whole_form(other)
    return attributes[0].keys() == attributes[1].keys() and all(
        _is_same(item, attributes[1][name]) for name, item in attributes[0].items()
    )


def _base(value: Any) -> Any:
    """A text or a number without its class, which may say another one."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float.__float__(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return int.__int__(value) if is_number else value
