"""Finding: runs of a time, or in whose names a text stands, and what has happened to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import frozen
from starlette.requests import Request

from detent.adapters.stories.secrets import RunSecrets, plain_entry
from detent.adapters.web.tally import DAY_S
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
    return known_secrets(hosted, entries).without(wanted)


def known_secrets(hosted: HostedRun, entries: Sequence[Entry] = ()) -> RunSecrets:
    """What is known to be secret in a run: of an agent inside that has ended its entries tell."""
    names = {name for call in hosted.pending for name in call.masked}
    secrets = RunSecrets.of(names, hosted.secrets)
    secrets.learn([entry.data for entry in entries])
    return secrets
