"""The telemetry port: somebody who measures runs, and is told before and after each piece of work.

Unlike an observer, who hears of what has happened, it stands around model calls and tools while
they are at work, so that what these do beside can be found as part of them. It can change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from attrs import field, frozen

from detent.core.run.effects import Effect
from detent.core.run.events import Event
from detent.core.run.refs import CallRef
from detent.core.run.run import Run

Came: TypeAlias = Callable[[Event | None], object]
"""Is told what came of an effect."""


@frozen
class Model:
    """Who answers a conversation: the provider, as ``chat_generator`` names it, and the model."""

    provider: str
    name: str = ""


@frozen
class Drive:
    """A run that this process is about to drive.

    Attributes:
        agent: the name of its agent; "" when it has none.
        run_id: its id.
        conversation_id: the thread that it belongs to; its own id when to none.
        nonce: what the run drew when it began; "" when it is just beginning.
        asked_at: when each question to a human of its last turns was asked, in seconds since
            1970, as far as the journal says so.
        redact: what of a text may be kept, if the agent's journal takes something out.
    """

    agent: str
    run_id: str
    conversation_id: str
    nonce: str = ""
    asked_at: Mapping[CallRef, float] = field(factory=dict)
    redact: Callable[[str], str] | None = None


@frozen
class HostFigures:
    """What there is to measure of a host at one moment.

    Attributes:
        is_ready: whether it begins runs, and its store could be looked at lately.
        running: how many runs go on in it.
        waiting: how many wait in it for a place.
        faults: by the name of an error, how many runs it keeps from going on; an engine that is
            away is one as well.
        questions: how many calls wait for somebody's decision, in the store, of its agents; None
            where the store does not say it.
        oldest_wait_s: for how many seconds the oldest of them has; 0 where there is none.
    """

    is_ready: bool
    running: int
    waiting: int
    faults: Mapping[str, int]
    questions: int | None
    oldest_wait_s: float | None


class Leg(Protocol):
    """Measures a run while one process drives it: from there on, until nothing more can be done.

    Any thread may call it.
    """

    @property
    def mark(self) -> str:
        """What a new run takes into its nonce, so that another process finds this leg by it."""
        ...

    def take_up(self, run: Run[Any]) -> None:
        """The run as it is before anything happens. Called once, first."""
        ...

    def observe(self, before: Run[Any], event: Event, after: Run[Any], /) -> None:
        """As an observer."""
        ...

    def during(self, effect: Effect, model: Model) -> AbstractContextManager[Came]:
        """Stands around the performance of an effect, by the thread or the task that performs it.

        `model` is that of the agent whose effect it is. What is raised inside passes.
        """
        ...

    def end(self, error: BaseException | None) -> None:
        """This process drives the run no longer; `error` is what its caller is told. Once."""
        ...


class Telemetry(Protocol):
    """Measures the runs of an agent: ``Agent(…, telemetry=…)``.

    One with a method ``flush() -> object``, which may block, is called at the end of a host, to
    send what it holds. One with ``measure_host(read) -> end`` is told of each host that opens:
    `read` gives its `HostFigures`, in any thread, and may block for some seconds; the host calls
    `end` when it has closed.
    """

    def begin(self, drive: Drive) -> Leg:
        """This process begins to drive a run."""
        ...
