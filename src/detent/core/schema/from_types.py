"""From a type to the JSON Schema (2020-12) of the values that `conversion` makes it of."""

from __future__ import annotations

import json
from collections import abc
from contextlib import suppress
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, cast, get_args, get_origin

from attrs import NOTHING

from detent.core.schema.accepted_keywords import schema_faults, without
from detent.core.schema.constraints import constrained
from detent.core.schema.conversion import plain
from detent.core.schema.record_fields import EMPTY, class_of, fields_of
from detent.core.schema.scalars import SCALARS
from detent.core.schema.type_checks import type_name, undecorated
from detent.core.schema.type_forms import SCHEMAS, type_form

Json: TypeAlias = dict[str, Any]
Describe: TypeAlias = abc.Callable[[type], abc.Mapping[str, str]]
"""Says of a class what its fields mean, by name, and under "" what the class is."""

WHOLE = "-?(0|[1-9][0-9]*)"
KEY_PATTERNS = {"integer": f"^{WHOLE}$", "number": rf"^{WHOLE}(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
"""What the names of an object's properties look like that stand for numbers."""

NOISE = frozenset({"title", "discriminator"})
"""What pydantic says of every model and no model of language needs."""


class SchemaWriter:
    """Writes the schemas of types that stand in one document.

    `definitions` collects what goes into its ``$defs``: the classes that contain themselves.
    """

    def __init__(self, describe: Describe) -> None:
        self.definitions: Json = {}
        self._describe = describe
        self._open: list[type] = []
        self._named: dict[type, str] = {}

    def schema(self, declared: Any) -> Json:
        """The JSON Schema of a type.

        Raises:
            TypeError: no schema describes the type.
        """
        form, kind, parts = type_form(declared)
        match form:
            case "scalar" | "path":
                return dict(SCHEMAS.get(kind, SCHEMAS[str]))
            case "choice":
                return _choice(parts, declared)
            case "annotated":
                schema = constrained(self.schema(parts[0]), parts[1:])
                return documented(schema, annotated_text(declared))
            case "union":
                return {"anyOf": [*map(self.schema, parts)]}
            case "model":
                return self._pydantic(kind)
            case "record":
                return self._record(kind)
            case "row":
                sizes = {"minItems": len(parts), "maxItems": len(parts)}
                return {"type": "array", "prefixItems": [*map(self.schema, parts)], **sizes}
            case "mapping":
                names, items = self._names(parts[0]), self._part("additionalProperties", parts[1])
                return {"type": "object", **names, **items}
            case _:
                return self._array(kind, parts[0])

    def _array(self, kind: Any, item: Any) -> Json:
        schema = {"type": "array", **self._part("items", item)}
        if kind not in (set, frozenset):
            return schema
        _require_hashable(item)
        return {**schema, "uniqueItems": True}

    def _names(self, declared: Any) -> Json:
        """What the names of an object's properties must be, where they are keys of this type."""
        schema = self.schema(declared)
        if schema == SCHEMAS[str]:
            return {}
        kind: Any = schema.get("type", ())
        if kind in ("integer", "number") and "enum" not in schema:
            schema = {"pattern": KEY_PATTERNS[kind]}
        elif schema and "string" not in kind:
            raise TypeError(
                f"JSON has no objects with keys of type {type_name(declared)}; "
                f"take pairs, as in list[tuple[{type_name(declared)}, …]]"
            )
        return {"propertyNames": schema} if schema else {}

    def _part(self, keyword: str, declared: Any) -> Json:
        schema = self.schema(declared)
        return {keyword: schema} if schema else {}

    def _record(self, declared: Any) -> Json:
        """An object with a property for each field; a recursive class gets a definition."""
        if declared in self._open or declared in self._named:  # it contains itself
            name = self._named.setdefault(declared, self._fresh(class_of(declared).__name__))
            return {"$ref": f"#/$defs/{name}"}
        self._open.append(declared)
        schema = self._object(declared)
        self._open.pop()
        if declared not in self._named:
            return schema
        self.definitions[self._named[declared]] = schema
        return {"$ref": f"#/$defs/{self._named[declared]}"}

    def _object(self, declared: Any) -> Json:
        kind = class_of(declared)
        texts = self._describe(kind)
        properties: Json = {}
        required: list[str] = []
        for field in fields_of(declared):
            try:
                schema = self.schema(field.declared)
            except TypeError as error:
                raise TypeError(f"in {kind.__name__}.{field.name}: {error}") from error
            properties[field.name] = documented(schema, texts.get(field.name, ""), field.default)
            # nobody can be shown, or asked about, what a function will make: the model is to say it
            if field.is_required or field.is_made:
                required.append(field.name)
        whole = {"type": "object", "properties": properties, "required": required}
        return documented({**whole, "additionalProperties": False}, texts.get("", ""))

    def _pydantic(self, kind: Any) -> Json:
        """The schema that a pydantic model gives of itself, its definitions named after it."""
        name = self._fresh(kind.__name__)
        template = f"#/$defs/{name}.{{model}}"
        written = kind.model_json_schema(ref_template=template, schema_generator=_pydantic_writer())
        schema = cast(Json, without(written, _is_unwanted))
        for part, definition in schema.pop("$defs", {}).items():
            self.definitions[f"{name}.{part}"] = definition
        return schema

    def _fresh(self, name: str) -> str:
        taken = {*self._named.values(), *(known.split(".")[0] for known in self.definitions)}
        return name if name not in taken else self._fresh(f"{name}_")


@cache
def _pydantic_writer() -> type:
    """Pydantic's own, but for fields that a function makes: they are required, as in a record."""
    from pydantic.json_schema import GenerateJsonSchema

    class Writer(GenerateJsonSchema):
        def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: FBT001  # of pydantic
            factory = field["schema"].get("default_factory")
            is_made = factory is not None and factory not in EMPTY
            return is_made or super().field_is_required(field, total)

    return Writer


def _is_unwanted(keyword: str, rule: object) -> bool:
    """What a model need not know, and a pattern that cannot be checked before pydantic does."""
    return keyword in NOISE or (keyword == "pattern" and bool(schema_faults({keyword: rule})))


def has_schema(declared: Any) -> bool:
    """Whether a JSON Schema describes the type."""
    try:
        SchemaWriter(lambda kind: {}).schema(declared)
    except (TypeError, NameError):
        return False
    return True


def documented(schema: Json, text: str, default: object = NOTHING) -> Json:
    """The schema with a description, unless it has one, and with a default that JSON can say."""
    if text and "description" not in schema:
        schema["description"] = text
    if default is not NOTHING:
        with suppress(TypeError, ValueError):
            schema["default"] = json.loads(json.dumps(default, default=plain))
    return schema


def annotated_text(declared: object) -> str:
    """The description in ``Annotated[T, "description"]``; "" without one.

    It may also stand in pydantic's ``Field(description=…)`` or in a ``Doc``.
    """
    if get_origin(declared) is not Annotated:
        return ""
    notes = get_args(declared)[1:]
    words = ("description", "documentation")
    texts = [getattr(note, word, None) for note in notes for word in words]
    return next((text for text in (*notes, *texts) if isinstance(text, str)), "")


def _require_hashable(declared: Any) -> None:
    """Raise TypeError for the items of a set that no set can hold."""
    kind = undecorated(declared)
    if get_origin(kind) in (Union, UnionType):
        for option in get_args(kind):
            _require_hashable(option)
    elif getattr(class_of(kind), "__hash__", True) is None:
        name = type_name(kind)
        raise TypeError(f"a set from JSON cannot hold a {name}, a list[{name}] can")


def _choice(choices: abc.Iterable[object], declared: object) -> Json:
    values = [choice.value if isinstance(choice, Enum) else choice for choice in choices]
    kinds = {type(value) for value in values}
    if not kinds <= SCHEMAS.keys() - SCALARS.keys() - {object}:
        raise TypeError(f"not every choice of {type_name(declared)} is a JSON value")
    return {**(SCHEMAS[kinds.pop()] if len(kinds) == 1 else {}), "enum": values}
