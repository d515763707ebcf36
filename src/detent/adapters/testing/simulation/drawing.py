"""Drawing: JSON that fits a schema, made up with dice that fall the same way each time."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from detent.adapters.tools.type_schemas import SchemaWriter
from detent.core.errors import DetentError
from detent.core.schema.conversion import convert
from detent.core.schema.references import resolve
from detent.core.schema.validation import faults
from detent.core.tools.tool import Tool
from detent.core.tools.wiring import Reply
from detent.core.values.frozen import thaw

Schema = Mapping[str, Any]

TRIES = 50
DEEPEST = 4
FORMATS: Mapping[str, str] = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00+00:00",
    "time": "12:00:00",
    "uuid": "12345678-1234-5678-1234-567812345678",
    "email": "ann@example.com",
    "uri": "https://example.com/",
    "decimal": "1.50",
}
WORDS = ("", "a", "Oslo", "two words", "ü 🔒")


class CannotDrawError(DetentError, LookupError):
    """No value that fits a schema was found."""


def dice(*what: object) -> random.Random:
    """Dice that fall the same way for the same `what`, in every process and on every machine."""
    return random.Random(" ".join(map(str, what)))  # noqa: S311 - a world that can be made again


def likely(rng: random.Random, odds: float) -> bool:
    """Whether it happens that is to be expected so often, from 0 to 1."""
    return rng.random() < odds


def drawn(schema: Schema, rng: random.Random) -> Any:
    """A value that fits `schema`.

    Raises:
        CannotDrawError: none was found; a pattern is what nothing is found for.
    """
    for _ in range(TRIES):
        value = _value(schema, schema, rng, 0)
        if not any(faults(value, schema)):
            return value
    raise CannotDrawError(f"no value was found that fits {thaw(schema)}")


def arguments_for(tool: Tool, rng: random.Random) -> dict[str, Any]:
    """Arguments that a model may call the tool with.

    Raises:
        CannotDrawError: none were found.
    """
    arguments: dict[str, Any] = drawn(tool.spec.parameters, rng)
    return arguments


def result_for(tool: Tool, rng: random.Random) -> Any:
    """A value of the type that the tool's function says it returns; a text where it says none.

    A `Reply` writes nothing: its type does not say to which keys.

    Raises:
        CannotDrawError: none was found.
    """
    declared = tool.signature.returns
    if Reply in (declared, *get_args(declared)):  # what is in one, no type says
        return Reply(f"a result of {tool.name}")
    writer = SchemaWriter(lambda kind: {})
    try:
        schema = writer.schema(declared)
    except TypeError as error:
        raise CannotDrawError(f"tool {tool.name!r} returns what JSON has no form of") from error
    if not schema:
        return f"a result of {tool.name}"
    value = drawn({**schema, "$defs": writer.definitions}, rng)
    return convert(value, declared, f"the result of {tool.name}")


def _value(schema: Any, root: Schema, rng: random.Random, depth: int) -> Any:
    if isinstance(schema, bool):
        return None
    if "$ref" in schema:
        return _value(resolve(schema["$ref"], root), root, rng, depth)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(list(schema["enum"]))
    for word in ("anyOf", "oneOf"):
        if word in schema:
            rest = {name: rule for name, rule in schema.items() if name != word}
            return _value({**rest, **rng.choice(list(schema[word]))}, root, rng, depth)
    if "allOf" in schema:
        rest = {name: rule for name, rule in schema.items() if name != "allOf"}
        for part in schema["allOf"]:
            rest |= part
        return _value(rest, root, rng, depth)
    return _of_kind(schema, root, rng, depth)


def _of_kind(schema: Schema, root: Schema, rng: random.Random, depth: int) -> Any:
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = kinds if isinstance(kinds, str) else rng.choice(list(kinds))
    match kind:
        case "object":
            return _object(schema, root, rng, depth)
        case "array":
            return _array(schema, root, rng, depth)
        case _:
            return SCALARS[kind](schema, rng)


def _object(schema: Schema, root: Schema, rng: random.Random, depth: int) -> dict[str, Any]:
    required = schema.get("required", ())
    return {
        name: _value(part, root, rng, depth + 1)
        for name, part in schema.get("properties", {}).items()
        if name in required or (depth < DEEPEST and likely(rng, 0.5))
    }


def _array(schema: Schema, root: Schema, rng: random.Random, depth: int) -> list[Any]:
    first: Sequence[Any] = schema.get("prefixItems", ())
    least = max(schema.get("minItems", 0), len(first))
    most = min(schema.get("maxItems", least + 2), least if depth >= DEEPEST else least + 2)
    rest = [schema.get("items", {"type": "string"})] * (rng.randint(least, most) - len(first))
    return [_value(part, root, rng, depth + 1) for part in (*first, *rest)]


def _text(schema: Schema, rng: random.Random) -> str:
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    if "contentEncoding" in schema:
        return "aGk="
    least, most = schema.get("minLength", 0), schema.get("maxLength", 100)
    return rng.choice(WORDS).ljust(least, "x")[:most]


def _integer(schema: Schema, rng: random.Random) -> int:
    step = int(schema.get("multipleOf", 1))
    low, high = _bounds(schema)
    return rng.randint(-int(-low // step), int(high // step)) * step


def _number(schema: Schema, rng: random.Random) -> float:
    if "multipleOf" in schema:
        return _integer(schema, rng)
    low, high = _bounds(schema)
    return rng.choice((low, high, (low + high) / 2))


def _bounds(schema: Schema) -> tuple[float, float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        low = -2 if high is None else high - 5
    return low, low + 5 if high is None else high


SCALARS: Mapping[str, Callable[[Schema, random.Random], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": lambda schema, rng: likely(rng, 0.5),
    "null": lambda schema, rng: None,
}
