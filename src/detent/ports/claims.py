"""The claims port: a store that keeps, for each run, who drives it; and when a claim holds.

Whoever drives a run renews what it holds, or others may take it up. A claim that has lapsed never
comes alive again: its owner claims anew, under another id, and loses where somebody was faster. So
nobody who has read an old claim can overlook a renewed one.

A journal whose runs several processes may work on has a store of claims, as its attribute `claims`.
Without it nothing keeps two processes from driving the same run; each append is still refused to
all but one. `detent.ports.laws.check_claims` checks that an adapter keeps the promises made here.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Protocol, cast

from attrs import evolve, frozen

from detent.core.errors import DetentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

SURE = 2 / 3
"""The part of its time during which an owner relies on its claims. The rest is for clocks that
differ: others look at the whole of it."""
RENEWED = 1 / 3
"""After which part of its time an owner renews its claims."""
FORGOTTEN_S = 86400.0
"""How long after its time has lapsed an owner may be forgotten: none of its claims holds."""


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

    @property
    def text(self) -> str:
        """Which process it is, for people: of its host the name, and not when that was started."""
        return f"process {self.pid} on {self.host.partition(' ')[0]}"


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
        driven: the sentence that it is driven, and by whom; what to do depends on who is told.
        since: since when, in seconds since 1970.
        until: up to when it has said that it will, unless it renews that.
    """

    def __init__(self, run_id: str, claim: Claim, owner: Owner | None) -> None:
        self.run_id, self.owner, self.since = run_id, owner, claim.since
        self.until = claim.since if owner is None else owner.until
        who = "another process" if owner is None else owner.text
        self.driven = f"run {run_id!r} is driven by {who}"
        super().__init__(
            f"{self.driven}: wait for it with resume(…, wait=seconds), or, if "
            "it will not come back, take the run with resume(…, take_over=True); what people say "
            "needs neither, decide and cancel reach whoever drives it"
        )


class RunOfEngineError(DetentError):
    """The history of an engine says how this run goes on, and nobody else may. Nothing was done.

    It is no `RunBusyError`: a run is an engine's for as long as it lives, whoever is at work on it.

    Attributes:
        run_id: the run.
        engine: whose it is, as its host calls it.
    """

    def __init__(self, run_id: str, engine: str) -> None:
        self.run_id, self.engine = run_id, engine
        super().__init__(
            f"run {run_id!r} is driven by the effects of {engine}, whose history says how it goes "
            "on: a host on it with mode='effects' goes on with the run by itself, and what people "
            "say reaches it there, or by decide, send and cancel; one that has failed is tried "
            f"again by host.send({run_id!r}, TryAgain()). Where {engine} has lost the run for "
            "good, and only there, resume(…, take_over=True) takes it"
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


class Claims(Protocol):
    """Keeps claims. Any thread may call it, and many processes may share a store."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes see it, so that claims must be renewed."""
        ...

    def find(self, run_id: str) -> Claim | None:
        """The claim on a run, if there ever was one.

        Raises:
            JournalError: it cannot be read.
        """
        ...

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """Put `now` in the place of `was`; False, and nothing is done, when that is not there.

        Raises:
            JournalError: it cannot be written.
        """
        ...

    def owner(self, owner_id: str) -> Owner | None:
        """What was last kept of an owner.

        Raises:
            JournalError: it cannot be read.
        """
        ...

    def keep(self, owner: Owner) -> None:
        """Keep this of an owner, in place of what was known of it.

        Owners whose time ended more than `FORGOTTEN_S` before this one's may be forgotten.

        Raises:
            JournalError: it cannot be written.
        """
        ...


class SubmitSwap(Protocol):
    """Begins a swap; the future says whether `now` was put in the place of `was`."""

    def __call__(self, run_id: str, was: Claim | None, now: Claim, /) -> Future[bool]:
        """As `Claims.swap`, without waiting."""
        ...


def submit_swap_of(claims: Claims) -> SubmitSwap | None:
    """How to swap a claim without waiting, which a store may offer as its method `submit_swap`."""
    return cast("SubmitSwap | None", getattr(claims, "submit_swap", None))


def stands_of(claims: Claims) -> Callable[[str, Claim], bool] | None:
    """How to look whether a claim on a run stands, which a store may offer as its method `stands`.

    It is asked right before each tool, also in an event loop: so it must cost next to nothing. A
    store whose claims may go by another way than `swap` has it: files, which anybody can delete.
    """
    return cast("Callable[[str, Claim], bool] | None", getattr(claims, "stands", None))


def guards_appends(claims: Claims) -> bool:
    """Whether the journal of these claims refuses an append whose claim (`Entry.claim`) is gone.

    A store says so by its attribute `guards_appends`. Others are asked for the claim before each
    append, which costs a question more, and leaves the instant between the two.
    """
    return bool(getattr(claims, "guards_appends", False))


def claims_of(journal: object) -> Claims | None:
    """The store of the claims on a journal's runs; None where it has none."""
    return cast("Claims | None", getattr(journal, "claims", None))
