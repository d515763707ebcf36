"""Hashes: how many values of one hash a set or a dict is made of, at most.

To put a value into a set is to compare it with all others of its hash. So a set of n values of one
hash takes n² comparisons, in C, while nothing else runs. Who sends numbers can choose their hashes:
2**61 - 1 and all its multiples have that of 0, and so have the dates, identifiers and tuples that
are made of such numbers. The hash of a text is another one in each process.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from itertools import chain

FEW = 256
"""So many values are not looked at: their square is small."""

MOST = 64
"""So many different values of one hash may be among more than a few."""

TEXTS = frozenset({str, bytes})
"""Types whose own instances have a hash that nobody outside the process knows."""


def require_spread(
    new: Collection[object], known: Collection[object] = (), *, most: int = MOST
) -> None:
    """Raise ValueError where to put values into a set could take the square of comparisons.

    It takes itself at most `most` comparisons for each value. What has no hash raises TypeError.

    Args:
        new: the values that are put into it.
        known: those that are in it.
        most: so many different values of one hash may be among more than a few.
    """
    if len(new) + len(known) <= FEW or TEXTS.issuperset(map(type, new)):
        return
    counts = Counter(map(hash, chain(known, new)))  # of hashes themselves no two are alike
    if max(counts.values()) <= most:
        return
    different: defaultdict[int, set[object]] = defaultdict(set)
    for value in chain(known, new):
        key = hash(value)
        if counts[key] > most:
            found = different[key]
            found.add(value)
            if len(found) > most:
                raise ValueError(
                    f"has more than {most} different values of one hash, such as multiples of "
                    "2**61 - 1, or of a class with an equality of its own and no hash, so that a "
                    "set or a dict of them would take far too long"
                )
