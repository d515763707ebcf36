"""Arguments: a form to change those of a call by, made of its schema, and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from attrs import evolve, frozen

from detent.adapters.system.terminal import escape_control
from detent.adapters.web.shown import as_json
from detent.core.codec.json_text import read_json
from detent.core.values.frozen import thaw
from detent.ports.pending import PendingCall

Kind: TypeAlias = Literal["text", "choice", "json"]
VALUE, LEFT_OUT = "value:", "without:"
"""What the names of a form's fields begin with: the value, and whether there is none."""


@frozen
class ArgumentField:
    """One argument, as it stands in a form.

    Attributes:
        name: of the parameter.
        kind: "text" is the text itself, "choice" one of `choices`, "json" any JSON.
        text: what stands in the form.
        choices: as JSON, what may be chosen; "" leaves it out.
        is_left_out: whether the call has no such argument: an empty field leaves it so.
        may_be_left_out: whether it may have none.
        help: what the schema says of it.
        is_fixed: whether the question does not let it be changed.
    """

    name: str
    kind: Kind
    text: str
    choices: tuple[str, ...] = ()
    is_left_out: bool = False
    may_be_left_out: bool = False
    help: str = ""
    is_fixed: bool = False


class FormError(Exception):
    """A form does not say arguments. The text names the field, and what is the matter."""


def fields_of(call: PendingCall) -> tuple[ArgumentField, ...]:
    """The form of a call: what it has, then what its tool takes beside that."""
    properties: Mapping[str, Any] = call.parameters.get("properties", {})
    required = call.parameters.get("required", ())
    may = call.answers.modify
    return tuple(
        evolve(
            _field(name, properties.get(name, {}), call.arguments),
            is_left_out=name not in call.arguments,
            may_be_left_out=name not in required,
            is_fixed=may is not None and name not in may,
        )
        for name in dict.fromkeys((*call.arguments, *properties))
    )


def _field(name: str, schema: Any, arguments: Mapping[str, Any]) -> ArgumentField:
    known: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    description = str(known.get("description", ""))
    is_there, value = name in arguments, arguments.get(name)
    options = [True, False] if known.get("type") == "boolean" else known.get("enum")
    if options and (not is_there or value in options):
        choices = (*(() if is_there else ("",)), *map(as_json, options))
        return ArgumentField(
            name, "choice", as_json(value) if is_there else "", choices, help=description
        )
    if known.get("type") == "string" and (not is_there or _is_plain(value)):
        return ArgumentField(name, "text", str(value) if is_there else "", help=description)
    text = json.dumps(thaw(value), indent=2) if is_there else ""
    return ArgumentField(name, "json", text, help=description)


def _is_plain(value: object) -> bool:
    """Whether a form shows a text as it is, and gives it back so."""
    return isinstance(value, str) and "\r" not in value and escape_control(value) == value


def arguments_in(call: PendingCall, form: Mapping[str, Any]) -> dict[str, Any]:
    """What a form of `fields_of` says. RULE: what was not touched is what it was, to the letter.

    Raises:
        FormError: a field says no value.
    """
    found: dict[str, Any] = {}
    for field in fields_of(call):
        name, was_there = field.name, field.name in call.arguments
        text = str(form.get(VALUE + name, field.text)).replace("\r\n", "\n")
        is_left_out = field.may_be_left_out and LEFT_OUT + name in form and not field.is_fixed
        if field.is_fixed or text == field.text.replace("\r\n", "\n"):
            if was_there and not is_left_out:
                found[name] = call.arguments[name]
        elif not is_left_out and (text or was_there):
            found[name] = text if field.kind == "text" else _json(name, text)
    return found


def _json(name: str, text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise FormError(f"{name}: this is no JSON ({error}); a text needs quotes") from None


@frozen
class Change:
    """One argument before and after, as JSON; None where there is none."""

    name: str
    before: str | None
    after: str | None


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """What is another in `after`, by name."""
    found = (
        Change(
            name,
            as_json(before[name]) if name in before else None,
            as_json(after[name]) if name in after else None,
        )
        for name in dict.fromkeys((*before, *after))
    )
    return tuple(change for change in found if change.before != change.after)
