"""Stores by URL, and the runs in them by the beginning of their ids."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from detent.adapters.cli.endings import NOT_FOUND, ending
from detent.adapters.cli.runs.apps import agents_at
from detent.adapters.cli.runs.hints import place_words, runs_command
from detent.adapters.drivers.loading import EMPTY, engine_of
from detent.adapters.journals.directory import DirectoryJournal
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.adapters.system.processes import has_ended
from detent.core.values.checks import meant
from detent.ports.claims import claims_of, is_held
from detent.ports.journal import Journal, JournalError
from detent.ports.listing import RunQuery, StoredRun

FORMS = "runs.db, sqlite:PATH, dir:FOLDER, postgresql://… or app:MODULE:NAME"
LAST = "last"
"""In the place of a run's id, or of a conversation's name: the one that was written to last."""
OTHERS = "those of a program of yours: --app MODULE:NAME, or --store FILE"
"""Of runs that are not in the store of one's own."""
PAGE = 1_000
"""So many runs are looked at together."""
ALIKE = 0.8
"""So alike must an id be to have been meant: any two of random letters have some in common."""
NAMED = 5
"""So many runs are named of those that a short id could mean."""


def store_at(url: str, *, make: bool = False) -> Journal:
    """The store that a URL names. It must be there, unless it is to be made: to look makes none.

    ``app:module:name`` is the journal of an agent, which knows how to read what it has sealed.

    Raises:
        ClickException: it is not there, or the URL is none.
    """
    scheme, found, rest = url.partition(":")
    if scheme in {"postgres", "postgresql"}:
        from detent.adapters.journals.postgres.journal import PostgresJournal

        return PostgresJournal(url)
    if scheme == "app":
        return agents_at(rest)[0].assembly.required_journal
    if not found or scheme in {"sqlite", "dir"} or not scheme.isalnum() or Path(url).exists():
        is_folder = scheme == "dir" if found else Path(url).is_dir()
        path = Path(_path(rest) if scheme in {"sqlite", "dir"} and found else url).expanduser()
        if is_folder and (make or path.is_dir()):
            return DirectoryJournal(path)
        if not is_folder and (make or path.is_file()):
            return SQLiteJournal(path)
        raise ending(f"there is no store at {path}; a store is {FORMS}", NOT_FOUND)
    raise click.UsageError(f"{url!r} is no store; one is {FORMS}")


def _path(rest: str) -> str:
    return rest.removeprefix("//")


def own_store() -> str:
    """Where `detent run` keeps runs: the user's state folder, or DETENT_STATE_DIR."""
    from platformdirs import user_state_path

    named = os.environ.get("DETENT_STATE_DIR")
    folder = Path(named) if named else user_state_path("detent", appauthor=False)
    return str(folder / "runs.db")


def store_text(store: Journal) -> str:
    """A store, as people name it; never with what it is reached by."""
    is_told = type(store).__repr__ is not object.__repr__
    return repr(store) if is_told else type(store).__name__


def run_named(store: Journal, beginning: str) -> str:
    """The id of the run that is meant: the whole of it, or its beginning, where that is enough.

    The word last is the newest, unless another run is called so, or begins so.

    Raises:
        ClickException: there is none, or more than one.
    """
    if beginning and any(True for _ in islice(iter(store.read(beginning)), 1)):
        return beginning
    found = list(islice(ids_that_begin(store, beginning), NAMED + 1)) if beginning else []
    if beginning == LAST:
        newest = (run.run_id for run in store.runs(RunQuery(limit=1)))
        found = list(dict.fromkeys([*newest, *found]))
    if len(found) == 1:
        return found[0]
    if not found:
        known = [run.run_id for run in store.runs(RunQuery(limit=PAGE))]
        near = meant(beginning, known, ALIKE)
        text = f"there is no run {beginning!r} in {store_text(store)}{near or ';'} "
        text += f"{runs_command('list')} shows those" if known else EMPTY
        if not place_words():
            text += f"; {OTHERS}"
        raise ending(text, NOT_FOUND)
    names = ", ".join(found[:NAMED]) + (", …" if len(found) > NAMED else "")
    raise click.UsageError(f"{beginning!r} could be more than one run: {names}")


def run_to_end(store: Journal, beginning: str) -> str:
    """The same, for what ends a run, or takes something from it.

    RULE: only somebody at a terminal names it by a beginning. The run of a program's own id may be
    gone, or not there yet, and another one begin so: that of order-12 where order-1 is meant.

    Raises:
        ClickException: there is none, or more than one, or only one that begins so.
    """
    name = run_named(store, beginning)
    if beginning in {name, LAST} or sys.stdin.isatty():
        return name
    text = f"there is no run {beginning!r} in {store_text(store)}; did you mean {name!r}? "
    raise ending(f"{text}The beginning of an id is enough at a terminal alone", NOT_FOUND)


def ids_that_begin(store: Journal, beginning: str) -> Iterator[str]:
    """The ids of the runs that begin so, the one last written to first."""
    return (run.run_id for run in every_run(store) if run.run_id.startswith(beginning))


def every_run(store: Journal, query: RunQuery | None = None) -> Iterator[StoredRun]:
    """All runs that a query asks for, page by page."""
    filters = query or RunQuery()
    before = filters.before
    while True:
        page = store.runs(evolve(filters, before=before, limit=PAGE))
        yield from page
        if len(page) < PAGE:
            return
        before = page[-1].cursor


def engine_that_has(store: Journal, run_id: str) -> str:
    """The engine whose history drives a run, as far as the store knows; "" where there is none."""
    try:
        return engine_of(store, run_id)
    except JournalError:
        return ""


def is_driven(store: Journal, run_id: str) -> bool:
    """Whether a process is at work on a run; also where nobody can tell."""
    try:
        return claims_of(store) is None or driver_of(store, run_id) is not None
    except JournalError:
        return True


def driver_of(store: Journal, run_id: str) -> dict[str, Any] | None:
    """The process that is at work on a run, and since when, as far as its store can tell.

    Raises:
        JournalError: the store cannot be read.
    """
    claims = claims_of(store)
    claim = None if claims is None else claims.find(run_id)
    owner = None if claims is None or claim is None else claims.owner(claim.owner)
    if owner is None or claim is None or has_ended(owner):
        return None
    if not is_held(claim, owner, time.time()):
        return None
    host = owner.host.partition(" ")[0]  # its name, without what tells one start from the next
    return {"host": host, "pid": owner.pid, "since": claim.since}
