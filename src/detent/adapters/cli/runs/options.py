"""Options that commands over runs share, and what a shell completes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from detent.adapters.cli.runs.apps import file_names, journal_of_app
from detent.adapters.cli.runs.hints import note_place
from detent.adapters.cli.runs.remote import LOCAL_ONLY, RemoteHost
from detent.adapters.cli.runs.stores import FORMS, LAST, ids_that_begin, own_store, store_at
from detent.core.errors import DetentError
from detent.ports.journal import Journal

F = TypeVar("F", bound=Callable[..., Any])
HOSTS_DO = "a host goes on with its runs by itself, see detent runs watch RUN --host URL"
SHOWN = 50
"""So many ids are offered to a shell."""


def _store(ctx: click.Context, param: click.Parameter, value: str | None) -> Journal | str | None:
    """The store, or the host in its place; while a shell completes, its URL."""
    if ctx.resilient_parsing:
        return value
    names = ("host", "token_file", "app")
    note_place(ctx, {"store": value, **{name: ctx.params.get(name) for name in names}})
    app = ctx.params.get("app")
    if any(isinstance(option, StoreApp) for option in ctx.command.params):
        del ctx.params["app"]  # the command itself has no use for it
    is_said = ctx.get_parameter_source("store") is ParameterSource.COMMANDLINE
    if (host := _host_of(ctx, is_said=is_said)) is not None:
        return host
    return _journal_of(app) if app and not value else store_at(value or own_store())


def _journal_of(app: str) -> Journal:
    """The journal of the agents at `app`: the runs of `detent run` are none of theirs.

    Raises:
        ClickException: they have none, or several.
    """
    if (own := journal_of_app(app)) is None:
        text = f"the agents at {app} have no journal, or not all the same: whose runs are meant?"
        raise click.UsageError(f"{text} Say where they are by --store FILE")
    return own


class StoreApp(click.Option):
    """``--app`` of a command that needs no code: it says no more than where the runs are."""


def _host_of(ctx: click.Context, *, is_said: bool) -> RemoteHost | None:
    """The host that is meant; None where a store is: one that is said comes before a variable.

    Raises:
        ClickException: a store is said beside it, or the command works on a store alone.
    """
    knows = "host" in ctx.params
    url = ctx.params.pop("host", None)
    tokens: Path | None = ctx.params.pop("token_file", None)
    if not knows:
        if os.environ.get("DETENT_HOST") and not is_said:
            raise click.UsageError(f"DETENT_HOST is set: {LOCAL_ONLY}")
        return None
    if url and is_said:
        if ctx.get_parameter_source("host") is ParameterSource.COMMANDLINE:
            raise click.UsageError("the runs are in a --store or at a --host: say one of them")
        return None
    if not url:
        if tokens is not None:
            raise click.UsageError("--token-file is for --host: who you are there")
        return None
    return RemoteHost(url, _token(tokens))


def _token(file: Path | None) -> str | None:
    """Who asks: the last word of a file, which may have a name before it as `detent serve` has."""
    if file is None:
        return os.environ.get("DETENT_TOKEN") or None
    lines = text_of(file, "--token-file").splitlines()
    words = [line.split()[-1] for line in lines if line.strip() and not line.startswith("#")]
    if len(words) != 1:
        raise click.UsageError(f"--token-file {file}: expected one line, with your own token")
    return words[0]


def text_of(file: Path, option: str) -> str:
    """What is in a file that an option has named, to show who somebody is.

    Raises:
        UsageError: it is no text. Nothing of it is quoted.
    """
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise click.UsageError(f"{option} {file}: expected text, in UTF-8") from None


def _completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids that begin so. A store that cannot be read completes nothing.

    Agents are imported where --app names them: what their module prints is nothing to complete.
    """
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            found = ids_that_begin(_completed_store(ctx.params), incomplete)
            ids = [*filter(lambda name: name.startswith(incomplete), [LAST]), *islice(found, SHOWN)]
    except (click.ClickException, DetentError, OSError):
        return []
    return [CompletionItem(run_id) for run_id in dict.fromkeys(ids)]


def _completed_store(params: Mapping[str, Any]) -> Journal:
    """The store of the command that is typed so far."""
    if url := params.get("host"):
        return RemoteHost(url, _token(params.get("token_file")))
    app, place = params.get("app"), params.get("store")
    return _journal_of(app) if app and not place else store_at(place or own_store())


def store_option(command: F) -> F:
    """``--store``: which store; the command is given it as `store`.

    ``--app`` may name the store of its agents, also where the command needs no code of theirs.
    ``--host`` is known, so that whoever types it is told more than that there is none.
    """
    refused = click.option("--host", hidden=True, expose_value=False, callback=_no_host)
    return refused(_store_option(command))


def _no_host(ctx: click.Context, param: click.Parameter, url: str | None) -> None:
    if url is not None and not ctx.resilient_parsing:
        raise click.UsageError(f"--host: {LOCAL_ONLY}; {HOSTS_DO}")


def _store_option(command: F) -> F:
    known: list[click.Parameter] = getattr(command, "__click_params__", [])
    if all(option.name != "app" for option in known):
        command = app_option(command, StoreApp, "The agents whose store is meant.")
    return click.option(
        "--store",
        "store",
        metavar="URL",
        envvar="DETENT_STORE",
        callback=_store,
        shell_complete=file_names,
        help=f"{FORMS}. [default: that of the agents at --app, or of detent run]",
    )(command)


def place_option(command: F) -> F:
    """``--store``, or ``--host`` in its place: the command is given either as `store`."""
    for option in (
        click.option(
            "--token-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            is_eager=True,
            help="Who you are at --host: a line with your token. [default: DETENT_TOKEN]",
        ),
        click.option(
            "--host",
            metavar="URL",
            envvar="DETENT_HOST",
            is_eager=True,  # the store is looked for where there is none
            help="In place of a store: what `detent serve --web` shows, such as "
            "http://127.0.0.1:8000.",
        ),
    ):
        command = option(command)
    return _store_option(command)


def run_argument(name: str = "run_id") -> Callable[[F], F]:
    """A run's id, or its beginning."""
    return click.argument(name, metavar="RUN", shell_complete=_completed)


def json_option(command: F) -> F:
    """``--json``: a document for programs."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one document of JSON, and nothing else."
    )(command)


def app_option(
    command: F, kind: type[click.Option] = click.Option, text: str = "Where the agent's code is."
) -> F:
    """``--app``: where the agent's code is."""
    return click.option(
        "--app",
        cls=kind,
        metavar="MODULE:NAME",
        envvar="DETENT_APP",
        is_eager=True,  # the store may be that of its agents
        shell_complete=file_names,
        help=text,
    )(command)
