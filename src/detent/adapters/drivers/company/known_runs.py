"""Runs that are known: whoever says more to one reads only what is new in it."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Lock
from typing import Any

from attrs import define, field

from detent.adapters.drivers.company.identity import is_same
from detent.adapters.drivers.company.turns import Turns
from detent.adapters.drivers.loading import Loaded, loaded, loaded_behind
from detent.core.errors import StoredDataError
from detent.core.run.spec import AgentSpec
from detent.ports.journal import Journal, JournalDamagedError

MOST = 32
"""Of so many runs, those to which something was said last, it is known how they were."""


@define(eq=False)
class ProcessMemory:
    """What one process knows of runs, by id, those that were asked for last at the end."""

    lock: Lock = field(init=False, factory=Lock)
    runs: dict[str, tuple[Journal, AgentSpec[Any], Loaded[Any]]] = field(init=False, factory=dict)
    turns: Turns = field(init=False, factory=Turns)


class KnownRuns:
    """The runs of journals, as they were when somebody last said something to them.

    Without it n messages to one run would cost n times all of it: what waits to be read by the
    model is in every checkpoint.
    """

    def __init__(self) -> None:
        self._processes: dict[int, ProcessMemory] = {}

    @property
    def here(self) -> ProcessMemory:
        """What this process knows.

        RULE: a fork begins anew. It has locks as its parent had them, and no thread that would ever
        let go of one.
        """
        pid = os.getpid()
        return self._processes.get(pid) or self._processes.setdefault(pid, ProcessMemory())

    @property
    def turns(self) -> Turns:
        """Whose turn it is in this process to write to a run."""
        return self.here.turns

    def loaded(self, journal: Journal, spec: AgentSpec[Any], run_id: str) -> Loaded[Any]:
        """The run as it is by now. Raises as `loaded`.

        RULE: another run may have begun under its id since. Its first entry says so, and its last
        one that the store has no other past by now.
        """
        known = self.here.runs.get(run_id)
        if known is not None and known[0] is journal and known[1] is spec:
            with suppress(StoredDataError, JournalDamagedError):  # which is told of all of it
                is_it = is_same(journal, run_id, known[2].run.nonce)
                if is_it and (now := loaded_behind(journal, spec, known[2])) is not None:
                    return self._keep(journal, spec, now)
        return self.loaded_anew(journal, spec, run_id)

    def loaded_anew(self, journal: Journal, spec: AgentSpec[Any], run_id: str) -> Loaded[Any]:
        """The same, of all that the journal has: also of checkpoints that others have written."""
        here = self.here
        with here.lock:
            here.runs.pop(run_id, None)
        return self._keep(journal, spec, loaded(journal, spec, run_id))

    def _keep(self, journal: Journal, spec: AgentSpec[Any], at: Loaded[Any]) -> Loaded[Any]:
        here = self.here
        with here.lock:
            here.runs.pop(at.run.id, None)  # the one that was asked for last comes last
            here.runs[at.run.id] = journal, spec, at
            while len(here.runs) > MOST:
                del here.runs[next(iter(here.runs))]
        return at
