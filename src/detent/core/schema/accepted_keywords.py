"""What a JSON Schema may say: nothing that is wrong, nor what would be passed over in silence."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from detent.core.schema.explaining.sentences import ASKED
from detent.core.schema.references import Schema, resolve
from detent.core.schema.schema_parts import MANY, NAMED, ONE
from detent.core.schema.validation import Validator, compile_schema
from detent.core.values.checks import near_name
from detent.core.values.frozen import thaw

META_SCHEMA = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
"""What every schema fits. The library has it; nothing is fetched."""

IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""The keywords whose schemas speak of the same value."""

DESCRIPTIONS = (
    *("$schema", "$id", "$comment", "title", "description", "default", "examples"),
    *("deprecated", "readOnly", "writeOnly", "contentMediaType"),
)
"""The keywords that ask nothing of a value."""


def schema_faults(schema: object) -> list[str]:
    """One sentence for each thing in `schema` that is wrong, or that cannot be checked here."""
    if not isinstance(schema, Mapping | bool):
        return [f"the schema must be an object, got {schema!r}"]
    root: Schema = schema
    if faults := list(_keyword_faults(root, root, "")):
        return faults
    try:
        compile_schema(root)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        faults = Validator(META_SCHEMA).faults(thaw(root), "the schema")
        return faults or [f"the schema cannot be used: {reason}"]
    return []


def _keyword_faults(schema: object, root: Schema, path: str) -> Iterator[str]:
    """What the library does not mind, or tells later: unknown keywords, and references."""
    if not isinstance(schema, Mapping):
        return
    place = path or "the schema"
    for keyword, rule in schema.items():
        if keyword in UNCHECKED or not isinstance(keyword, str):
            yield f"{place} uses {keyword!r}, which arguments cannot be checked against"
        elif keyword not in KNOWN:  # most are an annotation of somebody's, and not wrong
            if (other := near_name(keyword, KNOWN, 0.8)) is not None:
                yield f"{place} uses {keyword!r}, which is no keyword; did you mean {other!r}?"
        elif keyword == "$ref" and target_of(rule, root) is None:
            yield f"{place}: '$ref' must name a schema in '$defs', as in '#/$defs/x', got {rule!r}"
        elif keyword == "$ref" and _is_endless(schema, root, (), set()):
            yield f"{place}: '$ref' leads back to itself, and to no value inside: {rule!r}"
    for name, part in parts(schema):
        yield from _keyword_faults(part, root, f"{path}/{name}")


def empty_words(schema: object) -> Iterator[str]:
    """The words that say nothing of a value: no keywords, and those that lack another one."""
    if not isinstance(schema, Mapping):
        return
    for keyword in schema:
        if keyword not in KNOWN or NEEDED.get(keyword, keyword) not in schema:
            yield keyword
    for _, part in parts(schema):
        yield from empty_words(part)


def parts(schema: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The schemas directly inside `schema`, each with its path."""
    for keyword, rule in schema.items():
        if keyword in ONE:
            yield keyword, rule
        elif keyword in MANY and isinstance(rule, list):
            yield from ((f"{keyword}/{index}", part) for index, part in enumerate(rule))
        elif keyword in NAMED and isinstance(rule, Mapping):
            yield from ((f"{keyword}/{name}", part) for name, part in rule.items())


def parts_under(schema: Mapping[str, object], keywords: Collection[str]) -> Iterator[object]:
    """The schemas directly inside `schema` that stand under one of these keywords."""
    return (part for path, part in parts(schema) if path.split("/")[0] in keywords)


def without(schema: object, is_unwanted: Callable[[str, object], bool]) -> object:
    """`schema` without the keywords, with their rules, that are not wanted at any depth."""
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, object] = {}
    for keyword, rule in schema.items():
        if is_unwanted(keyword, rule):
            continue
        if keyword in NAMED:
            result[keyword] = {name: without(part, is_unwanted) for name, part in rule.items()}
        elif keyword in MANY:
            result[keyword] = [without(part, is_unwanted) for part in rule]
        else:
            result[keyword] = without(rule, is_unwanted) if keyword in ONE else rule
    return result


def target_of(reference: object, root: Schema) -> Schema | None:
    """The schema that a reference leads to; None if it leads to none in this one."""
    if not isinstance(reference, str) or not re.match(r"#(/|$)", reference):
        return None
    try:
        target = resolve(reference, root)
    except (LookupError, TypeError, ValueError):
        return None
    return target if isinstance(target, Mapping | bool) else None


def _is_endless(schema: object, root: Schema, trail: tuple[str, ...], ended: set[str]) -> bool:
    """Whether references, which have led here by `trail`, lead round without going into a value.

    Those that have `ended` do not. Each is followed once: there may be two to each in each.
    """
    if not isinstance(schema, Mapping):
        return False
    reference = str(schema.get("$ref", ""))
    if reference in trail:
        return True
    if reference not in ended:
        if _is_endless(target_of(reference, root), root, (*trail, reference), ended):
            return True
        ended.add(reference)
    return any(_is_endless(part, root, trail, ended) for part in parts_under(schema, IN_PLACE))


UNCHECKED = (
    *("unevaluatedItems", "unevaluatedProperties"),
    *("$dynamicRef", "$dynamicAnchor", "$vocabulary"),
)
"""The keywords of JSON Schema that would be lost where what the state fills is taken out."""

RULES = (
    *("const", "enum", "format", "type", "$ref", "required", "uniqueItems", "dependentRequired"),
    *("minContains", "maxContains", "contentEncoding"),
)
NEEDED = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
"""The keywords that say nothing without another one."""
KNOWN = frozenset({*ONE, *MANY, *NAMED, *DESCRIPTIONS, *ASKED, *RULES})
