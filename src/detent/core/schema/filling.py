"""Filling in: what a schema says, anywhere, stands for what a value leaves out.

RULE: no default of a schema stays out of sight because of where it stands. What applies to the
value as it is when all is filled in fills in, and nothing else. Where that hangs on how somebody
reads the value, nothing does, and the call must say it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from attrs import Factory, define, field, frozen

from detent.core.schema.json_values import Codes, Place, identity
from detent.core.schema.references import Schema, resolve
from detent.core.schema.schema_parts import first_alike, leading_to_defaults
from detent.core.schema.validation import DEPTH_MAX, Validator, require_json
from detent.core.values.frozen import thaw

T = TypeVar("T")
Rules: TypeAlias = Mapping[str, Any]

Decision: TypeAlias = tuple[Sequence[Schema], Sequence[Place]]
"""Which of several options count, and where it is unclear what they fill in."""

ROUNDS = 10
"""How often it is looked at anew what applies: defaults may make a value fit what has further."""

FILLED_MAX = 100_000
"""How many characters, as JSON, may be filled in: defaults in defaults grow with each level."""

FILLS_MAX = 2_000
"""How often parts may be filled in in all rounds, to try options and at last: some 0.1 s."""

EACH_MAX = 50
"""How often each part of what was written may be, however many there are."""

NAMES = 16
"""So many further entries of a part take as long as one part more; so do so many schemas
that speak of it, and options that are tried."""

TRIED_MAX = 20
"""How deep options may stand in options, where several of each fit: so deep goes the stack."""

BETWEEN = len(": , ")
MISSING = object()
ROOT = "urn:detent:root"
OPTION = "option of the root"


@frozen
class Filled:
    """An object with what stands for all that it leaves out.

    `unclear` is where nobody can say what that is; where `is_too_much`, nothing is filled in.
    """

    value: dict[str, Any]
    unclear: tuple[Place, ...] = ()
    is_too_much: bool = False


class _TooMuchError(Exception):
    """A schema fills in more than anybody needs, or without end."""


@define(eq=False)
class Filling:
    """Fills objects in by the schema `root`.

    What reads a value takes one of the options that it fits, and nobody here knows which: so they
    must fill in the same. A property in `own` is read as the first one, as are so many objects in
    objects inside it.
    """

    root: Rules
    own: Mapping[str, float] = field(factory=dict)
    most: int = FILLED_MAX
    _tests: dict[object, Validator] = field(init=False, factory=dict)
    _filling: frozenset[int] = field(
        init=False, default=Factory(lambda self: leading_to_defaults(self.root), takes_self=True)
    )
    _first: dict[int, Any] = field(
        init=False, default=Factory(lambda self: first_alike(self.root), takes_self=True)
    )
    _always: dict[int, tuple[Schema, ...]] = field(init=False, factory=dict)

    def filled(self, value: Mapping[str, Any]) -> Filled:
        """A copy of an object, filled in however deep, and what is unclear of it.

        RULE: each round begins with what was written, and is told by the round before what applies.
        So one that changes nothing has filled in what applies to its own result.
        """
        written = cast("dict[str, Any]", thaw(value))
        if not self.is_filling(self.root):
            return Filled(written)
        before: Any = MISSING
        seen: Any = MISSING
        try:
            require_json(written)
            effort = _Effort(max(FILLS_MAX, EACH_MAX * _weight_inside(written)))
            for _ in range(ROUNDS):
                walk = _Walk(self, effort)
                before, seen = seen, walk.fill(_Spot(written, seen), [self.root])
                if not walk.has_choices or identity(before) == identity(seen):
                    return Filled(seen, tuple(dict.fromkeys(walk.unclear)))
        except ValueError:  # no call has such a value: it fits no tool
            return Filled(written)
        except _TooMuchError:
            return Filled(written, is_too_much=True)
        return Filled(seen, tuple(Codes().unlike([before, seen], ())))

    def is_filling(self, schema: Schema) -> bool:
        """Whether a schema that stands in the root may fill in a part of a value.

        Where it may not, nobody needs to go through a value, however large that is.
        """
        return id(schema) in self._filling

    def fits(self, value: Any, option: Schema) -> bool:
        """Whether a value fits a schema that stands in the root."""
        test = self._tests.get(id(option))
        if test is None:
            test = self._tests[id(option)] = Validator(self._alone(option))
        return test.fits_json(value)

    def meaning(self, schema: Schema) -> Schema:
        """The first schema that says the same: that which it refers to, or one that is equal."""
        if isinstance(schema, Mapping) and len(schema) == 1 and "$ref" in schema:
            schema = resolve(schema["$ref"], self.root)
        return self.first(schema)

    def first(self, part: T) -> T:
        """The first part of the root that is equal: what is said twice is looked at once."""
        return cast(T, self._first.get(id(part), part))

    def always(self, schema: Rules) -> tuple[Schema, ...]:
        """What a schema says of the same value under no condition."""
        if id(schema) not in self._always:
            said = [resolve(schema["$ref"], self.root)] if "$ref" in schema else []
            said += schema.get("allOf", ())
            said += [options[0] for options in _options(schema) if len(options) == 1]
            self._always[id(schema)] = tuple(said)
        return self._always[id(schema)]

    def matches(self, name: str, pattern: str) -> bool:
        """Whether the name of a property is one that a pattern speaks of."""
        if pattern not in self._tests:
            self._tests[pattern] = Validator({"pattern": pattern})
        return self._tests[pattern].fits_json(name)

    def _alone(self, option: Schema) -> Schema:
        """A schema whose references lead into the root, as one by itself."""
        if "'$ref'" not in repr(option):
            return option
        named = {**self.root.get("$defs", {}), OPTION: option}
        root = {**self.root, "$id": ROOT, "$defs": named}
        return {"$ref": f"{ROOT}#/$defs/{OPTION.replace(' ', '%20')}", "$defs": {"root": root}}


class _Spot(NamedTuple):
    """A part of a value, what the round before has made of it, and how it is read."""

    value: Any
    seen: Any
    place: Place = ()
    own: float = 0


@define(eq=False)
class _Effort:
    """How often parts may still be filled in."""

    left: int

    def take(self, weight: int) -> None:
        self.left -= weight
        if self.left < 0:
            raise _TooMuchError


@define(eq=False)
class _Walk:
    """One round. Each part of a value is come to once, with all that speaks of it.

    To go through it once for each schema would take twice as long with each level.
    """

    filling: Filling
    effort: _Effort
    has_choices: bool = field(init=False, default=False)
    unclear: list[Place] = field(init=False, factory=list)
    _room: int = field(init=False, default=Factory(lambda self: self.filling.most, takes_self=True))
    _tried: int = field(init=False, default=0)
    _fit: dict[tuple[int, int], bool] = field(init=False, factory=dict)
    _decided: dict[tuple[int, int], Decision] = field(init=False, factory=dict)
    _known: dict[tuple[int, ...], Any] = field(init=False, factory=dict)
    _codes: Codes = field(init=False, factory=Codes)

    def fill(self, spot: _Spot, schemas: Sequence[Schema]) -> Any:
        """The value with what these say of it, and of what is in it.

        RULE: what is tried, options of options of it, is tried once for each part of the value.
        """
        if spot.value is not spot.seen:
            return self._fill(spot, schemas)
        key = id(spot.value), *(id(self.filling.first(schema)) for schema in schemas)
        if key not in self._known:
            self._known[key] = self._fill(spot, schemas)
        return self._known[key]

    def _fill(self, spot: _Spot, schemas: Sequence[Schema]) -> Any:
        if len(spot.place) >= DEPTH_MAX:
            raise _TooMuchError
        self.effort.take(_weight(spot.value))
        rules = [*self._about(schemas, lambda part: self._chosen(spot, part))]
        self.effort.take(len(rules) // NAMES)
        if not rules:
            return spot.value
        return (self._object if isinstance(spot.value, dict) else self._array)(spot, rules)

    def _object(self, spot: _Spot, schemas: Sequence[Rules]) -> dict[str, Any]:
        parts: dict[str, list[Schema]] = {name: [] for name in spot.value}
        for schema in schemas:
            named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
            for name, part in named.items():
                parts.setdefault(name, []).append(part)
            for name in spot.value:
                like = [x for p, x in patterns.items() if self.filling.matches(name, p)]
                if not like and name not in named:
                    like = [schema.get("additionalProperties", True)]
                parts[name] += like
        filled: dict[str, Any] = {}
        for name, mine in parts.items():
            own = spot.own - 1 if spot.place else self.filling.own.get(name, 0)
            seen = spot.seen.get(name, MISSING) if isinstance(spot.seen, dict) else MISSING
            part = _Spot(spot.value.get(name, MISSING), seen, (*spot.place, name), own)
            if (item := self._part(part, mine)) is not MISSING:
                filled[name] = item
        return filled

    def _array(self, spot: _Spot, schemas: Sequence[Rules]) -> list[Any]:
        filled: list[Any] = []
        longest = max((len(schema.get("prefixItems", ())) for schema in schemas), default=0)
        for index in range(max(longest, len(spot.value))):
            value = spot.value[index] if index < len(spot.value) else MISSING
            has_seen = isinstance(spot.seen, list) and index < len(spot.seen)
            seen = spot.seen[index] if has_seen else MISSING
            part = _Spot(value, seen, (*spot.place, index), spot.own)
            mine = [x for schema in schemas for x in self._of_item(schema, part, index)]
            if (item := self._part(part, mine)) is MISSING:
                break
            filled.append(item)
        return filled

    def _of_item(self, schema: Rules, item: _Spot, index: int) -> Iterator[Schema]:
        """What a schema of an array says of one of its items, or of one that is left out."""
        first = schema.get("prefixItems", ())
        yield from first[index : index + 1]
        if item.value is not MISSING and index >= len(first):
            yield schema.get("items", True)
        if "contains" in schema and self._applies(item.seen, schema["contains"]):
            yield schema["contains"]

    def _part(self, spot: _Spot, schemas: Sequence[Schema]) -> Any:
        """A part of a value, filled in, or what stands for it, if anything does."""
        value = self._default(spot.place, schemas) if spot.value is MISSING else spot.value
        if not isinstance(value, dict | list):
            return value
        schemas = [*filter(self.filling.is_filling, schemas)]
        if not schemas:
            return value
        seen = spot.seen if type(spot.seen) is type(value) else MISSING
        return self.fill(spot._replace(value=value, seen=seen), schemas)

    def _default(self, place: Place, schemas: Sequence[Schema]) -> Any:
        """The default of what is left out: the first that always counts, or the only one."""
        found = [x["default"] for x in self._about(schemas, _nothing) if "default" in x][:1]
        found = found or [x["default"] for x in self._about(schemas, _everything) if "default" in x]
        if len({identity(thaw(default)) for default in found}) != 1:
            self.unclear += [place] if found else []
            return MISSING
        self._room -= len(repr(found[0])) + len(repr(place[-1])) + BETWEEN
        if self._room < 0:
            raise _TooMuchError
        return thaw(found[0])

    def _about(
        self, schemas: Iterable[Schema], choose: Callable[[Rules], Iterable[Schema]]
    ) -> Iterator[Rules]:
        """All schemas that speak of a value where these do, each once, and the chosen ones last."""
        found: set[int] = set()
        ahead, later = deque(schemas), deque[Rules]()
        while ahead or later:
            if not ahead:
                ahead.extend(choose(later.popleft()))
                continue
            schema = self.filling.first(ahead.popleft())
            if isinstance(schema, bool) or id(schema) in found:
                continue
            found.add(id(schema))
            yield schema
            later.append(schema)
            ahead.extendleft(self.filling.always(schema)[::-1])

    def _chosen(self, spot: _Spot, schema: Rules) -> Iterator[Schema]:
        """What a schema says of a value under a condition that holds, or as an option."""
        for options in _options(schema):
            yield from self._fitting(spot, options) if len(options) > 1 else ()
        for name, part in schema.get("dependentSchemas", {}).items():
            self.has_choices = True
            if isinstance(spot.seen, dict) and name in spot.seen:
                yield part
        if "if" in schema:
            holds = self._applies(spot.seen, schema["if"])
            if holds:
                yield schema["if"]
            if spot.seen is not MISSING:
                yield schema.get("then" if holds else "else", True)

    def _fitting(self, spot: _Spot, options: Sequence[Schema]) -> Sequence[Schema]:
        """Those of several that count: what the value fits, where they fill in the same."""
        key = id(spot.seen), id(self.filling.first(options))
        if key not in self._decided:
            different = {id(x): x for x in map(self.filling.meaning, options)}.values()
            self.effort.take(len(different) // NAMES)
            fit = [option for option in different if self._applies(spot.seen, option)]
            fit = fit[:1] if spot.own > 0 else fit
            whole = spot._replace(value=spot.seen)
            unlike = self._unlike(whole, fit) if len(fit) > 1 else ()
            self._decided[key] = [] if unlike else fit, unlike
        fitting, unclear = self._decided[key]
        self.unclear += unclear
        return fitting

    def _unlike(self, spot: _Spot, options: Sequence[Schema]) -> Sequence[Place]:
        """Where several options fill other things in, each by itself."""
        self._tried += 1
        if self._tried > TRIED_MAX:
            raise _TooMuchError
        known = len(self.unclear)
        filled = [self.fill(spot, [option]) for option in options]
        self._tried -= 1
        del self.unclear[known:]  # each tells it where it counts
        return [*self._codes.unlike(filled, spot.place)]

    def _applies(self, seen: Any, schema: Schema) -> bool:
        self.has_choices = True
        if seen is MISSING:
            return False
        key = id(seen), id(schema)
        if key not in self._fit:
            self._fit[key] = self.filling.fits(seen, schema)
        return self._fit[key]


def _weight(part: Collection[Any]) -> int:
    return 1 + len(part) // NAMES


def _weight_inside(value: dict[str, Any]) -> int:
    """The weight of all parts of a value that have parts."""
    weight = 0
    ahead: list[Any] = [value]
    while ahead:
        part = ahead.pop()
        weight += _weight(part)
        inner = part.values() if isinstance(part, dict) else part
        ahead += [x for x in inner if isinstance(x, dict | list)]
    return weight


def _options(schema: Rules) -> Iterator[Sequence[Schema]]:
    return (schema[keyword] for keyword in ("anyOf", "oneOf") if keyword in schema)


def _nothing(schema: Rules) -> Sequence[Schema]:
    """None of what a schema says under conditions."""
    return ()


def _everything(schema: Rules) -> Iterator[Schema]:
    """All that a schema may say of a value, whatever that is."""
    for options in _options(schema):
        yield from options
    yield from schema.get("dependentSchemas", {}).values()
    yield from (schema[word] for word in ("if", "then", "else") if word in schema)
