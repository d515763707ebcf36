"""Limits: what a run may spend before it is ended, and what it may ask for at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from attrs import field, frozen

from detent.core.chat.replies import ChatReply, Usage
from detent.core.values.checks import names_meant, number, of_kind

N = TypeVar("N", int, float)
_COUNT, _MAY_BE_COUNT = number(1, is_whole=True), number(0, is_whole=True, or_none=True)
_MAY_BE_NUMBER = number(0, or_none=True)


_STEPS = ("max_turns", "max_turn", "max_steps", "max_step", "max_iterations", "max_requests")
_SECONDS = ("timeout", "timeout_s", "max_time", "max_duration")
_OTHER_NAMES = {
    **dict.fromkeys(_STEPS, "max_agent_steps"),
    **dict.fromkeys(_SECONDS, "max_seconds"),
}
"""What other libraries call them: letters alone would lead to another limit."""


@names_meant(_OTHER_NAMES)
@frozen
class Limits:
    """What a run may spend. When it is spent, what was begun is ended and nothing more is begun.

    What agents inside spend counts for the run that they work for. Where tokens, cost or calls have
    a limit, they work one after another: side by side each would spend what is left.

    Attributes:
        max_agent_steps: how often the model is asked.
        parallel_tool_calls: how many tools run at once.
        max_tokens: the tokens of all model calls together, read and written.
        max_cost: what all model calls together may cost, by `price`.
        max_tool_calls: how many calls of tools the model may make, whatever becomes of them, and
            those of agents inside. One more is not run, and the model is told.
        max_calls_per_reply: how many calls one reply may have. None of a reply with more is run,
            and the model is told.
        max_rejections: how often a human is asked about a call of the same tool with the same
            arguments that was rejected each time. Then the model is told so at once.
        max_tool_rejections: how often a human is asked about calls of the same tool, whatever its
            arguments, who says no each time in a row. Then the model is told so at once.
        max_seconds: how long one `run` or `resume` may take. This limit does not wait for what was
            begun: its calls are given up.
        final_answer: when steps, tokens or cost are spent, ask the model one last time, without
            tools.
        price: what a reply has cost: `Prices`, or any function. A reply of which it does not say
            that, as it raises, say, costs as much as `max_cost`, and without that nothing.
    """

    max_agent_steps: int = field(default=100, validator=number(0, is_whole=True))
    parallel_tool_calls: int = field(default=32, validator=_COUNT)
    max_tokens: int | None = field(default=None, kw_only=True, validator=_MAY_BE_COUNT)
    max_cost: float | None = field(default=None, kw_only=True, validator=_MAY_BE_NUMBER)
    max_seconds: float | None = field(default=None, kw_only=True, validator=_MAY_BE_NUMBER)
    final_answer: bool = field(
        default=False, kw_only=True, validator=of_kind(bool, "True or False")
    )
    price: Callable[[ChatReply], float] | None = field(default=None, kw_only=True)
    max_tool_calls: int | None = field(default=None, kw_only=True, validator=_MAY_BE_COUNT)
    max_calls_per_reply: int = field(default=128, kw_only=True, validator=_COUNT)
    max_rejections: int = field(default=3, kw_only=True, validator=_COUNT)
    max_tool_rejections: int = field(default=10, kw_only=True, validator=_COUNT)

    def __attrs_post_init__(self) -> None:
        if self.max_cost is not None and self.price is None:
            raise ValueError("max_cost needs to know what a reply costs: Limits(…, price=…)")

    def spent(self, turn: int, usage: Usage, cost: float) -> str | None:
        """The limit that a run has reached with its `turn`; None says that it may go on."""
        if turn >= self.max_agent_steps:
            return "max_agent_steps"
        if self.max_tokens is not None and usage.total_tokens >= self.max_tokens:
            return "max_tokens"
        if self.max_cost is not None and not cost < self.max_cost:  # a NaN is no room either
            return "max_cost"
        return None

    @property
    def is_shared(self) -> bool:
        """Whether agents inside draw on the same budget."""
        return not self.max_tokens is self.max_cost is self.max_tool_calls is None

    def spent_inside(self, usage: Usage, cost: float, calls: int) -> str | None:
        """The limit that a run has reached by what agents inside it did, for which they stop."""
        if self.max_tool_calls is not None and calls > self.max_tool_calls:
            return "max_tool_calls"
        return self.spent(0, usage, cost)

    def deadline(self, at: float | None) -> float | None:
        """When a run must have ended that is taken up `at` a time."""
        return end_of(at, self.max_seconds)


def end_of(at: float | None, lasts_s: float | None) -> float | None:
    """When that is over which lasts so long from a time; None where either is not said."""
    return None if at is None or lasts_s is None else at + lasts_s


def is_past(until: float | None, at: float | None) -> bool:
    """Whether a time is over at another one. What does not say when it comes, comes too late."""
    return until is not None and not (at is not None and at <= until)


def least(*limits: N | None) -> N | None:
    """The least of some limits, of which each may be none; None where there is none."""
    return min((limit for limit in limits if limit is not None), default=None)
