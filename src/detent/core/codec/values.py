"""The stored form: any value that a state holds as plain JSON, and back with the same types.

A value whose declared type says how to read it is stored plainly. Where only the value tells, as
in a union or a bare list, its type stands beside it: ``{"$type": "Document", "title": "…"}``.

RULE: nothing is imported or called because stored data names it. A name in the data is looked up
among the built-in types and the classes that the declared types mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from detent.core.codec.forms import NoFormError, is_record, plain_type, stored_class
from detent.core.codec.json_text import NATIVE, is_plain
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.schema.record_fields import field_names
from detent.core.schema.type_checks import bare_type
from detent.core.values.short_repr import short_repr

if TYPE_CHECKING:
    from detent.core.codec.open_values import OpenValueConverter


def to_json(
    value: object, hint: object = Any, types: Iterable[object] = (), *, place: str = "value"
) -> Any:
    """`value` as plain JSON: dicts, lists, texts, numbers, booleans and None.

    Args:
        value: what to store.
        hint: the type that `from_json` will be told.
        types: more types whose classes may occur where `hint` leaves the type open.
        place: what errors call the value.

    Raises:
        UnstorableError: something in the value cannot be stored; says where and why.
    """
    try:
        if is_written_as_it_is(value, hint):
            return value
        return _converter(hint, types).unstructure(value, hint)
    except NoFormError as error:
        spot = place + (_way_to(error.value, value) or "")
        raise UnstorableError(
            f"{spot} cannot be stored: {short_repr(error.value)}; {error}"
        ) from None
    except RecursionError:
        raise UnstorableError(f"{place} cannot be stored: it is nested too deeply") from None
    except (UnstorableError, OverflowError) as error:
        raise UnstorableError(f"{place} cannot be stored: {error}") from None


def from_json(
    data: object, hint: object = Any, types: Iterable[object] = (), *, place: str = "value"
) -> Any:
    """The value that `to_json` stored as `data`, given the same types.

    Raises:
        StoredDataError: the data does not fit the declared type; says where and why.
    """
    try:
        return _converter(hint, types).structure(data, hint)
    except Exception as error:
        from cattrs import transform_error

        raise StoredDataError("; ".join(transform_error(error, place, _reason))) from error


def is_written_as_it_is(value: object, hint: object) -> bool:
    """Whether the stored form of a value of a declared type is the value itself."""
    try:
        kind = _plain_kind(hint)
    except TypeError:  # an annotation in it has no hash
        return False
    return (kind is object or plain_type(value) is kind) and is_plain(value)


@lru_cache(maxsize=256)
def _plain_kind(hint: object) -> type | None:
    """The class whose plain values are written as they are; `object` is any, None no class."""
    plain = bare_type(hint)
    kind = stored_class(plain)
    items = (stored_class(item) for item in get_args(plain) if item is not Any)
    if plain is Any or kind in NATIVE:
        return object
    return kind if kind in (list, dict) and NATIVE.issuperset(items) else None


def _converter(hint: object, types: Iterable[object]) -> OpenValueConverter:
    plain_types = [bare_type(kind) for kind in (hint, *types)]
    try:
        return _known_converter(frozenset(plain_types))
    except TypeError:  # an annotation in one of them has no hash
        return _known_converter.__wrapped__(plain_types)


@lru_cache(maxsize=64)
def _known_converter(types: Iterable[object]) -> OpenValueConverter:
    from detent.core.codec.open_values import (
        OpenValueConverter,
    )  # cattrs is only loaded where not all is plain

    return OpenValueConverter(types)


def _reason(error: BaseException, _: type | None) -> str:
    return f"nothing is stored as {error}" if isinstance(error, KeyError) else str(error)


def _way_to(part: object, value: object) -> str | None:
    """Where in `value` the very object `part` is: ``[3].owner``; None when it is not there."""
    if value is part:
        return ""
    ways = ((step, _way_to(part, inner)) for step, inner in _parts(value))
    return next((step + rest for step, rest in ways if rest is not None), None)


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", item) for key, item in value.items())
        yield from ((f" key {key!r}", key) for key in value)
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{place}]", item) for place, item in enumerate(value))
    elif is_record(type(value)):
        yield from ((f".{name}", getattr(value, name)) for name in field_names(type(value)) or ())
