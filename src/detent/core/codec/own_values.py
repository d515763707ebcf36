"""Our own values as JSON and back: runs, events, messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from attrs import fields, has, resolve_types

from detent.core.codec.json_text import encode
from detent.core.codec.own_forms import AGENT, Agent, MismatchError, form_of, inside, is_special
from detent.core.errors import StoredDataError, UnstorableError

if TYPE_CHECKING:
    from returns.result import Result

T = TypeVar("T")


def dump(value: object, hint: Any = None, agent: Agent = None) -> Any:
    """`value` as plain JSON. `hint` is its type; without it, that of the value itself.

    Raises:
        UnstorableError: something in it cannot be written as JSON.
    """
    return json.loads(encode(data_of(value, hint, agent)))


def data_of(value: object, hint: Any = None, agent: Agent = None) -> Any:
    """The same as what JSON has no other text for: it may share containers with the value."""
    kind: Any = hint or type(value)
    before = AGENT.set(agent)
    try:
        return form_of(kind).pack(value)
    except Exception as error:  # noqa: BLE001  # what is not of its type may fail in any way
        raise UnstorableError(why_unstorable(value, kind, error)) from None
    finally:
        AGENT.reset(before)


def why_unstorable(value: object, hint: Any, error: Exception) -> str:
    """What keeps a value from being written, and where in it, by what came of trying."""
    if isinstance(error, RecursionError):
        return "this is nested too deeply to be stored"
    place, fault = _fault_in(value, hint, error)
    return f"this cannot be stored: {fault} @ data{place}"


def read(data: object, kind: type[T], agent: Agent = None) -> Result[T, str]:
    """The value of this kind, or union of kinds, that `data` says; or what is wrong, and where.

    Without an agent, what the keys of its state hold is not read.
    """
    from returns.result import Failure, Success  # 15 ms: loaded once something is read

    hint: Any = kind
    before = AGENT.set(agent)
    try:
        return Success(form_of(hint).unpack(data))
    except Exception as error:  # noqa: BLE001  # what a constructor raises is the data's fault, too
        return Failure(message_of(error))
    finally:
        AGENT.reset(before)


def load(data: object, kind: type[T], agent: Agent = None) -> T:
    """What `read` gives. Raises StoredDataError where the data says no such value."""
    from returns.pipeline import is_successful

    result = read(data, kind, agent)
    if is_successful(result):
        return result.unwrap()
    raise StoredDataError(f"stored data cannot be read: {result.failure()}")


def message_of(error: Exception, place: str = "data") -> str:
    """What is wrong with stored data, and where, by what came of reading it."""
    from cattrs import transform_error

    try:
        faults = transform_error(error, place, _sentence)
    except RecursionError:
        return "it is nested too deeply"
    return "; ".join(fault[:500] for fault in faults[:3])


def _sentence(error: BaseException, _: object) -> str:
    from cattrs import ForbiddenExtraKeysError

    if isinstance(error, ForbiddenExtraKeysError):
        return f"nothing is called {min(map(str, error.extra_fields))[:40]!r}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "it is missing" if isinstance(error, KeyError) else str(error)


def _fault_in(value: Any, hint: Any, error: Exception) -> tuple[str, Exception]:
    """Where in a value that could not be written the fault is, and which: cattrs does not say."""
    with suppress(MismatchError), inside(value):  # the agent inside may not be there at all
        for step, part, kind in _parts(value, hint):
            try:
                form_of(kind).pack(part)
            except Exception as inner:  # noqa: BLE001  # as in `data_of`
                place, fault = _fault_in(part, kind, inner)
                return step + place, fault
    if type(error) in (KeyError, TypeError):  # of texts and choices: what reads them says more
        try:
            form_of(hint).unpack(value)
        except MismatchError as fault:
            return "", fault
    return "", error


def _parts(value: Any, hint: Any) -> Iterator[tuple[str, Any, Any]]:
    if has(type(value)) and not is_special(type(value)):
        items = (field for field in fields(resolve_types(type(value))) if field.init)
        yield from ((f".{field.name}", getattr(value, field.name), field.type) for field in items)
    for kind in (hint, *get_args(hint)):
        if get_origin(kind) is tuple and type(value) is tuple:
            yield from ((f"[{place}]", item, get_args(kind)[0]) for place, item in enumerate(value))
