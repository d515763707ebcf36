"""Faults: runs that could not go on, each of which is tried again, later and later."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from attrs import define

from detent.adapters.telemetry.logs import LOGGER
from detent.ports.clock import Clock

FIRST_PAUSE_S, PAUSE_MAX_S = 1.0, 300.0
"""How long a run that could not go on is left alone: at first, and at most."""


@define
class _Fault:
    """Why a run could not go on here, how often, and until when it is left alone."""

    text: str
    times: int = 0
    until: float = 0.0


class Faults:
    """By run, what keeps it from going on in this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._faults: dict[str, _Fault] = {}

    def add(self, run_id: str, text: str) -> float:
        """A run could not go on; when it is to be tried again, in seconds since 1970."""
        fault = self._faults.setdefault(run_id, _Fault(text))
        pause_s = min(FIRST_PAUSE_S * 2**fault.times, PAUSE_MAX_S)
        fault.text, fault.times, fault.until = text, fault.times + 1, self._clock.now() + pause_s
        LOGGER.warning(
            "run %s could not go on, for the %d. time; it is tried again in %.0f s: %s",
            *(run_id, fault.times, pause_s, text),
            extra={"run_id": run_id},
        )
        return fault.until

    def drop(self, run_id: str) -> None:
        """A run has gone on, or is somebody else's."""
        self._faults.pop(run_id, None)

    def resting(self) -> AbstractSet[str]:
        """The runs that are left alone now."""
        now = self._clock.now()
        return {run_id for run_id, fault in self._faults.items() if fault.until > now}

    def texts(self) -> dict[str, str]:
        """By run, the name of an error."""
        return {run_id: fault.text for run_id, fault in self._faults.items()}
