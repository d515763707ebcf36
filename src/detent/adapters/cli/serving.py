"""`detent serve`: a process that hosts runs until it is told to end, and shows them on a page."""

from __future__ import annotations

import asyncio
import errno
import logging
import shlex
import signal
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from detent.adapters.agent.agent import Agent
from detent.adapters.cli.endings import INTERRUPTED, CodedCommand
from detent.adapters.cli.hosting import ENGINES, host_of
from detent.adapters.cli.runs.apps import agents_by_name
from detent.adapters.cli.runs.stores import FORMS, store_at
from detent.adapters.hosts.signals import serve_until_signal
from detent.adapters.hosts.stored import StoredHost
from detent.adapters.providers.http.endpoints import without_secrets
from detent.adapters.system.installation import install_command
from detent.adapters.system.program import program
from detent.ports.approvers import wanted_by
from detent.ports.journal import Journal

if TYPE_CHECKING:
    from detent.adapters.web.people import Tokens

HIGHEST_PORT = 65535
LOGGER = logging.getLogger("detent.serve")
WEB = "127.0.0.1:8000"
TOKENS = "say by --token-file FILE who may sign in, or "
LEAVE_S = 3.0
"""So long pages that are open, and follow runs, are waited for at the end."""
LEFT_S = 2
"""So long it takes at most until those that have not ended by then are gone."""


def _no_port(context: click.Context, option: click.Parameter, typed: str | None) -> None:
    """Where others listen by a port alone, it is said how it is written here."""
    if typed is not None:
        raise click.UsageError(f"a page is at an address: --web HOST:PORT, as --web {WEB}")


@click.command(cls=CodedCommand)
@click.argument("app", metavar="MODULE:NAME", envvar="DETENT_APP")
@click.option(
    "--journal",
    metavar="URL",
    envvar="DETENT_STORE",
    help=f"Where the runs are: {FORMS}. A file or folder is made if need be. [default: the journal "
    "that the agents have]",
)
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
    help="Take runs from an engine that others keep, in place of this process alone.",
)
@click.option(
    "--engine-option",
    "engine_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Where the engine is: url=… of dbos, client=HOST:PORT of temporal, ingress=…, admin=…, "
    "listen=… and name=… of restate. Of dbos and temporal also mode=effects, in place of legs.",
)
@click.option(
    "--web",
    is_flag=False,
    flag_value=WEB,
    metavar="[HOST:PORT]",
    help=f"Show questions and runs in a browser. [HOST:PORT if left out: {WEB}]",
)
@click.option("--port", "--host", hidden=True, expose_value=False, callback=_no_port)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Who may sign in to the web page: a line for each, a name and a token.",
)
def serve(
    app: str,
    journal: str | None,
    *,
    running: int,
    drain: float,
    engine: str | None,
    engine_options: tuple[str, ...],
    web: str | None,
    token_file: Path | None,
) -> None:
    """Host the runs of agents until SIGTERM or Ctrl-C; then drain.

    MODULE:NAME is an agent, several, a mapping of agents by the names that runs are started with,
    or a function that makes one of these. Others may start runs and decide from processes of their
    own, with the same journal. A second signal cancels what is at work. The exit code is 0 after
    SIGTERM and 130 after Ctrl-C.
    """
    agents = agents_by_name(app)
    store = journal_of(agents, journal)
    host = host_of(engine, engine_options, agents, store, running=running, drain_s=drain)
    if web is None and token_file is not None:
        raise click.UsageError("--token-file is for --web: who may sign in to the page")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    LOGGER.setLevel(logging.INFO)
    LOGGER.info("begins, with %s", ", ".join(map(repr, sorted(agents))))
    people = None if token_file is None else people_in(token_file)
    if web is not None:
        _warn_of_approvers(agents, has_people=people is not None)
    with (
        nullcontext()
        if web is None
        else listening("--web", web, has_people=bool(people)) as listener
    ):
        number = asyncio.run(_served(host, listener, people, _looking_words(app, journal)))
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


async def _served(
    host: StoredHost, listener: socket.socket | None, people: Tokens | None, looking: str
) -> int:
    """Host until a signal, which is given back; with a listener, show the web page there."""
    pages = None if listener is None else _Pages(host, listener, people)

    def ready() -> None:
        if pages is not None:
            pages.begin()
        else:
            LOGGER.info("shows what waits at a terminal: %s", looking)
        LOGGER.info("is ready")

    def drains(number: int) -> None:
        name = signal.Signals(number).name
        LOGGER.info("drains after %s: %d runs are at work", name, host.health().running)

    try:
        return await serve_until_signal(host, ready, drains)
    finally:
        if pages is not None:
            await pages.end()


class _Pages:
    """The web page of a host, in its event loop. Where it fails, the process ends."""

    def __init__(self, host: StoredHost, listener: socket.socket, people: Tokens | None) -> None:
        try:
            import uvicorn

            from detent.adapters.web.app import web_app
        except ModuleNotFoundError as error:
            advice = f"--web needs {error.name}: {install_command('web')}"
            raise ImportError(advice) from error

        class Server(uvicorn.Server):
            @contextmanager
            def capture_signals(self) -> Generator[None]:
                """They are the host's."""
                yield

        logging.getLogger("uvicorn.error").addFilter(hint_at_https)
        self._listener, self._has_people = listener, people is not None
        self._task: asyncio.Task[None] | None = None
        self._answers = _Answers(web_app(host, sign_in=people))
        self._server = Server(
            uvicorn.Config(
                self._answers,
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=int(LEAVE_S) + LEFT_S,
            )
        )

    def begin(self) -> None:
        """Answer from now on."""
        where: str
        where, port = self._listener.getsockname()[:2]
        LOGGER.info("shows its runs at %s", _url(where, port))
        # A token is sent to no address that is every one: a terminal on this machine has its own.
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(where, where)  # noqa: S104 - none is bound
        words = shlex.join([*program(), "runs", "pending", "--host", _url(here, port)])
        own = " --token-file FILE, in which your own token stands alone" if self._has_people else ""
        LOGGER.info("answers a terminal: %s%s", words, own)
        self._task = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not self._server.should_exit:  # nobody wanted it to end
            signal.raise_signal(signal.SIGTERM)

    async def end(self) -> None:
        """Answer no more. Raises what has ended it before."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait([self._task], timeout=LEAVE_S)
            self._answers.end()
            await self._task


def hint_at_https(record: logging.LogRecord) -> bool:
    """A filter that says what most often is no request: a browser that was told https://."""
    if record.msg == "Invalid HTTP request received.":
        record.msg = (
            "what came in is no request: the page is at http://, perhaps https:// was typed"
        )
    return True


class _Answers:
    """An ASGI app whose answers can be ended: one that follows a run goes on for as long as that.

    RULE: a page that somebody has open is no error. A server that cancels its answer says so in the
    log, at ERROR and with all of a stack; so each is ended here before the server would do it.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_ended = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        task, has_begun = asyncio.current_task(), False
        assert task is not None  # noqa: S101 - a coroutine that awaits is in one

        async def sent(message: Any) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        self._tasks.add(task)
        try:
            await self._app(scope, receive, sent)
        except asyncio.CancelledError:
            if not (self._is_ended and has_begun):
                raise
            task.uncancel()  # it was ours
            await send({"type": "http.response.body"})  # the last part, of nothing
        finally:
            self._tasks.discard(task)

    def end(self) -> None:
        """End those that still go on."""
        self._is_ended = True
        for task in self._tasks:
            task.cancel()


def _url(address: str, port: int) -> str:
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"


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
        raise click.UsageError("the agents have a journal of their own: leave out --journal")
    if url is not None:
        return store_at(url, make=True)
    if len(own) == 1 and has_all:
        return next(iter(own.values()))
    why = "several journals" if len(own) > 1 else "not all a journal" if own else "no journal"
    raise click.UsageError(f"the agents have {why}: a host has one; --journal runs.db names it")


def people_in(path: Path) -> Tokens:
    """Who may sign in, of a file: see `Tokens.read`.

    Raises:
        ClickException: it is none. No token is shown.
    """
    from detent.adapters.web.people import Tokens

    try:
        return Tokens.read(path)
    except ValueError as error:
        raise click.UsageError(f"--token-file {error}") from error


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
