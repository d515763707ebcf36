"""Hiding: what the state fills is taken out of a schema, wherever the schema speaks of it.

A parameter may stand among the properties, in a part that is composed in (`allOf`, `anyOf`,
`$ref`…) and in a rule about others. An object inside an argument may have a property of the same
name: that is another one, and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from detent.core.schema.accepted_keywords import IN_PLACE, KNOWN, parts, parts_under, without
from detent.core.schema.references import pointer_parts, resolve

Json: TypeAlias = dict[str, Any]
Names: TypeAlias = frozenset[str]

DEFINITIONS = ("$defs", "definitions")
TOLD_VALUES = ("default", "examples")
"""The keywords that tell values."""
OFFERING = ("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas")
"""The keywords whose schemas describe further properties of the same object."""
NAMELESS = ("patternProperties", "additionalProperties")
"""The keywords whose schemas describe properties that nobody has named."""


def without_properties(schema: Mapping[str, Any], hidden: Names) -> Json:
    """The schema of an object as it is for who neither sees nor sends the `hidden` properties.

    Where a rule turns on a hidden one (in `if`, `not` or `oneOf`), less is asked than before: what
    will be there is not known yet.
    """
    result: Json = _project(schema, hidden, schema, ())
    for keyword in DEFINITIONS:
        if definitions := _live_definitions(result, keyword):
            result[keyword] = definitions
        else:
            result.pop(keyword, None)
    return result


def without_defaults(schema: Mapping[str, Any], secret: Names) -> Json:
    """The schema of an object that asks the same, and does not say the defaults of its `secret`s.

    Nor those of their parts: which of these are secret, it does not say.
    """
    return {keyword: _without_secrets(schema, keyword, secret) for keyword in schema}


def _without_secrets(schema: Mapping[str, Any], keyword: str, secret: Names) -> Any:
    rule = schema[keyword]
    match keyword:
        case "properties":
            return {n: _bare(part) if n in secret else part for n, part in rule.items()}
        case "default":
            return _omit(rule, secret)
        case "examples" if isinstance(rule, list):
            return [_omit(example, secret) for example in rule]
        case "allOf" | "anyOf" | "oneOf":
            return [_strip_defaults(part, secret) for part in rule]
        case "if" | "then" | "else" | "not":
            return _strip_defaults(rule, secret)
        case "dependentSchemas":
            return {name: _strip_defaults(part, secret) for name, part in rule.items()}
        case _ if keyword in DEFINITIONS:
            own = {n: part for n, part in schema.get("properties", {}).items() if n in secret}
            live = _live_definitions({keyword: rule, "properties": own}, keyword)
            strip = partial(_strip_defaults, secret=secret)
            return {n: _bare(part) if n in live else strip(part) for n, part in rule.items()}
        case _ if keyword not in KNOWN:  # references may lead anywhere
            return _strip_values(rule)
        case _:
            return rule


def _strip_defaults(schema: Any, secret: Names) -> Any:
    return schema if isinstance(schema, bool) else without_defaults(schema, secret)


def _bare(schema: Any) -> Any:
    return without(schema, lambda keyword, rule: keyword in TOLD_VALUES)


def _strip_values(rule: Any) -> Any:
    """What no keyword says how to read, without anything that may be a value."""
    if isinstance(rule, Mapping):
        return {name: _strip_values(x) for name, x in rule.items() if name not in TOLD_VALUES}
    return [*map(_strip_values, rule)] if isinstance(rule, list | tuple) else rule


def property_names(schema: Mapping[str, Any]) -> Names:
    """The properties that the schema of an object, or a part composed into it, describes."""
    return frozenset(name for name, _ in _properties(schema, schema, OFFERING, frozenset()))


def property_schemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """All that the schema of an object says of its properties, wherever it does.

    What it says of those without a name is under "".
    """
    return _properties(schema, schema, (*IN_PLACE, ""), frozenset())


def _properties(
    schema: Any, root: Mapping[str, Any], keywords: Collection[str], trail: Names
) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, bool):
        return
    yield from schema.get("properties", {}).items()
    if "" in keywords:
        yield from (("", part) for part in parts_under(schema, NAMELESS))
    for part in parts_under(schema, keywords):
        yield from _properties(part, root, keywords, trail)
    if (reference := schema.get("$ref", "#")) != "#" and reference not in trail:
        target = resolve(reference, root)
        yield from _properties(target, root, keywords, trail | {reference})


def _project(schema: Any, hidden: Names, root: Mapping[str, Any], trail: tuple[str, ...]) -> Any:
    """`schema`, which speaks of the object itself; `trail` has the references that led to it."""
    if isinstance(schema, bool):
        return schema
    project = partial(_project, hidden=hidden, root=root, trail=trail)
    result: Json = {}
    further: list[Any] = []
    for keyword, rule in schema.items():
        if keyword in ("allOf", "anyOf", "oneOf"):
            options = [*map(project, rule)]
            if keyword == "oneOf" and options != rule:  # what told them apart may be hidden
                further.append({"anyOf": options})
            else:
                result[keyword] = options
        elif keyword in ("then", "else"):
            result[keyword] = project(rule)
        elif keyword == "dependentSchemas":
            visible = _omit(rule, hidden)
            result[keyword] = {name: project(part) for name, part in visible.items()}
        elif keyword == "$ref" and rule not in trail:
            inside = project(target := resolve(rule, root), trail=(*trail, rule))
            if inside == target:
                result[keyword] = rule
            else:
                further.append(inside)
        elif keyword not in ("not", "if") or project(rule) == rule:
            result[keyword] = _project_rule(keyword, rule, hidden)
    return _compose(result, further)


def _compose(schema: Json, further: list[Any]) -> Json:
    """The schema with `further` ones that must hold too; without its `if`, no branch is taken."""
    if "if" not in schema:
        schema = _omit(schema, frozenset({"then", "else"}))
    return {**schema, "allOf": [*schema.get("allOf", ()), *further]} if further else schema


def _project_rule(keyword: str, rule: Any, hidden: Names) -> Any:
    """What a keyword of the object itself says, as far as that does not speak of what is hidden."""
    match keyword:
        case "properties" | "default":
            return _omit(rule, hidden)
        case "examples" if isinstance(rule, list):
            return [_omit(example, hidden) for example in rule]
        case "required":
            return [name for name in rule if name not in hidden]
        case "dependentRequired":
            needs = {name: [x for x in names if x not in hidden] for name, names in rule.items()}
            return _omit(needs, hidden)
        case "patternProperties":
            return {p: part for p, part in rule.items() if not any(name in p for name in hidden)}
        case "propertyNames" if not isinstance(rule, bool) and "enum" in rule:
            names = [name for name in rule["enum"] if name not in hidden]
            return {**rule, "enum": names} if names else False
        case "minProperties":
            return max(0, rule - len(hidden))
        case _:
            return rule


def _omit(value: Any, hidden: Names) -> Any:
    """An object without what is hidden."""
    if not isinstance(value, Mapping):
        return value
    return {name: item for name, item in value.items() if name not in hidden}


def _live_definitions(root: Json, keyword: str) -> Json:
    """The definitions under `keyword` that something still refers to."""
    definitions = root.get(keyword, {})
    live: dict[str, Any] = {}
    ahead: list[Any] = [_omit(root, frozenset(DEFINITIONS))]
    while ahead:
        schema = ahead.pop()
        if isinstance(schema, bool):
            continue
        ahead += (part for _, part in parts(schema))
        place, name = [*pointer_parts(schema.get("$ref", "")), "", ""][:2]
        if place == keyword and name in definitions and name not in live:
            live[name] = definitions[name]
            ahead.append(definitions[name])
    return live
