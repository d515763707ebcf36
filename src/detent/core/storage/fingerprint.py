"""Fingerprints: what an agent must have to go on with a run, and in what another one differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

from detent.core.run.run import Delegated, Run, Slot, is_settled
from detent.core.run.spec import AgentSpec

Json: TypeAlias = dict[str, Any]


def fingerprint(spec: AgentSpec[Any], run: Run[Any]) -> Json:
    """What `spec` must have to go on with `run`: state keys, and the tools of the open calls."""
    slots, fields = run.slots, spec.state.fields
    called = {slot.call.tool_name: spec.tools.get(slot.call.tool_name) for slot in slots}
    traits: Json = {
        "tools": {
            name: {"schema": _digest(tool.parameters), "description": tool.description}
            | ({"masked": sorted(tool.masked)} if tool.masked else {})
            for name, tool in called.items()
            if tool is not None
        },
        "state": {name: key.type_name for name, key in fields.items()},
    }
    inner = {
        str(slot.ref.place): fingerprint(spec.agents[slot.status.tool_name], slot.status.run)
        for slot in slots
        if isinstance(slot.status, Delegated)
    }
    return traits | ({"agents": inner} if inner else {})


def mismatches(
    spec: AgentSpec[Any], agent: Mapping[str, Any], run: Mapping[str, Any], slots: Sequence[Slot]
) -> list[str]:
    """Why an agent cannot go on with a run that was stored of an `agent` with these traits."""
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
    known = ", ".join(spec.state.fields)
    was_keys = agent["state"]
    faults += [
        f"its state has the key {name!r}: {was_keys.get(name)}; this agent has {known}"
        for name in run["state"]["data"]
        if name not in spec.state.fields
    ]
    return [*faults, *_mismatches_inside(spec, agent, run, slots)]


def is_fingerprint(value: object) -> bool:
    """Whether it is whole: what is stored may be damaged."""
    match value:
        case {"tools": dict(tools), "state": dict()}:
            return all(_is_tool(tool) for tool in tools.values())
        case _:
            return False


def _mismatches_inside(
    spec: AgentSpec[Any], agent: Mapping[str, Any], run: Mapping[str, Any], slots: Sequence[Slot]
) -> Iterator[str]:
    for place, slot in enumerate(slots):
        if not isinstance(slot.status, Delegated) or slot.status.tool_name not in spec.agents:
            continue
        name, inner = slot.status.tool_name, slot.status.run
        was = agent.get("agents", {}).get(str(slot.ref.place))
        match run["phase"]["slots"][place]["status"]["run"]:
            case {"state": {"data": Mapping()}} as stored if is_fingerprint(was):
                faults = mismatches(spec.agents[name], was, stored, inner.slots)
                yield from (f"agent {name!r}: {fault}" for fault in faults)
            case _:
                yield f"the run of the agent {name!r} in it is damaged"


def _digest(parameters: Mapping[str, object]) -> str:
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256(text.encode()).hexdigest()[:16]


def _is_tool(value: object) -> bool:
    match value:
        case {"schema": str(), "description": str()}:
            return True
        case _:
            return False
