"""A run behind another one: what that has left, and the system prompt once, before what is new."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from inspect import isawaitable
from math import inf
from typing import Any

from attrs import evolve, frozen

from detent.adapters.drivers.loading import Loaded, loaded, require_current
from detent.adapters.system.threads_and_loops import in_background
from detent.core.chat.messages import ChatMessage, ChatRole, labels_of
from detent.core.control.decisions import ToolExecutionDecision, apply_decisions
from detent.core.errors import DetentError
from detent.core.machine.calls import DecisionRefusedError, Refusal
from detent.core.machine.recovery import proven, rebind, without_approvals
from detent.core.machine.step import step
from detent.core.run.approval import Principal
from detent.core.run.events import Resumed
from detent.core.run.run import Run, with_labels
from detent.core.run.run import evolve as evolve_run
from detent.core.run.spec import AgentSpec
from detent.core.state.handlers import replace_values
from detent.core.state.keys import Write
from detent.core.state.state import conversation_in, initial_writes
from detent.core.state.typevars import S
from detent.core.storage.journal import status_of
from detent.core.storage.snapshot import AgentSnapshot, run_of
from detent.ports.approvers import Authenticator, identified, keeps_proofs
from detent.ports.chance import Chance
from detent.ports.clock import Clock
from detent.ports.journal import Journal, JournalError, RunNotFoundError
from detent.ports.listing import RunQuery, StoredRun
from detent.ports.names import name_fault
from detent.ports.pending import pending
from detent.ports.results import AgentResult


def taken_up(  # noqa: PLR0917 - what a run is stored as, and the ports that go on with it
    spec: AgentSpec[S],
    stored: AgentSnapshot,
    run_id: str | None,
    journal: Journal | None,
    clock: Clock,
    chance: Chance,
    approvers: Authenticator | None = None,
) -> Loaded[S]:
    """The run in a snapshot, with what humans have decided about it; with a journal, a copy of it.

    Raises:
        SnapshotMismatchError: the journal knows better, or the agent cannot go on with it.
            A run that the journal has is decided about there.
        DecisionRefusedError: a decision in the snapshot does not count.
    """
    run = run_of(spec, stored)
    is_decided = bool(stored.decisions)
    is_copy = journal is not None and require_current(journal, spec, run, is_decided=is_decided)
    # RULE: what nobody can look at again counts where it was said, and in nothing handed in
    is_word = approvers is not None and not keeps_proofs(approvers)
    who = people(approvers, spec, run, stored.decisions)  # of the questions as they were shown
    run = without_approvals(spec, run) if is_copy or is_word else proven(spec, run, clock.now())
    run, _ = apply_decisions(spec, run, stored.decisions, clock.now(), who)
    if journal is not None:  # which may have that run already, further on
        run = rebind(run, run_id or chance.new_id(), chance.new_id())
    run = step(spec, run, Resumed(chance.new_id(), clock.now()))
    return Loaded(run, 0, stored.held, fork_of=stored.fork_of)


def people(
    approvers: Authenticator | None,
    spec: AgentSpec[Any],
    run: Run[Any],
    decisions: Sequence[ToolExecutionDecision],
) -> list[Principal | None]:
    """Who makes each of some decisions about a run. Of one about nothing that waits, nobody.

    Raises:
        DecisionRefusedError: of one of them, that is not known.
    """
    if approvers is None:
        return []
    asked = {call.digest: call for call in pending(spec, run)}
    found: list[Principal | None] = []
    for decision in decisions:
        shown = asked.get(decision.digest or "")
        if shown is None:  # it does not count, which the run says better
            found.append(None)
            continue
        said = approvers(decision, shown)
        who = identified(in_background(said).result() if isawaitable(said) else said)
        if isinstance(who, Refusal):
            raise DecisionRefusedError(who)
        found.append(who)
    return found


NOT_ENDED = frozenset({"running", "waiting"})


class ThreadNotEndedError(DetentError, ValueError):
    """A conversation cannot go on: its run `run_id` has not ended. Nothing was written.

    `last` is that run, as a list has it.
    """

    def __init__(self, thread_id: str, last: StoredRun) -> None:
        asked = ", ".join(map(repr, dict.fromkeys(last.pending)))
        first = f"decide about the calls of {asked} and then " if asked else ""
        if last.status == "running":
            first = f"{first}let the process that is at it end it or, where none is, "
        super().__init__(
            f"thread {thread_id!r} has a run that has not ended: run {last.run_id!r} is "
            f"{last.status}; {first}go on with it by agent.resume({last.run_id!r}) before the "
            "thread gets another run"
        )
        self.run_id, self.last = last.run_id, last


@frozen
class Thread:
    """A conversation of several runs in a journal: each goes on where the one before has ended.

    Raises:
        ValueError: there is no journal, or `thread_id` is no name.
    """

    journal: Journal | None
    thread_id: str

    def __attrs_post_init__(self) -> None:
        if fault := name_fault("thread_id", self.thread_id):
            raise ValueError(fault)
        if self.journal is None:
            raise ValueError(
                "thread_id is looked for in a journal, and this agent has none; give it one, "
                "Agent(…, journal=…), or go on behind a result, agent.run(…, after=result)"
            )

    def end(
        self, spec: AgentSpec[S], after: AgentResult[S, Any] | None
    ) -> tuple[AgentResult[S, Any] | None, float]:
        """What the thread's last run has left, and when that began; None where there is none.

        RULE: the last run is the one that began last, whatever was written to others since, and
        each begins later than all before it, by whichever clock. So two clocks that differ, or a
        retry of a run that has failed long ago, do not change behind which run a thread goes on.

        Raises:
            ThreadNotEndedError: one of its runs has not ended.
            ValueError: `after` is given as well.
            StoredDataError: what is stored is damaged, or does not fit these rules.
        """
        if after is not None:
            raise ValueError("thread_id goes on behind the thread's last run: leave out after")
        runs = self._store.runs(RunQuery(thread_id=self.thread_id))
        for run in runs:
            if run.status in NOT_ENDED:
                raise ThreadNotEndedError(self.thread_id, run)
        if not runs:
            return None, -inf
        by_id = {run.run_id: run for run in runs}
        last_first = sorted(((self._began(run), run.run_id) for run in runs), reverse=True)
        for _, run_id in last_first:
            with suppress(RunNotFoundError):  # it is forgotten, and whoever deletes it has died
                last = loaded(self._store, spec, run_id).run
                if last.outcome is None:  # it had failed, and somebody goes on with it just now
                    listed = evolve(by_id[run_id], status=status_of(last))
                    raise ThreadNotEndedError(self.thread_id, listed)
                return AgentResult(last), last_first[0][0]
        return None, last_first[0][0]

    def _began(self, run: StoredRun) -> float:
        """When it began; of one that nobody can read, when it was last written to."""
        if run.began is not None:
            return run.began
        with suppress(JournalError):
            for first in self._store.read(run.run_id):
                return first.at
        return run.at

    def require_begun(self, run_id: str) -> None:
        """Raise JournalError, and leave no run, where the journal keeps no threads.

        Else the next run would begin anew, and nobody would see that it has forgotten everything.
        """
        if not self._store.runs(RunQuery(thread_id=self.thread_id, limit=1)):
            self._store.delete(run_id)
            raise JournalError(
                "this journal does not keep to which thread a run belongs (the listing of an "
                "entry): go on behind a result, agent.run(…, after=result)"
            )

    @property
    def _store(self) -> Journal:
        assert self.journal is not None  # noqa: S101 - see above; for type checkers
        return self.journal


def continued(
    spec: AgentSpec[S], after: AgentResult[S, Any] | None, messages: Sequence[ChatMessage]
) -> tuple[AgentSpec[S], Sequence[ChatMessage]]:
    """The rules by which a run starts behind another one, and the messages that are new in it.

    The first message is the prompt of the run that starts, whatever stood there and is handed in.
    Where there is no other, so it is with a conversation that has answers: its first message, if it
    is of the system, was the prompt of whoever gave them. What is new is said as it is given.

    Raises:
        TypeError: `after` is no result.
        ValueError: its run has not ended.
        StateError: its state does not fit these rules.
    """
    if after is None:
        if spec.system_prompt and messages and messages[0] == _prompt(spec):
            spec = evolve(spec, system_prompt=None)  # handed in as [*result.messages, …]
        elif spec.system_prompt and _is_history(messages):
            messages = messages[1:]
        return spec, messages
    if not isinstance(after, AgentResult):
        raise TypeError(f"after must be the result of an earlier run, got {after!r:.80}")
    if after.run.outcome is None:
        raise ValueError(
            f"run {after.run_id!r} has not ended: go on with itself, by its snapshot or its id"
        )
    messages = [*after.run.unread, *messages]  # said to that run, and not heard any more
    state = after.state
    if state.fields is not spec.state.fields:  # of another agent: each value has to fit this one
        state = spec.state.update(initial_writes(state.data))
    if spec.system_prompt:
        prompt, said = _prompt(spec), conversation_in(state)
        rest = said[1:] if said and said[0].role is ChatRole.SYSTEM else said
        if rest is said or said[0] != prompt:
            state = state.update([Write("messages", [prompt, *rest], replace_values)])
        messages = [one for one in messages if one != prompt]
    return evolve(spec, state=state, system_prompt=None), messages


def _is_history(messages: Sequence[ChatMessage]) -> bool:
    """Whether messages are those of an earlier run, its prompt first."""
    is_prompted = bool(messages) and messages[0].role is ChatRole.SYSTEM
    return is_prompted and any(one.role is ChatRole.ASSISTANT for one in messages)


def behind(run: Run[S], before: AgentResult[Any, Any]) -> Run[S]:
    """The run, which begins with what the one before it has read, and has spent of budgets."""
    run = with_labels(run, labels_of(before.run.unread))
    return evolve_run(with_labels(run, before.run.labels), spent=before.run.spent)


def _prompt(spec: AgentSpec[Any]) -> ChatMessage:
    return ChatMessage.from_system(spec.system_prompt or "")
