"""Callers: who else calls the function that a claim is about, where no policy is asked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import getattr_static
from itertools import chain
from types import FunctionType, MethodType, ModuleType
from typing import Any, get_args

from detent.adapters.confirmation.call_rules import CallRule
from detent.adapters.testing.proofs.functions import (
    OF_RESULTS,
    behind,
    called_by,
    finds_unseen,
    reached_from,
)
from detent.adapters.testing.proofs.named_functions import (
    Found,
    is_of_python,
    is_ours,
    layers,
    own_function,
    top_of,
)
from detent.adapters.testing.proofs.names_in_code import names_in, texts_in
from detent.adapters.testing.proofs.properties import Property
from detent.adapters.testing.proofs.roots import (
    A_HOOK,
    THE_POLICY,
    functions_in,
    of_agent,
    values_in,
)
from detent.adapters.testing.simulation.nested_runs import all_agents
from detent.core.control.hooks import Hook
from detent.core.run.spec import AgentSpec
from detent.core.tools.tool import Tool
from detent.core.tools.wiring import Reply

LEARNS = "update_after_confirmation"
"""By this method a policy is told of each decision."""

PAST = frozenset({"messages", "decisions", "conversation_in", "data_of"})
"""What of a run is left out where runs count as one."""


def require_all_callers(
    spec: AgentSpec[Any],
    claims: Sequence[Property],
    hooks: Mapping[tuple[str, ...], Sequence[Hook]],
) -> None:
    """Refuse a claim about a function by one of its ways: by another it does the same.

    Raises:
        ValueError: a claim leaves out another name of the function, or who calls that by himself.
    """
    agents = [*all_agents(spec)]
    tools = [tool for _, agent in agents for tool in agent.tools.values()]
    claimed = {name for claim in claims for name in claim.tools}
    for claim in claims:
        functions = [behind(tool.function) for tool in tools if tool.name in claim.tools]
        if not functions:
            continue
        _require_names(claim, functions, tools, claimed)
        if unseen := {tool.name for tool in tools if finds_unseen(tool)} - claimed:
            raise ValueError(
                f"{claim.name} cannot be proved: {sorted(unseen)} runs code that it makes itself "
                "(eval, timeit), or finds something by a name (getattr, hasattr, pickle, format of "
                "a text made elsewhere) or among all that there is (gc, inspect), or imports a "
                "module that nobody has imported so far, or begins a process, "
                "which may be anything; "
                "claim the same of that, or do without"
            )
        callers = {tool.name for tool in tools if _is_among(functions, called_by(tool))}
        if left_out := callers - claimed:
            raise ValueError(
                f"{claim.name} is about a function that {sorted(left_out)} calls by itself, where "
                "no policy is asked; claim the same of that"
            )
        for path, agent in agents:
            for place, found in of_agent(agent, hooks.get(path, ())):
                if _is_among(functions, reached_from([found], OF_RESULTS)):
                    raise ValueError(
                        f"{claim.name} is about a function that [{place}] calls by itself, where "
                        "no policy is asked; do without, and name the tool by its name"
                    )


def require_no_readers(spec: AgentSpec[Any], claims: Sequence[Property]) -> None:
    """Refuse what reads what runs that count as one may differ in, as far as its code names it.

    Raises:
        ValueError: a policy or a claim reads the conversation or past decisions.
    """
    places = [place for _, agent in all_agents(spec) for place in of_agent(agent, ())]
    policies = [(place, found) for place, found in places if place.startswith(THE_POLICY)]
    for place, found in [*policies, *((claim.name, Found(claim.judge)) for claim in claims)]:
        reached = [*reached_from([found])]
        # a value of the state is read by a text: run.state.read("messages"); and functions of ours
        # read it for whoever hands them the run: calls_of(run)
        words = _words(reached) | _words_of_ours(reached)
        if named := sorted(PAST & words):
            raise ValueError(
                f"{place} reads {named}: runs that differ in these alone count as one; "
                "check(…, exact=True) tells them apart"
            )


def require_no_learners(spec: AgentSpec[Any]) -> None:
    """Refuse policies that learn from decisions: a proof tells them of none.

    What Detent's own learn by hand is in the run, where it counts.

    Raises:
        ValueError: there is one, here or in an agent inside.
    """
    for _, agent in all_agents(spec):
        for name, policy in agent.policies.items():
            held = [getattr_static(type(one), LEARNS, None) for one in values_in([policy])]
            if any(one is not None and not is_ours(one) for one in map(own_function, held)):
                raise ValueError(
                    f"{THE_POLICY} of {name!r} learns ({LEARNS}), so that what it says is no "
                    "function of what it is given, and a proof would be of what it knows now; let "
                    "a yes count for further calls instead: Ask(remember=…), or AskOncePolicy()"
                )


def require_seen_state(
    spec: AgentSpec[Any],
    claims: Sequence[Property],
    hooks: Mapping[tuple[str, ...], Sequence[Hook]],
    results: Mapping[str, Sequence[object]],
) -> None:
    """Refuse tools that write the state by themselves, where something goes by it: none is run.

    What is written by one that takes the state itself is told by nothing that a proof can see; by
    one that returns a `Reply`, or a state, by its `results`.

    Raises:
        ValueError: there is one, and a policy, a hook or a claim looks at the state.
    """
    agents = [*all_agents(spec)]
    tools = [tool for _, agent in agents for tool in agent.tools.values()]
    takers = {tool.name for tool in tools if tool.signature.state is not None}
    returners = {tool.name for tool in tools if not results.get(tool.name) and _is_reply(tool)}
    if not (writers := sorted(takers | returners)):
        return
    readers: list[tuple[str, object]] = [(claim.name, claim.judge) for claim in claims]
    for path, agent in agents:
        readers += [(f"{THE_POLICY} of {name!r}", one) for name, one in agent.policies.items()]
        readers += [(A_HOOK, hook.function) for hook in hooks.get(path, ())]
    for place, reader in readers:
        if _looks_at_state(reader):
            raise ValueError(
                f"{place} looks at the state, which {writers} may change to anything, and no tool "
                "is run: they take the state itself (a parameter of a state class), or return a "
                "Reply, of which results=… says what it may be; let them return what is to be "
                "stored (outputs_to_state)"
            )


def _is_reply(tool: Tool) -> bool:
    """Whether a tool may return a `Reply`, as it says or as its code names one."""
    declared = tool.signature.returns
    called = reached_from(map(Found, layers(tool.function)))
    return Reply in (declared, *get_args(declared)) or Reply.__name__ in _words(called)


def _looks_at_state(reader: object) -> bool:
    """Whether code names the state, or is that of a rule with patterns for it."""
    reached = [*reached_from(functions_in([reader]))]
    held = values_in([reader, *reached, *(getattr(one, "__self__", None) for one in reached)])
    return any(isinstance(one, CallRule) and one.state for one in held) or "state" in _words(
        reached
    )


def _words(functions: Iterable[object]) -> set[str]:
    """The names and texts in the code of functions, but for that of Python and of ours."""
    own = [own_function(one) for one in functions]
    code = [one.__code__ for one in own if one is not None and not is_of_python(one)]
    return {*chain.from_iterable((*names_in(each), *texts_in(each)) for each in code)}


def _words_of_ours(reached: Iterable[object]) -> set[str]:
    """The names in the code of functions of ours that others call, and of those that these call.

    The first that is reached is called by nobody: a policy of ours looks at nothing that counts.
    """
    owns = [own for own in map(own_function, reached) if own is not None]
    left = [own for own in owns[1:] if is_ours(own)]
    left += chain.from_iterable(_ours_named_by(own) for own in owns if not is_of_python(own))
    seen, words = {*left}, set[str]()
    while left:
        own = left.pop()
        words |= {*names_in(own.__code__)}
        fresh = {*_ours_named_by(own)} - seen
        seen |= fresh
        left += fresh
    return words


def _ours_named_by(own: FunctionType) -> Iterator[FunctionType]:
    """The functions of ours that code names: also as those of a module, `testing.calls_of`."""
    names = {*names_in(own.__code__)}
    left = [own.__globals__.get(name, sys.modules.get(name)) for name in names]
    seen = set[int]()
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType) and is_ours(value):
            yield value
        elif isinstance(value, ModuleType) and top_of(value.__name__) == "detent":
            left += [getattr(value, name, None) for name in names]


def _require_names(
    claim: Property, functions: Sequence[object], tools: Sequence[Tool], claimed: set[str]
) -> None:
    names = {tool.name for tool in tools if behind(tool.function) in functions}
    if left_out := names - claimed:
        raise ValueError(
            f"{claim.name} is about a function that is also called {sorted(left_out)}; claim "
            "the same of that, or give it a function of its own"
        )


def _is_among(functions: Sequence[object], called: Iterable[object]) -> bool:
    """Whether one of the functions is called.

    A method is that of its object alone, but as a function of its class that of any. A function is
    itself whatever it is bound to: what an object holds, Python hands no object to.
    """
    plain = [one for one in functions if not isinstance(one, MethodType)]
    unbound = [one.__func__ for one in functions if isinstance(one, MethodType)]
    return any(
        one in functions or one in unbound or getattr(one, "__func__", None) in plain
        for one in called
    )
