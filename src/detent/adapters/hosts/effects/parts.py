"""An agent as its effects are performed."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from detent.adapters.agent.assembly import Assembly
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.outcomes import agent_never_ran, is_tool, never_ran
from detent.adapters.hosts.effects.versions import versions_of
from detent.core.machine.beginning import Begun, may_begin
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec


@frozen
class EffectParts:
    """An agent as its effects are performed: its rules do not change while the host is open."""

    assembly: Assembly[Any]
    spec: AgentSpec[Any]

    def lets(self, run: Run[Any], begun: Begun) -> bool:
        """Whether what has let a call run lets it begin, by the tool and the clock here."""
        return may_begin(self.spec, run, begun, self.assembly.clock.now())

    def never_ran(self, job: Json) -> Json:
        """What came of a tool that was not begun."""
        return never_ran(self.spec, job, self.assembly.clock.now())

    def left(self, begun: Begun, job: Json) -> Json:
        """What came of a job by which a call would begin that must not, as things are here."""
        came = self.never_ran(job) if is_tool(job) else self._agent_never_ran(begun)
        return came | {"versions": versions_of(self.spec)}

    def _agent_never_ran(self, begun: Begun) -> Json:
        return agent_never_ran(self.spec, begun, self.assembly.clock.now())
