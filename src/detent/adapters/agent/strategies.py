"""The `confirmation_strategies` of an agent, made into rules.

Loaded where an agent has any: the policies are a tenth of what else a first run loads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias, cast

from detent.adapters.agent.rule_faults import rule_faults
from detent.adapters.confirmation.described import Described
from detent.adapters.confirmation.policies import AlwaysAskPolicy, policy_from
from detent.adapters.confirmation.rules import Rules
from detent.adapters.confirmation.strategies import (
    BlockingConfirmationStrategy,
    BreakpointConfirmationStrategy,
)
from detent.core.errors import WiringError
from detent.core.run.effects import Policy
from detent.core.tools.tool import Tool
from detent.core.values.frozen import FrozenDict
from detent.ports.confirmation import ConfirmationPolicy, ConfirmationStrategy, ConfirmationUI

Named: TypeAlias = (
    BlockingConfirmationStrategy | BreakpointConfirmationStrategy | ConfirmationStrategy
)
Strategy: TypeAlias = "Named | ConfirmationPolicy | Policy | Described"
# `Described` is what mypy makes of a dict of mixed strategies that stands in a variable.
# Each key is a str or a tuple of them; typed so, checkers refuse dicts with keys of one kind only.
Strategies: TypeAlias = Mapping[Any, Strategy]
"""Who is asked, by tool name, by a tuple of names, or by "*" for every other tool.

A policy in place of a strategy stops the run when it asks: a `BreakpointConfirmationStrategy`.
"""


def rules_of(
    strategies: Strategies, tools: Mapping[str, Tool], keys: Collection[str], *, may_grow: bool
) -> Rules:
    """The rules that strategies make; a name of its own wins over a tuple, a tuple over "*".

    Args:
        strategies: as users give them.
        tools: those of the agent, by name.
        keys: those of its state.
        may_grow: whether a toolset may bring further tools.

    Raises:
        TypeError: something among them is no strategy.
        WiringError: a policy looks at what its tools, or the state, have not got. Or a tool stands
            in two tuples.
    """
    named = _by_name(strategies)
    if faults := list(_faults(named, tools, keys, may_grow=may_grow)):
        raise WiringError(faults)
    policies: dict[int, Policy] = {}
    askers: dict[str, ConfirmationUI | ConfirmationStrategy] = {}
    breakpoints: dict[str, str | None] = {}
    for name, rule in named.items():
        # One strategy has one policy, whatever the number of its tools: it asks in their order.
        policies.setdefault(id(rule), policy_from(_policy(rule)))
        if isinstance(rule, BreakpointConfirmationStrategy):
            breakpoints[name] = rule.snapshot_file_path
        elif isinstance(rule, BlockingConfirmationStrategy):
            askers[name] = rule.confirmation_ui
        else:
            askers[name] = rule
            breakpoints[name] = None
    wordings = {name: rule.wording for name, rule in named.items() if hasattr(rule, "wording")}
    learners = {
        name: policy
        for name, rule in named.items()
        if hasattr(policy := _policy(rule), "update_after_confirmation")
    }
    by_name = FrozenDict({name: policies[id(rule)] for name, rule in named.items()})
    return Rules(by_name, FrozenDict(wordings), askers, breakpoints, learners, named)


def _by_name(strategies: Strategies) -> dict[str, Any]:
    if not isinstance(strategies, Mapping):
        raise TypeError(f"confirmation_strategies are a dict by tool name, got {strategies!r}")
    for key in strategies:
        for name in key if isinstance(key, tuple | frozenset) else (key,):
            _require_name(name)
    made = {id(rule): _strategy(names, rule) for names, rule in strategies.items()}
    single = {name: made[id(rule)] for name, rule in strategies.items() if isinstance(name, str)}
    shared = dict[str, Any]()
    for names, rule in strategies.items():
        for name in () if isinstance(names, str) else names:
            if shared.setdefault(name, made[id(rule)]) is not made[id(rule)]:
                raise WiringError([f"{name!r} stands in two tuples: only one strategy can count"])
    return shared | single


def _require_name(name: object) -> None:
    """Raise TypeError for what stands in the place of a tool's name, such as the tool."""
    if isinstance(name, str):
        return
    own = name.name if isinstance(name, Tool) else getattr(name, "__name__", None)
    got = f"{name!r:.80}" + (f"; write {own!r}" if isinstance(own, str) else "")
    raise TypeError(f"confirmation_strategies are by tool name, tuple of names, or '*', got {got}")


def _faults(
    named: Mapping[str, Any], tools: Mapping[str, Tool], keys: Collection[str], *, may_grow: bool
) -> Iterator[str]:
    """What the policies look at and is not there; one of several tools is looked at once."""
    shared: dict[int, list[str]] = {}
    for name, rule in named.items():
        shared.setdefault(id(rule), []).append(name)
    for names in shared.values():
        others = {name: tool for name, tool in tools.items() if name not in named}
        own = {name: tools[name] for name in names if name in tools}
        about = own | (others if "*" in names else {})
        policy = _policy(named[names[0]])
        yield from rule_faults(names, policy, about, keys, may_grow=may_grow)


def _require_parts(names: object, rule: object) -> None:
    """Raise TypeError for a class in an object's place, and for a UI that cannot be asked."""
    where = f"confirmation_strategies[{names!r}]"
    ui = getattr(rule, "confirmation_ui", None)
    for part in (rule, getattr(rule, "confirmation_policy", None), ui):
        if isinstance(part, type):
            raise TypeError(f"{where}: {part.__name__} is a class; write {part.__name__}(…)")
    if ui is not None and not any(hasattr(ui, name) for name in ASKS):
        raise TypeError(f"{where}: a confirmation UI has a method {ASKS[0]}, got {ui!r:.80}")


def _strategy(names: object, rule: object) -> Any:
    _require_parts(names, rule)
    if hasattr(rule, "run") or hasattr(rule, "run_async"):
        return rule
    if hasattr(rule, "should_ask") or callable(rule):
        return BreakpointConfirmationStrategy(confirmation_policy=cast(Any, rule))
    raise TypeError(
        f"confirmation_strategies[{names!r}] must be a strategy, e.g. BlockingConfirmationStrategy("
        f"AlwaysAskPolicy(), SimpleConsoleUI()), or a policy alone, got {rule!r:.100}"
    )


def _policy(rule: Any) -> Any:
    return getattr(rule, "confirmation_policy", ALWAYS)


ASKS = ("get_user_confirmation", "get_user_decision", "run", "run_async")
"""How somebody is asked; a strategy in a UI's place is asked as well."""
ALWAYS = AlwaysAskPolicy()
"""A strategy of a user's own is asked about every call: it decides by itself."""
