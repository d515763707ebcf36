"""Breakpoints: rules by which effects wait, so that a run can be looked at before they happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from attrs import asdict, evolve, field, frozen

from detent.core.control.holds import CHAT_GENERATOR, TOOL_INVOKER, Hold
from detent.core.machine.delegation import agents_in, nested_run
from detent.core.run.effects import AskModel, Effect, RunTool
from detent.core.run.run import (
    AnswerAccepted,
    AnswerInvalid,
    AwaitingDecision,
    AwaitingPolicy,
    Faulted,
    Ready,
    Refused,
    Run,
    Slot,
)
from detent.core.run.spec import AgentSpec
from detent.core.values.checks import of_kind

NEVER_BEGUN = frozenset({"unknown_tool", "invalid_arguments"})
"""The faults of calls whose tool was never begun."""
NOT_RUN = AwaitingPolicy | AwaitingDecision | Refused | AnswerAccepted | AnswerInvalid
"""How far calls have come whose tool is not run yet, or never."""


@frozen
class Breakpoint:
    """Stop before the model is asked, when it was asked `visit_count` times; None is every time.

    `component_name` is "chat_generator".

    Raises:
        ValueError: it is another, or the count is none.
    """

    component_name: str
    visit_count: int | None = 0
    component: ClassVar[str] = CHAT_GENERATOR

    def __attrs_post_init__(self) -> None:
        count = self.visit_count
        if count is not None and not (type(count) is int and count >= 0):
            raise ValueError(f"visit_count must be None or a number >= 0, got {count!r}")
        if self.component_name != self.component:
            raise ValueError(
                f"If the break_point is a {type(self).__name__}, it must have the component_name "
                f"'{self.component}'. Got '{self.component_name}'."
            )

    def __call__(self, run: Run[Any], effect: Effect) -> bool:
        """Whether `effect` must wait."""
        return isinstance(effect, AskModel) and not effect.path and self._is_visit(run)

    def _is_visit(self, run: Run[Any]) -> bool:
        return self.visit_count is None or self.visit_count == run.turn - 1


@frozen
class ToolBreakpoint(Breakpoint):
    """Stop before the tools of a turn run, when tools have run in `visit_count` turns.

    With a `tool_name`, only in a turn that calls this tool, at any place among the calls. All tools
    of the turn wait together. `component_name` is "tool_invoker".
    """

    tool_name: str | None = field(default=None, validator=of_kind(str, "a text", or_none=True))
    component = TOOL_INVOKER

    def __call__(self, run: Run[Any], effect: Effect) -> bool:
        """Whether `effect` must wait."""
        if not isinstance(effect, RunTool) or effect.path or not self._is_visit(run):
            return False
        named = [self.tool_name in (None, slot.call.tool_name) for slot in run.slots]
        # A turn some of whose tools have run has passed this point: to stop there is to stop twice.
        return any(named) and not any(map(_has_begun, run.slots))

    def __str__(self) -> str:
        name = "ALL_TOOLS" if self.tool_name is None else self.tool_name
        return f"{self.component_name}, visit {self.visit_count}, tool_name={name}"


@frozen
class AgentBreakpoint:
    """A breakpoint inside the agent called `agent_name`.

    That is the name of the tool that an agent inside the run is; any other name stands for the
    outermost agent, which has none.

    Raises:
        TypeError: it is no breakpoint.
    """

    agent_name: str
    break_point: Breakpoint

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.break_point, Breakpoint):
            raise TypeError(
                f"AgentBreakpoint({self.agent_name!r}, …) needs a Breakpoint or a ToolBreakpoint, "
                f"got {self.break_point!r}"
            )

    def __call__(self, run: Run[Any], effect: Effect) -> bool:
        """Whether `effect` must wait."""
        return self.break_point(run, effect)


BreakPoints: TypeAlias = Hold | Sequence[Hold]


def break_every_step(run: Run[Any], effect: Effect) -> bool:
    """Stop before every model call and every tool: a breakpoint for going step by step."""
    return isinstance(effect, AskModel | RunTool)


@frozen
class Holds:
    """Several breakpoints as one: an effect waits when any of `rules` says so.

    `agents` are the names of the agents that may be at work inside the run.
    """

    rules: tuple[Hold, ...] = ()
    agents: frozenset[str] = frozenset()

    def __call__(self, run: Run[Any], effect: Effect) -> bool:
        """Whether `effect` must wait."""
        return self.first(run, effect) is not None

    def first(self, run: Run[Any], effect: Effect) -> Hold | None:
        """The first rule by which `effect` must wait."""
        return next((rule for rule in self.rules if self._holds(rule, run, effect)), None)

    def _holds(self, rule: Hold, run: Run[Any], effect: Effect) -> bool:
        if not isinstance(rule, AgentBreakpoint) or rule.agent_name not in self.agents:
            return rule(run, effect)
        if not effect.path or effect.path[-1].tool_name != rule.agent_name:
            return False
        # A rule speaks of the agent that it names: it sees its run and effect as the outermost.
        return rule(nested_run(run, effect.path), evolve(effect, path=()))


NO_HOLD = Holds()


def holds_of(break_points: BreakPoints, spec: AgentSpec[Any]) -> Holds:
    """One rule that holds an effect when any of `break_points` does.

    Raises:
        ValueError: a breakpoint names a tool that its agent has not got.
    """
    rules = (break_points,) if callable(break_points) else tuple(break_points)
    agents = agents_in(spec)
    for rule in rules:
        inner, tools = rule, spec.tools
        if isinstance(rule, AgentBreakpoint):
            inner, tools = rule.break_point, agents.get(rule.agent_name, spec).tools
        if isinstance(inner, ToolBreakpoint) and inner.tool_name not in (None, *tools):
            raise ValueError(
                f"Tool '{inner.tool_name}' is not available in the agent's tools: "
                f"{', '.join(tools)}"
            )
    return Holds(rules, frozenset(agents))


def rule_to_json(rule: Hold | None) -> dict[str, object]:
    """A breakpoint as plain JSON, or nothing where there is none that JSON can say."""
    inner = rule.break_point if isinstance(rule, AgentBreakpoint) else rule
    if not isinstance(inner, Breakpoint):
        return {}
    agent = {"agent_name": rule.agent_name} if isinstance(rule, AgentBreakpoint) else {}
    return {**asdict(inner), **agent}


def _has_begun(slot: Slot) -> bool:
    match slot.status:
        case Ready(attempt):
            return attempt > 1
        case Faulted(fault):
            return fault.kind not in NEVER_BEGUN
        case status:
            return not isinstance(status, NOT_RUN)
