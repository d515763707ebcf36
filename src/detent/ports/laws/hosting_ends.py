"""Laws of the hosting port for the end of a host, and for whoever comes after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from detent.ports.hosting import Host
from detent.ports.laws.hosting_waits import (
    PAUSE_S,
    OpenHost,
    accepted,
    has_raised,
    is_missing,
    must,
    question_of,
    why_of,
)
from detent.ports.listing import HostNotOpenError


async def nothing_begins_after_an_end(open_host: OpenHost) -> None:
    """A host that ends begins nothing more; what it had accepted, a later one goes on with."""
    async with open_host() as host:
        accepted(await host.start("reader", "stay", run_id="left"))
    refused = await host.start("echo", "hi", run_id="late")
    must(why_of(refused) == "shutting_down", "a host that has ended begins nothing")
    again = await host.start("reader", "stay", run_id="left")
    must(why_of(again) == "accepted", "what is there is there, whoever asks")
    async with open_host() as later:
        must((await later.result("left")).text == "stay", "what was accepted is done")
        must(await is_missing(later, "late"), "what is refused begins no run")


async def nobody_waits_behind_an_end(open_host: OpenHost) -> None:
    """Whoever waits for a run when its host ends is told so, and so is whoever would wait then."""
    async with open_host() as host:
        accepted(await host.start("clerk", "pay", run_id="stays"))
        await question_of(host, "stays")
        waits = [asyncio.ensure_future(_is_told(host, wait)) for wait in (_result, _watch)]
        await asyncio.sleep(PAUSE_S)
        must(not any(wait.done() for wait in waits), "a run that waits is waited for")
    must(all(await asyncio.gather(*waits)), "who waits is told that the host has ended")
    for wait in (_result, _watch):
        must(await _is_told(host, wait), "nobody waits for a host that has ended")
    must((await host.run("stays")).pending, "what is stored can still be read")


async def _is_told(host: Host, wait: Callable[[Host], Awaitable[object]]) -> bool:
    return await has_raised(wait(host), HostNotOpenError)


async def _result(host: Host) -> None:
    await host.result("stays")


async def _watch(host: Host) -> None:
    async for _ in host.watch("stays"):
        pass


END_LAWS = (nothing_begins_after_an_end, nobody_waits_behind_an_end)
"""The laws of what is beyond one host: each opens its own."""
