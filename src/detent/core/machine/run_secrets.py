"""What is secret in a whole run, by value: of all its calls, and of those of agents inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve

from detent.core.chat.messages import ToolCall
from detent.core.run.run import Run, agent_at
from detent.core.run.spec import AgentSpec
from detent.core.tools.masking import shown_content
from detent.core.tools.result import ToolResult
from detent.core.tools.secrets import SecretValues, secrets_of_call


def secrets_of_run(spec: AgentSpec[Any], run: Run[Any]) -> SecretValues:
    """What nobody may see of what a run is made of.

    RULE: what is quoted is found by what it is. A state, or the answer of an agent, does not say
    what has been put into it.
    """
    secrets = dict[str, list[object]]()
    _collect(secrets, spec, run)
    return secrets


def _collect(secrets: dict[str, list[object]], spec: AgentSpec[Any], run: Run[Any]) -> None:
    if any(tool.masked for tool in spec.tools.values()):
        for call in (*_blank_calls(spec), *_calls_in(run)):
            tool = spec.tools.get(call.tool_name)
            if tool is not None:
                for name, forms in secrets_of_call(call, tool, run.state).items():
                    secrets.setdefault(name, []).extend(forms)
    for slot in run.slots:
        if (agent := agent_at(slot)) is not None:
            _collect(secrets, spec.agents[agent.tool_name], agent.run)


def _blank_calls(spec: AgentSpec[Any]) -> Iterator[ToolCall]:
    """A call of each tool, for what it takes where nothing is said."""
    return (ToolCall(name) for name, tool in spec.tools.items() if tool.masked)


def _calls_in(run: Run[Any]) -> Iterator[ToolCall]:
    for message in run.messages:
        yield from message.tool_calls
    for slot in run.slots:
        yield slot.call


def displayed(result: ToolResult, secrets: SecretValues) -> ToolResult:
    """The result of an agent, with what people see of it: nothing that is secret inside it."""
    if not secrets:
        return result
    visible = shown_content(result.visible, secrets, secrets)
    return evolve(result, display=None if visible == result.content else visible)
