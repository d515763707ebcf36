"""An agent as data and back: parts are named, and found again among what is at hand.

What stands behind a name (a tool, a handler, a policy, a class) is never imported because data says
so: it is one of those that are passed in, or one that Detent has itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from attrs import asdict, fields

from detent.adapters.agent.assembly import Assembly
from detent.adapters.confirmation.described import object_from_data, object_to_data
from detent.adapters.confirmation.strategies import described_classes
from detent.adapters.providers.registry import described, from_description
from detent.adapters.tools.output_type import OutputType
from detent.adapters.tools.toolsets import flat
from detent.core.errors import DetentError, StoredDataError, UnstorableError
from detent.core.run.limits import Limits
from detent.core.schema.type_checks import type_name
from detent.core.state.dict_schema import entries_of
from detent.core.state.handlers import merge_lists, replace_values, unite_sets
from detent.core.state.state import State
from detent.core.tools.retries import Retries
from detent.core.tools.tool import by_name
from detent.core.values.frozen import thaw
from detent.ports.chat import schema_mode_of

Json: TypeAlias = dict[str, Any]
Part = TypeVar("Part")

FORMAT = 1
TYPES: Mapping[str, Any] = {
    type_name(kind): kind
    for kind in (
        *(str, int, float, bool, list, dict, set),
        *(list[str], list[int], list[float], dict[str, Any], set[str]),
    )
}
HANDLERS = {handler.__name__: handler for handler in (merge_lists, replace_values, unite_sets)}
"""What is found without being passed in."""

RETRIES = ("times", "backoff_s", "backoff_max_s")


class AgentDataError(DetentError, ValueError):
    """An agent cannot become data, or be made of it. `faults` has a sentence for each reason."""

    def __init__(self, what: str, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join([what, *(f"  - {fault}" for fault in self.faults)]))


def to_data(assembly: Assembly[Any]) -> Json:
    """The agent as plain JSON, without any of the ports that it works with.

    Raises:
        AgentDataError: an option is no JSON, or a key is not in the environment.
    """
    spec = assembly.spec
    try:
        data: Json = {
            "detent": "agent",
            "format": FORMAT,
            "name": assembly.name,
            "chat_generator": described(assembly.chat_generator),
            "tools": list(spec.tools),
            "system_prompt": spec.system_prompt,
            "exit_conditions": sorted(spec.exit_conditions),
            "state": {
                name: _entry_data(entry) for name, entry in entries_of(spec.state.fields).items()
            },
            "state_class": None if isinstance(spec.state, State) else type(spec.state).__name__,
            "output_type": None if spec.output is None else type_name(spec.output.kind),
            "output_tries": None if spec.output is None else spec.output.tries,
            "output_native": _native_of(assembly),
            "output_name": None if spec.output is None else spec.output.name,
            "limits": asdict(spec.limits) | {"price": spec.limits.price is not None},
            "model_retries": {name: getattr(spec.model_retries, name) for name in RETRIES},
            "raise_on_tool_invocation_failure": spec.fail_on_tool_fault,
            "generation_kwargs": thaw(spec.generation_kwargs),
            "confirmation_strategies": {
                name: _rule_data(rule) for name, rule in assembly.strategies.items()
            },
            "hooks": [_name(hook.function) for hook in assembly.hooks],
            **({} if assembly.approvers is None else {"approvers": True}),
        }
        return cast(Json, json.loads(json.dumps(data, allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise AgentDataError("this agent cannot be written as data:", [str(error)]) from error


def parts_of(data: Mapping[str, Any], parts: Mapping[str, Any]) -> Json:
    """The arguments of the `Agent` that `data` says, with what it names taken from `parts`.

    Raises:
        AgentDataError: it is no agent's, or names what is not at hand; every fault is named.
    """
    if data.get("detent") != "agent" or data.get("format") != FORMAT:
        raise AgentDataError(
            "this is no agent:", [f"one has 'detent': 'agent' and 'format': {FORMAT}"]
        )
    faults: list[str] = []
    made: Json = dict(parts)
    readers = (_generator, _tools, _state, _output, _limits, _strategies, _hooks, _approvers)
    try:
        for read in readers:
            made |= read(data, parts, faults)
        for name in ("name", "system_prompt", "exit_conditions", "generation_kwargs"):
            made.setdefault(name, data[name])
        made.setdefault("model_retries", Retries(**data["model_retries"]))
        failing = "raise_on_tool_invocation_failure"
        made.setdefault(failing, data[failing])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        faults.append(f"the data is damaged: {error!r}")
    if faults:
        raise AgentDataError("the agent cannot be made of this data:", faults)
    return made


def _generator(data: Mapping[str, Any], parts: Mapping[str, Any], faults: list[str]) -> Json:
    description = data["chat_generator"]
    if parts.get("chat_generator") is not None:
        return {}
    if description.get("name") is None:
        faults.append(f"it has a {description['class']}; pass one: chat_generator=…")
        return {}
    try:
        return {"chat_generator": from_description(description)}
    except ValueError as error:
        faults.append(f"its chat generator cannot be made: {error}")
        return {}


def _tools(data: Mapping[str, Any], parts: Mapping[str, Any], faults: list[str]) -> Json:
    known = by_name(flat(parts.get("tools") or ()))
    return {"tools": _found("tool", data["tools"], known, "tools=[…]", faults)}


def _found(
    what: str, names: Sequence[str], known: Mapping[str, Part], how: str, faults: list[str]
) -> list[Part]:
    for name in names:
        if name not in known:
            there = ", ".join(map(repr, known)) or "none"
            faults.append(f"it needs the {what} {name!r}; given: {there}; pass {how}")
    return [known[name] for name in names if name in known]


def _state(data: Mapping[str, Any], parts: Mapping[str, Any], faults: list[str]) -> Json:
    if parts.get("state_schema") is not None:
        return {}
    if data["state_class"] is not None:
        faults.append(f"its state is a {data['state_class']}; pass it: state_schema=…")
        return {}
    schema: Json = {}
    for name, entry in data["state"].items():
        if name == "messages":
            continue
        if entry["type"] not in TYPES or entry["handler"] not in HANDLERS:
            faults.append(
                f"its state key {name!r} holds {entry['type']}, merged by {entry['handler']}; "
                "pass the schema: state_schema=…"
            )
            continue
        known = {"type": TYPES[entry["type"]], "handler": HANDLERS[entry["handler"]]}
        schema[name] = known | {key: entry[key] for key in entry if key == "default"}
    return {"state_schema": schema}


def _output(data: Mapping[str, Any], parts: Mapping[str, Any], faults: list[str]) -> Json:
    name, wanted = data["output_type"], parts.get("output_type")
    if name is None:
        return {}
    if wanted is None:
        faults.append(f"its answer is a {name}; pass the type: output_type=…")
        return {}
    if isinstance(wanted, OutputType):
        return {}
    how = {key: data[f"output_{key}"] for key in ("tries", "name", "native")}
    return {"output_type": OutputType(wanted, **how)}


def _native_of(assembly: Assembly[Any]) -> str | None:
    """When the provider holds the model to the schema; None is what the generator says itself."""
    output = assembly.spec.output
    own = schema_mode_of(assembly.chat_generator)
    return None if output is None or output.native == own else output.native


def _limits(data: Mapping[str, Any], parts: Mapping[str, Any], faults: list[str]) -> Json:
    limits = data["limits"]
    if parts.get("limits") is not None:
        return {}
    if limits["price"]:
        faults.append("its limits have a price list; pass them: limits=Limits(…, price=…)")
        return {}
    names = {field.name for field in fields(Limits)} - {"price"}
    return {"limits": Limits(**{name: limits[name] for name in limits if name in names})}


def _strategies(data: Mapping[str, Any], parts: Mapping[str, Any], faults: list[str]) -> Json:
    known = dict(parts.get("confirmation_strategies") or {})
    for name, rule in data["confirmation_strategies"].items():
        if name not in known and isinstance(rule, dict):
            known[name] = object_from_data(rule, described_classes())
        elif name not in known:
            faults.append(
                f"its tool {name!r} is guarded by {rule}; pass the strategy: "
                "confirmation_strategies={…}"
            )
    return {"confirmation_strategies": known}


def _rule_data(rule: object) -> object:
    """A strategy as data, or the names of what it is made of.

    What could not be read again is not written: a class of somebody's own may hold a secret.
    """
    try:
        data = object_to_data(rule)
        object_from_data(data, described_classes())
    except (UnstorableError, StoredDataError):
        parts = (getattr(rule, f"confirmation_{part}", rule) for part in ("policy", "ui"))
        return " and ".join(type(part).__name__ for part in parts)
    return data


def _approvers(data: Mapping[str, Any], parts: Mapping[str, Any], faults: list[str]) -> Json:
    """Nothing: without those that it had, everybody could decide."""
    if data.get("approvers") and parts.get("approvers") is None:
        faults.append("it asks who decides; pass those who know: approvers=…")
    return {}


def _hooks(data: Mapping[str, Any], parts: Mapping[str, Any], faults: list[str]) -> Json:
    known = {_name(hook.function): hook for hook in parts.get("hooks") or ()}
    return {"hooks": _found("hook", data["hooks"], known, "hooks=[…]", faults)}


def _entry_data(entry: Mapping[str, Any]) -> Json:
    data = {"type": type_name(entry["type"]), "handler": _name(entry["handler"])}
    return data | {name: thaw(entry[name]) for name in entry if name == "default"}


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
