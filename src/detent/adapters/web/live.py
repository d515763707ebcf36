"""Live: what changes reaches the pages that are open, as server-sent events.

https://html.spec.whatwg.org/multipage/server-sent-events.html. An event says that something has
changed; the page then asks for the part of it that shows that.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from detent.adapters.web.finding import host_of
from detent.adapters.web.inbox import RUNS, marked
from detent.ports.hosting import Host, Piece, Watched
from detent.ports.journal import Entry, RunNotFoundError
from detent.ports.listing import HostNotOpenError

LOOK_S = 1.0
"""How far apart the looks at all questions are, as long as somebody has the inbox open."""
QUIET_S = 15.0
"""After how long a stream says that it is alive: what stands between may cut it otherwise."""


async def questions(request: Request) -> Response:
    """An event whenever other questions wait than before."""
    return stream(_inbox_events(request, host_of(request)))


async def run(request: Request) -> Response:
    """An event whenever something has happened to a run, with its position as the id."""
    last = request.headers.get("last-event-id", request.query_params.get("after", ""))
    after = int(last) if last.isdigit() else None
    return stream(_run_events(host_of(request), request.path_params["run_id"], after))


async def _inbox_events(request: Request, host: Host) -> AsyncGenerator[str]:
    known = request.headers.get("last-event-id") or request.query_params.get("known", "")
    quiet = 0.0
    while True:
        found = await host.pending(limit=RUNS)
        now = marked(found)
        if now != known:
            yield event("changed", str(len(found)), now)
            known, quiet = now, 0.0
        elif quiet >= QUIET_S:
            yield ": still here\n\n"
            quiet = 0.0
        await asyncio.sleep(LOOK_S)
        quiet += LOOK_S


async def _run_events(host: Host, run_id: str, after: int | None) -> AsyncGenerator[str]:
    try:
        async with (
            aclosing(host.watch(run_id, after)) as watched,
            aclosing(with_pauses(watched)) as seen_or_quiet,
        ):
            async for seen in seen_or_quiet:
                yield _event_text(seen)
        yield event("ended", run_id)
    except (RunNotFoundError, ValueError):
        yield event("gone", run_id)
    except HostNotOpenError:  # another process tells how it goes on: who watches asks again
        return


def _event_text(seen: Watched | None) -> str:
    match seen:
        case None:
            return ": still here\n\n"
        case Entry():
            return event("changed", seen.kind, str(seen.position))
        case Piece():
            return event("piece", json.dumps({"text": seen.chunk.content}))


async def with_pauses(watched: AsyncIterator[Watched]) -> AsyncGenerator[Watched | None]:
    """What is watched, and None whenever nothing has come for a while."""
    coming = asyncio.ensure_future(anext(watched))
    try:
        while True:
            done, _ = await asyncio.wait([coming], timeout=QUIET_S)
            if not done:
                yield None
                continue
            seen = coming.result()
            coming = asyncio.ensure_future(anext(watched))
            yield seen
    except StopAsyncIteration:
        return
    finally:
        coming.cancel()
        await asyncio.wait([coming])  # nobody can close what is still at work


def event(name: str, data: str, number: str | None = None) -> str:
    """An event as it is sent, what it says on one line: another one could begin an event."""
    lines = [f"event: {name}", f"data: {' '.join(data.splitlines())}"]
    if number is not None:
        lines.append(f"id: {number}")
    return "\n".join(lines) + "\n\n"


def stream(events: AsyncGenerator[str]) -> Response:
    """An answer that tells of events as they come."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)
