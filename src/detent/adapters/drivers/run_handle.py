"""An errand: one run on its way, from where it stands to where nothing more can be paid."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic

from attrs import field, frozen

from detent.adapters.confirmation.rules import Rules
from detent.adapters.drivers.endings import ended, stopped
from detent.adapters.drivers.performers import Purses
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.session import Session
from detent.core.control.breakpoints import Holds
from detent.core.result import AgentResult, StreamingCallbackError
from detent.core.state.typevars import S

if TYPE_CHECKING:
    from detent.adapters.drivers.asyncio import AsyncInbox
    from detent.adapters.drivers.threads import Inbox


@frozen
class Errand(Generic[S]):
    """A session, the purse that it is paid from, its breakpoints and its recorder.

    For a loop of one's own: `take` from the session, `pay` from the purse, `land` in the session,
    until nothing is under way; then `result`.
    """

    session: Session[S]
    purse: Purses
    rules: Holds
    recorder: Recorder | None = None
    confirmation: Rules = field(factory=Rules)

    def go(self, inbox: Inbox | None, *, raises: bool) -> AgentResult[S, Any]:
        """Drive the run, blocking, once. `raises` says whether a breakpoint raises."""
        from detent.adapters.drivers.threads import drive

        purse = self.purse if self.purse.agents else self.purse.own
        try:
            drive(self.session, purse.pay, drop=purse.drop, inbox=inbox)
            return self.result(raises=raises)
        finally:
            self._leave()

    async def go_async(self, inbox: AsyncInbox | None, *, raises: bool) -> AgentResult[S, Any]:
        """As `go`, in the running event loop."""
        from detent.adapters.drivers.asyncio import drive_async

        teller = self.purse.own.teller
        if teller is not None:
            teller.loop = asyncio.get_running_loop()
        purse = self.purse if self.purse.agents else self.purse.own
        try:
            await drive_async(self.session, purse.pay_async, inbox=inbox)
            if teller is not None:
                await teller.told()
            return self.result(raises=raises)
        finally:
            self._leave()

    def _leave(self) -> None:
        """Hold neither the run nor an error: an error holds this errand, by way of its frames."""
        self.session.leave()
        self.purse.own.errors.clear()
        if self.purse.own.teller is not None:
            self.purse.own.teller.error = None

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
        if self.purse.own.teller is not None and self.purse.own.teller.error is not None:
            raise StreamingCallbackError(result) from self.purse.own.teller.error
        return result

    def _come_to(self, *, raises: bool) -> AgentResult[S, Any]:
        run, held = self.session.run, self.session.held
        if run.outcome is not None:
            return ended(self.session.spec, run, self.purse.own.errors)
        if held and self.recorder is not None:
            self.recorder.stop(run, held)
        at = self.purse.own.clock.now()
        result = stopped(self.session.spec, run, held, self.rules, at=at, raises=raises)
        if raises:
            self.confirmation.stop(self.session.spec, result)
        return result
