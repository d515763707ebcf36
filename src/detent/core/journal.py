"""A run and its events as plain JSON and back, by the agent at hand.

What is stored names tools, state keys and handlers; what stands behind a name is found in the
agent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, TypeAlias, cast, get_args

from attrs import evolve, field, frozen

from detent.core.checks import type_name
from detent.core.conversion import ConversionError, convert, plain
from detent.core.errors import StateError
from detent.core.events import Event, ToolReturned
from detent.core.frozen import FrozenDict, freeze, thaw
from detent.core.handlers import merge_lists, replace_values
from detent.core.keys import Write
from detent.core.messages import ChatMessage
from detent.core.records import StoredDataError, UnstorableError, dump, load
from detent.core.replies import Usage
from detent.core.run import NO_OPTIONS, Acting, Done, Phase, Run, RunOptions
from detent.core.slots import AwaitingDecision, Slot, Succeeded, is_settled
from detent.core.spec import AgentSpec, S
from detent.core.state import initial_writes

Json: TypeAlias = dict[str, Any]
Spec: TypeAlias = AgentSpec[Any]

HANDLERS = {"merge_lists": merge_lists, "replace_values": replace_values}
"""The handlers that everybody has; others are found at the tool or the state key."""

SCALARS = frozenset({str, int, float, bool, NoneType})


@frozen
class RunRecord:
    """A run without its state: what is stored of it beside the state's values."""

    id: str
    phase: Phase
    turn: int
    usage: Usage = Usage()
    tool_call_counts: FrozenDict[str, int] = field(factory=FrozenDict)
    options: RunOptions = NO_OPTIONS


def run_to_json(spec: Spec, run: Run[Any]) -> Json:
    """Everything that `run` knows.

    Raises:
        UnstorableError: a value in it cannot be written as JSON.
    """
    phase, writes = _without_writes(spec, run.phase)
    counts = run.tool_call_counts
    record = RunRecord(run.id, phase, run.turn, run.usage, counts, run.options)
    data: Json = dump(record)
    data["state"] = {
        name: _value_to_json(f"state key {name!r}", value, spec.state.fields[name].type)
        for name, value in run.state.data.items()
    }
    if writes:
        data["writes"] = writes
    return _checked("a run", data)


def run_from_json(spec: AgentSpec[S], data: Mapping[str, object]) -> Run[S]:
    """The run that `data` says, with the state's schema, the tools and the handlers of this agent.

    Raises:
        StoredDataError: it says none, or this agent cannot go on with it.
    """
    rest = dict(data)
    values, writes = rest.pop("state", None), rest.pop("writes", {})
    record = load(rest, RunRecord)
    if not isinstance(values, dict) or not isinstance(writes, dict):
        raise StoredDataError(
            "stored data cannot be read: a run has a state and writes, as objects"
        )
    return Run(
        record.id,
        _state(spec, values),
        _with_writes(spec, record.phase, writes),
        record.turn,
        record.usage,
        record.tool_call_counts,
        record.options,
    )


def event_to_json(spec: Spec, event: Event) -> Json:
    """An event, with what a tool wrote to the state.

    Raises:
        UnstorableError: a value in it cannot be written as JSON.
    """
    if not isinstance(event, ToolReturned) or not event.result.writes:
        return _checked("an event", dump(event, Event))
    bare = evolve(event, result=evolve(event.result, writes=()))
    data = dump(bare, Event) | {"writes": _writes_to_json(spec, event.result.writes)}
    return _checked("an event", data)


def event_from_json(spec: Spec, data: Mapping[str, object]) -> Event:
    """The event that `data` says.

    Raises:
        StoredDataError: it says none, or names what this agent does not have.
    """
    rest = dict(data)
    writes = rest.pop("writes", [])
    event = cast(Event, load(rest, cast(Any, Event)))
    if isinstance(event, ToolReturned):
        result = evolve(event.result, writes=_writes_from_json(spec, writes))
        return evolve(event, result=result)
    if writes:
        raise StoredDataError("stored data cannot be read: only a tool's result has writes")
    return event


def status_of(run: Run[Any]) -> str:
    """How far a run has come: "running", "waiting" (for a human and nothing else) or "done"."""
    if isinstance(run.phase, Done):
        return "done"
    still = [slot.status for slot in run.slots if not is_settled(slot)]
    waits = bool(still) and all(isinstance(one, AwaitingDecision) for one in still)
    return "waiting" if waits else "running"


def mark_of(run: Run[Any]) -> str:
    """How far a run has come, in a line: two runs that differ here do not go on alike."""
    words = [type(slot.status).__name__ for slot in run.slots]
    phase = type(run.phase).__name__
    return f"turn {run.turn} {phase} {len(run.messages)} messages {' '.join(words)}".rstrip()


def _state(spec: AgentSpec[S], values: Mapping[str, object]) -> S:
    fields = spec.state.fields
    if unknown := [name for name in values if name not in fields]:
        raise StoredDataError(
            f"the run has the state keys {unknown}, which this agent's schema lacks; it has "
            f"{sorted(fields)}"
        )
    read = {name: _value_from_json(name, data, fields[name].type) for name, data in values.items()}
    try:
        return spec.state.update(initial_writes(read))
    except StateError as error:
        raise StoredDataError(
            f"the stored state does not fit this agent's schema: {error}"
        ) from error


def _without_writes(spec: Spec, phase: Phase) -> tuple[Phase, Json]:
    """The phase without the writes of its results, and those as JSON, by the call's place."""
    if not isinstance(phase, Acting):
        return phase, {}
    writes: Json = {}
    slots: list[Slot] = []
    for slot in phase.slots:
        bare = slot
        if isinstance(slot.status, Succeeded) and slot.status.result.writes:
            result = slot.status.result
            writes[str(slot.ref.place)] = _writes_to_json(spec, result.writes)
            bare = evolve(slot, status=Succeeded(evolve(result, writes=())))
        slots.append(bare)
    return evolve(phase, slots=tuple(slots)), writes


def _with_writes(spec: Spec, phase: Phase, writes: Mapping[str, object]) -> Phase:
    if not isinstance(phase, Acting):
        return phase
    slots: list[Slot] = []
    for slot in phase.slots:
        data = writes.get(str(slot.ref.place))
        full = slot
        if isinstance(slot.status, Succeeded) and data is not None:
            result = evolve(slot.status.result, writes=_writes_from_json(spec, data))
            full = evolve(slot, status=Succeeded(result))
        slots.append(full)
    return evolve(phase, slots=tuple(slots))


def _writes_to_json(spec: Spec, writes: Iterable[Write]) -> list[Json]:
    told: list[Json] = []
    for write in writes:
        where = f"a write to state key {write.key!r}"
        data = _value_to_json(where, write.value, _type_of(spec, write.key)) | {"key": write.key}
        if write.handler is not None:
            data["handler"] = _handler_name(spec, write)
        told.append(data)
    return told


def _writes_from_json(spec: Spec, data: object) -> tuple[Write, ...]:
    if not isinstance(data, list):
        raise StoredDataError("stored data cannot be read: writes must be an array")
    return tuple(_write(spec, one) for one in data)


def _write(spec: Spec, data: object) -> Write:
    match data:
        case {"key": str(key), "handler": str(name), **rest}:
            handler = _named_handlers(spec, key).get(name)
            if handler is None:
                raise StoredDataError(f"this agent has no handler {name!r} for state key {key!r}")
            return Write(key, _value_from_json(key, rest, _type_of(spec, key)), handler)
        case {"key": str(key), **rest}:
            return Write(key, _value_from_json(key, rest, _type_of(spec, key)))
        case _:
            raise StoredDataError("stored data cannot be read: a write has a key and a value")


def _handler_name(spec: Spec, write: Write) -> str:
    named = _named_handlers(spec, write.key)
    name = next((name for name, handler in named.items() if handler is write.handler), None)
    if name is None:
        raise UnstorableError(
            f"a write to state key {write.key!r} has a handler that no tool and no key declares, "
            "so that "
            "it could not be found again; name it in the schema or in the tool's outputs_to_state"
        )
    return name


def _named_handlers(spec: Spec, key: str) -> dict[str, Any]:
    """Every handler that may merge into `key`, by a name that is the same in every process."""
    found: dict[str, Any] = dict(HANDLERS)
    if key in spec.state.fields:
        found["key"] = spec.state.fields[key].handler
    for tool in spec.tools.values():
        for output in tool.outputs:
            if output.key == key and output.handler is not None:
                found[f"tool {tool.name}"] = output.handler
    return found


def _type_of(spec: Spec, key: str) -> Any:
    return spec.state.fields[key].type if key in spec.state.fields else Any


def _value_to_json(where: str, value: object, declared: Any) -> Json:
    """A value, and what to read it as: "key" or "item", or nothing when it is plain JSON."""
    if declared == list[ChatMessage]:
        return {"value": [dump(message) for message in cast("list[ChatMessage]", value)]}
    if _is_plain(value):
        return {"value": thaw(value)}
    try:
        data = json.loads(json.dumps(value, default=plain, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnstorableError(f"{where} holds what JSON has no form of: {error}") from error
    for name, kind in _kinds(declared).items():
        if _reads_back(value, data, kind):
            return {"value": data, "as": name}
    raise UnstorableError(
        f"{where} holds {value!r:.100}, which JSON does not give back as {type_name(declared)}"
    )


def _value_from_json(name: str, data: object, declared: Any) -> object:
    match data:
        case {"value": value, "as": str(kind)} if kind in _kinds(declared):
            try:
                return freeze(convert(value, _kinds(declared)[kind], name))
            except ConversionError as error:
                raise StoredDataError(f"the stored value of key {name!r}: {error}") from error
        case {"value": list(items)} if declared == list[ChatMessage]:
            return [load(item, ChatMessage) for item in items]
        case {"value": value, **rest} if not rest:
            return freeze(value)
        case _:
            raise StoredDataError(f"the stored value of key {name!r} cannot be read")


def _kinds(declared: Any) -> dict[str, Any]:
    """What an update of a key may be: what the key holds, or one item of it."""
    return {"key": declared, "item": next(iter(get_args(declared)), declared)}


def _reads_back(value: object, data: object, kind: Any) -> bool:
    try:
        again = freeze(convert(data, kind, "value"))
    except ConversionError:
        return False
    return again == value and repr(again) == repr(value)


def _is_plain(value: object) -> bool:
    """Whether JSON reads `value` back exactly as it is."""
    kind = type(value)
    if kind in SCALARS:
        return True
    if isinstance(value, dict):
        return all(type(key) is str and _is_plain(item) for key, item in value.items())
    return isinstance(value, list) and all(map(_is_plain, value))


def _checked(what: str, data: Json) -> Json:
    """`data` as JSON reads it back, so that what is stored is known to be JSON."""
    try:
        return cast(Json, json.loads(json.dumps(thaw(data), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnstorableError(f"{what} holds what JSON has no form of: {error}") from error
