"""Structured output: which schema a run's answer fits, how the model is told, how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Generic, cast

from attrs import field, frozen
from attrs.validators import ge

from detent.core.chat.replies import SchemaMode
from detent.core.codec.json_text import read_json
from detent.core.schema.accepted_keywords import parts
from detent.core.schema.conversion import ConversionError, convert
from detent.core.schema.validation import faults
from detent.core.state.typevars import T
from detent.core.tools.tool import ToolSpec
from detent.core.tools.wording import FINAL_ANSWER
from detent.core.values.frozen import FrozenDict, frozen_mapping

FENCE = "```"
STRICT = frozenset({"type", "properties", "required", "additionalProperties", "description"}) | {
    *("items", "enum", "anyOf", "$ref", "$defs")
}
"""The keywords that every provider takes that holds models to a schema strictly."""


@frozen
class AnswerType(Generic[T]):
    """The type that a run's answer has, and the schema of its values.

    Attributes:
        kind: an attrs class, a dataclass, a typed dict, a pydantic model, or any other type that a
            JSON Schema describes.
        value_schema: the JSON Schema of its values.
        tries: how many answers the model may give in all. When the last one does not fit the run
            ends, with the exit reason "output_tries".
        native: when the provider holds the model to the schema; None is what the agent's chat
            generator says of itself.
        name: what the tool to answer by is called.
    """

    kind: type[T]
    value_schema: Mapping[str, Any] = field(kw_only=True, eq=False, repr=False)
    tries: int = field(default=3, kw_only=True, validator=ge(1))
    native: SchemaMode | None = field(default=None, kw_only=True)
    name: str = field(default="final_answer", kw_only=True)

    @property
    def is_wrapped(self) -> bool:
        """Whether the type's values are no JSON objects: an answer has one as its `value`."""
        return self.value_schema.get("type") != "object"

    @cached_property
    def schema(self) -> FrozenDict[str, Any]:
        """The JSON Schema of answers."""
        if not self.is_wrapped:
            return frozen_mapping(self.value_schema)
        value = dict(self.value_schema)
        definitions = {"$defs": value.pop("$defs")} if "$defs" in value else {}
        whole = {"type": "object", "properties": {"value": value}, "required": ["value"]}
        return frozen_mapping({**whole, "additionalProperties": False, **definitions})

    @cached_property
    def tool(self) -> ToolSpec:
        """The tool to answer by."""
        return ToolSpec(self.name, FINAL_ANSWER, self.schema)

    @cached_property
    def response_format(self) -> FrozenDict[str, object]:
        """What a provider is told that holds the model to the schema."""
        schema: dict[str, Any] = {"name": self.name, "schema": self.schema}
        if _is_strict(self.schema):
            schema["strict"] = True
        return frozen_mapping({"type": "json_schema", "json_schema": schema})

    def is_native(self, tools: bool) -> bool:  # noqa: FBT001 - with or without
        """Whether the provider holds the model to the schema, with or without `tools`."""
        return self.native == "always" or (self.native == "without_tools" and not tools)

    def asked(
        self, tools: tuple[ToolSpec, ...], options: FrozenDict[str, object]
    ) -> tuple[tuple[ToolSpec, ...], FrozenDict[str, object]]:
        """The tools and options of a model call that wants an answer of this type."""
        if self.is_native(bool(tools)):
            return tools, FrozenDict({"response_format": self.response_format, **options})
        return (*tools, self.tool), options

    def read(self, answer: Mapping[str, object]) -> T:
        """The answer, a JSON object, as an instance of the type.

        Raises:
            ConversionError: it does not fit the schema, or the class refuses it.
        """
        # against the schema first, which the model knows: a class says less of what is wrong
        if errors := list(faults(answer, self.schema)):
            raise ConversionError(errors)
        value = answer["value"] if self.is_wrapped else answer
        return cast(T, convert(value, self.kind, self.name))

    def answer_in(self, text: str) -> FrozenDict[str, object]:
        """The JSON object that a text is, which may stand in a fenced block.

        Raises:
            ConversionError: it is none, or does not fit.
        """
        inside = text.strip()
        if len(inside) >= 2 * len(FENCE) and inside.startswith(FENCE) and inside.endswith(FENCE):
            text = inside[len(FENCE) : -len(FENCE)].removeprefix("json").strip()
        try:
            answer = read_json(text)
        except ValueError as error:
            raise ConversionError([f"the answer is no JSON: {error}"]) from error
        self.read(answer)
        return frozen_mapping(answer)


def _is_strict(schema: object) -> bool:
    """Whether every provider that holds models to a schema strictly takes this one."""
    if not isinstance(schema, Mapping):
        return schema is False
    if not schema.keys() & {"type", "enum", "anyOf", "$ref"} or not STRICT.issuperset(schema):
        return False
    if schema.get("type") == "object":
        names = schema.get("properties", {}).keys()
        if not names or names != set(schema.get("required", ())):
            return False
    return all(_is_strict(part) for _, part in parts(schema))
