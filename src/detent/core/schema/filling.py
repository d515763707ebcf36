"""Filling in: what a schema says, anywhere, stands for what a value leaves out.

RULE: no default of a schema stays out of sight because of where it stands. Each schema that speaks
of a value counts, also in `allOf`, `anyOf`, `if`, behind a reference; the first default of a name
is filled in, and what is filled in is what runs, whatever others say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from attrs import define, field

from detent.core.schema.validation import Schema, Validator, resolve
from detent.core.values.frozen import thaw

Choice: TypeAlias = Literal["first", "fitting", "all"]
"""Which of several schemas of a value count: the first that it fits, each such one, or each."""

ROUNDS = 8
"""How often defaults may make a value fit further schemas, which have further defaults."""

ROOT = "urn:detent:root"
OPTION = "option of the root"


@define(eq=False)
class Filling:
    """Fills objects in by the schema `root`.

    Of several that a value fits, what reads it takes one, and nobody here knows which: the defaults
    of the first come first, then those of each other that it still fits. The properties `exact` are
    read as the first.
    """

    root: Mapping[str, Any]
    exact: frozenset[str] = frozenset()
    _tests: dict[object, Validator] = field(init=False, factory=dict)

    def filled(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of an object, with what stands for all that it leaves out, however deep."""
        first, has_options = self._settled(thaw(value), "first")
        if not has_options:
            return first
        whole, _ = self._settled(first, "fitting")
        return whole | {name: item for name, item in first.items() if name in self.exact}

    def _settled(self, value: Any, choice: Choice) -> tuple[dict[str, Any], bool]:
        """The value with all that is filled in then, and whether there was anything to choose.

        What is filled in may make it fit further schemas.
        """
        for _ in range(ROUNDS):
            walk = _Walk(self, choice)
            before, value = value, walk.fill(value, [self.root])
            if not walk.has_tested or value == before:
                return value, walk.has_tested
        return _Walk(self, "all").fill(value, [self.root]), True

    def fits(self, value: Any, option: Mapping[str, Any]) -> bool:
        """Whether a value fits a schema that stands in the root."""
        test = self._tests.get(id(option))
        if test is None:
            test = self._tests[id(option)] = Validator(self._alone(option))
        return test.fits_json(value)

    def matches(self, name: str, pattern: str) -> bool:
        """Whether the name of a property is one that a pattern speaks of."""
        if pattern not in self._tests:
            self._tests[pattern] = Validator({"pattern": pattern})
        return self._tests[pattern].fits_json(name)

    def _alone(self, option: Mapping[str, Any]) -> Schema:
        """A schema whose references lead into the root, as one by itself."""
        if "'$ref'" not in repr(option):
            return option
        named = {**self.root.get("$defs", {}), OPTION: option}
        root = {**self.root, "$id": ROOT, "$defs": named}
        return {"$ref": f"{ROOT}#/$defs/{OPTION.replace(' ', '%20')}", "$defs": {"root": root}}


@define(eq=False)
class _Walk:
    """One way through a value. Each of its parts is come to once, with all that speaks of it.

    To go through it once for each schema would take twice as long with each level.
    """

    filling: Filling
    choice: Choice
    has_tested: bool = field(init=False, default=False)
    _within: list[int] = field(init=False, factory=list)

    def fill(self, value: Any, schemas: Sequence[Schema]) -> Any:
        """The value with what these say of it, and of what is in it."""
        if isinstance(value, dict):
            return self._object(value, [*self._about(value, schemas)])
        if isinstance(value, list):
            return self._array(value, [*self._about(value, schemas)])
        return value

    def _object(self, value: dict[str, Any], schemas: Sequence[Mapping[str, Any]]) -> Any:
        parts: dict[str, list[Schema]] = {name: [] for name in value}
        for schema in schemas:
            own, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
            for name, part in own.items():
                parts.setdefault(name, []).append(part)
            for name in value:
                like = [x for p, x in patterns.items() if self.filling.matches(name, p)]
                if not like and name not in own:
                    like = [schema.get("additionalProperties", True)]
                parts[name] += like
        filled = {name: self.fill(item, parts[name]) for name, item in value.items()}
        for name in (name for name in parts if name not in value):
            filled.update((name, item) for item in self._default(parts[name]))
        return filled

    def _array(self, value: list[Any], schemas: Sequence[Mapping[str, Any]]) -> Any:
        longest = max((len(schema.get("prefixItems", ())) for schema in schemas), default=0)
        parts: list[list[Schema]] = [[] for _ in range(max(longest, len(value)))]
        for schema in schemas:
            first = schema.get("prefixItems", ())
            rest = [schema.get("items", True)] * (len(value) - len(first))
            for mine, part in zip(parts, [*first, *rest], strict=False):
                mine.append(part)
            for item, mine in zip(value, parts, strict=False):
                mine.extend(self._fitting(item, [x for x in [schema.get("contains")] if x]))
        filled = [self.fill(item, mine) for item, mine in zip(value, parts, strict=False)]
        for mine in parts[len(value) :]:
            if not (items := [*self._default(mine)]):
                break
            filled += items
        return filled

    def _about(self, value: Any, schemas: Iterable[Schema]) -> Iterator[Mapping[str, Any]]:
        """All schemas that speak of a value where these do, each once, the outer ones first."""
        found: set[int] = set()
        ahead = [*schemas][::-1]
        while ahead:
            schema = ahead.pop()
            if not isinstance(schema, bool) and id(schema) not in found:
                found.add(id(schema))
                yield schema
                ahead += [*self._in_place(value, schema)][::-1]

    def _in_place(self, value: Any, schema: Mapping[str, Any]) -> Iterator[Schema]:
        if "$ref" in schema:
            yield resolve(schema["$ref"], self.filling.root)
        yield from schema.get("allOf", ())
        for keyword in ("anyOf", "oneOf"):
            options = schema.get(keyword, ())
            yield from options if len(options) == 1 else self._fitting(value, options)
        for name, part in schema.get("dependentSchemas", {}).items():
            self.has_tested = True
            if name in value or self.choice == "all":
                yield part
        if "if" in schema:
            holds = [*self._fitting(value, [schema["if"]])]
            words = ("then", "else") if self.choice == "all" else ("then",) if holds else ("else",)
            yield from (*holds, *(schema[word] for word in words if word in schema))

    def _fitting(self, value: Any, options: Sequence[Any]) -> Iterator[Any]:
        """Those of several that count for a value."""
        self.has_tested = self.has_tested or bool(options)
        for option in options:
            if self.choice == "all" or self.filling.fits(value, option):
                yield option
                if self.choice == "first":
                    return

    def _default(self, schemas: Sequence[Schema]) -> Iterator[Any]:
        """What stands for a value that is left out, filled in itself, if anything does."""
        anywhere = _Walk(self.filling, "all")
        for schema in anywhere._about({}, schemas):
            if "default" in schema:
                value = thaw(schema["default"])
                if id(schema) not in self._within:  # else it would stand in itself without end
                    self._within.append(id(schema))
                    value = self.fill(value, schemas)
                    self._within.pop()
                yield value
                return
