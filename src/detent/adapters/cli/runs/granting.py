"""`grants` and `revoke`: which confirmations count for further calls of a run, and their end."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import click

from detent.adapters.cli.endings import REFUSED, ending
from detent.adapters.cli.runs.apps import agent_for
from detent.adapters.cli.runs.hints import runs_command
from detent.adapters.cli.runs.looking import required_story
from detent.adapters.cli.runs.options import app_option, json_option, place_option, run_argument
from detent.adapters.cli.runs.printing import Line, age, moment, one_row, put_json, put_lines, say
from detent.adapters.cli.runs.remote import RemoteHost
from detent.adapters.cli.runs.stores import run_named, run_to_end
from detent.adapters.stories.entries import compact
from detent.ports.journal import Journal
from detent.ports.listing import ENDED

Revoke: TypeAlias = Callable[[], object]


@click.command()
@run_argument()
@place_option
@app_option
@json_option
def grants(*, run_id: str, store: Journal, app: str | None, as_json: bool) -> None:
    """List the confirmations that count for further calls of a run. Needs --app or --host."""
    name = run_named(store, run_id)
    found = [shown for shown, _ in _grants(store, name, app)]
    if as_json:
        put_json({"run_id": name, "grants": found})
        return
    put_lines(_rows(found))
    if found:
        number = " NUMBER" if len(found) > 1 else ""
        say(f"To take one back: {runs_command('revoke', name)}{number}")
    else:
        say(_why_none(store, name))


@click.command()
@run_argument()
@click.argument("number", metavar="[NUMBER]", type=click.IntRange(1), required=False)
@place_option
@app_option
@click.option("--by", metavar="NAME", help="Who takes it back. [default: the name of the user]")
@json_option
def revoke(
    *,
    run_id: str,
    number: int | None,
    store: Journal,
    app: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """Take back a confirmation that counts for further calls: they are asked about again.

    NUMBER is that of `detent runs grants`, where there is more than one. Needs --app or --host. The
    beginning of the run's id is enough at a terminal alone: elsewhere RUN is the whole of it.
    """
    name = run_to_end(store, run_id)
    found = _grants(store, name, app, by)
    if not found:
        raise ending(_why_none(store, name), REFUSED)
    if number is None and len(found) > 1:
        put_lines(_rows([shown for shown, _ in found]))
        raise click.UsageError(f"more than one counts, say which: 1 to {len(found)}")
    if number is not None and number > len(found):
        raise ending(f"run {name} has no confirmation {number}: it has {len(found)}", REFUSED)
    shown, take_back = found[(number or 1) - 1]
    take_back()
    if as_json:
        put_json({"run_id": name, "revoked": shown})
        return
    say(f"run {name}: what was said of {one_row(shown['tool_name'])} counts for no further calls")


def _why_none(store: Journal, name: str) -> str:
    if required_story(store, name).status in ENDED:
        return f"run {name} has ended: no yes counts any further"
    return f"in run {name} each yes counts for its own call alone"


def _grants(
    store: Journal, name: str, app: str | None, by: str | None = None
) -> Sequence[tuple[dict[str, Any], Revoke]]:
    """Each confirmation as plain values, and how it is taken back."""
    if isinstance(store, RemoteHost):
        if by is not None:
            raise click.UsageError("--by is for a store: a host knows who you are by your token")
        return [(shown, partial(store.revoke, name, shown)) for shown in store.grants(name)]
    agent = agent_for(app, required_story(store, name).agent, store, "look into")
    who = by or getpass.getuser()
    return [
        (grant.to_dict(), partial(agent.revoke, name, grant, by=who))
        for grant in agent.grants(name)
    ]


def _rows(found: Sequence[dict[str, Any]]) -> list[Line]:
    """A row for each, by its number."""
    return [(one_row(f"{number}  {_text(one)}"), "") for number, one in enumerate(found, 1)]


def _text(grant: dict[str, Any]) -> str:
    inside = "".join(f"{agent[-1]} > " for agent in grant["path"])
    which = "any arguments" if grant["scope"] == "tool" else compact(grant["arguments"])
    by = f" by {grant['by']}" if grant["by"] else ""
    at = f", {age(grant['at'])}" if grant["at"] is not None else ""
    until = f", until {moment(grant['expires_at'])}" if grant["expires_at"] is not None else ""
    return f"{inside}{grant['tool_name']} with {which}: confirmed{by}{at}{until}"
