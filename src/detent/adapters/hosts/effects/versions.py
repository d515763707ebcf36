"""The versions of tools by which a run is followed: those of its history, whoever follows it.

What a decision about a call is bound to has the version of its tool in it, which is another one
where the code of a tool has changed. A run that was asked about by the old code goes another way by
the new one. So no process follows it by the version of the tool that it has itself, but by that
which the history tells of; a worker that has another one says so, and then that is in the history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from attrs import evolve

from detent.core.run.effects import Effect, Judge
from detent.core.run.refs import Path
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.tools.tool import Tool, as_version
from detent.core.values.frozen import FrozenDict

Versions: TypeAlias = Mapping[str, str]
"""By the name of each tool; that of one of an agent inside is behind the agent's, and a slash."""
NO_VERSIONS: Versions = FrozenDict()


def versions_of(spec: AgentSpec[Any]) -> dict[str, str]:
    """The versions of all tools of an agent."""
    found = {name: tool.version for name, tool in spec.tools.items()}
    for name, agent in spec.agents.items():
        found |= {f"{name}/{inner}": version for inner, version in versions_of(agent).items()}
    return found


def place_in(path: Path, tool_name: str) -> str:
    """How a tool is named among the versions."""
    return "/".join([*(at.tool_name for at in path), tool_name])


def with_versions(spec: AgentSpec[Any], versions: Versions) -> AgentSpec[Any]:
    """The agent, whose tools count as these versions; what is not named is as it is."""
    if versions_of(spec).items() <= versions.items():
        return spec
    tools = {name: _counted(tool, name, versions) for name, tool in spec.tools.items()}
    return evolve(spec, tools=FrozenDict(tools))


def _counted(tool: Tool, name: str, versions: Versions) -> Tool:
    version = versions.get(name, tool.version)
    if not isinstance(tool, Delegate):
        return as_version(tool, version)
    under = f"{name}/"
    inner = {
        at[len(under) :]: inner_version
        for at, inner_version in versions.items()
        if at.startswith(under)
    }
    return as_version(tool, version, agent=with_versions(tool.agent, inner))


def versions_in(outcome: Mapping[str, Any], effect: Effect | None) -> Versions:
    """What a worker has said of its tools, in so many words or by what a verdict is bound to."""
    match outcome.get("report"):
        case {"event": {"binding": {"tool": str(version)}}} if isinstance(effect, Judge):
            return {place_in(effect.path, effect.call.tool_name): version}
        case _:
            return cast("Versions", outcome.get("versions", NO_VERSIONS))
