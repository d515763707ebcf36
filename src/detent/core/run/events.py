"""Events: what happened, in the past tense. The only way anything enters a run."""

from __future__ import annotations

from typing import TypeAlias

from attrs import field, frozen

from detent.core.chat.messages import ChatMessage, ChatRole, ToolCall, labels_of
from detent.core.chat.replies import ChatReply, ModelFailure, Usage
from detent.core.run.approval import Binding, Decision, Principal, Verdict
from detent.core.run.refs import CallRef
from detent.core.tools.result import ToolFault, ToolResult
from detent.core.values.fast_values import fast_init


@fast_init
@frozen
class ModelReplied:
    """The model answered what `AskModel` asked in this turn and attempt.

    `cost` is what the reply has cost, where there is a price list.
    """

    turn: int
    attempt: int
    reply: ChatReply
    cost: float = 0.0


@frozen
class ModelFailed:
    """The model gave no answer to what `AskModel` asked in this turn and attempt.

    Where it may be asked again, `at` is the time, in seconds since 1970, and `chance` a number from
    0 to 1 that spreads the further attempts of runs that failed together. `usage` and `cost` are
    those of an answer that was paid for, and could not be taken.
    """

    turn: int
    attempt: int
    failure: ModelFailure
    at: float | None = None
    chance: float = 0.0
    usage: Usage = Usage()
    cost: float = 0.0


@fast_init
@frozen
class ToolStarted:
    """A tool is about to run: recorded first, so that a crash leaves a trace of the intent.

    `at` is the time, in seconds since 1970, where the tool may only take so long, or what lets it
    run may lapse.
    """

    ref: CallRef
    attempt: int
    at: float | None = None


@fast_init
@frozen
class ToolReturned:
    """A tool gave a result."""

    ref: CallRef
    attempt: int
    result: ToolResult


@frozen
class ToolRaised:
    """A tool failed, or ("unknown_outcome") to look up how a call went did.

    Where it may be tried again, `at` is the time, in seconds since 1970, and `chance` a number from
    0 to 1 that spreads the further attempts of calls that failed together.
    """

    ref: CallRef
    attempt: int
    fault: ToolFault
    at: float | None = None
    chance: float = 0.0


@frozen
class ClockTicked:
    """It is `at`, in seconds since 1970: a time that `WaitUntil` named; `chance` is from 0 to 1."""

    at: float
    chance: float = 0.0


@frozen
class Judged:
    """A policy said whether a call may run. It is only asked again if something else would run.

    `at` is the time, in seconds since 1970, where the question or a grant may expire. `binding` is
    what the verdict is bound to; None is the call as it is in the run. One that `is_anew` was not
    owed: the policy is of another process, which goes by rules of its own, and was asked about a
    call that waits for a human, or was let run. RULE: whoever makes the event has taken out of the
    reason what of the call is secret; `judge` does.
    """

    ref: CallRef
    verdict: Verdict
    at: float | None = None
    binding: Binding | None = None
    is_anew: bool = False


@frozen
class CallRewritten:
    """A hook has changed a call that stands under a policy: it is judged anew, as `call`."""

    ref: CallRef
    call: ToolCall


@frozen
class HumanDecided:
    """A human decided about one call. It counts only with the digest of that very call.

    `by` says who, `at` when, in seconds since 1970. `who` is what an authenticator said of them.
    `refusal` says why a decision does not count.
    """

    ref: CallRef
    digest: str
    decision: Decision
    by: str | None = None
    at: float | None = None
    who: Principal | None = None


@frozen
class GrantRevoked:
    """What was confirmed with the call `ref` counts for no further calls."""

    ref: CallRef
    by: str | None = None
    at: float | None = None


@frozen
class ToolNeverRan:
    """An attempt was not carried out: it was looked up, or who was to begin it has not.

    `at` is the time of that, in seconds since 1970, where what let it run may lapse: it lets the
    next attempt begin in its place, by the same time.
    """

    ref: CallRef
    attempt: int
    at: float | None = None


@frozen
class ToolLost:
    """Nobody knows whether this attempt did its work: the tool says so, or who ran it is gone.

    It is about this call alone, while others still run; the tool's `on_unknown` says what happens.
    `reason` is for a human, `at` the time, in seconds since 1970, from which a question may expire.
    """

    ref: CallRef
    attempt: int
    reason: str
    at: float | None = None


@frozen
class Resumed:
    """Another process goes on with the run; what was under way has an unknown outcome.

    A run that has ended because the model gave no answer asks it again. Others that have ended stay
    as they are.

    `by` names the new process, differently each time. `at` is the time, in seconds since 1970: the
    limit in seconds counts from it, and no pause lasts longer from it than its rule says.
    """

    by: str
    at: float | None = None


@frozen
class CancelRequested:
    """Somebody wants the run to end now."""

    reason: str


def _is_of_a_user(event: object, attribute: object, message: ChatMessage) -> None:
    if message.role is not ChatRole.USER:
        raise ValueError(f"what is said to a run is a user's message, got {message.role}")
    labels_of([message])  # raises where these are none


@frozen
class MessageReceived:
    """A user has said something more to a run that goes on. The model reads it when next asked.

    So it stands between no call and its result, and an answer that was given without it is not the
    last one, as far as the limits let the run go on. `by` says who, `at` when, in seconds since
    1970.

    Raises:
        ValueError: it is not of a user, or its labels are none.
    """

    message: ChatMessage = field(validator=_is_of_a_user)
    by: str | None = None
    at: float | None = None


@frozen
class AnswerRejected:
    """Somebody is not content with the answer by which the run has just ended in this turn.

    The run goes on: the model is told `text`.
    """

    turn: int
    text: str


@frozen
class HappenedInside:
    """Something has happened in the run of the agent, the tool `tool_name`, at work on a call."""

    ref: CallRef
    tool_name: str
    event: Event


Event: TypeAlias = (
    ModelReplied
    | ModelFailed
    | ToolStarted
    | ToolReturned
    | ToolRaised
    | ClockTicked
    | Judged
    | CallRewritten
    | HumanDecided
    | GrantRevoked
    | ToolNeverRan
    | ToolLost
    | Resumed
    | CancelRequested
    | MessageReceived
    | AnswerRejected
    | HappenedInside
)

Attempted: TypeAlias = ToolStarted | ToolReturned | ToolRaised | ToolNeverRan | ToolLost
"""What happens to one attempt of a call."""
