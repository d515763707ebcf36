"""Reading: what pages ask of the host."""

from __future__ import annotations

from starlette.requests import Request

from detent.ports.hosting import Host
from detent.ports.journal import Entry
from detent.ports.listing import StoredRun


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
