"""Policies that add up what was called before: how often, and for how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import inf, isinf, isnan, nextafter
from typing import Any

from attrs import field, frozen

from detent.adapters.confirmation.policies import NAME, Rule, is_amount
from detent.core.chat.messages import ToolCall
from detent.core.run.approval import (
    Allow,
    Answered,
    Ask,
    Rejected,
    Verdict,
)
from detent.core.run.run import AnsweredByHuman, AwaitingPolicy, Refused, Run
from detent.core.run.totals import NOTHING, calls_budget, exact
from detent.core.tools.defaults import with_defaults
from detent.core.tools.invocation import argument_faults
from detent.core.tools.tool import Tool
from detent.core.values.checks import number, of_kind
from detent.core.values.frozen import FrozenDict

MOST = 1e300
"""What counts as more: sums of it are numbers."""


def _amount_of(value: object) -> float:
    """What a call takes. JSON has no decimals, which are texts; one that is none may take all.

    RULE: an amount below zero would make room for more than the budget, confirmed or not, and one
    that a float has no room for counts as the next that it has.
    """
    number = value
    if isinstance(value, str):
        try:
            number = Decimal(value)
            value = float(number)
        except (InvalidOperation, OverflowError, ValueError):
            return MOST
    if isinstance(value, float) and isnan(value):
        return MOST
    if not isinstance(value, int | float) or not isinstance(number, int | float | Decimal):
        return 0.0
    if number <= 0:
        return 0.0
    amount = float(min(value, MOST))
    written = Decimal(repr(amount)) if isinstance(number, Decimal) else amount
    return amount if amount == MOST or written >= number else nextafter(amount, inf)


@frozen
class AskAfter(Rule):
    """Calls are asked about once the tool has had `calls` calls in this run.

    What counts is what counts for `AskOverBudget`, and tools of one name count together, whichever
    agent's they are. But a call that is begun again counts once; and those of other agents, which
    may have other rules, count whatever has become of them.
    """

    calls: int = field(validator=number(0, is_whole=True))

    @property
    def budgets(self) -> tuple[str, ...]:
        """One for all tools: it does not know of which it will be asked."""
        return ("calls",)

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        """Count."""
        name = calls_budget(tool.name)
        before = int(run.spent.get(name, 0))
        if before < self.calls:  # as often at most a run is walked through, however long it is
            # those that other rules have let through, without a word of this, are in the run
            own = sum(1 for _ in _let_through(run, tool))
            before = max(before, own + run.calls_inside.get(tool.name, 0))
        takes = FrozenDict({name: 1.0})
        if before < self.calls:
            return Allow(takes)
        return Ask(f"{tool.name} was called {before} times in this run", spends=takes)


@frozen
class AskOverBudget(Rule):
    """A call is asked about when its `parameter` adds up to more than `budget`.

    What counts is all that it, and each other `AskOverBudget` of the same name, was asked about: in
    this run, in the agents inside it, however deep, and in what the run goes on from, a fork, a
    snapshot or the run before in a thread. Calls that failed count as well, and those that wait for
    a human; not those that were stopped, nor those that wait when their run ends. Each attempt
    counts: what `retries` begin again may have been spent before, and is asked about once that is
    over the budget. What is no number is asked about, and counts as what it reads as, such as the
    text of a decimal; else as more than any.

    Attributes:
        parameter: the argument that is added up.
        budget: how much needs no confirmation.
        name: which budget it is; without one, that of the parameter. Of several of one name at one
            call the largest amount counts: two parameters of a call need two names.
    """

    parameter: str = field(validator=NAME)
    budget: float = field(validator=number(-inf))
    name: str = field(default="", validator=of_kind(str, "the name of a budget"))

    @property
    def _limit(self) -> Fraction | float:
        return self.budget if isinf(self.budget) else exact(self.budget)

    @property
    def budgets(self) -> tuple[str, ...]:
        """The name of what is spent."""
        return (self.name or self.parameter,)

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        """Add up."""
        (name,) = self.budgets
        spent = run.spent.get(name, Fraction())
        value = with_defaults(call, tool).get(self.parameter)
        amount = _amount_of(value)
        spends = FrozenDict({name: amount}) if amount else NOTHING
        if is_amount(value) and value >= 0 and spent + exact(amount) <= self._limit:
            return Allow(spends)
        before = float(min(spent, Fraction(MOST)))
        why = f"{self.parameter} {value} on top of {before:.15g} is over {self.budget}"
        if not is_amount(value):
            why = f"{self.parameter} {value!r} is no number"
        if self.parameter in tool.masked:  # what was spent before is made of the same secrets
            why = f"{self.parameter} is secret, and over what is left of the budget"
        return Ask(why, spends=spends)


def _let_through(run: Run[Any], tool: Tool) -> Iterator[ToolCall]:
    """The calls of a tool that have run in this run, or may, however that went.

    Not those that a human has stopped, nor those that never fitted the tool.
    """
    stops = Counter(
        record.call
        for record in run.decisions
        if isinstance(record.decision, Rejected | Answered)
        and (record.call.tool_name, record.path) == (tool.name, ())
        and record.ref.turn < run.turn
    )
    stopped = (AwaitingPolicy, Refused, AnsweredByHuman)
    results = (result for message in run.messages for result in message.tool_call_results)
    begun = (slot.call for slot in run.slots if not isinstance(slot.status, stopped))
    for call in (result.origin for result in results):
        if not _is_of(call, tool):
            continue
        if stops and stops[call] > 0:  # one for each: an equal call of another turn may have run
            stops[call] -= 1
        else:
            yield call
    yield from (call for call in begun if _is_of(call, tool))


def _is_of(call: ToolCall, tool: Tool) -> bool:
    return call.tool_name == tool.name and not argument_faults(call, tool)
