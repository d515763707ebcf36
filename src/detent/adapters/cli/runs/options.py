"""Options that commands over runs share, and what a shell completes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from detent.adapters.cli.runs.apps import journal_of_app
from detent.adapters.cli.runs.stores import FORMS, ids_that_begin, own_store, store_at
from detent.core.errors import DetentError
from detent.ports.journal import Journal

F = TypeVar("F", bound=Callable[..., Any])
SHOWN = 50
"""So many ids are offered to a shell."""


def _store(ctx: click.Context, param: click.Parameter, value: str | None) -> Journal | str | None:
    """The store; while a shell completes, its URL."""
    if ctx.resilient_parsing:
        return value
    app = ctx.params.get("app")
    own = journal_of_app(app) if app and not value else None
    return store_at(value or own_store()) if own is None else own


def _completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids that begin so. A store that cannot be read completes nothing."""
    try:
        store = store_at(ctx.params.get("store") or own_store())
        found = ids_that_begin(store, incomplete)
        return [CompletionItem(one) for one, _ in zip(found, range(SHOWN), strict=False)]
    except (click.ClickException, DetentError, OSError):
        return []


def store_option(command: F) -> F:
    """``--store``: which store; the command is given it as `store`."""
    return click.option(
        "--store",
        "store",
        metavar="URL",
        envvar="DETENT_STORE",
        callback=_store,
        help=f"{FORMS}. [default: that of the agents at --app, or of detent run]",
    )(command)


def run_argument(name: str = "run_id") -> Callable[[F], F]:
    """A run's id, or its beginning."""
    return click.argument(name, metavar="RUN", shell_complete=_completed)


def json_option(command: F) -> F:
    """``--json``: a document for programs."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one document of JSON, and nothing else."
    )(command)


def app_option(command: F) -> F:
    """``--app``: where the agent's code is."""
    return click.option(
        "--app",
        metavar="MODULE:NAME",
        envvar="DETENT_APP",
        is_eager=True,  # the store may be that of its agents
        help="Where the agent's code is.",
    )(command)
