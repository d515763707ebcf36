"""Readings of a pattern: what it surely fits, and what it may fit.

A JSON Schema says nothing of values of other types: "5000" fits ``{"maximum": 100}``. What is
allowed must fit by what is said of it, what is denied need not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from detent.core.schema.accepted_keywords import parts
from detent.core.schema.json_values import numbers_in
from detent.core.schema.references import resolve
from detent.core.schema.schema_parts import MANY, NAMED, ONE

Part: TypeAlias = object
"""A schema, or a part of one: a mapping or a bool."""

KEYWORDS = {
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding"),
    "array": (
        *("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
        *("contains", "minContains", "maxContains"),
    ),
    "object": (
        *("properties", "required", "minProperties", "maxProperties", "additionalProperties"),
        *("patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"),
    ),
}
"""What says nothing of values of other types, by the type that it is about."""

BOTH_WAYS = frozenset({"if", "then", "else", "oneOf"})
"""By these a value may pass that fits less, as well as one that fits more."""
DEFINITIONS = frozenset({"$defs", "definitions"})


def sure(pattern: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what a pattern surely fits: of a type that it speaks of, wherever it does."""
    return _Reading(pattern).whole(is_sure=True)


def possible(pattern: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what a pattern may fit: what it does, and what its `not` says nothing of."""
    return _Reading(pattern).whole(is_sure=False)


def mixed_kinds(pattern: object) -> Iterator[str]:
    """Where a pattern speaks of values of several types at once: each passes by what is said of it.

    RULE: of what is allowed nobody means that. An amount may be a number or a text, and a text
    would pass by its `pattern`, whatever the `maximum` is.
    """
    if isinstance(pattern, Mapping):
        if len(kinds := _kinds(pattern)) > 1:
            words = (next(word for word in KEYWORDS[kind] if word in pattern) for kind in kinds)
            yield " and ".join(
                f"{word!r} ({kind})" for word, kind in zip(words, kinds, strict=True)
            )
        for _, part in parts(pattern):
            yield from mixed_kinds(part)


def _kinds(part: Mapping[str, Any]) -> list[str]:
    """The types of which a schema itself says something."""
    return [kind for kind, words in KEYWORDS.items() if part.keys() & {*words}]


def number_words(pattern: object) -> Iterator[str]:
    """The words by which a pattern speaks of numbers, wherever in it."""
    if isinstance(pattern, list):
        for part in pattern:
            yield from number_words(part)
    if not isinstance(pattern, Mapping):
        return
    for word, rule in pattern.items():
        if word in KEYWORDS["number"] or word == "uniqueItems":
            yield word
        if word == "type":
            yield from (kind for kind in ("number", "integer") if kind in _listed(rule))
        if word in ("const", "enum") and any(True for _ in numbers_in(rule)):
            yield word
        yield from number_words(rule)


def _listed(kinds: object) -> list[object]:
    return kinds if isinstance(kinds, list) else [kinds]


class _Reading:
    """Reads a pattern. A part that is referred to is read once each way, under its own name."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._names: dict[tuple[str, bool], str] = {}
        self._definitions: dict[str, Part] = {}

    def whole(self, *, is_sure: bool) -> dict[str, Any]:
        """All of it, with what it refers to."""
        read = self._read(self._root, is_sure=is_sure)
        return {"allOf": [read], "$defs": self._definitions} if self._definitions else read

    def _read(self, part: Any, *, is_sure: bool) -> Any:
        if not isinstance(part, Mapping):
            return part
        read = dict[str, Any]()
        apart = BOTH_WAYS | ({"contains", "minContains", "maxContains"} if _caps(part) else set())
        for word, rule in part.items():
            if word in DEFINITIONS or word in apart:
                continue
            read[word] = self._rule(word, rule, is_sure=is_sure)
        if split := [*self._split(part, is_sure=is_sure)]:
            read["allOf"] = [*read.get("allOf", ()), *split]
        if not (is_sure and (kinds := _kinds(part))):
            return read
        if "type" not in read:
            return {"type": kinds, **read}
        # of these two no keyword says anything, so that they are meant as they stand
        return {"allOf": [read, {"type": [*kinds, "null", "boolean"]}]}

    def _rule(self, word: str, rule: Any, *, is_sure: bool) -> Part:
        """What a keyword says. What `not` surely fits, is what its part may fit not."""
        if word == "$ref":
            return f"#/$defs/{self._name(rule, is_sure=is_sure)}"
        if word in ONE:
            return self._read(rule, is_sure=is_sure != (word == "not"))
        if word in MANY:
            return [self._read(each, is_sure=is_sure) for each in rule]
        if word in NAMED:
            return {name: self._read(each, is_sure=is_sure) for name, each in rule.items()}
        return rule

    def _split(self, part: Mapping[str, Any], *, is_sure: bool) -> Iterator[Part]:
        """What counts both ways, in words that do not.

        RULE: of each the one reading fits less than the other. Whether a value fits, however those
        of its parts are read that nothing is said of, is seen by these two.
        """
        if "if" in part:
            condition = self._read(part["if"], is_sure=is_sure)
            other = self._read(part["if"], is_sure=not is_sure)
            then, otherwise = (
                self._read(part.get(word, True), is_sure=is_sure) for word in ("then", "else")
            )
            yield {"anyOf": [{"not": other}, then]}
            yield {"anyOf": [condition, otherwise]}
        if "oneOf" in part:
            least, most = (
                [self._read(each, is_sure=each_way) for each in part["oneOf"]]
                for each_way in (True, False)
            )
            yield {"oneOf": least} if is_sure else {"anyOf": most}
            yield {"oneOf": most} if is_sure else _at_most_one(least)
        if _caps(part):
            counts = {word: part[word] for word in ("minContains", "maxContains") if word in part}
            least, most = (self._read(part["contains"], is_sure=way) for way in (True, False))
            low = {"minContains": part.get("minContains", 1)}
            high = {"minContains": 0, "maxContains": part["maxContains"]}
            yield {"contains": least, **(counts if is_sure else high)}
            yield {"contains": most, **(counts if is_sure else low)}

    def _name(self, reference: str, *, is_sure: bool) -> str:
        key = reference, is_sure
        if key not in self._names:
            name = self._names[key] = str(len(self._names))
            self._definitions[name] = self._read(resolve(reference, self._root), is_sure=is_sure)
        return self._names[key]


def _caps(part: Mapping[str, Any]) -> bool:
    """Whether so many items may be in a list at most."""
    return "contains" in part and "maxContains" in part


def _at_most_one(options: list[Part]) -> Part:
    return {"anyOf": [{"oneOf": options}, {"not": {"anyOf": options}}]}
