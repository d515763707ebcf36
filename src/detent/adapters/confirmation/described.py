"""Objects as data: their class by its name, and what they were made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from attrs import fields, has

from detent.core.errors import StoredDataError, UnstorableError

Classes = Mapping[str, type]
"""The classes that data may name. Nothing is imported because data says so."""


class Described:
    """An attrs class that is written as its name and its arguments, and read back."""

    def to_dict(self) -> dict[str, Any]:
        """``{"type": name of the class, "init_parameters": {…}}``, plain JSON.

        Raises:
            UnstorableError: one of the arguments has no such form, as a function has none.
        """
        return cast("dict[str, Any]", object_to_data(self))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], classes: Classes | None = None) -> Self:
        """What `to_dict` gave. `classes` are those that may occur in it, by name.

        Raises:
            StoredDataError: it names another class, or does not fit.
        """
        made = object_from_data(data, {cls.__name__: cls, **(classes or {})})
        if not isinstance(made, cls):
            raise StoredDataError(f"this is a {type(made).__name__}, not a {cls.__name__}")
        return made


def object_to_data(value: object) -> object:
    """An object, or a plain value, as data.

    Raises:
        UnstorableError: it has no such form.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Sequence):
        return [object_to_data(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, Mapping):
        return {str(key): object_to_data(item) for key, item in value.items()}
    # an attrs class before a `to_dict` of its own: that of `Described` comes here
    if has(type(value)):
        attributes = [item for item in fields(cast(Any, type(value))) if item.init]
        parameters = {item.alias: object_to_data(getattr(value, item.name)) for item in attributes}
        return {"type": type(value).__name__, "init_parameters": parameters}
    if callable(to_dict := getattr(value, "to_dict", None)):
        return to_dict()
    if type(value).__init__ is object.__init__ and not callable(value):
        return {"type": type(value).__name__, "init_parameters": {}}
    raise UnstorableError(f"{value!r:.100} cannot be written as data; give it a to_dict")


def object_from_data(data: object, classes: Classes) -> object:
    """What `object_to_data` gave.

    Raises:
        StoredDataError: it names a class that is not among `classes`, or does not fit it.
    """
    match data:
        case {"type": str(name), "init_parameters": dict(parameters)}:
            if name not in classes:
                raise StoredDataError(
                    f"the data names the class {name!r:.60}; known are: {', '.join(classes)}"
                )
            arguments = {
                str(key): object_from_data(item, classes) for key, item in parameters.items()
            }
            try:
                return classes[name](**arguments)
            except (TypeError, ValueError) as error:
                raise StoredDataError(f"the data of a {name} does not fit it: {error}") from error
        case list(items):
            return [object_from_data(item, classes) for item in items]
        case dict(named):
            return {key: object_from_data(item, classes) for key, item in named.items()}
        case _:
            return data
