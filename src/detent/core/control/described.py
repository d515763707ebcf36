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
        return cast("dict[str, Any]", described(self))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], classes: Classes | None = None) -> Self:
        """What `to_dict` gave. `classes` are those that may occur in it, by name.

        Raises:
            StoredDataError: it names another class, or does not fit.
        """
        made = made_of(data, {cls.__name__: cls, **(classes or {})})
        if not isinstance(made, cls):
            raise StoredDataError(f"this is a {type(made).__name__}, not a {cls.__name__}")
        return made


def described(value: object) -> object:
    """An object, or a plain value, as data."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Sequence):
        return [described(one) for one in cast("Sequence[object]", value)]
    if isinstance(value, Mapping):
        return {str(key): described(one) for key, one in value.items()}
    if has(type(value)):
        given = [one for one in fields(cast(Any, type(value))) if one.init]
        parameters = {one.alias: described(getattr(value, one.name)) for one in given}
        return {"type": type(value).__name__, "init_parameters": parameters}
    if callable(to_dict := getattr(value, "to_dict", None)):
        return to_dict()
    if type(value).__init__ is object.__init__ and not callable(value):
        return {"type": type(value).__name__, "init_parameters": {}}
    raise UnstorableError(f"{value!r:.100} cannot be written as data; give it a to_dict")


def made_of(data: object, classes: Classes) -> object:
    """What `described` gave.

    Raises:
        StoredDataError: it names a class that is not among `classes`, or does not fit it.
    """
    match data:
        case {"type": str(name), "init_parameters": dict(parameters)}:
            if name not in classes:
                raise StoredDataError(
                    f"the data names the class {name!r:.60}; known are: {', '.join(classes)}"
                )
            given = {str(key): made_of(one, classes) for key, one in parameters.items()}
            try:
                return classes[name](**given)
            except (TypeError, ValueError) as error:
                raise StoredDataError(f"the data of a {name} does not fit it: {error}") from error
        case list(items):
            return [made_of(one, classes) for one in items]
        case dict(named):
            return {key: made_of(one, classes) for key, one in named.items()}
        case _:
            return data
