"""Strangers: agents that nobody has written, one for each seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from detent.adapters.testing.simulation.drawing import dice, likely
from detent.adapters.testing.simulation.nested_runs import all_agents
from detent.adapters.tools.output_type import OutputType
from detent.core.chat.messages import ToolCall
from detent.core.machine.delegation import ANSWER, PARAMETERS
from detent.core.run.approval import Allow, Answers, Ask, Deny, Verdict
from detent.core.run.effects import Policy
from detent.core.run.limits import Limits
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.state.state import State
from detent.core.tools.idempotency import NEVER_RAN, OnUnknown
from detent.core.tools.retries import Retries
from detent.core.tools.tool import Tool, by_name
from detent.core.values.frozen import FrozenDict

if TYPE_CHECKING:
    from detent.adapters.agent.agent import Agent

NAMES = ("look", "note", "pay", "send")
ASK = "ask"
INSIDE = 8
"""One in so many strangers has an agent among its tools."""
NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["n"],
    "additionalProperties": False,
}


def stranger(seed: int) -> AgentSpec[State]:
    """The agent of a seed."""
    spec = _agent(dice(seed, "agent"), seed)
    if seed % INSIDE:
        return spec
    inner = _agent(dice(seed, "agent inside"), seed)
    tools = FrozenDict({**spec.tools, ASK: _agent_tool(inner)})
    guarded = {ASK: moody_policy(seed)} if seed % (2 * INSIDE) else {}
    return evolve(spec, tools=tools, policies=FrozenDict({**spec.policies, **guarded}))


def _agent(rng: random.Random, seed: int) -> AgentSpec[State]:
    names = rng.sample(NAMES, rng.randint(1, len(NAMES)))
    tools = by_name(_tool(name, rng) for name in names)
    exits = [name for name in names if likely(rng, 0.1)]
    guarded = [name for name in names if likely(rng, 0.4)]
    return AgentSpec(
        state=State({"log": {"type": list[str]}, "last": {"type": str, "handler": chained}}),
        tools=tools,
        exit_conditions=frozenset({"text", *exits}),
        policies=FrozenDict({name: moody_policy(seed) for name in guarded}),
        limits=_limits(rng),
        output=OutputType(int) if likely(rng, 0.2) else None,
        model_retries=Retries(rng.choice((0, 1, 2)), backoff_s=rng.choice((0.0, 1.0))),
        fail_on_tool_fault=likely(rng, 0.1),
    )


def _limits(rng: random.Random) -> Limits:
    return Limits(
        rng.randint(1, 5),
        rng.randint(1, 3),
        max_tokens=rng.choice((None, None, 100)),
        max_cost=rng.choice((None, None, 3.0)),
        max_seconds=rng.choice((None, None, None, None, 12.0)),
        final_answer=likely(rng, 0.3),
        price=lambda reply: 1.0,
    )


def spec_of(agent: Agent[Any, Any] | AgentSpec[Any]) -> AgentSpec[Any]:
    """The spec of an agent.

    Raises:
        TypeError: it is neither an agent nor a spec.
    """
    spec = agent if isinstance(agent, AgentSpec) else getattr(agent, "spec", None)
    if not isinstance(spec, AgentSpec):
        raise TypeError(f"what is wanted is an Agent or its spec, not {agent!r:.200}")
    return spec


def require_tools(spec: AgentSpec[Any], names: Iterable[str], what: str) -> None:
    """Raise ValueError unless the agent, or one inside it, has all these tools."""
    tools = {name for _, agent in all_agents(spec) for name in agent.tools}
    if unknown := sorted(set(names) - tools):
        raise ValueError(f"{what} {unknown}; the agent has {sorted(tools)}")


def results_of(spec: AgentSpec[Any], seed: int) -> Mapping[str, Any]:
    """What its tools give: each time something else, and now and then what the state refuses."""
    rng = dice(seed, "results")

    def result(arguments: Mapping[str, Any]) -> object:
        number = rng.randrange(10**6)
        return {"text": number if number % 20 == 0 else f"{arguments['n']}-{number}"}

    return dict.fromkeys((*spec.tools, *NAMES), result)


def chained(current: str | None, update: str) -> str:
    """A handler to which order matters."""
    return f"{current or ''}>{update}"[-40:]


def moody_policy(seed: int) -> Policy:
    """A policy that asks about some calls, and never twice about one: asking it again shows."""
    answered_places: set[tuple[str, int, str | None]] = set()

    def verdict(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        place = (run.id, run.turn, call.id)
        rng = dice(seed, "policy", *place[1:])
        if place in answered_places or likely(rng, 0.3):
            return Allow()
        answered_places.add(place)
        return Deny("never this") if likely(rng, 0.1) else _question(rng)

    return verdict


def _question(rng: random.Random) -> Ask:
    answers = Answers(
        remember=rng.choice(("tool", "tool", "arguments", "call")),
        remember_s=rng.choice((None, None, 10.0)),
    )
    return Ask(
        "better ask",
        rng.choice(("call", "call", "arguments", "tool")),
        rng.choice((None, None, 10.0)),
        answers=answers,
        attempts=rng.choice((None, None, 1)),
    )


def _agent_tool(agent: AgentSpec[State]) -> Tool:
    """The agent as a tool, which writes to the state as the others do."""
    return Delegate(
        ASK,
        "to ask",
        PARAMETERS,
        print,  # nobody calls it
        {"source": ANSWER},
        outputs_to_state={"log": {"source": ANSWER}, "last": {"source": ANSWER}},
        agent=agent,
    )


def _tool(name: str, rng: random.Random) -> Tool:
    on_unknown: OnUnknown = rng.choice(("ask", "rerun", "fail", lambda arguments, key: NEVER_RAN))
    return Tool(
        name,
        f"to {name}",
        NUMBER,
        print,  # nobody calls it
        outputs_to_state={"log": {"source": "text"}, "last": {"source": "text"}},
        timeout_s=rng.choice((None, None, 5.0)),
        retries=Retries(rng.choice((0, 0, 1, 2)), backoff_s=rng.choice((0.0, 1.0))),
        on_unknown=on_unknown,
    )
