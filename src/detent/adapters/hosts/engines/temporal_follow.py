"""The workflow of a run on Temporal whose effects are activities: the inside, once for each task.

What is stored in the engine is what came of each effect, and what people have said.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, cast

from attrs import field, frozen
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    TimeoutError,  # noqa: A004 - of the library
    is_cancelled_exception,
)
from temporalio.worker import (
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from detent.adapters.hosts.effects.changed import ChangedRuns
from detent.adapters.hosts.effects.contract import require_rules
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.inside import FIRST_PAUSE_S, LAST_PAUSE_S, Inside
from detent.adapters.hosts.effects.pages import wanted_events, wanted_run, whole, without_run
from detent.core.errors import AgentChangedError
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import status_of
from detent.ports.journal import JournalDamagedError
from detent.ports.listing import UnknownAgentError

EFFECT, PAGE, SAY, LOOK, BEGUN = "detent_effect", "detent_page", "say", "look", "begun"
EFFECT_MAX = timedelta(days=365)
"""How long an effect may take; what ends it earlier is its own time-out, or a silent worker."""
AGAIN = RetryPolicy(
    initial_interval=timedelta(seconds=FIRST_PAUSE_S),
    maximum_interval=timedelta(seconds=LAST_PAUSE_S),
)
ONCE = RetryPolicy(maximum_attempts=1)
LOST = "the worker that was at work on it has fallen silent"


FOLLOWERS = "detent_followers"
ROOM = 500_000
"""So many bytes go with one job, or page: Temporal takes 2 MB, and warns from 512 kB on."""
STEP_MAX = 1_500_000
"""So many bytes may come of one effect: what has happened is an event, and travels whole. A client
may encrypt it, which takes room as well."""
GROWTH, GROWTH_MAX = 2, 8_000_000
"""A history that has begun with a large run grows by so much before another one goes on: as many
times as large, and so many bytes more at most. Temporal ends one of 50 MB."""
EVENTS = 2000
"""So many events are enough, however small they are."""
READS = 4
"""So much of what was read from the journal is kept, for jobs that miss the same."""


@frozen
class Followers(Interceptor):
    """The agents of a worker, as its workflows follow them, and the runs that it cannot follow.

    Its workflows find it: their library makes them, and gives them data alone. RULE: each worker
    has its own, whatever other workers of its process there are.
    """

    specs: Mapping[str, AgentSpec[Any]]
    changed: ChangedRuns = field(factory=ChangedRuns)

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002 - of the library
    ) -> type[WorkflowInboundInterceptor] | None:
        """Intercept nothing."""
        input.unsafe_extern_functions[FOLLOWERS] = lambda: self
        return None

    def require(self, opening: Json) -> AgentSpec[Any]:
        """The agent of a run. Raises what fails the task, which the engine tries again."""
        agent, run_id = opening["agent"], opening["run_id"]
        if agent not in self.specs:
            raise UnknownAgentError(agent, sorted(self.specs), run_id)
        try:
            require_rules(self.specs[agent], agent, run_id, opening["rules"])
        except AgentChangedError as error:
            self.changed.note(run_id, str(error))
            raise
        self.changed.drop(run_id)
        return self.specs[agent]


class TemporalHistory:
    """The engine as the inside of one workflow sees it."""

    def __init__(self, beat_s: float) -> None:
        self._beat = timedelta(seconds=beat_s)
        self._size, self._events = 0, 0
        self._reads: dict[str, asyncio.Task[Json]] = {}
        self.room = ROOM
        self.mail: asyncio.Queue[tuple[Json, asyncio.Future[bool] | None]] = asyncio.Queue()

    def now(self) -> float:
        """The time of the history."""
        return workflow.time()

    def number(self) -> float:
        """By the chance of the history."""
        return workflow.random().random()

    def is_long(self) -> bool:
        """Whether the server asks for another history, and nobody waits for a word of this one."""
        info = workflow.info()
        if not info.is_continue_as_new_suggested() or not self._has_grown(info):
            return False
        return self.mail.empty() and workflow.all_handlers_finished()

    def _has_grown(self, info: workflow.Info) -> bool:
        """RULE: a run that is large is not read anew by one history after another for nothing."""
        enough = min(GROWTH * self._size, self._size + GROWTH_MAX)
        is_larger = info.get_current_history_size() >= enough
        return is_larger or info.get_current_history_length() >= self._events + EVENTS

    async def whole(self, opening: Json) -> Json:
        """With what a history begins, and with the run, which is read from the journal if need be.

        What the history has by then is no reason for another one.
        """
        if opening["run"] is None:
            opening = opening | {"run": await self._read(wanted_run(opening))}
            info = workflow.info()
            self._size = info.get_current_history_size()
            self._events = info.get_current_history_length()
        return opening

    async def _read(self, wanted: Json) -> Json:
        """What is in the journal, by pages. They are begun anew where they are not of one text."""
        text, of, is_more = "", None, True
        while is_more:
            page: Json = await workflow.execute_activity(
                PAGE,
                args=[wanted, len(text)],
                result_type=dict,
                start_to_close_timeout=EFFECT_MAX,
                heartbeat_timeout=self._beat,
                retry_policy=AGAIN,
            )
            if text and page["of"] != of:
                text = ""
                continue
            text, of, is_more = text + page["text"], page["of"], page["more"]
        return whole(text, wanted)

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
        if "wanted" in outcome:
            outcome = await self._read_once(wanted_events(job, outcome))
        return outcome

    async def _read_once(self, wanted: Json) -> Json:
        """The same for all who miss it: each page of it stands in the history but once.

        RULE: what entries say does not change. So those that were read last are kept.
        """
        name = json.dumps(wanted, sort_keys=True)
        reading = self._reads.pop(name, None)
        if reading is None or (reading.done() and (reading.cancelled() or reading.exception())):
            reading = asyncio.create_task(self._read(wanted))
            reading.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._reads[name] = reading
        while len(self._reads) > READS:
            del self._reads[next(iter(self._reads))]
        return await asyncio.shield(reading)

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
        followers = cast("Followers", workflow.extern_functions()[FOLLOWERS]())
        spec = followers.require(opening)
        inside = Inside(spec, await self._engine.whole(opening), self._engine)
        try:
            rest = await inside.follow()
        except JournalDamagedError as error:  # somebody else drives the run: see `Inside`
            raise ApplicationError(str(error), type="TakenOver", non_retryable=True) from error
        if rest is not None:
            workflow.continue_as_new(args=[without_run(rest, ROOM), beat_s])
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
