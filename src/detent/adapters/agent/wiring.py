"""Wiring: the arguments of an agent become its rules and its ports."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve

from detent.adapters.agent.assembly import Assembly
from detent.adapters.agent.inputs import exits_of, limits_of, require_free_keys
from detent.adapters.agent.selection import may_grow
from detent.adapters.confirmation.rules import NO_RULES, Rules
from detent.adapters.state.typed_state import TypedState
from detent.adapters.telemetry.logs import log_undescribed, log_unknown_people
from detent.adapters.tools.output_type import OutputType
from detent.adapters.tools.toolsets import Tools, flat
from detent.core.control.hooks import Hook
from detent.core.run.limits import Limits
from detent.core.run.spec import AgentSpec
from detent.core.state.state import State
from detent.core.state.typevars import S, T
from detent.core.tools.retries import Retries, retries_of
from detent.core.tools.tool import Tool, by_name
from detent.core.values.frozen import FrozenDict
from detent.ports.approvers import vouches_of
from detent.ports.chat import AsyncChatGenerator, ChatGenerator, StreamingCallback, schema_mode_of
from detent.ports.journal import Journal
from detent.ports.observer import Observer

if TYPE_CHECKING:
    from detent.adapters.agent.strategies import Strategies


def assemble(
    chat_generator: ChatGenerator | AsyncChatGenerator,
    tools: Tools[S],
    state_schema: type[S] | Mapping[str, object] | None,
    output_type: type[object] | OutputType[object] | None,
    *,
    name: str = "",
    system_prompt: str | None = None,
    exit_conditions: Sequence[str] = ("text",),
    max_agent_steps: int | None = None,
    limits: Limits | None = None,
    streaming_callback: StreamingCallback | None = None,
    raise_on_tool_invocation_failure: bool = False,
    confirmation_strategies: Strategies | None = None,
    generation_kwargs: Mapping[str, object] | None = None,
    model_retries: Retries | int = 2,
    parallel_tool_calls: int | None = None,
    observers: Sequence[Observer] = (),
    journal: Journal | None = None,
    hooks: Sequence[Hook] = (),
    **ports: Any,
) -> Assembly[S]:
    """The arguments of `Agent`, put together. `ports` are those that have one of their own."""
    state, own = blank_state(state_schema), _named(tools)
    rules = _rules(confirmation_strategies, own, state.fields, ports, may_grow=may_grow(tools))
    spec: AgentSpec[S] = AgentSpec(
        state=state,
        tools=own,
        system_prompt=system_prompt,
        exit_conditions=exits_of(exit_conditions),
        policies=rules.policies,
        wordings=rules.wordings,
        limits=limits_of(limits, max_agent_steps, parallel_tool_calls),
        generation_kwargs=generation_kwargs or {},
        model_retries=retries_of(model_retries, "model_retries"),
        fail_on_tool_fault=raise_on_tool_invocation_failure,
        output=output_for(chat_generator, output_type),
        vouches=vouches_of(ports.get("approvers")),
    )
    parts = (tools, rules, streaming_callback, observers, journal, hooks, rules.named, name)
    return Assembly(spec, chat_generator, *parts, **ports)


def _named(tools: Tools[Any]) -> FrozenDict[str, Tool]:
    own = by_name(flat(tools))
    log_undescribed(own)
    return own


def _rules(
    strategies: Strategies | None,
    tools: Mapping[str, Tool],
    keys: Collection[str],
    ports: Mapping[str, Any],
    *,
    may_grow: bool,
) -> Rules:
    if not strategies:
        return NO_RULES
    # loads the policies: a tenth of a start
    from detent.adapters.agent.strategies import rules_of
    from detent.adapters.confirmation.people import names_people

    rules = rules_of(strategies, tools, keys, may_grow=may_grow)
    if ports.get("approvers") is None:
        log_unknown_people(name for name, rule in rules.policies.items() if names_people(rule))
    return rules


def blank_state(schema: type[S] | Mapping[str, object] | None) -> S:
    """The state that a schema describes, when nothing has happened."""
    if isinstance(schema, type) and issubclass(schema, TypedState):
        state = cast(S, schema())
    elif schema is None or isinstance(schema, Mapping):
        state = cast(S, State(schema=cast(Mapping[str, object], schema or {})))
    else:
        raise TypeError(
            "state_schema is a dict, {'key': {'type': …}}, or a subclass of TypedState, got "
            f"{schema!r}"
        )
    require_free_keys(state.fields)
    return state


def output_for(
    chat_generator: object, kind: type[T] | OutputType[T] | None
) -> OutputType[T] | None:
    """The output type as the core wants it: it says when its schema goes to the provider."""
    if kind is None:
        return None
    wanted = kind if isinstance(kind, OutputType) else OutputType(kind)
    return evolve(wanted, native=wanted.native or schema_mode_of(chat_generator))
