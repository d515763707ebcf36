"""Wiring checked: a tool against its own function and against the state of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from detent.core.schema.projection import property_names
from detent.core.schema.type_checks import type_name
from detent.core.state.keys import unknown_key
from detent.core.state.state import BaseState, State
from detent.core.tools.tool import Tool
from detent.core.tools.type_compatibility import UNKNOWN, fits, part_type, update_type
from detent.core.tools.wiring import Input, Output, TextRule


def wiring_faults(tool: Tool, state: BaseState) -> list[str]:
    """One sentence for each thing in which `tool` fits neither its function nor `state`."""
    faults = [
        *_parameter_faults(tool),
        *_state_faults(tool, state),
        *(fault for item in tool.inputs for fault in _input_faults(tool, item, state)),
        *(fault for item in tool.outputs for fault in _output_faults(tool, item, state)),
        *_text_faults(tool),
    ]
    return [f"tool {tool.name!r}: {fault}" for fault in faults]


def _parameter_faults(tool: Tool) -> Iterator[str]:
    """What the schema offers must be what the function takes, and all that it needs must come."""
    signature = tool.signature
    names = property_names(tool.spec.parameters)
    takes = ", ".join(signature.declared) or "nothing"
    sources = dict.fromkeys(sorted(names), "its schema has")
    sources |= {item.parameter: "the state fills the parameter" for item in tool.inputs}
    for name, source in sources.items():
        if name not in signature.declared and not signature.is_open:
            yield f"{source} {name!r}, which its function does not take; it takes: {takes}"
    for name in sorted(signature.required - names - tool.hidden):
        yield f"neither the model nor the state gives its function the parameter {name!r}"
    for name, fillers in _fillers(tool).items():
        if len(fillers) > 1:
            yield f"the parameter {name!r} is filled more than once: by {' and by '.join(fillers)}"


def _fillers(tool: Tool) -> dict[str, list[str]]:
    """For each hidden parameter, everything that fills it."""
    fillers: dict[str, list[str]] = {name: [] for name in sorted(tool.hidden)}
    for item in tool.inputs:
        fillers[item.parameter].append(f"the state key {item.key!r}")
    for name in tool.signature.keys:
        fillers[name].append("the call's idempotency key")
    for name in tool.signature.tokens:
        fillers[name].append("the run's fencing token")
    if tool.signature.state is not None:
        fillers[tool.signature.state.name].append("the state itself")
    return fillers


def _state_faults(tool: Tool, state: BaseState) -> Iterator[str]:
    parameter = tool.signature.state
    if parameter is not None and not tool.accepts(state):
        has = "a dict schema" if isinstance(state, State) else f"the schema {type(state).__name__}"
        name, kind = parameter.name, parameter.kind.__name__
        yield f"parameter {name!r} wants a {kind}, and the agent has {has}"


def _input_faults(tool: Tool, item: Input, state: BaseState) -> Iterator[str]:
    takes = tool.signature.declared.get(item.parameter, UNKNOWN)
    if fault := _key_fault(item, state):
        yield fault
    elif not fits(kind := state.fields[item.key].type, takes):
        yield (
            f"parameter {item.parameter!r} takes {type_name(takes)}, "
            f"and the state key {item.key!r} holds {type_name(kind)}"
        )


def _output_faults(tool: Tool, item: Output, state: BaseState) -> Iterator[str]:
    kind, part = tool.signature.returns, "its result"
    if callable(item.source):
        kind = UNKNOWN
    elif item.source is not None:
        part = f"{item.source!r} of its result"
        try:
            kind = part_type(kind, item.source)
        except LookupError as error:
            yield f"its result has no {item.source!r} for the state key {item.key!r}: {error}"
            kind = UNKNOWN
    if fault := _key_fault(item, state):
        yield fault
    elif not fits(kind, update_type(state.fields[item.key], item.handler)):
        name = type_name(state.fields[item.key].type)
        yield f"{part} is {type_name(kind)}, and the state key {item.key!r} holds {name}"


def _text_faults(tool: Tool) -> Iterator[str]:
    rules = tool.text_rules
    for rule in [rules] if isinstance(rules, TextRule) else rules.values():
        if rule.source is not None:
            try:
                part_type(tool.signature.returns, rule.source)
            except LookupError as error:
                yield f"its result has no {rule.source!r} for the model: {error}"


def _key_fault(item: Input | Output, state: BaseState) -> str | None:
    key: Any = state.fields.get(item.key)
    if key is None:
        fault = unknown_key(item.key, state.fields)
        way = "; give the agent the class that declares it: state_schema=…"
        return fault if item.declared is None else fault + way
    if item.declared is None or item.declared is key:  # not `==`: a namesake may be its equal
        return None
    theirs, ours = type_name(item.declared.type), type_name(key.type)
    types = "" if theirs == ours else f"; there it holds {theirs}, and in the agent's {ours}"
    own = (
        "the agent has a dict schema, whose keys are wired by inputs_from_state, outputs_to_state"
        if isinstance(state, State)
        else f"the agent's is {type(state).__name__}.{item.key}"
    )
    return f"the state key {item.key!r} is of another schema{types}: {own}"
