"""The stored form: any value that a state holds as plain JSON, and back with the same types.

A value whose declared type says how to read it is stored plainly. Where only the value tells, as
in a union or a bare list, its type stands beside it: ``{"$type": "Document", "title": "…"}``.

RULE: nothing is imported or called because stored data names it. A name in the data is looked up
among the built-in types and the classes that the declared types mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, get_args

from cattrs import transform_error

from detent.core.codec import TAG, Codec, NoFormError
from detent.core.conversion import convert
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.fields import field_names
from detent.core.forms import Form, is_record, undecorated
from detent.core.log import Log
from detent.core.messages import ChatMessage, Content
from detent.core.records import shape_of
from detent.core.shapes import RefusedError
from detent.core.shown import shown
from detent.core.upgrades import AS_IN_1


def to_json(
    value: object, declared: object = Any, types: Iterable[object] = (), *, place: str = "value"
) -> Any:
    """`value` as plain JSON: dicts, lists, texts, numbers, booleans and None.

    Args:
        value: what to store.
        declared: the type that `from_json` will be told.
        types: more types whose classes may occur where `declared` leaves the type open.
        place: what errors call the value.

    Raises:
        UnstorableError: something in the value cannot be stored; says where and why.
    """
    try:
        return _codec(declared, types).unstructure(value, declared)
    except NoFormError as error:
        where = place + (_way_to(error.value, value) or "")
        raise UnstorableError(f"{where} cannot be stored: {shown(error.value)}; {error}") from None
    except (RefusedError, OverflowError) as error:
        raise UnstorableError(f"{place} cannot be stored: {error}") from None


def from_json(
    data: object, declared: object = Any, types: Iterable[object] = (), *, place: str = "value"
) -> Any:
    """The value that `to_json` stored as `data`, given the same types.

    Raises:
        StoredDataError: the data does not fit the declared type; says where and why.
    """
    try:
        if isinstance(data, Mapping) and data.get(TAG) == AS_IN_1:
            return _read_as_in_1(data, declared, place)
        return _codec(declared, types).structure(data, declared)
    except Exception as error:
        faults = transform_error(error, place, _said)
        raise StoredDataError("; ".join(faults)) from error


def messages_from_json(data: object, *, place: str = "value") -> Log[ChatMessage]:
    """A conversation that `to_json` stored. It comes with each run that goes on, so it is fast.

    Raises:
        StoredDataError: the data says none; says where and why.
    """
    try:
        return Log.of_frozen(list(shape_of(tuple[ChatMessage, ...]).read(data, None)))
    except RefusedError as error:
        raise StoredDataError(f"{place}: {error}") from None


def _read_as_in_1(data: Mapping[str, Any], declared: Any, place: str) -> Any:
    """What the key holds, or one item of it, in the JSON that tools take as arguments."""
    kinds = {"key": declared, "item": next(iter(get_args(declared)), declared)}
    return convert(data["value"], kinds[data["as"]], place)


def versioned(stored: object, version: int, what: str) -> Mapping[str, Any]:
    """The data in ``{"version": version, "data": …}``.

    Raises:
        StoredDataError: `stored` is not of this kind, or of another version.
    """
    if not isinstance(stored, Mapping) or not isinstance(data := stored.get("data"), Mapping):
        raise StoredDataError(
            f"a stored {what} is a dict with 'version' and 'data', got {shown(stored)}"
        )
    found = stored.get("version")
    if found != version:
        raise StoredDataError(f"a stored {what} of version {found!r}; this Detent reads {version}")
    return data


def _codec(declared: object, types: Iterable[object]) -> Codec:
    some = [undecorated(one) for one in (declared, *types)]
    try:
        known = frozenset(some)
    except TypeError:  # an annotation in one of them has no hash
        return Codec(some, _messages())
    return _known_codec(known)


@lru_cache(maxsize=64)
def _known_codec(types: frozenset[object]) -> Codec:
    return Codec(types, _messages())


@cache
def _messages() -> Mapping[type, Form]:
    """Messages and their parts look the same wherever they stand."""
    return {kind: _form(kind) for kind in (ChatMessage, *get_args(Content))}


def _form(kind: type) -> Form:
    shape = shape_of(kind)
    return Form(lambda value: shape.write(value, None), lambda data: shape.read(data, None))


def _said(error: BaseException, _: type | None) -> str:
    return f"nothing is stored as {error}" if isinstance(error, KeyError) else str(error)


def _way_to(part: object, value: object) -> str | None:
    """Where in `value` the very object `part` is: ``[3].owner``; None when it is not there."""
    if value is part:
        return ""
    for step, inner in _parts(value):
        rest = _way_to(part, inner)
        if rest is not None:
            return step + rest
    return None


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", item) for key, item in value.items())
        yield from ((f" key {key!r}", key) for key in value)
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{at}]", item) for at, item in enumerate(value))
    elif is_record(type(value)):
        yield from ((f".{name}", getattr(value, name)) for name in field_names(type(value)) or ())
