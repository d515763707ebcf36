"""`list`, `pending` and `show`: to look needs no code of any agent."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import click
from attrs import asdict
from click.core import ParameterSource
from rich.console import Console

from detent.adapters.cli.endings import NOT_FOUND, REFUSED, ending
from detent.adapters.cli.runs.apps import agent_for
from detent.adapters.cli.runs.entries import entries_of
from detent.adapters.cli.runs.hints import is_place_said, runs_command
from detent.adapters.cli.runs.options import app_option, json_option, place_option, run_argument
from detent.adapters.cli.runs.printing import (
    Line,
    age,
    exact_row,
    moment,
    one_row,
    put_json,
    put_lines,
    say,
    table,
)
from detent.adapters.cli.runs.proving import words_to_prove
from detent.adapters.cli.runs.remote import RemoteHost
from detent.adapters.cli.runs.stores import (
    OTHERS,
    driver_of,
    engine_that_has,
    every_run,
    is_driven,
    run_named,
)
from detent.adapters.cli.runs.stores import store_text as name_of
from detent.adapters.cli.runs.views import costs, timeline, totals, tree
from detent.adapters.confirmation.console import argument_label
from detent.adapters.confirmation.rows import barred
from detent.adapters.stories.entries import compact, event_path
from detent.adapters.stories.parts import Story
from detent.adapters.stories.story import story_of
from detent.adapters.system.program import program
from detent.adapters.system.terminal import exact_text
from detent.core.codec.json_text import read_json
from detent.core.errors import StoredDataError
from detent.ports.approvers import wanted_by
from detent.ports.journal import Journal, JournalDamagedError
from detent.ports.listing import STATUSES, RunQuery, StoredRun
from detent.ports.pending import OutdatedQuestionError, PendingCall, describe_outdated

NOBODY = "somebody to resume it"
"""What a run waits for whose process has ended in the middle of it."""
UNKNOWN_HERE = (
    "Its approvers want to know who decides, which nobody can show there: have people sign in, by "
    "detent serve --token-file FILE, or decide where the store is, with --credential-file FILE."
)
"""Over a host to which nobody says who they are."""
DIGEST_SHOWN = 12
"""The characters of a digest that a decision names."""
VIEWS = ("tree", "timeline", "cost", "entries")


@click.command("list")
@place_option
@click.option("--status", type=click.Choice(STATUSES))
@click.option("--agent", metavar="NAME")
@click.option("--thread", metavar="ID", help="Only the runs of this conversation.")
@click.option("--label", metavar="LABEL", help="Only runs that have read what bears it.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--after", metavar="CURSOR", help="Go on behind a page: its `next`, as JSON.")
@json_option
def list_runs(
    *,
    store: Journal,
    status: str | None,
    agent: str | None,
    thread: str | None,
    label: str | None,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """List runs, the one last written to first."""
    query = RunQuery(status, agent, thread, _cursor(after), limit, label=label)
    runs = store.runs(query)
    following = runs[-1].cursor if len(runs) == limit else None
    if as_json:
        put_json({"runs": [asdict(run) for run in runs], "next": following})
        return
    if not runs:
        say(f"There are no such runs in {name_of(store)}.")
        return
    console = Console()
    names = ["RUN", "STATUS", "AGENT", "THREAD", "LAST", "ENTRIES", "WAITS FOR"]
    rows = [_row(run, store) for run in runs]
    if any(run.labels for run in runs):
        names.append("HAS READ")
        rows = [[*row, ", ".join(run.labels)] for row, run in zip(rows, runs, strict=True)]
    put_lines(table(names, rows, console), console)
    if not is_place_said():
        say(f"These are in {name_of(store)}, the store of detent run; {OTHERS}")
    if following is not None:
        say(f"There may be more: --limit {10 * limit}, or --after '{json.dumps(following)}'")


def _row(run: StoredRun, store: Journal) -> list[str]:
    waits = ", ".join(run.pending)
    if run.status == "running" and not is_driven(store, run.run_id):
        engine = engine_that_has(store, run.run_id)  # it may be at work just now: no store knows
        whom = f"its engine, {engine}" if engine else _whom(run)
        waits = ", ".join(filter(None, (waits, whom)))
    if run.wake_at is not None:
        waits = ", ".join(filter(None, (waits, f"until {moment(run.wake_at)}")))
    last = age(run.at)
    return [run.run_id, run.status, run.agent, run.thread_id, last, str(run.length), waits]


def _whom(run: StoredRun) -> str:
    """What a run waits for that nobody drives.

    RULE: a host that lives leaves a run which is to try something again later, as one that has died
    does: what is listed is the same, and no host goes on with either before that time.
    """
    is_paused = run.wake_at is not None and run.wake_at > time.time()
    return f"its time, or {NOBODY}" if is_paused else NOBODY


def _cursor(text: str | None) -> Any:
    try:
        return None if text is None else read_json(text)
    except ValueError as error:
        raise click.UsageError("--after is the `next` of a page, as JSON: '[time, id]'") from error


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@place_option
@app_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Of runs.")
@json_option
def pending(
    *, run_id: str | None, store: Journal, app: str | None, limit: int, as_json: bool
) -> None:
    """Show which calls wait for a human, of one run or of all.

    With --app or --host: also the arguments that are left out, what the state fills in as far as
    the policy reveals it, and the digest that a decision carries.
    """
    if run_id is None and isinstance(store, RemoteHost):
        found = [_of_host(question) for question in store.pending(limit)]
        _put_pending(found, store, as_json=as_json)
        return
    if run_id is not None:
        ids = [run_named(store, run_id)]
    else:
        ids = [run.run_id for run in store.runs(RunQuery("waiting", limit=limit))]
        busy = (run for run in every_run(store, RunQuery("running")) if run.pending)
        ids += [run.run_id for run, _ in zip(busy, range(limit - len(ids)), strict=False)]
    found, outdated = list[dict[str, Any]](), list[OutdatedQuestionError]()
    for each in ids:
        try:
            found += _waiting(store, each, app)
        except OutdatedQuestionError as error:
            outdated.append(error)
        except (StoredDataError, JournalDamagedError) as error:
            if run_id is not None:
                raise
            say(f"{each} is left out: {error}")
    _put_pending(found, store, outdated, as_json=as_json)
    silent = {*ids} - {each["run_id"] for each in found} - {error.run_id for error in outdated}
    for left in [] if as_json else _left_alone(store, ids if run_id else [None], silent, limit):
        way = _way_to_go_on(left) if app is None else runs_command("resume", left.run_id)
        say(f"Run {left.run_id} asks nothing, and waits for {_whom(left)}: {way}")


def _left_alone(
    store: Journal, ids: Sequence[str | None], silent: Collection[str], limit: int
) -> list[StoredRun]:
    """Runs that ask nothing and whose process has ended in the middle: these, or any (None)."""
    if isinstance(store, RemoteHost):  # it goes on with them by itself
        return []
    found = (run for name in ids for run in every_run(store, RunQuery("running", run_id=name)))
    quiet = (run for run in found if not run.pending or run.run_id in silent)
    owned = partial(is_driven, store), partial(engine_that_has, store)
    return [*islice((run for run in quiet if not any(has(run.run_id) for has in owned)), limit)]


def _way_to_go_on(run: StoredRun) -> str:
    """What goes on with a run whose agent was not named: those of the command line need no code."""
    source = click.get_current_context().get_parameter_source("store")
    if source is not ParameterSource.DEFAULT:
        return f"{runs_command('resume', run.run_id)} --app module:name"
    thread = ("chat", "--thread", run.thread_id)
    return shlex.join([*program(), *(thread if run.thread_id else ("run", "--resume", run.run_id))])


def _of_host(question: dict[str, Any]) -> dict[str, Any]:
    """A question of a host, as plain values."""
    told = {"agent": question["agent"], "wanted": question.get("wanted", "nothing")}
    return {**question["call"], **told, "asked_at": question["cursor"][0]}


def _put_pending(
    found: list[dict[str, Any]],
    store: Journal,
    outdated: Sequence[OutdatedQuestionError] = (),
    *,
    as_json: bool,
) -> None:
    """What waits, and how one goes on from there."""
    if as_json:
        runs = [{"run_id": one.run_id, "questions": [*one.questions]} for one in outdated]
        put_json({"pending": found, "outdated": runs})
        return
    put_lines([line for error in outdated for line in _outdated(error, store)])
    if not (found or outdated):
        say(f"Nobody is asked anything in {name_of(store)}.")
    put_lines([line for question in found for line in _question(question)])
    if found:
        run_id = found[0]["run_id"]
        ways = "--confirm, or --reject, --modify JSON, --respond TEXT"
        if digest := found[0].get("digest"):
            wanted, is_host = found[0]["wanted"], isinstance(store, RemoteHost)
            seen = f"--digest {digest[:DIGEST_SHOWN]}{words_to_prove(wanted, is_host=is_host)}"
            say(f"To decide: {runs_command('decide', run_id)} {seen} {ways}")
            if wanted == "credential" and isinstance(store, RemoteHost) and not store.has_token:
                say(UNKNOWN_HERE)
        else:
            command = f"{runs_command('pending', run_id)} --app module:name"
            say(f"To decide, its agent's code is needed: {command} shows all that is asked")
            if not found[0]["agent"]:  # those of the command line have no name
                run = shlex.join([*program(), "run", "--resume", run_id])
                chat = shlex.join([*program(), "chat", "--thread"])
                say(f"A run of detent run is decided about by {run}; one of detent chat by {chat}.")


def _outdated(error: OutdatedQuestionError, store: Journal) -> list[Line]:
    """A run that waits by a question which nobody can answer, and what is to be done."""
    rows = [
        (f"{error.run_id}  waits by a question of another release of its agent", "bold yellow"),
        (f"  changed: {describe_outdated(error.questions)}", ""),
        (f"  to have it put anew: {_way_to_ask_anew(error.run_id, store)}", ""),
    ]
    return [*((one_row(text), style) for text, style in rows), ("", "")]


@contextmanager
def told_if_outdated(store: Journal) -> Generator[None]:
    """A question of another release ends the command, and it is said how it is put anew."""
    try:
        yield
    except OutdatedQuestionError as error:
        text = "\n".join(one_row(text) for text, _ in _outdated(error, store)).rstrip()
        raise ending(text, REFUSED) from error


def _way_to_ask_anew(run_id: str, store: Journal) -> str:
    """How a run is made to ask by the tools that are here: a command, where no host does it."""
    if isinstance(store, RemoteHost):
        return "the host does it, look again in a moment"
    return runs_command("resume", run_id)


def _waiting(store: Journal, run_id: str, app: str | None) -> list[dict[str, Any]]:
    """The calls of a run that wait, as plain values."""
    if isinstance(store, RemoteHost):
        told = {"agent": store.agent_of(run_id)}
        waiting = store.waiting(run_id)
        told["wanted"] = waiting.wanted
        return [{**pending.to_dict(), **told} for pending in waiting.calls]
    story = required_story(store, run_id)
    if app is not None:
        agent = agent_for(app, story.agent, store, "look into")
        told = {"agent": story.agent, "wanted": wanted_by(agent.assembly.approvers)}
        return [{**pending.to_dict(), **told} for pending in agent.pending(run_id)]
    return [
        {
            "run_id": run_id,
            "agent": story.agent,
            "agents": list(agents),
            "turn": call.turn,
            "place": call.place,
            "call_id": call.call_id,
            "tool_name": call.tool,
            "arguments": call.arguments,
            "reason": call.why,
            "trouble": call.trouble,
            "asked_at": call.asked_at,
            "expires_at": _expiry(call.asked_at, call.expires_s),
        }
        for agents, call in story.waiting()
    ]


def _expiry(asked_at: float | None, expires_s: float | None) -> float | None:
    return None if asked_at is None or expires_s is None else asked_at + expires_s


def _is_screen() -> bool:
    return any(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))


def _question(question: dict[str, Any]) -> list[Line]:
    """The rows of a question. RULE: on a screen each has its mark, and none is broken there."""
    inside = "".join(f" > {name}" for name in question["agents"])
    since = f", asked {age(question['asked_at'])}" if question.get("asked_at") else ""
    until = f", lapses {moment(question['expires_at'])}" if question.get("expires_at") else ""
    lines = [
        (f"{question['run_id']}{inside}  {question['tool_name']}{since}{until}", "bold yellow")
    ]
    lines += [(f"  {exact_text(text)}", "") for text in [question.get("description")] if text]
    lines += [
        (f"  {argument_label(name)} = {compact(value)}{source}", "")
        for part, source in (("arguments", ""), ("state", "  (from the state)"))
        for name, value in question.get(part, {}).items()
    ]
    lines += [(f"  why: {exact_text(text)}", "dim") for text in [question["reason"]] if text]
    if digest := question.get("digest"):
        lines.append((f"  digest: {digest[:DIGEST_SHOWN]}", "dim"))
    rows = [(exact_row(text), style) for text, style in lines]
    if _is_screen():
        rows = [(barred(text), style) for text, style in rows]
    return [*rows, ("", "")]


def question_lines(call: PendingCall) -> list[Line]:
    """A question, as `pending` shows it."""
    return _question({**call.to_dict(), "agents": call.agents})


@click.command()
@run_argument()
@place_option
@click.option("--view", type=click.Choice(VIEWS), default="tree", show_default=True)
@json_option
def show(*, run_id: str, store: Journal, view: str, as_json: bool) -> None:
    """Show what a run has done: as a tree, on a line of time, what it cost, entry by entry."""
    name = run_named(store, run_id)
    story, driver = required_story(store, name), driver_of(store, name)
    if as_json:
        document = {**story.to_dict(), **totals(story), "driver": driver}
        put_json(document if view != "entries" else {**document, "events": entries_of(store, name)})
        return
    console = Console()
    match view:
        case "timeline":
            lines = timeline(story, console.width, lambda text: _can(console, text))
        case "cost":
            lines = costs(story, console.width)
        case "entries":
            rows = [
                [str(value) for value in _entry_row(entry)] for entry in entries_of(store, name)
            ]
            names = ("POSITION", "FORK --AT", "WHEN", "KIND", "STATUS", "DATA")
            lines = table(names, rows, console)
        case _:
            lines = tree(story, console.width)
    if driver is not None:
        who = f"process {driver['pid']} on {driver['host']}"
        lines = [*lines, (f"at work: {who}, since {moment(driver['since'])}", "dim")]
    put_lines(lines, console)


def required_story(store: Journal, run_id: str) -> Story:
    """The story of a run. Raises ClickException where there is no such run."""
    story = story_of(run_id, store.read(run_id))
    if story is None:
        raise ending(f"there is no run {run_id!r}", NOT_FOUND)
    return story


def _entry_row(entry: dict[str, Any]) -> list[object]:
    when = time.strftime("%H:%M:%S", time.localtime(entry["at"]))
    kind = " / ".join(event_path(entry["kind"], entry["data"]))
    # A fork behind it takes so many entries, itself among them; positions are counted from 0.
    place = (entry["position"], entry["position"] + 1)
    return [*place, when, kind, entry["status"], compact(entry["data"])]


def _can(console: Console, text: str) -> bool:
    try:
        text.encode(console.encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True
