"""Gauges of hosts: what each time that metrics are collected is so, of all hosts of the process."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

from detent.adapters.telemetry import conventions as names
from detent.ports.telemetry import HostFigures, Telemetry

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation

FRESH_S = 1.0
"""So long figures serve for the other gauges of the same collection."""
Read: TypeAlias = Callable[[], HostFigures]
Measure: TypeAlias = Callable[[Read], Callable[[], object]]
Of: TypeAlias = Callable[[Sequence[HostFigures]], "list[Observation]"]


def measured(measuring: Iterable[Telemetry | None], read: Read) -> Callable[[], object]:
    """Have a host measured from now on; what is given ends that.

    RULE: by the first of its agents' telemetry that can. A host is one, whatever measures its
    agents, and what two of them sent to one place would be counted twice.
    """
    for each in measuring:
        measure: Measure | None = getattr(each, "measure_host", None)
        if measure is not None:
            return measure(read)
    return lambda: None


class HostGauges:
    """The gauges of one meter, and the hosts that they are read of.

    Several hosts of a process are told as one: counts are added up, the oldest question is that of
    all, and they are ready where each of them is.
    """

    def __init__(self, meter: Meter) -> None:
        from opentelemetry.metrics import Observation

        self._lock, self._reads = Lock(), dict[object, Read]()
        self._read_at, self._figures = float("-inf"), list[HostFigures]()

        def gauge(name: str, unit: str, about: str, of: Of) -> None:
            def observed(options: CallbackOptions) -> list[Observation]:
                figures = self._now()
                return of(figures) if figures else []

            meter.create_observable_gauge(name, [observed], unit, about)

        def faults(hosts: Sequence[HostFigures]) -> list[Observation]:
            kinds = sum((Counter(host.faults) for host in hosts), Counter[str]())
            return [Observation(count, {names.ERROR_TYPE: kind}) for kind, count in kinds.items()]

        def asking(hosts: Sequence[HostFigures]) -> list[Observation]:
            found = [host.questions for host in hosts if host.questions is not None]
            return [Observation(sum(found))] if found else []

        def oldest(hosts: Sequence[HostFigures]) -> list[Observation]:
            found = [host.oldest_wait_s for host in hosts if host.oldest_wait_s is not None]
            return [Observation(max(found))] if found else []

        def ready(hosts: Sequence[HostFigures]) -> list[Observation]:
            return [Observation(int(all(host.is_ready for host in hosts)))]

        def running(hosts: Sequence[HostFigures]) -> list[Observation]:
            return [Observation(sum(host.running for host in hosts))]

        def waiting(hosts: Sequence[HostFigures]) -> list[Observation]:
            return [Observation(sum(host.waiting for host in hosts))]

        gauge(names.HOST_READY, "1", "1 where the host is ready, else 0.", ready)
        gauge(names.HOST_RUNNING, "{run}", "Runs that go on here.", running)
        gauge(names.HOST_WAITING, "{run}", "Runs that wait here for a place.", waiting)
        gauge(names.HOST_FAULTS, "{run}", "What keeps runs from going on.", faults)
        gauge(names.HUMAN_WAITING, "{call}", "Calls that wait for somebody's decision.", asking)
        gauge(names.HUMAN_OLDEST, "s", "How long the oldest of them has waited.", oldest)

    def add(self, read: Read) -> Callable[[], None]:
        """Read a host as well, until what is given is called. Any thread may call either."""
        key = object()

        def end() -> None:
            with self._lock:
                self._reads.pop(key, None)
                self._read_at = float("-inf")

        with self._lock:
            self._reads[key] = read
            self._read_at = float("-inf")
        return end

    def _now(self) -> list[HostFigures]:
        """What the hosts say; they are asked once for all gauges of a collection.

        RULE: nobody who opens or closes a host waits for a store that another one asks.
        """
        with self._lock:
            if time.monotonic() - self._read_at < FRESH_S:
                return self._figures
            reads = self._reads.copy()
        figures = [read() for read in reads.values()]
        with self._lock:
            if reads == self._reads:
                self._figures, self._read_at = figures, time.monotonic()
        return figures


_of_program: list[HostGauges] = []
_of_providers: WeakKeyDictionary[MeterProvider, HostGauges] = WeakKeyDictionary()
_making = Lock()


def gauges_of(provider: MeterProvider | None, meter: Meter) -> HostGauges:
    """The gauges of a provider, None being the program's own; made with the first host.

    RULE: a meter keeps the first gauge of a name, and never asks a second one of it: all telemetry
    of a process that goes to one provider shares these.
    """
    with _making:
        if provider is None:
            if not _of_program:
                _of_program.append(HostGauges(meter))
            return _of_program[0]
        if provider not in _of_providers:
            _of_providers[provider] = HostGauges(meter)
        return _of_providers[provider]
