"""The hosting port: where runs live. Whoever talks to people or to other programs knows only this.

A host begins runs, drives them, goes on with them after a restart, and says what has come of them.
`detent.ports.laws.check_host` checks that an adapter keeps the promises made here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from attrs import asdict, field, frozen

from detent.core.chat.messages import ChatMessage
from detent.core.control.decisions import ToolExecutionDecision, grants_in
from detent.core.machine.binding import OutdatedQuestion
from detent.core.machine.calls import Why
from detent.core.run.approval import Grant
from detent.core.run.effects import EffectKey
from detent.core.run.events import CancelRequested, MessageReceived
from detent.core.run.run import Run
from detent.core.tools.secrets import SecretValues
from detent.core.values.frozen import EMPTY
from detent.ports.approvers import Wanted
from detent.ports.chat import Messages, StreamingChunk
from detent.ports.journal import Entry
from detent.ports.listing import Cursor, StoredRun
from detent.ports.pending import PendingCall
from detent.ports.results import AgentResult

HostOnly: TypeAlias = Literal[
    "unknown_agent",
    "unknown_run",
    "other_agent",
    "full",
    "shutting_down",
    "thread_busy",
    "not_ended",
    "ended",
    "unreadable",
    "invalid",
]
HostWhy: TypeAlias = Why | HostOnly
"""Why a host does not do what it is asked.

"unknown_agent", "unknown_run": it has none of this name. "other_agent": the run is of an agent that
this host does not have, or not of the one that was named. "full": too many runs wait for a place,
or too many speak to one. "shutting_down": it begins nothing more. "thread_busy": the thread has a
run that has not ended. "not_ended", "ended": that can only be said of a run that has ended, or has
not. "unreadable": what is stored of the run is damaged, or the agent has changed. "invalid": what
was handed over fits no run of the agent. The others are those of a `Refusal` of a decision.
"""


@frozen
class Accepted:
    """It is written down, and will be done, by this process or another one.

    Attributes:
        run_id: the run that it is about; for a message the one that goes on with it.
        is_new: whether that run was begun by it, and was not there before.
        text: for people: what somebody must do first, as the engine has lost the run; else "".
    """

    run_id: str
    is_new: bool = False
    text: str = ""


@frozen
class HostRefusal:
    """It was not done, and nothing has changed.

    Attributes:
        why: in a word, for programs.
        text: in a sentence, for people: what is the matter, and what can be done.
        faults: where arguments do not fit: a sentence for each fault.
    """

    why: HostWhy
    text: str
    faults: tuple[str, ...] = ()


@frozen
class TryAgain:
    """Have the model asked again in a run that has failed. `by` is who wants it."""

    by: str | None = None


@frozen
class Revoke:
    """Have a confirmation count for no further calls: one of `HostedRun.grants`. `by` wants it."""

    grant: Grant
    by: str | None = None


@frozen
class Fork:
    """Begin a new run as this one was after some of its entries; this one stays as it is.

    Nothing that was confirmed for this one counts for the other one, and whoever forks it has begun
    it. The other one is of no conversation.

    Attributes:
        length: after how many of the entries; None is all.
        message: what is said next, where no call is open.
        agent: who goes on with it, with the same tools and state; None is whose this one is.
        by: who wants it.
    """

    length: int | None = None
    message: ChatMessage | None = None
    agent: str | None = None
    by: str | None = None


Sent: TypeAlias = (
    ToolExecutionDecision
    | CancelRequested
    | Revoke
    | TryAgain
    | ChatMessage
    | MessageReceived
    | Fork
)
"""What can be sent to a run: a decision about a pending call, that it is to end, that what was
confirmed counts no further, that it is to be tried again, that a new run is to begin as it was, or
a user's message, with which the conversation goes on in a new run if this one has ended."""


@frozen
class Piece:
    """A piece of an answer that a model is just giving. It is in no journal.

    Attributes:
        run_id: the run.
        effect: what was asked for: the turn, the attempt, and the agents inside the run.
        number: which piece of this attempt it is, from 0.
        chunk: the piece itself.
        length: how many entries the run had when it came.
    """

    run_id: str
    effect: EffectKey
    number: int
    chunk: StreamingChunk
    length: int


Watched: TypeAlias = Entry | Piece
"""What a watcher is given."""


@frozen
class HostedRun:
    """A run of a host.

    Attributes:
        listed: what a list says of it: agent, thread, status, time.
        run: all of it: messages, state, usage.
        pending: its calls that wait for a human, in the model's order.
        outdated: those that wait by a question of another release, which is put anew.
        secrets: what nobody may see of it, by value.
        held_by: which process, of another release, keeps them from being put anew; "" is none.
        is_bound: whether nobody does: it is known that only the release it began with goes on.
    """

    listed: StoredRun
    run: Run[Any] = field(repr=False)
    pending: tuple[PendingCall, ...] = ()
    outdated: tuple[OutdatedQuestion, ...] = ()
    secrets: SecretValues = field(default=EMPTY, repr=False)
    held_by: str = ""
    is_bound: bool = False

    @property
    def grants(self) -> tuple[Grant, ...]:
        """The confirmations that count for further calls, inside as well; see `grants_in`."""
        return grants_in(self.run)

    def grant(self, ref: object, path: object) -> Grant | None:
        """The grant that `Grant.to_dict` shows with these; None where it counts no more."""
        wanted = {"ref": ref, "path": path}.items()
        return next((one for one in self.grants if wanted <= one.to_dict().items()), None)


@frozen
class RunProof:
    """Whether what is stored of a run is what was written, and makes the run that it says.

    Attributes:
        length: how many entries were read.
        problems: a sentence for each thing that is not as it should be; none: all of it is.
        head: of the chain of a journal that keeps one, to be kept elsewhere; None where it has no
            chain, so that nobody can tell whether it was changed.
    """

    length: int
    problems: tuple[str, ...] = ()
    head: str | None = None


@frozen
class PendingQuestion:
    """A call that waits for a human, and whose it is.

    Attributes:
        agent: the name of the agent whose run it is.
        thread_id: the conversation that the run belongs to; "" when to none.
        cursor: where the run stands in a list: the next page is asked for with the last one's.
        call: what to show, and to make a decision of.
    """

    agent: str
    thread_id: str
    cursor: Cursor
    call: PendingCall

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; `asked_at` is when the run was last written to: no later was it asked."""
        more = {"call": self.call.to_dict(), "asked_at": self.cursor[0]}
        return asdict(self, recurse=False) | more


@frozen
class HostedAgent:
    """An agent of a host.

    Attributes:
        name: what runs are started with.
        fingerprint: of its rules; another one says that they have changed.
        tools: the names of what its model may call.
        labels: what its model, these and agents among them may bring along; also of tools now gone.
        wanted: what a decision about one of its runs brings along, for its approvers.
        is_nameless: whether runs that an agent without a name has begun by itself are its as well.
    """

    name: str
    fingerprint: str
    tools: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    wanted: Wanted = "nothing"
    is_nameless: bool = False

    def has_runs_of(self, name: str) -> bool:
        """Whether runs are its own that a list says are of this agent."""
        return name == self.name or (self.is_nameless and not name)


class Host(Protocol):
    """Where runs live. What is asked of it is refused by a value, `HostRefusal`, and not raised.

    Several hosts may work on one store: one of them drives a run, and each answers for all.
    """

    async def start(
        self,
        agent: str,
        messages: Messages,
        *,
        run_id: str | None = None,
        thread_id: str | None = None,
        state: Mapping[str, object] | None = None,
        started_by: str | None = None,
    ) -> Accepted | HostRefusal:
        """Begin a run, which then lives by itself. It is stored when this returns.

        Args:
            agent: the name of one of the host's agents.
            messages: what the user says, or the conversation so far.
            run_id: what the run is called, by `new_name_fault`. One that is there, of this agent,
                is that run: nothing is begun, whatever else is said. Without it, it gets a new one.
            thread_id: the conversation that the run belongs to: it goes on where the thread's last
                run has ended.
            state: initial values of state keys.
            started_by: who begins it, as whoever asks has made sure; a question may want somebody
                else's yes. A run that goes on by a message is of who began the one before.

        Raises:
            JournalError: the store cannot be written to.
        """
        ...

    async def send(self, run_id: str, said: Sent) -> Accepted | HostRefusal:
        """Say something to a run. It is stored when this returns, and heard soon.

        Raises:
            JournalError: the store cannot be read or written to.
        """
        ...

    def watch(self, run_id: str, after: int | None = None) -> AsyncGenerator[Watched]:
        """What happens to a run, from a position on, as it happens, until the run has ended.

        Each entry comes once and in order, and says its position: whoever goes on `after` the last
        one that they have seen misses nothing and sees nothing twice. In between come the pieces of
        an answer, where the host that is asked has them: of each attempt from number 0 on and
        without a gap, before the entry that has the whole of it. Whoever comes in the middle of an
        answer is given its pieces from the first one on. Leaving changes nothing for the run.

        Raises:
            RunNotFoundError: there is no such run; or, later, it has been deleted.
            ValueError: the run has no entry at `after`.
            JournalError: it cannot be read; HostNotOpenError: the host closes. What came stands.
        """
        ...

    async def result(self, run_id: str, timeout: float | None = None) -> AgentResult[Any, Any]:  # noqa: ASYNC109 - of all hosts
        """What a run has come to, once it has ended.

        Raises:
            TimeoutError: after `timeout` seconds it had not ended. It goes on.
            RunNotFoundError: there is no such run.
            UnknownAgentError: it is of an agent that this host does not have.
            ChatGeneratorError: the model gave no answer.
            ToolInvocationError: a tool failed in a run that ends when one does.
            StoredDataError: what is stored is damaged; AgentChangedError: the agent has changed.
            JournalError: it cannot be read; HostNotOpenError: the host closes, and the run goes on.
        """
        ...

    async def run(self, run_id: str, length: int | None = None) -> HostedRun:
        """A run as it is stored, or as it was after its first `length` entries.

        What it says of an earlier time, `listed` leaves out: that is always of now.

        Raises:
            RunNotFoundError: there is no such run.
            UnknownAgentError: it is of an agent that this host does not have.
            ValueError: it has not got so many entries, or `length` is below 1.
            StoredDataError: what is stored is damaged; AgentChangedError: the agent has changed.
            JournalError: it cannot be read.
        """
        ...

    async def verify(self, run_id: str) -> RunProof:
        """Make a run again of all its events, and hold it and its entries against what is stored.

        Nothing is asked of a model, and no tool runs.

        Raises:
            RunNotFoundError: there is no such run.
            UnknownAgentError: it is of an agent that this host does not have.
            JournalError: it cannot be read.
        """
        ...

    async def runs(
        self,
        status: str | None = None,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        label: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int = 50,
    ) -> Sequence[StoredRun]:
        """A page of the runs in the store, the one last written to first.

        The arguments are those of `Runs.list`; the next page is that `before` this one's last run.

        Raises:
            JournalError: they cannot be read.
            ValueError: `status` is none of `STATUSES`, `limit` is below 1, or `before` is no
                place in a list.
        """
        ...

    async def pending(
        self,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int = 50,
    ) -> Sequence[PendingQuestion]:
        """The questions of a page of runs with some, the run last written to first.

        A run's questions are on one page, in the model's order; the next page is that `before` the
        `cursor` of the last one. Runs that cannot be read, or are of agents that this host does not
        have, are left out.

        Args:
            agent: only those of runs of this agent.
            thread_id: only those of runs of this conversation.
            before: only those of runs behind this one.
            limit: of how many runs at most.

        Raises:
            JournalError: the list cannot be read.
            ValueError: `limit` is below 1, or `before` is no place in a list.
        """
        ...

    async def agents(self) -> Sequence[HostedAgent]:
        """The agents of this host, by name."""
        ...
