"""Faults: runs that could not go on, each tried again, and those that cannot be followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import TypeVar

from attrs import define, field, frozen

from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import StoredDataError
from detent.ports.clock import Clock
from detent.ports.journal import JournalDamagedError, RunNotFoundError
from detent.ports.listing import StoredRun

T = TypeVar("T")

FIRST_PAUSE_S, PAUSE_MAX_S = 1.0, 300.0
"""How long a run that could not go on is left alone: at first, and at most."""
DOUBLINGS = 10
"""More of them are over that, and in the end over what a number can be."""
TELL_S = 3.0
"""How long an engine may take to hear of a run; it is told again by the next look."""
PART, PART_S = 20, 0.1
"""How many of the runs that wait one look reads at least, and for how many seconds it reads more:
each is made again of its entries, a short one within half a thousandth of a second."""
AGAIN_S = 60.0
"""After how long those that could not be read are tried again."""
NOTED_S = 180.0
"""How long it counts that a run could not go on which somebody else has tried again."""
STRANGE_S = 180.0
"""How long it counts that a run was called for which is not here: its host repeats each minute."""
KEPT = 1000
"""Of so many runs it is said what is the matter with them."""
MOST = 10_000
"""Of so many that wait it is known, so that nobody reads them in vain, and they are counted."""


@define
class _Fault:
    """Why a run could not go on here, how often, since when, and until when it is left alone.

    `is_past` once it has got on since: how often counts on, until it has been left in peace.
    """

    text: str
    is_past: bool = False
    times: int = 0
    until: float = 0.0
    pause_s: float = 0.0
    at: float = 0.0


@frozen
class HostHealth:
    """How a host is.

    Attributes:
        is_ready: whether it begins runs, and its store could be looked at lately. It turns when
            five looks have failed, one after the other, or none has come to an end for half a
            minute, and back with the next one that succeeds.
            A look fails as well while the store takes nothing: once a write of this process has
            failed, each look writes first what changes no run, until that succeeds.
        running: how many runs go on here.
        waiting: how many wait here for a place.
        faults: by run, what keeps it from going on: the name of an error. ``AgentChangedError``
            is of one that this release of its agent cannot follow, whether it goes on or waits; by
            effects, of one that waits for a worker of the release that it began with;
            ``OutdatedQuestionError`` of one that waits, and that another release which is up keeps
            from being asked anew by this one.
            And by the name of its engine ("DBOS", "Temporal", "Restate") an
            ``EngineUnavailableError``, while that does not answer: no run goes on then. Of Restate
            it may be a sentence: why it does answer, and runs do not go on here.
        why_not_ready: in a sentence; "" where it is.
        more_faults: of runs that wait and cannot be followed here, `faults` has the first 1,000: by
            the name of the error, how many there are besides, 9,000 at most.
    """

    is_ready: bool
    running: int
    waiting: int
    faults: Mapping[str, str]
    why_not_ready: str = ""
    more_faults: Mapping[str, int] = field(factory=dict)


class Faults:
    """By run, what keeps it from going on in this process. Any thread may read it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._faults: dict[str, _Fault] = {}

    def add(self, run_id: str, text: str) -> float:
        """A run could not go on; when it is to be tried again, in seconds since 1970."""
        fault = self._faults.setdefault(run_id, _Fault(text))
        fault.pause_s = pause_s = min(FIRST_PAUSE_S * 2 ** min(fault.times, DOUBLINGS), PAUSE_MAX_S)
        fault.text, fault.is_past, fault.times = text, False, fault.times + 1
        fault.until = self._clock.now() + pause_s
        LOGGER.warning(
            "run %s could not go on, for the %d. time; it is tried again in %.0f s: %s",
            *(run_id, fault.times, pause_s, text),
            extra={"run_id": run_id},
        )
        return fault.until

    def note(self, run_id: str, text: str) -> None:
        """A run could not go on, and somebody else has it tried again, each half minute at least.

        RULE: what does not come again is over: another worker has succeeded, or it was about a run
        that has been deleted, and whose id another one has by now.
        """
        fault = self._faults.setdefault(run_id, _Fault(text))
        fault.text, fault.is_past, fault.at = text, False, self._clock.now()

    def succeed(self, run_id: str) -> None:
        """What was to be tried again here has succeeded. What is noted stays."""
        if (fault := self._faults.get(run_id)) is not None and fault.times:
            self.drop(run_id)

    def drop(self, run_id: str) -> None:
        """A run has gone on, or is somebody else's."""
        self._faults.pop(run_id, None)

    def get_on(self, run_id: str) -> None:
        """Something was recorded of a run: nothing keeps it now. It may go on for hours.

        RULE: it is not dropped yet. One that gets on by a step, and fails at the next, each time,
        is tried ever more rarely all the same.
        """
        if (fault := self._faults.get(run_id)) is not None:
            fault.is_past = True

    def resting(self) -> AbstractSet[str]:
        """The runs that are left alone now.

        RULE: none for longer than its pause, here as wherever something has its time: where the
        clock is set back, one that ends later than that from now on is over.
        """
        now, known = self._clock.now(), self._faults.copy()
        return {
            run_id for run_id, fault in known.items() if now < fault.until <= now + fault.pause_s
        }

    def texts(self) -> dict[str, str]:
        """By run, the name of an error."""
        now, known = self._clock.now(), self._faults.copy()
        for run_id, fault in known.items():
            if not fault.times and abs(now - fault.at) > NOTED_S:
                self.drop(run_id)
        known = self._faults.copy()
        return {run_id: fault.text for run_id, fault in known.items() if not fault.is_past}


class Strangers:
    """Runs that an engine calls for, and that the store has not: those of another deployment.

    RULE: a call that comes late, for a run that has been deleted meanwhile, is nobody's mistake.
    Who has a run to go on has it called for again and again, so that the second call tells.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen = set[str]()
        self._until = float("-inf")

    @property
    def are_here(self) -> bool:
        """Whether there were any lately."""
        now = self._clock.now()
        return now < self._until <= now + STRANGE_S

    def note(self, run_id: str) -> None:
        """One was called for. The log says so once while they come."""
        if run_id in self._seen:
            if not self.are_here:
                LOGGER.warning(
                    "run %s is called for, and is not in this journal: another deployment has the "
                    "same name in the engine. Give each one of its own",
                    run_id,
                    extra={"run_id": run_id},
                )
            self._until = self._clock.now() + STRANGE_S
        elif len(self._seen) < KEPT:
            self._seen.add(run_id)
        else:
            self._seen = {run_id}


class UnreadableRuns:
    """By run, the name of the error with which it could not be read. It is for many threads."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, int]] = {}

    def note(self, run: StoredRun, error: Exception) -> None:
        """It could not be read. The log says so once, as nobody may look at it for long."""
        run_id, name = run.run_id, type(error).__name__
        was, count = self._known.get(run_id), len(self._known)
        if was is None and count >= MOST:
            return
        self._known[run_id] = name, run.length
        if count < KEPT and (was is None or was[0] != name):
            LOGGER.warning(
                "run %s waits and cannot be followed by the agents that are here: %s; see detent "
                "runs show %s",
                *(run_id, name, run_id),
                extra={"run_id": run_id},
            )

    def drop(self, run_id: str) -> None:
        """It could be read, or does not wait any more."""
        self._known.pop(run_id, None)

    def has(self, run: StoredRun) -> bool:
        """Whether a run could not be read as it is listed. It is tried again by looks."""
        was = self._known.get(run.run_id)
        return was is not None and was[1] == run.length

    def ids(self) -> Sequence[str]:
        """All of them."""
        return list(self._known)

    def texts(self) -> Mapping[str, str]:
        """The first ones."""
        return {run_id: name for run_id, (name, _) in self._first(0, KEPT)}

    def more(self) -> Mapping[str, int]:
        """How many there are besides, by the name of the error."""
        return Counter(name for _, (name, _) in self._first(KEPT, None))

    def _first(self, begin: int, end: int | None) -> Iterator[tuple[str, tuple[str, int]]]:
        return islice(self._known.copy().items(), begin, end)


class Sweep:
    """Reads all runs that wait, once, a part at a time; and again what could not be read.

    A release that changes an agent is another process, and the runs that wait are found by nobody
    else: nothing is owed to them. It blocks, and is for one thread at a time.

    Args:
        waiting: all runs that wait.
        listed: what the list says of a run now.
        read: reads one; what goes wrong is noted in `unreadable`, and raised.
        unreadable: what was noted.
        clock: the time.
        faults: what keeps others from going on here, which may have ended elsewhere.
    """

    def __init__(
        self,
        waiting: Callable[[], Iterator[StoredRun]],
        listed: Callable[[str], StoredRun | None],
        read: Callable[[StoredRun], object],
        unreadable: UnreadableRuns,
        clock: Clock,
        *,
        faults: Faults | None = None,
    ) -> None:
        self._faults = Faults(clock) if faults is None else faults
        self._waiting, self._listed, self._read = waiting, listed, read
        self._unreadable, self._clock = unreadable, clock
        self._left: Iterator[StoredRun] | None = None
        self._again: Iterator[str] | None = None
        self._is_done = False
        self._next_at = float("-inf")

    def look(self) -> None:
        """Read the next part.

        Raises:
            JournalError: the store cannot be read.
        """
        now = self._clock.now()
        if self._is_done:
            if self._again is not None or not now < self._next_at <= now + AGAIN_S:
                self._look_again(now)
            return
        self._left = self._waiting() if self._left is None else self._left
        try:
            self._is_done = self._work_off(self._left, self._try)
        except BaseException:
            self._left = None  # from the front, next time
            raise
        self._next_at = now + AGAIN_S

    def _work_off(self, left: Iterator[T], work: Callable[[T], object]) -> bool:
        """Do the next part; whether that was the last one."""
        end = monotonic() + PART_S
        for count, item in enumerate(left, 1):
            work(item)
            if count >= PART and monotonic() >= end:
                return False
        return True

    def _look_again(self, now: float) -> None:
        """Try the next part of what could not be read.

        RULE: there may be as many as wait. All at once, each minute, would hold the other looks up.
        """
        if self._again is None:
            self._again, self._next_at = iter(self._unreadable.ids()), now + AGAIN_S
            self._look_at_faults()
        if self._work_off(self._again, self._try_again):
            self._again = None

    def _try_again(self, run_id: str) -> None:
        run = self._listed(run_id)
        if run is None or run.status != "waiting":
            self._unreadable.drop(run_id)
        else:
            self._try(run)

    def _look_at_faults(self) -> None:
        for run_id in self._faults.texts():
            run = self._listed(run_id)
            if run is None or run.status != "running":
                self._faults.drop(run_id)

    def _try(self, run: StoredRun) -> None:
        with suppress(StoredDataError, JournalDamagedError, RunNotFoundError):
            self._read(run)
