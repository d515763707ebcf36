"""JSON values to typed ones and back: exactly, so that nothing becomes what it was not."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import partial
from itertools import count
from math import inf, isfinite
from typing import Any, TypeAlias, cast

from attrs import Factory, define

from detent.core.errors import DetentError
from detent.core.schema.constraints import rules_of, unmet
from detent.core.schema.json_values import JsonType, identity, is_a, short_json
from detent.core.schema.model_names import as_read, has_model_parts, no_float, unread
from detent.core.schema.model_work import work_of
from detent.core.schema.record_fields import RecordField, class_of, field_names, fields_of
from detent.core.schema.scalars import SCALARS
from detent.core.schema.type_checks import bare_type, type_name
from detent.core.schema.type_forms import SCHEMAS, plain_choices, type_form
from detent.core.schema.work import Effort
from detent.core.values.frozen import thaw
from detent.core.values.hashes import require_spread

Reader: TypeAlias = Callable[[object, str], Any]
Read: TypeAlias = "Callable[[Any, _Reading], Any]"
"""Makes a value of JSON one of a type; raises whatever says why it is none."""

Make: TypeAlias = Callable[[Any], Any]
Fault: TypeAlias = tuple[str, str]
"""The place inside a value, as in ``.a[0]``, and the reason why it cannot be read."""


Fields: TypeAlias = dict[str, tuple[RecordField, Read]]


FAULTS_MAX = 20
"""How many faults are said of one value that fits no type of a union: each type adds its own."""

EXACT = frozenset({str, int, bool})
"""The types whose instances JSON has as they are."""


class ConversionError(DetentError, ValueError):
    """A JSON value cannot become what a type asks for; `faults` has a sentence for each reason."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


class _OtherTypeError(ValueError):
    """A value is not of the JSON type that is wanted."""


class _PartsError(Exception):
    """Parts of a value cannot be read."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults


def convert(value: object, hint: Any, name: str) -> Any:
    """The JSON value `value`, called `name`, as an instance of the type `hint`.

    Nothing becomes another kind of thing: text stays out of an int, and so does true. A union takes
    the first of its types that the value fits.

    Raises:
        ConversionError: the value does not fit, or a class refuses it.
        TypeError: JSON carries no values of the type.
    """
    return reader(hint)(value, name)


def reader(hint: Any) -> Reader:
    """What `convert` does for one type, which it looks at once: takes a value and its name.

    Raises:
        TypeError: JSON carries no values of the type, or of one inside it.
        NameError: a class inside it has a field whose type is named, and is nowhere.
    """
    readers = _Readers()
    read = readers.reader(hint)

    def read_named(value: object, name: str) -> Any:
        if type(value) is hint and hint in EXACT:
            return value  # most are of their type: a call less for each
        try:
            if readers.has_choices:  # a part that stands in two places is read in each
                return read(thaw(value), _Reading({}))
            return read(value, _Reading())
        except Exception as error:  # the constructors of users' classes raise what they like
            parts = _faults_in(error)
            faults = (f"'{name}{place}' cannot be used: {reason}" for place, reason in parts)
            raise ConversionError(faults) from error

    return read_named


def own_objects(hint: Any) -> float:
    """In how many objects in objects a union is read as its first type that fits, as by `convert`.

    The models inside a type choose by rules of their own: one that is no object itself at once.
    """
    readers = _Readers()
    readers.reader(hint)
    if not readers.models:
        return inf
    return float(not any(getattr(x, "__pydantic_root_model__", False) for x in readers.models))


def as_it_is(value: object, name: str) -> object:
    """The reader for what may be anything: a copy that may be changed."""
    return thaw(value)


def plain(value: Any) -> object:
    """What `value` is as JSON, one level deep: the ``default`` of `json.dumps`.

    What `convert` makes of it has the same value again.

    Raises:
        TypeError: nothing in JSON stands for it.
    """
    kind = type(value)
    if hasattr(kind, "model_dump"):
        return value.model_dump(mode="json")
    if (names := field_names(kind)) is not None:
        return {name: getattr(value, name) for name in names}
    if isinstance(value, Enum):
        return value.value
    for scalar, form in SCALARS.items():  # in this order: a datetime is a date too
        if isinstance(value, scalar):
            return form.write(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, AbstractSet):  # whose order is another one in every process
        return sorted(value, key=repr)
    if isinstance(value, Sequence | deque):
        return list(value)
    if hasattr(kind, "__fspath__"):
        return str(value)
    raise TypeError(f"nothing in JSON stands for {type_name(kind)}")


@define(eq=False)
class _Reading:
    """One value that is read.

    `records` are those of its parts that are read as records, by part and class, or why they are
    none: each type of a union reads the same parts, and to read them anew for each takes so many
    times longer with each level.
    """

    records: dict[tuple[int, int], tuple[object, Sequence[Fault]]] | None = None
    effort: Effort = Factory(Effort)


class _Readers:
    """Makes what reads the values of a type, and of all types inside it."""

    def __init__(self) -> None:
        self._records: dict[Any, Read] = {}
        self.models: list[Any] = []
        self.has_choices = False

    def reader(self, hint: Any) -> Read:
        """What reads the values of a type.

        Raises:
            TypeError: JSON carries none.
        """
        form, kind, parts = type_form(hint)
        match form:
            case "scalar":
                return _thawed if kind is object else partial(_scalar, kind)
            case "choice":
                return _choice(parts)
            case "annotated":
                return self._annotated(*parts)
            case "union":
                self.has_choices |= len([*filter(_has_parts, parts)]) > 1
                return partial(_union, kind, [*map(self.reader, parts)])
            case "path":
                return lambda value, reading: kind(_require(value, "string"))
            case "model":
                self.models.append(kind)
                return partial(_model, kind)
            case "record":
                return self._record(kind)
            case "row":
                return partial(_row, kind, [*map(self.reader, parts)])
            case "mapping":
                return self._mapping(*parts)
            case _:
                return partial(_array, kind, self.reader(parts[0]))

    def _annotated(self, hint: Any, *notes: object) -> Read:
        read, rules = self.reader(hint), tuple(rules_of(notes))
        return partial(_check_rules, read, rules) if rules else read

    def _mapping(self, key: Any, item: Any) -> Read:
        read_key = self.reader(key)
        is_number = bare_type(key) in (int, float)  # which JSON has as text
        read_name = partial(_number_name, read_key) if is_number else read_key
        return partial(_mapping, read_name, self.reader(item))

    def _record(self, hint: Any) -> Read:
        """A class may contain itself: its reader is there before those of its fields."""
        if hint not in self._records:
            fields: Fields = {}
            self._records[hint] = partial(_record, class_of(hint), fields)
            fields |= {x.name: (x, self.reader(x.declared)) for x in fields_of(hint)}
        return self._records[hint]


def _require(value: Any, *types: JsonType) -> Any:
    """The value, which must be of one of these types."""
    for kind in types:
        if is_a(value, kind):
            return value
    raise _OtherTypeError(f"must be {' or '.join(types)}, got {short_json(value)}")


def _has_parts(hint: Any) -> bool:
    """Whether values of the type may have others in them."""
    return type_form(hint)[0] not in ("scalar", "choice", "path")


def _thawed(value: object, reading: _Reading) -> object:
    return thaw(value)


def _model(kind: Any, value: object, reading: _Reading) -> object:
    plain_value = thaw(value)
    work_of(kind).take(plain_value, reading.effort)
    made = kind.model_validate(plain_value)
    if faults := [*unread(plain_value, made)]:
        raise _PartsError(faults)
    return made


def plain_as_read(value: Any) -> object:
    """As `plain`, but of a model all fields, as it reads them, whatever it writes."""
    return as_read(value, plain_as_read) if has_model_parts(type(value)) else plain(value)


def _scalar(kind: Any, value: Any, reading: _Reading) -> Any:
    if type(value) is kind and (kind is not float or isfinite(value)):
        return value
    types = SCHEMAS[kind]["type"]
    _require(value, *cast("list[JsonType]", [types] if isinstance(types, str) else types))
    made = SCALARS[kind].read(value) if kind in SCALARS else kind(value)
    if reason := no_float(value, made):
        raise ValueError(reason)
    return made


def _choice(choices: Iterable[object]) -> Read:
    values = plain_choices(choices)
    by_identity = dict(zip(map(identity, values), choices, strict=True))

    def read(value: object, reading: _Reading) -> object:
        if (key := identity(value)) in by_identity:
            return by_identity[key]
        raise ValueError(f"must be one of {values}, got {short_json(value)}")

    return read


def _number_name(read: Read, name: str, reading: _Reading) -> object:
    return read(json.loads(name), reading)


def _check_rules(
    read: Read, rules: Sequence[tuple[str, Any]], value: object, reading: _Reading
) -> object:
    result = read(value, reading)
    if unfit := list(unmet(result, rules)):
        raise ValueError(f"{' and '.join(unfit)}, got {short_json(value)}")
    return result


def _union(hint: Any, options: Sequence[Read], value: object, reading: _Reading) -> object:
    faults: list[Fault] = []
    for read in options:
        try:
            return read(value, reading)
        except _OtherTypeError:
            continue
        except Exception as error:  # noqa: BLE001 - the next type may take the value
            faults += _faults_in(error)
    if faults:
        raise _PartsError([*dict.fromkeys(faults)][:FAULTS_MAX])
    raise _OtherTypeError(f"must be {type_name(hint)}, got {short_json(value)}")


def _array(make: Make, read: Read, value: Any, reading: _Reading) -> object:
    items = enumerate(_require(value, "array"))
    parts = _parts(((place, x, read) for place, x in items), reading)
    if make is set or make is frozenset:
        require_spread(parts)
    return make(parts)


def _row(make: Make, reads: Sequence[Read], value: Any, reading: _Reading) -> object:
    if len(_require(value, "array")) != len(reads):
        raise ValueError(f"must have {len(reads)} items, got {len(value)}")
    return make(_parts(zip(count(), value, reads), reading))


def _mapping(key: Read, item: Read, value: Any, reading: _Reading) -> object:
    entries = _require(value, "object").items()
    names = _parts(((name, name, key) for name, _ in entries), reading)
    require_spread(names)
    items = _parts(((name, x, item) for name, x in entries), reading)
    result = dict(zip(names, items, strict=True))
    if len(result) < len(names):  # of "1" and "1.0" one has won, and people were shown both
        raise ValueError(f"has several names for one key: {_alike(names, value)}")
    return result


def _alike(keys: Iterable[object], names: Iterable[str]) -> str:
    """The first two names that are read as one key."""
    first: dict[object, str] = {}
    pairs = ((first.setdefault(key, name), name) for key, name in zip(keys, names, strict=True))
    return next(f"{short_json(a)} and {short_json(b)}" for a, b in pairs if a != b)


def _record(kind: Any, fields: Fields, value: Any, reading: _Reading) -> object:
    known, key = reading.records, (id(value), id(fields))
    if known is None or not isinstance(value, dict):
        return _new_record(kind, fields, value, reading)
    if key not in known:
        try:
            known[key] = _new_record(kind, fields, value, reading), ()
        except Exception as error:
            known[key] = None, _faults_in(error)
            raise
    record, faults = known[key]
    if faults:
        raise _PartsError(faults)
    return record


def _new_record(kind: Any, fields: Fields, value: Any, reading: _Reading) -> object:
    data = _require(value, "object")
    names = (name for name, (field, _) in fields.items() if field.is_required)
    faults = [(f".{name}", "is missing") for name in names if name not in data]
    faults += [(f".{name}", "is not known") for name in data if name not in fields]
    entries = ((name, data[name], fields[name][1]) for name in data if name in fields)
    parts = _parts(entries, reading, faults)
    return kind(**{fields[name][0].alias or name: x for name, x in zip(data, parts, strict=True)})


def _parts(
    entries: Iterable[tuple[str | int, object, Read]],
    reading: _Reading,
    faults: Iterable[Fault] = (),
) -> list[Any]:
    """The parts of a value, each at its place read; what is wrong is said of all of them."""
    parts: list[Any] = []
    all_faults = [*faults]
    for place, value, read in entries:
        try:
            parts.append(read(value, reading))
        except Exception as error:  # noqa: BLE001 - raised with the others, after the last
            spot = f"[{place}]" if isinstance(place, int) else f".{place}"
            all_faults += [(f"{spot}{inside}", reason) for inside, reason in _faults_in(error)]
    if all_faults:
        raise _PartsError(all_faults)
    return parts


def _faults_in(error: Exception) -> Sequence[Fault]:
    if isinstance(error, _PartsError):
        return error.faults
    is_told = isinstance(error, ValueError)
    return [("", str(error) if is_told else f"{type(error).__name__}: {error}")]
