"""`watch`: what is written to a run, as it is written, by whichever process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console

from detent.adapters.cli.endings import NOT_FOUND, ending
from detent.adapters.cli.runs.entries import Reader, is_same_entry
from detent.adapters.cli.runs.options import place_option, run_argument
from detent.adapters.cli.runs.printing import say, short
from detent.adapters.cli.runs.remote import RemoteHost
from detent.adapters.cli.runs.stores import run_named
from detent.adapters.cli.show import put
from detent.adapters.drivers.loading import FORGOTTEN, STOPPED
from detent.adapters.stories.entries import compact
from detent.ports.journal import Journal, Notices
from detent.ports.listing import ENDED

LOOK_S = 0.5
"""A store that cannot tell of news is looked at again after so long; one that can is waited for
no longer at once, so that Ctrl-C is heard."""


@click.command()
@run_argument()
@place_option
@click.option("--after", type=click.IntRange(0), help="Begin behind this entry.")
@click.option("--until-waiting", is_flag=True, help="End also where the run waits for a human.")
@click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="Without news.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each entry.")
def watch(
    *,
    run_id: str,
    store: Journal,
    after: int | None,
    until_waiting: bool,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Show what is written to a run, entry by entry, until it has ended."""
    name, console = run_named(store, run_id), Console()
    start = 0 if after is None else after + 1
    for entry in _news(store, name, start, timeout, until_waiting=until_waiting):
        if as_json:
            click.echo(json.dumps(entry))
        else:
            when = time.strftime("%H:%M:%S", time.localtime(entry["at"]))
            data = {key: value for key, value in entry["data"].items() if key != "mark"}
            text = f"{entry['position']:>4} {when} {entry['kind']:<14} {entry['status']:<8}"
            put(console, f"{text} {short(compact(data), max(20, console.width - 40))}")
    last = list(Reader(store, name).read())[-1:]
    say(f"run {name} is {last[0]['status'] if last else 'gone'}")


def _news(
    store: Journal, run_id: str, start: int, timeout_s: float | None, *, until_waiting: bool
) -> Iterator[dict[str, Any]]:
    if isinstance(store, RemoteHost):
        for entry in store.news(run_id, start, timeout_s):
            yield entry
            if _is_over(entry, until_waiting=until_waiting):
                return
        return
    reader, length, since = Reader(store, run_id), start, time.monotonic()
    last = list(reader.read(max(0, start - 1)))[:1]
    if not last:
        raise ending(f"there is no entry {max(0, start - 1)} of run {run_id!r}", NOT_FOUND)
    while True:
        found = reader.read(max(0, length - 1))
        is_same = bool(found) and (not length or is_same_entry(found[0], last[0]))
        if not is_same or found[-1]["kind"] == FORGOTTEN:
            raise ending(f"run {run_id!r} has been deleted", NOT_FOUND)
        for entry in found[1:] if length else found:
            yield entry
            last, length, since = [entry], entry["position"] + 1, time.monotonic()
        if _is_over(last[0], until_waiting=until_waiting):
            return
        if timeout_s is not None and time.monotonic() - since >= timeout_s:
            return
        _wait(store, run_id, length, LOOK_S if timeout_s is None else min(LOOK_S, timeout_s))


def _is_over(last: dict[str, Any], *, until_waiting: bool) -> bool:
    """Whether nothing more comes behind the last entry."""
    is_still = last["status"] == "waiting" or last["kind"] == STOPPED
    return last["status"] in ENDED or (until_waiting and is_still)


def _wait(store: Journal, run_id: str, length: int, seconds: float) -> None:
    if isinstance(store, Notices):
        store.wait(run_id, length, seconds)
    else:
        time.sleep(seconds)
