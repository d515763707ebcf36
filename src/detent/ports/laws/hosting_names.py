"""What runs and conversations may be called, as a law of the hosting port."""

from __future__ import annotations

from detent.core.chat.messages import ChatMessage
from detent.core.run.events import CancelRequested
from detent.ports.hosting import Host
from detent.ports.laws.hosting_waits import accepted, is_missing, must, why_of
from detent.ports.names import NAME_MAX


async def a_name_is_any_text_up_to_its_length(host: Host) -> None:
    """Whatever fits `new_name_fault` is begun, and is done; the rest is refused, and not there."""
    longest = chr(0x1F512) * NAME_MAX
    for run_id in (longest, "é" * NAME_MAX, "  a/../b?c=%2F#d@1~ ", "Bestellung 7 ü"):
        begun = await host.start("echo", "hi", run_id=run_id, thread_id=run_id)
        must(accepted(begun).is_new, f"a run can be called {run_id!r:.40}")
        must((await host.result(run_id)).text == "hi (1)", f"it is done: {run_id!r:.40}")
        found = [run.run_id for run in await host.runs(thread_id=run_id)]
        must(found == [run_id], f"its conversation is found: {run_id!r:.40}")
    await host.start("echo", "hi", run_id=longest[1:])
    await host.result(longest[1:])
    behind = accepted(await host.send(longest[1:], ChatMessage.from_user("two"))).run_id
    must((await host.result(behind)).text == "two (2)", "behind a long name it goes on")
    for dots in (".", ".."):
        for refused in (
            await host.start("echo", "hi", run_id=dots),
            await host.start("echo", "hi", thread_id=dots),
        ):
            must(why_of(refused) == "invalid", f"no link leads to {dots!r}")
        must(await is_missing(host, dots), f"there is no run {dots!r}")
    for wrong in ("", longest + "a", "a" * 10_000, "half \ud800", "a\0b", "a\nb", "\x7f"):
        refused = await host.start("echo", "hi", run_id=wrong)
        must(why_of(refused) == "invalid", f"no run is called {wrong!r:.40}")
        refused = await host.start("echo", "hi", thread_id=wrong)
        must(why_of(refused) == "invalid", f"no conversation is called {wrong!r:.40}")
        must(await is_missing(host, wrong), f"there is no run {wrong!r:.40}")
        must(why_of(await host.send(wrong, CancelRequested(""))) == "unknown_run", "nor is it told")
        listed = await host.runs(label=wrong) if wrong else ()
        must(not listed, "what no store can keep is in no list")
