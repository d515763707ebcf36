"""A journal that others cannot read: what goes into another store is encrypted on the way."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from attrs import Factory, evolve, field, frozen

from detent.adapters.journals.audited import FirstEntries
from detent.ports.claims import Claims, claims_of
from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    JournalDamagedError,
    Submit,
    as_kept,
    foreign_notices_of,
    outage_of,
    submit_of,
)
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

KNOWN = 1000
"""Of so many runs that are written to the nonces are remembered."""
Kept = TypeVar("Kept", Entry, Checkpoint)


@frozen
class EncryptedJournal:
    """Keeps runs in `journal`, with all their data sealed.

    `seal` and `unseal` turn bytes into bytes, e.g. ``Fernet(key).encrypt`` and ``.decrypt`` of the
    library cryptography; what `unseal` raises means that the data is not ours. Ids, kinds, statuses
    and times stay readable, and what a `Listing` says: agent, thread, labels, the names of tools.
    A run of which the list says another agent or thread than the run itself is not listed.
    All but the times and the listings are under the seal as well, with the nonce that the run drew
    when it began: what is moved to another place or run is found, also to another run of the same
    id. Only a whole run that stands in the place of a whole one is not: somebody else must know its
    nonce.
    """

    conceals: ClassVar[bool] = True
    journal: Journal
    seal: Callable[[bytes], bytes] = field(repr=False)
    unseal: Callable[[bytes], bytes] = field(repr=False)
    _nonces: dict[str, str] = field(factory=dict, init=False, eq=False, repr=False)
    _first: FirstEntries = field(
        init=False, eq=False, repr=False, default=Factory(FirstEntries, takes_self=True)
    )

    @property
    def claims(self) -> Claims | None:
        """Those of the other store: nothing in them is anybody's secret."""
        return claims_of(self.journal)

    def as_kept(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """As the other store keeps them."""
        return as_kept(self.journal, entries)

    @property
    def outage_s(self) -> float:
        """For how long an append to the other store is begun again."""
        return outage_of(self.journal)

    @property
    def notices(self) -> object:
        """Who tells what others write to the other store."""
        return foreign_notices_of(self.journal)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says."""
        self.journal.append(*self._all_sealed(run_id, entries, checkpoint))

    @property
    def submit(self) -> Submit | None:
        """As `SubmittingJournal.submit` says, where the other store can."""
        submit = submit_of(self.journal)
        return submit and (lambda *new: submit(*self._all_sealed(*new)))

    def _all_sealed(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> tuple[str, Sequence[Entry], Checkpoint | None]:
        nonce = self._nonce(run_id, entries)
        sealed = [self._sealed(run_id, nonce, entry) for entry in entries]
        if checkpoint is not None:
            checkpoint = self._sealed(run_id, nonce, checkpoint)
        return run_id, sealed, checkpoint

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As `Journal.read` says."""
        nonce = ""  # that of the run as it is now: it may have begun anew
        for entry in self.journal.read(run_id, start):
            if not nonce:
                nonce = self._read_nonce(run_id)
            yield evolve(entry, data=self._unsealed(run_id, nonce, entry, entry.position))

    def checkpoints(self, run_id: str) -> Iterator[Checkpoint]:
        """As `Journal.checkpoints` says."""
        nonce = ""
        for found in self.journal.checkpoints(run_id):
            nonce = nonce or self._read_nonce(run_id)
            yield evolve(found, data=self._unsealed(run_id, nonce, found, 0))

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As `Journal.runs` says, but for runs of which the list says another agent or thread."""
        return self._first.runs(self.journal, query)

    def delete(self, run_id: str) -> None:
        """As `Journal.delete` says."""
        self.journal.delete(run_id)

    def _nonce(self, run_id: str, entries: Sequence[Entry]) -> str:
        """The nonce of a run that is written to. One that begins brings it along."""
        begins = next((entry for entry in entries if entry.position == 0), None)
        if begins is not None:
            self._nonces[run_id] = _nonce_in(begins.data)
        elif run_id not in self._nonces:
            self._nonces[run_id] = self._read_nonce(run_id)
        while len(self._nonces) > KNOWN:
            del self._nonces[next(iter(self._nonces))]
        return self._nonces.get(run_id, "")

    def _read_nonce(self, run_id: str) -> str:
        """The nonce of a run, as it is stored; "" where there is no run."""
        first = next(iter(self.journal.read(run_id)), None)
        return "" if first is None else _nonce_in(self._unsealed(run_id, None, first, 0))

    def _sealed(self, run_id: str, nonce: str, kept: Kept) -> Kept:
        text = f"{_place_of(run_id, nonce, kept)}\n{kept.text}"
        return evolve(kept, data={"sealed": b64encode(self.seal(text.encode())).decode()})

    def _unsealed(
        self, run_id: str, nonce: str | None, kept: Entry | Checkpoint, whole: int
    ) -> Mapping[str, Any]:
        """The data of an entry. That of the first one says itself which run it begins."""
        try:
            text = self.unseal(b64decode(kept.data["sealed"], validate=True)).decode()
            place, _, text = text.rpartition("\n")
            data = Checkpoint(0, text).data
            _require(_place_of(run_id, _nonce_in(data) if nonce is None else nonce, kept), place)
        except Exception as error:
            raise JournalDamagedError(
                f"the journal of run {run_id!r} cannot be unsealed: it was sealed with another "
                "key or for another run or place, or has been changed",
                run_id,
                whole,
            ) from error
        return data


def _require(place: str, found: str) -> None:
    if found != place:
        raise ValueError(f"it belongs to {found!r}, and stands at {place}")


def _place_of(run_id: str, nonce: str, kept: Entry | Checkpoint) -> str:
    """Where it belongs, in a line."""
    if isinstance(kept, Checkpoint):
        return json.dumps([run_id, nonce, kept.position])
    return json.dumps([run_id, nonce, kept.position, kept.kind, kept.status])


def _nonce_in(data: Mapping[str, Any]) -> str:
    """What the first entry of a run says of its nonce; "" where it says nothing."""
    match data:
        case {"run": {"nonce": str(nonce)}}:
            return nonce
        case _:
            return ""
