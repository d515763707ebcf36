"""The part of an agent that never changes: what may happen, never what has happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic

from attrs import Factory, evolve, field, frozen

from detent.core.errors import WiringError
from detent.core.run.effects import Policy, Vouches
from detent.core.run.limits import Limits
from detent.core.run.output_type import AnswerType
from detent.core.state.state import with_secret_keys
from detent.core.state.stored import data_for_digest
from detent.core.state.typevars import S
from detent.core.tools.masking import secret_parameters
from detent.core.tools.retries import Retries
from detent.core.tools.tool import Tool, ToolSpec
from detent.core.tools.version import rule_of
from detent.core.tools.wiring_check import wiring_faults
from detent.core.tools.wording import Wording
from detent.core.values.frozen import EMPTY, FrozenDict, frozen_mapping
from detent.core.values.shared_list import bare

DEPTH_MAX = 16
"""How many agents may work inside each other: stored runs are nested as deep."""


@frozen
class Delegate(Tool):
    """A tool that is an agent: the calls of it are runs inside the run that makes them.

    Attributes:
        agent: who works on the calls, in the function's place.
    """

    agent: AgentSpec[Any] = field(kw_only=True, eq=False, repr=False)

    def _parts(self) -> tuple[object, ...]:
        """With the rules of its agent, of which it consists: a yes to a call is one to them."""
        return (*super()._parts(), *_rules(self.agent))


def _rules(agent: AgentSpec[Any]) -> Iterator[object]:
    """What an agent is told and may do, and who is asked; its own agents are among its tools."""
    yield agent.system_prompt
    for tool in agent.tools.values():
        yield (tool.version, tool.timeout_s, tool.max_calls, tool.labels, rule_of(tool.on_unknown))
    fields, output = agent.state.fields, agent.output
    yield {name: (key.type_name, rule_of(key.handler)) for name, key in fields.items()}
    # what a run begins with there, which tools may get
    yield {name: data_for_digest(bare(key.default), key.type) for name, key in fields.items()}
    yield (sorted(agent.exit_conditions), agent.fail_on_tool_fault)
    yield None if output is None else (output.name, output.schema)
    yield (rule_of(agent.policies), rule_of(agent.limits))


def no_spec(value: object, function: str) -> TypeError:
    """What a loop of somebody's own hears that passes its agent, or the run, in a spec's place."""
    got = type(value).__name__
    return TypeError(f"{function} takes an AgentSpec first, such as agent.spec; got {got}")


@frozen
class AgentSpec(Generic[S]):
    """What an agent is: its tools, its state when nothing has happened, its rules.

    Attributes:
        state: the state that a run starts from; its type is the agent's schema.
        tools: the tools by name.
        system_prompt: instructions that open every conversation.
        exit_conditions: tools that end the run once they have succeeded. A reply without tool calls
            always ends it.
        policies: for each guarded tool, or "*" for all others, who says whether a human must be
            asked.
        wordings: for each of these, what the model is told of what a human decided.
        limits: what a run may spend.
        generation_kwargs: options for every model call.
        model_retries: how often a model that gave no answer is asked again, and when.
        fail_on_tool_fault: end the run when a tool fails, in place of telling the model.
        output: the type that the answer has; None is text.
        vouches: what a decision is held against; with it, only those of known people count. The
            agents among the tools have it in place of their own.
        secrets: the secret parameters by tool, see `secret_parameters`; empty where none is secret.
        agents: the tools that are agents, by name.
        guards: for each guarded tool, who says whether a human must be asked before it runs.
        depth: how many agents work inside each other at most, this one included.
        description_labels: what the descriptions of its tools bring along.
        is_timed: whether it, or one of these, however deep, may only take so many seconds.

    Raises:
        WiringError: tools, state and rules do not fit together; every misfit is named.
    """

    state: S
    tools: FrozenDict[str, Tool] = EMPTY
    system_prompt: str | None = None
    exit_conditions: frozenset[str] = frozenset({"text"})
    policies: FrozenDict[str, Policy] = EMPTY
    wordings: FrozenDict[str, Wording] = field(default=EMPTY, kw_only=True)
    limits: Limits = field(factory=Limits)
    generation_kwargs: FrozenDict[str, object] = field(default=EMPTY, converter=frozen_mapping)
    model_retries: Retries = field(factory=lambda: Retries(2))
    fail_on_tool_fault: bool = False
    output: AnswerType[Any] | None = None
    vouches: Vouches | None = field(default=None, kw_only=True, repr=False)
    # no cached properties: a class that has some is slower wherever one of its fields is read

    def _offer(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    offered: tuple[ToolSpec, ...] = field(
        init=False, eq=False, repr=False, default=Factory(_offer, takes_self=True)
    )

    def _secrets(self) -> Mapping[str, frozenset[str]]:
        return secret_parameters({name: tool.masked for name, tool in self.tools.items()})

    secrets: Mapping[str, frozenset[str]] = field(
        init=False, eq=False, repr=False, default=Factory(_secrets, takes_self=True)
    )

    def _agents(self) -> FrozenDict[str, AgentSpec[Any]]:
        tools, vouches = self.tools.items(), self.vouches
        inner = {name: tool.agent for name, tool in tools if isinstance(tool, Delegate)}
        if vouches is not None:
            inner = {name: evolve(agent, vouches=vouches) for name, agent in inner.items()}
        return FrozenDict(inner)

    agents: FrozenDict[str, AgentSpec[Any]] = field(
        init=False, eq=False, repr=False, default=Factory(_agents, takes_self=True)
    )

    def _description_labels(self) -> tuple[str, ...]:
        return tuple({label for tool in self.tools.values() for label in tool.description_labels})

    description_labels: tuple[str, ...] = field(
        init=False,
        eq=False,
        repr=False,
        default=Factory(_description_labels, takes_self=True),
    )

    def _guards(self) -> FrozenDict[str, Policy]:
        policies = {name: self.policies.get(name, self.policies.get("*")) for name in self.tools}
        return FrozenDict({name: policy for name, policy in policies.items() if policy is not None})

    guards: FrozenDict[str, Policy] = field(
        init=False, eq=False, repr=False, default=Factory(_guards, takes_self=True)
    )

    def _depth(self) -> int:
        return 1 + max((agent.depth for agent in self.agents.values()), default=0)

    depth: int = field(init=False, eq=False, repr=False, default=Factory(_depth, takes_self=True))

    def _is_timed(self) -> bool:
        inner = any(agent.is_timed for agent in self.agents.values())
        return inner or self.limits.max_seconds is not None

    is_timed: bool = field(
        init=False, eq=False, repr=False, default=Factory(_is_timed, takes_self=True)
    )

    def _secret_keys(self) -> frozenset[str]:
        """The keys of the state that fill a secret parameter of a tool."""
        tools = self.tools.values()
        return frozenset(
            one.key for tool in tools for one in tool.inputs if one.parameter in tool.masked
        )

    def __attrs_post_init__(self) -> None:
        faults = self._rule_faults()
        for tool in self.tools.values():
            faults += wiring_faults(tool, self.state)
        if faults:
            raise WiringError(faults)
        object.__setattr__(self, "state", with_secret_keys(self.state, self._secret_keys()))

    def _rule_faults(self) -> list[str]:
        exits = {"text", *self.tools}
        names = ", ".join(sorted(exits))
        faults = [
            f"exit condition {name!r} is neither 'text' nor a tool; there is: {names}"
            for name in sorted(self.exit_conditions - exits)
        ]
        faults += [
            f"a confirmation rule names the tool {name!r}; there is: {', '.join(self.tools)}"
            for name in self.policies.keys() - {"*", *self.tools}
        ]
        if self.output is not None and self.output.name in self.tools:
            faults.append(
                f"a tool and the tool to answer by are both called {self.output.name!r}; call the "
                "latter otherwise: OutputType(…, name=…)"
            )
        if self.depth > DEPTH_MAX:
            faults.append(
                f"its agents work {self.depth} deep inside each other, at most {DEPTH_MAX}"
            )
        return faults
