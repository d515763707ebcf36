"""Wiring: which parameters of a tool the state fills, and where in the state its result goes.

By strings, as in ``inputs_from_state={"user_name": "user"}``, or so that a type checker sees it:
`inject` as the default of a parameter, `stores` as a decorator, `Reply` as what a tool returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

from attrs import frozen

from detent.core.errors import ToolDefinitionError
from detent.core.schema.type_checks import takes
from detent.core.state.keys import Key, Write
from detent.core.values.frozen import FrozenDict

T = TypeVar("T")

Source: TypeAlias = "str | Callable[[Any], Any] | None"
"""Which part of a result: a key or field by name, what a function makes of it, or all of it."""

MARK = "__detent_outputs__"
"""Where a function may say which keys of the state its result goes to."""


@frozen
class Input:
    """A parameter that the state fills. `declared` is the key itself, where `inject` names it."""

    key: str
    parameter: str
    declared: Key[Any, Any] | None = None


@frozen
class Output:
    """A state key that a part of the result is merged into, by `handler` if one is given."""

    key: str
    source: Source = None
    handler: Callable[[Any, Any], Any] | None = None
    declared: Key[Any, Any] | None = None


@frozen
class TextRule:
    """How a result becomes text: a part of it, then a function; `raw` asks for content parts."""

    source: str | None = None
    handler: Callable[[Any], Any] | None = None
    raw: bool = False


AS_IT_IS = TextRule()
"""All of the result, as JSON if it is no text."""


@frozen
class Injected:
    """Stands as the default of a parameter that the state fills."""

    key: Key[Any, Any]

    def __repr__(self) -> str:
        return (
            f"<state key {self.key.name!r}, filled in by the agent; pass a value to call by hand>"
        )


class Reply:
    """What a tool returns that tells the model one thing and writes another into the state.

    Args:
        content: what the model reads; treated like anything that a tool returns.
        writes: made by keys: ``Research.documents.put([…])``. They are merged together or not at
            all.

    Raises:
        TypeError: something else stands in place of a write.
    """

    def __init__(self, content: object, *writes: Write) -> None:
        for write in writes:
            if not isinstance(write, Write):
                raise TypeError(
                    f"a Reply takes writes, as in Research.documents.put([…]), got {write!r}"
                )
        self.content = content
        self.writes = writes

    def __repr__(self) -> str:
        return f"Reply({self.content!r}, {', '.join(map(repr, self.writes))})"


def outputs_of(function: object) -> tuple[Output, ...]:
    """Where `stores` has the function's result go."""
    return cast(tuple[Output, ...], getattr(function, MARK, ()))


def inputs_from(wiring: Mapping[str, str]) -> tuple[Input, ...]:
    """The inputs in ``{state key: parameter}``."""
    for key, parameter in wiring.items():
        if not isinstance(parameter, str):
            raise ToolDefinitionError(
                f"inputs_from_state[{key!r}] must name a parameter, got {parameter!r}"
            )
    return tuple(Input(key, parameter) for key, parameter in wiring.items())


def outputs_from(wiring: Mapping[str, Mapping[str, Any]]) -> tuple[Output, ...]:
    """The outputs in ``{state key: {"source": …, "handler": …}}``."""
    for key, rule in wiring.items():
        _require_rule(f"outputs_to_state[{key!r}]", rule, frozenset({"source", "handler"}), MERGES)
    return tuple(
        Output(key, rule.get("source"), rule.get("handler")) for key, rule in wiring.items()
    )


def text_rules_from(wiring: Mapping[str, Any]) -> TextRule | FrozenDict[str, TextRule]:
    """The rule in ``{"source": …, "handler": …, "raw_result": …}``, or a rule for each part."""
    if not wiring:
        return AS_IT_IS
    single = frozenset({"source", "handler", "raw_result"})
    if single & wiring.keys():
        _require_rule("outputs_to_string", wiring, single)
        if not isinstance(raw := wiring.get("raw_result", False), bool):
            raise ToolDefinitionError(
                f"outputs_to_string: 'raw_result' is True or False, got {raw!r}"
            )
        return TextRule(wiring.get("source"), wiring.get("handler"), raw)
    for name, rule in wiring.items():
        _require_rule(f"outputs_to_string[{name!r}]", rule, frozenset({"source", "handler"}))
        if "source" not in rule:
            raise ToolDefinitionError(f"outputs_to_string[{name!r}] needs a 'source'")
    return FrozenDict(
        {name: TextRule(rule["source"], rule.get("handler")) for name, rule in wiring.items()}
    )


MERGES = ("the current value", "the update")
READS = ("the result, or its part",)
"""What a handler is given that merges, and one that makes text."""


def _require_rule(
    place: str, rule: object, names: frozenset[str], values: tuple[str, ...] = READS
) -> None:
    if not isinstance(rule, Mapping) or rule.keys() - names:
        listing = ", ".join(sorted(names))
        hint = f"; write {{'source': {rule!r}}}" * (isinstance(rule, str) and "source" in names)
        raise ToolDefinitionError(f"{place} must be a dict of {listing}, got {rule!r}{hint}")
    if not isinstance(rule.get("source", ""), str):
        raise ToolDefinitionError(f"{place}: 'source' must be a name, got {rule['source']!r}")
    handler = rule.get("handler")
    if handler is not None and not callable(handler):
        raise ToolDefinitionError(f"{place}: 'handler' must be callable, got {handler!r}")
    if handler is not None and not takes(handler, len(values)):
        raise ToolDefinitionError(
            f"{place}: 'handler' is called with {' and '.join(values)}, which {handler!r} does not "
            "take"
        )
