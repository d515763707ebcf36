"""`detent runs`, as a person at a terminal and as a script meets it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import Annotated, Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from rich.console import Console

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatGeneratorError,
    ChatMessage,
    Limits,
    Price,
    Prices,
    ScriptedChatGenerator,
    SecretParameter,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.cli.main import main
from detent.adapters.cli.runs.printing import age, duration, put_lines, table
from detent.adapters.cli.runs.story import story_of
from detent.adapters.cli.runs.views import timeline
from detent.journals import DirectoryJournal, Journal, PostgresJournal, Runs
from detent.models import ChatReply, ModelFailure, Usage

HOSTILE = "\x1b[2J\u202egone [bold]▌"


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@tool
def pay(amount: int, pin: Annotated[str, SecretParameter] = "") -> str:
    """Pay."""
    return f"paid {amount}"


@tool
def fail() -> str:
    """Fail."""
    raise OSError("no disk")


def said(*calls: ToolCall, text: str | None = None, read: int = 0, written: int = 0) -> ChatReply:
    message = ChatMessage.from_assistant(text, tool_calls=calls)
    return ChatReply(message, usage=Usage(read, written))


def clerk(store: Journal | None, *lines: Any, **options: Any) -> Agent[Any]:
    """An agent that pays, and asks first."""
    given: dict[str, Any] = {
        "tools": [look, pay, fail],
        "confirmation_strategies": {"pay": AlwaysAskPolicy()},
        "name": "clerk",
        **options,
    }
    return Agent(chat_generator=ScriptedChatGenerator(*lines), journal=store, **given)


def begin(store: Journal, run_id: str, *lines: Any, **options: Any) -> None:
    clerk(store, *lines, **options).run("Pay Bob", run_id=run_id, raise_at_break_point=False)


PAY = ToolCall("pay", {"amount": 5, "pin": "hush-hush"})


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a run that waits and one that is done; the app that goes on with them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DETENT_STORE", "runs.db")
    store = SQLiteJournal("runs.db")
    begin(store, "order-1", said(ToolCall("look", {"q": "Bob"}), PAY, text="hm", read=9, written=2))
    begin(store, "talk-1", said(text="Hello.", read=7, written=3))
    return "runs.db"


def app(monkeypatch: pytest.MonkeyPatch, *lines: Any, **options: Any) -> str:
    """A module that has the agent, with what its model will say from now on."""
    module = types.ModuleType("the_app")
    vars(module)["agents"] = lambda: [clerk(None, *lines, **options)]
    monkeypatch.setitem(sys.modules, "the_app", module)
    return "the_app:agents"


def call(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["runs", *words])
    assert result.exit_code == code, result.output
    return result


def document(*words: str, code: int = 0) -> Any:
    return json.loads(call(*words, "--json", code=code).stdout)


def test_list_says_what_there_is(path: str) -> None:
    """A table on stdout, the one last written to first; a page says how to go on."""
    lines = call("list").stdout.splitlines()

    assert lines[0].split() == [
        "RUN",
        "STATUS",
        "AGENT",
        "THREAD",
        "LAST",
        "ENTRIES",
        "WAITS",
        "FOR",
    ]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["talk-1", "done", "clerk"],
        ["order-1", "waiting", "clerk"],
    ]
    page = document("list", "--limit", "1")
    assert [one["run_id"] for one in page["runs"]] == ["talk-1"]
    following = json.dumps(page["next"])
    assert [one["run_id"] for one in document("list", "--after", following)["runs"]] == ["order-1"]
    assert following in call("list", "--limit", "1").stderr


def test_list_filters(path: str) -> None:
    """By status, agent and thread; nothing found is no error."""
    assert [one["run_id"] for one in document("list", "--status", "waiting")["runs"]] == ["order-1"]
    assert document("list", "--agent", "nobody") == {"runs": [], "next": None}
    assert call("list", "--thread", "T").stdout == ""
    assert "JSON" in call("list", "--after", "x", code=2).stderr


@pytest.mark.parametrize("form", ["{}", "sqlite:{}", "sqlite:///{}"])
def test_a_store_is_named_by_a_url(path: str, tmp_path: Path, form: str) -> None:
    """A path, or a scheme and a path."""
    url = form.format(tmp_path / path)

    assert len(document("list", "--store", url)["runs"]) == 2


def test_a_folder_is_a_store(tmp_path: Path) -> None:
    """By `dir:` or by its path."""
    begin(DirectoryJournal(tmp_path / "runs"), "d-1", said(text="Hi."))

    for url in (f"dir:{tmp_path / 'runs'}", str(tmp_path / "runs")):
        assert [one["run_id"] for one in document("list", "--store", url)["runs"]] == ["d-1"]
        assert document("show", "d", "--store", url)["status"] == "done"
        assert "copy a folder" in call("backup", "x", "--store", url, code=2).stderr


def test_a_database_is_a_store(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the URL of PostgreSQL: look, decide, cancel."""
    name = f"pg-{os.getpid()}-{time.time_ns()}"
    store = PostgresJournal(postgres_url)
    begin(store, name, said(PAY))
    monkeypatch.setenv("DETENT_STORE", postgres_url)

    assert [one["run_id"] for one in document("pending", name)["pending"]] == [name]
    call("decide", name, "--confirm", "--app", app(monkeypatch))
    call("cancel", name)
    assert document("show", name)["notes"][-1] == "cancelled: cancelled at the command line"
    store.delete(name)


@pytest.mark.parametrize("url", ["missing.db", "dir:missing", "sqlite:missing.db"])
def test_to_look_makes_no_store(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there is not found."""
    monkeypatch.chdir(tmp_path)

    call("list", "--store", url, code=5)

    assert list(tmp_path.iterdir()) == []


def test_what_is_no_store_is_a_wrong_use(tmp_path: Path) -> None:
    """The forms are named."""
    assert "postgresql://" in call("list", "--store", "mysql:x", code=2).stderr


def test_a_run_is_named_by_the_beginning_of_its_id(path: str) -> None:
    """One that could be two is told which; the whole id counts before the beginning of another."""
    store = SQLiteJournal(path)
    begin(store, "order-12", said(text="Hi."))

    assert document("show", "t")["run_id"] == "talk-1"
    assert document("show", "order-1")["run_id"] == "order-1"
    told = call("show", "ord", code=2).stderr
    assert "order-1" in told
    assert "order-12" in told
    assert "there is no run 'x'" in call("show", "x", code=5).stderr


def test_show_is_a_tree(path: str) -> None:
    """What was said, called, given; what waits and why."""
    text = call("show", "order-1").stdout

    assert "run order-1  waiting  agent clerk" in text
    assert "user: Pay Bob" in text
    assert "turn 1: hm" in text
    assert '├─ look {"q": "Bob"}' in text
    assert "found Bob" in text
    assert "waits for a human" in text
    assert "9 tokens read, 2 written" in text


def test_secrets_are_masked_everywhere(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a decision that has changed the arguments, where nothing says that they are."""
    agent = clerk(SQLiteJournal(path), said(text="Paid."))
    (one,) = agent.pending("order-1")
    agent.decide("order-1", one.modify({"amount": 6, "pin": "********"}, by="Ada"))

    commands = ["show", "export", "watch", "diff", "pending"]
    for command in commands:
        words = [command, "order-1", *(["talk-1"] if command == "diff" else [])]
        words += ["--timeout", "0"] if command == "watch" else []
        assert "hush" not in call(*words).output
        assert "hush" not in call(*words, "--json").output
    assert "hush" not in call("show", "order-1", "--view", "entries").output
    assert "changed by Ada" in call("show", "order-1").stdout


def test_an_agent_inside_is_a_branch(path: str) -> None:
    """With what it has done, how long it took, and its tokens in the sum."""
    store = SQLiteJournal(path)
    inner = Agent(
        chat_generator=ScriptedChatGenerator(
            said(ToolCall("look", {"q": "x"}), read=100, written=10), said(text="inside")
        ),
        tools=[look],
    )
    helper = AgentTool(inner, name="helper", description="Helps.")
    only: Any = {"tools": [helper], "confirmation_strategies": {}}
    begin(store, "nest", said(ToolCall("helper", {"task": "t"})), said(text="out"), **only)

    text = call("show", "nest").stdout
    assert '└─ helper {"task": "t"}' in text
    assert '   └─ look {"q": "x"}' in text
    assert "done in 0.0" in text
    shown = document("show", "nest")
    assert shown["input_tokens"] == 100
    assert shown["turns"][0]["calls"][0]["inside"]["turns"][-1]["text"] == "inside"
    assert "the agent > helper" not in call("show", "nest", "--view", "cost").stdout
    assert "clerk > helper" in call("show", "nest", "--view", "cost").stdout


def test_failures_are_told(path: str) -> None:
    """Of tools and of the model; a run without an answer has failed."""
    store = SQLiteJournal(path)
    broken = ChatGeneratorError(ModelFailure("server", "out of order"))
    with pytest.raises(ChatGeneratorError):
        begin(store, "bad", said(ToolCall("fail")), broken, model_retries=0)

    text = call("show", "bad").stdout
    assert "failed in" in text
    assert "no disk" in text
    assert "no answer: server: out of order" in text
    assert document("show", "bad")["status"] == "failed"


def test_cost_is_only_told_where_prices_were_known(path: str) -> None:
    """Tokens always, and no invented price."""
    store = SQLiteJournal(path)
    prices = Prices({"scripted": Price(input=1, output=2)})
    reply = ChatReply(
        ChatMessage.from_assistant("Hi."), usage=Usage(1_000_000, 500_000), model="scripted"
    )
    begin(store, "dear", reply, limits=Limits(price=prices))

    assert document("show", "dear")["cost"] == pytest.approx(2.0)
    assert "2" in call("show", "dear", "--view", "cost").stdout.splitlines()[-1]
    assert document("show", "talk-1")["cost"] is None
    assert "no prices are known" in call("show", "talk-1", "--view", "cost").stdout


def test_the_timeline_is_to_scale(path: str) -> None:
    """Waits are drawn in another way; a terminal that cannot show lines gets signs."""
    store = SQLiteJournal(path)
    story = story_of("order-1", store.read("order-1"))
    assert story is not None
    story.began_at, story.last_at = 0.0, 100.0
    story.turns[0].began_at, story.turns[0].replied_at = 0.0, 50.0
    asked = story.turns[0].calls[1]
    asked.asked_at = 50.0

    lines = [text for text, _ in timeline(story, 80, lambda text: True)]
    model = next(line for line in lines if line.startswith("model 1"))
    wait = next(line for line in lines if line.startswith("wait: pay"))
    assert model.count("━") == wait.count("┄") == 19
    assert model.index("━") < wait.index("┄")
    assert "=" in "".join(text for text, _ in timeline(story, 80, lambda text: False)[2:])
    assert "wait: pay" in call("show", "order-1", "--view", "timeline").stdout


def test_hostile_texts_steer_no_terminal(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the model, of tools, of users, in ids, names, reasons and errors: all are escaped."""

    @tool
    def echo(text: str) -> str:
        """Echo."""
        return text

    store = SQLiteJournal(path)
    lines = said(ToolCall("echo", {"text": HOSTILE, HOSTILE: 1}), PAY, text=HOSTILE)
    agent = clerk(store, lines, tools=[echo, pay], name=HOSTILE)
    agent.run(HOSTILE, run_id=f"x{HOSTILE}", thread_id=HOSTILE, raise_at_break_point=False)
    call("cancel", f"x{HOSTILE}", "--reason", HOSTILE)
    begin(store, "y", said(PAY), name=HOSTILE)

    for words in (
        *(["list"], ["pending"], ["verify"], ["diff", "x", "y"], ["watch", "x"]),
        *(["show", "x", "--view", view] for view in ("tree", "timeline", "cost", "entries")),
        *(["show", HOSTILE], ["decide", "y", HOSTILE, "--app", app(monkeypatch)]),
        *(["list", "--store", HOSTILE], ["resume", "y", "--app", f"{HOSTILE}:x"]),
        *(["cancel", "x"], ["export", "x"]),
    ):
        shown = CliRunner().invoke(main, ["runs", *words])
        assert shown.exception is None or isinstance(shown.exception, SystemExit), words
        assert "\x1b" not in shown.output, words
        assert "\u202e" not in shown.output, words
        assert "▌" not in shown.output, words


def test_pending_shows_what_waits(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one run or of all; with the agent's code also what a decision is bound to."""
    (one,) = document("pending")["pending"]
    assert (one["run_id"], one["tool_name"]) == ("order-1", "pay")
    assert one["arguments"] == {"amount": 5, "pin": "********"}
    text = call("pending").stdout
    assert "order-1  pay, asked" in text
    assert "amount = 5" in text

    (whole,) = document("pending", "order", "--app", app(monkeypatch))["pending"]
    assert whole["digest"]
    assert whole["masked"] == ["pin"]
    assert "Nobody is waited for." in call("pending", "talk").stderr


def test_decide_and_resume(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Confirmed by the user's name, and gone on with, in other processes than that which asked."""
    the_app = app(monkeypatch, said(text="Paid."))
    monkeypatch.setenv("LOGNAME", "ada")

    assert "digest" not in call("decide", "order-1", "--confirm", "--app", the_app).output
    assert document("show", "order-1")["turns"][0]["calls"][1]["said"] == ["confirmed by ada"]
    ended = document("resume", "order-1", "--app", the_app)

    assert (ended["exit_reason"], ended["text"]) == ("text", "Paid.")
    assert document("show", "order-1")["status"] == "done"


@pytest.mark.parametrize(
    ("words", "status", "result"),
    [
        (["--reject", "--reason", "too much"], "refused", "too much"),
        (["--respond", "paid by hand"], "answered", "paid by hand"),
        (["--modify", '{"amount": 1, "pin": "********"}', "--reason", "less"], "may run", ""),
    ],
)
def test_other_decisions(
    path: str, monkeypatch: pytest.MonkeyPatch, words: list[str], status: str, result: str
) -> None:
    """A no, an answer, and other arguments."""
    call("decide", "order-1", "pay", *words, "--by", "Ada", "--app", app(monkeypatch))

    decided = document("show", "order-1")["turns"][0]["calls"][1]
    assert "by Ada" in decided["said"][0]
    if status != "may run":
        assert (decided["status"], decided["result"]) == (status, result)
    else:
        assert decided["arguments"] == {"amount": 1, "pin": "********"}


def test_decisions_that_do_not_count_are_refused(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code 4: another digest, arguments that do not fit, a call that does not wait."""
    the_app = app(monkeypatch)
    tail = ["--app", the_app]

    call("decide", "order-1", "--confirm", "--digest", "x", *tail, code=4)
    call("decide", "order-1", "--modify", '{"amount": "x"}', *tail, code=4)
    call("decide", "talk-1", "--confirm", *tail, code=4)
    call("decide", "order-1", "look", "--confirm", *tail, code=4)
    for wrong in (["--modify", "x"], ["--modify", "[]"], [], ["--confirm", "--respond", "x"]):
        call("decide", "order-1", *wrong, *tail, code=2)
    assert document("list", "--status", "waiting")["runs"][0]["run_id"] == "order-1"


def test_two_calls_that_wait_are_told_apart(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the id of the call."""
    begin(SQLiteJournal(path), "two", said(PAY, PAY))
    tail = ["--app", app(monkeypatch)]

    assert "call_1_1" in call("decide", "two", "--confirm", *tail, code=2).stderr
    left = document("decide", "two", "call_1_1", "--confirm", *tail)["pending"]
    assert [one["call_id"] for one in left] == ["call_1_0"]


def test_what_needs_code_says_so(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a module without an agent, or without this one, is told from one with it."""
    for words in (["resume", "o"], ["fork", "o"], ["replay", "o"], ["decide", "o", "--confirm"]):
        assert "--app module:name" in call(*words, code=2).stderr
    for wrong in ("no_such_module_here", "json:nothing", "json", "json:dumps", "os:sep"):
        assert "--app" in call("resume", "o", "--app", wrong, code=2).stderr
    monkeypatch.setitem(sys.modules, "two_apps", two := types.ModuleType("two_apps"))
    vars(two)["agents"] = {name: clerk(None, name=name) for name in ("a", "b")}
    assert "'a', 'b'" in call("replay", "o", "--app", "two_apps", code=2).stderr


def test_the_current_folder_is_looked_in_for_the_app(path: str, tmp_path: Path) -> None:
    """As `python -m` does; an error inside of it is shown as it is."""
    (tmp_path / "broken_app.py").write_text("import surely_not_there\n", encoding="utf-8")

    assert "surely_not_there" in call("resume", "o", "--app", "broken_app", code=1).stderr
    sys.path.remove(str(tmp_path))


def test_a_run_that_waits_or_fails_says_so_by_its_code(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 and 1; one that another process drives is busy: 6."""
    call("resume", "order-1", "--app", app(monkeypatch), code=3)
    broken = ChatGeneratorError(ModelFailure("server", "out of order"))
    begin(store := SQLiteJournal(path), "stop", said(PAY))
    call("decide", "stop", "--reject", "--app", app(monkeypatch))
    call("resume", "stop", "--app", app(monkeypatch, broken, model_retries=0), code=1)

    handle = clerk(store, said(text="Hi.")).begin("Hi", run_id="mine")
    code = (
        "import sys, types; from tests_app import clerk; "
        "from detent.adapters.cli.main import main; main()"
    )
    (Path(path).parent / "tests_app.py").write_text(
        "from detent import Agent, ScriptedChatGenerator\n"
        "agent = clerk = Agent(chat_generator=ScriptedChatGenerator('Hi.'))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "runs", "resume", "mine", "--app", "tests_app"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 6, done.stderr
    handle.result(raises=False)


def test_cancel_needs_no_code(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent itself finds the run cancelled then; one that has ended is not cancelled."""
    document("cancel", "order-1", "--reason", "not needed")

    run = Runs(SQLiteJournal(path), clerk(None).spec).at("order-1")
    assert run.outcome is not None
    assert run.outcome.exit_reason == "cancelled"
    (listed,) = [one for one in SQLiteJournal(path).runs() if one.run_id == "order-1"]
    assert (listed.status, listed.pending, listed.agent) == ("done", (), "clerk")
    call("cancel", "order-1", code=4)
    call("replay", "order-1", "--app", app(monkeypatch))


def test_fork_replay_and_diff(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork from a place with another message; what it does otherwise; both can be replayed."""
    the_app = app(monkeypatch, said(text="Bye."))
    made = document("fork", "talk-1", "--message", "And now?", "--app", the_app)["run_id"]
    assert document("show", made)["status"] == "running"
    assert call("fork", "talk-1", "--new-id", "copy", "--app", the_app).stdout == "copy\n"
    ended = document(
        "fork", "talk-1", "--message", "More?", "--run", "--new-id", "more", "--app", the_app
    )
    assert ended["text"] == "Bye."

    differ = document("diff", "talk-1", "more")
    assert differ["same"] == 2
    assert differ["in_a"] == []
    assert differ["in_b"] == ["user: More?", "model: Bye."]
    shown = call("diff", "talk-1", "more")
    assert "+ user: More?" in shown.stdout
    assert "did the same" in call("diff", "talk-1", "talk-1").stderr

    assert document("replay", "talk-1", "--app", the_app)["equal"]
    changed = app(monkeypatch, confirmation_strategies={})
    assert not document("replay", "order-1", "--app", changed, code=1)["equal"]


def test_watch_gives_each_entry_once(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of JSON for each, also of those that another process writes meanwhile."""
    lines = call("watch", "talk-1", "--json").stdout.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["Started", "ModelReplied"]
    assert call("watch", "order-1", "--until-waiting").stdout.count("\n") == 5
    assert call("watch", "talk-1", "--after", "0", "--json").stdout.count("\n") == 1
    call("watch", "talk-1", "--after", "7", code=5)
    assert call("watch", "order-1", "--after", "4", "--timeout", "0").stdout == ""

    def cancelled() -> None:
        clerk_store = SQLiteJournal(path)
        assert clerk_store.wait("order-1", 5, 0.05) is False
        CliRunner().invoke(main, ["runs", "cancel", "order-1", "--store", path])

    other = threading.Thread(target=cancelled)
    other.start()
    seen = call("watch", "order-1", "--after", "4", "--json").stdout.splitlines()
    other.join()
    assert [json.loads(line)["kind"] for line in seen] == ["CancelRequested"]


def test_ctrl_c_ends_with_130(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And with a word on stderr, not a trace."""

    def interrupted(*args: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(SQLiteJournal, "wait", interrupted)

    assert "Stopped." in call("watch", "order-1", code=130).stderr


def test_export_is_all_of_it(path: str, tmp_path: Path) -> None:
    """Lines, or one document; to stdout or a file."""
    lines = call("export", "talk-1").stdout.splitlines()
    assert [json.loads(line)["position"] for line in lines] == [0, 1]
    assert document("export", "talk-1")["entries"] == [json.loads(line) for line in lines]
    call("export", "talk-1", "--output", "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines() == lines


def test_verify_finds_what_is_not_as_it_was(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By reading all; with the agent's code by doing it again, too."""
    assert document("verify")["damaged"] == 0
    assert document("verify", "talk", "--app", app(monkeypatch))["runs"] == [
        {"run_id": "talk-1", "whole": True, "problem": None}
    ]
    with sqlite3.connect(path) as db:
        db.execute("UPDATE entries SET data = replace(data, 'Hello.', 'Hellooo')")
    db.close()

    found = document("verify", code=1)
    assert found["damaged"] == 1
    assert [one["run_id"] for one in found["runs"] if not one["whole"]] == ["talk-1"]


def test_backup_and_clean(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy is whole; only what has ended, and is old, is deleted, and not without a word."""
    call("backup", "copy.db")
    assert len(document("list", "--store", "copy.db")["runs"]) == 2

    assert document("clean", "--older-than", "1d", "--yes") == {"deleted": []}
    assert document("clean", "--older-than", "0s", "--dry-run") == {"would_delete": ["talk-1"]}
    assert "--yes" in call("clean", "--older-than", "0s", code=2).stderr
    assert call("clean", "--older-than", "0s", "--yes").stdout == "talk-1\n"
    assert [one["run_id"] for one in document("list")["runs"]] == ["order-1"]
    call("clean", "--older-than", "soon", code=2)


def test_a_shell_completes_ids(path: str) -> None:
    """Of the store that was named; one that is not there completes nothing."""

    def completed(*words: str) -> list[str]:
        shell = ShellComplete(main, {}, "detent", "_DETENT_COMPLETE")
        return [one.value for one in shell.get_completions(["runs", *words], "o")]

    assert completed("show") == ["order-1"]
    assert completed("show", "--store", "missing.db") == []
    assert completed("resume", "--store", path) == ["order-1"]


def test_a_narrow_terminal_gets_no_table() -> None:
    """The parts of each row stand below each other; a wide one gets no cell without an end."""
    narrow = Console(width=40, force_terminal=True)
    rows = [["order-1", "waiting", ""], ["x" * 50, "done", "T"]]

    assert [text for text, _ in table(("RUN", "STATUS", "THREAD"), rows, narrow)] == [
        *("order-1", "  status: waiting", "x" * 50, "  status: done", "  thread: T")
    ]
    wide = table(("RUN", "STATUS", "THREAD"), rows, Console(width=100, force_terminal=True))
    assert wide[2][0].startswith("x" * 39 + "…  done")
    assert table(("RUN",), [["x" * 50]], Console(width=30))[1][0] == "x" * 50


def test_only_a_terminal_gets_a_pager_and_colours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe gets plain lines, and a terminal with NO_COLOR no colours."""
    lines = [("x", "red")] * 100
    paged = list[str]()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("pydoc.pager", paged.append)

    put_lines(lines)
    assert capsys.readouterr().out == "x\n" * 100
    assert paged == []
    put_lines(lines, Console(force_terminal=True, width=80, height=20, color_system="standard"))
    assert len(paged) == 1
    assert "\x1b[31m" in paged[0]
    monkeypatch.setenv("NO_COLOR", "1")
    put_lines(lines, Console(force_terminal=True, width=80, height=20))
    assert "\x1b[31m" not in paged[1]


def test_times_are_told_in_one_word() -> None:
    """The largest unit that fits."""
    assert [duration(one) for one in (0.25, 5, 90, 7_200, 129_600)] == [
        *("0.25 s", "5 s", "1.5 min", "2 h", "1.5 d")
    ]
    assert age(100, now=160) == "1 min ago"


def test_every_command_is_on_the_reference_page() -> None:
    """The page is what `--help` says: python tests/adapters/cli/test_runs.py writes it anew."""
    page = Path(__file__).parents[3] / "docs" / "reference" / "command-line.md"
    assert page.read_text(encoding="utf-8") == reference()


def reference() -> str:
    """The page of the commands over runs."""
    group: Any = main.commands["runs"]
    parts = [REFERENCE.strip(), _help(group, "detent runs")]
    for name, command in group.commands.items():
        parts += [f"## {name}", _help(command, f"detent runs {name}")]
    return "\n\n".join(parts) + "\n"


REFERENCE = """
# detent runs

What the commands over runs say of themselves. How they are used is told in
[Look into runs](../how-to/look-into-runs.md).
"""


def _help(command: click.Command, name: str) -> str:
    context = click.Context(
        command,
        info_name=name,
        max_content_width=78,
        terminal_width=78,
        help_option_names=["-h", "--help"],
    )
    return f"```text\n{command.get_help(context).rstrip()}\n```"


if __name__ == "__main__":
    Path("docs/reference/command-line.md").write_text(reference(), encoding="utf-8")
