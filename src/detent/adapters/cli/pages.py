"""The web page of `detent serve`: what it is told by options, and the server that shows it."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import socket
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from attrs import field, frozen

from detent.adapters.cli.runs.options import text_of
from detent.adapters.hosts.stored import StoredHost
from detent.adapters.system.connections import QUEUE, bounded, burst_of, connections_max
from detent.adapters.system.installation import install_command
from detent.adapters.system.program import program

if TYPE_CHECKING:
    from detent.adapters.web.people import TokenFile

F = TypeVar("F", bound=Callable[..., Any])
LOGGER = logging.getLogger("detent.serve")
WEB = "127.0.0.1:8000"
OF_NAMES = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._")
SECRET = "DETENT_SECRET"  # noqa: S105 - the name of a variable
LEAVE_S = 3.0
"""So long pages that are open, and follow runs, are waited for at the end."""
LEFT_S = 2
"""So long it takes at most until those that have not ended by then are gone."""
SPARE = 8
"""Of so many connections one is for probes: the others are answered to all who ask."""
FULL = {
    "why": "full",
    "text": "this process answers as many requests as it can: try again later",
    "faults": list[str](),
}
ENDS = {
    "why": "shutting_down",
    "text": "this process ends, and does not know whether that was done: ask another one",
    "faults": list[str](),
}


@frozen
class PageOptions:
    """Where the page is, who may sign in to it, and what `web_app` takes beside."""

    place: str
    people: TokenFile | None = None
    secret: str | None = field(default=None, repr=False)
    https_only: bool = False
    allowed_hosts: tuple[str, ...] = ()


def _no_port(context: click.Context, option: click.Parameter, typed: str | None) -> None:
    """Where others listen by a port alone, it is said how it is written here."""
    if typed is not None:
        raise click.UsageError(f"a page is at an address: --web HOST:PORT, as --web {WEB}")


def _names(
    context: click.Context, option: click.Parameter, typed: tuple[str, ...]
) -> tuple[str, ...]:
    """Names of hosts: one with a port or a path is none that a browser would say."""
    names = tuple(name.strip() for text in typed for name in text.split(",") if name.strip())
    for name in names:
        rest = name.removeprefix("*.")
        if name != "*" and not (rest and rest.isascii() and set(rest.lower()) <= OF_NAMES):
            text = (
                f"--allowed-hosts {name}: expected the name of a host alone, such as desk.example"
            )
            raise click.UsageError(text)
    return names


def page_options(command: F) -> F:
    """``--web`` and what is said of it: the command is given it as `page`, None where none is."""

    @wraps(command)
    def with_page(
        *arguments: Any,
        web: str | None,
        token_file: Path | None,
        secret_file: Path | None,
        https_only: bool,
        allowed_hosts: tuple[str, ...],
        **others: Any,
    ) -> Any:
        for option, is_said, about in (
            ("--token-file", token_file is not None, "who may sign in to the page"),
            ("--secret-file", secret_file is not None, "what sessions are signed with"),
            ("--https-only", https_only, "how the page's cookie is sent"),
            ("--allowed-hosts", bool(allowed_hosts), "the names of the page"),
        ):
            if web is None and is_said:
                raise click.UsageError(f"{option} is for --web: {about}")
        page = None
        if web is not None:
            people = None if token_file is None else people_in(token_file)
            page = PageOptions(web, people, _secret(secret_file), https_only, allowed_hosts)
        return command(*arguments, page=page, **others)

    for option in reversed(OPTIONS):
        option(with_page)
    return with_page  # type: ignore[return-value] # click calls it by name


OPTIONS = (
    click.option(
        "--web",
        is_flag=False,
        flag_value=WEB,
        metavar="[HOST:PORT]",
        help=f"Show questions and runs in a browser. [HOST:PORT if left out: {WEB}]",
    ),
    click.option("--port", "--host", hidden=True, expose_value=False, callback=_no_port),
    click.option(
        "--token-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Who may sign in to the web page: a line for each, a name and a token, with read-only "
        "between the two for who may only look. What is changed in it counts at once.",
    ),
    click.option(
        "--secret-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="What sessions are signed with: the same for all processes behind one address. "
        f"[default: {SECRET}, or one that is drawn, so that sessions end with the process]",
    ),
    click.option(
        "--https-only",
        is_flag=True,
        help="Have browsers send the session's cookie over HTTPS alone: say it behind HTTPS.",
    ),
    click.option(
        "--allowed-hosts",
        metavar="NAME[,NAME]",
        multiple=True,
        callback=_names,
        help="The names that the page answers to, as browsers say them; *.NAME is all below one. "
        "[default: any where people sign in, else those of this machine]",
    ),
)


@contextmanager
def _needing_web() -> Generator[None]:
    """What is imported inside comes with the extra `web`, and the error says so."""
    try:
        yield
    except ModuleNotFoundError as error:
        needed = (error.name or "").partition(".")[0]
        raise ImportError(f"--web needs {needed}: {install_command('web')}") from error


def people_in(path: Path) -> TokenFile:
    """Who may sign in, of a file that is looked at again: see `TokenFile`.

    Raises:
        UsageError: it is none. No token is shown.
    """
    with _needing_web():
        from detent.adapters.web.people import TokenFile

    try:
        return TokenFile(path)
    except ValueError as error:
        raise click.UsageError(f"--token-file {error}") from error


def _secret(file: Path | None) -> str | None:
    """What sessions are signed with; None where nobody says.

    RULE: it is on no command line, where others who use the machine see it.
    """
    with _needing_web():
        from detent.adapters.web.people import SHORTEST

    said = os.environ.get(SECRET) if file is None else text_of(file, "--secret-file").strip()
    if said is not None and len(said) < SHORTEST:
        where = SECRET if file is None else f"--secret-file {file}"
        text = f"{where} is too short: it needs {SHORTEST} characters, of secrets.token_urlsafe()"
        raise click.UsageError(text)
    return said


class Pages:
    """The web page of a host, in its event loop. Where it fails, the process ends."""

    def __init__(self, host: StoredHost, listener: socket.socket, options: PageOptions) -> None:
        with _needing_web():
            import uvicorn
            from uvicorn.protocols.http.auto import AutoHTTPProtocol

            from detent.adapters.web.app import ALIVE, HEALTH, web_app
            from detent.adapters.web.rendering import json_response

        class Server(uvicorn.Server):
            @contextmanager
            def capture_signals(self) -> Generator[None]:
                """They are the host's."""
                yield

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                listener.listen(QUEUE)

        logging.getLogger("uvicorn.error").addFilter(hint_at_https)
        self.people, self._listener = options.people, listener
        self._task: asyncio.Task[None] | None = None
        app = web_app(
            host,
            sign_in=options.people,
            secret=options.secret,
            allowed_hosts=options.allowed_hosts or None,
            https_only=options.https_only,
        )
        most = connections_max()
        full = json_response({"error": FULL}, 503, {"retry-after": "5", "connection": "close"})
        ends = json_response({"error": ENDS}, 503, {"connection": "close"})
        self._answers = _Answers(app, full, ends, most - most // SPARE, {ALIVE, HEALTH})
        self._server = Server(
            uvicorn.Config(
                self._answers,
                http=bounded(AutoHTTPProtocol, most),
                ws="none",
                backlog=burst_of(most),
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
        own = " --token-file FILE, in which your own token stands alone" if self.people else ""
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
    log, at ERROR and with all of a stack; so each is ended here before the server would do it. One
    that has not begun, as the body of its request is still to come, is that this process `ends`.

    RULE: those who watch go on for as long as their runs. Where they are `most`, who comes is told
    by `full`, and only the paths of `probes`, which take a moment, are answered.
    """

    def __init__(self, app: Any, full: Any, ends: Any, most: int, probes: Collection[str]) -> None:
        self._app, self._full, self._ends = app, full, ends
        self._most, self._probes = most, probes
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_ended = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if len(self._tasks) >= self._most and scope["path"] not in self._probes:
            await self._full(scope, receive, send)
            return
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
            if not self._is_ended:
                raise
            task.uncancel()  # it was ours
            if has_begun:
                await send({"type": "http.response.body"})  # the last part, of nothing
            else:
                await self._ends(scope, receive, send)
        finally:
            self._tasks.discard(task)

    def end(self) -> None:
        """End those that still go on."""
        self._is_ended = True
        for task in self._tasks:
            task.cancel()


def _url(address: str, port: int) -> str:
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"
