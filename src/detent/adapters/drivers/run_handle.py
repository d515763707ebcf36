"""A run on its way, from where it stands to where nothing more can be performed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic

from attrs import field, frozen

from detent.adapters.confirmation.rules import Rules
from detent.adapters.drivers.endings import ended, stopped
from detent.adapters.drivers.performers import NestedPerformers
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.session import Session
from detent.core.control.breakpoints import Holds
from detent.core.result import AgentResult, StreamingCallbackError
from detent.core.state.typevars import S

if TYPE_CHECKING:
    from detent.adapters.drivers.asyncio import AsyncInbox
    from detent.adapters.drivers.threads import Inbox


@frozen
class RunHandle(Generic[S]):
    """A session, the ports that perform its effects, its breakpoints and its recorder.

    For a loop of one's own: `take` from the session, `perform`, `land` in the session,
    until nothing is under way; then `result`.
    """

    session: Session[S]
    performer: NestedPerformers
    rules: Holds
    recorder: Recorder | None = None
    confirmation: Rules = field(factory=Rules)

    def go(self, inbox: Inbox | None, *, raises: bool) -> AgentResult[S, Any]:
        """Drive the run, blocking, once. `raises` says whether a breakpoint raises."""
        from detent.adapters.drivers.threads import drive

        performer = self.performer if self.performer.agents else self.performer.own
        try:
            drive(self.session, performer.perform, drop=performer.drop, inbox=inbox)
            return self.result(raises=raises)
        finally:
            self._leave()

    async def go_async(self, inbox: AsyncInbox | None, *, raises: bool) -> AgentResult[S, Any]:
        """As `go`, in the running event loop."""
        from detent.adapters.drivers.asyncio import drive_async

        dispatcher = self.performer.own.dispatcher
        if dispatcher is not None:
            dispatcher.loop = asyncio.get_running_loop()
        performer = self.performer if self.performer.agents else self.performer.own
        try:
            await drive_async(self.session, performer.perform_async, inbox=inbox)
            if dispatcher is not None:
                await dispatcher.told()
            return self.result(raises=raises)
        finally:
            self._leave()

    def _leave(self) -> None:
        """Hold neither the run nor an error: an error holds this handle by way of its frames."""
        self.session.leave()
        self.performer.own.errors.clear()
        if self.performer.own.dispatcher is not None:
            self.performer.own.dispatcher.error = None

    def result(self, *, raises: bool = True) -> AgentResult[S, Any]:
        """What the run has come to, when it is no longer driven.

        Args:
            raises: whether a run that a breakpoint has stopped raises.

        Raises:
            BreakpointException: a breakpoint has stopped the run.
            HITLBreakpointException: calls wait for a human whom nobody here can ask.
            ChatGeneratorError: the model gave no answer.
            ToolInvocationError: a tool failed in a run that ends when one does.
            StreamingCallbackError: the streaming callback has raised.
        """
        result = self._come_to(raises=raises)
        if (
            self.performer.own.dispatcher is not None
            and self.performer.own.dispatcher.error is not None
        ):
            raise StreamingCallbackError(result) from self.performer.own.dispatcher.error
        return result

    def _come_to(self, *, raises: bool) -> AgentResult[S, Any]:
        run, held = self.session.run, self.session.held
        if run.outcome is not None:
            return ended(self.session.spec, run, self.performer.own.errors)
        if held and self.recorder is not None:
            self.recorder.stop(run, held)
        at = self.performer.own.clock.now()
        result = stopped(self.session.spec, run, held, self.rules, at=at, raises=raises)
        if raises:
            self.confirmation.stop(self.session.spec, result)
        return result
