"""Claims: what somebody says of every run of an agent, to be proved or refuted by `check`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import inf
from typing import Any, TypeAlias

from attrs import evolve, frozen

from detent.adapters.testing.simulation.nested_runs import slots_in
from detent.core.chat.messages import ToolCall
from detent.core.machine.delegation import runs_in, unwrap_event
from detent.core.run.approval import Confirmed, Modified, Scope
from detent.core.run.events import Event, HappenedInside, HumanDecided, ToolNeverRan
from detent.core.run.refs import AgentRef, CallRef, Path
from detent.core.run.run import AwaitingDecision, Delegated, Run, Running, Unknown
from detent.core.tools.masking import MASK, shown_call
from detent.core.values.frozen import FrozenDict

_Place: TypeAlias = tuple[Path, CallRef]


@frozen
class _Approvals:
    """What somebody has said yes to.

    Attributes:
        calls: those of this turn, each in its place, as it was then.
        further: what may run from then on: of the agents inside by these names the tool, with these
            arguments or, where that is None, with any.
    """

    calls: frozenset[tuple[_Place, ToolCall]] = frozenset()
    further: frozenset[tuple[tuple[str, ...], str, FrozenDict[str, object] | None]] = frozenset()

    def cover(self, place: _Place, call: ToolCall) -> bool:
        """Whether somebody has said yes to a call."""
        names = tuple(at.tool_name for at in place[0])
        return (place, call) in self.calls or any(
            (names, call.tool_name, arguments) in self.further
            for arguments in (None, call.arguments)
        )

    def after(self, before: Run[Any], event: Event, after: Run[Any]) -> _Approvals:
        """What has been said once the event is folded in; a question takes back what was."""
        calls = self.calls if after.turn == before.turn else frozenset()
        further = self.further
        for place, call, scope in _approvals_in(before, event):
            calls = frozenset(approved for approved in calls if approved[0] != place) | {
                (place, call)
            }
            if scope != "call":
                names = tuple(at.tool_name for at in place[0])
                arguments = call.arguments if scope == "arguments" else None
                further |= {(names, call.tool_name, arguments)}
        open_places = {
            (path, slot.ref)
            for path, slot in slots_in(after)
            if isinstance(slot.status, AwaitingDecision)
        }
        return _Approvals(
            frozenset(approved for approved in calls if approved[0] not in open_places), further
        )


_Spent: TypeAlias = tuple[float, frozenset[_Place], _Approvals]
"""How much in all unasked, by which calls that are at work, and what was said yes to."""


@frozen
class Violation:
    """Why a claim does not hold."""

    sentence: str


Judge: TypeAlias = Callable[[Any, Run[Any], Event, Run[Any]], Hashable | Violation]
"""Is given what it remembers, and an event with the run before and after it. Gives what it
remembers from now on, or what is wrong. At first it remembers None."""


@frozen
class Property:
    """Something said of every run, by name.

    `must_end` says also that wherever a run stands, it can end. `turns` is how many turns must be
    looked at, at least. `tools` are those that it speaks of: `check` refuses it where there is none
    of that name.
    """

    name: str
    judge: Judge
    must_end: bool = False
    turns: int = 1
    tools: tuple[str, ...] = ()


def always(holds: Callable[[Run[Any]], object], name: str | None = None) -> Property:
    """The run is so after every event: `holds` is true of it."""
    if not callable(holds):
        raise TypeError(f"always takes a function of a run, not {holds!r:.80}")
    sentence = name or str(getattr(holds, "__name__", holds))

    def judge(memory: None, before: Run[Any], event: Event, after: Run[Any]) -> Violation | None:
        return None if holds(after) else Violation(f"{sentence} does not hold")

    return Property(sentence, judge)


def never_runs_unapproved(tool: str) -> Property:
    """No call of the tool begins without a human's yes, in any agent inside.

    That is a yes to this very call, or one of which the human has said that it counts for further
    calls (`remember`). A policy whose question takes none of those has each call asked about:
    ``WithQuestionOptions(AlwaysAskPolicy(), answers=Answers(remember="call"))``.
    """

    def judge(
        memory: _Approvals | None, before: Run[Any], event: Event, after: Run[Any]
    ) -> _Approvals | Violation:
        approved = (memory or _Approvals()).after(before, event, after)
        for path, slot in slots_in(after):
            runs = isinstance(slot.status, Running | Delegated) and slot.call.tool_name == tool
            if runs and not approved.cover((path, slot.ref), slot.call):
                return Violation(
                    f"{tool} runs for call {slot.ref} with "
                    f"{dict(shown_call(slot.call).arguments)}, and nobody has approved that"
                )
        return approved

    return Property(f"never_runs_unapproved({tool!r})", judge, tools=(tool,))


def budget_never_exceeded(
    *,
    tokens: int | None = None,
    cost: float | None = None,
    amount: float | None = None,
    parameter: str = "amount",
    tools: Sequence[str] = (),
) -> Property:
    """When so much is spent, no more is.

    Of tokens and cost: no model is asked any more, but for the last answer of its limits. Neither
    that of the run nor that of an agent inside, however deep: what they spend is its own. What it
    is spending then is what a reply too many can cost.

    Of an `amount`: the argument `parameter` adds up to no more over all calls of `tools`, here and
    in agents inside, that begin though nobody has said yes to them (as `never_runs_unapproved`
    counts it), as often as each begins: an attempt that failed, or whose process died, may have
    spent it. What is below zero makes no room.

    Raises:
        ValueError: none of them is given, or an amount without tools, or tools without an amount.
    """
    if tokens is None and cost is None and amount is None:
        raise ValueError("budget_never_exceeded says nothing without tokens=, cost= or amount=")
    if (amount is None) != (not tools) or isinstance(tools, str):
        raise ValueError("amount= is of the calls of tools=[…], and they are of an amount")
    spending = None if amount is None else _amount_judge(amount, parameter, frozenset(tools))

    def judge(
        memory: _Spent | None, before: Run[Any], event: Event, after: Run[Any]
    ) -> Hashable | Violation:
        asks = _is_to_ask(before, after)
        if asks and tokens is not None and after.usage.total_tokens >= tokens:
            return Violation(f"the model is asked when {after.usage.total_tokens} tokens are spent")
        if asks and cost is not None and after.cost >= cost:
            return Violation(f"the model is asked when {after.cost} are spent")
        return None if spending is None else spending(memory, before, event, after)

    bounds = {"tokens": tokens, "cost": cost, "amount": amount}
    text = ", ".join(f"{name}={most}" for name, most in bounds.items() if most is not None)
    return Property(f"budget_never_exceeded({text})", judge, tools=tuple(tools))


def _amount_judge(most: float, parameter: str, tools: frozenset[str]) -> Judge:
    """Adds up what begins, by the arguments alone: it asks nothing that a policy is told."""

    def judge(
        memory: _Spent | None, before: Run[Any], event: Event, after: Run[Any]
    ) -> _Spent | Violation:
        total, unasked, known = memory or (0.0, frozenset[_Place](), _Approvals())
        approved = known.after(before, event, after)
        path, inner = unwrap_event(event)
        if isinstance(inner, ToolNeverRan) and (path, inner.ref) in unasked:
            total -= _value_of(_at_work(before)[path, inner.ref], parameter)
        was, now = _at_work(before), _at_work(after)
        # what nobody knows the outcome of has not ended: it may still turn out never to have run
        unasked = frozenset(place for place in unasked if place in now)
        for place, call in now.items():
            if place in was or call.tool_name not in tools or approved.cover(place, call):
                continue
            unasked |= {place}
            total += _value_of(call, parameter)
            if total > most:
                value = shown_call(call).arguments.get(parameter)
                much = MASK if parameter in call.secret else f"{total:g}"  # the sum tells its parts
                return Violation(
                    f"{call.tool_name} runs for call {place[1]} with {parameter} {value}, "
                    f"which makes {much} in all, and nobody has approved that"
                )
        return total, unasked, approved

    return judge


def _value_of(call: ToolCall, parameter: str) -> float:
    """What a call takes; what is no number takes more than there is."""
    value = call.arguments.get(parameter)
    return max(value, 0) if isinstance(value, int | float) else inf


def _at_work(run: Run[Any]) -> dict[_Place, ToolCall]:
    """The calls that have begun, and of which nobody knows yet what has come of it."""
    return {
        (path, slot.ref): slot.call
        for path, slot in slots_in(run)
        if isinstance(slot.status, Running | Delegated | Unknown)
    }


def always_ends_within(turns: int) -> Property:
    """There are so many turns at most, and wherever a run stands, it can end by itself."""

    def judge(memory: None, before: Run[Any], event: Event, after: Run[Any]) -> Violation | None:
        return Violation(f"there is a turn {after.turn}") if after.turn > turns else None

    return Property(f"always_ends_within({turns})", judge, must_end=True, turns=turns)


def _is_to_ask(before: Run[Any], after: Run[Any]) -> bool:
    """Whether a model is to be asked for a turn that has just begun, here or inside."""
    turns = {path: run.turn for path, run in runs_in(before)}
    return any(
        run.turn > turns.get(path, 0) and run.outcome is None and run.exhausted is None
        for path, run in runs_in(after)
    )


def _approvals_in(
    before: Run[Any], event: Event, path: Path = ()
) -> Iterator[tuple[_Place, ToolCall, Scope]]:
    """The call to which an event says yes, as it is to run, if it answers the open question."""
    match event:
        case HumanDecided(ref, digest, Confirmed() | Modified() as decision):
            for at, slot in slots_in(before):
                status, place = slot.status, (at, slot.ref)
                if place != (path, ref) or not isinstance(status, AwaitingDecision):
                    continue
                if status.digest != digest:
                    continue
                if isinstance(decision, Modified):
                    yield place, evolve(slot.call, arguments=decision.arguments), "call"
                else:
                    yield place, slot.call, decision.remember or "call"
        case HappenedInside(ref, tool_name, inner):
            yield from _approvals_in(before, inner, (*path, AgentRef(*ref, tool_name)))
        case _:
            return
