"""A conversation at the terminal, line by line; it is kept, and can be gone on with."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import click
from attrs import frozen
from rich.console import Console

from detent.adapters.agent.agent import Agent
from detent.adapters.cli.endings import NOT_FOUND, WAITING, ending
from detent.adapters.cli.folder import Research
from detent.adapters.cli.folder_agent import own_runs
from detent.adapters.cli.runs.stores import LAST, NAMED, every_run
from detent.adapters.cli.settings import Settings, kept_settings
from detent.adapters.cli.show import Show, outcome, put, sources_of
from detent.adapters.stories.story import story_of
from detent.core.chat.messages import ChatRole
from detent.core.values.checks import meant
from detent.ports.chat import ChatGeneratorError
from detent.ports.confirmation import HITLBreakpointException
from detent.ports.listing import RunQuery
from detent.ports.results import AgentResult

HELP = "/history shows what was said, /help this; an empty line or Ctrl-D ends the conversation."
COMMANDS = ("/help", "/history")
THREADS_SHOWN = 50
"""So many questions are looked at for the names of conversations that Tab completes."""
HISTORY_MAX = 1_000


@frozen
class Conversation:
    """The questions of one person, each a run in the same thread.

    Attributes:
        agent: who answers.
        thread_id: what the conversation is called in the journal.
        console: where all of it is shown.
        settings: how questions are answered: each keeps them.
        going_on: the command that goes on with it.
        is_json: whether each answer is printed as a line of JSON on standard output as well.
    """

    agent: Agent[Research]
    thread_id: str
    console: Console
    settings: Settings
    going_on: str
    is_json: bool = False

    def hold(self, read: Callable[[], str]) -> None:
        """Answer line after line, until one is empty; what was not finished comes first.

        Where that has no answer even now, something else may be asked; else it is raised.
        """
        failure = self._finish()
        while line := read():
            failure = None
            if line.startswith("/"):
                self._command(line)
            else:
                self._answer(partial(self._ask, line))

        if failure is not None:
            raise failure

    def _finish(self) -> ChatGeneratorError | None:
        """Go on with what was not finished; why its model gives no answer, or None."""
        if (unfinished := self._unfinished()) is None:
            return None
        put(self.console, f"Going on with {unfinished}, which was not finished.", "bold")
        story = story_of(unfinished, self.agent.assembly.required_journal.read(unfinished))
        for text in () if story is None else story.asked:
            put(self.console, f"you: {text}")
        try:
            self._answer(lambda show: self.agent.resume(unfinished, show))
        except ChatGeneratorError as error:
            put(self.console, f"It has no answer: {error}", "yellow")
            return error
        return None

    def _ask(self, line: str, show: Show) -> AgentResult[Research]:
        question = self.settings.question(line)
        return self.agent.run([question], show, thread_id=self.thread_id)

    def _answer(self, go: Callable[[Show], AgentResult[Research]]) -> None:
        started = time.monotonic()
        try:
            result = go(Show(self.console))
        except HITLBreakpointException as stopped:
            names = ", ".join(call.tool_name for call in stopped.pending)
            raise ending(
                f"run {stopped.result.run_id} waits for a decision about {names}, and there is no "
                f"terminal to ask at; at one, the conversation goes on by:\n  {self.going_on}",
                WAITING,
            ) from stopped
        if result.exit_reason != "text":
            put(self.console, f"(ended by {result.exit_reason})", "dim")
        looked = "" if _has_looked(result) else "; nothing was looked up for this answer"
        put(self.console, f"(sources so far: {sources_of(result.state)}{looked})", "dim")
        if self.is_json:
            told_of = outcome(result, time.monotonic() - started, None)
            click.echo(json.dumps({"thread_id": self.thread_id, **told_of}))

    def _command(self, line: str) -> None:
        if not line.startswith("/hist"):
            put(self.console, HELP, "dim")
            return
        if (last := self._last()) is None:
            put(self.console, "Nothing was said yet.", "dim")
            return
        for message in self.agent.resume(last).messages:
            if message.text and message.role in {ChatRole.USER, ChatRole.ASSISTANT}:
                put(self.console, f"{message.role.value}: {message.text}")

    def _last(self) -> str | None:
        found = self._runs()
        return found[0].run_id if found else None

    def _unfinished(self) -> str | None:
        """The latest question that has no answer; the model is asked again where it gave none."""
        found = self._runs()
        is_open = bool(found) and found[0].status in {"running", "waiting", "failed"}
        return found[0].run_id if is_open else None

    def _runs(self) -> Any:
        journal = self.agent.assembly.required_journal
        return journal.runs(RunQuery(thread_id=self.thread_id, limit=1))


def _has_looked(result: AgentResult[Research]) -> bool:
    """Whether a tool was called for the latest question: what was read stays in a conversation."""
    latest = takewhile(lambda said: said.role is not ChatRole.USER, reversed(result.messages))
    return any(said.tool_calls for said in latest)


def thread_named(console: Console, name: str) -> str:
    """The conversation that is meant: by its name, by the beginning of it, or the newest.

    RULE: a name that is new begins a conversation, and never silently: its model knows nothing of
    what was said in the one that was meant, and answers all the same.

    Raises:
        ClickException: the newest is meant, and there is none.
    """
    if name == LAST:
        return _newest_thread()
    if own_runs().runs(RunQuery(thread_id=name, limit=1)):
        return name
    known = [*dict.fromkeys(_threads())]
    found = [thread for thread in known if thread.startswith(name)]
    if len(found) == 1:
        put(console, f"Going on with conversation {found[0]}.", "dim")
        return found[0]
    hint = f"; did you mean one of {', '.join(found[:NAMED])}?" if found else meant(name, known)
    put(console, f"A new conversation, {name!r}{hint or '.'}", "yellow")
    return name


def _newest_thread() -> str:
    if (newest := next(_threads(), None)) is None:
        raise ending("there is no conversation to go on with: none has been begun here", NOT_FOUND)
    return newest


def thread_names(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """What Tab completes where a conversation is named: the newest."""
    names = dict.fromkeys((LAST, *islice(_threads(), THREADS_SHOWN)))
    return [name for name in names if name.startswith(typed)]


def has_begun(thread_id: str) -> bool:
    """Whether anything was said in a conversation."""
    return bool(own_runs().runs(RunQuery(thread_id=thread_id, limit=1)))


def kept_of_thread(thread_id: str) -> Settings | None:
    """What the latest question of a conversation was asked with, where there is one."""
    found = own_runs().runs(RunQuery(thread_id=thread_id, limit=1))
    return kept_settings(own_runs(), found[0].run_id) if found else None


def _threads() -> Iterator[str]:
    """The conversations of this command, a name for each of its questions, the newest first."""
    return (run.thread_id for run in every_run(own_runs()) if run.thread_id)


@contextmanager
def typed_lines(
    kept: Path, files: Callable[[], list[str]], *, prompt: str
) -> Generator[Callable[[], str]]:
    """A function that reads a line: with the arrow keys for those before, and Tab for names.

    Args:
        kept: the file in which lines are kept from one conversation to the next.
        files: the names of files, of which Tab completes one.
        prompt: what stands before each line.
    """

    def read() -> str:
        try:
            return input(prompt).strip()
        except EOFError:
            return ""

    if not sys.stdin.isatty() or (readline := _readline()) is None:
        yield read
        return
    kept.touch(0o600)
    readline.read_history_file(kept)
    readline.set_completer_delims(" \t\n")
    readline.set_completer(_completer(files))
    readline.parse_and_bind("tab: complete")
    try:
        yield read
    finally:
        readline.set_history_length(HISTORY_MAX)
        readline.write_history_file(kept)


def _readline() -> Any:
    """The module for line editing; None where Python has none, as on Windows."""
    try:
        import readline
    except ImportError:
        return None
    return readline


def _completer(files: Callable[[], list[str]]) -> Callable[[str, int], str | None]:
    def complete(text: str, state: int) -> str | None:
        fitting = [name for name in (*COMMANDS, *files()) if name.startswith(text)]
        return fitting[state] if state < len(fitting) else None

    return complete
