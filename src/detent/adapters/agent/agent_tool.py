"""An agent as a tool of another agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from attrs import frozen

from detent.adapters.agent.assembly import AssembledTool
from detent.core.errors import ToolDefinitionError
from detent.core.machine.delegation import ANSWER, PARAMETERS, TASK, result_of_run
from detent.core.run.spec import AgentSpec
from detent.core.state.keys import unknown_key
from detent.core.tools.signature import OUTPUT_TYPES, ToolFunction

if TYPE_CHECKING:
    from detent.adapters.agent.agent import Agent


@frozen(init=False)
class AgentTool(AssembledTool):
    """An agent that works on the calls of a tool, each in a run inside the run that calls it.

    Its steps stay its own: the model that calls it sees the answer alone. Its questions to humans,
    its tokens and its events are those of the whole run, which is stopped, stored, resumed and
    cancelled with it. Of the agent count its rules, its model, its UIs, its tool executor and its
    hooks around models and tools; clock, journal, observers, telemetry and streaming callback are
    those of the outermost agent.

    Called as a function, ``tool.function(task="…")``, it is a run of its own.

    Args:
        agent: who works. Its tools are those that it has now.
        name: what the model calls it.
        description: what it can do, for the model.
        inputs_from_state: ``{state key: state key of the agent}``: what its state begins with.
        outputs_to_state: ``{state key: {"source": state key of the agent, "handler": function}}``;
            without a source the answer.
        outputs_to_string: as for `Tool`, of a dict that has the keys of the agent's state, and its
            answer as "answer", which is what the model is told by default.

    Raises:
        ToolDefinitionError: the parts do not make a tool, or the agent's state has no such key.
    """

    def __init__(
        self,
        agent: Agent[Any, Any],
        *,
        name: str,
        description: str,
        inputs_from_state: Mapping[str, str] | None = None,
        outputs_to_state: Mapping[str, Mapping[str, Any]] | None = None,
        outputs_to_string: Mapping[str, Any] | None = None,
    ) -> None:
        inputs, outputs = inputs_from_state or {}, outputs_to_state or {}
        self.__attrs_init__(  # pyright: ignore[reportAttributeAccessIssue]  # attrs makes it
            name=name,
            description=description,
            parameters=PARAMETERS,
            function=_function(agent, name, inputs.values()),
            inputs_from_state=inputs,
            outputs_to_state={key: _of_answer(rule) for key, rule in outputs.items()},
            outputs_to_string=outputs_to_string or {"source": ANSWER},
            agent=agent.spec,
            assembly=agent.assembly,
        )

    def warm_up(self) -> None:
        """As for the agent."""
        self.assembly.warm_up()


def _of_answer(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    """A rule that writes the answer where it names nothing else; what is none, the tool refuses."""
    value: object = rule
    return {"source": ANSWER, **rule} if isinstance(value, Mapping) else rule


def _function(agent: Agent[Any, Any], name: str, taken: Iterable[str]) -> ToolFunction:
    """The function that a run of the agent is: typed, so that the wiring can be checked."""
    fields = agent.spec.state.fields
    if ANSWER in fields:
        raise ToolDefinitionError(
            f"tool {name!r}: the agent's state has a key {ANSWER!r}, which its answer is called"
        )
    for key in taken:
        if key not in fields:
            raise ToolDefinitionError(f"tool {name!r}: in the agent, {unknown_key(key, fields)}")

    def work(task: str, **state: Any) -> dict[str, object]:
        return result_of_run(agent.spec, agent.run(task, **state).run)

    types = {key: fields[key].type for key in taken}
    parameters = [Parameter(key, Parameter.KEYWORD_ONLY, default=None) for key in types]
    task = Parameter(TASK, Parameter.KEYWORD_ONLY)
    work.__signature__ = Signature([task, *parameters])  # type: ignore[attr-defined]  # any function may have one
    work.__annotations__ = {TASK: str, **types}
    setattr(work, OUTPUT_TYPES, _result_types(agent.spec))
    return work


def _result_types(agent: AgentSpec[Any]) -> dict[str, Any]:
    types = {key: field.type for key, field in agent.state.fields.items() if key != "messages"}
    return types | {ANSWER: str if agent.output is None else agent.output.kind}
