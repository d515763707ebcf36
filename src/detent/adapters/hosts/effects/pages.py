"""Pages: what is in the journal, for an engine that takes no more than so much at once.

A run that another history goes on with, and what people have written, may be larger than that. They
are in the journal, which only ever grows, so that any worker cuts the same pages of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any, cast

from attrs import define, field

from detent.adapters.drivers.loading import loaded
from detent.adapters.hosts.effects.contract import WHOSE, require_here
from detent.adapters.hosts.effects.history import Json, size_of
from detent.adapters.hosts.effects.outcomes import entry_to_json
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.effects.versions import with_versions
from detent.adapters.hosts.reading import asked
from detent.core.errors import StoredDataError
from detent.core.storage.journal import run_to_json
from detent.ports.journal import with_data

SIZE = 500_000
"""How many characters a page has."""
KEPT = 4
"""So many texts are kept in memory, so that their next pages need not be made anew."""


def without_run(opening: Json, room: int) -> Json:
    """What a history begins with, without the run where that is large: it is read by pages."""
    return opening | {"run": None} if size_of(opening["run"]) > room else opening


def wanted_run(opening: Json) -> Json:
    """Which run is to be read, as it was behind so many entries, by these versions of its tools."""
    return {name: opening[name] for name in (*WHOSE, "length", "versions")} | {"count": None}


def without_missed(outcome: Json, room: int) -> Json:
    """What came of a job, without what others have written where that is large: by pages, too."""
    missed = outcome.get("missed")
    if missed is None or size_of(missed["events"]) <= room:
        return outcome
    return {"wanted": {"length": missed["at"], "count": len(missed["events"])}}


def without_events(message: Json, room: int) -> Json:
    """What a run is told, without what is known to be written where that is large: it looks."""
    is_large = size_of(message) > room
    names = message.keys() - {"events", "at"} if is_large else message.keys()
    return {name: value for name, value in message.items() if name in names}


def wanted_events(job: Json, outcome: Json) -> Json:
    """Which entries are to be read."""
    return dict({name: job[name] for name in WHOSE} | outcome["wanted"])


def whole(text: str, wanted: Json) -> Json:
    """What was wanted, of all its pages: the run, or what others have written to it."""
    read: Any = json.loads(text)
    if wanted["count"] is not None:
        read = {"missed": {"at": wanted["length"], "events": read}}
    return cast("Json", read)


@define(eq=False)
class Pages:
    """Cuts pages, by the agents of a worker."""

    size: int = SIZE
    _kept: dict[str, str] = field(init=False, factory=dict)

    async def page(self, parts: EffectParts, wanted: Json, offset: int) -> Json:
        """A page, and of which text it is: pages of different texts are not of one another.

        Raises:
            JournalError: the journal cannot be read, or is damaged.
            OtherJournalError: it has no such run.
            StoredDataError: its agent has changed.
        """
        name = json.dumps(wanted, sort_keys=True)
        text = self._kept.pop(name, None)
        if text is None:
            text = await asked(partial(_text, parts, wanted))
        rest = text[offset + self.size :]
        if rest:
            self._kept[name] = text
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        digest = sha256(text.encode()).hexdigest()
        return {"text": text[offset : offset + self.size], "of": digest, "more": bool(rest)}


def _text(parts: EffectParts, wanted: Mapping[str, Any]) -> str:
    journal, run_id = parts.assembly.required_journal, wanted["run_id"]
    length, count = wanted["length"], wanted["count"]
    require_here(journal, parts.spec, wanted)
    if count is None:
        spec = with_versions(parts.spec, wanted["versions"])
        at = loaded(journal, spec, run_id, length)
        _require_length(run_id, length, at.length)
        return json.dumps(run_to_json(spec, at.run))
    entries = list(islice(journal.read(run_id, length), count))
    _require_length(run_id, length + count, length + len(entries))
    spec = parts.spec
    return json.dumps([entry_to_json(spec, run_id, one, data) for one, data in with_data(entries)])


def _require_length(run_id: str, wanted: int, found: int) -> None:
    if found != wanted:
        raise StoredDataError(f"run {run_id!r} has {found} entries here, and not {wanted}")
