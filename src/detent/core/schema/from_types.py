"""From a type to the JSON Schema (2020-12) of the values that `conversion` makes it of."""

from __future__ import annotations

import json
import types
from collections import abc, deque
from dataclasses import is_dataclass
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    is_typeddict,
)

from attrs import NOTHING, has

from detent.core.schema.accepted_keywords import schema_faults, without
from detent.core.schema.constraints import constrained
from detent.core.schema.conversion import meaning, plain
from detent.core.schema.record_fields import class_of, fields_of, is_named_tuple
from detent.core.schema.scalars import SCALARS
from detent.core.schema.type_checks import type_name, undecorated

Json: TypeAlias = dict[str, Any]
Describe: TypeAlias = abc.Callable[[type], abc.Mapping[str, str]]
"""Says of a class what its fields mean, by name, and under "" what the class is."""

SCHEMAS: abc.Mapping[object, abc.Mapping[str, Any]] = {
    Any: {},
    object: {},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    **{kind: scalar.schema for kind, scalar in SCALARS.items()},
}
ARRAYS = frozenset(
    {list, tuple, deque, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable}
)
SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
OBJECTS = frozenset({dict, abc.Mapping, abc.MutableMapping})
WHOLE = "-?(0|[1-9][0-9]*)"
KEY_PATTERNS = {"integer": f"^{WHOLE}$", "number": rf"^{WHOLE}(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
"""What the names of an object's properties look like that stand for numbers."""

KINDS: abc.Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
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
        origin, arguments = get_origin(declared), get_args(declared)
        if origin is Annotated:
            schema = constrained(self.schema(arguments[0]), arguments[1:])
            return documented(schema, annotated_text(declared))
        if origin is Literal:
            choices = (item.value if isinstance(item, Enum) else item for item in arguments)
            return _choice([*choices], declared)
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.schema(argument) for argument in arguments]}
        if origin is None and declared in SCHEMAS:
            return dict(SCHEMAS[declared])
        if isinstance(declared, TypeVar):
            return self.schema(meaning(declared))
        if alias := getattr(declared, "__supertype__", getattr(declared, "__value__", None)):
            return self.schema(alias)
        kind = origin or declared
        if not isinstance(kind, type):
            raise TypeError(f"no JSON Schema describes {type_name(declared)}")
        return self._container(kind, arguments) or self._class(kind, declared)

    def _container(self, kind: type, arguments: tuple[Any, ...]) -> Json | None:
        if kind is tuple and arguments and arguments[-1] is not Ellipsis:
            return self._row(arguments)
        if kind in ARRAYS:
            return {"type": "array", **self._part("items", arguments[:1])}
        if kind in SETS:
            _require_hashable(arguments[:1])
            return {"type": "array", **self._part("items", arguments[:1]), "uniqueItems": True}
        if kind in OBJECTS:
            names = self._names(*arguments[:1])
            return {"type": "object", **names, **self._part("additionalProperties", arguments[1:])}
        return None

    def _names(self, declared: Any = str) -> Json:
        """What the names of an object's properties must be, where they are keys of this type."""
        if declared in (str, Any):
            return {}
        schema = self.schema(declared)
        kind: Any = schema.get("type", ())
        if kind in ("integer", "number") and "enum" not in schema:
            schema = {"pattern": KEY_PATTERNS[kind]}
        elif schema and "string" not in kind:
            raise TypeError(
                f"JSON has no objects with keys of type {type_name(declared)}; "
                f"take pairs, as in list[tuple[{type_name(declared)}, …]]"
            )
        return {"propertyNames": schema} if schema else {}

    def _class(self, kind: type, declared: object) -> Json:
        if issubclass(kind, Enum):
            return _choice([member.value for member in kind], declared)
        if hasattr(kind, "model_json_schema"):
            return self._pydantic(kind)
        if hasattr(kind, "__fspath__"):
            return {"type": "string"}
        if is_named_tuple(kind):
            return self._row([field.declared for field in fields_of(declared)])
        if is_typeddict(kind) or has(kind) or is_dataclass(kind):
            return self._record(declared)
        raise TypeError(f"no JSON Schema describes {type_name(declared)}")

    def _row(self, declared: abc.Sequence[Any]) -> Json:
        items = [self.schema(item) for item in declared]
        count = len(items)
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}

    def _part(self, keyword: str, arguments: tuple[Any, ...]) -> Json:
        schema = self.schema(arguments[0]) if arguments else {}
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
            if field.is_required:
                required.append(field.name)
        whole = {"type": "object", "properties": properties, "required": required}
        return documented({**whole, "additionalProperties": False}, texts.get("", ""))

    def _pydantic(self, kind: Any) -> Json:
        """The schema that a pydantic model gives of itself, its definitions named after it."""
        name = self._fresh(kind.__name__)
        written = kind.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        schema = cast(Json, without(written, _is_unwanted))
        for part, definition in schema.pop("$defs", {}).items():
            self.definitions[f"{name}.{part}"] = definition
        return schema

    def _fresh(self, name: str) -> str:
        taken = {*self._named.values(), *(known.split(".")[0] for known in self.definitions)}
        return name if name not in taken else self._fresh(f"{name}_")


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
        try:
            schema["default"] = json.loads(json.dumps(default, default=plain))
        except (TypeError, ValueError):
            return schema
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


def _require_hashable(arguments: tuple[Any, ...]) -> None:
    """Raise TypeError for the items of a set that no set can hold."""
    for argument in arguments:
        kind = undecorated(argument)
        if get_origin(kind) in (Union, types.UnionType):
            _require_hashable(get_args(kind))
        elif getattr(class_of(kind), "__hash__", True) is None:
            name = type_name(kind)
            raise TypeError(f"a set from JSON cannot hold a {name}, a list[{name}] can")


def _choice(values: list[object], declared: object) -> Json:
    kinds = {KINDS.get(type(value)) for value in values if value is not None}
    if None in kinds:
        raise TypeError(f"not every choice of {type_name(declared)} is a JSON value")
    kind = {"type": kinds.pop()} if len(kinds) == 1 and None not in values else {}
    return {**kind, "enum": values}
