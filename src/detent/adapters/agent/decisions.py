"""What humans say to a run in a journal, from any process: decisions, messages, cancellations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import sleep
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from detent.adapters.agent.assembly import Assembly
    from detent.adapters.drivers.loading import Loaded
    from detent.adapters.drivers.steps import Steps, Wait
    from detent.core.chat.messages import ChatMessage
    from detent.core.control.decisions import ToolExecutionDecision
    from detent.core.run.approval import Grant
    from detent.core.run.events import Event
    from detent.core.run.run import Run
    from detent.core.run.spec import AgentSpec
    from detent.ports.pending import PendingCall

TRIES = 20
"""So often decisions are written again, when other processes write to the same run."""
PAUSE_S, PAUSE_MAX_S = 0.005, 0.5
"""How long is waited at most before the second try, and before the later ones: some seconds in all.

RULE: by chance. Those who have all lost to one another would lose again at once."""

Change: TypeAlias = "Callable[[Run[Any]], tuple[Run[Any], Sequence[Event]]]"


def pause(seconds: float) -> Wait:
    """The wait before the next try."""
    import asyncio

    from detent.adapters.drivers.steps import Wait

    return Wait(partial(sleep, seconds), partial(asyncio.sleep, seconds))


class RunDecisions:
    """What an agent with a journal lets humans do with its runs, from any process.

    Whoever drives the run in the meantime hears of it while they work, where the store can tell.
    """

    _assembly: Assembly[Any]

    def pending(self, run_id: str) -> tuple[PendingCall, ...]:
        """The calls of a run of the journal that wait for a human, in the model's order.

        A call that was under way when its process ended is none of them yet: nobody else can know
        that it has. `resume` finds its outcome unknown; if its tool has ``on_unknown="ask"``, it
        waits from then on.

        Raises:
            OutdatedQuestionError: it waits by a question of another release, about a tool that has
                changed since, say; `resume` puts it anew, or whoever `elsewhere` names.
            RunNotFoundError: the journal has no such run.
            StoredDataError: what is stored is damaged, or this agent cannot go on with it.
        """
        from detent.adapters.drivers.loading import engine_of
        from detent.ports.pending import OutdatedQuestionError, answerable

        try:
            return answerable(*self._load(run_id))
        except OutdatedQuestionError as error:
            if engine := engine_of(self._assembly.required_journal, run_id):
                # RULE: nobody is sent to `resume`, which leaves such a run to its engine
                text = (
                    f"a host by the effects of {engine} does it; where the agent has other rules "
                    "by now, only the release that the run began with takes the answer"
                )
                raise OutdatedQuestionError(run_id, error.questions, text) from None
            raise

    def decide(self, run_id: str, *decisions: ToolExecutionDecision) -> tuple[PendingCall, ...]:
        """Write decisions about calls of a run to the journal.

        Whoever drives the run goes on with them; if nobody does, `resume` does so later.

        Several processes may decide about one run. Make a decision of what was shown:
        ``agent.decide(run_id, call.confirm(by="Ada"))``, with a call of `pending`. Gives the calls
        that still wait.

        Raises:
            DecisionRefusedError: one of them does not count; then none has been written. With
                `approvers` that is so, too, if they do not know who makes it by its `credential`.
            TypeError: one of them is none.
            ValueError: one of them has no digest, so that it is not known what was shown.
            RunNotFoundError: the journal has no such run.
            JournalConflictError: others write to the run all the time; nothing has been written.
        """
        from detent.adapters.agent.continuation import people
        from detent.core.control.decisions import ToolExecutionDecision, apply_decisions
        from detent.ports.pending import pending

        for decision in decisions:
            if not isinstance(decision, ToolExecutionDecision):
                raise TypeError(
                    "a decision is made of a call that waits: (call,) = agent.pending(run_id) and "
                    f"agent.decide(run_id, call.confirm()), or reject, modify, respond; got "
                    f"{decision!r:.80}"
                )
            if not decision.digest:
                raise ValueError(
                    f"a decision about {decision.tool_name!r} in a journal needs the digest of "
                    "what was shown: make it of a call of agent.pending(run_id)"
                )
        now, (spec, run) = self._assembly.clock.now(), self._load(run_id)
        who = people(self._assembly.approvers, spec, run, decisions)
        return pending(
            spec, self._write(run_id, lambda run: apply_decisions(spec, run, decisions, now, who))
        )

    def grants(self, run_id: str) -> tuple[Grant, ...]:
        """The confirmations that count for further calls of a run of the journal.

        Those of the agents at work in it, too. None where it has ended, and cannot be tried again.
        """
        from detent.core.control.decisions import grants_in

        return grants_in(self._load(run_id)[1])

    def revoke(self, run_id: str, grant: Grant, *, by: str | None = None) -> None:
        """Write to the journal that a confirmation counts for no further calls.

        Raises:
            ValueError: the run has no such grant.
            RunEndedError: the run has ended, and cannot be tried again: it counts for nothing more.
        """
        from detent.core.control.decisions import revocation
        from detent.core.run.run import has_no_answer
        from detent.core.storage.journal import status_of
        from detent.ports.results import RunEndedError

        spec, now = self._assembly.spec, self._assembly.clock.now()

        def revoke(run: Run[Any]) -> tuple[Run[Any], Sequence[Event]]:
            after, event = revocation(spec, run, grant, by, now)
            if after is run and run.outcome is not None and not has_no_answer(run):
                raise RunEndedError(run_id, status_of(run))
            if after is run:
                raise ValueError(f"run {run_id!r} has no grant of the call {tuple(grant.ref)}")
            return after, [event]

        self._write(run_id, revoke)

    def send(self, run_id: str, message: ChatMessage | str, *, by: str | None = None) -> None:
        """Write to the journal what a user says further to a run that goes on.

        The model reads it when it is next asked: behind the results of the calls that are open, and
        behind an answer that it was just giving, which then is not the last one. Where a limit lets
        the run go no further it stays unread, and ``agent.run(…, after=result)`` has it read first.

        Args:
            run_id: the run.
            message: a user's; labels in its ``meta["labels"]`` are the run's once it is read.
            by: who says it.

        Raises:
            RunEndedError: the run has ended: go on behind it.
            ValueError: the message is not of a user, or its labels are none.
            UnstorableError: something in it cannot be written as JSON.
            RunNotFoundError: the journal has no such run.
            JournalConflictError: others write to the run all the time; nothing has been written.
        """
        from detent.core.chat.messages import ChatMessage
        from detent.core.run.events import MessageReceived

        said = ChatMessage.from_user(message) if isinstance(message, str) else message
        self._tell(run_id, MessageReceived(said, by, self._assembly.clock.now()))

    def cancel(self, run_id: str, reason: str) -> None:
        """Write to the journal that a run is to end where it is; `reason` says why.

        What has been done is kept. What is at work is told to stop, and not waited for.

        Raises:
            RunEndedError: the run has ended already.
            RunNotFoundError: the journal has no such run.
            JournalConflictError: others write to the run all the time; nothing has been written.
        """
        from detent.core.run.events import CancelRequested

        self._tell(run_id, CancelRequested(reason))

    def _tell(self, run_id: str, event: Event) -> None:
        """Write an event that a run hears until it has ended."""
        from detent.core.machine.step import step
        from detent.core.storage.journal import status_of
        from detent.ports.results import RunEndedError

        def change(run: Run[Any]) -> tuple[Run[Any], Sequence[Event]]:
            after = step(self._assembly.current_spec, run, event)
            if after is run:
                raise RunEndedError(run_id, status_of(run))
            return after, [event]

        self._write(run_id, change)

    def _load(self, run_id: str) -> tuple[AgentSpec[Any], Run[Any]]:
        from detent.adapters.agent.inputs import required_run_id

        assembly, run_id = self._assembly, required_run_id(run_id)
        spec, journal = assembly.current_spec, assembly.required_journal
        return spec, assembly.known_runs.loaded(journal, spec, run_id).run

    def _write(self, run_id: str, change: Change) -> Run[Any]:
        from detent.adapters.drivers.steps import at_once

        return at_once(self._write_steps(run_id, change))[0]

    def _write_steps(self, run_id: str, change: Change) -> Steps[tuple[Run[Any], int]]:
        """Read, change and append, again where somebody was faster; and where that is written.

        RULE: in an event loop nobody who waits for others holds a thread. A host has few of them
        for all its runs, which would stand still with this one.
        """
        from detent.adapters.drivers.company.turns import having_turn
        from detent.adapters.drivers.steps import Wait
        from detent.ports.journal import JournalConflictError

        assembly = self._assembly
        spec, journal, known = assembly.current_spec, assembly.required_journal, assembly.known_runs
        nonce, is_anew = "", False

        def once() -> tuple[Run[Any], int]:
            nonlocal nonce, is_anew
            load, was_anew = known.loaded_anew if is_anew else known.loaded, is_anew
            at = load(journal, spec, run_id)
            # the next time somebody was faster, or the store has another past
            nonce, is_anew = nonce or at.run.nonce, True
            return self._appended(at, change, nonce, is_anew=was_anew)

        for count in range(TRIES):
            if count:
                limit_s = min(PAUSE_S * 2 ** (count - 1), PAUSE_MAX_S)
                yield pause(assembly.chance.number() * limit_s)
            end_turn: Callable[[], object] = yield known.turns.wait(run_id)
            try:
                written: tuple[Run[Any], int] = yield Wait(partial(having_turn, once))
            except JournalConflictError:
                if count + 1 == TRIES:
                    raise
            else:
                return written
            finally:
                end_turn()
        raise AssertionError("the last try has returned or raised")

    def _appended(
        self, at: Loaded[Any], change: Change, nonce: str, *, is_anew: bool
    ) -> tuple[Run[Any], int]:
        """Change a run that was read, and append that, if it is still the one of this nonce."""
        from detent.adapters.drivers.company.identity import require_there
        from detent.adapters.drivers.recording import ForeignRecorder
        from detent.ports.journal import JournalUnavailableError

        assembly, run_id = self._assembly, at.run.id
        spec, journal, known = assembly.current_spec, assembly.required_journal, assembly.known_runs
        require_there(journal, run_id, nonce)
        run, events = change(at.run)
        recorder = ForeignRecorder(journal, spec, assembly.clock, at)
        if events and not is_anew and recorder.is_full(run, len(events)):
            # a checkpoint builds on the last one, which others may have written
            now = known.loaded_anew(journal, spec, run_id)
            return self._appended(now, change, nonce, is_anew=True)
        if events:
            recorder([(event, run) for event in events])  # one mark, of the last, for all
        # RULE: it is written. Where the store is away now, to raise would have it said twice; and a
        # run of another nonce would not hear it
        with suppress(JournalUnavailableError):
            require_there(journal, run_id, nonce)
        return run, at.length
