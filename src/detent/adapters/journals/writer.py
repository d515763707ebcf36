"""A writer: puts what many runs have to write at a time into one transaction of their store."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from copy import copy
from threading import Lock
from typing import Any, Generic, TypeAlias, TypeVar, cast

from detent.adapters.system.threads_and_loops import run_in_a_thread

C = TypeVar("C")
T = TypeVar("T")

AT_ONCE = 256
"""So many jobs are done together: more hold up the first of them, and gain little."""

Done: TypeAlias = tuple[object, Exception | None]
"""What a job has given, or why it was refused."""


class Writer(Generic[C]):
    """Does the jobs that have come by the time that it is done with those before, in a thread.

    Whoever submits a job does not wait. It is done soon or refused, and never later: once its
    future is done, nothing more is written of it.

    Args:
        together: does jobs with what they work on, in one transaction, each or nothing of it. What
            it raises is why none of them was done.
    """

    def __init__(self, together: Callable[[Sequence[Callable[[C], object]]], list[Done]]) -> None:
        self._together = together
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._pid = os.getpid()
        self._lock = Lock()
        self._waiting: list[tuple[Callable[[C], object], Future[Any]]] = []
        self.is_at_work = False
        """Whether jobs are being done just now, so that one more is best done with the next. A fork
        may inherit a yes: then `submit` begins anew."""

    def submit(self, job: Callable[[C], T]) -> Future[T]:
        """Have it done."""
        if self._pid != os.getpid():  # a fork has no thread of ours, and what waits is its parent's
            self._begin_anew()
        future = Future[T]()
        future.set_running_or_notify_cancel()  # nobody can take it back
        with self._lock:
            self._waiting.append((job, future))
            is_at_work, self.is_at_work = self.is_at_work, True
        if not is_at_work:
            try:
                run_in_a_thread(self._work)
            except BaseException:  # there is no thread to be had: whoever is next tries again
                with self._lock:
                    self.is_at_work = False
                    self._waiting.remove((job, future))
                raise
        return future

    def _work(self) -> None:
        while jobs := self._next():
            try:
                done = self._together([job for job, _ in jobs])
            except BaseException as error:  # noqa: BLE001 - each is told
                done = [(None, cast(Exception, copy(error))) for _ in jobs]
            for (_, future), (value, refusal) in zip(jobs, done, strict=True):
                if refusal is None:
                    future.set_result(value)
                else:
                    future.set_exception(refusal)
            del jobs, done  # or this thread would keep them until there are others

    def _next(self) -> list[tuple[Callable[[C], object], Future[Any]]]:
        """The next ones. Without any, whoever submits one begins the work anew."""
        with self._lock:
            jobs, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            self.is_at_work = bool(jobs)
            return jobs
