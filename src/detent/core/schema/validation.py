"""Whether a JSON value fits a JSON Schema (2020-12), and one sentence for each way it does not.

The library says which keyword fails where; here that becomes what a model can act on. Whatever a
model sends, a check takes time linear in its size: patterns run on an engine without backtracking.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from attrs import Factory, field, frozen

from detent.core.schema.explaining.closing import closed, closed_union
from detent.core.schema.explaining.looks import is_short
from detent.core.schema.explaining.sentences import FAULTS_MAX, Explainer
from detent.core.schema.references import Schema, part_at
from detent.core.schema.scalars import SCALARS
from detent.core.values.frozen import thaw

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, KeywordValidator, ValidationError

DEPTH_MAX = 128
"""How deep a value may be: the library recurses on a stack that a thread may have little of."""

BITS_MAX = 14_000
"""How large an integer may be: like Python, the library reads no number of more than 4,300 digits;
of a larger one it says anything."""

MORE = "and more may be wrong"
"""What is said where one fault is looked for, as to look for all would take too long."""

CONTAINERS = (dict, list, tuple)
HARMLESS = frozenset({str, bool, type(None)})


def _decimal(text: str) -> None:
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        raise ValueError(text)


FORMATS: Mapping[str, Callable[[str], object]] = {
    "date-time": SCALARS[datetime].read,
    "date": SCALARS[date].read,
    "time": SCALARS[time].read,
    "duration": SCALARS[timedelta].read,
    "uuid": SCALARS[UUID].read,
    "decimal": _decimal,
    "regex": lambda text: compile_schema({"pattern": text}),
}
"""The formats that mean here what Python reads, as times without a zone, and no pattern that needs
backtracking. The library checks the others it knows."""


@frozen
class Validator:
    """The test of a schema, which is made once and then is fast.

    >>> test = Validator({"properties": {"n": {"type": "integer"}}})
    >>> test.fits({"n": 1}), test.faults({"n": 1.5})
    (True, ["'n' must be an integer, got 1.5"])

    Raises:
        ValueError: the schema is none, or has a pattern that only backtracking can match.
    """

    schema: Schema

    def _compile(self) -> Draft202012Validator:
        return compile_schema(self.schema)

    _compiled: Draft202012Validator = field(
        init=False, eq=False, repr=False, default=Factory(_compile, takes_self=True)
    )

    def fits(self, value: object) -> bool:
        """Whether a value fits the schema."""
        try:
            require_json(value)
            return self._compiled.is_valid(value)
        except ValueError:
            return False

    def fits_json(self, value: object) -> bool:
        """As `fits`, of what is known to be JSON."""
        return self._compiled.is_valid(value)

    def faults(self, value: object, whole: str = "the arguments") -> list[str]:
        """One sentence for each way in which the value, which is called `whole`, does not fit.

        Where it would take too long to find all, it is one, and that there may be more.
        """
        try:
            require_json(value)
            if is_short(value, self.schema, self.schema):
                return self._all_faults(value, whole)
            return self._first_fault(value, whole)
        except ValueError as error:
            return [f"{whole} cannot be checked: {error}"]

    def _all_faults(self, value: object, whole: str) -> list[str]:
        errors = list(self._compiled.iter_errors(value))
        try:
            return Explainer(self.schema, value, whole).summary(errors)
        except LookupError:  # a reference that only the library follows: it says it in its words
            return [f"{whole} do not fit: {error.message[:200]}" for error in errors[:FAULTS_MAX]]

    def _first_fault(self, value: object, whole: str) -> list[str]:
        """What is wrong with the first part that is: of a union why, where that is found soon."""
        root = closed(self.schema)
        try:
            error = _first_error(root, value)
            if error is None:
                return []
            union = closed_union(root, error.schema_path)
            if union is not None:
                (options,) = union.values()
                opened = closed(self.schema, options)
                if is_short(part_at(value, error.instance_path), union, opened):
                    root, error = opened, _first_error(opened, value) or error
            return [*Explainer(root, value, whole).summary([error]), MORE]
        except (LookupError, TypeError, ValueError):  # references that only the library follows
            is_right = self._compiled.is_valid(value)
        return [] if is_right else [f"{whole} do not fit, and it would take too long to say where"]


def _first_error(schema: Schema, value: object) -> ValidationError | None:
    """What is wrong with a value, if anything is."""
    from jsonschema_rs import ValidationError

    test = compile_schema(schema)
    try:
        test.validate(value)
    except ValidationError as error:
        return error
    return None


def faults(value: object, schema: Schema) -> list[str]:
    """One sentence for each way in which the JSON value `value` does not fit `schema`."""
    return Validator(schema).faults(value)


def compile_schema(schema: Schema) -> Draft202012Validator:
    """What the library makes of a schema; it fetches nothing that the schema refers to."""
    from jsonschema_rs import Draft202012Validator, RegexOptions  # loaded with the first tool

    require_json(schema)
    return Draft202012Validator(
        cast("dict[str, Any]", thaw(schema)),  # it reads no schema in frozen lists
        formats={name: partial(_is_read, read) for name, read in FORMATS.items()},
        validate_formats=True,
        pattern_options=RegexOptions(),
        keywords=KEYWORDS,
        offline=True,
    )


def require_json(value: object, depth: int = DEPTH_MAX) -> None:
    """Raise ValueError for what the library takes for something else, or overflows the stack on."""
    if isinstance(value, int):
        if value.bit_length() > BITS_MAX:
            raise ValueError(f"an integer has more than {BITS_MAX} bits")
    elif isinstance(value, CONTAINERS):
        if not depth:
            raise ValueError(f"more than {DEPTH_MAX} levels deep")
        for item in value.values() if isinstance(value, dict) else value:
            if type(item) not in HARMLESS:  # most arguments are: to look saves a call for each
                require_json(item, depth - 1)
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError(f"JSON has no {value}")


def _is_read(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


class _ContentEncoding:
    """The check of a keyword that says nothing by itself in 2020-12; of `bytes` it must."""

    def __init__(self, parent_schema: object, value: str, schema_path: object) -> None:
        self._is_base64 = value == "base64"

    def validate(self, instance: object) -> None:
        """Raise ValueError where a text is not encoded so."""
        if self._is_base64 and isinstance(instance, str):
            b64decode(instance, validate=True)


KEYWORDS: dict[str, type[KeywordValidator]] = {"contentEncoding": _ContentEncoding}
