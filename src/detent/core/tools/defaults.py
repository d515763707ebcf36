"""Defaults: what a tool takes for the arguments that a call leaves out.

RULE: what people are shown, policies judge and decisions are bound to is what runs. So a call runs
with what its schema says stands for what it leaves out, and never as it was written: what reads it,
a class or another program, may have other defaults, or take what is left out for another choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from detent.core.chat.messages import ToolCall
from detent.core.tools.tool import Tool
from detent.core.values.frozen import thaw

if TYPE_CHECKING:
    from detent.core.schema.validation import Validator

DEFINITIONS = ("$defs", "definitions")


def with_defaults(call: ToolCall, tool: Tool) -> dict[str, Any]:
    """The arguments of a call, however deep, with what stands for those that it leaves out.

    The function's own default comes before what the schema says: it is what will be used. One
    without a form in JSON is shown as the name of its type.
    """
    own = tool.defaults.items()
    return _fill(call, tool) | {name: x for name, x in own if name not in call.arguments}


def arguments_to_run(call: ToolCall, tool: Tool) -> Mapping[str, Any]:
    """The arguments of a call as `with_defaults`, but for those that the function itself has.

    They are those of the call where the tool has no `has_schema_defaults`.
    """
    names = tool.defaults.keys() - call.arguments.keys()
    return {name: x for name, x in _fill(call, tool).items() if name not in names}


def _fill(call: ToolCall, tool: Tool) -> dict[str, Any]:
    schema = tool.accepted
    return cast("dict[str, Any]", _Filling(schema).fill(thaw(call.arguments), schema))


class _Filling:
    """Fills values in by the schemas that stand in one document, its `root`."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._tests: dict[int, Validator] = {}

    def fill(self, value: Any, schema: Any) -> Any:
        match schema, value:
            case {"$ref": str(name)}, _:
                from detent.core.schema.validation import resolve  # loaded with what refers

                return self.fill(value, resolve(name, self._root))
            case {"anyOf": [*kinds]} | {"oneOf": [*kinds]}, dict() | list():
                if len(kinds) > 1:  # it is read as the first that it fits
                    kinds = [kind for kind in kinds if self._fits(value, kind)]
                return self.fill(value, kinds[0]) if kinds else value
            case {"properties": Mapping() as parts}, dict():
                extra = schema.get("additionalProperties")
                items = {n: self.fill(x, parts.get(n, extra)) for n, x in value.items()}
                names = (n for n, part in parts.items() if "default" in part and n not in items)
                return items | {n: thaw(parts[n]["default"]) for n in names}
            case {"additionalProperties": part}, dict():
                return {n: self.fill(item, part) for n, item in value.items()}
            case {"prefixItems": [*parts]}, list():
                return [*map(self.fill, value, parts), *value[len(parts) :]]
            case {"items": part}, list():
                return [self.fill(item, part) for item in value]
            case _:
                return value

    def _fits(self, value: Any, option: Mapping[str, Any]) -> bool:
        from detent.core.schema.validation import Validator

        test = self._tests.get(id(option))
        if test is None:
            definitions = {key: self._root[key] for key in DEFINITIONS if key in self._root}
            test = self._tests[id(option)] = Validator({**definitions, **option})
        return test.fits_json(value)
