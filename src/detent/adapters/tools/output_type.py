"""Structured output as people ask for it: a type, of which its schema is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, field, frozen

from detent.adapters.tools.docstrings import field_texts
from detent.adapters.tools.type_schemas import SchemaWriter
from detent.core.run.output_type import AnswerType
from detent.core.schema.accepted_keywords import schema_faults
from detent.core.schema.type_checks import type_name
from detent.core.state.typevars import T


@frozen
class OutputType(AnswerType[T]):
    """The type that a run's answer has.

    The model is held to it by its provider where that can be done; elsewhere it gets a tool to
    answer by. Either way the answer is checked here, and what does not fit goes back to the model.

    Attributes:
        kind: an attrs class, a dataclass, a typed dict, a pydantic model, or any other type that a
            JSON Schema describes.
        tries: how many answers the model may give in all. When the last one does not fit the run
            ends, with the exit reason "output_tries".
        native: when the provider holds the model to the schema; None is what the agent's chat
            generator says of itself.
        name: what the tool to answer by is called.

    Raises:
        TypeError: no JSON Schema describes the type.
    """

    def _schema(self) -> Mapping[str, Any]:
        """What describes the values of the type; one that nothing describes is found at once."""
        writer = SchemaWriter(field_texts)
        subject = f"output_type {type_name(self.kind)}"
        try:
            schema = writer.schema(self.kind)
        except (TypeError, NameError) as error:
            raise TypeError(f"{subject}: {error}; take a class with typed fields") from error
        if writer.definitions:
            schema = {**schema, "$defs": writer.definitions}
        if wrong := schema_faults(schema):
            raise TypeError(f"{subject}: {'; '.join(wrong)}")
        return schema

    value_schema: Mapping[str, Any] = field(
        init=False, eq=False, repr=False, default=Factory(_schema, takes_self=True)
    )
