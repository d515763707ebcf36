"""What a simulated world is played on, by whom, and what they have under way."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event as Flag
from typing import Any

from attrs import define, frozen

from detent.adapters.drivers.leases import Keeper, Lease
from detent.adapters.drivers.session import Session
from detent.adapters.journals.memory import MemoryClaims
from detent.adapters.testing.simulation.model_actors import Players
from detent.adapters.testing.simulation.shared_stores import SharedStore
from detent.core.chat.messages import ChatMessage
from detent.core.run.effects import Effect
from detent.core.run.events import Event
from detent.core.run.spec import AgentSpec
from detent.ports.clock import Clock
from detent.ports.tool_execution import ToolExecutor


@frozen
class Stage:
    """What a world is played on: the agent, the conversation, the store, who runs the tools.

    `executor` runs the tools for real; None has their results drawn. `is_attended` says whether
    there is a human at all.
    """

    spec: AgentSpec[Any]
    players: Players
    store: SharedStore
    messages: Sequence[ChatMessage]
    executor: ToolExecutor | None = None
    is_attended: bool = True


@define(eq=False)
class Flight:
    """An effect that a process has under way, and, once it is performed, what came of it."""

    process: Process
    effect: Effect
    is_performed: bool = False
    outcome: Event | BaseException | None = None


@define(eq=False)
class Process:
    """A process that drives the run."""

    number: int
    session: Session[Any]


@frozen
class OwnClock:
    """A process's clock, which is a little ahead of others: no two write at one instant."""

    clock: Clock
    ahead_s: float

    def now(self) -> float:
        """What it shows."""
        return self.clock.now() + self.ahead_s

    def wait(self, until: float, dropped: Flag) -> None:
        """As `Clock.wait` says."""
        self.clock.wait(until - self.ahead_s, dropped)

    async def wait_async(self, until: float) -> None:
        """As `Clock.wait_async` says."""
        await self.clock.wait_async(until - self.ahead_s)


class SharedClaims(MemoryClaims):
    """The claims of a store that other processes see."""

    is_shared = True


@define(eq=False)
class Driver(Process):
    """A process that drives the run, or has once done so and has not heard that it does not."""

    keeper: Keeper
    lease: Lease
    clock: Clock
    is_frozen: bool = False


def driver_of(flight: Flight) -> Driver:
    """The process that has it under way."""
    assert isinstance(flight.process, Driver)  # noqa: S101 - this world has no others
    return flight.process
