"""Claims: who drives a run. Whoever does renews what it holds, or others may take it up.

A claim that has lapsed never comes alive again: its owner claims anew, under another id, and loses
where somebody was faster. So nobody who has read an old claim can overlook a renewed one.
"""

from __future__ import annotations

from math import inf

from attrs import evolve, frozen

from detent.core.errors import DetentError

SURE = 2 / 3
"""The part of its time during which an owner relies on its claims. The rest is for clocks that
differ: others look at the whole of it."""
RENEWED = 1 / 3
"""After which part of its time an owner renews its claims."""


@frozen
class Owner:
    """A process that drives runs, as others see it.

    Attributes:
        id: another one each time that a process begins to claim, or its claims may have lapsed.
        host: the machine since it was started: a process number means something only there.
        pid: the number of the process.
        started: when the process was started, in the machine's own words; "" where it does not say.
        until: when its claims lapse, unless it renews them, in seconds since 1970.
    """

    id: str
    host: str
    pid: int
    started: str = ""
    until: float = inf


@frozen
class Claim:
    """What a store keeps of who drives a run.

    Attributes:
        owner: the id of an `Owner`; "" when the claim was given back.
        epoch: grows by one each time that the run is claimed.
        since: when it was claimed, in seconds since 1970.
    """

    owner: str
    epoch: int
    since: float


class RunBusyError(DetentError):
    """A process that lives drives this run. Nothing was done.

    Attributes:
        run_id: the run.
        owner: who drives it; None when its owner is not known any more.
        since: since when, in seconds since 1970.
        until: up to when it has said that it will, unless it renews that.
    """

    def __init__(self, run_id: str, claim: Claim, owner: Owner | None) -> None:
        self.run_id, self.owner, self.since = run_id, owner, claim.since
        self.until = claim.since if owner is None else owner.until
        who = "another process"
        if owner is not None:  # of the host its name, without what tells one start from the next
            who = f"process {owner.pid} on {owner.host.partition(' ')[0]}"
        super().__init__(
            f"run {run_id!r} is driven by {who}: wait for it with resume(…, wait=seconds), or, if "
            "it will not come back, take the run with resume(…, take_over=True); what people say "
            "needs neither, decide and cancel reach whoever drives it"
        )


def is_held(claim: Claim | None, owner: Owner | None, at: float) -> bool:
    """Whether a claim, of which this is known of the owner, forbids others to drive the run."""
    return claim is not None and bool(claim.owner) and owner is not None and at < owner.until


def next_claim(claim: Claim | None, owner: Owner, at: float) -> Claim:
    """The claim by which `owner` follows whoever had the run before."""
    return Claim(owner.id, 1 if claim is None else claim.epoch + 1, at)


def given_back(claim: Claim) -> Claim:
    """What stays of a claim that is held no longer: no epoch comes twice."""
    return evolve(claim, owner="")


def sure_for(time_s: float) -> float:
    """For how long after renewing an owner whose claims hold for `time_s` can rely on them."""
    return SURE * time_s
