"""Threads: what each face does for a person in a conversation with an agent of a host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from detent.adapters.faces.answers import AnswersReport, decide
from detent.adapters.web.people import Person
from detent.core.chat.messages import ChatMessage
from detent.core.run.events import CancelRequested
from detent.ports.hosting import Accepted, Host, HostedRun, HostRefusal
from detent.ports.journal import RunNotFoundError
from detent.ports.listing import UnknownAgentError
from detent.ports.pending import PendingCall


@frozen
class Thread:
    """A conversation. All of it is in the host: it is found again in any process.

    Attributes:
        host: where its runs live.
        agent: who talks in it.
        person: whose it is, and who decides.
        id: what the host calls it; None where each run stands alone.
    """

    host: Host
    agent: str
    person: Person
    id: str | None

    async def begin(
        self, messages: str | Sequence[ChatMessage], run_id: str
    ) -> Accepted | HostRefusal:
        """Begin a run; one that is there already is accepted as well, and not begun twice."""
        return await self.host.start(
            self.agent, messages, run_id=run_id, thread_id=self.id, started_by=self.person.name
        )

    async def last(self) -> str | None:
        """The id of the last run."""
        if self.id is None:
            return None
        runs = await self.host.runs(agent=self.agent, thread_id=self.id, limit=1)
        return runs[0].run_id if runs else None

    async def run(self, run_id: str) -> HostedRun | None:
        """A run of this thread; None where it is another one's, or is not there."""
        try:
            hosted = await self.host.run(run_id)
        except (RunNotFoundError, UnknownAgentError):
            return None
        is_here = (hosted.listed.agent, hosted.listed.thread_id) == (self.agent, self.id)
        return hosted if is_here and self.id is not None else None

    async def waiting(self) -> Sequence[PendingCall]:
        """What waits for a decision."""
        if self.id is None:
            return ()
        found = await self.host.pending(agent=self.agent, thread_id=self.id)
        return [question.call for question in found]

    async def decide(
        self, waiting: Iterable[PendingCall], answers: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> AnswersReport:
        """Tell the host what the person answers."""
        by = self.person
        return await decide(self.host, waiting, answers, by.name, by.credential)

    async def cancel(self, run_id: str) -> Accepted | HostRefusal:
        """End a run."""
        return await self.host.send(run_id, CancelRequested("its client wants it no more"))
