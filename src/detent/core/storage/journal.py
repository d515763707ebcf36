"""A run and its events as plain JSON and back, by the agent at hand; and whether it is that agent.

A fingerprint says what an agent must have to go on with a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias, cast, get_args

from detent.core.chat.messages import ChatRole
from detent.core.codec.json_text import TAG
from detent.core.codec.own_forms import data_of
from detent.core.codec.own_values import dump, load
from detent.core.errors import StoredDataError
from detent.core.machine.delegation import runs_in
from detent.core.machine.turns import failed_at_once
from detent.core.run.events import Event, HappenedInside, ModelReplied, ToolStarted
from detent.core.run.outcomes import Cancelled
from detent.core.run.run import (
    OPEN,
    Acting,
    AwaitingDecision,
    Delegated,
    Done,
    Run,
    Slot,
    agent_at,
    has_no_answer,
    is_settled,
)
from detent.core.run.spec import AgentSpec
from detent.core.state.state import conversation_in
from detent.core.state.typevars import S
from detent.core.storage.writes import register_forms
from detent.core.values.frozen import EMPTY, thaw
from detent.core.values.short_repr import short_repr

Json: TypeAlias = dict[str, Any]

register_forms()

FORMAT = 1
"""The version of the stored form of runs and events."""


def require_format(version: object) -> None:
    """Raise unless this Detent reads what was stored in that format.

    Raises:
        StoredDataError: another Detent wrote it.
    """
    if type(version) is not int or version != FORMAT:
        text = short_repr(version)
        raise StoredDataError(
            f"this was stored in format {text:.40}, and this Detent reads format {FORMAT}; "
            "use the version of Detent that wrote it"
        )


def run_to_json(spec: AgentSpec[S], run: Run[S]) -> dict[str, Any]:
    """Everything that `run` knows.

    Raises:
        UnstorableError: a value in it cannot be written as JSON.
    """
    return cast("dict[str, Any]", dump(run, Run, spec))


def run_from_json(spec: AgentSpec[S], data: Mapping[str, object]) -> Run[S]:
    """The run that `data` says, with the state's schema, the tools and the handlers of this agent.

    Raises:
        StoredDataError: it says none, or this agent cannot go on with it.
    """
    run = cast("Run[S]", load(data, Run, spec))
    for _, inner in runs_in(run):
        calls = inner.phase.reply.message.tool_calls if isinstance(inner.phase, Acting) else ()
        refs = [(inner.turn, place) for place in range(len(calls))]
        if [slot.ref for slot in inner.slots] != refs:  # by them each call is found
            raise StoredDataError(f"the calls of run {inner.id!r} are not those of its last reply")
    return run


def start_data(
    spec: AgentSpec[Any], run: Run[Any], fork_of: Mapping[str, Any] = EMPTY
) -> dict[str, Any]:
    """A snapshot of `run`, for a journal: nothing holds it. `fork_of` is of what it is a fork.

    Raises:
        UnstorableError: a value in the run cannot be written as JSON.
    """
    return {
        "detent": "snapshot",
        "format": FORMAT,
        "held": [],
        "about_to": "",
        "break_point": {},
        "agent": fingerprint(spec, run),
        "run": data_of(run, Run, spec),
    } | ({"fork_of": thaw(fork_of)} if fork_of else {})


def event_to_json(spec: AgentSpec[Any], event: Event) -> dict[str, Any]:
    """An event, with what a tool wrote to the state.

    Raises:
        UnstorableError: a value in it cannot be written as JSON.
    """
    return cast("dict[str, Any]", dump(event, Event, spec))


def event_from_json(spec: AgentSpec[Any], data: Mapping[str, object]) -> Event:
    """The event that `data` says.

    Raises:
        StoredDataError: it says none, or names what this agent does not have.
    """
    return cast(Event, load(data, cast(Any, Event), spec))


def event_of_kind(spec: AgentSpec[Any], kind: str, data: Mapping[str, object]) -> Event:
    """The event of this kind that `data` says, without its kind: that is read more quickly.

    Raises:
        StoredDataError: it says none, or names what this agent does not have.
    """
    if event_class := KINDS.get(kind):
        return load(data, event_class, spec)
    return event_from_json(spec, {**data, TAG: kind})


def status_of(run: Run[Any]) -> str:
    """How far a run has come: "running", "waiting", "failed", "cancelled" or "done".

    One that is "waiting" waits for a human and nothing else. One that has "failed" has ended
    because the model gave no answer: resumed, it asks again.
    """
    if isinstance(run.phase, Done):
        if isinstance(run.outcome, Cancelled):
            return "cancelled"
        return "failed" if has_no_answer(run) else "done"
    still = False
    for slot in run.phase.slots if isinstance(run.phase, Acting) else ():
        status = slot.status
        if type(status) is AwaitingDecision or (
            type(status) is Delegated and status_of(status.run) == "waiting"
        ):
            still = True
        elif type(status) in OPEN:
            return "running"
    return "waiting" if still else "running"


def progress_mark(run: Run[Any]) -> str:
    """How far a run has come, in a line: two runs that differ here do not go on alike.

    The turn, the phase, how many messages there are behind the instructions, and how far each call
    has come, with the mark of an agent that is at work on it.

    RULE: instructions are not counted. The run of an agent inside begins with those of today, when
    it is made again, and another prompt, or none, makes it no other run.
    """
    phase, messages = run.phase, conversation_in(run.state)
    said = len(messages)
    for message in messages:
        if message.role is not ChatRole.SYSTEM:
            break
        said -= 1
    mark = f"{run.turn} {type(phase).__name__} {said}"
    for slot in phase.slots if isinstance(phase, Acting) else ():
        mark += f" {type(slot.status).__name__}"
        if (agent := agent_at(slot)) is not None:
            mark += f"({progress_mark(agent.run)})"
    return f"{mark} {len(run.unread)} unread" if run.unread else mark


def happened_data(
    spec: AgentSpec[Any], happened: Sequence[tuple[Event, Run[Any]]]
) -> list[tuple[str, Json]]:
    """What is kept of each of these events, of which each comes with the run after it: kind, data.

    The last one that is no mere start, of which only one thing can come, has the run's mark.

    Raises:
        UnstorableError: a value in one cannot be written as JSON.
    """
    new: list[tuple[str, Json]] = []
    marked: tuple[Json, Run[Any]] | None = None
    for event, after in happened:
        kind = type(event)
        data = data_of(event, kind, spec)
        has_reply = kind is ModelReplied or kind is HappenedInside
        if has_reply and (faults := reply_faults(event, after)):
            data["faults"] = faults
        new.append((kind.__name__, data))
        if kind is not ToolStarted:
            marked = data, after
    if marked is not None:
        marked[0]["mark"] = progress_mark(marked[1])
    return new


def reply_faults(event: Event, run: Run[Any]) -> list[Json]:
    """Why calls of a reply were not run, as the model is told at once: no other event says it.

    Each `text` has the `places` of its calls: a reply with far too many has one for them all. `run`
    is the run after the event.
    """
    if isinstance(event, HappenedInside):
        agents = (agent_at(slot) for slot in run.slots if slot.ref == event.ref)
        return [fault for at in agents if at for fault in reply_faults(event.event, at.run)]
    if not isinstance(event, ModelReplied):
        return []
    if not (failed := failed_at_once(event.reply, run)):
        return []  # nearly always
    places: dict[str, list[int]] = {}
    for place, told in failed:
        places.setdefault(told.text, []).append(place)
    return [{"text": text, "places": found} for text, found in places.items()]


def fingerprint(spec: AgentSpec[Any], run: Run[Any]) -> Json:
    """What `spec` must have to go on with `run`: state keys, and the tools of the open calls."""
    slots, fields = run.slots, spec.state.fields
    tools = {slot.call.tool_name: spec.tools.get(slot.call.tool_name) for slot in slots}
    traits: Json = {
        "tools": {
            name: {"schema": _digest(tool.parameters), "description": tool.description}
            | ({"masked": sorted(tool.masked)} if tool.masked else {})
            for name, tool in tools.items()
            if tool is not None
        },
        "state": {name: key.type_name for name, key in fields.items()},
    }
    inner = {
        str(slot.ref.place): fingerprint(spec.agents[agent.tool_name], agent.run)
        for slot in slots
        if (agent := agent_at(slot)) is not None
    }
    return traits | ({"agents": inner} if inner else {})


def mismatches(
    spec: AgentSpec[Any],
    agent: Mapping[str, Any],
    run: Mapping[str, Any],
    slots: Sequence[Slot],
    *,
    with_types: bool = False,
) -> list[str]:
    """Why an agent cannot go on with a run that was stored of an `agent` with these traits.

    `with_types` says as well which keys have other types by now, or are gone before any value was
    kept: it matters where what is stored could not be read, and most of it can.
    """
    open_calls = [slot.call.tool_name for slot in slots if not is_settled(slot)]
    names = dict.fromkeys([*open_calls, *(run.get("options", {}).get("tools") or ())])
    has = ", ".join(spec.tools) or "none"
    faults = [
        f"it needs the tool {name!r}; this agent has {has}"
        for name in names
        if name not in spec.tools
    ]
    now = {name: _digest(spec.tools[name].parameters) for name in open_calls if name in spec.tools}
    faults += [
        f"a call of {name!r} is open, and the tool's parameters have changed since"
        for name, was in agent["tools"].items()
        if name in now and was["schema"] != now[name]
    ]
    fields, was_keys = spec.state.fields, agent["state"]
    kept = run["state"]["data"]
    needed = {**kept, **was_keys} if with_types else kept
    if missing := [f"{name!r}: {was_keys.get(name)}" for name in needed if name not in fields]:
        keys = f"the key{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        faults.append(f"its state has {keys}; this agent has {', '.join(fields)}")
    faults += [
        f"its state has the key {name!r} as {was}; this agent has it as {fields[name].type_name}"
        for name, was in was_keys.items()
        if with_types and name in fields and was != fields[name].type_name
    ]
    return [*faults, *_mismatches_inside(spec, agent, run, slots, with_types=with_types)]


def is_fingerprint(value: object) -> bool:
    """Whether it is whole: what is stored may be damaged."""
    match value:
        case {"tools": dict(tools), "state": dict(), **more}:
            inner = more.get("agents", {})
            are_tools = all(map(_is_tool, tools.values()))
            return (
                are_tools and isinstance(inner, dict) and all(map(is_fingerprint, inner.values()))
            )
        case _:
            return False


def _mismatches_inside(
    spec: AgentSpec[Any],
    agent: Mapping[str, Any],
    run: Mapping[str, Any],
    slots: Sequence[Slot],
    *,
    with_types: bool,
) -> Iterator[str]:
    for place, slot in enumerate(slots):
        if (at := agent_at(slot)) is None or at.tool_name not in spec.agents:
            continue
        name, inner = at.tool_name, at.run
        was = agent.get("agents", {}).get(str(slot.ref.place))
        stored = run["phase"]["slots"][place]
        match stored["status" if slot.suspended is None else "suspended"]["run"]:
            case {"state": {"data": Mapping()}} as data if is_fingerprint(was):
                faults = mismatches(
                    spec.agents[name], was, data, inner.slots, with_types=with_types
                )
                yield from (f"agent {name!r}: {fault}" for fault in faults)
            case _:
                yield f"the run of the agent {name!r} in it is damaged"


def _digest(parameters: Mapping[str, object]) -> str:
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256(text.encode()).hexdigest()[:16]


def _is_tool(value: object) -> bool:
    match value:
        case {"schema": str(), "description": str(), **more}:
            names = more.get("masked", [])
            return isinstance(names, list) and all(isinstance(name, str) for name in names)
        case _:
            return False


KINDS: Mapping[str, type[Event]] = {one.__name__: one for one in get_args(Event)}
