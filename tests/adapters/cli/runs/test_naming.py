"""How runs are named: by a word or by Tab, and whose runs they are."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from click import UsageError
from click.testing import CliRunner

from detent import Agent, ScriptedChatGenerator, SQLiteJournal
from detent.adapters.cli.main import main
from detent.adapters.cli.runs.apps import agent_for
from tests.adapters.cli.runs.clerks import PAY, app, begin, call, clerk, said


def completed(words: str) -> list[str]:
    """What Tab completes at the end of the words."""
    place = str(len(words.split(" ")) - 1)
    asked = {"_DETENT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": place}
    result = CliRunner(env=asked).invoke(main, prog_name="detent")
    assert result.exit_code == 0, result.output
    return [line.removeprefix("plain,") for line in result.output.splitlines() if line]


def test_the_last_run_is_named_by_that_word(path: str) -> None:
    """As for `detent run --resume`; it is the one that was written to last."""
    assert call("show", "last").stdout.startswith("run talk-1")
    begin(SQLiteJournal(path), "order-2", PAY)
    assert call("show", "last").stdout.startswith("run order-2")


def test_a_run_that_is_called_so_comes_first(path: str) -> None:
    """And where another begins so, it is asked which one is meant."""
    store = SQLiteJournal(path)
    begin(store, "last-will", PAY)
    begin(store, "talk-2", said(text="Hello."))
    assert "could be more than one run: talk-2, last-will" in call("show", "last", code=2).output

    begin(store, "last", said(text="Hello."))
    begin(store, "talk-3", said(text="Hello."))
    assert call("show", "last").stdout.startswith("run last")


def test_an_id_that_is_nearly_right_is_told_which_was_meant(path: str) -> None:
    """One that is like none is not."""
    assert "; did you mean 'order-1'? " in call("show", "ordre-1", code=5).stderr
    assert "did you mean" not in call("show", "0badf00d", code=5).stderr


def test_without_a_run_there_is_no_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no word that hides it."""
    SQLiteJournal(tmp_path / "runs.db").runs()
    result = call("show", "last", "--store", f"dir:{tmp_path}", code=5)
    assert "there is no run 'last'" in result.output


def test_agents_without_a_journal_have_no_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of `detent run` are none of theirs, and are not shown as if they were."""
    monkeypatch.setenv("DETENT_STATE_DIR", str(tmp_path))
    begin(SQLiteJournal(tmp_path / "runs.db"), "of-another", PAY)

    for words in (["list"], ["show", "of-another"], ["pending"]):
        refused = call(*words, "--app", app(monkeypatch), code=2).output
        assert "the agents at the_app:agents have no journal" in refused
        assert "--store FILE" in refused
        assert "of-another" not in refused
    named = call("list", "--app", app(monkeypatch), "--store", str(tmp_path / "runs.db"))
    assert "of-another" in named.stdout


def test_tab_completes_the_runs_of_agents(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their module prints. Where there is no journal it completes nothing."""
    monkeypatch.delenv("DETENT_STORE")

    def loud() -> object:
        sys.stdout.write("loading")
        return clerk(SQLiteJournal(path))

    module = types.ModuleType("loud_app")
    vars(module)["agent"] = loud
    monkeypatch.setitem(sys.modules, "loud_app", module)

    assert completed("detent runs show --app loud_app or") == ["order-1"]
    assert completed("detent runs resume --app loud_app:agent la") == ["last"]
    assert completed(f"detent runs show --app {app(monkeypatch)} or") == []
    assert completed("detent runs show --app no_such_module or") == []


@pytest.mark.parametrize("command", ["resume", "fork", "replay"])
def test_a_host_where_a_store_is_needed_is_told_as_such(path: str, command: str) -> None:
    """Not as an option that there is not: the other commands have it."""
    output = call(command, "order-1", "--host", "http://127.0.0.1:9", code=2).output
    assert "--host: this works on a store, and not over a host" in output
    assert "detent runs watch RUN --host URL" in output


def test_agents_are_called_by_the_names_of_a_mapping(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `detent serve` calls them, by which their runs were begun."""
    journal = SQLiteJournal(path)
    nameless = Agent(chat_generator=ScriptedChatGenerator())
    module = types.ModuleType("two")
    vars(module)["agents"] = {"clerk": nameless, "other": nameless}
    vars(module)["others"] = {"one": nameless, "other": nameless}
    monkeypatch.setitem(sys.modules, "two", module)
    assert agent_for("two", "clerk", journal, "resume").assembly.name == ""
    with pytest.raises(UsageError, match="has 'one', 'other': give each agent a name=, or"):
        agent_for("two:others", "clerk", journal, "resume")
