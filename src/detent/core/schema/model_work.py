"""What pydantic has to do for the models in a value, counted before it does any of it.

Whether it would be too much hangs on the value alone: so a call is refused before people are asked
about it, and not when it is to run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, TypeAlias

from attrs import define, field, frozen

from detent.core.schema.record_fields import fields_of
from detent.core.schema.type_forms import type_form
from detent.core.schema.work import WORK_MAX, Effort, Work
from detent.core.values.hashed_parts import Shape, hashed_parts, without_minus_one
from detent.core.values.hashes import require_spread

MEMBERS = re.compile(r"'(set|frozenset)'|'keys_schema': \{(?!'type': 'str')")
"""What stands in the schema of pydantic's core where a set is made, or a dict of other keys than
texts."""

CODE = re.compile(r"'(function-[a-z]+|call)'|'(custom_init|post_init)': True")
"""What stands there where code is called that may make one."""

SIGNS_MOST = 512
"""So many different rows of -1 and -2, which have one hash, code may read: their square is small
enough where a set is made of them, and hardly any does."""

UNIQUE = "'uniqueItems': True"
"""What stands in a model's own schema where an object may be a member."""

Excess: TypeAlias = Callable[[object], str]
"""Says why it takes too long to read a value, a thawed one; "" where it does not."""


@define(eq=False)
class _Look:
    effort: Effort = field(factory=Effort)
    records: set[tuple[int, int]] = field(factory=set)
    """Those that are counted: a record in unions is made once of each part and type."""


Count: TypeAlias = Callable[[Any, _Look], None]
Counts: TypeAlias = dict[str, Count]


def excess(hint: Any) -> Excess | None:
    """What counts the work for the values of a type; None where there is nothing to count.

    Of a union, all types count: which of them takes the value, only their classes can say.

    Raises:
        TypeError: JSON carries no values of the type.
        NameError: a class inside it has a field whose type is named, and is nowhere.
    """
    counts = _Counts()
    count = counts.count(hint)
    return partial(_excess, count) if counts.is_counted else None


@frozen(eq=False)
class ModelWork:
    """What is counted of what pydantic has to do for a model.

    Attributes:
        unions: the looks that it takes.
        makes_members: whether it puts parts into sets or dicts that are no texts.
        calls_code: whether code is called that may do so.
        shapes: those of the objects that may be such parts.
    """

    unions: Work = field(factory=lambda: Work({}))
    makes_members: bool = True
    calls_code: bool = True
    shapes: tuple[Shape, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether there is anything to count."""
        return self.makes_members or self.calls_code or self.unions.has_choices

    def take(self, value: object, effort: Effort) -> None:
        """Count what it takes to read one more value in one go.

        Raises:
            ValueError: that would be too much.
        """
        if self.unions.has_choices:
            effort.add(self.unions, value)
        if self.makes_members or self.calls_code:
            self._require_spread(hashed_parts(value, self.shapes))

    def _require_spread(self, parts: list[Hashable]) -> None:
        try:
            require_spread(parts)
        except ValueError:
            if self.makes_members:
                raise
            require_spread([*map(without_minus_one, parts)])
            require_spread(parts, most=SIGNS_MOST)


@lru_cache(256)
def work_of(kind: Any) -> ModelWork:
    """What pydantic has to do for a model: where no schema says it, its members alone."""
    try:
        written = kind.model_json_schema()
        core = repr(kind.__pydantic_core_schema__)
        return ModelWork(
            Work(written, "validation_alias" in core, most=WORK_MAX),
            bool(MEMBERS.search(core)),
            bool(CODE.search(core)),
            tuple(map(Shape.of, _objects(written))) if UNIQUE in repr(written) else (),
        )
    except Exception:  # noqa: BLE001 - code of users may stand in it
        return ModelWork()


def _objects(part: Any) -> Iterator[Mapping[str, Any]]:
    """All schemas of objects in a schema."""
    if isinstance(part, Mapping) and isinstance(part.get("properties"), Mapping):
        yield part
    if isinstance(part, Mapping | list):
        for inner in part.values() if isinstance(part, Mapping) else part:
            yield from _objects(inner)


def _excess(count: Count, value: object) -> str:
    try:
        count(value, _Look())
    except ValueError as error:
        return str(error)
    return ""


class _Counts:
    """Makes what counts the work for a type, and for all types inside it."""

    def __init__(self) -> None:
        self._records: dict[Any, Count] = {}
        self.is_counted = False

    def count(self, hint: Any) -> Count:
        form, kind, parts = type_form(hint)
        match form:
            case "scalar" | "choice" | "path":
                return _nothing
            case "annotated":
                return self.count(parts[0])
            case "union":
                return partial(_union, [*map(self.count, parts)])
            case "model":
                self.is_counted |= work_of(kind).is_counted
                return partial(_model, kind)
            case "record":
                return self._record(kind)
            case "row":
                return partial(_row, [*map(self.count, parts)])
            case "mapping":
                return partial(_mapping, self.count(parts[1]))
            case _:
                return partial(_array, self.count(parts[0]))

    def _record(self, hint: Any) -> Count:
        """A class may contain itself: what counts it is there before that of its fields."""
        if hint not in self._records:
            counts: Counts = {}
            self._records[hint] = partial(_record, counts)
            counts |= {x.name: self.count(x.declared) for x in fields_of(hint)}
        return self._records[hint]


def _nothing(value: object, look: _Look) -> None:
    """What no model stands in."""


def _union(options: Iterable[Count], value: object, look: _Look) -> None:
    for count in options:
        count(value, look)


def _model(kind: Any, value: object, look: _Look) -> None:
    work_of(kind).take(value, look.effort)


def _record(counts: Counts, value: object, look: _Look) -> None:
    key = id(value), id(counts)
    if isinstance(value, dict) and key not in look.records:
        look.records.add(key)
        for name in value.keys() & counts.keys():
            counts[name](value[name], look)


def _row(counts: Iterable[Count], value: object, look: _Look) -> None:
    if isinstance(value, list):
        for count, item in zip(counts, value, strict=False):
            count(item, look)


def _mapping(count: Count, value: object, look: _Look) -> None:
    if isinstance(value, dict):
        for item in value.values():
            count(item, look)


def _array(count: Count, value: object, look: _Look) -> None:
    if isinstance(value, list):
        for item in value:
            count(item, look)
