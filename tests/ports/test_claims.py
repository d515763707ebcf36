"""Claims: when a run may be taken up, by whom, and what stays of it."""

from __future__ import annotations

import pytest

from detent.journals import MemoryJournal
from detent.ports.claims import (
    Claim,
    Owner,
    RunBusyError,
    RunOfEngineError,
    claims_of,
    given_back,
    is_held,
    next_claim,
    stands_of,
    submit_swap_of,
    sure_for,
)

ME = Owner("me", "here", 1, "0", 15.0)
CLAIM = Claim("me", 3, 7.0)


@pytest.mark.parametrize(
    ("claim", "owner", "at"),
    [(None, None, 0.0), (CLAIM, ME, 15.0), (CLAIM, None, 0.0), (given_back(CLAIM), ME, 0.0)],
)
def test_a_claim_holds_until_its_owners_time_is_over(
    claim: Claim | None, owner: Owner | None, at: float
) -> None:
    """Or until it is given back, or nobody knows whose it is."""
    assert is_held(CLAIM, ME, 14.9)
    assert not is_held(claim, owner, at)


def test_each_claim_has_a_higher_epoch() -> None:
    """Behind one that was given back, too: a lower one is for ever out of date."""
    first = next_claim(None, ME, 1.0)
    second = next_claim(given_back(first), ME, 2.0)

    assert (first, second) == (Claim("me", 1, 1.0), Claim("me", 2, 2.0))


def test_an_owner_is_sure_for_two_thirds_of_its_time() -> None:
    """The rest is for clocks that differ."""
    assert sure_for(15.0) == 10.0


def test_a_busy_run_says_whose_it_is_and_what_to_do() -> None:
    """With the facts as attributes."""
    busy = RunBusyError("r", CLAIM, ME)

    assert (busy.run_id, busy.owner, busy.since, busy.until) == ("r", ME, 7.0, 15.0)
    assert "run 'r' is driven by process 1 on here: wait for it with resume(…, wait=" in str(busy)
    unknown = RunBusyError("r", CLAIM, None)
    assert (unknown.until, "by another process" in str(unknown)) == (7.0, True)


def test_a_store_offers_what_it_can() -> None:
    """A journal its claims, and these a quick look and a swap without waiting; or nothing."""
    plain, claims = MemoryJournal(), MemoryJournal().claims
    assert claims_of(plain) is plain.claims
    assert (submit_swap_of(claims), stands_of(claims)) == (None, None)


def test_a_run_of_an_engine_says_whose_it_is_and_what_to_do() -> None:
    """For good: it is not busy, and to wait would be of no use."""
    kept = RunOfEngineError("r", "Temporal")

    assert (kept.run_id, kept.engine) == ("r", "Temporal")
    assert "run 'r' is driven by the effects of Temporal" in str(kept)
    assert "host.send('r', TryAgain())" in str(kept)
    assert not isinstance(kept, RunBusyError)
