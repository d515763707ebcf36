"""What has happened to a run that an engine follows, and is not known to be in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from attrs import define

from detent.adapters.hosts.effects.history import Json, size_of
from detent.core.run.events import Event
from detent.core.run.run import Run


@define(slots=False, eq=False)
class Happened:
    """An event that is not known to be in the journal: also as JSON, and the run after it."""

    event: Event
    data: Json
    after: Run[Any]

    @cached_property
    def size(self) -> int:
        """How many bytes it has on its way."""
        return size_of(self.data)


def total(happened: Sequence[Happened]) -> int:
    """How many bytes they have."""
    return sum(one.size for one in happened)


def fitting(happened: Sequence[Happened], room: int) -> list[Happened]:
    """Those of them that fit, from the first one on, which goes by itself if it must."""
    sizes = enumerate(accumulate(one.size for one in happened))
    count = next((place for place, size in sizes if size > room), len(happened))
    return list(happened[: max(1, count)])
