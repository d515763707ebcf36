"""The claims port: a store that keeps, for each run, who drives it.

A journal whose runs several processes may work on has one, as its attribute `claims`. Without it
nothing keeps two processes from driving the same run; each append is still refused to all but one.
`detent.ports.laws.check_claims` checks that an adapter keeps the promises made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from detent.core.control.claims import Claim, Owner
from detent.ports.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

FORGOTTEN_S = 86400.0
"""How long after its time has lapsed an owner may be forgotten: none of its claims holds."""


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


def claims_of(journal: Journal) -> Claims | None:
    """The store of the claims on a journal's runs; None where it has none."""
    return cast("Claims | None", getattr(journal, "claims", None))
