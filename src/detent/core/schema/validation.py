"""JSON Schema 2020-12: one sentence for each way in which a value does not fit a schema.

The core, applicator and validation vocabularies are checked, but for what `schema_rules` refuses.
Patterns are those of `re`. Of the formats, those that Python can read are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from detent.core.schema.keywords import (
    ASSERTIONS,
    FORMATS,
    Check,
    Place,
    Schema,
    identity,
    is_a,
    kind_of,
    shown,
)

PHRASES: Mapping[str, str] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}


def faults(value: object, schema: Schema) -> Iterator[str]:
    """One sentence for each way in which the JSON value `value` does not fit `schema`.

    >>> list(faults({"n": 1.5}, {"properties": {"n": {"type": "integer"}}}))
    ["'n' must be an integer, got 1.5"]
    """
    return _faults(value, schema, Place(schema))


def resolved(reference: str, root: Schema) -> Schema:
    """The schema that a local reference (``#``, ``#/$defs/x``) names.

    Raises:
        LookupError: there is none.
    """
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found[int(name)] if isinstance(found, list) else found[name]
    return cast(Schema, found)


def _faults(value: object, schema: Schema, place: Place) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{place} must be left out"
        return
    if not _is_alike(value, schema):
        yield f"{place} must be {_expected(schema, place)}, got {shown(value)}"
        return
    kind = kind_of(value)
    for keyword, rule in schema.items():
        spoken_of, check = CHECKS.get(keyword, ("", None))
        if check is not None and spoken_of in ("any", kind):
            yield from check(value, rule, schema, place)


def fits(value: object, schema: Schema, place: Place) -> bool:
    """Whether a value fits the part of a schema at `place`."""
    return next(_faults(value, schema, place), None) is None


def _is_alike(value: object, schema: Mapping[str, Any]) -> bool:
    """Whether type, const and enum hold. If not, the other keywords have nothing to add."""
    if "type" in schema and not is_a(value, schema["type"]):
        return False
    if "const" in schema and identity(value) != identity(schema["const"]):
        return False
    return "enum" not in schema or identity(value) in map(identity, schema["enum"])


def _reference(value: object, rule: str, schema: object, place: Place) -> Iterator[str]:
    yield from _faults(value, resolved(rule, place.root), place)


def _all_of(
    value: object, options: Sequence[Schema], schema: object, place: Place
) -> Iterator[str]:
    for option in options:
        yield from _faults(value, option, place)


def _any_of(
    value: object, options: Sequence[Schema], schema: object, place: Place
) -> Iterator[str]:
    if not any(fits(value, option, place) for option in options):
        yield from _nearest(value, options, place)


def _one_of(
    value: object, options: Sequence[Schema], schema: object, place: Place
) -> Iterator[str]:
    fitting = sum(fits(value, option, place) for option in options)
    if fitting == 0:
        yield from _nearest(value, options, place)
    elif fitting > 1:
        yield f"{place} must fit exactly one of {len(options)} forms, and fits {fitting}"


def _nearest(value: object, options: Sequence[Schema], place: Place) -> Iterator[str]:
    """What to say when no option fits: what those for values of this type say, if there are any."""
    direct = [_direct(option, place) for option in options]
    said = [list(_faults(value, option, place)) for option in direct if _is_alike(value, option)]
    if len(said) == 1:
        yield from said[0]
    elif said:
        told = "; ".join(sorted(said, key=len)[0])  # noqa: FURB192 - mypy cannot type min here
        yield f"{place} must fit one of {len(options)} forms; the nearest one says: {told}"
    else:
        expected = " or ".join(dict.fromkeys(_expected(option, place) for option in direct))
        yield f"{place} must be {expected}, got {shown(value)}"


def _not(value: object, rule: Schema, schema: object, place: Place) -> Iterator[str]:
    if fits(value, rule, place):
        yield f"{place} must not be {_expected(_direct(rule, place), place)}, got {shown(value)}"


def _if(value: object, rule: Schema, schema: Mapping[str, Any], place: Place) -> Iterator[str]:
    chosen = "then" if fits(value, rule, place) else "else"
    yield from _faults(value, schema.get(chosen, True), place)


def _properties(
    value: dict[str, object], rule: Mapping[str, Schema], schema: object, place: Place
) -> Iterator[str]:
    for name, option in rule.items():
        if name in value:
            yield from _faults(value[name], option, place.of(name))


def _pattern_properties(
    value: dict[str, object], rule: Mapping[str, Schema], schema: object, place: Place
) -> Iterator[str]:
    for pattern, option in rule.items():
        for name, item in value.items():
            if re.search(pattern, name):
                yield from _faults(item, option, place.of(name))


def _additional_properties(
    value: dict[str, object], rule: Schema, schema: Mapping[str, Any], place: Place
) -> Iterator[str]:
    known: Mapping[str, Schema] = schema.get("properties", {})
    patterns = schema.get("patternProperties", ())
    for name, item in value.items():
        if name in known or any(re.search(pattern, name) for pattern in patterns):
            continue
        if rule is False:
            yield f"{place.of(name)} is not known; {_instead_of(name, known)}"
        else:
            yield from _faults(item, rule, place.of(name))


def _property_names(
    value: dict[str, object], rule: Schema, schema: object, place: Place
) -> Iterator[str]:
    for name in value:
        yield from _faults(name, rule, place.of(f"{name} (the name)"))


def _dependent_schemas(
    value: dict[str, object], rule: Mapping[str, Schema], schema: object, place: Place
) -> Iterator[str]:
    for name, option in rule.items():
        if name in value:
            yield from _faults(value, option, place)


def _prefix_items(
    value: list[object], rule: Sequence[Schema], schema: object, place: Place
) -> Iterator[str]:
    for index, (item, option) in enumerate(zip(value, rule, strict=False)):
        yield from _faults(item, option, place.at(index))


def _items(
    value: list[object], rule: Schema, schema: Mapping[str, Any], place: Place
) -> Iterator[str]:
    first = len(schema.get("prefixItems", ()))
    for index, item in enumerate(value[first:], first):
        yield from _faults(item, rule, place.at(index))


def _contains(
    value: list[object], rule: Schema, schema: Mapping[str, Any], place: Place
) -> Iterator[str]:
    found = sum(fits(item, rule, place) for item in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains", found)
    if not least <= found <= most:
        bound = f"at least {least}" if found < least else f"at most {most}"
        wanted = _expected(_direct(rule, place), place)
        yield f"{place} must have {bound} items that are {wanted}, got {found}"


CHECKS: Mapping[str, tuple[str, Check]] = {
    "$ref": ("any", _reference),
    "allOf": ("any", _all_of),
    "anyOf": ("any", _any_of),
    "oneOf": ("any", _one_of),
    "not": ("any", _not),
    "if": ("any", _if),
    "properties": ("object", _properties),
    "patternProperties": ("object", _pattern_properties),
    "additionalProperties": ("object", _additional_properties),
    "propertyNames": ("object", _property_names),
    "dependentSchemas": ("object", _dependent_schemas),
    "prefixItems": ("array", _prefix_items),
    "items": ("array", _items),
    "contains": ("array", _contains),
    **ASSERTIONS,
}
"""For each keyword the JSON type that it speaks about, and its check."""


def _direct(schema: Schema, place: Place) -> Mapping[str, Any]:
    """The schema that `schema` refers to, or is; for true and false an object that means it."""
    while not isinstance(schema, bool) and list(schema) == ["$ref"]:
        schema = resolved(schema["$ref"], place.root)
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return schema


def _expected(schema: Mapping[str, Any], place: Place) -> str:
    if "const" in schema:
        return shown(schema["const"])
    if "enum" in schema:
        return " or ".join(map(shown, schema["enum"]))
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]][1]
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        return " or ".join(PHRASES[name] for name in names)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_expected(_direct(option, place), place) for option in options)
    return "what its schema says"


def _instead_of(name: str, known: Mapping[str, Schema]) -> str:
    if close := get_close_matches(name, known, 1):
        return f"did you mean '{close[0]}'?"
    return f"there is: {', '.join(known) or 'nothing'}"
