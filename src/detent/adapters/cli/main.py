"""`detent run`, `chat`, `models` and `completion`; the others are in modules of their own."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class
from platformdirs import user_state_path
from rich.console import Console

from detent.adapters.agent.agent import Agent
from detent.adapters.agent.strategies import Strategy
from detent.adapters.cli.acp import acp
from detent.adapters.cli.asking import AlwaysYes, TimedConsoleUI
from detent.adapters.cli.conversation import Conversation, typed_lines
from detent.adapters.cli.endings import (
    FAILED,
    INTERRUPTED,
    NOT_FOUND,
    WAITING,
    coded,
    ending,
    told_of,
)
from detent.adapters.cli.folder import (
    Folder,
    Research,
    answer_now,
    answer_writer,
    folder_tools,
    told_before,
)
from detent.adapters.cli.mcp import mcp
from detent.adapters.cli.models import models
from detent.adapters.cli.program import program
from detent.adapters.cli.runs.group import runs
from detent.adapters.cli.runs.stores import run_named
from detent.adapters.cli.serving import serve
from detent.adapters.cli.show import Show, outcome, progress_bar, put, summary
from detent.adapters.confirmation.console import SimpleConsoleUI
from detent.adapters.confirmation.policies import AlwaysAskPolicy
from detent.adapters.confirmation.strategies import BlockingConfirmationStrategy
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.adapters.providers.http.endpoints import without_secrets
from detent.adapters.providers.local.chat import LocalChatGenerator
from detent.adapters.providers.local.weights import known_models
from detent.adapters.providers.registry import PROVIDERS, chat_generator
from detent.adapters.system.snapshot_files import OWN_FOLDER
from detent.adapters.system.terminal import escape_control
from detent.core.control.hooks import before_model, before_tool
from detent.core.errors import DetentError
from detent.core.run.limits import Limits
from detent.ports.chat import ChatGenerator, ChatGeneratorError
from detent.ports.confirmation import ConfirmationUI
from detent.ports.listing import RunQuery
from detent.ports.results import AgentResult

PROMPT = (
    "You answer questions about a folder of text files. Search first, then read the places that "
    "matter, then answer from what you have read and from nothing else, in a few plain sentences. "
    "Name the files that you used."
)
PROMPT_WRITING = " When you know the answer, call write_answer once with the whole of it."
OPTIONS = {"as_json": "json", "guarded": "ask"}
"""What parameters are called that have another name as options."""
LAST = "last"
"""In the place of a run's id: the run that was written to last."""


def _models(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """What Tab completes where a model is named."""
    names = (
        *(f"local:{model.name}" for model in known_models()),
        *(f"{provider}:" for provider in PROVIDERS),
    )
    return [name for name in names if name.startswith(typed)]


def _run_ids(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """What Tab completes where a run is named: the newest."""
    ids = (LAST, *(listed.run_id for listed in _runs().runs(RunQuery(limit=20))))
    return [name for name in ids if name.startswith(typed)]


model_option = click.option(
    "--model",
    default="local",
    show_default=True,
    metavar="PROVIDER:NAME",
    shell_complete=_models,
    help="The model: local (the embedded one), local:NAME, or NAME of another provider.",
)
folder_option = click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder to look in. [default: docs, or the current folder]",
)
base_url_option = click.option(
    "--base-url",
    metavar="URL",
    help="The server, for openai: models; no key is sent to it. One that OPENAI_BASE_URL names "
    "gets OPENAI_API_KEY. [default: OpenAI's]",
)


class _QuotingGroup(click.Group):
    """Commands whose errors quote what steers no terminal, and which Ctrl-C ends with one code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = escape_control(error.message)  # type: ignore[misc]  # click has no other way
            raise
        except (KeyboardInterrupt, click.Abort) as error:
            if not isinstance(error.__context__ or error, KeyboardInterrupt):
                raise  # an end of what is typed
            click.echo("\nStopped.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(cls=_QuotingGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="detent")
def main() -> None:
    """Agents that can stop at any point and carry on."""


main.add_command(models)
main.add_command(runs)
main.add_command(serve)
main.add_command(mcp)
main.add_command(acp)


@main.command()
@click.argument("question", required=False, envvar="DETENT_QUESTION")
@folder_option
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("answer.md"),
    show_default=True,
    help="Where the answer is written.",
)
@model_option
@base_url_option
@click.option("--yes", is_flag=True, help="Write the answer without asking.")
@click.option("--max-steps", type=click.IntRange(1), default=12, show_default=True)
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=_run_ids,
    help="Go on with a run that was stopped, or the last one.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the outcome as JSON, and nothing else."
)
def run(  # noqa: PLR0917 - click passes each by name
    question: str | None,
    folder: Path | None,
    output: Path,
    model: str,
    base_url: str | None,
    yes: bool,  # noqa: FBT001 - as above
    max_steps: int,
    resume: str | None,
    as_json: bool,  # noqa: FBT001 - as above
) -> None:
    """Answer QUESTION about a folder of files, and write the answer to a file.

    The exit code is 0 where there is an answer, and 1 where there is none; 3 where a decision is
    waited for, 5 where there is no such run, 6 where another process is at work on it, 130 for
    Ctrl-C.
    """
    console = Console(stderr=as_json)
    resume = resume and _run_to_resume(resume)
    question = question or ("" if resume else _asked_for())
    folder = folder or _default_folder()
    may_write = yes or sys.stdin.isatty()
    run_id = resume or secrets.token_hex(4)
    going_on = _command("run", resume=run_id, folder=folder)
    with _generator(console, model, base_url) as generator, _stoppable(console, going_on):
        target = output if may_write else None
        asker = AlwaysYes() if yes else TimedConsoleUI()
        agent = _folder_agent(generator, folder, target, asker=asker, max_steps=max_steps)
        task = f"going on with {run_id}" if resume else question
        put(console, f"{task}\n(in {folder}, by {model})\n", "bold")
        started = time.monotonic()
        show = Show(console)
        result = agent.resume(run_id, show) if resume else agent.run(question, show, run_id=run_id)
        written = output if result.exit_reason == "write_answer" else None
        seconds = time.monotonic() - started - asker.waited_s
        summary(console, result, seconds, written)
    if as_json:
        click.echo(json.dumps(outcome(result, seconds, written)))
    if not may_write:
        put(console, "There is no terminal to ask at; --yes writes the answer without asking.")
    _require_answer(result, written, going_on)


@main.command()
@folder_option
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file to write answers to."
)
@model_option
@base_url_option
@click.option("--thread", metavar="NAME", help="Go on with a conversation, or begin one by a name.")
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
    folder, thread = folder or _default_folder(), thread or secrets.token_hex(4)
    going_on = _command("chat", thread=thread, folder=folder)
    with _generator(console, model, base_url) as generator, _stoppable(console, going_on):
        at_terminal = sys.stdin.isatty()
        asker = SimpleConsoleUI() if at_terminal else None
        agent = _folder_agent(generator, folder, output, asker=asker, guarded=guarded)
        names = partial(_names, folder)
        kept = _state_folder() / "chat_history"
        with typed_lines(kept, names, prompt="" if as_json else "\nyou: ") as read:
            Conversation(agent, thread, console, as_json).hold(read)
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


@contextmanager
def _generator(console: Console, model: str, base_url: str | None) -> Generator[ChatGenerator]:
    """The model, ready to answer; what goes wrong with it ends the program with a clear message."""
    try:
        with chat_generator(model, **({"api_base_url": base_url} if base_url else {})) as generator:
            if isinstance(generator, LocalChatGenerator):
                with progress_bar(console, "loading the model") as tell:
                    generator.warm_up(tell)
            yield generator
    except KeyboardInterrupt:
        put(console, "\nStopped. The same command starts again.", "bold")
        raise SystemExit(INTERRUPTED) from None
    except (ChatGeneratorError, DetentError, ImportError, OSError, ValueError) as error:
        raise told_of(error) from error


@contextmanager
def _stoppable(console: Console, going_on: str) -> Generator[None]:
    """A run that Ctrl-C stops, or a model that gives no answer: it is said how to go on with it."""
    try:
        yield
    except KeyboardInterrupt:
        put(console, "\nStopped. Nothing is lost; to go on:", "bold")
        put(console, f"  {going_on}")
        raise SystemExit(INTERRUPTED) from None
    except ChatGeneratorError as error:
        text = f"{error}\n\nNothing is lost; to ask the model again:\n  {going_on}"
        raise ending(text) from error


def _asked_for() -> str:
    """The question, from whoever sits at the terminal."""
    if not sys.stdin.isatty():
        raise click.UsageError('there is no question: detent run "What is …?"')
    return str(click.prompt("Your question", err=True))


def _run_to_resume(named: str) -> str:
    """The id of the run that is meant: the one that was written to last, or by its beginning."""
    with coded():
        if named != LAST:
            return run_named(_runs(), named)
        found = _runs().runs(RunQuery(limit=1))
    if not found:
        raise ending("there is no run to go on with: none has been begun here", NOT_FOUND)
    return found[0].run_id


def _require_answer(result: AgentResult[Research], written: Path | None, going_on: str) -> None:
    """End with another code than 0 where nobody has an answer, and say what can be done."""
    if written is not None or (result.exit_reason and result.text):
        return
    if result.exit_reason is None:
        raise ending(f"the run waits for a decision; to go on:\n  {going_on}", WAITING)
    more = "; --max-steps lets it take more" if result.exit_reason == "max_agent_steps" else ""
    text = f"there is no answer: the run was ended by {result.exit_reason}{more}"
    raise click.exceptions.Exit(_complain(text))


def _complain(text: str) -> int:
    click.echo(f"Error: {escape_control(text)}", err=True)
    return FAILED


def _command(command: str, **changed: object) -> str:
    """The command that goes on with what was begun by this one; a key in a URL is not shown."""
    options = {**click.get_current_context().params, **changed}
    words = [*program(), command]
    for name, value in options.items():
        option = OPTIONS.get(name, name.replace("_", "-"))
        if name != "question" and value not in {None, False}:
            text = without_secrets(str(value)) if name == "base_url" else str(value)
            words += [f"--{option}", *([] if value is True else [text])]
    return shlex.join(words)


def _state_folder() -> Path:
    """The user's state folder, or DETENT_STATE_DIR."""
    named = os.environ.get("DETENT_STATE_DIR")
    folder = Path(named) if named else user_state_path("detent", appauthor=False)
    folder.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
    return folder


def _runs() -> SQLiteJournal:
    """Where runs are kept."""
    return SQLiteJournal(_state_folder() / "runs.db")


def _folder_agent(
    generator: ChatGenerator,
    folder: Path,
    output: Path | None,
    *,
    asker: ConfirmationUI | None,
    guarded: bool = False,
    max_steps: int = 12,
) -> Agent[Research]:
    """The agent that answers about `folder`; with an `output` it may write there.

    `asker` is asked before it writes, or if all is `guarded` before any tool; without one it stops.
    """
    always = AlwaysAskPolicy()
    rule = always if asker is None else BlockingConfirmationStrategy(always, asker)
    tools = folder_tools(Folder(folder))
    strategies: dict[str, Strategy] = {"*": rule} if guarded else {}
    if output is not None:
        tools.append(answer_writer(output))
        strategies["write_answer"] = rule
    return Agent(
        chat_generator=generator,
        tools=tools,
        system_prompt=PROMPT + (PROMPT_WRITING if output is not None else ""),
        exit_conditions=["text", "write_answer"] if output is not None else ["text"],
        state_schema=Research,
        # a small model may search for ever: at the end it says what it has found
        limits=Limits(max_steps, final_answer=True),
        hooks=[before_tool(told_before), before_model(answer_now)],
        confirmation_strategies=strategies,
        journal=_runs(),
    )


def _default_folder() -> Path:
    docs = Path("docs")
    return docs if docs.is_dir() else Path()
