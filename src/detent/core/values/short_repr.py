"""How a value is shown where a person reads it: in a repr, an error or a diff."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from reprlib import Repr

from detent.core.values.copies import peek

ITEMS_MAX = 4
TEXT_MAX = 80


def short_repr(value: object) -> str:
    """The repr of `value`, with long texts and collections shortened."""
    return _SHORT.repr(peek(value))


class _Short(Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = ITEMS_MAX
        self.maxstring = self.maxlong = self.maxother = TEXT_MAX

    def repr_list(self, x: Sequence[object], level: int) -> str:
        if level <= 0 and x:
            return "[…]"
        items = [self.repr1(peek(item), level - 1) for item in islice(x, ITEMS_MAX)]
        if len(x) > ITEMS_MAX:
            items.append(f"… {len(x) - ITEMS_MAX:,} more")
        return f"[{', '.join(items)}]"

    # reprlib goes by the name of the class
    repr_SharedList = repr_FrozenList = repr_list  # noqa: N815  # as above
    repr_FrozenDict = Repr.repr_dict  # noqa: N815  # as above
    repr_FrozenSet = Repr.repr_set  # noqa: N815  # as above


_SHORT = _Short()
