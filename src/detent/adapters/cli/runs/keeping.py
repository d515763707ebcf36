"""`export`, `verify`, `backup` and `clean`: what keepers of a store do."""

from __future__ import annotations

import json
import sys
import time
from itertools import islice
from pathlib import Path

import click
from attrs import frozen

from detent.adapters.agent.records.proofs import proof_of, unfollowed_problem
from detent.adapters.cli.endings import FAILED
from detent.adapters.cli.runs.apps import agent_for
from detent.adapters.cli.runs.entries import entries_of
from detent.adapters.cli.runs.options import (
    app_option,
    json_option,
    place_option,
    run_argument,
    store_option,
)
from detent.adapters.cli.runs.printing import put_json, say
from detent.adapters.cli.runs.stores import engine_that_has, every_run, run_named
from detent.adapters.drivers.history import Runs
from detent.adapters.journals.audited import verify_audit
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.adapters.stories.story import SEALED, story_of
from detent.core.errors import DetentError
from detent.core.run.spec import AgentSpec
from detent.core.state.state import State
from detent.ports.journal import Journal, JournalDamagedError
from detent.ports.listing import ENDED, RunQuery

SECONDS = {"s": 1, "h": 3_600, "d": 86_400, "w": 604_800}

replace_option = click.option(
    "--replace", is_flag=True, help="Put it in the place of a file that is there."
)


def _is_there(file: Path) -> click.UsageError:
    return click.UsageError(f"there is a file {file} already: name another one, or say --replace")


@click.command()
@run_argument()
@place_option
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="[default: here]")
@replace_option
@click.option("--json", "as_json", is_flag=True, help="One document; else a line for each entry.")
def export(
    *, run_id: str, store: Journal, output: Path | None, replace: bool, as_json: bool
) -> None:
    """Write all that is stored of a run as JSON. Secret arguments are masked."""
    name = run_named(store, run_id)
    entries = entries_of(store, name)
    if as_json:
        text = json.dumps({"run_id": name, "entries": entries}, indent=2) + "\n"
    else:
        text = "".join(json.dumps(entry) + "\n" for entry in entries)
    if output is None:
        click.echo(text, nl=False)
    elif output.exists() and not replace:
        raise _is_there(output)
    else:
        output.write_text(text, encoding="utf-8")
        say(f"{len(entries)} entries of run {name} are in {output}")


@click.command()
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@store_option
@app_option
@click.option(
    "--expect-head",
    metavar="HEAD",
    help="Of one run, what this said of it before: what was there then must still be there.",
)
@json_option
def verify(
    *,
    run_ids: tuple[str, ...],
    store: Journal,
    app: str | None,
    expect_head: str | None,
    as_json: bool,
) -> None:
    """Read all of some runs, or of every run: whether it is whole, and what was written.

    With --app each is replayed as well, and held against its chain where the journal is audited.
    One may be whole, and the agent have changed since, so that it cannot be followed. Of runs that
    are named the head is said, which --expect-head takes later, of the same journal: with --app
    that of the agent, else the store as it is. What is sealed is read with --app, or --store app:….
    The exit code is 1 where one is not as it should be, or cannot be followed.
    """
    if expect_head is not None and len(run_ids) != 1:
        raise click.UsageError("--expect-head is the head of one run: name that")
    names = [run_named(store, beginning) for beginning in run_ids]
    checks = [
        _check(store, app, name, expect_head)
        for name in names or [run.run_id for run in every_run(store)]
    ]
    bad = [one for one in checks if one.problem is not None]
    damaged = sum(not one.is_whole for one in bad)
    if as_json:
        counts = {"damaged": damaged, "unfollowed": len(bad) - damaged}
        put_json({"runs": [one.to_dict() for one in checks], **counts})
    for one in bad:
        say(f"run {one.run_id}: {one.problem}")
    for one in checks if names and not as_json else ():
        if one.head:
            say(f"head of run {one.run_id}: {one.head}")
    say(f"runs read: {len(checks)}, of them damaged: {damaged}")
    if left := len(bad) - damaged:
        say(f"{left} are whole, and cannot be followed by the agents at --app, which have changed")
    if app is not None and (driven := sum(_is_of_engine(store, one.run_id) for one in checks)):
        say(
            f"{driven} go on by the effects of an engine, which wants more: the same arguments, "
            "labels, limits and guards. The health of its host names those that it cannot follow"
        )
    if sealed := sum(one.is_sealed for one in checks):
        say(f"{sealed} are sealed, and only whether entries are missing was looked at: {SEALED}")
    if bad:
        raise click.exceptions.Exit(FAILED)


@frozen
class Check:
    """What came of reading all of a run.

    Attributes:
        problem: why it is not as it should be; None where it is.
        is_whole: whether what is stored is whole: a release may not be able to follow it.
        is_sealed: whether it could not be read, so that what is in the entries was not looked at.
        head: of its journal, as `verify_audit` says; None where it cannot be said.
    """

    run_id: str
    problem: str | None
    is_whole: bool
    is_sealed: bool = False
    head: str | None = None

    def to_dict(self) -> dict[str, str | bool | None]:
        """Plain values."""
        return {
            "run_id": self.run_id,
            "whole": self.is_whole,
            "problem": self.problem,
            "sealed": self.is_sealed,
            "head": self.head,
        }


def _check(store: Journal, app: str | None, run_id: str, expect_head: str | None) -> Check:
    problem = _damage(store, run_id)
    if problem is not None:
        return Check(run_id, problem, is_whole=False)
    journal, problems, changed = store, list[str](), None
    is_sealed = app is None and _is_sealed(store, run_id)
    if app is not None:
        story = story_of(run_id, store.read(run_id))
        agent = agent_for(app, "" if story is None else story.agent, store, "replay")
        journal = agent.assembly.required_journal
        problems += proof_of(journal, agent.spec, run_id).problems
        changed = unfollowed_problem(journal, agent.spec, run_id) if problems else None
    head = None
    try:
        head = verify_audit(journal, run_id, expect_head=expect_head).head
    except JournalDamagedError as error:
        problems.append(str(error))
    is_whole = all(one == changed for one in problems)
    return Check(run_id, "; ".join(dict.fromkeys(problems)) or None, is_whole, is_sealed, head)


def _is_of_engine(store: Journal, run_id: str) -> bool:
    """Whether the history of an engine says how a run goes on that has not ended."""
    is_live = any(run.status not in ENDED for run in store.runs(RunQuery(run_id=run_id)))
    return is_live and bool(engine_that_has(store, run_id))


def _is_sealed(store: Journal, run_id: str) -> bool:
    story = story_of(run_id, islice(store.read(run_id), 1))
    return story is not None and SEALED in story.notes


def _damage(store: Journal, run_id: str) -> str | None:
    """What is not as it was written, as far as that can be seen without an agent."""
    try:
        listed = store.runs(RunQuery(run_id=run_id))  # first, as a run may grow meanwhile
        positions = [entry["position"] for entry in entries_of(store, run_id)]
        for checkpoint in store.checkpoints(run_id):
            if checkpoint.position > len(positions) or not checkpoint.data:
                return f"a checkpoint stands behind entry {checkpoint.position}, which is not there"
        story = story_of(run_id, store.read(run_id))
    except DetentError as error:
        return str(error)
    if story is None or positions != list(range(len(positions))):
        return "entries are missing"
    if listed and listed[0].length > len(positions):
        return f"lists say that it had {listed[0].length} entries, and {len(positions)} are left"
    return None


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@store_option
@replace_option
@json_option
def backup(*, file: Path, store: Journal, replace: bool, as_json: bool) -> None:
    """Copy a whole SQLite store to FILE, as it is at one instant; others may write on."""
    if not isinstance(store, SQLiteJournal):
        raise click.UsageError(
            "only an SQLite store is copied by this command: copy a folder with any program, and a "
            "database with pg_dump -t 'detent_*'"
        )
    if file.exists() and not replace:
        raise _is_there(file)
    store.backup(file, replace=replace)
    if as_json:
        put_json({"file": str(file), "bytes": file.stat().st_size})
    else:
        say(f"the store is copied to {file}")


def _seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    number, unit = value[:-1], value[-1:]
    if unit == "m":  # what is deleted by a wrong guess is gone
        raise click.BadParameter(f"{value} may be minutes or months: write hours, 1h, or days, 30d")
    if unit not in SECONDS or not number.isdecimal():
        raise click.BadParameter("write a number and a unit: 90d, 12h, 4w")
    return float(number) * SECONDS[unit]


@click.command()
@store_option
@click.option(
    "--older-than", callback=_seconds, required=True, metavar="AGE", help="30d, 12h, 4w …"
)
@click.option("--dry-run", is_flag=True, help="Only show which.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@json_option
def clean(*, store: Journal, older_than: float, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete the runs that have ended and were last written to so long ago.

    Runs that wait, or go on, stay whatever their age.
    """
    before = time.time() - older_than
    names = [run.run_id for run in every_run(store) if run.status in ENDED and run.at < before]
    if not (dry_run or yes or not names):
        if not sys.stdin.isatty():
            raise click.UsageError(f"runs that would be deleted: {len(names)}; --yes does it")
        click.confirm(f"Delete this many runs: {len(names)}?", abort=True, err=True)
    gone = [] if dry_run or not names else list(_runs(store).forget(before))
    if as_json:
        put_json({"would_delete" if dry_run else "deleted": names if dry_run else gone})
        return
    for name in names if dry_run else gone:
        click.echo(name)
    say(f"runs that would be deleted: {len(names)}" if dry_run else f"runs deleted: {len(gone)}")


def _runs(store: Journal) -> Runs[State]:
    """The runs of a store, for what no rules are needed for."""
    return Runs(store, AgentSpec(State(schema={})))
