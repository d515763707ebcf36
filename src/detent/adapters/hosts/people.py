"""What people say to runs in a journal, from any process, and why it may not count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, TypeAlias, cast

from attrs import evolve, frozen

from detent.adapters.agent.assembly import Assembly
from detent.adapters.agent.continuation import people
from detent.adapters.agent.decisions import RunDecisions
from detent.adapters.drivers.steps import Steps, Wait, at_once, in_event_loop
from detent.core.chat.messages import ChatMessage, says_nothing
from detent.core.control.decisions import (
    ToolExecutionDecision,
    apply_decisions,
    grants_in,
    revocation,
)
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.machine.calls import DecisionRefusedError
from detent.core.machine.step import step
from detent.core.run.approval import Grant, Principal
from detent.core.run.events import (
    CancelRequested,
    Event,
    MessageReceived,
    Resumed,
)
from detent.core.run.run import Run
from detent.core.storage.journal import status_of
from detent.ports.hosting import HostRefusal, Revoke, Sent, TryAgain
from detent.ports.journal import RunNotFoundError

Spoken: TypeAlias = ToolExecutionDecision | CancelRequested | Revoke | TryAgain | MessageReceived
"""What is said to a run itself."""


def spoken(said: Spoken | ChatMessage) -> Spoken | HostRefusal:
    """What is said to a run itself, a message as it is heard there."""
    try:
        heard = MessageReceived(said) if isinstance(said, ChatMessage) else said
    except ValueError as error:
        return HostRefusal("invalid", str(error))
    if isinstance(heard, MessageReceived) and says_nothing(heard.message):
        return HostRefusal("invalid", "the message is an empty text; say something")
    if isinstance(heard, Revoke) and not isinstance(cast(object, heard.grant), Grant):
        what = f"{heard.grant!r:.80} is no grant; revoke one of `HostedRun.grants`"
        return HostRefusal("invalid", what)
    return heard


class _RefusedError(Exception):
    """Carries a refusal through whoever writes."""

    def __init__(self, refusal: HostRefusal) -> None:
        super().__init__(refusal)
        self.refusal = refusal


def each_is_own(run_id: str) -> None:
    """Any run is of this agent."""


@frozen
class Written:
    """What somebody has said, and its position in the journal."""

    event: Event
    position: int


@frozen
class People(RunDecisions):
    """Writes what people say to the runs of one agent.

    `require_own` raises AgentChangedError for a run that is not of this agent.
    """

    _assembly: Assembly[Any]
    _require_own: Callable[[str], object] = each_is_own

    def say(self, run_id: str, said: Spoken) -> Event | HostRefusal:
        """The event that it is, which is written down; or why it does not count. It blocks.

        Raises:
            JournalError: the store cannot be read or written to.
        """
        written = self.write(run_id, said)
        return written if isinstance(written, HostRefusal) else written.event

    def write(self, run_id: str, said: Spoken) -> Written | HostRefusal:
        """The same, and where it is written."""
        return at_once(self._say_steps(run_id, said))

    async def write_async(self, run_id: str, said: Spoken) -> Written | HostRefusal:
        """As `write`, in an event loop.

        RULE: whoever is cancelled is so at once, and nothing else is: what is just being written
        is there a moment later, and those whose turn it is next have theirs.
        """
        return await asyncio.shield(in_event_loop(self._say_steps(run_id, said)))

    def _say_steps(self, run_id: str, said: Spoken) -> Steps[Written | HostRefusal]:
        events: list[Event] = []

        def who_speaks() -> Sequence[Principal | None]:
            self._require_own(run_id)
            return self._who(run_id, said)

        if (refusal := _undigested(said)) is not None:
            return refusal
        try:
            who: Sequence[Principal | None] = yield Wait(who_speaks)

            def change(run: Run[Any]) -> tuple[Run[Any], list[Event]]:
                after, events[:] = self._heard(run, said, who)
                return after, events

            _, position = yield from self._write_steps(run_id, change)
        except REFUSALS as error:
            return _refusal_of(error)
        return Written(events[0], position)

    def weigh(
        self, run_id: str, said: Spoken, behind: Sequence[Event] = ()
    ) -> list[Event] | HostRefusal:
        """The events that it would be now, of which nothing is written; or why it does not count.

        It comes behind what is about to be written by others. It blocks.

        Raises:
            JournalError: the store cannot be read.
        """
        if (refusal := _undigested(said)) is not None:
            return refusal
        try:
            self._require_own(run_id)
            who = self._who(run_id, said)
            spec, run = self._load(run_id)
            run = reduce(partial(step, spec), behind, run)
            return self._heard(run, said, who)[1]
        except REFUSALS as error:
            return _refusal_of(error)

    def _who(self, run_id: str, said: Spoken) -> Sequence[Principal | None]:
        if not isinstance(said, ToolExecutionDecision):
            return ()
        return people(self._assembly.approvers, *self._load(run_id), [said])

    def _heard(
        self,
        run: Run[Any],
        said: Spoken,
        who: Sequence[Principal | None],
    ) -> tuple[Run[Any], list[Event]]:
        spec, now = self._assembly.current_spec, self._assembly.clock.now()
        if isinstance(said, ToolExecutionDecision):
            return apply_decisions(spec, run, [said], now, who)
        after: Run[Any] | None = None
        event: Event
        match cast("object", said):  # no type checker need have seen who sends it
            case CancelRequested() as cancelled:
                event = cancelled
            case Revoke(grant, by):
                after, event = revocation(spec, run, grant, by, now)
            case MessageReceived() as heard:
                event = evolve(heard, at=now)
            case TryAgain():
                event = Resumed(self._assembly.chance.new_id(), now)
                after = None if status_of(run) == "failed" else run
            case other:
                raise TypeError(f"what can be sent to a run is one of {Sent}; got {other!r:.80}")
        after = step(spec, run, event) if after is None else after
        if after is run:
            raise _RefusedError(_changes_nothing(run, said))
        return after, [event]


REFUSALS = (
    _RefusedError,
    DecisionRefusedError,
    RunNotFoundError,
    StoredDataError,
    UnstorableError,
    ValueError,
)
"""What is raised where something that is said does not count."""


def _refusal_of(error: Exception) -> HostRefusal:
    match error:
        case _RefusedError(refusal=refusal):
            return refusal
        case DecisionRefusedError(refusal=why):
            return HostRefusal(why.why, why.text, why.faults)
        case RunNotFoundError():
            return HostRefusal("unknown_run", str(error))
        case StoredDataError():
            return HostRefusal("unreadable", str(error))
        case _:
            return HostRefusal("invalid", str(error))


def _undigested(said: Spoken) -> HostRefusal | None:
    if not isinstance(said, ToolExecutionDecision) or said.digest:
        return None
    return HostRefusal(
        "invalid",
        f"a decision about {said.tool_name!r} needs the digest of what was shown: make it of "
        "a call of pending()",
    )


def _changes_nothing(
    run: Run[Any], said: CancelRequested | Revoke | TryAgain | MessageReceived
) -> HostRefusal:
    status = status_of(run)
    if isinstance(said, Revoke) and (run.outcome is None or status == "failed"):
        refs = ", ".join(str(tuple(grant.ref)) for grant in grants_in(run)) or "none"
        text = f"run {run.id!r} has no grant of the call {tuple(said.grant.ref)}; it has of: {refs}"
        return HostRefusal("unknown_call", text)
    if not isinstance(said, TryAgain):
        return HostRefusal("ended", f"run {run.id!r} has ended: it is {status}")
    only = "only one that has failed can be tried again"
    if run.outcome is None:
        return HostRefusal("not_ended", f"run {run.id!r} has not ended: {only}")
    return HostRefusal("ended", f"run {run.id!r} is {status}: {only}")
