"""What a JSON Schema may say: nothing that is wrong, nor what `json_schema` cannot check."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import TypeAlias

from detent.core.schema.keywords import Schema, is_a
from detent.core.schema.validation import CHECKS, PHRASES, resolved

Rule: TypeAlias = tuple[Callable[[object], bool], str]

ONE = frozenset(
    {"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"}
)
MANY = frozenset({"prefixItems", "allOf", "anyOf", "oneOf"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""The keywords that hold one schema, a list of schemas, and schemas by name."""

IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""The keywords whose schemas speak of the same value."""

DESCRIPTIONS = frozenset(
    {
        *("$schema", "$id", "$comment", "title", "description", "default", "examples"),
        *("deprecated", "readOnly", "writeOnly", "contentMediaType"),
    }
)
"""The keywords that ask nothing of a value."""


def schema_faults(schema: object, root: Schema | None = None, path: str = "") -> Iterator[str]:
    """One sentence for each thing in `schema` that is wrong, or that cannot be checked here."""
    where = path or "the schema"
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{where} must be an object, got {schema!r}"
        return
    for keyword, rule in schema.items():
        if not isinstance(keyword, str) or keyword not in KNOWN:
            yield from _unknown(where, keyword)
        elif keyword in SHAPES and not SHAPES[keyword][0](rule):
            yield f"{where}: {keyword!r} must be {SHAPES[keyword][1]}, got {rule!r}"
        elif keyword == "$ref" and not _leads_somewhere(
            str(rule), schema if root is None else root
        ):
            yield f"{where}: '$ref' must name a schema in '$defs', as in '#/$defs/x', got {rule!r}"
        elif keyword == "$ref" and _is_endless(schema, schema if root is None else root, ()):
            yield f"{where}: '$ref' leads back to itself, and to no value inside: {rule!r}"
    for name, part in parts(schema):
        yield from schema_faults(part, schema if root is None else root, f"{path}/{name}")


def parts(schema: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The schemas directly inside `schema`, each with its path."""
    for keyword, rule in schema.items():
        if keyword in ONE:
            yield keyword, rule
        elif keyword in MANY and isinstance(rule, list):
            yield from ((f"{keyword}/{index}", part) for index, part in enumerate(rule))
        elif keyword in NAMED and isinstance(rule, Mapping):
            yield from ((f"{keyword}/{name}", part) for name, part in rule.items())


def without(schema: object, keywords: frozenset[str]) -> object:
    """`schema` with these keywords left out, at every depth."""
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, object] = {}
    for keyword, rule in schema.items():
        if keyword in keywords:
            continue
        if keyword in NAMED:
            kept[keyword] = {name: without(part, keywords) for name, part in rule.items()}
        elif keyword in MANY:
            kept[keyword] = [without(part, keywords) for part in rule]
        else:
            kept[keyword] = without(rule, keywords) if keyword in ONE else rule
    return kept


def _leads_somewhere(reference: str, root: Schema) -> bool:
    if not re.match(r"#(/|$)", reference):
        return False
    try:
        return isinstance(resolved(reference, root), Mapping | bool)
    except (LookupError, TypeError, ValueError):
        return False


def _is_endless(schema: object, root: Schema, trail: tuple[str, ...]) -> bool:
    """Whether references, which have led here by `trail`, lead round without going into a value."""
    if not isinstance(schema, Mapping):
        return False
    reference = str(schema.get("$ref", ""))
    if reference in trail:
        return True
    here = [part for path, part in parts(schema) if path.split("/")[0] in IN_PLACE]
    if any(_is_endless(part, root, trail) for part in here):
        return True
    leads = _leads_somewhere(reference, root)
    return leads and _is_endless(resolved(reference, root), root, (*trail, reference))


def _unknown(where: str, keyword: object) -> Iterator[str]:
    """Why an unknown keyword is wrong; most are an annotation of somebody's, and are not."""
    close = get_close_matches(str(keyword), KNOWN, 1, cutoff=0.8)
    if keyword in UNCHECKED or not isinstance(keyword, str):
        yield f"{where} uses {keyword!r}, which arguments cannot be checked against"
    elif close:
        yield f"{where} uses {keyword!r}, which is no keyword; did you mean {close[0]!r}?"


def _pattern(rule: object) -> bool:
    try:
        re.compile(str(rule))
    except re.error:
        return False
    return isinstance(rule, str)


def _names(rule: object) -> bool:
    return isinstance(rule, list) and all(isinstance(name, str) for name in rule)


def _types(rule: object) -> bool:
    names = rule if isinstance(rule, list) else [rule]
    return bool(names) and all(isinstance(name, str) and name in PHRASES for name in names)


def _count(rule: object) -> bool:
    return is_a(rule, "integer") and isinstance(rule, int | float) and rule >= 0


COUNT: Rule = (_count, "a whole number from 0")
NUMBER: Rule = (lambda rule: is_a(rule, "number"), "a number")
TEXT: Rule = (lambda rule: isinstance(rule, str), "a string")
SHAPES: Mapping[str, Rule] = {
    "type": (_types, f"one of {', '.join(PHRASES)}, or a list of these"),
    "enum": (lambda rule: isinstance(rule, list) and bool(rule), "a list of values"),
    "required": (_names, "a list of names"),
    "uniqueItems": (lambda rule: isinstance(rule, bool), "true or false"),
    "multipleOf": (
        lambda rule: is_a(rule, "number") and isinstance(rule, int | float) and rule > 0,
        "a number above 0",
    ),
    "pattern": (_pattern, "a regular expression"),
    "patternProperties": (
        lambda rule: isinstance(rule, Mapping) and all(map(_pattern, rule)),
        "schemas by regular expression",
    ),
    "dependentRequired": (
        lambda rule: isinstance(rule, Mapping) and all(map(_names, rule.values())),
        "lists of names by name",
    ),
    **dict.fromkeys(("format", "contentEncoding", "$ref", "description"), TEXT),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), NUMBER),
    **{f"{end}{what}": COUNT for end in ("min", "max") for what in ("Length", "Items", "Contains")},
    **dict.fromkeys(("minProperties", "maxProperties"), COUNT),
    **dict.fromkeys(
        MANY, (lambda rule: isinstance(rule, list) and bool(rule), "a list of schemas")
    ),
    **dict.fromkeys(
        NAMED - {"patternProperties"},
        (lambda rule: isinstance(rule, Mapping), "schemas by name"),
    ),
}
"""What the rule of a keyword must look like, as a test and in words."""

UNCHECKED = frozenset(
    {"unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$dynamicAnchor", "$vocabulary"}
)
"""The keywords of JSON Schema that would be passed over in silence, and so are refused."""

KNOWN = frozenset(
    {*CHECKS, *ONE, *MANY, *NAMED, *DESCRIPTIONS, *SHAPES, "const", "minContains", "maxContains"}
)
