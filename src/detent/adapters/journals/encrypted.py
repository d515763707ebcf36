"""A journal that others cannot read: what goes into another store is encrypted on the way."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from detent.ports.claims import Claims, claims_of
from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    JournalDamagedError,
    Submit,
    submit_of,
)
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun


@frozen
class EncryptedJournal:
    """Keeps runs in `journal`, with all their data sealed.

    `seal` and `unseal` turn bytes into bytes, e.g. ``Fernet(key).encrypt`` and ``.decrypt`` of the
    library cryptography; what `unseal` raises means that the data is not ours. Ids, kinds, statuses
    and times stay readable, and what a `Listing` says: agent, thread, the names of tools. All but
    the times and the listings are under the seal as well: what is moved to another place or run is
    found.
    """

    journal: Journal
    seal: Callable[[bytes], bytes] = field(repr=False)
    unseal: Callable[[bytes], bytes] = field(repr=False)

    @property
    def claims(self) -> Claims | None:
        """Those of the other store: nothing in them is anybody's secret."""
        return claims_of(self.journal)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        self.journal.append(*self._all_sealed(run_id, entries, checkpoint))

    @property
    def submit(self) -> Submit | None:
        """As the port says, where the other store can."""
        submit = submit_of(self.journal)
        return submit and (lambda *new: submit(*self._all_sealed(*new)))

    def _all_sealed(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> tuple[str, Sequence[Entry], Checkpoint | None]:
        sealed = [evolve(one, data=self._sealed(_of(run_id, one), one.text)) for one in entries]
        if checkpoint is not None:
            data = self._sealed(_of(run_id, checkpoint), checkpoint.text)
            checkpoint = evolve(checkpoint, data=data)
        return run_id, sealed, checkpoint

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As the port says."""
        for entry in self.journal.read(run_id, start):
            yield evolve(entry, data=self._unsealed(run_id, entry, entry.position))

    def checkpoints(self, run_id: str) -> Iterator[Checkpoint]:
        """As the port says."""
        for found in self.journal.checkpoints(run_id):
            yield evolve(found, data=self._unsealed(run_id, found, 0))

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port says."""
        return self.journal.runs(query)

    def delete(self, run_id: str) -> None:
        """As the port says."""
        self.journal.delete(run_id)

    def _sealed(self, place: str, text: str) -> dict[str, str]:
        return {"sealed": b64encode(self.seal(f"{place}\n{text}".encode())).decode()}

    def _unsealed(self, run_id: str, kept: Entry | Checkpoint, whole: int) -> Mapping[str, Any]:
        try:
            text = self.unseal(b64decode(kept.data["sealed"], validate=True)).decode()
            return _data(text, _of(run_id, kept))
        except Exception as error:
            raise JournalDamagedError(
                f"the journal of run {run_id!r} cannot be unsealed: it was sealed with another "
                "key, or has been changed",
                run_id,
                whole,
            ) from error


def _of(run_id: str, kept: Entry | Checkpoint) -> str:
    """Where it belongs, in a line."""
    if isinstance(kept, Checkpoint):
        return json.dumps([run_id, kept.position])
    return json.dumps([run_id, kept.position, kept.kind, kept.status])


def _data(text: str, place: str) -> Mapping[str, Any]:
    found, _, data = text.rpartition("\n")
    if found != place:
        raise ValueError(f"it belongs to {found!r}, and stands at {place}")
    return Checkpoint(0, data).data
