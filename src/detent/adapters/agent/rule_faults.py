"""Rules of confirmation, looked at before anything runs: what they name has to be there.

A rule that names what is not there is never used, and one that is to deny would let pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from detent.adapters.confirmation.call_rules import CallRule, RuleList
from detent.adapters.confirmation.policies import WithQuestionOptions
from detent.core.schema.pattern_names import may_be_text, unknown_names
from detent.core.schema.projection import property_schemas
from detent.core.tools.tool import Tool

NO_NUMBERS = frozenset({"array", "boolean", "object", "string"})


def rule_faults(
    names: Collection[str],
    policy: Any,
    tools: Mapping[str, Tool],
    keys: Collection[str],
    *,
    may_grow: bool,
) -> Iterator[str]:
    """One sentence for each thing that a policy looks at and that is not there.

    Args:
        names: what it is given for: tools, or "*" for those that have no rule of their own.
        policy: the policy, or several put together.
        tools: the tools that it is asked about, by name.
        keys: those of the agent's state.
        may_grow: whether a toolset may bring further tools, of which nothing is known yet.
    """
    where = ", ".join(map(repr, names))
    for leaf in _leaves(policy):
        if isinstance(leaf, RuleList):
            for place, rule in enumerate(leaf.rules, 1):
                which = f"rule {rule.name!r}" if rule.name else f"rule {place}"
                at = f"{which} of the {type(leaf).__name__} for {where}"
                if not leaf.is_shared:
                    yield from _faults_of(at, rule, tools, keys, may_grow=may_grow)
        elif not may_grow and (parameter := getattr(leaf, "parameter", None)) is not None:
            at = f"{type(leaf).__name__} for {where}"
            yield from _parameter_faults(at, parameter, tools, is_for_all="*" in names)
        if isinstance(leaf, WithQuestionOptions) and not may_grow:
            yield from _option_faults(f"the policy for {where}", leaf, tools)


def _leaves(policy: Any) -> Iterator[Any]:
    """The policies that one is put together of; one that changes another's questions as well."""
    parts = getattr(policy, "policies", None) or [getattr(policy, "policy", None)]
    inner = [part for part in parts if part is not None]
    if not inner or isinstance(policy, WithQuestionOptions):
        yield policy
    for part in inner:
        yield from _leaves(part)


def _faults_of(
    where: str, rule: CallRule, tools: Mapping[str, Tool], keys: Collection[str], *, may_grow: bool
) -> Iterator[str]:
    fitting = [tool for tool in tools.values() if _is_named(tool, rule.tools)]
    if unknown := sorted(rule.state.keys() - set(keys)):
        yield (
            f"{where} looks at the state key {', '.join(map(repr, unknown))}; there is: "
            f"{', '.join(keys)}"
        )
    if may_grow:
        return
    lost = [
        name for name in rule.tools if not any(_is_named(one, [name]) for one in tools.values())
    ]
    if lost:
        yield (
            f"{where} is about {', '.join(map(repr, lost))}, and no tool is called so; there is: "
            f"{', '.join(tools) or 'none'} (RuleList(…, is_shared=True) is for several agents)"
        )
    for name, pattern in rule.arguments.items() if fitting else ():
        having = [tool for tool in fitting if _type_of(tool, name) is not None]
        if not having:
            yield f"{where} looks at the argument {name!r}; {_known(fitting)}"
        if isinstance(pattern, str) and having and not any(_is_text(one, name) for one in having):
            yield (
                f"{where} looks at the argument {name!r} for a text, which it never is; of a list, "
                "{'contains': {'pattern': '^…$'}} looks at each"
            )
        for place, names in _never_there(name, pattern, having).items():
            there = f"there is: {', '.join(names) or 'none'}"
            yield f"{where} looks at {place!r} of the arguments; {there}"


def _never_there(name: str, pattern: object, tools: Iterable[Tool]) -> Mapping[str, Sequence[str]]:
    """Where a pattern of an argument looks, and no tool has anything; with what there is."""
    wanted = {"properties": {name: pattern}}
    schemas = [tool.spec.parameters for tool in tools]
    found = [dict(unknown_names(wanted, [schema], schema)) for schema in schemas]
    first = found[0] if found else {}
    return {place[1:]: first[place] for place in first if all(place in one for one in found)}


def _is_text(tool: Tool, name: str) -> bool:
    root = tool.spec.parameters
    return may_be_text(_properties(tool).get(name, True), root)


def _is_named(tool: Tool, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(tool.name, pattern) for pattern in patterns)


def _parameter_faults(
    where: str, parameter: str, tools: Mapping[str, Tool], *, is_for_all: bool
) -> Iterator[str]:
    """A parameter that no call has, or that is no number, is asked about for ever."""
    kinds = {name: _type_of(tool, parameter) for name, tool in tools.items()}
    without = [tools[name] for name, kind in kinds.items() if kind is None]
    if without and (not is_for_all or len(without) == len(tools)):
        yield f"{where} looks at the parameter {parameter!r}; {_known(without)}"
    for kind in kinds.values():
        if kind in NO_NUMBERS and not is_for_all:
            yield f"{where} looks at the parameter {parameter!r}, which is no number but a {kind}"


def _option_faults(
    where: str, options: WithQuestionOptions, tools: Mapping[str, Tool]
) -> Iterator[str]:
    filled = {item.parameter for tool in tools.values() for item in tool.inputs}
    for name in options.reveals:
        if name not in filled:
            yield (
                f"{where} reveals {name!r}, which no key of the state fills; filled is: "
                f"{', '.join(sorted(filled)) or 'nothing'}"
            )
    for name in options.answers.modify or ():
        if tools and all(_type_of(tool, name) is None for tool in tools.values()):
            yield f"{where} lets people change {name!r}; {_known(tools.values())}"


def _type_of(tool: Tool, name: str) -> object:
    """The JSON type of an argument, "" where its schema says none; None where none is called so."""
    known = _properties(tool)
    if not known and tool.spec.parameters.get("additionalProperties") is not False:
        return ""  # whatever a model likes
    about = known.get(name)
    if isinstance(about, Mapping):
        return cast("Mapping[str, object]", about).get("type", "")
    return None if about is None else ""


def _properties(tool: Tool) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for name, part in property_schemas(tool.spec.parameters):  # also those that stand deeper in it
        if name:
            found.setdefault(name, part)
    return found


def _known(tools: Iterable[Tool]) -> str:
    names = dict.fromkeys(name for tool in tools for name in _properties(tool))
    return f"there is: {', '.join(names) or 'none'}"
