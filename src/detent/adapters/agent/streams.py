"""Runs as iterators: new ones, and those of a journal."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

from detent.core.state.typevars import S, T

if TYPE_CHECKING:
    from detent.adapters.agent.assembly import Assembly
    from detent.adapters.agent.inputs import RunRequest
    from detent.adapters.control.breakpoints import BreakPoints
    from detent.adapters.drivers.asyncio import AsyncInbox
    from detent.adapters.drivers.observations import Observation
    from detent.adapters.drivers.run_handle import RunHandle
    from detent.adapters.drivers.steps import Steps
    from detent.adapters.drivers.threads import Inbox
    from detent.adapters.tools.toolsets import Tools
    from detent.core.run.events import Event
    from detent.core.storage.snapshot import AgentSnapshot
    from detent.ports.chat import Messages, StreamingChunk
    from detent.ports.results import AgentResult

Tell: TypeAlias = "Callable[[StreamingChunk | Event], object]"


class RunStreams(Generic[S, T]):
    """What an agent shows of its runs while they go on, here."""

    _assembly: Assembly[Any]

    def stream(
        self,
        messages: Messages = (),
        *,
        after: AgentResult[S, Any] | None = None,
        thread_id: str | None = None,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        raise_at_break_point: bool = True,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        inbox: Inbox | None = None,
        run_id: str | None = None,
        started_by: str | None = None,
        **state: object,
    ) -> Generator[Observation[S, T]]:
        """As `run`, as an iterator of what happens: pieces, events, and last the result.

        The run is driven in a thread and does not wait for the reader. What `run` raises is raised
        at the end.

        Whoever closes the iterator before its end leaves a run of the journal as it is: nothing
        more is begun, what is at work is waited for and recorded, and `resume` or `resume_stream`
        goes on with it. A run without a journal is cancelled, as nobody could go on with it.
        """
        from detent.adapters.agent.inputs import RunRequest, require_inbox
        from detent.adapters.drivers.observations import streamed

        require_inbox(inbox)
        said = (messages, break_point, snapshot, generation_kwargs, system_prompt, tools)
        request = RunRequest(*said, run_id, state, started_by)
        watch = partial(self._begin_watched, request, after, thread_id)
        return streamed(watch, inbox, raises=raise_at_break_point)

    def stream_async(
        self,
        messages: Messages = (),
        *,
        after: AgentResult[S, Any] | None = None,
        thread_id: str | None = None,
        break_point: BreakPoints | None = None,
        snapshot: AgentSnapshot | Mapping[str, Any] | str | None = None,
        raise_at_break_point: bool = True,
        generation_kwargs: Mapping[str, object] | None = None,
        system_prompt: str | None = None,
        tools: Tools[S] | Sequence[str] | None = None,
        inbox: AsyncInbox | None = None,
        run_id: str | None = None,
        started_by: str | None = None,
        **state: object,
    ) -> AsyncGenerator[Observation[S, T]]:
        """As `stream`, in the running event loop.

        A task that is cancelled while it reads leaves the run likewise. Cancelled once more, it
        does not wait: what is at work is heard out and recorded without it.
        """
        from detent.adapters.agent.inputs import RunRequest, require_async_inbox
        from detent.adapters.drivers.observations import streamed_async

        require_async_inbox(inbox)
        said = (messages, break_point, snapshot, generation_kwargs, system_prompt, tools)
        request = RunRequest(*said, run_id, state, started_by)
        watch = partial(self._begin_watched, request, after, thread_id)
        return streamed_async(watch, inbox, raises=raise_at_break_point)

    def resume_stream(
        self,
        run_id: str,
        *,
        break_point: BreakPoints | None = None,
        raise_at_break_point: bool = True,
        tools: Tools[S] | None = None,
        inbox: Inbox | None = None,
        take_over: bool = False,
    ) -> Generator[Observation[S, T]]:
        """As `resume`, as an iterator of what happens from now on; see `stream`.

        Of a run that has ended it gives the result, and nothing else.
        """
        from detent.adapters.agent.inputs import require_inbox
        from detent.adapters.drivers.observations import streamed

        require_inbox(inbox)
        watch = partial(self._resume_watched, run_id, break_point, tools, take_over=take_over)
        return streamed(watch, inbox, raises=raise_at_break_point)

    def resume_stream_async(
        self,
        run_id: str,
        *,
        break_point: BreakPoints | None = None,
        raise_at_break_point: bool = True,
        tools: Tools[S] | None = None,
        inbox: AsyncInbox | None = None,
        take_over: bool = False,
    ) -> AsyncGenerator[Observation[S, T]]:
        """As `resume_stream`, in the running event loop."""
        from detent.adapters.agent.inputs import require_async_inbox
        from detent.adapters.drivers.observations import streamed_async

        require_async_inbox(inbox)
        watch = partial(self._resume_watched, run_id, break_point, tools, take_over=take_over)
        return streamed_async(watch, inbox, raises=raise_at_break_point)

    def _begin_watched(
        self,
        request: RunRequest[S],
        after: AgentResult[S, Any] | None,
        thread_id: str | None,
        tell: Tell,
    ) -> Steps[RunHandle[S]]:
        from detent.adapters.drivers.steps import Wait

        if not self._assembly.is_warm:
            yield Wait(self._assembly.warm_up)
        begin = observed(self._assembly, tell).begin(request, tell, after, thread_id)
        return (yield from begin)

    def _resume_watched(
        self,
        run_id: str,
        break_point: BreakPoints | None,
        tools: Tools[S] | None,
        tell: Tell,
        *,
        take_over: bool,
    ) -> Steps[RunHandle[S]]:
        from detent.adapters.drivers.steps import Wait

        if not self._assembly.is_warm:
            yield Wait(self._assembly.warm_up)
        parts = (run_id, tell, break_point, tools)
        begin = observed(self._assembly, tell).resume(*parts, take_over=take_over)
        return (yield from begin)


def observed(assembly: Assembly[S], tell: Callable[[Event], object]) -> Assembly[S]:
    """The same, with a function that is told each event that changes a run."""
    from attrs import evolve

    from detent.adapters.drivers.observations import observing

    return evolve(assembly, observers=(*assembly.observers, observing(tell)))
