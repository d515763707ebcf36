"""Assertions about a run. Each failure shows the run's transcript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from detent.adapters.testing.doubles.transcripts import call_text, transcript
from detent.core.chat.messages import ToolCall
from detent.core.run.run import Run
from detent.core.values.frozen import frozen_mapping
from detent.ports.results import AgentResult

Ran: TypeAlias = AgentResult[Any, Any] | Run[Any]


def calls_of(of: Ran, tool_name: str | None = None) -> Sequence[ToolCall]:
    """The calls that the model has made, in order, also those that are still open.

    With `tool_name`, those of one tool.
    """
    run = of.run if isinstance(of, AgentResult) else of
    made = [call for message in run.messages for call in message.tool_calls]
    made += [slot.call for slot in run.slots]
    return [call for call in made if tool_name in (None, call.tool_name)]


def assert_called(of: Ran, tool_name: str, /, **arguments: object) -> None:
    """Raise AssertionError unless the model has called the tool with at least these arguments."""
    wanted = frozen_mapping(arguments)
    made = calls_of(of, tool_name)
    if not any(wanted.items() <= call.arguments.items() for call in made):
        calls = ", ".join(map(call_text, made)) or "not at all"
        call = call_text(ToolCall(tool_name, arguments))
        _fail(f"{call} was not called; {tool_name} was called: {calls}", of)


def assert_not_called(of: Ran, *tool_names: str) -> None:
    """Raise AssertionError if the model has called one of these tools, or, without names, any."""
    made = [call for call in calls_of(of) if call.tool_name in tool_names or not tool_names]
    if made:
        _fail(f"called, and should not have been: {', '.join(map(call_text, made))}", of)


def assert_called_in_order(of: Ran, *tool_names: str) -> None:
    """Raise AssertionError unless the model's calls, others left out, are these in this order."""
    made = [call.tool_name for call in calls_of(of) if call.tool_name in tool_names]
    if made != list(tool_names):
        _fail(f"wanted the calls {', '.join(tool_names)}, got {', '.join(made) or 'none'}", of)


def assert_ended(of: Ran, exit_reason: str = "text") -> None:
    """Raise AssertionError unless the run has ended for this reason."""
    run = of.run if isinstance(of, AgentResult) else of
    reason = None if run.outcome is None else run.outcome.exit_reason
    if reason != exit_reason:
        how = "has not ended" if reason is None else f"has ended with {reason!r}"
        _fail(f"the run {how}, not with {exit_reason!r}", of)


def _fail(why: str, of: Ran) -> None:
    raise AssertionError(f"{why}\n\n{transcript(of)}")
