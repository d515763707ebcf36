"""Whether types fit each other. A misfit is one when no value could fit, and never on a guess."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from inspect import isroutine, signature
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from detent.core.schema.record_fields import PARTLESS, field_names
from detent.core.schema.type_checks import bare_type, is_list, type_name
from detent.core.state.handlers import merge_lists, replace_values
from detent.core.state.keys import Key

UNKNOWN = Any
"""The type of what cannot be told."""


def fits(source: Any, target: Any) -> bool:
    """Whether a value of type `source` can be one of type `target`. What cannot be told, fits.

    >>> fits(int, float), fits(list[str], list[int]), fits(dict, "Forward")
    (True, False, True)
    """
    source, target = _bare(source), _bare(target)
    # One option is enough, of both: a misfit is one only when no value could fit.
    if options := _options(source):
        return any(fits(option, target) for option in options)
    if options := _options(target):
        return any(fits(source, option) for option in options)
    kind, other = _class_of(source), _class_of(target)
    if kind is None or other is None or _is_promoted(kind, other):
        return True
    if get_origin(source) is Literal and get_origin(target) is Literal:
        return kind is other and get_args(source) == get_args(target)
    # Either way round: what is declared as a base class may well be the class that is wanted.
    if not (_is_kind_of(kind, other) or _is_kind_of(other, kind)):
        return False
    return _parts_fit(kind, get_args(source), other, get_args(target))


def update_type(key: Key[Any, Any], handler: Callable[[Any, Any], Any] | None) -> Any:
    """What may be written to `key`: what the handler that merges it takes."""
    merge: Callable[[Any, Any], Any] = handler or key.handler
    if merge is replace_values:
        return key.type
    if merge is not merge_lists:
        return _second_parameter(merge)
    hint = _bare(key.type)
    options = get_args(hint) if _is_union(hint) else (hint,)
    items = [get_args(_bare(option)) for option in options if is_list(option)]
    if not items or not items[0]:
        return UNKNOWN
    (item,) = items[0]
    return Union[list[item], tuple[item, ...], item, None]  # type: ignore[valid-type]  # noqa: UP007 - made at run time


def part_type(returns: Any, source: str) -> Any:
    """The type of the part of a result that is called `source`.

    Raises:
        LookupError: no such result has that part. It says what the result is.
    """
    returns = _bare(returns)
    if get_origin(returns) is Coroutine:
        return part_type(get_args(returns)[-1], source)
    if _is_union(returns):
        return _part_of_some(get_args(returns), source)
    if get_origin(returns) is Literal:
        raise LookupError(f"{type_name(returns)} has no parts")
    kind = get_origin(returns) or returns
    if kind is Any or not isinstance(kind, type):
        return UNKNOWN
    if issubclass(kind, Mapping) and not is_typeddict(kind):
        return _value_type(get_args(returns), source)
    names = _names(kind)
    if source in names:
        return names[source]
    if isroutine(member := getattr(kind, source, None)):
        raise LookupError(f"{source!r} of {type_name(kind)} is a method")
    if _has_no_others(kind) and (member is None or issubclass(kind, PARTLESS)):
        raise LookupError(f"{type_name(kind)} has {', '.join(names) or 'no parts'}")
    return UNKNOWN


def _part_of_some(options: Sequence[Any], source: str) -> Any:
    kinds: list[Any] = []
    missing: list[str] = []
    for option in options:
        try:
            kinds.append(part_type(option, source))
        except LookupError as error:
            missing.append(str(error))
    if not kinds:
        raise LookupError("; ".join(missing))
    return Union[tuple(kinds)]  # noqa: UP007 - made at run time


def _value_type(arguments: Sequence[Any], source: str) -> Any:
    if len(arguments) != 2:  # noqa: PLR2004 - a mapping has two
        return UNKNOWN
    names = get_args(arguments[0]) if get_origin(arguments[0]) is Literal else (source,)
    if source not in names:
        raise LookupError(f"the dict has {', '.join(map(str, names))}")
    return arguments[1]


def _names(kind: type) -> dict[str, Any]:
    """The named parts of a class's values, with their types, as far as these can be told."""
    try:
        return get_type_hints(kind)
    except NameError:
        return dict.fromkeys(kind.__annotations__, UNKNOWN)


def _has_no_others(kind: type) -> bool:
    """Whether the annotations name all parts: a method may give a plain object any other."""
    return is_typeddict(kind) or field_names(kind) is not None or issubclass(kind, PARTLESS)


def _parts_fit(kind: type, sources: tuple[Any, ...], other: type, targets: tuple[Any, ...]) -> bool:
    if not sources or not targets or not (_is_builtin(kind) and _is_builtin(other)):
        return True
    if issubclass(kind, Mapping) or issubclass(other, Mapping):
        return all(map(fits, sources, targets))
    if kind is other is tuple and Ellipsis not in (*sources, *targets):
        return len(sources) == len(targets) and all(map(fits, sources, targets))
    items = [item for item in sources if item is not Ellipsis]
    return all(fits(item, part) for item in items for part in targets if part is not Ellipsis)


def _is_builtin(kind: type) -> bool:
    return issubclass(kind, Collection) and kind.__module__ in ("builtins", "collections.abc")


def _bare(hint: Any) -> Any:
    """The type without annotations and further names."""
    kind = bare_type(hint)
    return NoneType if kind is None else kind


def _options(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the choices of a Literal; none if there is nothing to choose."""
    arguments = get_args(hint)
    if get_origin(hint) is Literal and len(arguments) > 1:
        return tuple(Literal[choice] for choice in arguments)
    return arguments if _is_union(hint) else ()


def _is_promoted(kind: type, other: type) -> bool:
    """Whether numbers of one class count as the other's: an int as a float, and not vice versa."""
    return (issubclass(kind, int) and other is float) or (
        issubclass(kind, int | float) and other is complex
    )


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _class_of(hint: Any) -> type | None:
    """The class whose instances the values are; None when that cannot be told."""
    if get_origin(hint) is Literal:
        return type(get_args(hint)[0])
    kind = get_origin(hint) or hint
    if kind is Any or not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return None
    return dict if is_typeddict(kind) else kind


def _is_kind_of(kind: type, other: type) -> bool:
    try:
        return issubclass(kind, other)
    except TypeError:
        return True


def _second_parameter(handler: Callable[[Any, Any], Any]) -> Any:
    try:
        _, update = signature(handler).parameters.values()
        return get_type_hints(handler).get(update.name, UNKNOWN)
    except (TypeError, ValueError, NameError):
        return UNKNOWN
