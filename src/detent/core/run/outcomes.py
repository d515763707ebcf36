"""Outcomes: how a run ended, as data."""

from __future__ import annotations

from typing import TypeAlias

from attrs import field, frozen

from detent.core.chat.replies import ModelFailure
from detent.core.tools.result import ToolFault
from detent.core.values.frozen import EMPTY, FrozenDict, frozen_mapping


@frozen
class Finished:
    """The agent has answered.

    `exit_reason` is "text", an exit tool's name, "output" when the answer has the wanted type, or
    the provider's reason for stopping early: "length", "content_filter" or "refusal". `answer` is
    the answer of the wanted type, as JSON.
    """

    exit_reason: str
    answer: FrozenDict[str, object] = field(default=EMPTY, converter=frozen_mapping)


@frozen
class Exhausted:
    """A limit was reached. `exit_reason` names it."""

    exit_reason: str


@frozen
class Failed:
    """The model gave no answer, or a tool failed that must not."""

    failure: ModelFailure | ToolFault

    @property
    def exit_reason(self) -> str:
        """Either "model_failure" or "tool_failure"."""
        return "model_failure" if isinstance(self.failure, ModelFailure) else "tool_failure"


@frozen
class Cancelled:
    """Somebody ended the run."""

    reason: str

    @property
    def exit_reason(self) -> str:
        """Always "cancelled"."""
        return "cancelled"


Outcome: TypeAlias = Finished | Exhausted | Failed | Cancelled


def output_in(outcome: Outcome | None) -> FrozenDict[str, object] | None:
    """The answer of the wanted type, as JSON; None where the run has not come to one."""
    if isinstance(outcome, Finished) and outcome.exit_reason == "output":
        return outcome.answer
    return None
