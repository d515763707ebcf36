"""Renewing: claims are renewed in a thread of its own, as long as somebody holds them."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Protocol
from weakref import ReferenceType


class Renewing(Protocol):
    """Whoever holds claims."""

    @property
    def pause_s(self) -> float:
        """How long after renewing claims they are to be renewed again."""
        ...

    def renew(self) -> None:
        """Renew the claims."""
        ...

    def rest(self) -> bool:
        """Whether there is nothing to renew: then nobody asks again."""
        ...


def renew_for_ever(keeper_ref: ReferenceType[Renewing], wake: SimpleQueue[None]) -> None:
    """Renew claims until there is none, or the keeper is gone; after a failure again, and soon."""
    keeper = keeper_ref()
    pause_s = 0.0 if keeper is None else keeper.pause_s
    while keeper is not None:
        del keeper  # whoever drops the last agent closes the store, too
        with suppress(Empty):
            wake.get(timeout=pause_s)
        keeper = keeper_ref()
        if keeper is None:
            return
        pause_s = keeper.pause_s
        try:
            keeper.renew()
        except Exception:  # noqa: BLE001 - of any store: the look before a tool says that it fails
            pause_s /= 4
        if keeper.rest():
            return
