"""Finding: runs of a time, or in whose names a text stands, and what has happened to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import define, evolve, frozen
from starlette.requests import Request

from detent.adapters.stories.entries import masked_data
from detent.adapters.stories.quotes import secret_values, with_values
from detent.adapters.web.shown import secret_names
from detent.adapters.web.tally import DAY_S
from detent.core.tools.secrets import SecretValues
from detent.ports.hosting import Host, HostedRun
from detent.ports.journal import Entry
from detent.ports.listing import Cursor, StoredRun

PAGE = 50
"""How many runs a list has."""
LOOK, LOOKS_MAX = 1_000, 5
"""So many runs are looked at together where a text is looked for, and so often for one page."""


@frozen
class Found:
    """A page of runs.

    Attributes:
        runs: those that were found.
        more: behind which run the next page begins; None where there is none.
        looked_at: how many were looked at, where that was not all of them, and too few fit.
    """

    runs: list[StoredRun]
    more: Cursor | None = None
    looked_at: int = 0


def day_begin(text: str | None) -> float | None:
    """When a day begins, written as 2026-11-23, in UTC; None is no day."""
    try:
        return datetime.fromisoformat(text or "").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


async def found_runs(host: Host, chosen: Mapping[str, str | None], before: Cursor | None) -> Found:
    """The runs of a page, the one last written to first.

    Args:
        host: whose they are.
        chosen: "status", "agent", "thread_id" and "label" as of `Host.runs`; "since" and "until",
            days on which they were last written to; "text", which stands in one of their names.
        before: behind which run the page begins.

    Raises:
        JournalError: they cannot be read.
    """
    named = {name: chosen[name] for name in ("status", "agent", "thread_id", "label")}
    since, until = day_begin(chosen["since"]), day_begin(chosen["until"])
    if before is None and until is not None:
        before = (until + DAY_S, "")
    text, found, looked_at = (chosen["text"] or "").casefold(), list[StoredRun](), 0
    limit = LOOK if text else PAGE
    for _ in range(LOOKS_MAX):
        page = await host.runs(**named, before=before, limit=limit)
        for run in page:
            if since is not None and run.at < since:
                return Found(found)
            if len(found) == PAGE:
                return Found(found, found[-1].cursor)
            if _has(run, text):
                found.append(run)
        looked_at += len(page)
        if len(page) < limit:
            return Found(found)
        before = page[-1].cursor
        if not text:
            return Found(found, before)
    return Found(found, before, looked_at)


def _has(run: StoredRun, text: str) -> bool:
    names = (run.run_id, run.thread_id, run.agent, *run.pending)
    return not text or any(text in name.casefold() for name in names)


def host_of(request: Request) -> Host:
    """The host of the app."""
    host: Host = request.app.state.host
    return host


async def entries_of(host: Host, listed: StoredRun) -> list[Entry]:
    """What has happened to a run by now."""
    found: list[Entry] = []
    watched = host.watch(listed.run_id)
    try:
        async for seen in watched:
            if isinstance(seen, Entry):
                found.append(seen)
                if seen.position >= listed.length - 1:
                    break
    finally:
        await watched.aclose()
    return found


def secret_in(hosted: HostedRun, entries: Iterable[Entry]) -> frozenset[str]:
    """The names of the arguments that nobody is shown, of any call in the run."""
    pending = (name for call in hosted.pending for name in call.masked)
    return frozenset((*pending, *(name for entry in entries for name in secret_names(entry.data))))


def plain_entries(hosted: HostedRun, entries: list[Entry], after: int = -1) -> dict[str, Any]:
    """The entries of a run behind one of them, as plain values in which no secret stands."""
    visible = visible_entries(hosted, entries, [one for one in entries if one.position > after])
    rows = [plain_entry(entry) for entry in visible]
    return {"run_id": hosted.listed.run_id, "entries": rows}


def visible_entries(
    hosted: HostedRun, entries: Sequence[Entry], wanted: Sequence[Entry]
) -> list[Entry]:
    """Those that are `wanted` of the entries of a run, with their data as people may see it.

    Arguments that are secret are masked, and no text quotes one, by all that the entries say.
    """
    secrets = RunSecrets.of(hosted)
    secrets.learn(entries)
    return secrets.without(wanted)


@define
class RunSecrets:
    """What nobody may see of a run, by name and by value, as far as its entries have said it.

    RULE: an entry is looked through once, however many come behind it.
    """

    _names: set[str]
    _values: SecretValues

    @classmethod
    def of(cls, hosted: HostedRun) -> RunSecrets:
        """What is known without its entries."""
        return cls({name for call in hosted.pending for name in call.masked}, hosted.secrets)

    def learn(self, entries: Sequence[Entry]) -> None:
        """Take in what entries say."""
        data = [entry.data for entry in entries]
        self._names.update(secret_names(data))
        if next(secret_values(data, frozenset(self._names)), None) is not None:
            self._values = with_values(self._values, data, self._names)

    def without(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries without all that is known."""
        visible = masked_data([entry.data for entry in entries], self._names, self._values)
        return [evolve(entry, data=data) for entry, data in zip(entries, visible, strict=True)]

    def learned_without(self, entries: Sequence[Entry]) -> list[Entry]:
        """The same, once it is known what they say themselves."""
        self.learn(entries)
        return self.without(entries)


def plain_entry(entry: Entry) -> dict[str, Any]:
    """An entry as plain values."""
    place = {"position": entry.position, "at": entry.at}
    return {**place, "kind": entry.kind, "status": entry.status, "data": entry.data}
