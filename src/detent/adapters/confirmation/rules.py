"""Rules: who is asked about which calls, and what the model and the policies are told of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from functools import reduce
from inspect import isawaitable
from typing import Any

from attrs import field, frozen

from detent.adapters.system.program import program
from detent.adapters.system.snapshot_files import save_snapshot
from detent.adapters.system.threads_and_loops import in_background
from detent.core.machine.due import due
from detent.core.run.approval import DecisionRecord
from detent.core.run.effects import AskHuman, Policy
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.tools.defaults import with_defaults
from detent.core.tools.wording import Wording
from detent.core.values.frozen import FrozenDict
from detent.ports.confirmation import (
    ConfirmationStrategy,
    ConfirmationUI,
    HITLBreakpointException,
    result_for,
)
from detent.ports.observer import Observer
from detent.ports.pending import question
from detent.ports.results import AgentResult


@frozen
class Rules:
    """The confirmation rules of an agent, each by tool name or "*".

    Attributes:
        policies: who says whether a human is asked.
        wordings: what the model is told.
        askers: who asks the human.
        breakpoints: where nobody does, and the run stops; the folder for its snapshot, if any.
        learners: the policies that are told what was decided.
        named: the strategies themselves.
        inner: those of the agents among the tools, by the tools' names.
    """

    policies: FrozenDict[str, Policy] = field(factory=FrozenDict)
    wordings: FrozenDict[str, Wording] = field(factory=FrozenDict)
    askers: Mapping[str, ConfirmationUI | ConfirmationStrategy] = field(factory=dict)
    breakpoints: Mapping[str, str | None] = field(factory=dict)
    learners: Mapping[str, Any] = field(factory=dict)
    named: Mapping[str, Any] = field(factory=dict)
    inner: Mapping[str, Rules] = field(factory=dict)

    def observer(self, spec: AgentSpec[Any]) -> Observer:
        """Tells the policies of each decision that has just counted."""

        def observe(before: Run[Any], event: Event, after: Run[Any]) -> None:
            self.tell(spec, after.decisions[len(before.decisions) :])

        return observe

    def tell(self, spec: AgentSpec[Any], decisions: Iterable[DecisionRecord]) -> None:
        """Tell the policies what was decided, each of the calls of its own agent."""
        for done in decisions:
            rules, agent = self, spec
            for at in done.path:
                rules = rules.inner.get(at.tool_name, NO_RULES)
                agent = agent.agents.get(at.tool_name, agent)
            name = done.call.tool_name
            policy = rules.learners.get(name, rules.learners.get("*"))
            if policy is not None and name in agent.tools:
                answer = result_for(done.decision, done.by)
                tool = agent.tools[name]
                details = (tool.description, with_defaults(done.call, tool), answer)
                later = policy.update_after_confirmation(name, *details)
                if isawaitable(later):
                    in_background(later).result()

    def stop(
        self, spec: AgentSpec[Any], result: AgentResult[Any, Any], *, is_stored: bool = False
    ) -> None:
        """Raise when calls wait for humans whom nobody here can ask; `is_stored` is in a journal.

        Raises:
            HITLBreakpointException: they do.
        """
        asks = [effect for effect in due(spec, result.run) if isinstance(effect, AskHuman)]
        stopping = [effect for effect in asks if self._stops_for(effect)]
        if not stopping:
            return
        first = stopping[0]
        folder = self._at(first).folder(first.tool.name)
        path = None if folder is None else str(save_snapshot(result.snapshot, folder))
        names = ", ".join(dict.fromkeys(f"'{one.tool.name}'" for one in stopping))
        # Without it a yes to a call that may have been carried out reads like a first one.
        lost = "".join(f"'{one.tool.name}': {one.trouble}. " for one in stopping if one.trouble)
        # Of the agents that are named there, the command takes the journal as well.
        words = (*program(), "runs", "pending", result.run_id, "--app", "MODULE:NAME")
        shown = shlex.join(words)
        command = f"; at a command line: {shown}" if is_stored else ""
        raise HITLBreakpointException(
            f"Tool execution for {names} requires user confirmation. {lost}"
            f"Run {result.run_id!r} waits: decide about the calls in `pending`, and go on with its "
            f"`snapshot`, or by agent.decide and agent.resume where there is a journal{command}",
            first.tool.name,
            path,
            first.call.id,
            result=result,
            pending=tuple(map(question, asks)),
        )

    def _stops_for(self, ask: AskHuman) -> bool:
        rules = self._at(ask)
        return _key(rules.breakpoints, rules.policies, ask.tool.name) is not None

    def _at(self, ask: AskHuman) -> Rules:
        """The rules of the agent whose call it is."""
        return reduce(lambda rules, at: rules.inner[at.tool_name], ask.path, self)

    def folder(self, tool_name: str) -> str | None:
        """Where the snapshot goes that a call of the tool stops for."""
        return self.breakpoints[_key(self.breakpoints, self.policies, tool_name) or tool_name]


def _key(breakpoints: Mapping[str, Any], policies: Mapping[str, Any], name: str) -> str | None:
    key = name if name in policies else "*"
    return key if key in breakpoints else None


NO_RULES = Rules()
