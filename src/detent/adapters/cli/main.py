"""The command line: its group, `chat` and `completion`; the others are in modules of their own."""

from __future__ import annotations

import secrets
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class
from rich.console import Console

from detent.adapters.cli.acp import acp
from detent.adapters.cli.conversation import (
    Conversation,
    has_begun,
    kept_of_thread,
    thread_named,
    thread_names,
    typed_lines,
)
from detent.adapters.cli.endings import INTERRUPTED, stoppable
from detent.adapters.cli.folder import Folder
from detent.adapters.cli.folder_agent import (
    FileToWrite,
    base_url_option,
    folder_agent,
    folder_option,
    going_on_command,
    model_option,
    ready_generator,
    state_folder,
)
from detent.adapters.cli.mcp import mcp
from detent.adapters.cli.models import models
from detent.adapters.cli.run import run
from detent.adapters.cli.runs.group import runs
from detent.adapters.cli.serving import serve
from detent.adapters.cli.settings import settings_for
from detent.adapters.cli.show import put
from detent.adapters.confirmation.console import SimpleConsoleUI
from detent.adapters.system.terminal import escape_control

OTHER_FOLDER = "for another there is a conversation of its own, by another --thread"


class _QuotingGroup(click.Group):
    """Commands whose errors quote what steers no terminal, and which end with one code at Ctrl-C.

    So they do at Ctrl-D where something is asked: nothing was answered.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = escape_control(error.message)  # type: ignore[misc]  # click has no other way
            raise
        except (KeyboardInterrupt, click.Abort) as error:
            if not isinstance(error.__context__ or error, KeyboardInterrupt | EOFError):
                raise  # somebody has said no
            click.echo("\nStopped.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(cls=_QuotingGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="detent")
def main() -> None:
    """Agents that can stop at any point and carry on."""


main.add_command(run)
main.add_command(models)
main.add_command(runs)
main.add_command(serve)
main.add_command(mcp)
main.add_command(acp)


@main.command()
@folder_option
@click.option("--output", type=FileToWrite(), help="A file to write answers to.")
@model_option
@base_url_option
@click.option(
    "--thread",
    metavar="NAME",
    shell_complete=thread_names,
    help="Go on with a conversation, by the beginning of its name, or with the newest, by the word "
    "last; or begin one by a name.",
)
@click.option("--ask", "guarded", is_flag=True, help="Ask before any tool runs, not files alone.")
@click.option("--json", "as_json", is_flag=True, help="Print each answer as a line of JSON.")
def chat(  # noqa: PLR0917 - click passes each by name
    folder: Path | None,
    output: Path | None,
    model: str,
    base_url: str | None,
    thread: str | None,
    guarded: bool,  # noqa: FBT001 - as above
    as_json: bool,  # noqa: FBT001 - as above
) -> None:
    """Talk with a model about a folder of files. An empty line or Ctrl-D ends it.

    The exit code is 1 where something failed, 3 where a decision is waited for and there is no
    terminal to ask at, 6 where another process is at work on the conversation, 130 for Ctrl-C.
    """
    console = Console(stderr=as_json)
    thread = thread_named(console, thread) if thread else secrets.token_hex(4)
    kept = kept_of_thread(thread)
    settings = settings_for(console, kept, f"conversation {thread}", OTHER_FOLDER)
    going_on = going_on_command("chat", "--thread", thread, kept=kept)
    with (
        ready_generator(console, settings.model, settings.base_url) as generator,
        stoppable(going_on, partial(has_begun, thread)),
    ):
        asker = SimpleConsoleUI() if sys.stdin.isatty() else None
        agent = folder_agent(generator, settings, asker=asker)
        lines = state_folder() / "chat_history"
        names = partial(_names, settings.folder)
        with typed_lines(lines, names, prompt="" if as_json else "\nyou: ") as read:
            Conversation(agent, thread, console, settings, going_on, as_json).hold(read)
        if has_begun(thread):
            put(console, f"\nTo go on: {going_on}", "dim")


def _names(folder: Path) -> list[str]:
    """What Tab completes: the files that may be asked about."""
    looked = Folder(folder)
    return [path.relative_to(looked.root).as_posix() for path in looked.files()]


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes SHELL complete this program with Tab.

    For bash: eval "$(detent completion bash)", best in ~/.bashrc.
    """
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - one of click's own; for type checkers
    click.echo(kind(main, {}, "detent", "_DETENT_COMPLETE").source())
