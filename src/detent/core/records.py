"""Our own values as plain JSON and back: messages, events, slots, outcomes.

Each kind is named by a fixed tag. Nothing that is stored can name a class, a function or a module
of its own, and what does not fit exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin

from detent.core.decisions import Decision
from detent.core.errors import DetentError
from detent.core.events import Event
from detent.core.frozen import FrozenDict, freeze, thaw
from detent.core.messages import ChatRole, Content, ResultPart
from detent.core.outcomes import Outcome
from detent.core.replies import ModelFailure
from detent.core.results import ToolFault
from detent.core.run import Phase
from detent.core.slots import CallRef, Status

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")

UNIONS: tuple[Any, ...] = (
    *(Content, ResultPart, Decision, Event, Outcome, Phase, Status),
    ModelFailure | ToolFault,
)
TAG = "is"
"""The entry that says which member of a union an object is."""


class StoredDataError(DetentError, ValueError):
    """Stored data is not what Detent writes: damaged, foreign, or of another version."""


class UnstorableError(DetentError, TypeError):
    """A value of a run cannot be written as JSON: a tool or the caller has put it there."""


def dump(value: object, declared: Any = None) -> Any:
    """`value` as plain JSON. `declared` is its type; without it, that of the value itself."""
    return _converter().unstructure(value, declared or type(value))


def load(data: object, kind: type[T]) -> T:
    """The value of this kind, or union of kinds, that `data` says.

    Raises:
        StoredDataError: it says none; the message says where.
    """
    try:
        return _converter().structure(data, kind)
    except RecursionError:
        raise StoredDataError("stored data is nested too deeply") from None
    except Exception:  # noqa: BLE001 - read it again, slowly, to say where
        raise StoredDataError(f"stored data cannot be read: {_faults(data, kind)}") from None


def _faults(data: object, kind: Any) -> str:
    from cattrs import transform_error

    try:
        _converter(detailed=True).structure(data, kind)
    except Exception as error:  # noqa: BLE001 - constructors refuse in many ways
        told = transform_error(error, "data", format_exception=lambda one, _: _reason(one))
        return "; ".join(told[:5])
    raise AssertionError("what was refused at first is refused again")


@cache
def _converter(*, detailed: bool = False) -> Converter:
    from cattrs import Converter

    made = Converter(
        forbid_extra_keys=True,
        omit_if_default=True,
        detailed_validation=detailed,
        unstruct_collection_overrides={tuple: list},
    )
    for kind in (str, int, bool, NoneType):
        made.register_structure_hook(kind, _exactly(kind))
    made.register_structure_hook(float, _number)
    made.register_unstructure_hook(ChatRole, lambda role: role.value)
    made.register_structure_hook(CallRef, _ref)
    made.register_unstructure_hook(CallRef, list)
    made.register_structure_hook_func(_is_mapping, lambda value, _: _mapping(value))
    made.register_unstructure_hook_func(_is_mapping, thaw)
    made.register_structure_hook_func(_is_union, lambda value, kind: _member(made, value, kind))
    made.register_unstructure_hook_func(_is_union, lambda value: _tagged(made, value))
    made.register_structure_hook_func(_is_parts, lambda value, kind: _text_or_parts(made, value))
    made.register_unstructure_hook_func(_is_parts, lambda value: _told_parts(made, value))
    return made


def _exactly(kind: type) -> Callable[[Any, Any], Any]:
    def structure(value: object, declared: object) -> object:
        if type(value) is not kind:
            raise ValueError(f"must be {kind.__name__}, got {type(value).__name__}")
        return value

    return structure


def _number(value: object, declared: object) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"must be a number, got {type(value).__name__}")
    return float(cast(float, value))


def _ref(value: object, declared: object) -> CallRef:
    match value:
        case [int(turn), int(place)]:
            return CallRef(turn, place)
        case _:
            raise ValueError("must be a turn and a place")


def _mapping(value: object) -> FrozenDict[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"must be an object, got {type(value).__name__}")  # noqa: TRY004 - bad data
    return cast("FrozenDict[str, object]", freeze(value))


def _member(made: Converter, value: object, kind: Any) -> object:
    members = _members(kind)
    if not isinstance(value, Mapping):
        raise ValueError(f"must be an object, got {type(value).__name__}")  # noqa: TRY004 - bad data
    tag = value.get(TAG)
    if not isinstance(tag, str) or tag not in members:
        raise ValueError(f"must have {TAG!r}, one of {', '.join(members)}, got {str(tag)[:40]!r}")
    return made.structure({key: value[key] for key in value if key != TAG}, members[tag])


@cache
def _members(kind: Any) -> dict[str, Any]:
    return {one.__name__: one for one in get_args(kind)}


def _tagged(made: Converter, value: object) -> dict[str, object]:
    return {TAG: type(value).__name__, **made.unstructure(value)}


def _text_or_parts(made: Converter, value: object) -> object:
    return value if isinstance(value, str) else made.structure(value, tuple[ResultPart, ...])


def _told_parts(made: Converter, value: object) -> object:
    return value if isinstance(value, str) else made.unstructure(value, tuple[ResultPart, ...])


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) is FrozenDict or kind is FrozenDict


def _is_union(kind: Any) -> bool:
    return any(kind == union for union in UNIONS)


def _is_parts(kind: Any) -> bool:
    return bool(kind == (str | tuple[ResultPart, ...]))


def _reason(error: BaseException) -> str:
    from cattrs import ForbiddenExtraKeysError

    match error:
        case KeyError():
            return f"{error} is missing"
        case ForbiddenExtraKeysError():
            return f"nothing is called {', '.join(sorted(error.extra_fields))[:100]}"
        case ValueError():
            return str(error)[:200]
        case _:
            return type(error).__name__
