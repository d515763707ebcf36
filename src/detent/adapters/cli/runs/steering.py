"""`resume`, `cancel` and `send`: what people want of a run."""

from __future__ import annotations

import getpass
import json
import time
from typing import Any

import click
from rich.console import Console

from detent.adapters.cli.endings import (
    BUSY_WAY,
    FAILED,
    REFUSED,
    WAITING,
    ending,
    stoppable,
)
from detent.adapters.cli.runs.apps import agent_for
from detent.adapters.cli.runs.hints import resume_command, runs_command
from detent.adapters.cli.runs.looking import (
    required_story,
)
from detent.adapters.cli.runs.options import (
    app_option,
    json_option,
    place_option,
    run_argument,
    store_option,
)
from detent.adapters.cli.runs.printing import put_json, say
from detent.adapters.cli.runs.remote import RemoteHost
from detent.adapters.cli.runs.stores import run_named, run_to_end
from detent.adapters.cli.show import Show, put
from detent.adapters.journals.audited import CHAIN
from detent.adapters.stories.story import SEALED
from detent.core.chat.messages import ChatMessage
from detent.core.codec.own_values import dump
from detent.core.run.outcomes import Cancelled, Failed, output_in
from detent.core.values.frozen import thaw
from detent.ports.journal import Entry, Journal, JournalConflictError
from detent.ports.listing import ENDED, Listing
from detent.ports.results import AgentResult

TRIES = 20
"""So often what somebody says is written again, while others write to the same run."""


@click.command()
@run_argument()
@store_option
@app_option
@click.option("--take-over", is_flag=True, help="Take it even from a process that drives it.")
@click.option("--wait", type=click.FloatRange(0), default=0, metavar="SECONDS", help="For that.")
@json_option
def resume(
    *, run_id: str, store: Journal, app: str | None, take_over: bool, wait: float, as_json: bool
) -> None:
    """Go on with a run, here; one that has ended gives its answer again. Needs --app.

    The exit code is 0 where it has ended, 3 where it waits, 1 where it has failed or is cancelled.
    """
    name = run_named(store, run_id)
    story = required_story(store, name)
    agent = agent_for(app, story.agent, store, "resume")
    console = Console(stderr=as_json)
    with stoppable(resume_command(name), busy_way=BUSY_WAY):
        result = agent.resume(
            name, Show(console), raise_at_break_point=False, wait=wait, take_over=take_over
        )
    output = output_in(result.run.outcome)
    answer = result.text or ("" if output is None else json.dumps(thaw(output), indent=2))
    if story.status in {"done", "cancelled"} and answer and not as_json:
        put(console, answer)
    end_with(result, console, as_json=as_json)


def end_with(result: AgentResult[Any, Any], console: Console, *, as_json: bool) -> None:
    """Say what a run has come to, and end with its code."""
    used = result.token_usage
    if as_json:
        put_json(
            {
                "run_id": result.run_id,
                "exit_reason": result.exit_reason,
                "text": result.text,
                "output": thaw(output_in(result.run.outcome)),
                "input_tokens": used.input_tokens,
                "output_tokens": used.output_tokens,
                "cost": result.cost or None,
            }
        )
    names = ", ".join(dict.fromkeys(call.tool_name for call in result.pending))
    waits = f"it waits for a human: {names}; see {runs_command('pending', result.run_id)}"
    outcome = result.exit_reason or (waits if names else "it waits")
    put(console, f"run {result.run_id}: {outcome}", "bold")
    if result.exit_reason is None:
        raise click.exceptions.Exit(WAITING)
    if isinstance(result.run.outcome, Failed | Cancelled):
        raise click.exceptions.Exit(FAILED)


@click.command()
@run_argument()
@place_option
@click.option("--reason", default="cancelled at the command line", show_default=True)
@json_option
def cancel(*, run_id: str, store: Journal, reason: str, as_json: bool) -> None:
    """End a run where it is. Whoever drives it hears of it while they work.

    The beginning of its id is enough at a terminal alone: elsewhere RUN is the whole of it.
    """
    name = run_to_end(store, run_id)
    if isinstance(store, RemoteHost):
        _put_cancelled(name, todo=store.cancel(name, reason), as_json=as_json)
        return
    length = _write(store, name, "CancelRequested", {"reason": reason}, is_end=True)
    _put_cancelled(name, length, as_json=as_json)


def _put_cancelled(
    run_id: str, entries: int | None = None, *, todo: str = "", as_json: bool
) -> None:
    """Say so; `todo` is what somebody must do until it is, at the host that was asked."""
    if as_json:
        length = {} if entries is None else {"entries": entries}
        put_json({"run_id": run_id, "status": "cancelled", **length, **_remark(todo)})
    else:
        say(f"run {run_id} is to be cancelled; {todo}" if todo else f"run {run_id} is cancelled")


def _remark(todo: str) -> dict[str, str]:
    """What a host says besides, as it does in its own JSON."""
    return {"text": todo} if todo else {}


@click.command()
@run_argument()
@click.argument("text", metavar="TEXT")
@place_option
@click.option("--by", metavar="NAME", help="Who says it. [default: the name of the user]")
@json_option
def send(*, run_id: str, text: str, store: Journal, by: str | None, as_json: bool) -> None:
    """Say something more to a run: its model reads TEXT when it is next asked.

    To one that has ended nothing is said in a store; over a host a new run goes on behind it.
    """
    name = run_named(store, run_id)
    if isinstance(store, RemoteHost):
        if by is not None:
            raise click.UsageError("--by is for a store: a host knows who you are by your token")
        heard_by, todo = store.send(name, text)
        if as_json:
            put_json({"run_id": heard_by, **_remark(todo)})
        else:
            new = f": it is new, and goes on behind {name}, which has ended"
            more = ("" if heard_by == name else new) + (f"; {todo}" if todo else "")
            say(f"run {heard_by} is told{more}")
        return
    message = dump(ChatMessage.from_user(text))
    data = {"message": message, "by": by or getpass.getuser(), "at": time.time()}
    length = _write(store, name, "MessageReceived", data)
    if as_json:
        put_json({"run_id": name, "entries": length})
    else:
        say(f"run {name} is told")


CHAINED = "its entries hang together: --store app:MODULE:NAME writes to it by its agent's journal"
"""An entry from outside would break an audit's chain for good, as somebody's tampering does."""


def _write(
    store: Journal, name: str, kind: str, data: dict[str, Any], *, is_end: bool = False
) -> int:
    """Write an event to a run that has not ended, and say how many entries it has then."""
    story = required_story(store, name)
    if SEALED in story.notes:  # what is not sealed makes the run unreadable
        raise click.UsageError(SEALED)
    if any(CHAIN in entry.data for entry in store.read(name, max(0, story.entries - 1))):
        raise click.UsageError(CHAINED)
    for left in reversed(range(TRIES)):
        if story.status in ENDED:
            raise ending(f"run {name} has ended already: it is {story.status}", REFUSED)
        status, listing = story.status, None
        if is_end:
            status, listing = "cancelled", Listing(story.agent, story.thread_id)
        try:
            store.append(name, [Entry(story.entries, time.time(), kind, status, data, listing)])
            break
        except JournalConflictError:
            if not left:
                raise
            story = required_story(store, name)
    return story.entries + 1
