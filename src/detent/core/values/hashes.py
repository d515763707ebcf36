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


def require_spread(*groups: Collection[object]) -> None:
    """Raise ValueError where a set of all these values could take their square of comparisons.

    It takes itself at most `MOST` comparisons for each value. What has no hash raises TypeError.
    """
    if sum(map(len, groups)) <= FEW or all(TEXTS.issuperset(map(type, x)) for x in groups):
        return
    counts = Counter(map(hash, chain(*groups)))  # of hashes themselves no two are alike
    if max(counts.values()) <= MOST:
        return
    different: defaultdict[int, set[object]] = defaultdict(set)
    for value in chain(*groups):
        key = hash(value)
        if counts[key] > MOST:
            found = different[key]
            found.add(value)
            if len(found) > MOST:
                raise ValueError(
                    f"has more than {MOST} different values of one hash, such as multiples of "
                    "2**61 - 1, so that a set or a dict of them would take far too long"
                )
