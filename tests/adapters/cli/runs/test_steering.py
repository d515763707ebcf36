"""`decide`, `resume`, `cancel`, `fork`, `replay` and `diff`: what people want of runs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatGeneratorError,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.cli.endings import REFUSED
from detent.journals import Runs
from detent.models import ModelFailure
from tests.adapters.cli.runs.clerks import (
    OWN,
    PAY,
    app,
    begin,
    call,
    clerk,
    document,
    look,
    pay,
    said,
)


@pytest.mark.parametrize("typed", ["5", "amount", "[]", "amount=3"])
def test_what_modify_expects_is_shown_by_the_call_itself(
    path: str, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    """A number alone and a bare word are what somebody types first. No secret is an example."""
    words = ["decide", "order-1", "--app", app(monkeypatch), "--modify", typed]
    output = " ".join(call(*words, code=2).output.split())
    assert "expects an object of JSON with the arguments that change" in output
    assert """such as '{"amount": 5}'""" in output
    assert "hush" not in output


def test_decide_and_resume(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Confirmed by the user's name, and gone on with, in other processes than that which asked."""
    the_app = app(monkeypatch, said(text="Paid."))
    monkeypatch.setenv("LOGNAME", "ada")

    waits = call("resume", "order-1", "--app", the_app, code=3).output
    assert f"it waits for a human: pay; see {OWN} runs pending order-1" in waits
    refused = call("decide", "order-1", "--confirm", "--app", the_app, code=REFUSED).output
    (asked,) = document("pending", "order-1", "--app", the_app)["pending"]
    assert f"if it is about this, say so: --digest {asked['digest'][:12]}" in refused
    seen = ("--digest", asked["digest"][:12])
    short = ("--digest", asked["digest"][:7])
    told = call("decide", "order-1", "--confirm", *short, "--app", the_app, code=REFUSED).output
    assert f"--digest {asked['digest'][:7]} is too short: 8 characters say" in told
    decided = call("decide", "order-1", "--confirm", *seen, "--app", the_app).output
    assert "digest" not in decided
    assert f"or by {OWN} runs resume order-1 --app {the_app}; 0 calls still wait" in decided
    assert document("show", "order-1")["turns"][0]["calls"][1]["said"] == ["confirmed by ada"]
    ended = document("resume", "order-1", "--app", the_app)

    assert (ended["exit_reason"], ended["text"]) == ("text", "Paid.")
    assert document("show", "order-1")["status"] == "done"
    assert call("resume", "order-1", "--app", the_app).stdout.startswith("Paid.\n")


@pytest.mark.parametrize(
    ("kind", "answer"),
    [(int, {"value": 3}), (dict[str, int], {"a": 1})],
    ids=["int", "object"],
)
def test_an_answer_of_a_type_is_given_again(
    path: str, kind: Any, answer: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As JSON: a model that gives it by a call has said no text."""
    begin(SQLiteJournal(path), "sum-1", ToolCall("final_answer", answer, "c1"), output_type=kind)
    the_app = app(monkeypatch, output_type=kind)

    told = call("resume", "sum-1", "--app", the_app).stdout
    text, _, rest = told.partition("\nrun sum-1: ")
    assert (json.loads(text), rest) == (answer, "output\n")
    assert document("resume", "sum-1", "--app", the_app)["output"] == answer


def test_ctrl_c_says_that_nothing_is_lost_and_how_to_go_on(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `detent run` does."""

    def stop(*asked: object) -> str:
        raise KeyboardInterrupt

    the_app = app(monkeypatch, stop)
    call("decide", "order-1", "--confirm", "--unseen", "--app", the_app)
    told = call("resume", "order-1", "--app", the_app, code=130).stderr

    way = f"{OWN} runs resume order-1 --app {the_app}"
    assert told.endswith(f"Stopped. Nothing is lost; to go on:\n  {way}\n")


def test_a_model_that_gives_no_answer_is_asked_again_by_the_command_that_is_named(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `detent run` names it."""
    failed = ChatGeneratorError(ModelFailure("server", "500: no"))
    the_app = app(monkeypatch, failed)
    call("decide", "order-1", "--confirm", "--unseen", "--app", the_app)
    told = call("resume", "order-1", "--app", the_app, code=1).stderr
    assert "500: no" in told
    assert f"to ask the model again:\n  {OWN} runs resume order-1 --app {the_app}\n" in told

    words = shlex.split(told.splitlines()[-1])
    app(monkeypatch, said(text="Paid."))
    assert "Paid." in call(*words[4:]).stdout


def test_a_yes_is_to_the_question_that_was_seen(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was shown has lapsed, and the model has asked for another call by the same id."""
    the_app = app(monkeypatch, said(ToolCall("pay", {"amount": 9000}, "call_1_1")))
    (seen,) = document("pending", "order-1", "--app", the_app)["pending"]
    digest = seen["digest"][:12]
    assert f"--digest {digest} --confirm" in call("pending", "order-1", "--app", the_app).stderr
    call("decide", "order-1", "--reject", "--app", the_app)
    call("resume", "order-1", "--app", the_app, code=3)

    for wrong in (["--digest", digest], ["--digest", digest[:4]], []):
        call("decide", "order-1", "--confirm", *wrong, "--app", the_app, code=REFUSED)

    (asked,) = document("pending", "order-1", "--app", the_app)["pending"]
    assert asked["arguments"]["amount"] == 9000


def test_a_change_names_what_changes_and_the_whole_is_shown(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other arguments stay; nothing secret is printed, old or new."""
    tail = ("--by", "Ada", "--app", app(monkeypatch))
    told = call("decide", "order-1", "pay", "--modify", '{"amount": 1}', "--unseen", *tail).stderr

    assert 'changed so, pay would run with {"amount": 1, "pin": "********"}' in told
    decided = document("show", "order-1")["turns"][0]["calls"][1]
    assert decided["arguments"] == {"amount": 1, "pin": "********"}


def test_a_module_that_is_misspelt_is_told_with_the_one_of_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without any says so."""
    monkeypatch.chdir(tmp_path)
    none = call("resume", "o", "--app", "bokks:agent", code=2).stderr
    assert "which has no Python file" in " ".join(none.split())
    (tmp_path / "books.py").write_text("", encoding="utf-8")

    told = call("resume", "o", "--app", "bokks:agent", code=2).stderr
    assert "there is no module 'bokks'; did you mean books:agent?" in told
    far = " ".join(call("resume", "o", "--app", "zzz:agent", code=2).stderr.split())
    assert "which has books, nor is one installed" in far


def test_a_no_and_a_yes_are_neither(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever comes last."""
    the_app = app(monkeypatch)
    for ways in (["--reject", "--confirm"], ["--confirm", "--reject"]):
        refused = call("decide", "order-1", *ways, "--app", the_app, code=2)
        assert "decide by one of --confirm, --reject" in refused.output


def test_the_name_of_a_tool_is_no_id_that_a_model_has_made(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who decides about `look` does not mean the payment that the model has called so."""
    begin(SQLiteJournal(path), "trap", said(ToolCall("pay", {"amount": 5}, "look")))

    call("decide", "trap", "look", "--confirm", "--unseen", "--app", app(monkeypatch), code=REFUSED)


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
    call("decide", "order-1", "pay", *words, "--unseen", "--by", "Ada", "--app", app(monkeypatch))

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
    call("decide", "talk-1", "--confirm", "--unseen", *tail, code=4)
    call("decide", "order-1", "look", "--confirm", "--unseen", *tail, code=4)
    for wrong in (["--modify", "x"], ["--modify", "[]"], [], ["--confirm", "--respond", "x"]):
        call("decide", "order-1", *wrong, *tail, code=2)
    assert document("list", "--status", "waiting")["runs"][0]["run_id"] == "order-1"


def test_two_calls_that_wait_are_told_apart(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the id of the call."""
    begin(SQLiteJournal(path), "two", said(PAY, PAY))
    tail = ["--app", app(monkeypatch)]

    assert "call_1_1" in call("decide", "two", "--confirm", "--unseen", *tail, code=2).stderr
    left = document("decide", "two", "call_1_1", "--confirm", "--unseen", *tail)["pending"]
    assert [one["call_id"] for one in left] == ["call_1_0"]
    document("decide", "two", "--confirm", "--unseen", *tail)
    again = call("decide", "two", "--confirm", "--unseen", "--by", "Bob", *tail, code=4).stderr
    assert "no call waits for a human: pay was confirmed by " in again
    assert (
        "no call c9 waits"
        in call("decide", "two", "c9", "--confirm", "--unseen", *tail, code=4).stderr
    )


def test_what_needs_code_says_so(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a module without an agent, or without this one, is told from one with it."""
    for words in (
        ["resume", "o"],
        ["fork", "o"],
        ["replay", "o"],
        ["decide", "o", "--confirm", "--unseen"],
    ):
        assert "--app module:name" in call(*words, code=2).stderr
    for wrong in ("no_such_module_here", "json:nothing", "json", "json:dumps", "os:sep"):
        assert f"Error: {wrong}" in call("resume", "o", "--app", wrong, code=2).stderr
    monkeypatch.setitem(sys.modules, "two_apps", two := types.ModuleType("two_apps"))
    vars(two)["agents"] = {name: clerk(None, name=name) for name in ("a", "b")}
    assert "'a', 'b'" in call("replay", "o", "--app", "two_apps", code=2).stderr
    vars(two)["agents"] = [clerk(None, name=name) for name in ("a", "clerk")]
    call("replay", "o", "--app", "two_apps")


def test_the_current_folder_is_looked_in_for_the_app(path: str, tmp_path: Path) -> None:
    """As `python -m` does; an error inside of it is shown as it is."""
    (tmp_path / "broken_app.py").write_text("import surely_not_there\n", encoding="utf-8")

    assert "surely_not_there" in call("resume", "o", "--app", "broken_app", code=1).stderr
    sys.path.remove(str(tmp_path))


def test_a_run_that_waits_or_fails_says_so_by_its_code(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 and 1; one that another process drives is busy: 6."""
    call("resume", "order-1", "--app", app(monkeypatch), code=3)
    broken = ChatGeneratorError(ModelFailure("server", "out of order"))
    begin(store := SQLiteJournal(path), "stop", said(PAY))
    call("decide", "stop", "--reject", "--app", app(monkeypatch))
    call("resume", "stop", "--app", app(monkeypatch, broken, model_retries=0), code=1)

    handle = clerk(store, said(text="Hi.")).begin("Hi", run_id="mine")
    (tmp_path / "an_app.py").write_text(
        "from detent import Agent, ScriptedChatGenerator\n"
        "agent = Agent(chat_generator=ScriptedChatGenerator('Hi.'))\n",
        encoding="utf-8",
    )
    words = ["runs", "resume", "mine", "--app", "an_app"]
    done = subprocess.run(
        [sys.executable, "-m", "detent", *words], check=False, capture_output=True, text=True
    )
    assert done.returncode == 6
    assert "with --wait SECONDS" in done.stderr
    assert "wait=seconds" not in done.stderr
    handle.result(raises=False)


def test_cancel_needs_no_code(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent itself finds the run cancelled then; one that has ended is not cancelled."""
    document("cancel", "order-1", "--reason", "not needed")

    run = Runs(SQLiteJournal(path), clerk(None).spec).at("order-1")
    assert run.outcome is not None
    assert run.outcome.exit_reason == "cancelled"
    (listed,) = [one for one in SQLiteJournal(path).runs() if one.run_id == "order-1"]
    assert (listed.status, listed.pending, listed.agent) == ("cancelled", (), "clerk")
    call("cancel", "order-1", code=4)
    call("replay", "order-1", "--app", app(monkeypatch))


def test_a_program_ends_no_run_by_the_beginning_of_its_id(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that it means may be gone. The word last means another one all the time."""
    for words in (["cancel", "order-"], ["revoke", "order-", "--app", app(monkeypatch)]):
        error = call(*words, code=5).stderr
        assert "there is no run 'order-' in SQLiteJournal(" in error
        assert "did you mean 'order-1'? The beginning of an id is enough at a terminal" in error
    assert document("show", "order-")["status"] == "waiting"
    newest = SQLiteJournal(path).runs()[0].run_id
    assert f"run {newest} has ended" in call("cancel", "last", code=REFUSED).stderr


def test_who_sits_at_a_terminal_ends_a_run_by_the_beginning_of_its_id(path: str) -> None:
    """They see which one it was."""
    pty = pytest.importorskip("pty", reason="a terminal of its own is had on POSIX alone")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "detent", "runs", "cancel", "order-"]
    done = subprocess.run(command, check=False, stdin=theirs, capture_output=True, text=True)
    os.close(ours)
    os.close(theirs)
    assert done.stderr == "run order-1 is cancelled\n"


def test_who_drives_a_run_hears_that_it_is_cancelled(path: str) -> None:
    """With the next thing that happens, here the end of the tool that is at work."""

    @tool
    def work() -> str:
        """Work, while somebody cancels."""
        call("cancel", "busy")
        return "done"

    options: Any = {"tools": [work], "confirmation_strategies": {}}
    agent = clerk(SQLiteJournal(path), said(ToolCall("work")), said(text="No."), **options)

    assert agent.run("Go", run_id="busy").exit_reason == "cancelled"
    assert document("show", "busy")["status"] == "cancelled"


def test_fork_replay_and_diff(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork from a place with another message; what it does otherwise; both can be replayed."""
    the_app = app(monkeypatch, said(text="Bye."))
    made = document("fork", "talk-1", "--message", "And now?", "--app", the_app)["run_id"]
    assert document("show", made)["status"] == "running"
    beyond = call("fork", "talk-1", "--at", "999", "--app", the_app, code=2).stderr
    assert "entries, and not 999" in beyond
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
    store = SQLiteJournal(path)
    for name in ("Bob", "Ann"):
        begin(store, name, said(ToolCall("look", {"q": name})), said(text="Well."))
    assert document("diff", "Bob", "Ann")["in_a"][1] == "result: found Bob"
    assert "did the same" in call("diff", "talk-1", "talk-1").stderr

    assert document("replay", "talk-1", "--app", the_app)["equal"]
    changed = app(monkeypatch, confirmation_strategies={})
    assert not document("replay", "order-1", "--app", changed, code=1)["equal"]


def test_a_fork_to_an_id_that_is_taken_is_a_wrong_use(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words of the command line; with --run as well. Nothing is written."""
    words = ("fork", "talk-1", "--new-id", "order-1", "--app", app(monkeypatch, "Hi."))
    before = document("show", "order-1")
    for more in ([], ["--run"]):
        told = call(*words, *more, code=2).stderr
        assert "there is a run 'order-1' already" in told
        assert "name another --new-id" in told
        assert "runs resume order-1" in told
        assert "agent.resume" not in told
    assert document("show", "order-1") == before


def test_where_a_run_is_forked_is_told_by_its_entries(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view of them has the count that --at takes; what is said there must be between turns."""
    *_, row = call("show", "talk-1", "--view", "entries").stdout.splitlines()
    assert row.split()[:2] == ["1", "2"]
    the_app = app(monkeypatch)
    made = call("fork", "talk-1", "--at", "2", "--app", the_app).stdout.strip()
    assert document("show", made)["fork_of"] == {"run_id": "talk-1", "entries": 2}

    words = ("fork", "order-1", "--message", "No.", "--app", the_app)
    assert "fork it after 1 of its entries" in call(*words, code=2).stderr
    call(*words, "--at", "1")


def test_all_answers_but_a_no_are_to_the_question_that_was_seen(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the help says so."""
    tail = ("--app", app(monkeypatch))
    for way in (["--confirm"], ["--respond", "paid"], ["--modify", '{"amount": 1}']):
        assert "--digest" in call("decide", "order-1", *way, *tail, code=REFUSED).stderr
    assert "All but --reject is about the question" in call("decide", "--help").stdout
    call("decide", "order-1", "--reject", *tail)


def test_more_is_said_without_code(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model reads it when it is next asked; what has ended is told nothing."""
    monkeypatch.setenv("LOGNAME", "ada")
    assert "run order-1 is told" in call("send", "order-1", "in euros").output
    length = document("show", "order-1")["entries"]
    assert document("send", "order-1", "today", "--by", "bob") == {
        "run_id": "order-1",
        "entries": length + 1,
    }
    (turn,) = document("show", "order-1")["turns"]
    assert turn["notes"] == ["said: in euros", "said: today"]

    the_app = app(monkeypatch, said(text="Paid."))
    call("decide", "order-1", "--confirm", "--unseen", "--app", the_app)
    assert document("resume", "order-1", "--app", the_app)["text"] == "Paid."
    rows = [row.strip() for row in call("show", "order-1").stdout.splitlines()]
    (last,) = (place for place, row in enumerate(rows) if row.startswith("turn 2"))
    assert rows[last - 3 : last] == ["said: in euros", "said: today", "it has gone on"]
    store = SQLiteJournal(path)
    messages = Runs(store, clerk(store).spec).at("order-1").messages
    assert [one.text for one in messages][-3:] == ["in euros", "today", "Paid."]
    assert "has ended already" in call("send", "order-1", "x", code=REFUSED).stderr


def test_a_call_that_does_not_wait_is_told_with_those_that_do(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By tool, and by id in brackets; where nothing waits, nothing is listed."""
    tail = ("--app", app(monkeypatch))
    told = call("decide", "order-1", "refund", "--reject", *tail, code=REFUSED).output
    assert "no call refund waits for a human; there wait pay (call_1_1)" in told
    call("decide", "order-1", "pay", "--reject", *tail)
    told = call("decide", "order-1", "refund", "--reject", *tail, code=REFUSED).output
    assert "there wait" not in told


def test_a_function_that_makes_agents_is_named_where_no_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as its name says that it does; else it is said how one is named."""
    monkeypatch.chdir(tmp_path)
    text = "from detent import Agent\nclass Gardener: pass\ndef make_agent(): raise OSError\n"
    (tmp_path / "garden.py").write_text(text, encoding="utf-8")
    (tmp_path / "empty_bed.py").write_text("def dig_agent(bed): ...\n", encoding="utf-8")

    told = call("replay", "order-1", "--app", "garden", code=2).stderr
    assert "did you mean garden:make_agent?" in " ".join(told.replace("│", " ").split())
    told = call("replay", "order-1", "--app", "empty_bed", code=2).stderr
    assert "name what is its agent, or makes one: empty_bed:NAME" in " ".join(told.split())


def test_an_agent_that_is_not_there_is_told_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the name is like."""
    names = ("ada", "bo")
    lines = ["from detent import Agent, ScriptedChatGenerator"]
    lines += [f"{name} = Agent(chat_generator=ScriptedChatGenerator('x'))" for name in names]
    (tmp_path / "shop.py").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for wrong, meant in (("zebra", "ada"), ("boo", "bo")):
        told = call("replay", "order-1", "--app", f"shop:{wrong}", code=2).stderr
        words = " ".join(told.replace("│", " ").split())
        assert f"did you mean shop:{meant}? Its agents are shop:ada, shop:bo" in words


def test_who_was_faster_has_decided_last(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an agent inside was answered before: its calls belong to the same run."""
    store = SQLiteJournal(path)
    inner = Agent(
        chat_generator=ScriptedChatGenerator(said(PAY), said(text="paid")),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )
    agent = clerk(
        store,
        said(ToolCall("helper", {"task": "t"})),
        said(ToolCall("look", {"q": "x"})),
        tools=[AgentTool(inner, name="helper", description="Helps."), look],
        confirmation_strategies={"look": AlwaysAskPolicy()},
    )
    agent.run("Go.", run_id="nest", raise_at_break_point=False)
    agent.decide("nest", agent.pending("nest")[0].confirm(by="Ada"))
    agent.resume("nest", raise_at_break_point=False)
    agent.decide("nest", agent.pending("nest")[0].confirm(by="Bob"))
    module = types.ModuleType("nesting")
    vars(module)["agent"] = agent
    monkeypatch.setitem(sys.modules, "nesting", module)
    said_again = call("decide", "nest", "--confirm", "--app", "nesting", code=4).stderr
    assert "no call waits for a human: look was confirmed by Bob" in said_again
