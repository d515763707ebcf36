"""Shapes: how values of one type are written as JSON and read from it, and how they are refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count
from typing import Any, TypeAlias, TypeVar

from detent.core.codec.json_text import encoded, quoted
from detent.core.errors import StateError, StoredDataError, UnstorableError
from detent.core.values.frozen import FrozenDict

Spec: TypeAlias = Any
"""Says what names in stored data stand for: an agent's rules, or None."""
T = TypeVar("T")


class Shape:
    """How values of one type are written as JSON text, and read from plain JSON.

    The agent says what names stand for. Stored data of the class `plain` is the value itself. RULE:
    `write` and `read` are taken from it when they are called: a record makes its own later.
    """

    def __init__(
        self,
        write: Callable[[Any, Spec], str],
        read: Callable[[Any, Spec], Any],
        plain: type | None = None,
    ) -> None:
        self.write = write
        self.read = read
        self.plain = plain


class RefusedError(Exception):
    """A value, or what was stored, is not of its type. `path` is where, from the inside out."""

    def __init__(self, reason: object) -> None:
        super().__init__(str(reason)[:500])
        self.path: list[str | int] = []

    def __str__(self) -> str:
        steps = [f"[{one}]" if isinstance(one, int) else f".{one}" for one in reversed(self.path)]
        return f"{self.args[0]} @ data{''.join(steps)}"


def refusing(change: Callable[[Any, Spec], T]) -> Callable[[Any, Spec], T]:
    """What refuses a value elsewhere refuses it here, where its place is known."""

    def changed(value: Any, spec: Spec) -> T:
        try:
            return change(value, spec)
        except (StateError, StoredDataError, UnstorableError) as error:
            raise RefusedError(error) from None

    return changed


def exactly(kind: type, *others: type) -> Shape:
    """JSON values of one class, or of `others` that may stand for it."""

    def check(value: Any, spec: Spec) -> Any:
        if type(value) is not kind and type(value) not in others:
            raise misfit(kind.__name__, value)
        return value

    return Shape(lambda value, spec: encoded(check(value, spec)), check, None if others else kind)


def misfit(wanted: str, value: object) -> RefusedError:
    """What is raised for a value of another type than the wanted one."""
    return RefusedError(f"must be {wanted}, got {type(value).__name__}")


def an_object(data: Any) -> dict[str, Any]:
    """The data, if it is a JSON object."""
    if not isinstance(data, dict):
        raise misfit("an object", data)
    return data


def an_array(data: Any) -> list[Any]:
    """The data, if it is a JSON array."""
    if not isinstance(data, list):
        raise misfit("an array", data)
    return data


def each(
    change: Callable[[Any, Spec], T],
    items: Collection[Any],
    spec: Spec,
    places: Iterable[str | int] | None = None,
) -> list[T]:
    """Every item changed; where one is refused, the error says which."""
    made: list[T] = []
    for place, item in zip(count() if places is None else places, items, strict=False):
        try:
            made.append(change(item, spec))
        except RefusedError as error:
            error.path.append(place)
            raise
    return made


def one_of(choices: Mapping[str, Any]) -> Shape:
    """One of some texts, and what each of them stands for."""

    def read(data: Any, spec: Spec) -> Any:
        try:
            return choices[data]
        except (KeyError, TypeError):
            told = f"must be one of {', '.join(choices)}, got {str(data)[:40]!r}"
            raise RefusedError(told) from None

    told = {one: quoted(str.__str__(one)) for one in choices.values()}
    return Shape(lambda value, spec: told[read(value, spec)], read)


def array_of(item: Shape) -> Shape:
    """A tuple of items of one type."""

    def read(data: Any, spec: Spec) -> tuple[Any, ...]:
        change = item.read
        try:
            if type(data) is list and len(data) == 1:  # most messages have one part
                return (change(data[0], spec),)
            return tuple([change(one, spec) for one in an_array(data)])
        except RefusedError:
            return tuple(each(change, an_array(data), spec))  # it says which one

    def write(value: Any, spec: Spec) -> str:
        told = item.write
        try:
            if len(value) == 1:  # as above
                return f"[{told(value[0], spec)}]"
            return f"[{','.join([told(one, spec) for one in value])}]"
        except RefusedError:
            return f"[{','.join(each(told, value, spec))}]"  # it says which one

    return Shape(write, read)


def object_of(item: Shape) -> Shape:
    """A dict with values of one type."""

    def write(value: Any, spec: Spec) -> str:
        items = zip(value, each(item.write, value.values(), spec, value), strict=True)
        return f"{{{','.join([f'{quoted(name)}:{text}' for name, text in items])}}}"

    def read(data: Any, spec: Spec) -> FrozenDict[str, Any]:
        items = each(item.read, an_object(data).values(), spec, data)
        return FrozenDict(zip(data, items, strict=True))

    return Shape(write, read)
