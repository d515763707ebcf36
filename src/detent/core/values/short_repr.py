"""How a value is shown where a person reads it: in a repr, an error or a diff."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from reprlib import Repr

from detent.core.values.copies import peek

ITEMS_MAX = 4
TEXT_MAX = 80

MASK = "********"
"""What people see in place of a secret. In changed arguments it stands for the secret itself."""


def short_repr(value: object) -> str:
    """The repr of `value`, with long texts and collections shortened."""
    return _SHORT.repr(peek(value))


def joined_repr(parts: Iterable[tuple[str, object]]) -> str:
    """What prints of a value, by name, as attrs would print its fields."""
    return ", ".join(f"{name}={part!r}" for name, part in parts)


class _Short(Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = ITEMS_MAX
        self.maxstring = self.maxlong = self.maxother = TEXT_MAX

    def repr_int(self, x: int, level: int) -> str:
        try:
            return super().repr_int(x, level)
        except ValueError:  # Python writes down 4,300 digits at most
            return f"a number of {x.bit_length():,} bits"

    def repr_list(self, x: Sequence[object], level: int) -> str:
        if level <= 0 and x:
            return "[…]"
        items = [self.repr1(peek(item), level - 1) for item in islice(x, ITEMS_MAX)]
        if len(x) > ITEMS_MAX:
            items.append(f"… {len(x) - ITEMS_MAX:,} more")
        return f"[{', '.join(items)}]"

    repr_SharedList = repr_FrozenList = repr_list  # noqa: N815  # reprlib goes by the class's name
    repr_FrozenDict, repr_FrozenSet = Repr.repr_dict, Repr.repr_set  # noqa: N815  # as reprlib wants it


_SHORT = _Short()
