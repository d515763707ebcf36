"""Approval: who must be asked before a tool runs, and what they may decide."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import field, frozen

from detent.core.frozen import FrozenDict
from detent.core.messages import ToolCall, frozen_mapping
from detent.core.tools import Tool

if TYPE_CHECKING:
    from detent.core.run import Run


@frozen
class Allow:
    """The call may run."""


@frozen
class Ask:
    """A human must decide. `reason` says why."""

    reason: str = ""


Verdict: TypeAlias = Allow | Ask
Policy: TypeAlias = "Callable[[ToolCall, Tool, Run[Any]], Verdict | Awaitable[Verdict]]"
"""Answers, once for each call, whether a human must be asked. Its verdict is kept in the run.

It is given the call with its validated arguments, the tool, and the run as it stands.
"""


def unguarded(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
    """For a call that was to be judged, and whose policy the agent at hand has no longer: ask."""
    return Ask(f"a policy was to judge this call, and this agent has none for '{tool.name}'")


@frozen
class Confirmed:
    """Run the call as it is."""


@frozen
class Modified:
    """Run the call with these arguments instead, all of them."""

    arguments: FrozenDict[str, object] = field(converter=frozen_mapping)
    feedback: str | None = None


@frozen
class Rejected:
    """Do not run the call; tell the model why."""

    feedback: str | None = None


@frozen
class Answered:
    """Do not run the call; this text answers it."""

    text: str


Decision: TypeAlias = Confirmed | Modified | Rejected | Answered


def digest(run_id: str, turn: int, place: int, call: ToolCall, tool: Tool) -> str:
    """What a decision is bound to: this call of this run, this tool and exactly these arguments."""
    bound = [run_id, turn, place, call.id, tool.name, tool.parameters, call.arguments]
    text = json.dumps(bound, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256(text.encode()).hexdigest()
