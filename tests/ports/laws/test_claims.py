"""The laws of claims: every store keeps them, and a store that does not is found out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from detent.adapters.journals.encrypted import EncryptedJournal
from detent.adapters.journals.memory import MemoryClaims, MemoryJournal
from detent.adapters.journals.redacted import RedactedJournal
from detent.ports.claims import FORGOTTEN_S, Claim, Owner, claims_of
from detent.ports.journal import Entry
from detent.ports.laws.claims import LAWS, MakeClaims, check_claims
from tests.ports.laws.test_journal import MAKERS


def claims_in(store: str, place: Path) -> MakeClaims:
    make = MAKERS[store](place)
    return lambda: claims_of(make()) or pytest.fail("it has no claims")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("store", MAKERS)
def test_a_store_keeps_a_law(
    store: str, law: Callable[[MakeClaims, str], None], tmp_path: Path
) -> None:
    """Each one by itself."""
    law(claims_in(store, tmp_path), "r")


@pytest.mark.parametrize("store", MAKERS)
def test_a_store_keeps_all_laws(store: str, tmp_path: Path) -> None:
    """As a user checks it, on one store."""
    check_claims(claims_in(store, tmp_path))


@pytest.mark.parametrize("store", MAKERS)
def test_who_lapsed_long_ago_is_forgotten(store: str, tmp_path: Path) -> None:
    """Or a store would fill with processes that are long gone."""
    claims = claims_in(store, tmp_path)()
    claims.keep(Owner("old", "host", 1, "", 10.0))
    claims.keep(Owner("new", "host", 2, "", 11.0 + FORGOTTEN_S))

    assert (claims.owner("old") is None) == claims.is_shared
    assert claims.owner("new") is not None


@pytest.mark.parametrize("store", MAKERS)
def test_with_a_run_its_claim_is_deleted(store: str, tmp_path: Path) -> None:
    """A new run of the same id begins with none."""
    journal = MAKERS[store](tmp_path)()
    claims = claims_of(journal)
    assert claims is not None
    journal.append("r", [Entry(0, 1.0, "Started", "running", {})])
    claims.swap("r", None, Claim("me", 1, 1.0))
    journal.delete("r")

    assert claims.find("r") is None


def test_a_journal_around_another_has_its_claims() -> None:
    """What is redacted or sealed is driven by one process as well."""
    inner = MemoryJournal()

    assert claims_of(RedactedJournal(inner, str)) is inner.claims
    assert claims_of(EncryptedJournal(inner, bytes, bytes)) is inner.claims


class Broken(MemoryClaims):
    """Does one thing in another way."""

    def __init__(self, name: str, method: Callable[..., Any]) -> None:
        super().__init__()
        setattr(self, name, lambda *args: method(self, *args))


def overwrites(self: MemoryClaims, run_id: str, was: object, now: Claim) -> bool:
    self._claims[run_id] = now
    return True


def looks_at_owners_only(self: MemoryClaims, run_id: str, was: Claim | None, now: Claim) -> bool:
    found = self._claims.get(run_id)
    return getattr(found, "owner", "") == getattr(was, "owner", "") and overwrites(
        self, run_id, was, now
    )


def says_no_and_writes(self: MemoryClaims, run_id: str, was: Claim | None, now: Claim) -> bool:
    is_there = self._claims.get(run_id) == was
    overwrites(self, run_id, was, now)
    return is_there


def swapped_if(is_same: Callable[[Claim, Claim], object]) -> Callable[..., bool]:
    """A swap that takes a claim for the one that was said where it is the same in some way."""

    def swap(self: MemoryClaims, run_id: str, was: Claim | None, now: Claim) -> bool:
        found = self._claims.get(run_id)
        if found is None or was is None:
            return found is was and overwrites(self, run_id, was, now)
        return bool(is_same(found, was)) and overwrites(self, run_id, was, now)

    return swap


def kept_as(change: Callable[[Claim], Claim]) -> Callable[..., bool]:
    """A swap that keeps a claim in another way than it was given."""

    def swap(self: MemoryClaims, run_id: str, was: Claim | None, now: Claim) -> bool:
        return MemoryClaims.swap(self, run_id, was, change(now))

    return swap


def forgets_what_is_given_back(
    self: MemoryClaims, run_id: str, was: Claim | None, now: Claim
) -> bool:
    is_put = MemoryClaims.swap(self, run_id, was, now)
    if is_put and not now.owner:
        del self._claims[run_id]
    return is_put


def quiet_swap(self: MemoryClaims, run_id: str, was: Claim | None, now: Claim) -> None:
    MemoryClaims.swap(self, run_id, was, now)


def has_no_lock(self: MemoryClaims, run_id: str, was: Claim | None, now: Claim) -> bool:
    return self._claims.get(run_id) == was and overwrites(self, run_id, was, now)


BROKEN: dict[str, Broken] = {
    "overwrites": Broken("swap", overwrites),
    "looks at owners only": Broken("swap", looks_at_owners_only),
    "says no and writes": Broken("swap", says_no_and_writes),
    "takes none": Broken("swap", lambda *args: False),
    "finds none": Broken("find", lambda self, run_id: None),
    "one claim for all runs": Broken(
        "find", lambda self, run_id: next(iter(self._claims.values()), None)
    ),
    "cannot read": Broken("find", lambda self, run_id: self._claims["no such run"]),
    "knows no owner": Broken("owner", lambda self, owner_id: None),
    "keeps owners once": Broken(
        "keep", lambda self, owner: self._owners.setdefault(owner.id, owner)
    ),
    "forgets at once": Broken(
        "keep", lambda self, owner: (self._owners.clear(), self._owners.update({owner.id: owner}))
    ),
    "has no lock": Broken("swap", has_no_lock),
    "looks at epochs only": Broken("swap", swapped_if(lambda one, two: one.epoch == two.epoch)),
    "looks at all but the time": Broken(
        "swap", swapped_if(lambda one, two: (one.owner, one.epoch) == (two.owner, two.epoch))
    ),
    "takes a first claim for any": Broken(
        "swap",
        lambda self, run_id, was, now: (
            overwrites(self, run_id, was, now)
            if was is None
            else MemoryClaims.swap(self, run_id, was, now)
        ),
    ),
    "forgets what is given back": Broken("swap", forgets_what_is_given_back),
    "rounds times": Broken("swap", kept_as(lambda claim: evolve(claim, since=round(claim.since)))),
    "has room for small epochs": Broken(
        "swap", kept_as(lambda claim: evolve(claim, epoch=claim.epoch % 2**32))
    ),
    "says nothing of a refusal, and nothing of a swap": Broken("swap", quiet_swap),
    "knows the machine of no owner": Broken(
        "keep", lambda self, owner: self._owners.update({owner.id: evolve(owner, host="")})
    ),
}


@pytest.mark.parametrize("store", BROKEN)
def test_a_store_that_breaks_a_law_is_found(store: str) -> None:
    """Each of these would let two processes drive one run, or none."""
    with pytest.raises(AssertionError, match="the store breaks a law"):
        check_claims(lambda: BROKEN[store])
