"""A cattrs converter that is exact: what it writes it reads back equal and of the same types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from itertools import count
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from detent.core.codec.forms import (
    BUILT_IN,
    COLLECTIONS,
    ESCAPES,
    LOCAL_PATH,
    SCALARS,
    SPECIAL,
    Form,
    NoFormError,
    classes_in,
    is_model,
    is_record,
    is_storable,
    map_each,
    plain_type,
    stored_class,
    unpack_each,
)
from detent.core.codec.json_text import NATIVE, TAG, is_native
from detent.core.schema.record_fields import fields_of, is_named_tuple
from detent.core.schema.type_checks import bare_type
from detent.core.values.copies import frozen_fields


class OpenValueConverter(Converter):
    """Writes and reads values of `types` and of the classes that these mention.

    A value of the very class that is declared is written plainly. Where the declared type leaves
    open which class it is, or the value has another one, the class is written beside it.
    """

    def __init__(self, types: Iterable[object]) -> None:
        super().__init__(forbid_extra_keys=True)
        self._classes = classes_in(types)
        self._records: dict[object, Form] = {}
        self._open = Form(self._pack_open, self._unpack_open)

    def unstructure(self, obj: Any, unstructure_as: Any = None) -> Any:
        """`obj` as plain JSON. Raises NoFormError."""
        return self.form(unstructure_as).pack(obj)

    def structure(self, obj: Any, cl: Any) -> Any:
        """The value that was written as `obj`. Raises what the constructors raise."""
        return self.form(cl).unpack(obj)

    def get_unstructure_hook(self, type: Any, cache_result: bool = True) -> Callable[[Any], Any]:  # noqa: A002, FBT001, FBT002  # of cattrs
        """How cattrs writes a field of a record."""
        return self.form(type).pack

    def get_structure_hook(self, type: Any, cache_result: bool = True) -> Callable[..., Any]:  # noqa: A002, FBT001, FBT002  # of cattrs
        """How cattrs reads a field of a record."""
        unpack = self.form(type).unpack
        return lambda data, _: unpack(data)

    def form(self, hint: Any) -> Form:
        """How values are written and read that are declared as a type; None stands for any."""
        hint = bare_type(hint)
        if get_origin(hint) in (Union, UnionType):
            options = [option for option in get_args(hint) if option is not NoneType]
            return self.form(options[0]) if len(options) == 1 else self._open
        kind = stored_class(hint)
        if kind is None:
            return self._open
        own = self._own_form(kind, hint)
        pack_other = self._pack_open if kind in NATIVE else self._pack_typed
        return Form(
            lambda value: own.pack(value) if plain_type(value) is kind else pack_other(value),
            lambda data: self._unpack_open(data) if _is_typed(data) else own.unpack(data),
        )

    def _own_form(self, kind: Any, hint: Any) -> Form:
        """The form of instances of `kind`, which is the class of the declared type."""
        origin, arguments = get_origin(hint) or hint, get_args(hint)
        if kind in SPECIAL:
            return SPECIAL[kind]
        if kind in NATIVE:
            return self._open
        if kind in SCALARS:
            return SCALARS[kind]
        if kind in COLLECTIONS:
            return self._collection_form(kind, origin, arguments)
        if is_typeddict(origin):
            return self._typed_dict_form(origin)
        if is_record(kind):
            return Form(
                lambda value: self._record_form(hint).pack(value),
                lambda data: self._record_form(hint).unpack(data),
            )
        if kind is dict:
            key, item = map(self.form, arguments or (Any, Any))
            return self._dict_form(origin, key, lambda _: item)
        if issubclass(kind, Enum):
            return _enum_form(kind)
        if is_model(kind):
            return Form(
                lambda value: value.model_dump(mode="json", by_alias=True),
                lambda data: kind.model_validate_json(json.dumps(data)),
            )
        return Form(
            lambda value: self._pack_open(value.to_dict()),
            lambda data: kind.from_dict(self._unpack_open(data)),
        )

    def _collection_form(self, kind: type, make: Any, arguments: tuple[Any, ...]) -> Form:
        forms = [self.form(argument) for argument in arguments if argument is not ...]
        apart = kind is tuple and arguments[1:] != (...,)  # each item has a type of its own

        def form_of(index: int) -> Form:
            place = index if apart else 0
            return forms[place] if place < len(forms) else self._open

        def pack(value: Iterable[Any]) -> list[Any]:
            items = [form_of(index).pack(item) for index, item in enumerate(value)]
            # the order of a set differs from process to process, and stored data must not
            return sorted(items, key=repr) if kind in (set, frozenset) else items

        return Form(pack, lambda data: make(unpack_each(map(form_of, count()), data)))

    def _typed_dict_form(self, kind: Any) -> Form:
        """Made by the keys that a value has: which of them are required is not for here to say."""

        def form_of(name: object) -> Form:
            return self.form(get_type_hints(kind, include_extras=True).get(str(name), Any))

        return self._dict_form(dict, self._open, cache(form_of))

    def _dict_form(self, make: Any, key: Form, form_of: Callable[[Any], Form]) -> Form:
        """An object if its keys allow, else a list of pairs."""

        def pack(value: Mapping[Any, Any]) -> Any:
            if _is_object(value):
                return {name: form_of(name).pack(item) for name, item in value.items()}
            return [[key.pack(name), form_of(name).pack(item)] for name, item in value.items()]

        def unpack(data: Any) -> Any:
            is_object = isinstance(data, dict)
            names = [*data] if is_object else [key.unpack(name) for name, _ in data]
            items = data.values() if is_object else [item for _, item in data]
            return make(zip(names, unpack_each(map(form_of, names), items, names), strict=True))

        return Form(pack, unpack)

    def _record_form(self, hint: Any) -> Form:
        """Made when it is first used, for a class may have fields of its own type."""
        if hint not in self._records:
            parameters = getattr(hint, "__parameters__", ())
            whole = hint[(Any,) * len(parameters)] if parameters else hint
            self._records[hint] = self._new_record_form(whole, get_origin(whole) or whole)
        return self._records[hint]

    def _new_record_form(self, hint: Any, kind: Any) -> Form:
        if is_named_tuple(kind):
            return self._named_tuple_form(kind)
        if attrs.has(kind):
            attrs.resolve_types(kind, include_extras=True)
        later = frozen_fields(kind) is None  # in a frozen class such fields follow from the others
        pack = make_dict_unstructure_fn(hint, self, _cattrs_include_init_false=later)
        unpack = make_dict_structure_fn(hint, self, _cattrs_include_init_false=later)
        return Form(pack, lambda data: unpack(data, hint))

    def _named_tuple_form(self, kind: Any) -> Form:
        forms = {field.name: self.form(field.declared) for field in fields_of(kind)}

        def unpack(data: Mapping[str, Any]) -> Any:
            if data.keys() != forms.keys():
                raise ValueError(f"a {kind.__name__} has {', '.join(forms)}, not {', '.join(data)}")
            return kind(*unpack_each(forms.values(), [data[name] for name in forms], forms))

        return Form(
            lambda value: {name: form.pack(getattr(value, name)) for name, form in forms.items()},
            unpack,
        )

    def _pack_open(self, value: Any) -> Any:
        """As JSON if it has the type of the value, else with the type beside it."""
        kind = plain_type(value)
        if kind in NATIVE and is_native(value):
            return value
        if kind is list:
            return [self._pack_open(item) for item in value]
        if kind is dict and _is_object(value):
            return {name: self._pack_open(item) for name, item in value.items()}
        return self._pack_typed(value)

    def _unpack_open(self, data: Any) -> Any:
        if isinstance(data, list):
            return map_each(self._unpack_open, data)
        if not isinstance(data, dict):
            return data
        if _is_typed(data):
            return self._unpack_typed(data)
        return dict(zip(data, map_each(self._unpack_open, data.values(), data), strict=True))

    def _pack_typed(self, value: Any) -> Any:
        if value is None:  # null is None in any place
            return None
        kind = plain_type(value)
        name = self._name_of(kind, value)
        body = (ESCAPES.get(kind) or self._own_form(kind, kind)).pack(value)
        return {TAG: name, **body} if is_record(kind) else {TAG: name, "value": body}

    def _unpack_typed(self, data: dict[str, Any]) -> Any:
        kind = self._class_called(data[TAG])
        own = ESCAPES.get(kind) or self._own_form(kind, kind)
        if is_record(kind):
            return own.unpack({name: item for name, item in data.items() if name != TAG})
        return own.unpack(data["value"])

    def _name_of(self, kind: type, value: object) -> str:
        name = "Path" if kind is LOCAL_PATH else kind.__name__
        if BUILT_IN.get(name) is kind:
            return name
        classes = self._classes.get(name, frozenset())
        if not is_storable(kind):
            reason = (
                "make its class an attrs class or a dataclass, or give it to_dict and from_dict"
            )
        elif kind not in classes:
            reason = (
                f"only its declared type can say which class it is: mention {name}, as list[{name}]"
            )
        elif len(classes) > 1 or name in BUILT_IN:
            reason = f"several types are called {name}; rename one"
        else:
            return name
        raise NoFormError(value, reason)

    def _class_called(self, name: object) -> type:
        classes = self._classes.get(str(name), frozenset())
        kind = BUILT_IN.get(str(name)) or (next(iter(classes)) if len(classes) == 1 else None)
        if kind is None:
            raise ValueError(f"the declared types mention no {name!r}, or several")
        return kind


def _is_typed(data: Any) -> bool:
    return data is None or (isinstance(data, dict) and TAG in data)


def _is_object(value: Mapping[Any, Any]) -> bool:
    """Whether a dict can be a JSON object: its keys are texts, and none says a type."""
    return TAG not in value and all(type(key) is str and is_native(key) for key in value)


def _enum_form(kind: Any) -> Form:
    """By value where all values are texts or numbers, else by name."""
    if all(type(member.value) in (str, int) for member in kind):
        return Form(lambda member: member.value, kind)
    return Form(lambda member: member.name, kind.__getitem__)
