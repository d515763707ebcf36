"""Schemas that a server has sent: made safe to check against, whatever is in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any, cast

from detent.core.schema.accepted_keywords import KNOWN, UNCHECKED
from detent.core.schema.references import pointer_parts
from detent.core.schema.schema_parts import MANY, NAMED, ONE
from detent.core.schema.validation import compile_schema

PARTS_MAX = 5_000
"""How many schemas in schemas there may be once references are followed."""

DEPTH_MAX = 40
"""How deep they may be in each other."""

REPEATS = 3
"""How often a schema that leads back to itself is followed, where it has defaults."""

TAKEN_OUT = frozenset({"$schema", "$id", "$comment", "$ref", "$defs", "definitions", *UNCHECKED})

DROPPED = (
    *("unevaluatedItems", "unevaluatedProperties", "dependencies"),
    *("patternProperties", "additionalProperties"),
)
"""The keywords of which some are taken out though there are schemas under them."""


LOST = frozenset({"pattern", *DROPPED, *UNCHECKED})
"""The keywords whose rules are lost where they are taken out."""


class SchemaRefusedError(ValueError):
    """A schema is larger than anybody needs, or is none, or keeps a default out of sight."""


class SchemaTooLargeError(SchemaRefusedError):
    """It is larger than anybody needs."""


def plain_schema(schema: object, *, fills_in: bool = False) -> dict[str, Any]:
    """The schema without references, and without what is not checked here.

    A reference is replaced by what it names, so that a check takes time linear in the schema and in
    the value: references in references may double the work with each. Where a schema leads back to
    itself, anything goes: the server checks by itself. The same holds for patterns that need
    backtracking, and for keywords that nobody here knows. So a condition that hangs on such a one
    is not decided here: either branch counts.

    RULE: people are shown each default of one that `fills_in` calls. Where that leads back to
    itself, it is followed up to `REPEATS` times, as there is room for, and deeper nothing goes.

    Raises:
        SchemaRefusedError: it is larger than anybody needs, or is no schema, or has a default where
            it would not be seen.
    """
    fills_in = fills_in and _has_default(schema)
    for repeats in range(REPEATS, 0, -1) if fills_in else ():
        with suppress(SchemaTooLargeError):
            return _made(schema, repeats, fills_in=True)
    return _made(schema, 0, fills_in=fills_in)


def _made(schema: object, repeats: int, *, fills_in: bool) -> dict[str, Any]:
    made = _Follower(schema, repeats, fills_in=fills_in).plain(schema, (), 0)
    if not isinstance(made, dict):
        raise SchemaRefusedError("the schema of a tool is an object")
    return made


class _Follower:
    def __init__(self, root: object, repeats: int, *, fills_in: bool) -> None:
        self._root, self._repeats, self._fills_in = root, repeats, fills_in
        self._count = self._lost = 0

    def plain(self, schema: object, trail: tuple[str, ...], depth: int) -> dict[str, Any] | bool:
        self._count += 1
        if self._count > PARTS_MAX or depth > DEPTH_MAX:
            raise SchemaTooLargeError(
                f"the schema has more than {PARTS_MAX} parts, or is more than {DEPTH_MAX} deep"
            )
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise SchemaRefusedError("a part of the schema is neither an object nor true or false")
        rules = cast("Mapping[str, Any]", schema)
        own = self._kept(rules, trail, depth + 1)
        for keyword in DROPPED if self._fills_in else ():
            if keyword not in own and _has_default(rules.get(keyword)):
                raise SchemaRefusedError(
                    f"a default stands under {keyword!r}, where nobody would be shown it"
                )
        if (reference := rules.get("$ref")) is None:
            return own
        named = self._referenced(reference, trail, depth + 1)
        if not own or named is False:
            return named
        return own | {"allOf": [*own.get("allOf", []), named]} if named is not True else own

    def _kept(self, rules: Mapping[str, Any], trail: tuple[str, ...], depth: int) -> dict[str, Any]:
        """The rules that can be checked, but for the reference."""
        own: dict[str, Any] = {}
        vague: set[str] = set()
        for keyword, rule in rules.items():
            lost = self._lost
            if keyword in KNOWN - TAKEN_OUT and _can_be_checked(keyword, rule):
                own[keyword] = self._rule(keyword, rule, trail, depth)
            else:
                self._lost += keyword in LOST
            if self._lost > lost:
                vague.add(keyword)
        if "patternProperties" in vague - own.keys():  # which names are the others, nobody knows
            own.pop("additionalProperties", None)
        return _loose(own, vague)

    def _referenced(
        self, reference: object, trail: tuple[str, ...], depth: int
    ) -> dict[str, Any] | bool:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise SchemaRefusedError("a reference leads out of the schema")
        if trail.count(reference) > self._repeats:
            self._lost += 1
            return not self._fills_in
        try:
            found = reduce(_part, pointer_parts(reference), self._root)
        except (LookupError, TypeError, ValueError):
            raise SchemaRefusedError("a reference leads nowhere") from None
        return self.plain(found, (*trail, reference), depth)

    def _rule(self, keyword: str, rule: Any, trail: tuple[str, ...], depth: int) -> Any:
        if keyword in ONE:
            return self.plain(rule, trail, depth)
        if keyword in MANY and isinstance(rule, Sequence) and not isinstance(rule, str):
            return [self.plain(part, trail, depth) for part in rule]
        if keyword in NAMED and isinstance(rule, Mapping):
            return {name: self.plain(part, trail, depth) for name, part in rule.items()}
        return rule


def _loose(own: dict[str, Any], vague: Collection[str]) -> dict[str, Any]:
    """The rules of a schema, of which those in `vague` keywords have lost something.

    What fits less often by that, or decides otherwise, would be wrong: it lets all pass.
    """
    if "not" in vague:
        own.pop("not")
    branches = []
    if "oneOf" in vague:
        branches.append(own.pop("oneOf"))
    if "if" in vague:
        holds, *other = (own.pop(word, True) for word in ("if", "then", "else"))
        branches.append([{"allOf": [holds, other[0]]}, other[1]])
    if not branches:
        return own
    return {**own, "allOf": [*own.get("allOf", []), *({"anyOf": some} for some in branches)]}


def _part(whole: Any, name: str) -> Any:
    return whole[int(name) if isinstance(whole, list) else name]


def _can_be_checked(keyword: str, rule: Any) -> bool:
    if keyword == "pattern":
        return _compiles(rule)
    if keyword == "patternProperties":
        return isinstance(rule, Mapping) and all(map(_compiles, rule))
    return True


def _has_default(schema: object) -> bool:
    """Whether a default may stand in it: a property of that name counts as well."""
    return "'default'" in repr(schema)


def _compiles(pattern: object) -> bool:
    try:
        compile_schema({"pattern": pattern})
    except ValueError:
        return False
    return True
