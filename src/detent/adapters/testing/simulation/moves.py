"""Moves: what befalls a simulated run, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from attrs import frozen

from detent.adapters.testing.simulation.drawing import dice, likely

Kind: TypeAlias = Literal[
    "land",  # something under way ends, and the process hears of it
    "work",  # a tool's work is done; the process does not hear of it yet
    "copy",  # an answer comes, and will come once more
    "lose",  # the work is done, and its answer never comes
    "echo",  # something that was heard long ago is heard again
    "forge",  # somebody sends a decision that no human has made
    "die",  # the process dies
    "die_writing",  # the process dies while it writes, or before, or before it hears of it
    "refuse",  # the store refuses the next append
    "rival",  # another process takes the run over while this one is alive
    "cancel",  # somebody wants the run to end
    "damage",  # what is stored is changed: by the disk, or by somebody
    "revoke",  # somebody takes back what was confirmed for further calls
    "fork",  # the run goes on as a fork of itself, or of how it once stood
    "message",  # a user says something more
    # In company, see `moves_in_company`:
    "join",  # another process wants to drive the run, and mostly may not while one does
    "freeze",  # a process stands still, or goes on again
    "pass",  # time passes, which may be longer than a claim holds
    "speak",  # somebody decides about a call, in a process that does not drive the run
    "hear",  # a process is told that others have written
    "hiccup",  # the store is away for a moment, before the next append or behind it
]

WEIGHTS: dict[Kind, int] = {
    "land": 40,
    "work": 6,
    "copy": 5,
    "lose": 3,
    "echo": 6,
    "forge": 4,
    "die": 4,
    "die_writing": 5,
    "refuse": 2,
    "rival": 3,
    "cancel": 1,
    "damage": 0,  # at most once, see below
    "revoke": 0,
    "fork": 0,
    "message": 0,
    "join": 0,
    "freeze": 0,
    "pass": 0,
    "speak": 0,
    "hear": 0,
    "hiccup": 0,
}
IN_COMPANY: dict[Kind, int] = {
    "land": 30,
    "work": 12,
    "die": 3,
    "die_writing": 4,
    "refuse": 2,
    "cancel": 1,
    "revoke": 1,
    "join": 9,
    "freeze": 10,
    "pass": 10,
    "speak": 8,
    "hear": 4,
    "hiccup": 3,
}
DAMAGED = 0.5
"""How often, from 0 to 1, something damages the store."""
SELDOM: dict[Kind, float] = {"revoke": 0.2, "fork": 0.2, "message": 0.3}
"""How often, from 0 to 1, these befall a run, once or twice."""
SELDOM_IN_COMPANY: dict[Kind, float] = {"message": 0.4}
"""The same where several processes live."""
LONGEST = 60


@frozen
class Move:
    """One thing that befalls the run. `pick` says which of several it is about."""

    kind: Kind
    pick: int = 0


def moves_of(seed: int) -> tuple[Move, ...]:
    """The moves of a seed."""
    rng = dice(seed, "moves")
    kinds = rng.choices(get_args(Kind), list(map(WEIGHTS.__getitem__, get_args(Kind))), k=LONGEST)
    moves = [Move(kind, rng.randrange(100)) for kind in kinds[: rng.randint(3, LONGEST)]]
    if likely(rng, DAMAGED):
        moves.insert(rng.randrange(len(moves)), Move("damage", rng.randrange(100)))
    return _with_rare(seed, moves, SELDOM)


def moves_in_company(seed: int) -> tuple[Move, ...]:
    """The moves of a seed where several processes live."""
    rng = dice(seed, "company")
    kinds: list[Kind] = rng.choices(
        list(IN_COMPANY), list(IN_COMPANY.values()), k=rng.randint(3, LONGEST)
    )
    moves = [Move(kind, rng.randrange(100)) for kind in kinds]
    return _with_rare(seed, moves, SELDOM_IN_COMPANY)


def _with_rare(seed: int, moves: list[Move], odds_of: Mapping[Kind, float]) -> tuple[Move, ...]:
    rare = dice(seed, "rare moves")
    for kind, odds in odds_of.items():
        times = rare.randint(1, 2) if likely(rare, odds) else 0
        for _ in range(times):
            moves.insert(rare.randrange(len(moves)), Move(kind, rare.randrange(100)))
    return tuple(moves)
