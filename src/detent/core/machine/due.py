"""What the world owes a run now. RULE: no other module makes effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias

from attrs import evolve

from detent.core.chat.messages import ToolCall
from detent.core.machine.binding import as_unjudged, inputs_in, unfit
from detent.core.run.approval import Ask, Binding, Verdict
from detent.core.run.effects import (
    AskHuman,
    AskModel,
    Effect,
    Judge,
    Policy,
    Reconcile,
    RunTool,
    WaitUntil,
    call_name,
)
from detent.core.run.refs import AgentRef, CallRef
from detent.core.run.run import (
    Acting,
    AwaitingDecision,
    AwaitingPolicy,
    BackingOff,
    Delegated,
    Done,
    Pausing,
    Ready,
    Run,
    Running,
    Slot,
    Thinking,
    Unknown,
    agent_at,
)
from detent.core.run.run import evolve as evolve_run
from detent.core.run.spec import AgentSpec, no_spec
from detent.core.state.state import conversation_in
from detent.core.state.typevars import S
from detent.core.tools.masking import masked
from detent.core.tools.tool import Tool
from detent.core.values.frozen import EMPTY, FrozenDict

Inner: TypeAlias = dict[CallRef, tuple[Effect, ...]]
WORKABLE: frozenset[type] = frozenset({Ready, Running, Delegated})
JUDGED: frozenset[type] = frozenset({AwaitingPolicy, AwaitingDecision})


def due(spec: AgentSpec[S], run: Run[S], *, is_shared: bool = False) -> tuple[Effect, ...]:
    """Everything that the world owes `run` now; empty when it has ended.

    The same run always owes the same effects, in the same order, each with a key of its own. A
    driver performs those that are not under way, gives up those that are no longer owed, and passes
    what happened to `step`. A run `is_shared` that draws on the budget of one around it.

    Raises:
        TypeError: `spec` is no `AgentSpec`.
    """
    if not isinstance(spec, AgentSpec):
        raise no_spec(spec, "due")
    effects: tuple[Effect, ...]
    phase = run.phase
    match phase:
        case Thinking():
            effects = (_ask_model(spec, run, phase.attempt),)
        case Acting():
            effects = _call_effects(spec, run, phase.slots, is_shared)
        case Pausing(attempt, until):
            effects = (WaitUntil(CallRef(run.turn, 0), attempt, "model_pause", until),)
        case Done():
            return ()
    if run.deadline is None or not effects:
        return effects
    return (*effects, WaitUntil(CallRef(0, 0), 0, "limit", run.deadline))


def _call_effects(
    spec: AgentSpec[S],
    run: Run[S],
    slots: tuple[Slot, ...],
    is_shared: bool,  # noqa: FBT001 - what is known of the run
) -> tuple[Effect, ...]:
    kinds: set[type] = set()
    workable: list[Slot] = []
    for slot in slots:  # in one loop, as this is asked after each event
        kinds.add(kind := type(slot.status))
        if kind in WORKABLE:
            workable.append(slot)
    anew: list[tuple[Slot, Binding]] = []
    # most agents have no policy, and are not to pay for those that have
    is_judged = spec.guards or run.decisions or not kinds.isdisjoint(JUDGED)
    if is_judged and (anew := list(unfit(spec, run))):
        again = {slot.ref for slot, _ in anew}
        slots = tuple(slot for slot in slots if slot.ref not in again)
        workable = [slot for slot in workable if slot.ref not in again]
        kinds = {type(slot.status) for slot in slots}
    inner = _inner_effects(spec, slots, is_shared) if Delegated in kinds else {}
    effects: list[Effect] = []
    if anew or inner:  # most runs have neither
        judgements, inner = _judgements(spec, run, anew, inner)
        effects += judgements
    if AwaitingDecision in kinds:
        effects += _humans_to_ask(spec, run, slots)
    if len(workable) > 1:
        workable = _in_turn(workable, inner)
        workable = _one_agent(spec, workable) if is_shared or spec.limits.is_shared else workable
    at_work = workable[: spec.limits.parallel_tool_calls]
    effects += _attempts(RunTool, (Ready, Running), spec, run, at_work)
    if Unknown in kinds:
        effects += _attempts(Reconcile, (Unknown,), spec, run, slots)
    if Running in kinds or BackingOff in kinds or AwaitingDecision in kinds:
        effects += _waits(run)
    if inner:
        effects += _agent_effects(slots, inner, {slot.ref for slot in at_work})
    return tuple(effects)


def _ask_model(spec: AgentSpec[S], run: Run[S], attempt: int) -> AskModel:
    choice = run.options.generation_kwargs
    options = FrozenDict({**spec.generation_kwargs, **choice}) if choice else spec.generation_kwargs
    names = run.options.tools
    tools = spec.offered
    if names is not None:
        tools = tuple(tool for tool in tools if tool.name in names)
    if spec.output is not None:
        tools, options = spec.output.asked(tools, options)
    messages = conversation_in(run.state)
    return AskModel(run.turn, attempt, messages, tools, options, known=spec.offered)


def _judgements(
    spec: AgentSpec[S], run: Run[S], anew: list[tuple[Slot, Binding]], inner: Inner
) -> tuple[list[Judge], Inner]:
    """What policies are asked now, and what agents inside are owed without what must wait for that.

    RULE: one for each policy, and for each budget, however deep: what is said of a call may matter
    to the next, which sees what all of the run has spent until then.
    """
    deeper = chain.from_iterable(inner.values())
    if not anew and not any(isinstance(effect, Judge) for effect in deeper):
        return [], inner
    outer = as_unjudged(spec, run)
    calls = _allowed_calls(outer)
    view, judges, budgets = _policy_view(outer, outer, calls), list[Judge](), set[str]()
    for slot, binding in anew:
        name = slot.call.tool_name
        policy = spec.guards.get(name, ask_without_policy)
        names = budgets_of(policy)
        if not any(policy is effect.policy for effect in judges) and budgets.isdisjoint(names):
            budgets |= names
            judges.append(Judge(slot.ref, slot.call, spec.tools[name], policy, view, binding))
    by_call: Inner = {}
    for ref, effects in inner.items():
        ready = list[Effect]()
        for effect in effects:
            if not isinstance(effect, Judge):
                ready.append(effect)
            elif budgets.isdisjoint(names := budgets_of(effect.policy)):
                budgets |= names
                ready.append(evolve(effect, run=_policy_view(outer, effect.run, calls)))
        by_call[ref] = tuple(ready)
    return judges, by_call


def _policy_view(outer: Run[Any], run: Run[Any], calls: Counter[str]) -> Run[Any]:
    """A run as a policy sees it: with what all of `outer` has spent, and the `calls` let there.

    RULE: whatever is no call of its own is one of agents inside: also of those around it, and
    beside it.
    """
    own, waiting = run.tool_call_counts, _unjudged_calls(run, is_deep=False)
    counts = {name: count - own.get(name, 0) + waiting[name] for name, count in calls.items()}
    inside = FrozenDict({name: count for name, count in counts.items() if count})
    return evolve_run(run, spent=outer.spent, calls_inside=inside)


def _allowed_calls(run: Run[Any]) -> Counter[str]:
    """How many calls there are, by tool. What waits for a policy is none yet: it may not run.

    RULE: it is counted once for all that are judged, who may be many agents beside each other.
    """
    waiting = _unjudged_calls(run)
    names = {*run.tool_call_counts, *run.calls_inside}
    return Counter({name: run.calls_of(name) - waiting[name] for name in names})


def _unjudged_calls(run: Run[Any], *, is_deep: bool = True) -> Counter[str]:
    """How many calls wait for their policies, by tool, also in agents at work if `is_deep`."""
    counts = Counter[str]()
    for slot in run.slots:
        if isinstance(slot.status, AwaitingPolicy):
            counts[slot.call.tool_name] += 1
        if is_deep and (agent := agent_at(slot)) is not None:
            counts += _unjudged_calls(agent.run)
    return counts


def _humans_to_ask(spec: AgentSpec[S], run: Run[S], slots: Iterable[Slot]) -> Iterator[AskHuman]:
    for slot in slots:
        if isinstance(status := slot.status, AwaitingDecision):
            tool = spec.tools[slot.call.tool_name]
            reveals = status.ask.reveals
            values = inputs_in(run, tool, reveals) if reveals else EMPTY
            yield AskHuman(
                slot.ref,
                slot.call,
                tool,
                status.digest,
                status.reason,
                run.id,
                status.expires_at,
                FrozenDict(masked(values, tool.masked)) if values else EMPTY,
                begins=status.attempt,
                ask=status.ask,
                change=status.change,
                votes=tuple(vote.by or "" for vote in status.votes),
                started_by=run.started_by,
                trouble=status.trouble,
                after=status.after,
                name=call_name(run, slot),
            )


def _attempts(
    make: type[RunTool | Reconcile],
    kinds: tuple[type[Ready | Running | Unknown], ...],
    spec: AgentSpec[S],
    run: Run[S],
    slots: Iterable[Slot],
) -> list[RunTool | Reconcile]:
    """What a tool is to do for the calls of these kinds: to run, or to look up how it went."""
    effects: list[RunTool | Reconcile] = []
    for slot in slots:
        if isinstance(status := slot.status, kinds):
            tool = spec.tools[slot.call.tool_name]
            name = call_name(run, slot)
            effects.append(make(slot.ref, status.attempt, slot.call, tool, run.state, name))
    return effects


def _inner_effects(spec: AgentSpec[S], slots: Iterable[Slot], is_shared: bool) -> Inner:  # noqa: FBT001 - known of the run
    """What the agents at work on some calls are owed, by their calls."""
    is_shared |= spec.limits.is_shared
    return {
        slot.ref: due(spec.agents[slot.status.tool_name], slot.status.run, is_shared=is_shared)
        for slot in slots
        if isinstance(slot.status, Delegated)
    }


def _in_turn(workable: list[Slot], inner: Inner) -> list[Slot]:
    """The calls that can be worked on, in the order in which they take the places that there are.

    An agent that only waits for a human takes the place of none.
    """
    if inner:
        workable = [slot for slot in workable if not _waits_for_a_human(inner.get(slot.ref, ()))]
    # Begun calls first: one that is approved late waits, and takes the place of none.
    return sorted(
        workable, key=lambda slot: (not _runs_a_tool(slot), isinstance(slot.status, Ready))
    )


def _one_agent(spec: AgentSpec[S], workable: list[Slot]) -> list[Slot]:
    """The calls, of agents the first alone: the next begins with what that one has left."""
    agents = [slot for slot in workable if slot.call.tool_name in spec.agents]
    active = [slot for slot in agents if isinstance(slot.status, Delegated)] or agents[:1]
    return [slot for slot in workable if slot in active or slot not in agents]


def _waits_for_a_human(effects: tuple[Effect, ...]) -> bool:
    kinds = set(map(type, effects))
    return AskHuman in kinds and kinds <= {AskHuman, WaitUntil}


def _runs_a_tool(slot: Slot) -> bool:
    status = slot.status
    if isinstance(status, Delegated):
        return any(map(_runs_a_tool, status.run.slots))
    return isinstance(status, Running)


def _agent_effects(slots: Iterable[Slot], inner: Inner, working: set[CallRef]) -> Iterator[Effect]:
    """What agents are owed. One whose place was taken while it waited may think, not run tools."""
    for slot in slots:
        if isinstance(slot.status, Delegated):
            agent = AgentRef(*slot.ref, slot.status.tool_name)
            for effect in inner.get(slot.ref, ()):
                if slot.ref in working or not isinstance(effect, RunTool):
                    yield evolve(effect, path=(agent, *effect.path))


def _waits(run: Run[S]) -> Iterator[WaitUntil]:
    for slot in run.slots:
        status = slot.status
        if isinstance(status, Running) and status.deadline is not None:
            yield WaitUntil(slot.ref, status.attempt, "deadline", status.deadline)
        elif isinstance(status, BackingOff):
            yield WaitUntil(slot.ref, status.attempt, "pause", status.until)
        elif isinstance(status, AwaitingDecision) and status.expires_at is not None:
            yield WaitUntil(slot.ref, status.attempt, "expiry", status.expires_at)


def budgets_of(policy: Policy) -> frozenset[str]:
    """The names of the budgets that a policy looks at, as its `budgets` say."""
    return frozenset(getattr(policy, "budgets", ()))


def ask_without_policy(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
    """For a call that is to be judged, and whose policy the agent at hand has no longer: ask."""
    return Ask(f"a policy is to judge this call, and this agent has none for '{tool.name}'")
