"""`list`, `pending` and `show`, and how stores and runs are named."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
import time
import types
from pathlib import Path
from typing import Annotated, Any

import click
import pytest
from click.core import ParameterSource

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatGeneratorError,
    ChatMessage,
    Limits,
    Price,
    Prices,
    Retries,
    ScriptedChatGenerator,
    SecretParameter,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.cli.main import main
from detent.adapters.cli.runs.hints import note_place, place_words
from detent.adapters.cli.runs.views import tree
from detent.adapters.stories.parts import Call, Story, Stretch, Turn
from detent.adapters.system.clocks import ManualClock, SystemClock
from detent.approvals import WithQuestionOptions, verify_audit
from detent.hosts import LocalHost
from detent.journals import (
    AuditedJournal,
    DirectoryJournal,
    EncryptedJournal,
    PostgresJournal,
    Runs,
)
from detent.models import ChatReply, ModelFailure, Usage
from detent.ports.clock import Clock
from tests.adapters.cli.runs.clerks import (
    OWN,
    PAY,
    app,
    begin,
    begin_by,
    call,
    clerk,
    document,
    look,
    said,
)


@pytest.mark.parametrize("way", ["", "--store", "--app", "DETENT_STORE", "DETENT_APP"])
def test_a_list_says_which_store_it_shows_where_none_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """That of `detent run`: whoever looks for the runs of a program of theirs misses them."""
    monkeypatch.setenv("DETENT_STATE_DIR", str(tmp_path))
    path = str(tmp_path / "runs.db")
    begin(SQLiteJournal(path), "order-1", PAY)
    module = types.ModuleType("the_app")
    vars(module)["agent"] = clerk(SQLiteJournal(path))
    monkeypatch.setitem(sys.modules, "the_app", module)
    place = "the_app:agent" if way.lower().endswith("app") else path
    for name in ("DETENT_STORE", "DETENT_APP", "DETENT_HOST"):
        monkeypatch.setenv(name, place if name == way else "")

    listed = call("list", *([way, place] if way.startswith("--") else []))
    assert "order-1" in listed.stdout
    told = "the store of detent run; those of a program of yours: --app MODULE:NAME"
    assert (told in listed.stderr, path in listed.stderr) == (not way, not way)


def test_a_run_that_nobody_drives_says_so(tmp_path: Path) -> None:
    """While its tool is at work a process drives it; once that has ended, nobody does."""
    path = tmp_path / "left.db"
    listed, shown = list[str](), list[str]()

    @tool
    def bake(loaves: int) -> str:
        """Bake bread."""
        listed.append(call("list", "--store", str(path)).stdout)
        shown.append(call("show", "bread", "--store", str(path)).stdout)
        told = json.loads(call("show", "bread", "--store", str(path), "--json").stdout)
        assert told["driver"]["pid"] == os.getpid()
        raise KeyboardInterrupt

    script = ScriptedChatGenerator(ToolCall("bake", {"loaves": 3}))
    baker = Agent(chat_generator=script, tools=[bake], journal=SQLiteJournal(path))
    with pytest.raises(KeyboardInterrupt):
        baker.run("Bake.", run_id="bread")

    listed.append(call("list", "--store", str(path)).stdout)
    shown.append(call("show", "bread", "--store", str(path)).stdout)
    assert [f"at work: process {os.getpid()} on " in one for one in shown] == [True, False]
    assert ["running" in one for one in listed] == [True, True]
    assert ["somebody to resume it" in one for one in listed] == [False, True]
    way = f"asks nothing, and waits for somebody to resume it: {OWN} runs resume bread --store"
    for words in ((), ("bread",)):
        told = call("pending", *words, "--store", str(path)).stderr
        assert f"Run bread {way} {path} --app module:name" in told


@pytest.mark.parametrize(
    ("clock", "whom"),
    [
        (SystemClock(), "its time, or somebody to resume it"),
        (ManualClock(1000.0), "somebody to resume it"),  # its time is over
    ],
)
def test_a_run_that_a_host_leaves_till_it_tries_again_waits_for_its_time(
    tmp_path: Path, clock: Clock, whom: str
) -> None:
    """Nobody drives it meanwhile, and nobody has died."""
    path = tmp_path / "paused.db"

    @tool(retries=Retries(2, backoff_s=3600.0))
    def bake() -> str:
        """Bake bread."""
        raise ConnectionError

    script = ScriptedChatGenerator(ToolCall("bake"))
    journal = SQLiteJournal(path)
    agents = {"baker": Agent(chat_generator=script, tools=[bake], clock=clock)}

    async def play() -> str:
        async with LocalHost(agents, journal, clock=clock) as host:
            await host.start("baker", "Bake.", run_id="bread")
            async with asyncio.timeout(10):
                while host.health().running or (await host.run("bread")).listed.wake_at is None:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0.005)
            return call("list", "--store", str(path)).stdout

    row = asyncio.run(play()).splitlines()[1]
    assert f"  {whom}, until " in row
    told = call("pending", "--store", str(path)).stderr
    assert f"Run bread asks nothing, and waits for {whom}: " in told


@pytest.mark.parametrize(
    ("thread", "way"), [(None, "run --resume bread"), ("t 1", "chat --thread 't 1'")]
)
def test_what_was_left_at_the_command_line_is_gone_on_with_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thread: str | None, way: str
) -> None:
    """It needs no code of anybody's."""
    monkeypatch.setenv("DETENT_STATE_DIR", str(tmp_path))
    monkeypatch.delenv("DETENT_STORE", raising=False)

    def stop(messages: object) -> str:
        raise KeyboardInterrupt

    left = Agent(
        chat_generator=ScriptedChatGenerator(stop), journal=SQLiteJournal(tmp_path / "runs.db")
    )
    with pytest.raises(KeyboardInterrupt):
        left.run("Bake.", run_id="bread", thread_id=thread)

    assert call("pending").stderr.endswith(f"waits for somebody to resume it: {OWN} {way}\n")


def test_list_finds_runs_by_what_they_have_read(path: str) -> None:
    """The column is there where a run bears a label."""

    @tool(labels={"untrusted"})
    def browse(url: str) -> str:
        """Read a page."""
        return url

    page = ToolCall("browse", {"url": "evil.example"})
    read: dict[str, Any] = {"tools": [browse], "confirmation_strategies": {}}
    begin(SQLiteJournal(path), "web-1", said(page), said(text="Read."), **read)

    names, *rows = call("list").stdout.splitlines()
    assert names.endswith("HAS READ")
    assert [row.split()[0] for row in rows if row.endswith("untrusted")] == ["web-1"]
    (run,) = document("list", "--label", "untrusted")["runs"]
    assert (run["run_id"], run["labels"]) == ("web-1", ["untrusted"])
    assert "no such runs" in call("list", "--label", "pii").stderr


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


def test_a_run_of_a_thread_shows_what_was_said_before(path: str) -> None:
    """By whom, and apart from what the run itself was asked; instructions are none of it."""
    talker = clerk(SQLiteJournal(path), "one", "two", system_prompt="Be kind.")
    talker.run("First?", run_id="t1", thread_id="T")
    talker.run("Second?", run_id="t2", thread_id="T")

    first, second = (call("show", one).stdout for one in ("t1", "t2"))

    assert "before" not in first
    assert "user: First?" in first
    told = ["before, user: First?", "before, assistant: one", "user: Second?"]
    assert second.splitlines()[3:6] == told
    assert "kind" not in second


def test_a_run_behind_a_result_and_a_fork_show_what_was_said_before(path: str) -> None:
    """As one of a thread does; and a fork names what it is one of."""
    talker = clerk(SQLiteJournal(path), "one", "two", "three")
    first = talker.run("First?", run_id="r1")
    talker.run("Second?", after=first, run_id="r2")
    message = ChatMessage.from_user("Third?")
    fork = Runs(SQLiteJournal(path), talker.spec).fork("r1", messages=[message])
    talker.run(snapshot=fork, run_id="r3")

    before = ["before, user: First?", "before, assistant: one"]
    behind, forked = (call("show", one).stdout.splitlines() for one in ("r2", "r3"))
    assert behind[3:] == [*before, "user: Second?", "turn 1 scripted: two"]
    assert forked[3:] == [*before, "user: Third?", "turn 2 scripted: three"]
    assert "fork of r1 after 2 entries" in forked[0]
    shown = document("show", "r3")
    assert shown["before"] == [["user", "First?"], ["assistant", "one"]]
    assert (shown["asked"], shown["fork_of"]) == (["Third?"], {"run_id": "r1", "entries": 2})


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
    call("decide", name, "--confirm", "--unseen", "--app", app(monkeypatch))
    call("cancel", name)
    assert document("show", name)["notes"][-1] == "cancelled: cancelled at the command line"
    store.delete(name)


@pytest.mark.parametrize("url", ["missing.db", "dir:missing", "sqlite:missing.db"])
def test_to_look_makes_no_store(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there is not found."""
    monkeypatch.chdir(tmp_path)

    call("list", "--store", url, code=5)

    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """With a sentence, and no trace."""
    (tmp_path / "notes.txt").write_text("no database " * 100, encoding="utf-8")

    assert "Error: " in call("list", "--store", str(tmp_path / "notes.txt"), code=1).stderr


def test_what_is_sealed_is_read_by_the_journal_of_its_agent(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it is said that it is; nothing that is not sealed is written beside it."""
    sealed = EncryptedJournal(SQLiteJournal(path), lambda data: data[::-1], lambda data: data[::-1])
    begin(sealed, "secret", said(PAY))
    monkeypatch.setitem(sys.modules, "sealing", module := types.ModuleType("sealing"))
    vars(module)["agent"] = clerk(sealed)

    assert "Bob" not in call("show", "secret").stdout
    assert "--store app:" in call("show", "secret").stdout
    assert "--store app:" in call("cancel", "secret", code=2).stderr
    assert "user: Pay Bob" in call("show", "secret", "--store", "app:sealing").stdout
    call("decide", "secret", "--confirm", "--unseen", "--app", "sealing", "--store", "app:sealing")
    call("cancel", "secret", "--store", "app:sealing")
    assert Runs(sealed, clerk(None).spec).at("secret").outcome is not None
    unread = document("verify", "secret")
    assert [(run["whole"], run["sealed"]) for run in unread["runs"]] == [(True, True)]
    assert "1 are sealed, and only whether entries are missing" in call("verify", "secret").stderr
    (read,) = document("verify", "secret", "--store", "app:sealing:agent")["runs"]
    assert (read["whole"], read["sealed"]) == (True, False)


def test_an_audit_is_not_broken_from_outside(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written beside the chain would look like somebody's tampering; by it, it is heard."""
    audited = AuditedJournal(SQLiteJournal(path))
    begin(audited, "kept", said(PAY))
    module = types.ModuleType("the_books")
    vars(module)["agent"] = clerk(audited)
    monkeypatch.setitem(sys.modules, "the_books", module)

    for words in (["cancel", "kept"], ["send", "kept", "hello"]):
        assert "--store app:MODULE:NAME" in call(*words, code=2).stderr
    call("send", "kept", "hello", "--store", "app:the_books:agent")

    assert verify_audit(audited, "kept")


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
    assert re.search(r"done in \d", text)
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
    assert "Nobody is asked anything in " in call("pending", "talk").stderr


def test_a_run_of_the_command_line_is_decided_about_by_going_on_with_it(tmp_path: Path) -> None:
    """Its agent has no name, and is in no module that somebody could name."""
    path = tmp_path / "runs.db"
    begin(SQLiteJournal(path), "r", PAY, name="")

    assert "detent run --resume r;" in call("pending", "--store", str(path)).stderr
    assert "by detent run --resume" in call("resume", "r", "--store", str(path), code=2).stderr


@pytest.mark.parametrize("reveals", [(), ("account",)])
def test_pending_shows_of_the_state_what_the_policy_reveals(
    reveals: tuple[str, ...], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its help promises no more."""
    options: dict[str, Any] = {
        "tools": [pay_from],
        "state_schema": {"account": {"type": str}},
        "confirmation_strategies": {"pay": WithQuestionOptions(AlwaysAskPolicy(), reveals=reveals)},
    }
    agent = clerk(SQLiteJournal(path), said(ToolCall("pay", {"amount": 5})), **options)
    agent.run("Pay", run_id="state-1", raise_at_break_point=False, account="savings")

    shown = call("pending", "state-1", "--app", app(monkeypatch, **options)).stdout

    assert ('account = "savings"  (from the state)' in shown) == bool(reveals)
    text = " ".join(call("pending", "--help").stdout.split())
    assert "what the state fills in as far as the policy reveals it" in text


def test_what_a_tool_has_said_before_is_said_by_it(path: str) -> None:
    """A result is kept without a role."""
    talker = clerk(SQLiteJournal(path), ToolCall("look", {"q": "Bob"}), "one", "two")
    talker.run("First?", run_id="t1", thread_id="T")
    talker.run("Second?", run_id="t2", thread_id="T")

    shown = call("show", "t2").stdout
    assert "before, tool: found Bob" in shown
    before = [line for line in shown.splitlines() if line.startswith("before")]
    assert before == [
        "before, user: First?",
        'before, assistant: calls look {"q": "Bob"}',
        "before, tool: found Bob",
        "before, assistant: one",
    ]


def waiter(tool_name: str, *stretches: Stretch, ended_at: float | None = None) -> Call:
    times: dict[str, Any] = {"stretches": list(stretches), "ended_at": ended_at}
    return Call(1, 0, tool_name, {}, "c", "done", attempts=1, **times)


@pytest.mark.parametrize(
    ("inner", "took"),
    [
        ([], "10 s"),
        ([waiter("pay", Stretch("wait", 101.0, 104.0))], "7 s"),
        ([waiter("pay", Stretch("wait", 101.0, 104.0))] * 2, "7 s"),
        ([waiter("pay", Stretch("wait", 102.0))], "2 s"),
        ([waiter("pay", Stretch("wait", 200.0, 204.0))], "10 s"),
    ],
)
def test_the_time_of_a_call_is_without_that_of_humans(inner: list[Call], took: str) -> None:
    """Of the agent that it is as well; two questions at once are waited for once."""
    inside = Story("r/1.0", "buy", turns=[Turn(1, 100.0, calls=inner)])
    worked = Stretch("work", 100.0, 110.0)
    asked = waiter("buy", Stretch("wait", 1.0, 99.0), worked, ended_at=110.0)
    asked.inside = inside if inner else None
    story = Story("r", turns=[Turn(1, 0.5, 0.9, calls=[asked])])

    assert f"   done in {took}" in [text for text, _ in tree(story)]


def test_the_time_of_a_call_is_that_of_the_attempts_whose_end_somebody_saw() -> None:
    """Not of one whose process ended, nor of the wait for a human who said to try it again."""
    cut = Stretch("work", 5.0, 7.0, "cut short")
    failed, wait, last = (
        Stretch("work", 10.0, 20.0, "failed"),
        Stretch("wait", 20.0, 90.0, "decided"),
        Stretch("work", 90.0, 95.0),
    )
    again = waiter("pay", cut, failed, wait, last, ended_at=95.0)
    assert "   done in 15 s" in [
        text for text, _ in tree(Story("r", turns=[Turn(1, 1.0, 2.0, calls=[again])]))
    ]


def test_a_store_without_any_run_is_asked_about(tmp_path: Path) -> None:
    """A file of the same name in another folder, or a copy of half of it, has none."""
    SQLiteJournal(tmp_path / "copy.db").runs()

    told = call("show", "order-1", "--store", str(tmp_path / "copy.db"), code=5).stderr
    assert f"no run 'order-1' in SQLiteJournal('{tmp_path / 'copy.db'}'); it has none" in told
    assert "and was it copied whole, of SQLite with the -wal beside it?" in told
    assert "shows those" not in told


def test_the_commands_that_are_named_find_the_same_store_and_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they were typed; what a variable says is not repeated, as it goes on saying so."""
    monkeypatch.chdir(tmp_path)
    begin(SQLiteJournal("my runs.db"), "order 1", said(PAY))
    the_app = app(monkeypatch, said(text="Paid."))
    place = ("--store", "my runs.db")

    alone = call("pending", *place).stderr
    asked = call("pending", "order 1", *place, "--app", the_app).stderr
    waits = call("resume", "order 1", *place, "--app", the_app, code=3).output
    none = call("show", "order 2", *place, code=5).stderr

    command = f"{OWN} runs pending 'order 1' --store 'my runs.db' --app module:name"
    assert f"To decide, its agent's code is needed: {command} shows all" in alone
    tail = f"'order 1' --store 'my runs.db' --app {the_app}"
    assert f"To decide: {OWN} runs decide {tail} --digest " in asked
    assert f"see {OWN} runs pending {tail}" in waits
    assert f"{OWN} runs list --store 'my runs.db' shows those" in none
    monkeypatch.setenv("DETENT_STORE", "my runs.db")
    monkeypatch.setenv("DETENT_APP", the_app)
    assert "decide 'order 1' --digest" in call("pending").stderr


def test_a_password_in_the_place_of_a_store_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint is for a terminal that others may see."""
    with click.Context(main) as ctx:
        ctx.set_parameter_source("store", ParameterSource.COMMANDLINE)
        note_place(ctx, {"store": "postgresql://me:secret@db/runs"})
        assert place_words() == " --store 'postgresql://***@db/runs'"


@pytest.mark.parametrize("by", ["option", "variable"])
@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", "fine-1"),
        ("watch", "fine-1"),
        ("pending", "fine-1"),
        ("cancel", "fine-1"),
        ("send", "fine-1", "and milk"),
        ("diff", "fine-1", "fine-1"),
        ("export", "fine-1"),
        ("verify", "fine-1"),
        ("backup", "copy.db"),
        ("clean", "--older-than", "1d"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_finds_the_store_of_the_agents(
    words: tuple[str, ...], by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each looks where the one before it has found something, also one that needs no code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DETENT_STATE_DIR", str(tmp_path / "elsewhere"))
    store = SQLiteJournal("library.db")
    begin(store, "fine-1", said(PAY))
    module = types.ModuleType("the_library")
    vars(module)["app"] = clerk(store)
    monkeypatch.setitem(sys.modules, "the_library", module)
    if by == "variable":
        monkeypatch.setenv("DETENT_APP", "the_library:app")
    place = ("--app", "the_library:app") if by == "option" else ()
    limits = ("--until-waiting", "--timeout", "0") if words[0] == "watch" else ()

    shown = call(*words, *place, *limits)
    missing = call("show", "none", *place, code=5)

    assert not (tmp_path / "elsewhere").exists()
    where = " --app the_library:app" if by == "option" else ""
    assert f"{OWN} runs list{where} shows those" in missing.stderr
    if words[0] in {"list", "show", "export"}:
        assert "fine-1" in shown.output


@tool(name="pay", inputs_from_state={"account": "account"})
def pay_from(amount: int, account: str) -> str:
    """Pay from an account."""
    return f"paid {amount} from {account}"


@tool(name="pay")
def pay_with_receipt(amount: int, pin: Annotated[str, SecretParameter] = "") -> str:
    """Pay, and write a receipt."""
    return f"paid {amount}, with a receipt"


def test_a_question_of_another_release_is_named_with_what_is_to_be_done(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That nobody is waited for would be untrue: the run waits, and this release asks anew."""
    the_app = app(monkeypatch, said(text="Paid."), tools=[look, pay_with_receipt])
    place = ("--store", path, "--app", the_app)
    command = f"{OWN} runs resume order-1 --store {path} --app {the_app}"

    shown = call("pending", *place)
    assert "order-1  waits by a question of another release of its agent" in shown.stdout
    assert "changed: pay: the tool itself has changed" in shown.stdout
    assert f"to have it put anew: {command}" in shown.stdout
    assert "Nobody is asked" not in shown.stderr
    found = document("pending", "order-1", *place)
    assert (found["pending"], found["outdated"][0]["run_id"]) == ([], "order-1")
    refused = call("decide", "order-1", "--confirm", "--unseen", *place, code=4).stderr
    assert f"to have it put anew: {command}" in refused

    call(*shlex.split(command)[4:], code=3)
    (asked,) = document("pending", *place)["pending"]
    assert "the tool itself has changed" in asked["changed"]


def test_nobody_is_sent_to_resume_a_run_that_an_engine_drives(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused there; a host on the engine asks anew, or a worker of the old release does."""
    begin_by("DBOS", SQLiteJournal(path), "driven", said(PAY))
    the_app = app(monkeypatch, tools=[look, pay_with_receipt])

    shown = call("pending", "driven", "--store", path, "--app", the_app).stdout

    assert "changed: pay: the tool itself has changed" in shown
    assert "to have it put anew: a host by the effects of DBOS does it" in " ".join(shown.split())
    assert "runs resume" not in shown


def test_a_run_that_this_release_cannot_follow_hides_no_other(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, and the questions of the others are shown."""

    @tool(name="pay")
    def pay_by_name(name: str) -> str:
        """Pay somebody."""
        return name

    asked = said(ToolCall("pay", {"name": "Bob"}))
    begin(SQLiteJournal(path), "new", asked, tools=[pay_by_name])
    place = ("--store", path, "--app", app(monkeypatch, tools=[look, pay_by_name]))

    shown = call("pending", *place)

    assert "new  pay" in shown.stdout
    assert "order-1 is left out: " in shown.stderr


def test_a_run_that_is_sealed_with_another_key_hides_no_other(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, as a host does, and the questions of the others are shown."""
    store = SQLiteJournal(path)
    store.delete("order-1")
    begin(EncryptedJournal(store, lambda data: data[1:] + data[:1], bytes), "other", said(PAY))
    sealed = EncryptedJournal(store, lambda data: data[::-1], lambda data: data[::-1])
    begin(sealed, "own", said(PAY))
    monkeypatch.setitem(sys.modules, "sealing", module := types.ModuleType("sealing"))
    vars(module)["agent"] = clerk(sealed)

    shown = call("pending", "--store", "app:sealing", "--app", "sealing")
    assert "own  pay" in shown.stdout
    assert "other is left out: the journal of run 'other' cannot be unsealed" in shown.stderr


def test_no_document_has_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes secrets out of results is not shown itself."""
    monkeypatch.setenv("DETENT_STORE", str(tmp_path / "runs.db"))
    begin(
        SQLiteJournal(tmp_path / "runs.db"), "paid", said(PAY), "Done.", confirmation_strategies={}
    )
    text = json.dumps(document("show", "paid"))
    assert "paid 5" in text
    assert "hush-hush" not in text


@pytest.mark.parametrize(
    "words",
    [("show", "--view", "entries", "--json"), ("show", "--view", "entries"), ("export",)],
    ids=["as JSON", "as a table", "export"],
)
def test_no_entry_quotes_what_a_call_says_is_secret(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the result of another tool, nor what was said before the call and after it."""
    monkeypatch.setenv("DETENT_STORE", str(tmp_path / "runs.db"))
    monkeypatch.setenv("COLUMNS", "4000")

    @tool
    def look_up(name: str) -> str:
        """Look up what is kept of somebody."""
        return f"{name} has hush-hush-77"

    @tool
    def stamp(pin: Annotated[str, SecretParameter]) -> str:
        """Stamp."""
        return "stamped"

    begin(
        SQLiteJournal(tmp_path / "runs.db"),
        "told",
        said(ToolCall("look_up", {"name": "Ann"})),
        said(ToolCall("stamp", {"pin": "hush-hush-77"})),
        "I stamped with hush-hush-77.",
        tools=[look_up, stamp],
        confirmation_strategies={},
    )
    text = call(words[0], "told", *words[1:]).stdout
    assert "hush-hush-77" not in text
    assert "Ann has <pin>" in text
    assert "I stamped with <pin>." in text


def test_a_secret_that_a_human_has_typed_is_in_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is masked as that of the model was."""
    monkeypatch.setenv("DETENT_STATE_DIR", str(tmp_path))

    @tool
    def stamp(pin: Annotated[str, SecretParameter]) -> str:
        """Stamp."""
        return f"stamped with {pin}"

    journal = SQLiteJournal(tmp_path / "runs.db")
    monkeypatch.setenv("DETENT_STORE", str(tmp_path / "runs.db"))
    options: dict[str, Any] = {
        "tools": [stamp],
        "confirmation_strategies": {"stamp": AlwaysAskPolicy()},
    }
    call_of_model = ToolCall("stamp", {"pin": "first-secret"})
    begin(journal, "typed", said(call_of_model), **options)
    agent = clerk(journal, "Done.", **options)
    (question,) = agent.pending("typed")
    agent.decide("typed", question.modify({"pin": "second-secret"}, by="Ada"))
    agent.resume("typed")
    text = call("show", "typed").stdout + json.dumps(document("show", "typed"))
    assert "stamped with" in text
    assert "secret" not in text.replace('"secret": ', "")
