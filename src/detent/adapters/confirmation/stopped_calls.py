"""The calls that a run has stopped for, as a snapshot of it shows them to people."""

from __future__ import annotations

from typing import Any

from detent.core.codec.own_values import dump
from detent.core.run.run import AwaitingDecision, Slot
from detent.core.storage.snapshot import AgentSnapshot, masked_call


def get_tool_calls_and_descriptions_from_snapshot(
    agent_snapshot: AgentSnapshot,
    breakpoint_tool_only: bool = True,  # noqa: FBT001, FBT002 - its place is as users know it
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The tool calls of a snapshot's open turn, and the descriptions of their tools.

    They are for people: parameters marked as `SecretParameter` show a mask.

    Args:
        agent_snapshot: a run that has stopped.
        breakpoint_tool_only: only the calls that it has stopped for: those that wait for a human,
            else those that a breakpoint names.
    """
    slots = _stopped_for(agent_snapshot) if breakpoint_tool_only else agent_snapshot.slots
    tools = agent_snapshot.agent["tools"]
    names = [slot.call.tool_name for slot in slots]
    descriptions = {name: tools[name]["description"] for name in names if name in tools}
    calls = [masked_call(slot.call, agent_snapshot.agent) for slot in slots]
    return [dump(call) for call in calls], descriptions


def _stopped_for(snapshot: AgentSnapshot) -> tuple[Slot, ...]:
    slots = snapshot.slots
    if waiting := tuple(slot for slot in slots if isinstance(slot.status, AwaitingDecision)):
        return waiting
    name = snapshot.break_point.get("tool_name")
    places = {(key.turn, key.place) for key in snapshot.held if key.kind == "tool"}
    held = (slot for slot in slots if tuple(slot.ref) in places)
    return tuple(slot for slot in held if name in (None, slot.call.tool_name))
