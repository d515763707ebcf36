"""Forks: a run that is under way stays with the process which drives it."""

from __future__ import annotations

import os

from detent.ports.journal import JournalError


class ForkedRunError(JournalError):
    """This process is a fork of the one that drives the run. Nothing was written.

    A tool has forked, and the child has come back from it: what it does there its parent does, too.
    """

    def __init__(self, run_id: str, pid: int) -> None:
        super().__init__(
            f"run {run_id!r} is driven by process {pid}, and process {os.getpid()} is a fork of it "
            "which has come back from a tool: end such a child by os._exit, or start it by "
            "subprocess; nothing of it was written"
        )
        self.run_id, self.pid = run_id, pid
