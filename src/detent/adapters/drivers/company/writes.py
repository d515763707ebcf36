"""Writes: whether a store that can be read can be written to as well."""

from __future__ import annotations

from detent.adapters.system.chance import SystemChance
from detent.adapters.system.processes import this_process
from detent.ports.claims import Claims
from detent.ports.clock import Clock
from detent.ports.journal import JournalConflictError


class Writes:
    """Notes that a write has failed, and tries then whether the store takes another one.

    RULE: while all is well nothing is written to find that out, and what is written then is of no
    run: an owner without claims, always the same, whom the store forgets in its time.
    """

    def __init__(self, claims: Claims, clock: Clock) -> None:
        self._claims, self._clock = claims, clock
        self._owner_id = SystemChance().new_id()
        self._failures, self._proven = 0, 0

    @property
    def have_failed(self) -> bool:
        """Whether one has since a proof."""
        return self._failures > self._proven

    def note(self, error: BaseException) -> None:
        """A write has failed. A store that says who was faster has looked, and can be written."""
        if not isinstance(error, JournalConflictError):
            self._failures += 1

    def prove(self) -> None:
        """Write once more where one has failed: where that succeeds, none has any more.

        Raises:
            JournalError: the store cannot be written to.
        """
        if self.have_failed:
            failures = self._failures  # what fails meanwhile, in other threads, is not proven
            self._claims.keep(this_process(self._owner_id, self._clock.now()))
            self._proven = failures
