"""Visible forms: plain JSON of a value for those who judge it, rules and people.

It is the stored form, by the very code that writes that, but for what is there only to be read
back: no type stands beside a value, and a dict is an object whatever its keys are. What a model
leaves out of its JSON is added: who judges a value must not see another one than runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from detent.core.codec.forms import (
    BUILT_IN,
    ESCAPES,
    Form,
    NoFormError,
    is_model,
    is_record,
    is_storable,
    plain_type,
)
from detent.core.codec.json_text import is_native
from detent.core.codec.open_values import OpenValueConverter
from detent.core.codec.whole_forms import whole_form
from detent.core.errors import UnstorableError
from detent.core.schema.type_checks import bare_type

MISSING = object()


def visible_form(value: object, hint: object = Any, types: Iterable[object] = ()) -> Any:
    """`value` as those see it who judge it; numbers and texts that JSON has not got as they are.

    Raises:
        UnstorableError: something in it has no form. It quotes no value.
    """
    try:
        return _converter(hint, types).unstructure(value, hint)
    except RecursionError:
        raise UnstorableError("it is nested too deep") from None
    except NoFormError as error:
        raise UnstorableError(str(error)) from None
    except Exception as error:  # whatever a class raises that writes itself
        raise UnstorableError(f"{type(error).__name__} is raised where it is written") from error


def as_json(form: Any) -> Any:
    """A visible form, with a text in place of each number and text that JSON has not got."""
    if isinstance(form, dict):
        return {as_json(name): as_json(item) for name, item in form.items()}
    if isinstance(form, list):
        return [as_json(item) for item in form]
    if is_native(form):
        return form
    try:
        return ESCAPES[type(form)].pack(form)
    except OverflowError:
        return f"<{type(form).__qualname__}>"


def _converter(hint: object, types: Iterable[object]) -> _Converter:
    plain_types = [bare_type(kind) for kind in (hint, *types)]
    try:
        return _known_converter(frozenset(plain_types))
    except TypeError:  # an annotation in one of them has no hash
        return _Converter(plain_types)


class _Converter(OpenValueConverter):
    """Writes values to be seen; it reads none."""

    def _pack_typed(self, value: Any) -> Any:
        kind = plain_type(value)
        if value is None or kind in ESCAPES:
            return value
        if kind not in BUILT_IN.values() and not is_storable(kind):
            raise NoFormError(value, f"nothing says how a {kind.__qualname__} is written")
        return self._own_form(kind, kind).pack(value)

    def _own_form(self, kind: Any, hint: Any) -> Form:
        form = super()._own_form(kind, hint)
        if is_model(kind) and not is_record(kind):
            return Form(lambda value: self._model(form, value), form.unpack)
        return form

    def _dict_form(self, make: Any, key: Form, form_of: Callable[[Any], Form]) -> Form:
        def pack(value: Mapping[Any, Any]) -> dict[str, Any]:
            named = {_name(key.pack(name)): form_of(name).pack(x) for name, x in value.items()}
            if len(named) < len(value):
                raise NoFormError(value, "several of its keys have one name")
            return named

        return Form(pack, super()._dict_form(make, key, form_of).unpack)

    def _model(self, form: Form, value: Any) -> Any:
        """What a model of pydantic writes of itself, and its fields where that is another value."""
        written = form.pack(value)
        try:
            made = form.unpack(written)
        except Exception:  # noqa: BLE001 - it may lack what is left out
            made = MISSING
        if whole_form(made) == whole_form(value):
            return written
        if getattr(value, "__pydantic_root_model__", False):
            return self._pack_open(value.root)
        fields = {_written_name(name, info): name for name, info in _fields_of(value)}
        known = written if isinstance(written, dict) else {}
        return known | {
            alias: self._part(getattr(value, name), getattr(made, name, MISSING), known.get(alias))
            for alias, name in fields.items()
            if hasattr(value, name)
        }

    def _part(self, part: Any, made: Any, written: Any) -> Any:
        """A field: as the model writes it, where that is the value, or nothing else is known."""
        if made is not MISSING and whole_form(made) == whole_form(part):
            return written
        try:
            return self._pack_open(part)
        except NoFormError:  # a secret, say, of which the model writes a mask
            return f"<{type(part).__qualname__}>" if written is None else written


@lru_cache(maxsize=64)
def _known_converter(types: Iterable[object]) -> _Converter:
    return _Converter(types)


def _name(packed: object) -> str:
    """A key as the name of a property: as JSON, where it is no text."""
    return packed if isinstance(packed, str) else json.dumps(packed, sort_keys=True)


def _fields_of(value: Any) -> Iterable[tuple[str, Any]]:
    return getattr(type(value), "__pydantic_fields__", {}).items()


def _written_name(name: str, info: Any) -> str:
    return str(info.serialization_alias or info.alias or name)
