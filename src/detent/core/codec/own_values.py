"""Our own values as JSON and back: runs, events, messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from detent.core.codec.json_text import encode
from detent.core.codec.own_forms import AGENT, Agent, data_of, form_of
from detent.core.errors import StoredDataError

if TYPE_CHECKING:
    from returns.result import Result

T = TypeVar("T")


def dump(value: object, hint: Any = None, agent: Agent = None) -> Any:
    """`value` as plain JSON. `hint` is its type; without it, that of the value itself.

    Raises:
        UnstorableError: something in it cannot be written as JSON.
    """
    return json.loads(encode(data_of(value, hint, agent)))


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
