"""The workflow of a run on DBOS whose effects are steps: the inside, and what DBOS leaves to it.

A step is performed again when its worker has died, also one that had begun, and steps that are
under way together come back in any order. So each step says which execution has made it. A tool
that is to begin behind a step of another execution may have begun there, and is not begun again.
And where several are under way, or somebody has spoken, a step says what came first.

RULE: an execution that is not the owner any more can record nothing: DBOS sees to that. What it
has recorded nothing of, but done, it tells the one that is. And it says that it has left, and which
tools it has begun: all others that were its own to begin have never run.
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

from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.inside import MAIL

T = TypeVar("T")
TOPIC, BEGUN, ARRIVAL, ORDER, ANSWER = "said", "begun", "heard", "order", "said"
LONG_S = 365 * 86400.0
LOST = "the worker that was at work on it is gone"
NOT_BEGUN: Json = {"later": "the execution that was to begin it has left"}

Perform: TypeAlias = Callable[[Json], Awaitable[Json]]
"""Performs a job, in any thread's event loop."""
Tell: TypeAlias = Callable[[Json, Json], Coroutine[Any, Any, object]]
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
    answers: dict[str, bool]

    def set_result(self, is_heard: bool) -> None:  # noqa: FBT001 - as a future has it
        """Have it said with the next step."""
        self.answers[self.key] = is_heard


@define(eq=False)
class _Mail:
    """The next word: it is in the history when it has come, and counts where a step says so."""

    task: asyncio.Task[Json]
    answers: dict[str, bool]

    def result(self) -> tuple[Json, _Answer | None]:
        """The word, and where to answer."""
        message = self.task.result() or {"look": True}  # nobody has spoken for a year
        key = message.get("id")
        return message, None if key is None else _Answer(f"{ANSWER} {key}", self.answers)


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
    _answers: dict[str, bool] = field(init=False, factory=dict)
    _tasks: set[asyncio.Task[Any]] = field(init=False, factory=set)
    _tools: set[asyncio.Task[Any]] = field(init=False, factory=set)
    _is_left: bool = field(init=False, default=False)
    _at_work: list[list[Any]] = field(init=False, factory=list)
    _behind: dict[str, list[Json]] = field(init=False, factory=dict)
    _left: dict[str, list[list[Any]]] = field(init=False, factory=dict)
    _random: random.Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._random = random.Random(DBOS.workflow_id)  # noqa: S311 - for pauses

    async def open(self) -> None:
        """Say that an execution has begun: a tool that comes first may have begun in another."""
        self._count(await DBOS.reserve_step().run_async({"name": BEGUN}, self._say([])))

    def _say(self, outcome: object) -> Callable[[], Coroutine[Any, Any, Json]]:
        async def say() -> Json:
            return {"came": outcome, "by": self._mine, "at": time.time()}

        return say

    @property
    def room(self) -> None:
        """A step of DBOS takes any number."""
        return

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
        if is_once and by != self._mine:
            self._behind.setdefault(by, []).append(job)
            self._say_of_left(by, job)

        async def perform() -> Json:
            if is_once and by != self._mine:
                return {"lost": LOST}
            if is_once and self._is_left:
                raise DBOSWorkflowConflictIDError(DBOS.workflow_id or "")
            if is_once:
                self._at_work.append(_place(job))
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
            outcome = {what: value for what, value in made[0].items() if what != "wrapped"}
            return {"came": outcome, "by": self._mine, "at": time.time()}

        async def recorded() -> Json:
            try:
                done: Json = await reserved.run_async({"name": name}, made_by)
            except (Exception, DBOSWorkflowConflictIDError):  # which is no Exception
                if made and job is not None:
                    await self._tell(job, made[0])
                raise
            if job is not None and _place(job) in self._at_work:
                self._at_work.remove(_place(job))
            self._require_ours(reserved.step_id, done)
            return done

        step = _Step(reserved.step_id, self._begun(recorded()))
        if is_once:
            self._tools.add(step.task)
            step.task.add_done_callback(self._tools.discard)
        return step

    def _require_ours(self, number: int, step: Json) -> None:
        """Make sure that nobody else has made a step since this execution has begun.

        DBOS gives its owner's steps to an execution that has lost the run, and would let it follow
        along for ever. It is to leave, and to say so.
        """
        if step["by"] != self._mine and number not in self._recorded:
            raise DBOSWorkflowConflictIDError(DBOS.workflow_id or "")

    def _begun(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def left(self) -> Json:
        """What the next execution is to hear of this one, which begins no tool from now on."""
        self._is_left = True
        return {"events": [], "left": self._mine, "begun": list(self._at_work)}

    def _hear_left(self, message: Json) -> None:
        """An execution has left: what is lost behind it, and was not begun, has never run."""
        by = message["left"]
        self._left[by] = message["begun"]
        for job in self._behind.get(by, ()):
            self._say_of_left(by, job)

    def _say_of_left(self, by: str, job: Json) -> None:
        """Have the run hear that a tool never ran, if whoever was to begin it has left without.

        RULE: it is lost first, and begun again behind a step of ours. So whoever comes after us
        finds that it may have begun here.
        """
        if by in self._left and _place(job) not in self._left[by]:
            self._begun(self._tell(job, NOT_BEGUN))

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
        return _Mail(self._begun(DBOS.recv_async(TOPIC, timeout_seconds=LONG_S)), self._answers)

    async def first(self, futures: Mapping[str, Any]) -> Sequence[str]:
        """Which came first: by the history, where it says so."""
        await asyncio.sleep(0)  # those that were just begun take their numbers
        await self.answer()
        mail, steps = futures[MAIL], {n: future for n, future in futures.items() if n != MAIL}
        reserved = DBOS.reserve_step()
        found = self._recorded.get(reserved.step_id)
        if len(steps) == 1 and found != ARRIVAL:
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
            await _any([future.task for future in futures.values()])
            names = [name for name, future in futures.items() if future.task.done()]
        what = ORDER if len(steps) > 1 else ARRIVAL
        counted: Json = await reserved.run_async({"name": what}, self._say(names))
        self._require_ours(reserved.step_id, counted)
        self._count(counted)
        arrivals: list[str] = counted["came"]
        await asyncio.wait([futures[name].task for name in arrivals])
        if MAIL in arrivals and "left" in (message := mail.task.result() or {}):
            self._hear_left(message)
        return arrivals

    def _count(self, step: Json) -> None:
        self._at, self._by = max(self._at, step["at"]), step["by"]

    async def answer(self) -> None:
        """Say what is known of words that were heard."""
        answers = dict(self._answers)
        self._answers.clear()
        for key, is_heard in answers.items():
            await DBOS.set_event_async(key, is_heard)

    def drop(self, future: Any) -> None:
        """Cancel it; nobody asks what comes of that."""
        _cancel(future.task)


def _place(job: Json) -> list[Any]:
    """What tells a job from others of its run."""
    return [job["effect"], job["at"]]


def _ignore(task: asyncio.Task[Any]) -> None:
    """Nobody asks what has come of it."""
    if not task.cancelled():
        task.exception()


def _cancel(task: asyncio.Task[Any]) -> None:
    task.add_done_callback(_ignore)
    task.cancel()


async def _any(tasks: Sequence[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
