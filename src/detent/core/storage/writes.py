"""Writes as plain JSON and back: a handler is stored by a name that every process finds it by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from detent.core.codec.json_text import LEAST, MOST, quoted
from detent.core.codec.records import register
from detent.core.codec.registry import WITH_AGENT
from detent.core.codec.shapes import RefusedError, Spec, an_object, refusing
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.run.events import HappenedInside
from detent.core.run.run import Delegated
from detent.core.run.spec import AgentSpec
from detent.core.state.handlers import Handler, merge_lists, replace_values
from detent.core.state.keys import Write
from detent.core.state.state import BaseState
from detent.core.tools.result import SCALARS
from detent.core.values.shared_list import bare, is_shared_list

HANDLERS = {"merge_lists": merge_lists, "replace_values": replace_values}
"""The handlers that everybody has; others are found at the tool or the state key."""


def write_text(spec: AgentSpec[Any], write: Write) -> str:
    """A write as JSON text, with its value as the state stores it.

    Raises:
        UnstorableError: the value, or the handler, cannot be stored.
    """
    from detent.core.state.stored import (
        value_text,  # cattrs is only loaded when something is stored
    )

    declared, types = _types(spec, write.key)
    value = value_text(bare(write.held), declared, types, place=f"a write to {write.key!r}")
    told = f'"key":{quoted(write.key)},"value":{value}'
    if write.handler is not None:
        told += f',"handler":{quoted(_name_of(spec, write))}'
    return f"{{{told}}}"


def is_plain_write(spec: AgentSpec[Any], write: Write) -> bool:
    """Whether what is written is stored as it is, by the usual handler."""
    held = write.held
    items = held.held() if is_shared_list(held) else (held,)
    if write.handler is not None or not are_scalars(items):
        return False
    from detent.core.codec.values import is_plain  # as above

    return is_plain(bare(held), _types(spec, write.key)[0])


def are_scalars(values: Iterable[object]) -> bool:
    """Whether all of them have a text by themselves. A number of thousands of digits has none."""
    every = [*values]
    kinds = {*map(type, every)}
    if int in kinds and not all(LEAST <= one <= MOST for one in every if type(one) is int):
        return False
    return SCALARS.issuperset(kinds)


def is_plain_list(declared: object) -> bool:
    """Whether lists of this type are stored as they are."""
    from detent.core.codec.values import is_plain  # as above

    return is_plain([], declared)


def write_from_json(spec: AgentSpec[Any], data: object) -> Write:
    """The write that `data` says.

    Raises:
        StoredDataError: it says none, or the agent has no such handler.
    """
    from detent.core.codec.values import from_json  # as above

    match data:
        case {"key": str(key), "value": value, **rest} if rest.keys() <= {"handler"}:
            declared, types = _types(spec, key)
            read = from_json(value, declared, types, place=f"a write to {key!r}")
            return Write(key, read, _handler(spec, key, rest["handler"]) if rest else None)
        case _:
            raise StoredDataError("a write has a key, a value and perhaps a handler")


def _types(spec: AgentSpec[Any], key: str) -> tuple[Any, list[Any]]:
    """What the key is declared as, and all types that may be mentioned."""
    fields = spec.state.fields
    return fields[key].type if key in fields else Any, [one.type for one in fields.values()]


def _handler(spec: AgentSpec[Any], key: str, name: object) -> Handler[Any, Any]:
    handler = _named(spec, key).get(str(name))
    if handler is None:
        raise StoredDataError(f"this agent has no handler {name!r:.100} for state key {key!r}")
    return handler


def _name_of(spec: AgentSpec[Any], write: Write) -> str:
    for name, handler in _named(spec, write.key).items():
        if handler is write.handler:
            return name
    raise UnstorableError(
        f"a write to {write.key!r} has a handler that no tool and no key declares, so that it "
        "could not be found again; name it in the schema or in the tool's outputs_to_state"
    )


def _named(spec: AgentSpec[Any], key: str) -> dict[str, Handler[Any, Any]]:
    """Every handler that may merge into `key`, by a name that is the same in every process."""
    found: dict[str, Handler[Any, Any]] = dict(HANDLERS)
    if key in spec.state.fields:
        found["key"] = spec.state.fields[key].handler
    for tool in spec.tools.values():
        for output in tool.outputs:
            if output.key == key and output.handler is not None:
                found[f"tool {tool.name}"] = output.handler
    return found


@refusing
def _write_state(value: Any, spec: Spec) -> str:
    from detent.core.state.stored import state_text  # as above

    return state_text(value)


@refusing
def _read_state(data: Any, spec: Spec) -> Any:
    return None if spec is None else spec.state.restored(an_object(data))


@refusing
def _write_write(value: Any, spec: Spec) -> str:
    if spec is None:
        raise RefusedError("without an agent a write cannot be stored")
    return write_text(spec, value)


@refusing
def _read_write(data: Any, spec: Spec) -> Write:
    return Write("", None) if spec is None else write_from_json(spec, data)


def register_forms() -> None:
    """Have states, writes and inner runs stored as this module says."""
    register(BaseState, _write_state, _read_state)
    register(Write, _write_write, _read_write)
    WITH_AGENT.update((Delegated, HappenedInside))
