"""From a type to the JSON Schema (2020-12) of the values that `conversion` makes it of."""

from __future__ import annotations

import re
from collections import abc
from functools import cache
from inspect import signature
from typing import Annotated, Any, TypeAlias, cast, get_args, get_origin

from attrs import NOTHING

from detent.core.schema.accepted_keywords import schema_faults, without
from detent.core.schema.constraints import plain_bound, rules_of
from detent.core.schema.model_names import has_model_parts
from detent.core.schema.record_fields import (
    EMPTY,
    NoSchemaError,
    class_of,
    fields_of,
    require_name,
)
from detent.core.schema.type_forms import SCHEMAS, plain_choices, type_form
from detent.core.tools.default_forms import default_form, value_form

Json: TypeAlias = dict[str, Any]
Describe: TypeAlias = abc.Callable[[type], abc.Mapping[str, str]]
"""Says of a class what its fields mean, by name, and under "" what the class is."""

WHOLE = "-?(0|[1-9][0-9]*)"
KEY_PATTERNS = {"integer": f"^{WHOLE}$", "number": rf"^{WHOLE}(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
"""What the names of an object's properties look like that stand for numbers."""

BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
KEYWORDS: abc.Mapping[str, abc.Mapping[str, str]] = {
    "number": {**BOUNDS, "multiple_of": "multipleOf"},
    "string": {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
}
"""For each type of JSON the constraints that a schema can say, with its words for them."""

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
                return _choice(parts)
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
        unique = {"uniqueItems": True} if kind in (set, frozenset) else {}
        return {"type": "array", **self._part("items", item), **unique}

    def _names(self, declared: Any) -> Json:
        """What the names of an object's properties must be, where they are keys of this type."""
        schema = self.schema(declared)
        if schema == SCHEMAS[str]:
            return {}
        if (kind := schema.get("type")) in ("integer", "number"):
            schema = {"pattern": KEY_PATTERNS[kind]}
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
            default = default_data(field.default, field.declared, is_read=True)
            properties[field.name] = documented(schema, texts.get(field.name, ""), default)
            # nobody can be shown, or asked about, what a function will make: the model is to say it
            is_unsaid = default is NOTHING and field.default is not NOTHING
            if field.is_required or field.is_made or is_unsaid:
                required.append(field.name)
        whole = {"type": "object", "properties": properties, "required": required}
        return documented({**whole, "additionalProperties": False}, texts.get("", ""))

    def _pydantic(self, kind: Any) -> Json:
        """The schema that a pydantic model gives of itself, its definitions named after it."""
        name = self._fresh(kind.__name__)
        known = signature(kind.model_json_schema).parameters["schema_generator"].default
        template, writer = f"#/$defs/{name}.{{model}}", _writer_like(known)
        try:
            written = kind.model_json_schema(ref_template=template, schema_generator=writer)
        except NoSchemaError as error:
            raise TypeError(f"in {kind.__name__}: {error}") from None
        schema = cast(Json, without(written, _is_unwanted))
        for part, definition in schema.pop("$defs", {}).items():
            self.definitions[f"{name}.{part}"] = definition
        return schema

    def _fresh(self, name: str) -> str:
        name = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)  # it stands in references: `Box[int]`
        taken = {*self._named.values(), *(known.split(".")[0] for known in self.definitions)}
        return name if name not in taken else self._fresh(f"{name}_")


@cache
def _writer_like(known: Any) -> Any:
    """A writer of pydantic's, but for fields that a function makes, which are as in a record.

    RULE: a field is required, or its default is said, under the first name that pydantic looks for:
    else another name of it would be read, which nobody who judges the call looks at.

    RULE: what a class drops fits no schema: people would be shown what never runs.

    RULE: a union takes the type that a value is of. By "left_to_right" the first one takes what can
    be made one of its own: "1_000" was shown, a text, and 1000 ran.
    """

    class Writer(known):  # type: ignore[misc]  # its class is only known by then
        def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: FBT001  # of pydantic
            require_name(field.get("validation_alias"))
            factory = field["schema"].get("default_factory")
            is_made = factory is not None and factory not in EMPTY
            return is_made or bool(super().field_is_required(field, total))

        def get_default_value(self, schema: Any) -> Any:
            factory = schema.get("default_factory")
            return factory() if factory in EMPTY else super().get_default_value(schema)

        def encode_default(self, dft: Any) -> Any:
            is_whole = has_model_parts(type(dft))  # else its class would leave out what it likes
            return value_form(dft) if is_whole else super().encode_default(dft)

        def union_schema(self, schema: Any) -> Any:
            if schema.get("mode") == "left_to_right":
                raise NoSchemaError(
                    'a union is taken by union_mode="left_to_right", and no schema says which of '
                    "its types takes a value: what is shown would not be what runs; leave the "
                    "union_mode out, or tell classes apart by a discriminator"
                )
            return super().union_schema(schema)

        def model_schema(self, schema: Any) -> Any:
            return _closed(super().model_schema(schema))

        def dataclass_schema(self, schema: Any) -> Any:
            return _closed(super().dataclass_schema(schema))

        def typed_dict_schema(self, schema: Any) -> Any:
            return _closed(super().typed_dict_schema(schema))

    return Writer


def _closed(schema: Json) -> Json:
    """The schema of a class, which takes its fields, and more only where it says so."""
    return {"additionalProperties": False, **schema} if "properties" in schema else schema


def _is_unwanted(keyword: str, rule: object) -> bool:
    """What a model need not know.

    Raises:
        TypeError: it is a pattern that needs backtracking, which pydantic matches by
            ``regex_engine="python-re"``: a short text of a model could keep the process busy.
    """
    if keyword == "pattern" and (faults := schema_faults({keyword: rule})):
        raise TypeError(f"{'; '.join(faults)}; say it otherwise, or check it in a validator")
    return keyword in NOISE


def documented(schema: Json, text: str, default: object = NOTHING) -> Json:
    """The schema with a description, unless it has one, and with a default, which is JSON."""
    if text and "description" not in schema:
        schema["description"] = text
    if default is not NOTHING:
        schema["default"] = default
    return schema


def default_data(default: object, declared: Any, *, is_read: bool = False) -> object:
    """The JSON of a default of something of a type; NOTHING where none says all of it.

    If it `is_read`, as what a call is filled in with, also where it is read as another value.
    """
    form = None if default is NOTHING else default_form(default, declared)
    if form is None or form.fault or (is_read and not form.is_read):
        return NOTHING
    return form.data


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


def constrained(schema: Json, notes: abc.Iterable[object]) -> Json:
    """The schema with those constraints among `notes` that it has words for.

    Raises:
        TypeError: no value of this type can meet one.
    """
    rules = list(rules_of(notes))
    if "anyOf" in schema:
        return {**schema, "anyOf": [constrained(option, notes) for option in schema["anyOf"]]}
    declared = schema.get("type", "")
    kind = declared[-1] if isinstance(declared, list) else declared
    kind = "number" if kind == "integer" else kind
    words = KEYWORDS.get(kind, {})
    for name, rule in rules:
        if name in words:
            schema = {**schema, words[name]: plain_bound(rule)}
        elif words and name != "func" and "format" not in schema:
            raise TypeError(f"{name}={rule!r} says nothing of a {kind}")
    return schema


def _choice(choices: abc.Iterable[object]) -> Json:
    values = plain_choices(choices)
    kinds = {type(value) for value in values}
    return {**(SCHEMAS[kinds.pop()] if len(kinds) == 1 else {}), "enum": values}
