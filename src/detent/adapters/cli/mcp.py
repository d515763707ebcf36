"""`detent mcp`: agents as tools for clients that speak the Model Context Protocol."""

from __future__ import annotations

import asyncio
import logging
from getpass import getuser
from typing import Any

import click

from detent.adapters.cli.endings import CodedCommand
from detent.adapters.cli.runs.apps import agents_by_name, app_argument
from detent.adapters.cli.serving import journal_of, journal_option, listening
from detent.adapters.hosts.local import LocalHost
from detent.adapters.mcp.server import mcp_server, principal

PLACE = "127.0.0.1:8080"


@click.command("mcp", cls=CodedCommand)
@app_argument
@journal_option
@click.option(
    "--http",
    is_flag=False,
    flag_value=PLACE,
    metavar="[HOST:PORT]",
    help=f"Serve at http://HOST:PORT/mcp, to this machine alone. [HOST:PORT if left out: {PLACE}; "
    "without --http: stdio]",
)
@click.option("--inbox", metavar="URL", help="A page where questions are decided, to be told.")
@click.option(
    "--asks-client/--no-asks-client",
    default=False,
    help="Whether the client may show a question and send the decision: say so where a human fills "
    "in its forms, and not its model. [default: it may not]",
)
def mcp(
    app: str, journal: str | None, *, http: str | None, inbox: str | None, asks_client: bool
) -> None:
    """Serve agents as tools, to clients that speak the Model Context Protocol.

    MODULE:NAME is as for `detent serve`. A call is a run, kept in the journal: it lives on when the
    client leaves, and other processes may decide about what it asks. Over stdio, who decides is the
    user of this process.
    """
    agents = agents_by_name(app)
    host = LocalHost(agents, journal_of(agents, journal))
    by = principal if http else getuser
    try:
        server = mcp_server(host, inbox=inbox, asks_client=asks_client, by=by)
    except ImportError as error:
        raise click.ClickException(str(error)) from error
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")  # to stderr
    asyncio.run(_by_stdio(host, server) if http is None else _by_http(host, server, http))


async def _by_stdio(host: LocalHost, server: Any) -> None:
    """Until the client closes its end."""
    from mcp.server.stdio import stdio_server

    async with host, stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _by_http(host: LocalHost, server: Any, place: str) -> None:
    """Until a signal."""
    import uvicorn

    with listening("--http", place) as listener:
        app = server.streamable_http_app()
        async with host:
            config = uvicorn.Config(app, log_config=None, access_log=False)
            await uvicorn.Server(config).serve(sockets=[listener])
