"""`detent serve`: a process that hosts runs until it is told to end, and shows them on a page."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shlex
import signal
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from ipaddress import ip_address
from typing import Any

import click
from click.core import ParameterSource

from detent.adapters.agent.agent import Agent
from detent.adapters.cli.endings import INTERRUPTED, CodedCommand
from detent.adapters.cli.hosting import ENGINES, host_of, with_environment
from detent.adapters.cli.pages import WEB, PageOptions, Pages, page_options
from detent.adapters.cli.runs.apps import agents_by_name, app_argument, file_names
from detent.adapters.cli.runs.stores import FORMS, store_at
from detent.adapters.hosts.signals import serve_until_signal
from detent.adapters.hosts.stored import StoredHost
from detent.adapters.providers.http.endpoints import without_secrets
from detent.adapters.system.program import program
from detent.ports.approvers import wanted_by
from detent.ports.journal import Journal

HIGHEST_PORT = 65535
LOGGER = logging.getLogger("detent.serve")
TOKENS = "say by --token-file FILE who may sign in, or "


journal_option = click.option(
    "--journal",
    metavar="URL",
    envvar="DETENT_STORE",
    shell_complete=file_names,
    help=f"Where the runs are: {FORMS}. A file or folder is made if need be. [default: "
    "DETENT_STORE, or the journal that the agents have]",
)
"""Of each command that hosts runs: where they are."""


@click.command(cls=CodedCommand)
@app_argument
@journal_option
@click.option(
    "--running",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    metavar="N",
    help="So many runs go on at once.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long what is at work is heard out at the end.",
)
@click.option(
    "--engine",
    type=click.Choice(sorted(ENGINES)),
    envvar="DETENT_ENGINE",
    help="Take runs from an engine that others keep, in place of this process alone. [default: "
    "DETENT_ENGINE]",
)
@click.option(
    "--engine-option",
    "engine_options",
    multiple=True,
    envvar="DETENT_ENGINE_OPTIONS",
    callback=with_environment,
    metavar="NAME=VALUE",
    help="Where the engine is: url=… of dbos, client=HOST:PORT of temporal, ingress=…, admin=…, "
    "listen=… and name=… of restate. Of dbos and temporal also mode=effects, in place of legs. "
    "DETENT_ENGINE_OPTIONS has more of them, with a space between two; what is typed wins.",
)
@page_options
def serve(
    app: str,
    journal: str | None,
    *,
    running: int,
    drain: float,
    engine: str | None,
    engine_options: tuple[str, ...],
    page: PageOptions | None,
) -> None:
    """Host the runs of agents until SIGTERM or Ctrl-C; then drain.

    MODULE:NAME is an agent, several, a mapping of agents by the names that runs are started with,
    or a function that makes one of these; DETENT_APP may name it. Others may start runs and decide
    from processes of their own, with the same journal. A second signal cancels what is at work.
    SIGHUP drains as well where this was started at a terminal, which sends it as it closes;
    elsewhere it has the token file read again. The exit code is 0 after SIGTERM and SIGHUP, and
    130 after Ctrl-C.
    """
    agents = agents_by_name(app)
    store = journal_of(agents, journal)
    host = host_of(engine, engine_options, agents, store, running=running, drain_s=drain)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in (LOGGER.name, "detent.people"):
        logging.getLogger(name).setLevel(logging.INFO)
    LOGGER.info("begins, with %s", ", ".join(map(repr, sorted(agents))))
    has_people = page is not None and page.people is not None
    if page is not None:
        _warn_of_approvers(agents, has_people=has_people)
    with (
        nullcontext()
        if page is None
        else listening("--web", page.place, has_people=has_people) as listener
    ):
        pages = None if page is None or listener is None else Pages(host, listener, page)
        number = asyncio.run(_served(host, pages, _looking_words(app, journal)))
    LOGGER.info("has ended")
    if number == signal.SIGINT:
        raise click.exceptions.Exit(INTERRUPTED)


def _warn_of_approvers(agents: Mapping[str, Agent[Any, Any]], *, has_people: bool) -> None:
    """Say of each agent whose approvers will know nobody by what a page can show them."""
    for name, agent in sorted(agents.items()):
        wanted = wanted_by(agent.assembly.approvers)
        if wanted == "signature":
            text = "no page can decide about %r: its approvers want a signature, as %s makes it"
            LOGGER.warning(text, name, "detent runs decide --key-file FILE")
        elif wanted == "credential" and not has_people:
            text = "nobody can decide about %r on the page: its approvers want to know who does, %s"
            LOGGER.warning(text, name, "which --token-file FILE lets people show")


def _looking_words(app: str, journal: str | None) -> str:
    """The command that shows what waits for a human, read from the store: no page is needed."""
    where = [] if journal is None else ["--store", without_secrets(journal)]
    return shlex.join([*program(), "runs", "pending", "--app", app, *where])


async def _served(host: StoredHost, pages: Pages | None, looking: str) -> int:
    """Host until a signal, which is given back; meanwhile show the pages, where there are some."""

    def ready() -> None:
        if pages is not None:
            pages.begin()
        else:
            LOGGER.info("shows what waits at a terminal: %s", looking)
        LOGGER.info("is ready")

    def drains(number: int) -> None:
        name = signal.Signals(number).name
        LOGGER.info("drains after %s; runs at work: %d", name, host.health().running)

    def reload() -> None:
        people = None if pages is None else pages.people
        LOGGER.info(
            "SIGHUP: %s", "there is no token file" if people is None else "looks who may sign in"
        )
        if people is not None:
            people.people()

    try:
        hangs_up = None if _has_terminal() else reload
        return await serve_until_signal(host, ready, drains, hangs_up)
    finally:
        if pages is not None:
            await pages.end()


def _has_terminal() -> bool:
    """Whether this was started at a terminal, which sends SIGHUP as it closes.

    RULE: whoever closes it wants an end, and would otherwise leave a process behind that nobody
    sees. A daemon has none, and is sent SIGHUP by whoever wants it to read its files again.
    """
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except (AttributeError, OSError):
        return False  # one that there is no more, or Windows, which knows no such signal
    os.close(terminal)
    return True


def journal_of(agents: Mapping[str, Agent[Any, Any]], url: str | None) -> Journal:
    """The journal that is named, or the one that the agents have.

    RULE: an agent's own journal is never left for another: it may seal or redact what is written.
    """
    own = {
        id(journal): journal
        for journal in (agent.assembly.journal for agent in agents.values())
        if journal
    }
    has_all = all(agent.assembly.journal is not None for agent in agents.values())
    if url is not None and own:
        raise click.UsageError(f"the agents have a journal of their own: {_left_out()}")
    if url is not None:
        return store_at(url, make=True)
    if len(own) == 1 and has_all:
        return next(iter(own.values()))
    why = "several journals" if len(own) > 1 else "not all a journal" if own else "no journal"
    raise click.UsageError(f"the agents have {why}: a host has one; --journal runs.db names it")


def _left_out() -> str:
    """What to do about a journal too many: whoever reads it may have typed none."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source("journal")
    if source is ParameterSource.ENVIRONMENT:
        return "DETENT_STORE names another one; unset it for this command"
    return "leave out --journal"


@contextmanager
def listening(option: str, place: str, *, has_people: bool = False) -> Generator[socket.socket]:
    """A socket at ``HOST:PORT``; without people who sign in, for this machine alone."""
    name, _, digits = place.rpartition(":")
    name = name.strip("[]") or "127.0.0.1"
    if not digits.isdecimal() or int(digits) > HIGHEST_PORT:
        raise click.UsageError(f"{option} {place}: expected HOST:PORT, such as {WEB}")
    if not (has_people or _is_loopback(name)):
        raise click.UsageError(
            f"{option} {place} would let in everybody who reaches this machine: "
            f"{TOKENS if option == '--web' else ''}listen on {WEB}"
        )
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        listener = socket.create_server((name, int(digits)), family=family)
    except OSError as error:
        text = f"cannot listen on {place}: {error.strerror}"
        if error.errno == errno.EADDRINUSE:
            other = (int(digits) + 1) % (HIGHEST_PORT + 1)  # 0 is any that is free
            way = f"end it, or listen elsewhere: {option} {place.rpartition(':')[0]}:{other}"
            text = f"{place} is taken, by a program that still runs: {way}"
        raise click.ClickException(f"{option}: {text}") from error
    with listener:
        yield listener


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
