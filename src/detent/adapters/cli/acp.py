"""`detent acp`: an agent for an editor that speaks the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import logging
from importlib.util import find_spec

import click

from detent.adapters.cli.endings import CodedCommand
from detent.adapters.cli.runs.apps import agents_by_name, app_argument
from detent.adapters.cli.serving import journal_of, journal_option
from detent.adapters.hosts.local import LocalHost
from detent.adapters.system.installation import install_command


@click.command("acp", cls=CodedCommand)
@app_argument
@journal_option
@click.option("--agent", metavar="NAME", help="Which one, where MODULE:NAME has several.")
def acp(app: str, journal: str | None, *, agent: str | None) -> None:
    """Serve an agent to an editor that speaks the Agent Client Protocol, by stdio.

    MODULE:NAME is as for `detent serve`. A session is a thread, kept in the journal: the editor can
    open it again, and other processes may decide about what it asks. Who decides in the editor is
    the user of this process.
    """
    agents = agents_by_name(app)
    if agent is None and len(agents) > 1:
        raise click.UsageError(f"--agent: which one of {', '.join(map(repr, sorted(agents)))}?")
    name = next(iter(agents)) if agent is None else agent
    if name not in agents:
        raise click.UsageError(f"--agent: {app} has no agent {name!r}")
    host = LocalHost(agents, journal_of(agents, journal))
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")  # to stderr
    if find_spec("acp") is None or find_spec("starlette") is None:
        raise click.ClickException(f"this needs ACP's SDK: {install_command('acp')}")
    asyncio.run(_served(host, name))


async def _served(host: LocalHost, agent: str) -> None:
    """Until the editor closes its end."""
    from detent.adapters.faces.acp.stdio import run_acp

    async with host:
        await run_acp(host, agent)
