"""A run and a conversation go on with what they were begun with, whoever goes on with them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from detent.adapters.cli.folder_agent import own_runs
from detent.adapters.cli.main import main
from detent.adapters.cli.settings import KEPT
from tests.adapters.cli.test_main import SCRIPT, Message, at_terminal, calls, folder, model

__all__ = ["folder", "model"]  # the fixtures of the other commands
Model = Callable[[Sequence[Message]], list[str]]
NO_ANSWER: Message = {"tool_calls": 7}


def invoked(*words: str, code: int = 0, typed: str = "") -> str:
    """What a command says, which ends with `code`."""
    result = CliRunner().invoke(main, words, input=typed)
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def begun(folder: Path, model: Model) -> Path:
    """A run about `notes`, whose model gave no answer in the middle; its options are no default."""
    (folder / "docs").rename(folder / "notes")
    (folder / "docs").mkdir()
    (folder / "docs" / "tea.md").write_text("Tea is brewed at 5 degrees.\n")
    script = [calls("search_files", words="tea"), NO_ANSWER, *SCRIPT[1:]]
    options = ["--folder", "notes", "--output", "hot.md", "--max-steps", "3"]
    invoked("run", "How hot?", "--yes", *options, *model(script), code=1)
    return folder


def test_a_run_goes_on_with_what_it_was_begun_with(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder, its file, its model and server: also from another folder, where none is named."""
    elsewhere = begun / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    shown = invoked("run", "--resume", "last", "--yes")

    assert f"in {begun / 'notes'}, by openai:scripted" in shown
    assert "Green tea is brewed at 80 degrees." in shown
    assert (begun / "hot.md").read_text().startswith("At 80 degrees.")
    assert "in place of" not in shown
    assert list(elsewhere.iterdir()) == []


def test_a_run_goes_on_by_the_steps_it_was_begun_with(begun: Path) -> None:
    """Twelve are the default, and no run's that was begun with three."""
    run_id = own_runs().runs()[0].run_id
    shown = invoked("run", "--resume", run_id[:6], "--yes", "--max-steps", "9")
    assert "--max-steps 9 in place of 3, with which it was begun" in shown


def test_another_folder_than_it_was_begun_with_is_refused(begun: Path) -> None:
    """What was read is of that one. The same folder by another name is no other."""
    refused = invoked("run", "--resume", "last", "--yes", "--folder", "docs", code=2)
    assert "looks into notes" in refused
    assert not (begun / "hot.md").exists()

    invoked("run", "--resume", "last", "--yes", "--folder", "docs/../notes")
    assert (begun / "hot.md").read_text().startswith("At 80 degrees.")


def test_what_is_said_anew_is_taken_and_told(begun: Path, model: Model) -> None:
    """A model that gives no answer is a reason to ask another; a file may be in the way."""
    server = model(SCRIPT[1:])[-1]
    words = ["--model", "openai:other", "--base-url", server, "--output", "other.md"]

    shown = invoked("run", "--resume", "last", "--yes", *words)

    assert "--model openai:other in place of openai:scripted, with which it was begun" in shown
    assert f"--base-url {server} in place of http://127.0.0.1" in shown
    assert "--output other.md in place of hot.md" in shown
    assert (begun / "other.md").exists()
    assert not (begun / "hot.md").exists()


def test_a_folder_that_is_gone_is_named(begun: Path) -> None:
    """It is no wrong option of the command that goes on."""
    (begun / "notes").rename(begun / "moved")
    shown = invoked("run", "--resume", "last", "--yes", code=1)
    assert f"looks into {begun / 'notes'}, which is not there" in shown


def test_how_to_go_on_is_said_by_what_the_run_does_not_know(begun: Path) -> None:
    """Its id, and what nobody keeps: whether to ask, and an option that was said anew."""
    words = ["--resume", "last", "--json", "--base-url", "http://127.0.0.1:9/v1"]
    shown = invoked("run", *words, code=1)
    run_id = own_runs().runs()[0].run_id
    (line,) = [line for line in shown.splitlines() if "detent run --resume" in line]
    hint = shlex.split(line.partition("detent run")[2])
    assert hint == ["--resume", run_id, "--json", "--base-url", "http://127.0.0.1:9/v1"]


def test_what_a_run_that_has_ended_does_not_use_is_said(begun: Path) -> None:
    """It shows its answer, and no other model is asked."""
    invoked("run", "--resume", "last", "--yes")

    shown = invoked("run", "--resume", "last", "--yes", "--model", "openai:other")

    assert "--model openai:other is left aside: run " in shown
    assert "has ended, and nothing is asked any more" in shown
    assert "is left aside" not in invoked("run", "--resume", "last", "--yes")


def test_a_key_in_a_url_is_not_kept_with_the_run(folder: Path, model: Model) -> None:
    """What goes on without it says so; with it, the server is the one of the run."""
    *named, server = model([NO_ANSWER, *SCRIPT])
    url = f"{server}?key=sk-private"
    invoked("run", "How hot?", "--yes", *named, url, code=1)
    journal = own_runs()
    run_id = journal.runs()[0].run_id
    assert "private" not in str([entry.data for entry in journal.read(run_id)])

    refused = invoked("run", "--resume", run_id, "--yes", code=2)
    assert f"{server}?key=***" in refused
    assert "--base-url" in refused

    shown = invoked("run", "--resume", run_id, "--yes", "--base-url", url)
    assert "in place of" not in shown


def test_a_run_without_settings_goes_on_by_those_of_the_command(begun: Path, model: Model) -> None:
    """One that a program has written there knows none, or what is none."""
    journal = own_runs()
    (run,) = journal.runs()
    (first, *_) = journal.read(run.run_id)
    text = json.dumps(first.data).replace('"folder": "', '"folder": 7, "was": "')
    journal.delete(run.run_id)
    data = json.loads(text)
    journal.append(run.run_id, [type(first)(0, first.at, first.kind, "running", data)])
    assert '"folder": 7' in text
    assert KEPT in text

    shown = invoked("run", "--resume", "last", "--yes", "--folder", "notes", *model(SCRIPT))

    assert "in place of" not in shown
    assert (begun / "answer.md").exists()


def test_a_conversation_goes_on_with_what_it_was_begun_with(folder: Path, model: Model) -> None:
    """Asked before each tool, too: also where that is not said again."""
    (folder / "notes").mkdir()
    (folder / "notes" / "milk.md").write_text("Milk.\n")
    script = [calls("list_files"), {"content": "milk.md."}, {"content": "Again."}]
    options = ["--folder", "notes", "--ask", *model(script)]
    waiting = invoked("chat", "--thread", "t", *options, typed="Which files?\n\n", code=3)
    assert "detent chat --thread t" in waiting

    shown, code = at_terminal(["chat", "--thread", "t"], folder, b"y\n\n")
    assert code == 0, shown
    assert "list_files wants to run" in shown
    assert "  milk.md" in shown

    assert "Again." in invoked("chat", "--thread", "t", typed="And?\n\n")


def test_another_folder_in_a_conversation_is_refused(folder: Path, model: Model) -> None:
    """What was said is about the one with which it was begun. So is another rule, for its calls."""
    invoked("chat", "--thread", "t", *model([{"content": "Tea."}]), typed="Tea?\n\n")
    (folder / "notes").mkdir()
    refused = invoked("chat", "--thread", "t", "--folder", "notes", code=2)
    assert "looks into docs" in refused
    assert "another --thread" in refused
    refused = invoked("chat", "--thread", "t", "--ask", code=2)
    assert "begun without --ask: leave that out" in refused


def test_the_last_conversation_is_gone_on_with_by_that_word(folder: Path, model: Model) -> None:
    """Whatever was run after it; where there is none, that is said."""
    assert "no conversation" in invoked("chat", "--thread", "last", code=5)
    invoked("chat", "--thread", "t", *model([{"content": "A."}, {"content": "B."}]), typed="A?\n\n")
    invoked("run", "How hot?", "--yes", *model(SCRIPT))

    shown = invoked("chat", "--thread", "last", typed="B?\n/history\n\n")

    assert "user: A?" in shown
    assert {run.thread_id for run in own_runs().runs()} == {"t", ""}


def test_the_last_run_is_no_question_of_a_conversation(folder: Path, model: Model) -> None:
    """That is gone on with by its thread: told to whoever names the run."""
    invoked("run", "How hot?", "--yes", *model([NO_ANSWER, *SCRIPT]), code=1)
    options = model([NO_ANSWER])
    invoked("chat", "--thread", "t", *options, typed="Tea?\n\n", code=1)
    of_chat = own_runs().runs()[0].run_id

    refused = invoked("run", "--resume", of_chat, "--yes", code=2)
    assert "detent chat --thread t" in refused

    invoked("run", "--resume", "last", "--yes")
    assert (folder / "answer.md").exists()


def test_an_empty_conversation_has_no_history(folder: Path, model: Model) -> None:
    """It says so, and does not explain what was typed."""
    shown = invoked("chat", *model([]), typed="/history\n\n")
    assert "Nothing was said yet." in shown
    assert "/help this" not in shown


def test_tab_completes_conversations(folder: Path, model: Model) -> None:
    """By their names, each once."""
    options = model([{"content": "A."}, {"content": "B."}])
    invoked("chat", "--thread", "tea-time", *options, typed="A?\nB?\n\n")
    asked = {"_DETENT_COMPLETE": "bash_complete", "COMP_WORDS": "detent chat --thread te"}
    result = CliRunner(env={**asked, "COMP_CWORD": "3"}).invoke(main, prog_name="detent")
    assert result.output.splitlines() == ["plain,tea-time"]


def test_a_run_that_may_write_does_so_without_a_terminal_too(folder: Path, model: Model) -> None:
    """It waits for its yes as it did before, and does not forget that there is a file."""
    shown, code = at_terminal(["run", "How hot?", *model(SCRIPT)], folder, b"\x04")
    assert code == 130, shown

    waiting = invoked("run", "--resume", "last", code=3)
    assert "detent run --resume" in waiting

    invoked("run", "--resume", "last", "--yes")
    assert (folder / "answer.md").read_text().startswith("At 80 degrees.")


def test_a_file_that_nobody_could_be_asked_about_is_kept(
    folder: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the answer is to be is known to the command that writes it afterwards."""
    invoked("run", "How hot?", "--output", "hot.md", *model([{"content": "At 80."}]), code=7)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    invoked("run", "--resume", "last", "--yes")

    assert (folder / "hot.md").read_text().startswith("At 80.")
