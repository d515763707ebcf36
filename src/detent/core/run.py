"""The run: everything that one execution knows. A value; equal runs behave equally."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeAlias

from attrs import field, frozen

from detent.core.frozen import FrozenDict
from detent.core.grants import Decided, Grant
from detent.core.messages import ChatMessage, frozen_mapping
from detent.core.outcomes import Outcome
from detent.core.replies import ChatReply, Usage
from detent.core.slots import Slot
from detent.core.variables import S


@frozen
class Thinking:
    """The model is to answer. `attempt` counts the tries of this turn, from 1."""

    attempt: int = 1


@frozen
class Pausing:
    """The model gave no answer. Its next `attempt` is at `until`, in seconds since 1970."""

    attempt: int
    until: float


@frozen
class Acting:
    """The model's calls are being answered.

    The reply stands here, with a slot for each call, and enters the conversation together with all
    the answers: a conversation with an unanswered call cannot be written down.
    """

    reply: ChatReply
    slots: tuple[Slot, ...]


@frozen
class Done:
    """The run has ended."""

    outcome: Outcome


Phase: TypeAlias = Thinking | Pausing | Acting | Done


@frozen
class RunOptions:
    """What the caller chose for this run in place of the agent's own.

    `tools` names the tools that may be used; None means all.
    """

    tools: tuple[str, ...] | None = None
    generation_kwargs: FrozenDict[str, object] = field(factory=FrozenDict, converter=frozen_mapping)


NO_OPTIONS = RunOptions()


@frozen(slots=False)  # for `evolve`, which is then quick
class Run(Generic[S]):
    """Everything one execution knows.

    `turn` counts model calls, from 1: it is the number of the turn that is going on, or was the
    last. `misfits` counts the answers that were not of the wanted type. `cost` is in the currency
    of the price list. `exhausted` names the limit that was reached when the model is asked for its
    last answer. At `deadline`, in seconds since 1970, the run ends. `given_up` is the attempt of
    this turn with which the run last failed: once it is resumed, retries are counted from there.
    `decisions` are those of humans that counted, `grants` the confirmations that count for further
    calls.
    """

    id: str
    state: S
    phase: Phase = Thinking()
    turn: int = 1
    usage: Usage = Usage()
    tool_call_counts: FrozenDict[str, int] = field(factory=FrozenDict)
    options: RunOptions = NO_OPTIONS
    misfits: int = 0
    cost: float = 0.0
    exhausted: str | None = None
    deadline: float | None = None
    decisions: tuple[Decided, ...] = ()
    grants: tuple[Grant, ...] = ()
    given_up: int = 0

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The conversation so far: every tool call in it is answered."""
        return self.state.messages

    @property
    def outcome(self) -> Outcome | None:
        """How the run ended; None while it goes on."""
        return self.phase.outcome if isinstance(self.phase, Done) else None

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The tool calls that are being answered now; none outside a turn's tool calls."""
        return self.phase.slots if isinstance(self.phase, Acting) else ()
