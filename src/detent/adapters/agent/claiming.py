"""Claiming: a run is taken for this process before it is begun or gone on with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any, TypeVar

from detent.adapters.agent.inputs import THREADS
from detent.adapters.drivers.leases import Keeper, Lease
from detent.adapters.drivers.loading import Loaded, engine_of
from detent.adapters.drivers.recording import RunExistsError
from detent.adapters.drivers.steps import Steps, Wait, answer
from detent.core.run.run import Run, has_no_answer
from detent.ports.claims import RunBusyError, RunOfEngineError
from detent.ports.clock import Clock
from detent.ports.journal import Journal, JournalConflictError

T = TypeVar("T")
BUSY_S, BUSY_TRIES = 0.05, 100
"""How long, and how often, it is waited for somebody who is just beginning a run of a thread."""
FIRST_LOOK_S, LAST_LOOK_S = 0.05, 1.0
"""How far apart the looks are at a run that somebody else drives: at first, and at last."""


def require_free(keeper: Keeper, journal: Journal, run_id: str) -> Steps[None]:
    """Look whether a run may be claimed, before all of it is read.

    Raises:
        RunBusyError: another process drives it.
        RunOfEngineError: an engine has it, and a worker of that is at work on it: to wait for that
            process, or to take the run from it, would be of no use.
        JournalError: the store cannot be asked.
    """
    try:
        yield from keeper.require_free(run_id)
    except RunBusyError:
        if engine := (yield from answer(journal, partial(engine_of, journal, run_id))):
            raise RunOfEngineError(run_id, engine) from None
        raise


def claim(
    keeper: Keeper | None, journal: Journal, at: Loaded[Any], *, take_over: bool
) -> Steps[Lease | None]:
    """A claim on a run that is there; None where the journal has no claims.

    RULE: a claim says who drives a run now, and the first entry whether an engine does for good.
    Between two steps, or while all its workers are away, nobody has the claim of such a run, and
    whoever took it would begin what the engine begins as well.

    Raises:
        RunBusyError: another process drives it, and it is not to be taken over.
        RunOfEngineError: the history of an engine drives it, and it is not to be taken over.
        JournalError: the store cannot be asked.
    """
    run_id, engine = at.run.id, at.engine
    if engine is None and not take_over:
        engine = yield from answer(journal, partial(engine_of, journal, run_id))
    if engine and not take_over:
        raise RunOfEngineError(run_id, engine)
    return None if keeper is None else (yield from keeper.take_steps(run_id, take_over=take_over))


def claim_new(keeper: Keeper | None, journal: Journal | None, run_id: str) -> Steps[Lease | None]:
    """A claim on a run that is to be begun; None where the journal has no claims.

    Raises:
        RunExistsError: it has been begun before, and somebody drives it.
        RunBusyError: somebody is about to begin it.
        JournalError: the store cannot be asked.
    """
    if keeper is None:
        return None
    try:
        return (yield from keeper.take_steps(run_id, is_new=True))
    except RunBusyError:
        assert journal is not None  # noqa: S101 - whose claims they are
        yield from _require_absent(journal, run_id)
        raise


def _require_absent(journal: Journal, run_id: str) -> Steps[None]:
    """Look whether a run that was to be begun, and that somebody drives, has been begun before.

    Raises:
        RunExistsError: it has.
        JournalError: the store cannot be asked.
    """
    entries = yield from answer(journal, lambda: list(journal.read(run_id)))
    if entries:
        raise RunExistsError(JournalConflictError(run_id, 0, len(entries))) from None


def alone_in(keeper: Keeper | None, thread_id: str, steps: Steps[T]) -> Steps[T]:
    """The steps, while nobody else, in any process, begins a run of this thread.

    RULE: whoever looks for the end of a thread and begins a run behind it has the claim called
    after the thread, as one has that of a run, so that two do not both begin one. No run has an id
    that begins as these names do.

    Raises:
        RunBusyError: somebody else has been about to for long.
        JournalError: the store cannot be asked.
    """
    if keeper is None:
        return (yield from steps)
    for _ in range(BUSY_TRIES):
        try:
            lease = yield from keeper.take_steps(f"{THREADS}{thread_id}")
            break
        except RunBusyError:
            yield Wait(partial(time.sleep, BUSY_S), partial(asyncio.sleep, BUSY_S))
    else:
        lease = yield from keeper.take_steps(f"{THREADS}{thread_id}")
    try:
        return (yield from steps)
    finally:
        yield from lease.release_steps()


def given_back_on_failure(lease: Lease | None, steps: Steps[T]) -> Steps[T]:
    """The steps; a claim is given back if they fail, or whoever keeps the error keeps the run."""
    try:
        return (yield from steps)
    except BaseException:
        if lease is not None:
            yield from lease.release_steps()
        raise


def has_ended(run: Run[Any], *, is_retried: bool = True) -> bool:
    """Whether there is nothing to drive, and so nothing to claim; what failed may be retried."""
    return run.outcome is not None and not (is_retried and has_no_answer(run))


def when_free(attempt: Callable[[], T], clock: Clock, wait_s: float) -> T:
    """What `attempt` gives once the run is free.

    Raises:
        RunBusyError: after `wait_s` it was still driven by somebody else.
    """
    for look in _looks(clock.now(), wait_s):
        with suppress(RunBusyError):
            return attempt()
        clock.wait(look, Event())
    return attempt()


async def when_free_async(attempt: Callable[[], Awaitable[T]], clock: Clock, wait_s: float) -> T:
    """As `when_free`, in the running event loop."""
    for look in _looks(clock.now(), wait_s):
        with suppress(RunBusyError):
            return await attempt()
        await clock.wait_async(look)
    return await attempt()


def _looks(now: float, wait_s: float) -> Iterator[float]:
    """When to look again, further and further apart; the last time is at the end."""
    at, pause, end = now, FIRST_LOOK_S, now + wait_s
    while at < end:
        at = min(at + pause, end)
        pause = min(2 * pause, LAST_LOOK_S)
        yield at
