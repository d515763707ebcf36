"""`detent run`: a question about a folder of files, and its answer in a file."""

from __future__ import annotations

import json
import secrets
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from attrs import evolve
from click.core import ParameterSource
from rich.console import Console

from detent.adapters.cli.asking import AlwaysYes, TimedConsoleUI
from detent.adapters.cli.endings import (
    FAILED,
    NOT_FOUND,
    UNWRITTEN,
    WAITING,
    coded,
    ending,
    stoppable,
)
from detent.adapters.cli.folder import SUFFIXES, WRITE, Folder, Research, answer_of, write_to
from detent.adapters.cli.folder_agent import (
    PROMPT_WRITING,
    FileToWrite,
    base_url_option,
    folder_agent,
    folder_option,
    going_on_command,
    model_option,
    own_runs,
    ready_generator,
)
from detent.adapters.cli.runs.stores import LAST, run_named
from detent.adapters.cli.settings import MAX_STEPS, Settings, is_typed, kept_settings, settings_for
from detent.adapters.cli.show import Show, outcome, put, summary
from detent.adapters.stories.entries import messages_in, text_in
from detent.adapters.system.program import program
from detent.adapters.system.terminal import escape_control
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import StreamingCallback
from detent.ports.listing import ENDED, RunQuery
from detent.ports.results import AgentResult

ANSWER = Path("answer.md")
"""Where an answer is written, where no other file is named."""
OTHER_FOLDER = 'another is for a run of its own: detent run "…" --folder FOLDER'
STEPS_OF_ANY = 1_000_000
"""More steps than a run has taken: it is read whatever it was allowed."""


def _run_ids(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """What Tab completes where a run is named: the newest."""
    ids = (LAST, *(listed.run_id for listed in own_runs().runs(RunQuery(limit=20))))
    return [name for name in ids if name.startswith(typed)]


@click.command()
@click.argument("question", required=False, envvar="DETENT_QUESTION")
@folder_option
@click.option(
    "--output",
    type=FileToWrite(),
    default=ANSWER,
    show_default=True,
    help="Where the answer is written.",
)
@model_option
@base_url_option
@click.option("--yes", is_flag=True, help="Write the answer without asking.")
@click.option("--max-steps", type=click.IntRange(1), default=MAX_STEPS, show_default=True)
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=_run_ids,
    help="In place of a question: go on with this run, or with the newest, by the word last. One "
    "that has ended shows its answer.",
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
    waited for, 5 where there is no such run, 6 where another process is at work on it, 7 where the
    answer was to be in a file and is in none, 130 for Ctrl-C.
    """
    console = Console(stderr=as_json)
    resume = _run_to_resume(resume) if resume else None
    question = "" if resume else question or _asked_for()
    run_id = resume or secrets.token_hex(4)
    has_ended = resume is not None and _has_ended(resume)
    kept = kept_settings(own_runs(), resume) if resume else None
    settings = settings_for(console, kept, f"run {run_id}", OTHER_FOLDER, asks=not has_ended)
    going_on = going_on_command("run", "--resume", run_id, kept=kept if resume else settings)
    # What a run may write it goes on to write: without that tool it would be another agent's.
    may_write = yes or sys.stdin.isatty() or (resume is not None and _could_write(resume))
    if has_ended:
        result, seconds = _kept(console, run_id), None
    else:
        used = settings if may_write else evolve(settings, output=None)
        if question:
            _require_files(settings.folder)
        asked = settings.question(question) if question else None
        result, seconds = _answered(console, asked, run_id, used, going_on, yes=yes)
    output, earlier = settings.output or ANSWER, _file_before(result, kept) if has_ended else None
    written = _written(result, output, earlier, yes=yes)
    where = _place(result, going_on, earlier, may_write=may_write, before=has_ended)
    summary(console, result, str(written or where), seconds)
    if as_json:
        click.echo(json.dumps(outcome(result, seconds or 0.0, written)))
    _require_answer(result, going_on)
    if output not in {written, earlier} and (is_typed("output") or _was_asked(result)):
        raise ending(f"the answer was not written to {output}", UNWRITTEN)


def _answered(
    console: Console,
    question: ChatMessage | None,
    run_id: str,
    settings: Settings,
    going_on: str,
    *,
    yes: bool,
) -> tuple[AgentResult[Research], float]:
    """What a run comes to, which begins with a question or is gone on with, and how long it took.

    The time in which somebody thought about a question does not count.
    """
    asker = AlwaysYes() if yes else TimedConsoleUI() if sys.stdin.isatty() else None
    with (
        ready_generator(console, settings.model, settings.base_url) as generator,
        stoppable(going_on),
    ):
        task = f"going on with {run_id}" if question is None else question.text
        put(console, f"{task}\n(in {settings.folder}, by {settings.model})\n", "bold")
        agent, show = folder_agent(generator, settings, asker=asker, gives=True), Show(console)
        started = time.monotonic()
        if question is None:
            result = agent.resume(run_id, show, raise_at_break_point=False)
        else:
            result = agent.run([question], show, run_id=run_id, raise_at_break_point=False)
        return result, time.monotonic() - started - (asker.waited_s if asker else 0)


def _require_files(folder: Path) -> None:
    """Ask no model about nothing: a small one answers all the same.

    Raises:
        UsageError: the folder has no file that can be read.
    """
    if not Folder(folder).files():
        kinds = ", ".join(sorted(SUFFIXES))
        raise click.UsageError(
            f"{folder.absolute()} has no text file ({kinds}) to answer from; another folder is "
            "named by --folder"
        )


class NoModel:
    """In the place of a model, for a run that has ended: nothing is asked of it, or loaded."""

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """Nobody answers, as nobody asks."""
        raise AssertionError("a run that has ended asks no model")


def _has_ended(run_id: str) -> bool:
    """Whether there is nothing to go on with: one that failed asks its model again."""
    with coded():
        entries = [*own_runs().read(run_id)]
    return entries[-1].status in ENDED - {"failed"}


def _could_write(run_id: str) -> bool:
    """Whether a run was begun where somebody could be asked: it is read by the same tools."""
    first = next(iter(own_runs().read(run_id)))
    return any(PROMPT_WRITING in text_in(message) for message in messages_in(first.data))


def _kept(console: Console, run_id: str) -> AgentResult[Research]:
    """What a run has come to before; its answer is shown."""
    output = Path() if _could_write(run_id) else None
    settings = Settings(Path(), output, "nobody", None, STEPS_OF_ANY)
    with coded():
        agent = folder_agent(NoModel(), settings, asker=None, gives=True)
        result = agent.resume(run_id)
    put(console, f"run {run_id} has ended; its answer:\n", "bold")
    put(console, answer_of(result))
    return result


def _file_before(result: AgentResult[Research], kept: Settings | None) -> Path | None:
    """The file into which a run that has ended before has put its answer, which need not be here.

    A run of old has not kept which.
    """
    return ((kept and kept.output) or ANSWER) if result.exit_reason == WRITE else None


def _written(
    result: AgentResult[Research], output: Path, earlier: Path | None, *, yes: bool
) -> Path | None:
    """The file that has the answer now: the model's doing, or else ours where nobody is asked."""
    if output == earlier:
        return None
    if result.exit_reason == WRITE and earlier is None:
        return output
    if not (yes and result.exit_reason and (text := answer_of(result))):
        return None
    write_to(output, text, result.state.sources or result.state.found)
    return output


def _place(
    result: AgentResult[Research],
    going_on: str,
    earlier: Path | None,
    *,
    may_write: bool,
    before: bool,
) -> str:
    """Where an answer is that is in no file, and why."""
    if not answer_of(result):
        return "none"
    if earlier is not None:
        return f"above; the run has written it to {earlier}"
    if _was_asked(result) and not before:
        return "above; it was not written to a file"
    why = "the model did not ask to write it to a file" if may_write else "no terminal to ask at"
    why = "the run has ended without a file" if before else why
    return f"above; {why}, --yes writes it without asking:\n  {going_on} --yes"


def _was_asked(result: AgentResult[Research]) -> bool:
    """Whether the model has asked to write its answer to the file."""
    return any(call.tool_name == WRITE for said in result.messages for call in said.tool_calls)


def _asked_for() -> str:
    """The question, from whoever sits at the terminal."""
    if not sys.stdin.isatty():
        raise click.UsageError('there is no question: detent run "What is …?"')
    return str(click.prompt("Your question", err=True))


def _run_to_resume(named: str) -> str:
    """The id of the run that is meant: the one that was written to last, or by its beginning.

    Raises:
        UsageError: a question was typed beside it, which nobody would answer.
    """
    source = click.get_current_context().get_parameter_source("question")
    if source is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--resume goes on with the question of its run: leave QUESTION out, or the option; "
            "detent chat is for one question after the other"
        )
    with coded():
        if named != LAST:
            return _without_thread(run_named(own_runs(), named))
        found = own_runs().runs(RunQuery(thread_id="", limit=1))
    if not found:
        raise ending("there is no run to go on with: none has been begun here", NOT_FOUND)
    return found[0].run_id


def _without_thread(run_id: str) -> str:
    """The run. One of a conversation is gone on with there; its answer may be looked at here."""
    (run,) = own_runs().runs(RunQuery(run_id=run_id, limit=1))
    if run.thread_id and run.status != "done":
        way = shlex.join([*program(), "chat", "--thread", run.thread_id])
        raise click.UsageError(f"run {run_id} is of a conversation, which goes on by: {way}")
    return run_id


def _require_answer(result: AgentResult[Research], going_on: str) -> None:
    """End with another code than 0 where nobody has an answer, and say what can be done."""
    if result.exit_reason and answer_of(result):
        return
    if result.exit_reason is None:
        raise ending(f"the run waits for a decision; to go on:\n  {going_on}", WAITING)
    more = "; --max-steps lets it take more" if result.exit_reason == "max_agent_steps" else ""
    text = f"there is no answer: the run was ended by {result.exit_reason}{more}"
    raise click.exceptions.Exit(_complain(text))


def _complain(text: str) -> int:
    click.echo(f"Error: {escape_control(text)}", err=True)
    return FAILED
