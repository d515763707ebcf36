"""Writes as plain JSON and back: a handler is stored by a name that every process finds it by."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from detent.core.codec.forms import require_object
from detent.core.codec.own_forms import AGENT, register, register_inner
from detent.core.codec.values import from_json
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.run.events import HappenedInside
from detent.core.run.run import Delegated
from detent.core.run.spec import AgentSpec
from detent.core.run.totals import total_from_json, total_to_json
from detent.core.state.handlers import Handler, merge_lists, replace_values
from detent.core.state.keys import Write
from detent.core.state.state import BaseState
from detent.core.state.stored import state_to_json, value_to_json
from detent.core.values.shared_list import bare

HANDLERS = {"merge_lists": merge_lists, "replace_values": replace_values}
"""The handlers that everybody has; others are found at the tool or the state key."""


def _write_to_json(write: Write) -> dict[str, Any]:
    """With its value as the state stores it."""
    spec: AgentSpec[Any] | None = AGENT.get()
    if spec is None:
        raise UnstorableError("without an agent a write cannot be stored")
    hint, types = _types(spec, write.key)
    place = f"a write to {write.key!r}"
    value = value_to_json(bare(write.held), hint, types, place=place)
    handler = {} if write.handler is None else {"handler": _name_of(spec, write)}
    secret = {"secret": True} if write.is_secret else {}
    return {"key": write.key, "value": value, **handler, **secret}


def _write_from_json(data: Any, _: object = None) -> Write:
    spec: AgentSpec[Any] | None = AGENT.get()
    if spec is None:
        return Write("", None)
    match data:
        case {"key": str(key), "value": value, **rest} if rest.keys() <= {"handler", "secret"}:
            hint, types = _types(spec, key)
            value = from_json(value, hint, types, place=f"a write to {key!r}")
            handler = _handler(spec, key, rest["handler"]) if "handler" in rest else None
            return Write(key, value, handler, is_secret=rest.get("secret") is True)
        case _:
            raise StoredDataError("a write has a key, a value and perhaps a handler")


def _types(spec: AgentSpec[Any], key: str) -> tuple[Any, list[Any]]:
    """What the key is declared as, and all types that may be mentioned."""
    fields = spec.state.fields
    return fields[key].type if key in fields else Any, [item.type for item in fields.values()]


def _handler(spec: AgentSpec[Any], key: str, name: object) -> Handler[Any, Any]:
    handler = _handlers(spec, key).get(str(name))
    if handler is None:
        raise StoredDataError(f"this agent has no handler {name!r:.100} for state key {key!r}")
    return handler


def _name_of(spec: AgentSpec[Any], write: Write) -> str:
    for name, handler in _handlers(spec, write.key).items():
        if handler is write.handler:
            return name
    raise UnstorableError(
        f"a write to {write.key!r} has a handler that no tool and no key declares, so that it "
        "could not be found again; name it in the schema or in the tool's outputs_to_state"
    )


def _handlers(spec: AgentSpec[Any], key: str) -> dict[str, Handler[Any, Any]]:
    """Every handler that may merge into `key`, by a name that is the same in every process."""
    handlers: dict[str, Handler[Any, Any]] = dict(HANDLERS)
    if key in spec.state.fields:
        handlers["key"] = spec.state.fields[key].handler
    for tool in spec.tools.values():
        for output in tool.outputs:
            if output.key == key and output.handler is not None:
                handlers[f"tool {tool.name}"] = output.handler
    return handlers


def _state_from_json(data: Any, _: object = None) -> Any:
    spec: AgentSpec[Any] | None = AGENT.get()
    return None if spec is None else spec.state.restored(require_object(data))


def register_forms() -> None:
    """Have states, writes and inner runs stored as this module says."""
    register(BaseState, state_to_json, _state_from_json)
    register(Write, _write_to_json, _write_from_json)
    register(Fraction, total_to_json, total_from_json)
    register_inner(Delegated, HappenedInside)
