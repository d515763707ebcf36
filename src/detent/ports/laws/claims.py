"""The promises of the claims port as checks: run them against an adapter of your own.

def test_my_claims(tmp_path):
    check_claims(lambda: MyJournal(tmp_path).claims)
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, get_ident

from attrs import evolve

from detent.ports.claims import FORGOTTEN_S, Claim, Claims, Owner, given_back
from detent.ports.laws.breaking import PATIENCE_S, expect, in_time, races
from detent.ports.names import NAME_MAX

MakeClaims = Callable[[], Claims]
"""Opens the store under test: each call a new handle on the same, at first empty, store."""

MINE, THEIRS = Claim("mine", 2**40, 1.7e9 + 2**-20), Claim("theirs", 2**40 + 1, 1.7e9 + 1)
OWNER = Owner("mine", "host ü", 42, "7", 1e9)
ODD = f"odd/../id ü%2F{chr(0x1F512) * NAME_MAX}"
"""The claim on a thread is called after it, and is longer than the name of a run may be."""


def check_claims(make: MakeClaims) -> None:
    """Check that a store keeps what the `Claims` port promises.

    Args:
        make: opens the store. Every call must give a handle on the same store, which is empty at
            first.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    for number, law in enumerate(LAWS):
        try:
            law(make, f"{ODD}{number}")
        except AssertionError:
            raise
        except Exception as error:
            sentence = f"{(law.__doc__ or '').strip()} ({type(error).__name__}: {error})"
            raise AssertionError(f"the store breaks a law: {sentence}") from error


def a_claim_takes_the_place_of_another(make: MakeClaims, run_id: str) -> None:
    """What is swapped in is found, by any handle; any text can be the id of a run."""
    _expect(make().find(run_id) is None, "without a claim there is none")
    _expect(make().swap(run_id, None, MINE), "a first claim is taken")
    _expect(make().find(run_id) == MINE, "a claim is found as it was put in")
    _expect(make().swap(run_id, MINE, THEIRS), "a claim that is there can be replaced")
    _expect(make().find(run_id) == THEIRS, "the claim that replaced another is found")
    _expect(make().find(run_id + "2") is None, "a claim is on one run only")


def what_is_not_there_is_not_replaced(make: MakeClaims, run_id: str) -> None:
    """Where another claim is there, or none, nothing is done."""
    _expect(not make().swap(run_id, MINE, THEIRS), "a claim that is not there is not replaced")
    _expect(make().find(run_id) is None, "a refused claim changes nothing")
    make().swap(run_id, None, MINE)
    _expect(not make().swap(run_id, None, THEIRS), "where there is a claim no first one is taken")
    for change in ({"epoch": 0}, {"owner": "else"}, {"owner": ""}, {"since": MINE.since + 1e-6}):
        other = evolve(MINE, **change)
        _expect(not make().swap(run_id, other, THEIRS), "another claim than said is not replaced")
    _expect(make().find(run_id) == MINE, "a refused claim changes nothing")


def one_of_many_wins(make: MakeClaims, run_id: str) -> None:
    """Of several threads that replace the same claim exactly one does it, again and again."""
    was: Claim | None = None
    for epoch in range(1, 6):
        together, won = Barrier(4), list[Claim]()

        def claim(
            was: Claim | None = was,
            epoch: int = epoch,
            together: Barrier = together,
            won: list[Claim] = won,
        ) -> None:
            claims, mine = make(), Claim(str(together.wait(PATIENCE_S)), epoch, 1.0)
            together.wait(PATIENCE_S)
            if claims.swap(run_id, was, mine):
                won.append(mine)

        _expect(in_time(*[claim] * 4), "who replace one claim come to an end")
        _expect(len(won) == 1, "of several who replace one claim exactly one does it")
        was = make().find(run_id)
        _expect(was == won[0], "the claim that is found is that of the one who has won")


def who_races_for_a_claim_wins_alone(make: MakeClaims, run_id: str) -> None:
    """Of two threads that meet anywhere within a swap exactly one does it."""
    make().swap(run_id, None, Claim("", 0, 0.0))
    found = [make().find(run_id)]

    def run(race: int) -> bool:
        mine, was = Claim(str(get_ident()), race + 1, 1.0), found[race]
        is_mine = make().swap(run_id, was, mine)
        if is_mine:
            found.append(mine)
        return is_mine

    _expect(set(races(run)) == {1}, "of several who replace one claim exactly one does it")


def what_is_given_back_is_remembered(make: MakeClaims, run_id: str) -> None:
    """A claim without an owner is one like any other: no epoch comes twice."""
    back = given_back(MINE)
    make().swap(run_id, None, MINE)
    _expect(make().swap(run_id, MINE, back), "a claim can be given back")
    _expect(make().find(run_id) == back, "a claim that was given back is found, with its epoch")
    _expect(not make().swap(run_id, None, THEIRS), "where there is a claim no first one is taken")
    _expect(
        not make().swap(run_id, MINE, THEIRS), "a claim that was given back is replaced as such"
    )
    _expect(make().swap(run_id, back, THEIRS), "a claim that was given back can be taken")


def owners_are_kept(make: MakeClaims, run_id: str) -> None:
    """What was kept last is found; who has lapsed long ago may be forgotten, nobody else."""
    me = evolve(OWNER, id=run_id)
    _expect(make().owner(me.id) is None, "an owner that was not kept is not known")
    make().keep(me)
    _expect(make().owner(me.id) == me, "an owner is found as it was kept")
    later = evolve(me, until=me.until + FORGOTTEN_S / 2)
    make().keep(later)
    _expect(make().owner(me.id) == later, "an owner that is kept anew is found as it is then")
    make().keep(evolve(later, id=f"{run_id} other", until=later.until + FORGOTTEN_S / 2))
    _expect(make().owner(me.id) == later, "an owner that lapsed within the day is not forgotten")
    _expect(make().owner(f"{run_id} other") is not None, "of several owners each is known")
    _expect(make().find(me.id) is None, "an owner is no claim")


LAWS: tuple[Callable[[MakeClaims, str], None], ...] = (
    a_claim_takes_the_place_of_another,
    what_is_not_there_is_not_replaced,
    one_of_many_wins,
    who_races_for_a_claim_wins_alone,
    what_is_given_back_is_remembered,
    owners_are_kept,
)
"""The laws of the `Claims` port, one by one: each on a run of its own."""


def _expect(holds: object, law: str) -> None:
    expect(holds, "the store", law)
