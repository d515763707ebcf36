"""The workflow of a run on DBOS whose effects are steps: the inside, and what DBOS leaves to it.

A step is performed again when its worker has died, also one that had begun, and steps that are
under way together come back in any order. So each step says which execution has made it. A tool
that is to begin behind a step of another execution may have begun there, and is not begun again.
And where several are under way, or somebody has spoken, a step says what came first.

RULE: an execution that is not the owner any more can record nothing: DBOS sees to that. What it
has recorded nothing of, but done, it tells the one that is.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

from attrs import define, field
from dbos import DBOS
from dbos._error import DBOSWorkflowConflictIDError

from detent.adapters.hosts.effects.inside import MAIL, Json

T = TypeVar("T")
TOPIC, BEGUN, HEARD, ORDER, SAID = "said", "begun", "heard", "order", "said"
LONG_S = 365 * 86400.0
LOST = "the worker that was at work on it is gone"

Perform: TypeAlias = Callable[[Json], Awaitable[Json]]
"""Performs a job, in any thread's event loop."""
Tell: TypeAlias = Callable[[Json, Json], Awaitable[object]]
"""Tells a run what came of a job for which nobody waits any longer."""


@define(eq=False)
class _Step:
    """What is under way: its number in the history."""

    number: int
    task: asyncio.Task[Json]

    def result(self) -> Any:
        """What came of it."""
        return self.task.result()["came"]


@define(eq=False)
class _Answer:
    """Where the inside says whether a word has changed the run."""

    key: str
    said: dict[str, bool]

    def set_result(self, is_heard: bool) -> None:  # noqa: FBT001 - as a future has it
        """Have it said with the next step."""
        self.said[self.key] = is_heard


@define(eq=False)
class _Mail:
    """The next word: it is in the history when it has come, and counts where a step says so."""

    task: asyncio.Task[Json]
    said: dict[str, bool]

    def result(self) -> tuple[Json, _Answer | None]:
        """The word, and where to answer."""
        said = self.task.result() or {"look": True}  # nobody has spoken for a year
        key = said.get("id")
        return said, None if key is None else _Answer(f"{SAID} {key}", self.said)


@define(eq=False)
class DBOSHistory:
    """The engine as the inside of one execution sees it.

    `recorded` has the names of the steps that earlier executions have recorded, by number.
    """

    _recorded: Mapping[int, str]
    _perform: Perform
    _tell: Tell
    _mine: str = field(init=False, factory=lambda: uuid4().hex)
    _by: str = field(init=False, default="")
    _at: float = field(init=False, default=0.0)
    _said: dict[str, bool] = field(init=False, factory=dict)
    _tasks: set[asyncio.Task[Any]] = field(init=False, factory=set)
    _tools: set[asyncio.Task[Any]] = field(init=False, factory=set)
    _random: random.Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._random = random.Random(DBOS.workflow_id)  # noqa: S311 - for pauses

    async def open(self) -> None:
        """Say that an execution has begun: a tool that comes first may have begun in another."""
        self._count(await DBOS.reserve_step().run_async({"name": BEGUN}, self._say([])))

    def _say(self, came: object) -> Callable[[], Coroutine[Any, Any, Json]]:
        async def say() -> Json:
            return {"came": came, "by": self._mine, "at": time.time()}

        return say

    def now(self) -> float:
        """The time of the last step that counted."""
        return self._at

    def number(self) -> float:
        """The same in each execution."""
        return self._random.random()

    def is_long(self) -> bool:
        """A history of DBOS has no end that it asks for."""
        return False

    def begin(self, name: str, job: Json, *, is_once: bool) -> _Step:
        """A step."""
        by = self._by

        async def perform() -> Json:
            if is_once and by != self._mine:
                return {"lost": LOST}
            return await self._perform(job)

        return self._step(name, perform, job, is_once=is_once)

    def sleep(self, name: str, until: float) -> _Step:
        """A step that lasts so long, whoever makes it."""

        async def sleep() -> Json:
            await asyncio.sleep(max(0.0, until - time.time()))
            return {}

        return self._step(name, sleep)

    def _step(
        self,
        name: str,
        make: Callable[[], Coroutine[Any, Any, Json]],
        job: Json | None = None,
        *,
        is_once: bool = False,
    ) -> _Step:
        reserved = DBOS.reserve_step()
        made: list[Json] = []

        async def made_by() -> Json:
            made.append(await make())
            came = {what: one for what, one in made[0].items() if what != "wrapped"}
            return {"came": came, "by": self._mine, "at": time.time()}

        async def recorded() -> Json:
            try:
                done: Json = await reserved.run_async({"name": name}, made_by)
            except DBOSWorkflowConflictIDError:
                if made and job is not None:
                    await self._tell(job, made[0])
                raise
            return done

        step = _Step(reserved.step_id, self._begun(recorded()))
        if is_once:
            self._tools.add(step.task)
            step.task.add_done_callback(self._tools.discard)
        return step

    def _begun(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def leave(self, *, is_ending: bool) -> None:
        """Leave what is under way to the next execution; unless this worker is ending, tools go on.

        RULE: what a tool has done is told to whoever has the run by then.
        """
        for task in self._tasks - (set() if is_ending else self._tools):
            _cancel(task)
        for task in self._tools:
            task.add_done_callback(_ignore)

    def hear(self) -> _Mail:
        """The next word."""
        return _Mail(self._begun(DBOS.recv_async(TOPIC, timeout_seconds=LONG_S)), self._said)

    async def first(self, futures: Mapping[str, Any]) -> Sequence[str]:
        """Which came first: by the history, where it says so."""
        await asyncio.sleep(0)  # those that were just begun take their numbers
        await self.answer()
        mail, steps = futures[MAIL], {n: one for n, one in futures.items() if n != MAIL}
        reserved = DBOS.reserve_step()
        found = self._recorded.get(reserved.step_id)
        if len(steps) == 1 and found != HEARD:
            ((name, step),) = steps.items()
            if step.number in self._recorded:
                await asyncio.wait([step.task])
            else:
                await _any([step.task, mail.task])
            if step.task.done():
                self._count(step.task.result())
                return [name]
        names: list[str] = []
        if found is None:
            names = await _done(futures)
        what = ORDER if len(steps) > 1 else HEARD

        counted: Json = await reserved.run_async({"name": what}, self._say(names))
        self._count(counted)
        came: list[str] = counted["came"]
        await asyncio.wait([futures[name].task for name in came])
        return came

    def _count(self, step: Json) -> None:
        self._at, self._by = max(self._at, step["at"]), step["by"]

    async def answer(self) -> None:
        """Say what is known of words that were heard."""
        said = dict(self._said)
        self._said.clear()
        for key, is_heard in said.items():
            await DBOS.set_event_async(key, is_heard)

    def drop(self, future: Any) -> None:
        """Cancel it; nobody asks what comes of that."""
        _cancel(future.task)


def _ignore(task: asyncio.Task[Any]) -> None:
    """Nobody asks what has come of it."""
    if not task.cancelled():
        task.exception()


def _cancel(task: asyncio.Task[Any]) -> None:
    task.add_done_callback(_ignore)
    task.cancel()


async def _any(tasks: Sequence[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def _done(futures: Mapping[str, Any]) -> list[str]:
    await _any([one.task for one in futures.values()])
    return [name for name, one in futures.items() if one.task.done()]
