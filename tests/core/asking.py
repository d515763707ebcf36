"""A run with guarded calls, for the tests of approvals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from attrs import evolve

from detent import ChatMessage, SecretParameter, State, Tool, ToolCall, create_tool_from_function
from detent.approvals import AlwaysAskPolicy, judge
from detent.core.machine.delegation import ANSWER, PARAMETERS
from detent.core.run.effects import Policy
from detent.core.run.spec import Delegate
from detent.core.tools.tool import by_name
from detent.machine import AgentSpec, FrozenDict, Judge, Judged, ModelReplied, Run, due, start, step
from detent.models import ChatReply


def pay(to: str, amount: int, pin: Annotated[str, SecretParameter] = "", user: str = "") -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


PAY = create_tool_from_function(pay, inputs_from_state={"user": "user"})
ALWAYS = AlwaysAskPolicy()


def spec_of(policy: Policy = ALWAYS) -> AgentSpec[State]:
    """An agent whose one tool is guarded."""
    state = State({"user": {"type": str}}, {"user": "Ann"})
    return AgentSpec(state, by_name([PAY]), policies=FrozenDict({"pay": policy}))


def called(spec: AgentSpec[State], *calls: Mapping[str, Any], turn: int = 1) -> ModelReplied:
    """The model pays several times at once."""
    made = [ToolCall("pay", arguments, f"c{turn}{n}") for n, arguments in enumerate(calls)]
    return ModelReplied(turn, 1, ChatReply(ChatMessage.from_assistant(tool_calls=made)))


def judged(spec: AgentSpec[State], run: Run[State], at: float | None = None) -> Run[State]:
    """The run when every policy has been asked."""
    while asked := [effect for effect in due(spec, run) if isinstance(effect, Judge)]:
        said = judge(asked[0])
        assert isinstance(said, Judged)
        run = step(spec, run, evolve(said, at=at))
    return run


def waiting(
    spec: AgentSpec[State], *calls: Mapping[str, Any], at: float | None = None
) -> Run[State]:
    """A run whose calls have been judged."""
    run = start(spec, [ChatMessage.from_user("pay")], run_id="r")
    return judged(spec, step(spec, run, called(spec, *calls)), at) if calls else run


def agent_tool(agent: AgentSpec[Any], name: str = "ask", **wires: Any) -> Tool:
    """A tool that is an agent, with nothing around it."""
    rule: dict[str, Any] = {"outputs_to_string": {"source": ANSWER}, **wires}
    return Delegate(name, "", PARAMETERS, lambda task, **_: {ANSWER: task}, agent=agent, **rule)
