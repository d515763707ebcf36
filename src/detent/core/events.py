"""Events: what happened, in the past tense. The only way anything enters a run."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from detent.core.decisions import Decision
from detent.core.replies import ChatReply, ModelFailure
from detent.core.results import ToolFault, ToolResult
from detent.core.slots import CallRef


@frozen
class ModelReplied:
    """The model answered what `AskModel` asked in this turn and attempt."""

    turn: int
    attempt: int
    reply: ChatReply


@frozen
class ModelFailed:
    """The model gave no answer to what `AskModel` asked in this turn and attempt."""

    turn: int
    attempt: int
    failure: ModelFailure


@frozen
class ToolStarted:
    """A tool is about to run: recorded first, so that a crash leaves a trace of the intent."""

    ref: CallRef
    attempt: int


@frozen
class ToolReturned:
    """A tool gave a result."""

    ref: CallRef
    attempt: int
    result: ToolResult


@frozen
class ToolRaised:
    """A tool failed."""

    ref: CallRef
    attempt: int
    fault: ToolFault


@frozen
class HumanDecided:
    """A human decided about one call. It counts only with the digest of that very call."""

    ref: CallRef
    digest: str
    decision: Decision
    by: str | None = None


@frozen
class CancelRequested:
    """Somebody wants the run to end now."""

    reason: str


Event: TypeAlias = (
    ModelReplied
    | ModelFailed
    | ToolStarted
    | ToolReturned
    | ToolRaised
    | HumanDecided
    | CancelRequested
)
