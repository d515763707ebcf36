"""Visible forms: plain JSON of a value for those who judge it, rules and people.

It is the stored form, by the very code that writes that, but for what is there only to be read
back: no type stands beside a value, and a dict is an object whatever its keys are. A model is there
by its fields, whatever it writes: who judges a value must not see another one than runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

from detent.core.codec.forms import (
    BUILT_IN,
    ESCAPES,
    Form,
    NoFormError,
    is_storable,
    plain_type,
)
from detent.core.codec.json_text import is_native
from detent.core.codec.open_values import OpenValueConverter
from detent.core.errors import UnstorableError
from detent.core.schema.model_names import by_names, has_model_parts, model_parts, part_form
from detent.core.schema.type_checks import bare_type


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
        if has_model_parts(kind):
            return Form(self._model, form.unpack)
        return form

    def _dict_form(self, make: Any, key: Form, form_of: Callable[[Any], Form]) -> Form:
        def pack(value: Mapping[Any, Any]) -> dict[str, Any]:
            named = {_name(key.pack(name)): form_of(name).pack(x) for name, x in value.items()}
            if len(named) < len(value):
                raise NoFormError(value, "several of its keys have one name")
            return named

        return Form(pack, super()._dict_form(make, key, form_of).unpack)

    def _model(self, value: Any) -> Any:
        """A model of pydantic: all its fields, and what it writes that is none."""
        kind = type(value)
        if kind.__pydantic_root_model__:
            return part_form(kind, value.root, self._pack_typed)
        held = model_parts(value)
        forms = map(partial(self._part, value), held, held.values())
        parts = dict(zip(held, forms, strict=True))
        return _more(value, held) | by_names(_written_names(kind), parts)

    def _part(self, value: Any, name: str, part: Any) -> Any:
        try:
            return part_form(type(value), part, self._pack_typed)
        except NoFormError:  # which only the model knows to write, or nobody
            written = value.model_dump(mode="json", include={name})
            return written.get(name, f"<{type(part).__qualname__}>")


@lru_cache(maxsize=64)
def _known_converter(types: Iterable[object]) -> _Converter:
    return _Converter(types)


def _name(packed: object) -> str:
    """A key as the name of a property: as JSON, where it is no text."""
    return packed if isinstance(packed, str) else json.dumps(packed, sort_keys=True)


def _written_names(kind: Any) -> dict[str, str]:
    fields = kind.__pydantic_fields__.items()
    return {name: info.serialization_alias or info.alias or name for name, info in fields}


def _more(value: Any, parts: Iterable[str]) -> dict[str, Any]:
    """What a model writes besides its parts: alone, where no code of its own makes that of them."""
    decorators = type(value).__pydantic_decorators__
    if not decorators.model_serializers and not decorators.computed_fields:
        return {}
    left_out = None if decorators.model_serializers else {*parts}
    written = value.model_dump(mode="json", by_alias=True, exclude=left_out)
    return written if isinstance(written, dict) else {}
