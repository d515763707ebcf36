"""Processes: which one this is, and whether another one on this machine has ended."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path

from detent.adapters.system.clocks import run_time
from detent.ports.claims import FORGOTTEN_S, Owner

PROC = Path("/proc")
STATE, STARTED = 0, 19
"""Where /proc/…/stat says them, behind the name: proc_pid_stat(5)."""
ENDED = frozenset("ZX")
DIFFERING_S = 300.0
"""By how much the clocks of two machines may differ before one takes what the other renews."""


@cache
def host() -> str:
    """This machine since it was started, and the numbering of processes in this container."""
    known = [socket.gethostname()]
    try:
        known.append((PROC / "sys/kernel/random/boot_id").read_text().strip())
        known.append(str((PROC / "self/ns/pid").readlink()))
    except OSError:  # only Linux says it
        pass
    return " ".join(known)


def this_process(owner_id: str, until: float) -> Owner:
    """This process as an owner."""
    return Owner(owner_id, host(), os.getpid(), _started(os.getpid()), until)


def is_this_process(owner: Owner) -> bool:
    """Whether the owner is this process."""
    return owner.pid == os.getpid() and owner.host == host()


def has_ended(owner: Owner) -> bool:
    """Whether the owner's process is known to have ended. False when nothing is known of it."""
    if owner.host != host() or not PROC.exists():
        return False  # without a boot id two machines may look alike
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is there, and somebody else's
    stat = _stat(owner.pid)
    return bool(stat) and (stat[STATE] in ENDED or stat[STARTED] != owner.started)


class LateOwners:
    """Owners whose time is over by our clock: whether they really renew their claims no more.

    RULE: a machine's clock may be wrong, or be set while a process lives that has read it before.
    So an owner is heard out by a clock that nobody sets, for `time_s`: what it keeps must stand
    still for as long. That counts from when we saw it first, mostly before its time is over.

    RULE: of another machine nobody knows whether its process is there. So one whose time has been
    over for `DIFFERING_S` is not heard out: else a process that looks once, and ends, would never
    take the run of one that is gone.
    """

    def __init__(self, time_s: float, ran: Callable[[], float] = run_time) -> None:
        self._time_s = time_s
        self._ran = ran
        self._seen: dict[str, tuple[Owner, float]] = {}

    def has_stood_still(self, owner: Owner, now: float) -> bool:
        """Whether it has not been heard of for long enough, or will never be; to be asked often.

        Args:
            owner: what it keeps of itself, also as long as its time is not over.
            now: the time of day.
        """
        if not _may_live(owner, now) or is_this_process(owner):
            return True
        ran = self._ran()
        seen, since = self._seen.get(owner.id, (None, ran))
        if seen == owner:
            return ran - since >= self._time_s
        known = list(self._seen.items())  # threads ask
        self._seen = {id_: sighting for id_, sighting in known if sighting[1] > ran - FORGOTTEN_S}
        self._seen[owner.id] = owner, ran
        return False


def _may_live(owner: Owner, now: float) -> bool:
    if owner.host == host():
        return PROC.exists() and not has_ended(owner)
    return now < owner.until + DIFFERING_S


def _started(pid: int) -> str:
    stat = _stat(pid)
    return stat[STARTED] if stat else ""


def _stat(pid: int) -> list[str]:
    """What Linux says of a process, behind its name; nothing where it says nothing."""
    try:
        text = (PROC / str(pid) / "stat").read_bytes()  # the name may be cut within a character
    except OSError:
        return []
    return text.rpartition(b")")[2].decode("ascii").split()
