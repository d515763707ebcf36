"""What the world owes a run now. RULE: no other module makes effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from attrs import evolve

from detent.core.chat.messages import ToolCall
from detent.core.machine.binding import unfit, unjudged
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
)
from detent.core.run.run import evolve as evolve_run
from detent.core.run.spec import AgentSpec
from detent.core.state.state import conversation_in
from detent.core.state.typevars import S
from detent.core.tools.idempotency import IdempotencyKey
from detent.core.tools.masking import masked
from detent.core.tools.tool import Tool
from detent.core.values.frozen import FrozenDict

Inner: TypeAlias = dict[CallRef, tuple[Effect, ...]]
WORKABLE: frozenset[type] = frozenset({Ready, Running, Delegated})
JUDGED: frozenset[type] = frozenset({AwaitingPolicy, AwaitingDecision})


def due(spec: AgentSpec[S], run: Run[S], *, is_shared: bool = False) -> tuple[Effect, ...]:
    """Everything that the world owes `run` now; empty when it has ended.

    The same run always owes the same effects, in the same order, each with a key of its own. A
    driver performs those that are not under way, gives up those that are no longer owed, and passes
    what happened to `step`. A run `is_shared` that draws on the budget of one around it.
    """
    owed: tuple[Effect, ...]
    phase = run.phase
    match phase:
        case Thinking():
            owed = (_ask_model(spec, run, phase.attempt),)
        case Acting():
            owed = _owed_to_calls(spec, run, phase.slots, is_shared)
        case Pausing(attempt, until):
            owed = (WaitUntil(CallRef(run.turn, 0), attempt, "model_pause", until),)
        case Done():
            return ()
    if run.deadline is None or not owed:
        return owed
    return (*owed, WaitUntil(CallRef(0, 0), 0, "limit", run.deadline))


def _owed_to_calls(
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
    inner = _owed_inside(spec, run, is_shared) if Delegated in kinds else {}
    judgements, inner = _judgements(spec, run, anew, inner)
    owed: list[Effect] = [*judgements]
    if AwaitingDecision in kinds:
        owed += _humans_to_ask(spec, run, slots)
    if len(workable) > 1:
        workable = _in_turn(workable, inner)
        if is_shared or spec.limits.is_shared:
            workable = _one_agent(spec, workable)
    at_work = workable[: spec.limits.parallel_tool_calls]
    owed += _attempts(RunTool, (Ready, Running), spec, run, at_work)
    if Unknown in kinds:
        owed += _attempts(Reconcile, (Unknown,), spec, run, slots)
    if Running in kinds or BackingOff in kinds or AwaitingDecision in kinds:
        owed += _waits(run)
    for slot in slots if inner else ():
        owed += _owed_to_agent(slot, inner.get(slot.ref, ()), is_at_work=slot in at_work)
    return tuple(owed)


def _ask_model(spec: AgentSpec[S], run: Run[S], attempt: int) -> AskModel:
    chosen = run.options.generation_kwargs
    options = FrozenDict({**spec.generation_kwargs, **chosen}) if chosen else spec.generation_kwargs
    tools = run.options.tools
    offered = spec.offered
    if tools is not None:
        offered = tuple(tool for tool in offered if tool.name in tools)
    if spec.output is not None:
        offered, options = spec.output.asked(offered, options)
    said = conversation_in(run.state)
    return AskModel(run.turn, attempt, said, offered, options, known=spec.offered)


def _judgements(
    spec: AgentSpec[S], run: Run[S], anew: list[tuple[Slot, Binding]], inner: Inner
) -> tuple[list[Judge], Inner]:
    """What policies are asked now, and what agents inside are owed without what must wait for that.

    RULE: one for each policy, and for each budget, however deep: what is said of a call may matter
    to the next, which sees what all of the run has spent until then.
    """
    if not (anew or inner):  # most runs have neither
        return [], inner
    if not anew and not any(isinstance(one, Judge) for owed in inner.values() for one in owed):
        return [], inner
    all_of_it = unjudged(spec, run)
    let = _calls_let(all_of_it)
    seen, asked, taken = _seen_by(all_of_it, all_of_it, let), list[Judge](), set[str]()
    for slot, binding in anew:
        name = slot.call.tool_name
        policy = spec.guards.get(name, unguarded)
        names = budgets_of(policy)
        if not any(policy is one.policy for one in asked) and taken.isdisjoint(names):
            taken |= names
            asked.append(Judge(slot.ref, slot.call, spec.tools[name], policy, seen, binding))
    left: Inner = {}
    for ref, effects in inner.items():
        kept = list[Effect]()
        for effect in effects:
            if not isinstance(effect, Judge):
                kept.append(effect)
            elif taken.isdisjoint(names := budgets_of(effect.policy)):
                taken |= names
                kept.append(evolve(effect, run=_seen_by(all_of_it, effect.run, let)))
        left[ref] = tuple(kept)
    return asked, left


def _seen_by(outer: Run[Any], run: Run[Any], calls: Counter[str]) -> Run[Any]:
    """A run as a policy sees it: with what all of `outer` has spent, and the `calls` let there.

    RULE: whatever is no call of its own is one of agents inside: also of those around it, and
    beside it.
    """
    own, waiting = run.tool_call_counts, _unjudged_calls(run, is_deep=False)
    counts = {name: count - own.get(name, 0) + waiting[name] for name, count in calls.items()}
    others = FrozenDict({name: count for name, count in counts.items() if count})
    return evolve_run(run, spent=outer.spent, calls_inside=others)


def _calls_let(run: Run[Any]) -> Counter[str]:
    """How many calls there are, by tool. What waits for a policy is none yet: it may not run.

    RULE: it is counted once for all that are judged, who may be many agents beside each other.
    """
    waiting = _unjudged_calls(run)
    names = {*run.tool_call_counts, *run.calls_inside}
    return Counter({name: run.calls_of(name) - waiting[name] for name in names})


def _unjudged_calls(run: Run[Any], *, is_deep: bool = True) -> Counter[str]:
    """How many calls wait for their policies, by tool, also in agents at work if `is_deep`."""
    found = Counter[str]()
    for slot in run.slots:
        if isinstance(slot.status, AwaitingPolicy):
            found[slot.call.tool_name] += 1
        elif isinstance(slot.status, Delegated) and is_deep:
            found += _unjudged_calls(slot.status.run)
    return found


def _humans_to_ask(spec: AgentSpec[S], run: Run[S], slots: Iterable[Slot]) -> Iterator[AskHuman]:
    for slot in slots:
        if isinstance(asked := slot.status, AwaitingDecision):
            tool = spec.tools[slot.call.tool_name]
            revealed = {
                item.parameter: run.state.read(item.key)
                for item in tool.inputs
                if item.parameter in asked.ask.reveals and run.state.holds(item.key)
            }
            yield AskHuman(
                slot.ref,
                slot.call,
                tool,
                asked.digest,
                asked.reason,
                run.id,
                asked.expires_at,
                FrozenDict(masked(revealed, tool.masked)),
                begins=asked.attempt,
                ask=asked.ask,
                change=asked.change,
                votes=tuple(vote.by or "" for vote in asked.votes),
                started_by=run.started_by,
                trouble=asked.trouble,
            )


def _attempts(
    make: type[RunTool | Reconcile],
    kinds: tuple[type[Ready | Running | Unknown], ...],
    spec: AgentSpec[S],
    run: Run[S],
    slots: Iterable[Slot],
) -> list[RunTool | Reconcile]:
    """What a tool is to do for the calls of these kinds: to run, or to look up how it went."""
    owed: list[RunTool | Reconcile] = []
    for slot in slots:
        if isinstance(status := slot.status, kinds):
            tool, key = spec.tools[slot.call.tool_name], call_key(run, slot)
            owed.append(make(slot.ref, status.attempt, slot.call, tool, run.state, key))
    return owed


def _owed_inside(spec: AgentSpec[S], run: Run[S], is_shared: bool) -> Inner:  # noqa: FBT001 - what is known of the run
    """What the agents at work are owed, by their calls."""
    is_shared |= spec.limits.is_shared
    return {
        slot.ref: due(spec.agents[slot.status.tool_name], slot.status.run, is_shared=is_shared)
        for slot in run.slots
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
    begun = [slot for slot in agents if isinstance(slot.status, Delegated)] or agents[:1]
    return [slot for slot in workable if slot in begun or slot not in agents]


def _waits_for_a_human(owed: tuple[Effect, ...]) -> bool:
    kinds = set(map(type, owed))
    return AskHuman in kinds and kinds <= {AskHuman, WaitUntil}


def _runs_a_tool(slot: Slot) -> bool:
    status = slot.status
    if isinstance(status, Delegated):
        return any(map(_runs_a_tool, status.run.slots))
    return isinstance(status, Running)


def _owed_to_agent(slot: Slot, owed: tuple[Effect, ...], *, is_at_work: bool) -> Iterator[Effect]:
    """What an agent is owed. One whose place was taken while it waited may think, not run tools."""
    if isinstance(slot.status, Delegated):
        at = AgentRef(*slot.ref, slot.status.tool_name)
        for effect in owed:
            if is_at_work or not isinstance(effect, RunTool):
                yield evolve(effect, path=(at, *effect.path))


def call_key(run: Run[Any], slot: Slot) -> IdempotencyKey:
    """By what the world can tell this call from all others: it is the same for each attempt."""
    return IdempotencyKey(f"{run.id}/{slot.ref.turn}/{slot.ref.place}")


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


def unguarded(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
    """For a call that is to be judged, and whose policy the agent at hand has no longer: ask."""
    return Ask(f"a policy is to judge this call, and this agent has none for '{tool.name}'")
