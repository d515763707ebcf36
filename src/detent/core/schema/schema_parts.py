"""The parts of a schema: which are equal, and which lead to a default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from detent.core.schema.json_values import Codes
from detent.core.schema.references import resolve

Rules: TypeAlias = Mapping[str, Any]

ONE = frozenset(
    {"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"}
)
MANY = frozenset({"prefixItems", "allOf", "anyOf", "oneOf"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""The keywords that hold one schema, a list of schemas, and schemas by name."""

DOWN = frozenset({"properties", "prefixItems", "contains"})
"""The keywords that speak of parts of a value which it may leave out."""


def first_alike(root: Rules) -> dict[int, Any]:
    """For each part of a schema, by its id, the first one that is equal as JSON."""
    codes, first = Codes(), dict[int, Any]()
    found: dict[int, Any] = {}
    ahead: list[Any] = [root]
    while ahead:
        part = ahead.pop()
        first[id(part)] = found.setdefault(codes.of(part), part)
        inner = part.values() if isinstance(part, Mapping) else part
        ahead += [x for x in inner if isinstance(x, Mapping | list | tuple)]
    return first


def leading_to_defaults(root: Rules) -> frozenset[int]:
    """By their ids, all parts of a schema that lead to a default of a part of the value.

    A property may be called as a keyword is: then it may be one more than those.
    """
    into: dict[int, list[int]] = {id(root): []}  # who leads to each
    down: list[tuple[int, int]] = []  # from a schema to what it says of what may be left out
    defaults: list[int] = []
    ahead: list[Any] = [root]
    while ahead:
        part = ahead.pop()
        for name, inner in part.items() if isinstance(part, Mapping) else enumerate(part):
            if name == "default":
                defaults.append(id(part))
            try:  # a property may be called so, too
                is_reference = name == "$ref" and isinstance(inner, str)
                target = resolve(inner, root) if is_reference else inner
            except (LookupError, TypeError, ValueError):
                continue  # nobody can follow it
            if not isinstance(target, Mapping | list | tuple):
                continue
            if id(target) not in into:
                into[id(target)] = []
                ahead.append(target)
            into[id(target)].append(id(part))
            if name in DOWN:
                down.append((id(part), id(target)))
    with_default = _reaching(defaults, into)
    return _reaching([part for part, inner in down if inner in with_default], into)


def _reaching(ends: Iterable[int], into: Mapping[int, Sequence[int]]) -> frozenset[int]:
    """All from where one of these is reached."""
    found, ahead = set[int](), [*ends]
    while ahead:
        if (one := ahead.pop()) not in found:
            found.add(one)
            ahead += into[one]
    return frozenset(found)
