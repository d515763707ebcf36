"""Legs: a run is driven as far as it goes: to its end, a human, or a long wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from attrs import evolve, frozen

from detent.adapters.agent.agent import Agent
from detent.adapters.agent.assembly import Assembly
from detent.adapters.agent.inputs import RunRequest
from detent.adapters.agent.origin import require_begun_by
from detent.adapters.agent.streams import observed
from detent.adapters.drivers.asyncio import AsyncInbox
from detent.adapters.drivers.callbacks import PieceListener
from detent.adapters.drivers.run_handle import RunHandle
from detent.adapters.drivers.shared_run import NEWS, Halt
from detent.adapters.drivers.steps import in_event_loop
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.faults import Faults
from detent.adapters.system.threads_and_loops import in_another_thread
from detent.adapters.telemetry.logs import log_failed, log_left
from detent.core.run.effects import Effect, WaitUntil
from detent.core.run.events import Event, MessageReceived
from detent.core.run.run import Run
from detent.core.storage.snapshot import AgentSnapshot
from detent.ports.chat import ChatGeneratorError, Messages
from detent.ports.journal import Journal
from detent.ports.results import AgentResult, StreamingCallbackError, ToolInvocationError

LEAVE_S = 1.0
"""A run that waits for a time is left when that is further away."""
PAUSES = frozenset({"pause", "model_pause"})

AnyHandle: TypeAlias = RunHandle[Any]
Listeners: TypeAlias = tuple[PieceListener, Callable[[Event], object]]
"""Who is told of each piece of an answer, and of each event once it is written down."""


@frozen
class Legs:
    """Drives the runs of one agent in one journal.

    `alias` is what the host calls an agent whose runs, begun by itself, say no name; else "".
    """

    assembly: Assembly[Any]
    alias: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        agent: Agent[Any, Any],
        journal: Journal,
        claim_s: float,
        engine: str = "",
    ) -> Legs:
        """Those of an agent as a host has it: by this name, and in the host's journal.

        `engine` is whose history drives the runs that are begun, where the host is by effects.
        """
        own = evolve(agent.assembly, name=name, journal=journal, claim_s=claim_s, engine=engine)
        return cls(own)

    def require_own(self, run_id: str) -> None:
        """Make sure that a run may have been begun by this agent; it blocks.

        RULE: that nobody has said who an agent is makes it nobody else. A run without a name is
        taken for its own where it was begun by the same rules, or where whoever hosts it says so.

        Raises:
            AgentChangedError: it was begun without a name, and by other rules.
            JournalError: it cannot be read.
        """
        if self.alias:
            own = self.assembly
            require_begun_by(own.current_spec, self.alias, own.required_journal, run_id)

    async def begin(
        self,
        run_id: str,
        messages: Messages,
        listeners: Listeners,
        *,
        thread_id: str | None = None,
        state: Mapping[str, object] | None = None,
        after: AgentResult[Any, Any] | None = None,
        started_by: str | None = None,
        snapshot: AgentSnapshot | None = None,
    ) -> AnyHandle:
        """A new run, which is written down. Raises as `Agent.run_async`."""
        assembly = await self._ready(listeners)
        request: RunRequest[Any] = RunRequest(
            *(messages, self._is_far, snapshot, None, None, None, run_id),
            {} if state is None else state,
            started_by,
        )
        begin = assembly.begin(request, None, after, thread_id)
        return await in_event_loop(begin, is_paced=True)

    async def resume(self, run_id: str, listeners: Listeners) -> AnyHandle:
        """A run of the journal. Raises as `Agent.resume_async`.

        RULE: one that has failed since it was listed asks its model again at nobody's word but a
        person's, and that is written down by then: it has not failed any more.
        """
        assembly = await self._ready(listeners)
        if self.alias:
            await asyncio.wrap_future(in_another_thread(partial(self.require_own, run_id)))
        steps = assembly.resume(run_id, None, self._is_far, None, is_retried=False)
        return await in_event_loop(steps)

    async def _ready(self, listeners: Listeners) -> Assembly[Any]:
        if not self.assembly.is_warm:
            await asyncio.wrap_future(in_another_thread(self.assembly.warm_up))
        listener, tell = listeners
        return evolve(observed(self.assembly, tell), listener=listener)

    def _is_far(self, run: Run[Any], effect: Effect) -> bool:
        """Whether a wait is so long that the run is left in the meantime."""
        if not (isinstance(effect, WaitUntil) and effect.reason in PAUSES):
            return False
        return effect.at > self.assembly.clock.now() + LEAVE_S


async def drive(
    legs: Legs,
    channels: Channels,
    faults: Faults,
    run_id: str,
    inbox: AsyncInbox,
    *,
    handle: AnyHandle | None = None,
) -> int:
    """Drive a run as far as it goes, and say how many entries it has then.

    What has kept it before is among the `faults` no more once something is recorded. Without a
    `handle`, it is taken up from the journal: raises as `Agent.resume_async`.
    """
    with channels.open(run_id) as channel:
        if handle is None:
            pieces, happened = told_by(channels, run_id)

            def recorded(event: Event) -> None:
                faults.get_on(run_id)
                happened(event)

            handle = await legs.resume(run_id, (pieces, recorded))
        recorder = handle.recorder
        if recorder is not None:
            channel.length = max(channel.length, recorder.length)
        if handle.opening or handle.session.run.outcome is None:
            await _driven(run_id, handle, inbox)
        else:  # somebody was faster
            await handle.leave_async()
        channel.answers.clear()
    return 0 if recorder is None else recorder.length


def told_by(channels: Channels, run_id: str) -> Listeners:
    """Who is told of what happens to a run."""
    return partial(channels.tell, run_id), partial(channels.happened, run_id)


async def _driven(run_id: str, handle: AnyHandle, inbox: AsyncInbox) -> None:
    """What it has come to is in the journal: whoever asks for the result is told."""
    try:
        await handle.go_async(inbox, raises=False)
    except ChatGeneratorError as error:
        log_failed(run_id, f"the model gave no answer ({error.failure.cause})")
    except ToolInvocationError as error:
        log_failed(run_id, f"{error.tool_name} failed")
    except StreamingCallbackError:
        return  # the run itself is not touched by it


def tell(inbox: AsyncInbox, event: Event) -> None:
    """Tell a run what somebody has said, and is written down: a message is heard from there, once.

    Of all else, what is heard again changes nothing.
    """
    inbox.put_nowait(NEWS if isinstance(event, MessageReceived) else event)


def leave(run_id: str, task: asyncio.Task[Any]) -> None:
    """Cancel what drives a run. The log says so once: who is called at night looks there first."""
    if not (task.done() or task.cancelling()):
        log_left(run_id)
    task.cancel()


def halt(inbox: AsyncInbox) -> None:
    """Have a run end its leg at the next place where nothing is lost."""
    inbox.put_nowait(Halt())
