"""What the laws of the hosting port wait for, and how they say what does not hold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias, TypeVar

from detent.ports.hosting import Accepted, Host, HostRefusal, PendingQuestion
from detent.ports.journal import RunNotFoundError
from detent.ports.laws.breaking import expect

T = TypeVar("T")

OpenHost: TypeAlias = Callable[[], AbstractAsyncContextManager[Host]]
"""Opens the host under test: each call another one, on the same store, empty at first."""
Law: TypeAlias = Callable[[Host], Awaitable[None]]
PAUSE_S = 0.02
NOWHERE = "no such run"


def must(holds: object, law: str) -> None:
    """Say that the host breaks a law, unless it holds."""
    expect(holds, "the host", law)


def accepted(answer: Accepted | HostRefusal) -> Accepted:
    """What was accepted: it can be done, and so it must be."""
    must(isinstance(answer, Accepted), f"what can be done is accepted, and not {answer!r:.200}")
    assert isinstance(answer, Accepted)  # noqa: S101 - see above; for type checkers
    return answer


def why_of(answer: Accepted | HostRefusal) -> str:
    """Why it is refused, in a word."""
    return answer.why if isinstance(answer, HostRefusal) else "accepted"


async def until(look: Callable[[], Awaitable[T]]) -> T:
    """What a look gives, once it gives something."""
    while not (found := await look()):  # noqa: ASYNC110 - it is elsewhere that something comes
        await asyncio.sleep(PAUSE_S)
    return found


async def questions_of(host: Host, run_id: str) -> list[PendingQuestion]:
    """The questions of one run."""
    questions = await host.pending(limit=1000)
    return [question for question in questions if question.call.run_id == run_id]


async def question_of(host: Host, run_id: str) -> PendingQuestion:
    """The first question of a run, once there is one."""
    return (await until(lambda: questions_of(host, run_id)))[0]


async def has_begun(host: Host, run_id: str) -> bool:
    """Whether the tool of a run is at work."""
    slots = (await host.run(run_id)).run.slots
    return any(type(slot.status).__name__ == "Running" for slot in slots)


async def is_missing(host: Host, run_id: str) -> bool:
    """Whether there is no such run."""
    return await has_raised(host.run(run_id), RunNotFoundError)


async def has_raised(action: Awaitable[object], kind: type[Exception]) -> bool:
    """Whether it raises such an error."""
    try:
        await action
    except kind:
        return True
    return False
