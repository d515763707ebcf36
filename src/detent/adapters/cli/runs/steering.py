"""`decide`, `resume`, `cancel` and `send`: what people want of a run."""

from __future__ import annotations

import getpass
import shlex
import sys
import time
from collections.abc import Collection, Iterable, Sequence
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
from detent.adapters.cli.runs.hints import runs_command
from detent.adapters.cli.runs.looking import (
    DIGEST_SHOWN,
    one_row,
    question_lines,
    required_story,
    told_if_outdated,
)
from detent.adapters.cli.runs.options import (
    app_option,
    json_option,
    place_option,
    run_argument,
    store_option,
)
from detent.adapters.cli.runs.printing import put_json, put_lines, say
from detent.adapters.cli.runs.remote import RemoteHost
from detent.adapters.cli.runs.stores import run_named
from detent.adapters.cli.show import Show, put
from detent.adapters.journals.audited import CHAIN
from detent.adapters.stories.entries import compact
from detent.adapters.stories.parts import Story
from detent.adapters.stories.story import SEALED
from detent.adapters.system.terminal import drop_typed_keys, escape_control
from detent.core.chat.messages import ChatMessage
from detent.core.codec.json_text import read_json
from detent.core.codec.own_values import dump
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.run.approval import SCOPES
from detent.core.run.outcomes import Cancelled, Failed
from detent.core.tools.masking import MASK, masked
from detent.core.values.frozen import thaw
from detent.ports.journal import Entry, Journal, JournalConflictError
from detent.ports.listing import ENDED, Listing
from detent.ports.pending import PendingCall
from detent.ports.results import AgentResult

DIGEST_LEAST = 8
"""With so many characters nobody hits upon another question: its run's nonce is in the digest."""

ABOUT_THIS = "Is it about this?"
TRIES = 20
"""So often what somebody says is written again, while others write to the same run."""


@click.command()
@run_argument()
@click.argument("call", metavar="[CALL]", required=False)
@place_option
@app_option
@click.option("--confirm", is_flag=True, help="Let it run as it is.")
@click.option("--reject", is_flag=True, help="Do not let it run.")
@click.option("--modify", metavar="JSON", help="Let it run with these arguments changed.")
@click.option("--respond", metavar="TEXT", help="Answer in the tool's place.")
@click.option("--reason", metavar="TEXT", help="For the model, with --reject and --modify.")
@click.option(
    "--remember",
    type=click.Choice(SCOPES),
    help="What a yes counts for, in this run. [default: what its policy says]",
)
@click.option("--digest", metavar="TEXT", help="Of the question seen: 8 characters or more.")
@click.option("--unseen", is_flag=True, help="Say yes to whatever waits by now.")
@click.option("--by", metavar="NAME", help="Who decides. [default: the name of the user]")
@json_option
def decide(
    *, run_id: str, call: str | None, store: Journal, app: str | None, as_json: bool, **options: Any
) -> None:
    """Decide about a call that waits: CALL is its id or its tool, if more than one waits.

    Needs --app or --host. The run goes on where it is driven, or with `detent runs resume`. A yes
    is to the question with the --digest that `pending` shows: another may wait by now. Without it,
    a terminal shows what waits and asks.
    """
    name = run_named(store, run_id)
    if isinstance(store, RemoteHost):
        _decide_over(store, name, call, options, as_json=as_json)
        return
    agent = agent_for(app, required_story(store, name).agent, store, "decide about")
    with told_if_outdated(store):
        waiting = agent.pending(name)
    pending = _pending_call(waiting, name, call, agent.spec.tools, store)
    decision = _decision(pending, options, as_json=as_json)
    left = agent.decide(name, decision)
    way = f"; it goes on where it is driven, or by {_resume_command(name)}"
    _put_decided(pending, left, "" if left else way, as_json=as_json)


def _decide_over(
    host: RemoteHost, run_id: str, call: str | None, options: dict[str, Any], *, as_json: bool
) -> None:
    """Decide at a host, which knows by the token who it is, and goes on with the run."""
    if options["by"] is not None:
        raise click.UsageError("--by is for a store: a host knows who you are by your token")
    with told_if_outdated(host):
        waiting = host.waiting(run_id)
    pending = _pending_call(waiting.calls, run_id, call, waiting.tools, host)
    by = host.decide(run_id, _decision(pending, options, as_json=as_json))
    left = [each for each in host.waiting(run_id).calls if each.digest != pending.digest]
    more = f" by {by}; the host goes on with it, see {runs_command('watch', run_id)}"
    _put_decided(pending, left, more, as_json=as_json)


def _require_seen(
    pending: PendingCall, options: dict[str, Any], instead: str = "", *, as_json: bool
) -> None:
    """A yes is to what somebody has seen. Meanwhile that may have lapsed, and another call wait.

    `instead` are the arguments with which it is to run in place of those that are shown.
    """
    digest = options["digest"]
    if digest is not None:
        if len(digest) < DIGEST_LEAST:
            text = f"--digest {digest} is too short: {DIGEST_LEAST} characters say which question"
            raise ending(text, REFUSED)
        if not pending.digest.startswith(digest):
            text = f"what waits in run {pending.run_id} is not what was shown: look again"
            raise ending(text, REFUSED)
        return
    if options["reject"] or options["unseen"]:
        return
    console = Console(stderr=True)
    for text, style in question_lines(pending):
        put(console, text, style)
    # Only where the question was seen can it be answered, by what is typed once all of it is there.
    if sys.stdin.isatty() and sys.stderr.isatty() and not as_json:
        drop_typed_keys()
        asked = f"Is it about this, to run with {instead} instead?" if instead else ABOUT_THIS
        if not click.confirm(asked, err=True):
            raise ending("nothing is decided", REFUSED)
        return
    raise ending(f"if it is about this, say so: --digest {pending.digest[:DIGEST_SHOWN]}", REFUSED)


def _put_decided(
    pending: PendingCall, left: Sequence[PendingCall], more: str = "", *, as_json: bool
) -> None:
    if as_json:
        calls = [each.to_dict() for each in left]
        put_json({"run_id": pending.run_id, "decided": pending.to_dict(), "pending": calls})
        return
    wait = "1 call still waits" if len(left) == 1 else f"{len(left)} calls still wait"
    say(f"run {pending.run_id}: {pending.tool_name} is decided about{more}; {wait}")
    put_lines([line for each in left for line in question_lines(each)])


def _pending_call(
    waiting: tuple[PendingCall, ...],
    run_id: str,
    call: str | None,
    tools: Collection[str],
    store: Journal,
) -> PendingCall:
    """The call that is meant. The model writes the ids: none of them passes for a tool's name."""
    found = [
        pending
        for pending in waiting
        if call in {None, pending.tool_name} or (call == pending.call_id not in tools)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        named = "no call" if call is None else f"no call {call}"
        decided = _decided_before(required_story(store, run_id), call)
        others = f"; there wait {_names(waiting)}" if waiting else ""
        raise ending(f"in run {run_id} {named} waits for a human{decided}{others}", REFUSED)
    names = _names(found)
    raise click.UsageError(f"more than one call waits, say which: {names}")


def _names(waiting: Iterable[PendingCall]) -> str:
    """The calls, each as it can be named: by its tool, and by its id in brackets."""
    return ", ".join(f"{call.tool_name} ({one_row(call.call_id)})" for call in waiting)


def _decided_before(story: Story, call: str | None) -> str:
    """What was said of the last call that is meant, and by whom: somebody was faster."""
    calls = [
        decided
        for turn in story.every_turn
        for decided in turn.calls
        if decided.decided_at is not None and call in {None, decided.tool, decided.call_id}
    ]
    return f": {calls[-1].tool} was {calls[-1].said[-1]}" if calls and calls[-1].said else ""


def _decision(
    pending: PendingCall, options: dict[str, Any], *, as_json: bool
) -> ToolExecutionDecision:
    """What is said of a call, if it is the one that was seen."""
    ways = (
        options["confirm"],
        options["reject"],
        options["modify"] is not None,
        options["respond"] is not None,
    )
    if sum(ways) != 1:
        raise click.UsageError("decide by one of --confirm, --reject, --modify and --respond")
    by = options["by"] or getpass.getuser()
    if options["modify"] is not None:
        arguments = _arguments(pending, options["modify"])
        secret = [name for name, value in pending.arguments.items() if value == MASK]
        instead = one_row(escape_control(compact(masked(arguments, secret))))
        if not as_json:
            say(f"{pending.tool_name} is to run with {instead}")
        _require_seen(pending, options, instead, as_json=as_json)
        return pending.modify(arguments, options["reason"], by=by)
    _require_seen(pending, options, as_json=as_json)
    if options["respond"] is not None:
        return pending.respond(options["respond"], by=by)
    if options["reject"]:
        return pending.reject(options["reason"], by=by)
    return pending.confirm(by=by, remember=options["remember"])


def _arguments(pending: PendingCall, text: str) -> dict[str, Any]:
    """All arguments: the changed, and of the others a secret one as the mask that stands for it."""
    try:
        changed = read_json(text)
    except ValueError:
        changed = None
    if not isinstance(changed, dict):
        shown = [(name, value) for name, value in pending.arguments.items() if value != MASK]
        example = shlex.quote(compact(dict(shown[:1])))
        raise click.UsageError(
            f"--modify expects an object of JSON with the arguments that change, such as {example}"
        )
    arguments = {name: thaw(value) for name, value in pending.arguments.items()} | changed
    if faults := pending.faults(arguments):
        raise ending("; ".join(faults), REFUSED)
    return arguments


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
    with stoppable(_resume_command(name), busy_way=BUSY_WAY):
        result = agent.resume(
            name, Show(console), raise_at_break_point=False, wait=wait, take_over=take_over
        )
    if story.status in {"done", "cancelled"} and result.text and not as_json:
        put(console, result.text)
    end_with(result, console, as_json=as_json)


def _resume_command(run_id: str) -> str:
    """What goes on with a run, as it can be pasted."""
    return runs_command("resume", run_id)


def end_with(result: AgentResult[Any, Any], console: Console, *, as_json: bool) -> None:
    """Say what a run has come to, and end with its code."""
    used = result.token_usage
    if as_json:
        put_json(
            {
                "run_id": result.run_id,
                "exit_reason": result.exit_reason,
                "text": result.text,
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
    """End a run where it is. Whoever drives it hears of it while they work."""
    name = run_named(store, run_id)
    if isinstance(store, RemoteHost):
        store.cancel(name, reason)
        _put_cancelled(name, as_json=as_json)
        return
    length = _write(store, name, "CancelRequested", {"reason": reason}, is_end=True)
    _put_cancelled(name, length, as_json=as_json)


def _put_cancelled(run_id: str, entries: int | None = None, *, as_json: bool) -> None:
    if as_json:
        length = {} if entries is None else {"entries": entries}
        put_json({"run_id": run_id, "status": "cancelled", **length})
    else:
        say(f"run {run_id} is cancelled")


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
        heard_by = store.send(name, text)
        if as_json:
            put_json({"run_id": heard_by})
        else:
            new = f": it is new, and goes on behind {name}, which has ended"
            say(f"run {heard_by} is told{'' if heard_by == name else new}")
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
