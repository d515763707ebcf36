"""The workflow of a run on Temporal whose effects are activities: the inside, once for each task.

What is stored in the engine is what came of each effect, and what people have said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from attrs import field, frozen
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    TimeoutError,  # noqa: A004 - of the library
    is_cancelled_exception,
)

from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.inside import Inside
from detent.core.errors import AgentChangedError
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import status_of
from detent.ports.listing import UnknownAgentError

EFFECT, SAY, LOOK, BEGUN = "detent_effect", "say", "look", "begun"
EFFECT_MAX = timedelta(days=365)
"""How long an effect may take; what ends it earlier is its own time-out, or a silent worker."""
AGAIN = RetryPolicy(initial_interval=timedelta(seconds=0.5), maximum_interval=timedelta(seconds=10))
ONCE = RetryPolicy(maximum_attempts=1)
LOST = "the worker that was at work on it has fallen silent"


@frozen
class Followers:
    """The agents of a worker, as its workflows follow them, and the runs that it cannot follow."""

    specs: Mapping[str, AgentSpec[Any]]
    changed: dict[str, str] = field(factory=dict)

    def inside(self, opening: Json, engine: TemporalHistory) -> Inside:
        """One that follows a run. Raises what fails the task, which the engine tries again."""
        agent, run_id = opening["agent"], opening["run_id"]
        if agent not in self.specs:
            raise UnknownAgentError(agent, sorted(self.specs), run_id)
        try:
            inside = Inside(self.specs[agent], opening, engine)
        except AgentChangedError as error:
            self.changed[run_id] = str(error)
            raise
        self.changed.pop(run_id, None)
        return inside


FOLLOWERS: dict[str, Followers] = {}
"""By the name of a task queue: a workflow is made by its library, and is given data alone."""


class TemporalHistory:
    """The engine as the inside of one workflow sees it."""

    def __init__(self, beat_s: float) -> None:
        self._beat = timedelta(seconds=beat_s)
        self.mail: asyncio.Queue[tuple[Json, asyncio.Future[bool] | None]] = asyncio.Queue()

    def now(self) -> float:
        """The time of the history."""
        return workflow.time()

    def number(self) -> float:
        """By the chance of the history."""
        return workflow.random().random()

    def is_long(self) -> bool:
        """Whether the server asks for another history, and nobody waits for a word of this one."""
        is_long = workflow.info().is_continue_as_new_suggested()
        return is_long and self.mail.empty() and workflow.all_handlers_finished()

    def begin(self, name: str, job: Json, *, is_once: bool) -> asyncio.Future[Json]:
        """An activity."""
        return asyncio.create_task(self._performed(name, job, is_once=is_once))

    async def _performed(self, name: str, job: Json, *, is_once: bool) -> Json:
        try:
            outcome: Json = await workflow.execute_activity(
                EFFECT,
                job,
                result_type=dict,
                summary=name,
                start_to_close_timeout=EFFECT_MAX,
                heartbeat_timeout=self._beat,
                retry_policy=ONCE if is_once else AGAIN,
            )
        except ActivityError as error:
            if not is_once or is_cancelled_exception(error):
                raise
            why = error.cause
            is_unheard = isinstance(why, TimeoutError) and not why.last_heartbeat_details
            return {"later": "it was not begun"} if is_unheard else {"lost": LOST}
        return outcome

    def sleep(self, name: str, until: float) -> asyncio.Future[None]:
        """A timer."""
        pause_s = max(0.0, until - self.now())
        return asyncio.create_task(workflow.sleep(pause_s, summary=name))

    def hear(self) -> asyncio.Future[tuple[Json, asyncio.Future[bool] | None]]:
        """The next update or signal."""
        return asyncio.create_task(self.mail.get())

    async def first(self, futures: Mapping[str, asyncio.Future[Any]]) -> Sequence[str]:
        """In the order of the names; the history says which are done."""
        await workflow.wait(futures.values(), return_when=asyncio.FIRST_COMPLETED)
        return [name for name, future in futures.items() if future.done()]

    def drop(self, future: asyncio.Future[Any]) -> None:
        """Cancel it; nobody asks what comes of that."""
        future.add_done_callback(lambda task: task.cancelled() or task.exception())
        future.cancel()


@workflow.defn(name="detent_effects", sandboxed=False)
class DetentEffects:
    """One run, until it has ended. One that has failed is begun again when somebody wants it."""

    @workflow.init
    def __init__(self, opening: Json, beat_s: float) -> None:
        self._engine = TemporalHistory(beat_s)

    @workflow.run
    async def run(self, opening: Json, beat_s: float) -> Json:
        """Follow the run."""
        inside = FOLLOWERS[opening["queue"]].inside(opening, self._engine)
        rest = await inside.follow()
        if rest is not None:
            workflow.continue_as_new(args=[rest, beat_s])
        if (status := status_of(inside.run)) == "failed":
            raise ApplicationError("the model gave no answer", type="ModelFailed")
        return {"status": status, "length": inside.length}

    @workflow.update(name=SAY)
    async def say(self, message: Json) -> bool:
        """Somebody has spoken; whether it has changed the run."""
        answer = asyncio.Future[bool]()
        self._engine.mail.put_nowait((message, answer))
        return await answer

    @workflow.signal(name=LOOK)
    def look(self, message: Json) -> None:
        """Somebody may have written to the journal itself, or has other versions of the tools."""
        self._engine.mail.put_nowait((message | {"look": True}, None))
