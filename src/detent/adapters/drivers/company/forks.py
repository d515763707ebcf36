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


def require_own(run_id: str, pid: int) -> None:
    """Make sure that this is the process which began to drive a run.

    Raises:
        ForkedRunError: it is a fork of that one.
    """
    if pid != os.getpid():
        raise ForkedRunError(run_id, pid)
