"""Which types can be stored, what their values are written as, which classes a type mentions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, time
from enum import Enum
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints, is_typeddict

import attrs

from detent.core.schema.record_fields import is_named_tuple
from detent.core.schema.scalars import SCALARS as JSON_SCALARS
from detent.core.schema.type_checks import bare_type
from detent.core.values.frozen import FrozenDict, FrozenList, FrozenSet
from detent.core.values.shared_list import SharedList

LOCAL_PATH = type(Path())


class Form(NamedTuple):
    """How values of one type are written as JSON, and read from it."""

    pack: Callable[[Any], Any]
    unpack: Callable[..., Any]


SPECIAL: dict[type, Form] = {}
"""The forms that packages above have given to classes of theirs, wherever these stand."""


def map_each(
    change: Callable[[Any], Any], items: Iterable[Any], places: Iterable[Any] | None = None
) -> list[Any]:
    """Every item changed; where that fails, the error says at which place.

    Raises:
        IterableValidationError: what came of changing an item, as cattrs says it.
    """
    new: list[Any] = []
    try:
        for item in items:
            new.append(change(item))  # noqa: PERF401  # how many there are is needed when one fails
    except Exception as error:  # noqa: BLE001  # whatever a constructor says is passed on
        from cattrs import IterableValidationError, IterableValidationNote

        place = len(new) if places is None else [*places][len(new)]
        error.add_note(IterableValidationNote(f"at {place!r}", place, object))
        group: Any = IterableValidationError  # pyright does not see its own constructor
        raise group("an item cannot be read", [error], list) from None
    return new


def unpack_each(
    forms: Iterable[Form], items: Iterable[Any], places: Iterable[Any] | None = None
) -> list[Any]:
    """Every item read by its form; errors as of `map_each`."""
    pairs = zip(forms, items, strict=False)
    return map_each(lambda pair: pair[0].unpack(pair[1]), pairs, places)


class MismatchError(Exception):
    """A value, or what was stored, is not of its type."""


def mismatch(words: str, value: object) -> MismatchError:
    """What is raised for a value of another type than the wanted one."""
    return MismatchError(f"must be {words}, got {type(value).__name__}")


def require_object(data: Any) -> dict[str, Any]:
    """The data, if it is a JSON object."""
    if not isinstance(data, dict):
        raise mismatch("an object", data)
    return data


def require_array(data: Any) -> list[Any]:
    """The data, if it is a JSON array."""
    if not isinstance(data, list):
        raise mismatch("an array", data)
    return data


class NoFormError(Exception):
    """There is no form of `value`, which is somewhere in what was to be stored."""

    def __init__(self, value: object, reason: str) -> None:
        super().__init__(reason)
        self.value = value


def _zoned_form(kind: Any) -> Form:
    """A date and time, or a time, with the name of its zone behind it, as RFC 9557 writes it.

    The offset alone is that of one day, and a call that was confirmed with a zone is not that with
    an offset: it would be asked about again.
    """

    def pack(value: Any) -> str:
        text, key = kind.isoformat(value), _zone_name(value.tzinfo)
        return text if key is None else f"{text}[{key}]"

    def unpack(text: str) -> Any:
        plain, _, key = text.partition("[")
        value = kind.fromisoformat(plain)
        return _in_zone(value, key.removesuffix("]")) if key else value

    return Form(pack, unpack)


def _zone_name(zone: object) -> str | None:
    is_named = zone is not None and type(zone).__module__ == "zoneinfo"
    return getattr(zone, "key", None) if is_named else None


def _in_zone(value: Any, key: str) -> Any:
    """The same instant in a zone; with its offset alone where the zone is not known, or is not so.

    RULE: a zone is looked up among those that are there; Python would import what the data names.
    """
    from zoneinfo import ZoneInfo

    if key not in _zone_names():
        return value
    zone = ZoneInfo(key)
    there = [value.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    if value.tzinfo is None:  # a time of any day
        return there[0]
    return next((one for one in there if one.utcoffset() == value.utcoffset()), value)


@cache
def _zone_names() -> frozenset[str]:
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


SCALARS: Mapping[type, Form] = {
    **{kind: Form(scalar.write, scalar.read) for kind, scalar in JSON_SCALARS.items()},
    **{kind: _zoned_form(kind) for kind in (datetime, time)},
    PurePosixPath: Form(str, PurePosixPath),
    PureWindowsPath: Form(str, PureWindowsPath),
    LOCAL_PATH: Form(str, Path),
}
"""Types that are written as one text."""

HEX_DIGITS_MAX = 3500
"""Python neither prints nor reads much larger integers in tens."""


def _hex(value: int) -> str:
    if value.bit_length() > 4 * HEX_DIGITS_MAX:
        raise OverflowError(f"an integer has more than {4 * HEX_DIGITS_MAX} bits")
    return hex(value)


def _from_hex(data: str) -> int:
    if len(data) > HEX_DIGITS_MAX + len("-0x"):
        raise ValueError(f"an integer has more than {HEX_DIGITS_MAX} hexadecimal digits")
    return int(data, 16)


ESCAPES: Mapping[type, Form] = {
    # in JSON's own escapes two halves of a character would come back as the whole
    str: Form(
        lambda value: value.encode("unicode_escape").decode("ascii"),
        lambda data: data.encode("ascii").decode("unicode_escape"),
    ),
    int: Form(_hex, _from_hex),
    float: Form(repr, float),
    bool: Form(bool, bool),
}
"""How values are written that JSON, or some reader of it, has not got: NaN, huge integers…"""

COLLECTIONS: frozenset[type] = frozenset({list, tuple, set, frozenset})
STANDS_FOR: Mapping[type, type] = {
    FrozenDict: dict,
    FrozenList: list,
    SharedList: list,
    FrozenSet: set,
}
BUILT_IN: Mapping[str, type] = {
    **{kind.__name__: kind for kind in (*SCALARS, *ESCAPES, *COLLECTIONS, dict)},
    "Path": LOCAL_PATH,
}


def plain_type(value: object) -> type:
    """The class of `value`; of a frozen container, the one that it stands for."""
    return STANDS_FOR.get(type(value), type(value))


def is_record(kind: type) -> bool:
    """Whether values of `kind` are stored field by field."""
    return attrs.has(kind) or dataclasses.is_dataclass(kind) or is_named_tuple(kind)


def is_model(kind: type) -> bool:
    """Whether `kind` is a pydantic model, by what it can do."""
    return hasattr(kind, "model_validate_json") and hasattr(kind, "model_dump")


def is_storable(kind: type) -> bool:
    """Whether `kind` is a class of somebody's own that can be stored."""
    converts_itself = hasattr(kind, "to_dict") and hasattr(kind, "from_dict")
    return issubclass(kind, Enum) or is_record(kind) or is_model(kind) or converts_itself


def stored_class(hint: object) -> type | None:
    """The class whose own instances, and no others, are stored without saying their type."""
    kind = get_origin(hint) or hint
    if not isinstance(kind, type):
        return None
    if is_typeddict(kind):
        return dict
    kind = LOCAL_PATH if kind is Path else STANDS_FOR.get(kind, kind)
    return kind if kind in BUILT_IN.values() or is_storable(kind) else None


def classes_in(types: Iterable[object]) -> Mapping[str, frozenset[type]]:
    """The storable classes in `types` and in the fields of these classes, by name."""
    classes: dict[str, frozenset[type]] = {}
    kinds: set[object] = set()
    ahead: list[Any] = list(types)
    while ahead:
        hint = bare_type(ahead.pop())
        kind = get_origin(hint) or hint
        ahead += get_args(hint)
        if isinstance(kind, Enum):  # an argument of Literal
            kind = type(kind)
        if not isinstance(kind, type) or kind in kinds:
            continue
        kinds.add(kind)
        if is_record(kind) or is_typeddict(kind):
            ahead += get_type_hints(kind, include_extras=True).values()
        if is_storable(kind):
            classes[kind.__name__] = classes.get(kind.__name__, frozenset()) | {kind}
    return classes
