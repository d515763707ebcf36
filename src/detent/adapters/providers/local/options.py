"""What may be asked of the local model: the generation options, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import fields, frozen


@frozen
class Options:
    """Options of one call.

    Attributes:
        temperature: 0 is the likeliest token each time: the same question, the same answer.
        max_tokens: the reply is cut off at this length.
        seed: makes a temperature above 0 repeatable.
        top_p: only the likeliest tokens that together have this probability are drawn from.
        tool_choice: "auto"; "required": some tool; "none": no tool; or the name of a tool.
        parallel_tool_calls: let the model make up to four calls in one reply. Small models then
            tend to call what they do not need.
        response_format: ``{"type": "json_schema", "json_schema": {"schema": …}}`` holds the answer
            to a JSON Schema, ``{"type": "json_object"}`` to any JSON object.
    """

    temperature: float = 0.0
    max_tokens: int = 1024
    seed: int | None = None
    top_p: float | None = None
    tool_choice: str = "auto"
    parallel_tool_calls: bool = False
    response_format: Mapping[str, Any] | None = None

    @property
    def answer_schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of the answer; None where it is free text."""
        wanted = self.response_format or {}
        if wanted.get("type") == "json_schema":
            schema: Mapping[str, Any] = wanted["json_schema"]["schema"]
            return schema
        return {"type": "object"} if wanted.get("type") == "json_object" else None


def read_options(options: Mapping[str, Any]) -> Options:
    """The options out of `options`, where None stands for the default.

    Raises:
        ValueError: there is no such option, or it cannot have that value.
    """
    known = [field.name for field in fields(Options)]
    if unknown := sorted(options.keys() - set(known)):
        names = ", ".join(unknown)
        raise ValueError(f"the local model has no option {names}; it has {', '.join(known)}")
    read = Options(**{name: value for name, value in options.items() if value is not None})
    _check_response_format(read.response_format)
    return read


def _check_response_format(wanted: Mapping[str, Any] | None) -> None:
    match wanted:
        case None | {"type": "json_object" | "text"}:
            return
        case {"type": "json_schema", "json_schema": {"schema": Mapping()}}:
            return
        case _:
            raise ValueError(
                'response_format must be {"type": "json_object"} or {"type": "json_schema", '
                f'"json_schema": {{"schema": {{…}}}}}}, got {wanted!r}'
            )
