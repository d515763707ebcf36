"""A host for code that blocks: each call waits in its thread for what an event loop does."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

from detent.adapters.system.threads_and_loops import in_background
from detent.ports.chat import Messages
from detent.ports.hosting import (
    Accepted,
    Host,
    HostedAgent,
    HostedRun,
    HostRefusal,
    PendingQuestion,
    RunProof,
    Sent,
    Watched,
)
from detent.ports.listing import Cursor, HostNotOpenError, StoredRun
from detent.ports.results import AgentResult


class BlockingHost:
    """The same host, blocking: ``with BlockingHost(LocalHost(…)) as host``.

    It lives in the event loop that all blocking code of Detent shares. Any thread may call it.
    """

    def __init__(self, host: AbstractAsyncContextManager[Host]) -> None:
        self._opens, self._opened = host, list[Host]()

    @property
    def _host(self) -> Host:
        if not self._opened:
            raise HostNotOpenError("the host is not open: with BlockingHost(…) as host: …")
        return self._opened[0]

    def __enter__(self) -> Self:
        self._opened = [in_background(self._opens.__aenter__()).result()]
        return self

    def __exit__(self, *raised: object) -> None:
        in_background(self._opens.__aexit__(None, None, None)).result()

    def start(
        self,
        agent: str,
        messages: Messages,
        *,
        run_id: str | None = None,
        thread_id: str | None = None,
        state: Mapping[str, object] | None = None,
        started_by: str | None = None,
    ) -> Accepted | HostRefusal:
        """As `Host.start`."""
        names = {"run_id": run_id, "thread_id": thread_id, "started_by": started_by}
        begun = self._host.start(agent, messages, state=state, **names)
        return in_background(begun).result()

    def send(self, run_id: str, said: Sent) -> Accepted | HostRefusal:
        """As `Host.send`."""
        return in_background(self._host.send(run_id, said)).result()

    def watch(self, run_id: str, after: int | None = None) -> Generator[Watched]:
        """As `Host.watch`."""
        items = self._host.watch(run_id, after)
        try:
            while (item := in_background(anext(items, None)).result()) is not None:
                yield item
        finally:
            in_background(items.aclose()).result()

    def result(self, run_id: str, timeout: float | None = None) -> AgentResult[Any, Any]:
        """As `Host.result`."""
        return in_background(self._host.result(run_id, timeout)).result()

    def run(self, run_id: str, length: int | None = None) -> HostedRun:
        """As `Host.run`."""
        return in_background(self._host.run(run_id, length)).result()

    def verify(self, run_id: str) -> RunProof:
        """As `Host.verify`."""
        return in_background(self._host.verify(run_id)).result()

    def runs(
        self,
        status: str | None = None,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        label: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int = 50,
    ) -> Sequence[StoredRun]:
        """As `Host.runs`."""
        found = self._host.runs(
            status, agent=agent, thread_id=thread_id, label=label, before=before, limit=limit
        )
        return in_background(found).result()

    def pending(
        self,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int = 50,
    ) -> Sequence[PendingQuestion]:
        """As `Host.pending`."""
        found = self._host.pending(agent=agent, thread_id=thread_id, before=before, limit=limit)
        return in_background(found).result()

    def agents(self) -> Sequence[HostedAgent]:
        """As `Host.agents`."""
        return in_background(self._host.agents()).result()
