"""`detent chat`: a conversation that is kept, asks before it acts, and ends with a code."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner
from rich.console import Console

from detent.adapters.cli.conversation import _completer, typed_lines
from detent.adapters.cli.endings import stoppable
from detent.adapters.cli.main import main
from detent.adapters.cli.show import Show
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.core.chat.messages import ToolCall, ToolCallResult
from detent.ports.chat import StreamingChunk
from detent.ports.claims import Claim, RunBusyError
from tests.adapters.cli.test_main import at_terminal, calls, folder, model

__all__ = ["folder", "model"]  # the fixtures of the other commands
Model = Callable[[Sequence[object]], list[str]]
TEA, MILK = {"content": "Tea is a drink."}, {"content": "You asked about tea."}


def said_last(output: str) -> list[str]:
    """The command that goes on, as it was said at the end."""
    words = shlex.split(next(line for line in output.splitlines() if "To go on: " in line))
    return words[words.index("chat") :]


def test_a_conversation_is_gone_on_with(folder: Path, model: Model) -> None:
    """Under its name, or by what was said at the end; it shows what was said before."""
    options = model([TEA, MILK, {"content": "Both."}])
    first = CliRunner().invoke(main, ["chat", *options], input="What is tea?\n\n")
    going_on = said_last(first.output)
    second = CliRunner().invoke(main, going_on, input="And?\n/history\n/what\n\n")

    assert (first.exit_code, second.exit_code) == (0, 0), second.output
    for line in ("user: What is tea?", "assistant: Tea is a drink.", "user: And?", "/help"):
        assert line in second.output
    runs = SQLiteJournal(folder / "state" / "runs.db").runs()
    assert len({run.thread_id for run in runs}) == 1
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("name", "told", "is_new"),
    [
        ("tea-2026", "", False),
        ("tea-2", "Going on with conversation tea-2026.", False),
        ("tea-2027", "A new conversation, 'tea-2027'; did you mean 'tea-2026'?", True),
        ("m", "A new conversation, 'm'; did you mean one of milk-b, milk-a?", True),
        ("cocoa", "A new conversation, 'cocoa'.", True),
    ],
)
def test_a_conversation_is_named_by_its_beginning(
    folder: Path, model: Model, name: str, told: str, *, is_new: bool
) -> None:
    """One that is begun by a name is never begun silently: another may have been meant."""
    options = model([TEA, TEA, TEA, MILK])
    for known in ("milk-a", "milk-b", "tea-2026"):
        CliRunner().invoke(main, ["chat", "--thread", known, *options], input="Tea?\n\n")
    result = CliRunner().invoke(main, ["chat", "--thread", name, *options], input="And?\n\n")

    assert told in result.output
    assert ("A new conversation" in result.output, result.exit_code) == (is_new, 0)
    threads = {run.thread_id for run in SQLiteJournal(folder / "state" / "runs.db").runs()}
    assert len(threads) == 3 + is_new


def test_a_conversation_in_which_nothing_was_said_is_not_gone_on_with(
    folder: Path, model: Model
) -> None:
    """It would be a new one all the same."""
    shown, code = at_terminal(["chat", *model([])], folder, signal.SIGINT, b"you: ")
    assert (code, shown.endswith("Stopped.\r\n")) == (130, True), shown
    assert "To go on" not in CliRunner().invoke(main, ["chat", *model([])], input="\n").output


def test_it_is_said_what_each_answer_rests_on(folder: Path, model: Model) -> None:
    """As `detent run` says it; an answer that the model made up is told from others."""
    looks = calls("search_files", words="tea"), calls("read_file", file="tea.md")
    script = [looks[0], TEA, MILK, looks[1], TEA]
    typed = "What is tea?\nAnd milk?\nWhere?\n\n"
    result = CliRunner().invoke(main, ["chat", *model(script)], input=typed)

    told = [line for line in result.output.splitlines() if line.startswith("(sources so far: ")]
    nothing = "; nothing was looked up for this answer"
    assert told == [
        "(sources so far: none read; found: tea.md)",
        f"(sources so far: none read; found: tea.md{nothing})",
        "(sources so far: tea.md)",
    ]


def test_a_program_reads_each_answer_as_json(folder: Path, model: Model) -> None:
    """A line for each on standard output, and nothing else there."""
    result = CliRunner().invoke(
        main, ["chat", "--thread", "t", "--json", *model([TEA, MILK])], input="Tea?\nAnd?\n"
    )

    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["answer"] for line in lines] == ["Tea is a drink.", "You asked about tea."]
    assert {line["thread_id"] for line in lines} == {"t"}


def test_a_person_is_asked_before_a_tool_runs(folder: Path, model: Model) -> None:
    """Where there is no terminal it waits, by a code of its own; and is gone on with at one."""
    options = ["--thread", "t", "--ask", *model([calls("list_files"), {"content": "tea.md."}])]
    waiting = CliRunner().invoke(main, ["chat", *options], input="Which files?\n\n")
    assert waiting.exit_code == 3, waiting.output
    assert "waits for a decision about list_files" in waiting.output

    shown, code = at_terminal(["chat", *options], folder, b"y\n\n")

    assert code == 0, shown
    assert "which was not finished" in shown
    assert "list_files wants to run" in shown
    assert "tea.md." in shown
    kept = folder / "state" / "chat_history"
    assert kept.stat().st_mode & 0o077 == 0


def test_an_answer_may_be_written(folder: Path, model: Model) -> None:
    """To a file that was named, once somebody has said yes."""
    script = [calls("read_file", file="tea.md"), calls("write_answer", answer="At 80.")]
    options = ["--output", "tea-answer.md", "--thread", "t", *model(script)]
    waiting = CliRunner().invoke(main, ["chat", *options], input="How hot?\n")
    assert waiting.exit_code == 3
    assert not (folder / "tea-answer.md").exists()

    shown, code = at_terminal(["chat", *options], folder, b"y\n\n")
    assert code == 0, shown
    assert (folder / "tea-answer.md").read_text().startswith("At 80.")


def test_what_fails_has_a_code_and_says_how_to_go_on(folder: Path, model: Model) -> None:
    """The model gives no answer: nothing of the conversation is lost."""
    options = model([TEA, {"tool_calls": 7}, MILK])
    failed = CliRunner().invoke(main, ["chat", *options], input="Tea?\nAnd?\n\n")
    assert failed.exit_code == 1
    words = shlex.split(next(line for line in failed.output.splitlines() if "--thread" in line))

    again = CliRunner().invoke(main, words[words.index("chat") :], input="\n")
    assert (again.exit_code, "You asked about tea." in again.output) == (0, True), again.output
    assert "you: And?" in again.output  # the question without an answer, and nobody types it again
    runs = SQLiteJournal(folder / "state" / "runs.db").runs()
    assert [run.status for run in runs] == ["done", "done"]


@pytest.mark.parametrize(("said", "code"), [("And?\n\n", 0), ("\n", 1)])
def test_what_fails_for_good_ends_no_conversation(
    folder: Path, model: Model, said: str, code: int
) -> None:
    """Something else may be asked; where nothing is, the failure is the end."""
    options = [*model([{"tool_calls": 7}, {"tool_calls": 7}, TEA]), "--thread", "t"]
    CliRunner().invoke(main, ["chat", *options], input="Tea?\n")
    again = CliRunner().invoke(main, ["chat", *options], input=said)
    assert (again.exit_code, again.output.count("you: Tea?")) == (code, 1), again.output
    assert "It has no answer: " in again.output
    assert ("Tea is a drink." in again.output) == (code == 0)


def test_a_conversation_that_goes_on_elsewhere_is_waited_for() -> None:
    """And gone on with by its own command: `detent runs resume` does not know its agent."""
    busy = RunBusyError("r", Claim("somebody", 1, 0.0), None)
    with pytest.raises(ClickException) as ended, stoppable("detent chat --thread tea"):
        raise busy
    assert ended.value.exit_code == 6
    assert ended.value.format_message() == (
        "run 'r' is driven by another process: wait until it is over there; to go on then:\n"
        "  detent chat --thread tea"
    )


def test_a_run_that_is_not_there_has_a_code(folder: Path, model: Model) -> None:
    """As has one that another process is at work on."""
    result = CliRunner().invoke(main, ["run", "--resume", "nothing", "--yes", *model([TEA])])
    assert (result.exit_code, "no run 'nothing'" in result.output) == (5, True), result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_it(shell: str) -> None:
    """By what is printed for each."""
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_DETENT_COMPLETE" in result.output


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("detent ch", "chat"),
        ("detent chat --th", "--thread"),
        ("detent run --model anth", "anthropic:"),
        ("detent run --model local:qwen2.5-coder-1", "local:qwen2.5-coder-1.5b"),
        ("detent run --resume la", "last"),
    ],
)
def test_tab_completes_commands_options_and_names(folder: Path, words: str, found: str) -> None:
    """As a shell asks for it."""
    asked = {"_DETENT_COMPLETE": "bash_complete", "COMP_WORDS": words}
    asked["COMP_CWORD"] = str(len(words.split()) - 1)
    result = CliRunner(env=asked).invoke(main, prog_name="detent")
    assert f"plain,{found}" in result.output.splitlines()


@pytest.mark.parametrize(
    "words",
    [
        "serve ap",
        "acp ap",
        "mcp ap",
        "serve a --journal ",
        "runs list --store ",
        "runs pending --app ap",
    ],
)
def test_tab_completes_files_where_a_module_or_a_store_may_be_one(words: str) -> None:
    """The shell does, as it knows best how."""
    place = str(len(words.split(" ")))
    asked = {"_DETENT_COMPLETE": "bash_complete", "COMP_WORDS": f"detent {words}"}
    result = CliRunner(env={**asked, "COMP_CWORD": place}).invoke(main, prog_name="detent")
    assert result.output.splitlines() == [f"file,{words.rsplit(' ', maxsplit=1)[-1]}"]


def test_a_server_that_is_none_is_named_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the option, or by the variable of the environment."""
    words = ["chat", "--model", "openai:gpt-x"]
    typed = CliRunner().invoke(main, [*words, "--base-url", "nowhere"])
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    named = CliRunner().invoke(main, words)
    for result, name in ((typed, "--base-url"), (named, "OPENAI_BASE_URL")):
        assert f"Error: {name} must be a URL such as " in result.stderr
        assert result.exit_code == 2


def test_tab_completes_files_and_commands() -> None:
    """One after the other, as line editing asks for them."""
    complete = _completer(lambda: ["tea.md", "teapot.md", "milk.md"])
    assert [complete("tea", place) for place in range(3)] == ["tea.md", "teapot.md", None]
    assert complete("/hi", 0) == "/history"


def test_without_a_terminal_lines_are_read_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are a script's."""
    monkeypatch.setattr(sys, "stdin", StringIO("one\ntwo\n"))
    with typed_lines(tmp_path / "kept", list, prompt="") as read:
        assert [read(), read(), read()] == ["one", "two", ""]
    assert not (tmp_path / "kept").exists()


def results() -> Iterator[StreamingChunk]:
    """What tools give, in lines that are too long."""
    result = ToolCallResult("x" * 500, ToolCall("read_file", id="c"), error=False)
    yield StreamingChunk(tool_call_result=result)


def test_names_of_emojis_are_shown_as_they_were_written() -> None:
    """A text of a model is no markup: letters that rich would draw as a bomb are letters."""
    screen = StringIO()
    Show(Console(file=screen))(StreamingChunk("a :bomb: in dict[1:x:2]"))
    assert screen.getvalue() == "a :bomb: in dict[1:x:2]"


@pytest.mark.parametrize(("width", "longest"), [(40, 39), (200, 112), (5, 22)])
def test_on_a_narrow_terminal_results_stay_on_their_line(width: int, longest: int) -> None:
    """What is cut off is in the run all the same."""
    screen = StringIO()
    show = Show(Console(file=screen, width=width))
    for chunk in results():
        show(chunk)
    assert max(map(len, screen.getvalue().splitlines())) == longest
    assert os.linesep in screen.getvalue()
