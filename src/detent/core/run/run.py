"""The run: everything that one execution knows. A value; equal runs behave equally."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, get_args

from attrs import evolve as evolve_any
from attrs import field, frozen

from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, ModelFailure, Usage
from detent.core.run.approval import (
    PLAIN_ASK,
    UNBOUND,
    Ask,
    Binding,
    Clearance,
    DecisionRecord,
    FormerDecision,
    Grant,
)
from detent.core.run.outcomes import Failed, Outcome
from detent.core.run.refs import CallRef
from detent.core.run.totals import NO_TOTALS, NOTHING, Amounts, Totals, with_change
from detent.core.state.state import conversation_in
from detent.core.state.typevars import S
from detent.core.tools.result import ToolFault, ToolResult
from detent.core.values.fast_values import fast_evolve, fast_init
from detent.core.values.frozen import EMPTY, FrozenDict, frozen_mapping


@frozen
class AwaitingPolicy:
    """A policy has not said yet whether a human must decide."""


@frozen
class AwaitingDecision:
    """A human must decide. Only a decision that carries `digest` counts.

    Attributes:
        digest: that of `binding`, of the call and of `after`.
        reason: why, for the human.
        attempt: the one that a yes begins: what may still come of those before is not its answer.
        expires_at: when nobody's silence means no, in seconds since 1970; None is never.
        ask: the question as it was put.
        binding: what the decision is bound to.
        after: the name of the crash that the question came of; "" if it came of a policy.
        trouble: what happened then, in words.
        change: what was decided before, if the question is put again.
        votes: those who have said yes, where it takes more of them.
        again: how often it was put anew because the rules wanted more.
        is_stale: another process goes on with the run, whose policies have not been asked.
    """

    digest: str
    reason: str = ""
    attempt: int = 1
    expires_at: float | None = None
    ask: Ask = PLAIN_ASK
    binding: Binding = UNBOUND
    after: str = ""
    trouble: str = ""
    change: FormerDecision | None = None
    votes: tuple[DecisionRecord, ...] = ()
    again: int = 0
    is_stale: bool = False


@fast_init
@frozen
class Ready:
    """May run; not started."""

    attempt: int = 1


READY = Ready()
"""How most calls begin."""


@fast_init
@frozen
class Running:
    """Started, not yet answered. At `deadline`, in seconds since 1970, nobody waits any longer."""

    attempt: int = 1
    deadline: float | None = None


@frozen
class Unknown:
    """Begun in a process that has ended; whether it was carried out is being looked up."""

    attempt: int


@frozen
class BackingOff:
    """Failed, and ready for its next `attempt` at `until`, in seconds since 1970."""

    attempt: int
    until: float


@frozen
class Delegated:
    """Another agent, the tool `tool_name`, is at work on it; `run` is how far it has come."""

    tool_name: str
    run: Run[Any]


@fast_init
@frozen
class Succeeded:
    """Ran, and gave a result."""

    result: ToolResult


@frozen
class Faulted:
    """Could not run, or failed."""

    fault: ToolFault


@frozen
class Refused:
    """A human, or a policy, said no; `text` tells the model."""

    text: str


@frozen
class AnsweredByHuman:
    """A human answered in the tool's place."""

    text: str


@frozen
class AnswerAccepted:
    """The call gave the answer that the run is for."""


@frozen
class AnswerInvalid:
    """The call gave an answer that is not of the run's output type; `text` tells the model."""

    text: str


Settled: TypeAlias = (
    Succeeded | Faulted | Refused | AnsweredByHuman | AnswerAccepted | AnswerInvalid
)
Open: TypeAlias = (
    AwaitingPolicy | AwaitingDecision | Ready | Running | Unknown | BackingOff | Delegated
)
Status: TypeAlias = Open | Settled


@fast_init
@frozen
class Slot:
    """One tool call and its status.

    `clearance` is what has let it run, where a policy stands, `spends` what it takes of budgets,
    and `was_begun` that an attempt before may have carried it out. `suspended` is the agent that
    was at work on it, and goes on once the call, which must be judged again, is let run. `crashes`
    is how often its process has ended in the middle of it since an attempt has ended by itself, of
    a tool that is run again then. `key` is the one by which the world knows it, where it has begun
    in a run of which this is a copy.
    """

    ref: CallRef
    call: ToolCall
    status: Status
    clearance: Clearance | None = None
    spends: Amounts = field(default=NOTHING, repr=False)
    was_begun: bool = False
    suspended: Delegated | None = None
    crashes: int = 0
    key: str = ""


def move(slot: Slot, status: Status) -> Slot:
    """The slot with another status. An agent that waits goes with a call that has its answer."""
    ref, call, spends, begun = slot.ref, slot.call, slot.spends, slot.was_begun
    waits = slot.suspended if type(status) in OPEN else None
    return Slot(ref, call, status, slot.clearance, spends, begun, waits, slot.crashes, slot.key)


def agent_at(slot: Slot) -> Delegated | None:
    """The agent that is at work on a call, also while it waits for the call to be judged again."""
    return slot.status if isinstance(slot.status, Delegated) else slot.suspended


def with_agent(slot: Slot, agent: Delegated) -> Slot:
    """The slot with its agent as far as that has come."""
    return move(slot, agent) if slot.suspended is None else evolve_any(slot, suspended=agent)


OPEN: frozenset[type] = frozenset(get_args(Open))
"""The classes of the statuses of calls that have no answer yet."""


def is_settled(slot: Slot) -> bool:
    """Whether the slot's call has its answer."""
    return type(slot.status) not in OPEN


@fast_init
@frozen
class Thinking:
    """The model is to answer. `attempt` counts the tries of this turn, from 1."""

    attempt: int = 1


THINKING = Thinking()
"""How each turn begins."""


@frozen
class Pausing:
    """The model gave no answer. Its next `attempt` is at `until`, in seconds since 1970."""

    attempt: int
    until: float


@fast_init
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
    generation_kwargs: FrozenDict[str, object] = field(default=EMPTY, converter=frozen_mapping)


NO_OPTIONS = RunOptions()


@frozen
class Run(Generic[S]):
    """Everything one execution knows.

    `turn` counts model calls, from 1: it is the number of the turn that is going on, or was the
    last. `invalid_answers` counts the answers that were not of the wanted type. `cost` is in the
    currency of the price list. `exhausted` names the limit that was reached when the model is asked
    for its last answer. At `deadline`, in seconds since 1970, the run ends. `given_up` is the
    attempt of this turn with which the run last failed: once it is resumed, retries are counted
    from there. `decisions` are those that counted, `grants` the confirmations that count for
    further calls. `nonce` is drawn when the run begins: two runs of one id are not the same.
    `calls_inside` counts the calls that agents inside have made, by tool, as `tool_call_counts`
    does those of its own model. `started_by` says who has begun
    it, `labels` what its tools have brought along: what the model makes from then on bears them.
    `spent` is what the calls take of budgets that have run or may run, those inside as well.
    `unread` is what users have said that the model has not been given yet.
    """

    id: str
    # it fills arguments that are secret, of which only the tools know
    state: S = field(repr=lambda state: f"<{', '.join(state.fields)}>")
    phase: Phase = THINKING
    turn: int = 1
    usage: Usage = Usage()
    tool_call_counts: FrozenDict[str, int] = EMPTY
    options: RunOptions = NO_OPTIONS
    invalid_answers: int = 0
    cost: float = 0.0
    exhausted: str | None = None
    deadline: float | None = None
    decisions: tuple[DecisionRecord, ...] = ()
    grants: tuple[Grant, ...] = ()
    given_up: int = 0
    nonce: str = ""
    calls_inside: FrozenDict[str, int] = EMPTY
    started_by: str | None = None
    labels: tuple[str, ...] = ()
    spent: Totals = field(default=NO_TOTALS, repr=False)
    unread: tuple[ChatMessage, ...] = ()

    @property
    def calls(self) -> int:
        """How many calls of tools the models have made, this one's and those of agents inside."""
        return sum(self.tool_call_counts.values()) + sum(self.calls_inside.values())

    def calls_of(self, tool_name: str) -> int:
        """As `calls`, of the tools of one name: whose agent they are, no cap asks."""
        return self.tool_call_counts.get(tool_name, 0) + self.calls_inside.get(tool_name, 0)

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The conversation so far: every tool call in it is answered."""
        return conversation_in(self.state)

    @property
    def outcome(self) -> Outcome | None:
        """How the run ended; None while it goes on."""
        phase = self.phase
        return phase.outcome if isinstance(phase, Done) else None

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The tool calls that are being answered now; none outside a turn's tool calls."""
        phase = self.phase
        return phase.slots if isinstance(phase, Acting) else ()


def has_no_answer(run: Run[Any]) -> bool:
    """Whether the run has ended because the model gave no answer: resumed, it asks again."""
    return isinstance(run.outcome, Failed) and isinstance(run.outcome.failure, ModelFailure)


def decisions_about(run: Run[Any], ref: CallRef) -> list[DecisionRecord]:
    """The decisions that counted about a call of this very run, not of an agent inside it."""
    return [record for record in run.decisions if record.ref == ref and not record.path]


def with_labels(run: Run[S], labels: tuple[str, ...]) -> Run[S]:
    """The run, which has got to know what bears these labels."""
    new = {*labels} - {*run.labels}
    return evolve(run, labels=tuple(sorted({*run.labels, *new}))) if new else run


def charge(run: Run[S], before: Amounts | Totals, now: Amounts | Totals) -> Run[S]:
    """The run, of which a part has spent `now` where it had spent `before`."""
    if before == now:
        return run
    return evolve(run, spent=with_change(run.spent, before, now))


def replace_slot(slots: tuple[Slot, ...], slot: Slot) -> tuple[Slot, ...]:
    """The slots with one of them as it is now."""
    place = slot.ref.place
    return slots[:place] + (slot,) + slots[place + 1 :]  # noqa: RUF005 - the quicker way


def with_slot(run: Run[S], slot: Slot) -> Run[S]:
    """The run, which acts, with one of its slots as it is now; what is spent stays spent."""
    phase = run.phase
    assert isinstance(phase, Acting)  # noqa: S101 - else it has no slots
    return evolve(run, phase=Acting(phase.reply, replace_slot(phase.slots, slot)))


def with_slots(run: Run[S], slots: Sequence[Slot]) -> Run[S]:
    """The run with its slots as they are now; itself where they are the same."""
    phase = run.phase
    if not isinstance(phase, Acting) or all(map(is_, slots, phase.slots)):
        return run
    return evolve(run, phase=Acting(phase.reply, tuple(slots)))


if TYPE_CHECKING:
    from attrs import evolve as evolve  # noqa: PLC0414 - so that others may import it from here
else:
    evolve = fast_evolve(Run)
