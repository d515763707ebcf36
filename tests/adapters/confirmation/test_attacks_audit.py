"""Attacks on what is on record: an entry changed, removed, moved, put back, or never written."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    SecretParameter,
    SQLiteJournal,
    StoredDataError,
    Tool,
    ToolCall,
    before_tool,
    create_tool_from_function,
)
from detent.adapters.journals.audited import head_of, link_of
from detent.adapters.stories.entries import masked_data
from detent.approvals import (
    ApproverKey,
    ApproverKeys,
    AskAbove,
    AuditedJournal,
    Deny,
    Signer,
    WithQuestionOptions,
    audit_log,
    verify_audit,
)
from detent.core.tools.masking import MASK
from detent.journals import (
    Checkpoint,
    DirectoryJournal,
    EncryptedJournal,
    Entry,
    Journal,
    JournalDamagedError,
    RedactedJournal,
    RunNotFoundError,
)
from detent.machine import RunTool

SERVER = Signer.new("server")
KEYS = ApproverKeys({"server": ApproverKey(SERVER.public_key)})


def is_signed(link: str, signature: str) -> bool:
    return KEYS.has_signed("server", link, signature)


def pay(amount: int, to: str = "Ann", pin: Annotated[str, SecretParameter] = "") -> str:
    """Pay."""
    return f"{amount} paid"


def calls(*amounts: int) -> ChatMessage:
    made = [ToolCall("pay", {"amount": one}, f"c{at}") for at, one in enumerate(amounts)]
    return ChatMessage.from_assistant(tool_calls=made)


def agent_of(journal: Journal, *script: Any, **options: Any) -> Agent[Any]:
    given: dict[str, Any] = {"confirmation_strategies": {"pay": AskAbove("amount", 100)}, **options}
    return Agent(
        chat_generator=ScriptedChatGenerator(*(script or ["done"])),
        tools=[create_tool_from_function(pay)],
        journal=journal,
        **given,
    )


def recorded(journal: Journal) -> Agent[Any]:
    """An agent whose run "r" has paid 5, and 500 once Ada had confirmed it."""
    agent = agent_of(journal, calls(5, 500))
    with pytest.raises(HITLBreakpointException):
        agent.run("go", run_id="r")
    agent.decide("r", agent.pending("r")[0].confirm(by="Ada"))
    agent_of(journal).resume("r")
    return agent


def copied(entries: Sequence[Entry]) -> MemoryJournal:
    """A store with other entries in it, as somebody has put them there."""
    store = MemoryJournal()
    for position, entry in enumerate(entries):
        store.append("r", [evolve(entry, position=position)])
    return store


Change = Callable[[list[Entry]], list[Entry]]


def _amount(entries: list[Entry]) -> list[Entry]:
    return [evolve(one, data=json.loads(one.text.replace("500", "600"))) for one in entries]


def _person(entries: list[Entry]) -> list[Entry]:
    return [evolve(one, data=json.loads(one.text.replace("Ada", "Bob"))) for one in entries]


def _time(entries: list[Entry]) -> list[Entry]:
    return [*entries[:3], evolve(entries[3], at=1.0), *entries[4:]]


def _status(entries: list[Entry]) -> list[Entry]:
    return [*entries[:3], evolve(entries[3], status="failed"), *entries[4:]]


def _one_less(entries: list[Entry]) -> list[Entry]:
    return [*entries[:3], *entries[4:]]


def _moved(entries: list[Entry]) -> list[Entry]:
    return [*entries[:3], entries[4], entries[3], *entries[5:]]


def _doubled(entries: list[Entry]) -> list[Entry]:
    return [*entries[:4], entries[3], *entries[4:]]


def _no_links(entries: list[Entry]) -> list[Entry]:
    def bare(entry: Entry) -> Entry:
        data = {name: value for name, value in entry.data.items() if name != "chain"}
        return evolve(entry, data=data)

    return list(map(bare, entries))


@pytest.mark.parametrize(
    "change", [_amount, _person, _time, _status, _one_less, _moved, _doubled, _no_links]
)
def test_whatever_is_changed_removed_or_moved_is_found(change: Change) -> None:
    """The message names the first entry that does not hang together with those before it."""
    journal = AuditedJournal(MemoryJournal())
    recorded(journal)
    entries = list(journal.journal.read("r"))
    assert verify_audit(journal, "r").length == len(entries)

    forged = AuditedJournal(copied(change(entries)))

    with pytest.raises(JournalDamagedError, match=r"entry \d+ is not the one that was written"):
        verify_audit(forged, "r")


def test_the_last_entries_that_are_taken_away_are_found_by_a_head_from_outside() -> None:
    """And so is a whole run in the place of another. What came behind the head is no matter."""
    journal = AuditedJournal(MemoryJournal())
    agent = agent_of(journal, calls(5, 500))
    with pytest.raises(HITLBreakpointException):
        agent.run("go", run_id="r")
    early = verify_audit(journal, "r").head
    agent.decide("r", agent.pending("r")[0].reject(by="Ada"))
    late = verify_audit(journal, "r").head
    entries = list(journal.journal.read("r"))

    rolled_back = AuditedJournal(copied(entries[:-1]))
    other = AuditedJournal(MemoryJournal())
    recorded(other)

    verify_audit(journal, "r", expect_head=early)
    verify_audit(rolled_back, "r", expect_head=early)
    assert verify_audit(rolled_back, "r").head == early
    for forged in (rolled_back, other, AuditedJournal(MemoryJournal())):
        with pytest.raises(JournalDamagedError, match="somebody has put back an earlier state"):
            verify_audit(forged, "r", expect_head=late)
    with pytest.raises(JournalDamagedError, match="has not got any entry"):
        verify_audit(journal, "no such run")


def test_a_new_chain_over_other_entries_is_not_signed() -> None:
    """Whoever writes to the store can make links, and has no key; nor does leaving them out do."""
    journal = AuditedJournal(MemoryJournal(), SERVER.sign_text)
    recorded(journal)
    verify_audit(journal, "r", is_signed=is_signed)
    bare = [evolve(one, data={**one.data}) for one in journal.read("r")]
    unsigned, by_another = AuditedJournal(MemoryJournal()), MemoryJournal()
    for entry in bare:
        unsigned.append("r", [entry])
        AuditedJournal(by_another, Signer.new("server").sign_text).append("r", [entry])

    verify_audit(unsigned, "r")
    for forged in (unsigned, AuditedJournal(by_another)):
        with pytest.raises(JournalDamagedError, match="entry 0 is not signed by whom it should"):
            verify_audit(forged, "r", is_signed=is_signed)


def _sealed(data: bytes) -> bytes:
    return b64encode(data)


STORES = ["memory", "directory", "sqlite", "encrypted", "redacted", "plain"]


def stores(folder: Path) -> dict[str, Journal]:
    return {
        "memory": AuditedJournal(MemoryJournal()),
        "directory": AuditedJournal(DirectoryJournal(folder / "runs")),
        "sqlite": AuditedJournal(SQLiteJournal(folder / "runs.db")),
        "encrypted": AuditedJournal(EncryptedJournal(MemoryJournal(), _sealed, b64decode)),
        "redacted": RedactedJournal(
            AuditedJournal(MemoryJournal()), lambda text: text.replace("Ada", "A.")
        ),
        "plain": MemoryJournal(),
    }


@pytest.mark.parametrize(
    "name", ["memory", "directory", "sqlite", "encrypted", "redacted", "plain"]
)
def test_a_chain_is_the_same_in_every_store_and_process(name: str, tmp_path: Path) -> None:
    """Opened anew it goes on where it was; and the log has the links of the chain."""
    journal = stores(tmp_path)[name]
    agent = agent_of(journal, calls(5, 500))
    with pytest.raises(HITLBreakpointException):
        agent.run("go", run_id="r")
    if name in {"directory", "sqlite"}:
        journal = stores(tmp_path)[name]
    else:
        getattr(journal, "_links", {}).clear()
    agent = agent_of(journal)
    agent.decide("r", agent.pending("r")[0].confirm(by="Ada"))
    agent.resume("r")

    audit = verify_audit(journal, "r")

    log = audit_log(journal, agent.spec, "r")
    decided = next(one for one in log if one.what == "decided")
    assert decided.by == ("A." if name == "redacted" else "Ada")
    assert verify_audit(journal, "r", expect_head=decided.head) == audit


def test_two_heads_do_not_tell_what_stands_between_them() -> None:
    """Who guesses a secret, and knows all the rest of an entry, cannot make the head behind it."""
    journal = AuditedJournal(MemoryJournal())
    call = ToolCall("pay", {"amount": 5, "pin": "4711"}, "c")
    agent = agent_of(journal, ChatMessage.from_assistant(tool_calls=[call]), "done")
    agent.run("go", run_id="r")
    entries = [*journal.read("r")]
    heads = {
        one.position: one.head.partition(":")[2] for one in audit_log(journal, agent.spec, "r")
    }
    pairs = [
        (entries[place], heads[place - 1], head)
        for place, head in heads.items()
        if place - 1 in heads
    ]

    assert pairs
    for entry, before, after in pairs:
        guess = link_of(before, "r", entry, entry.data)
        assert after not in {guess, head_of(entry.position + 1, guess).partition(":")[2]}


def test_the_log_says_what_was_asked_shown_decided_and_what_ran() -> None:
    """After hooks, with defaults, with secrets masked, and with who decided."""
    journal = AuditedJournal(MemoryJournal())

    @before_tool
    def half(effect: RunTool, run: Any) -> RunTool:
        call = effect.call
        if call.arguments["amount"] != 500:
            return effect
        return evolve(effect, call=evolve(call, arguments={"amount": 250}))

    def policy(call: ToolCall, tool: Tool, run: Any) -> Any:
        if call.arguments["amount"] == 666:
            return Deny("not this amount")
        return AskAbove("amount", 100)(call, tool, run)

    options: dict[str, Any] = {"hooks": [half], "confirmation_strategies": {"pay": policy}}
    script = ChatMessage.from_assistant(
        tool_calls=[
            ToolCall("pay", {"amount": 500, "pin": "pin 1234"}, "c0"),
            ToolCall("pay", {"amount": 5}, "c1"),
            ToolCall("pay", {"amount": 666}, "c2"),
        ]
    )
    agent = agent_of(journal, script, **options)
    with pytest.raises(HITLBreakpointException):
        agent.run("go", run_id="r")
    agent.decide("r", agent.pending("r")[0].confirm(by="Ada"))
    with pytest.raises(HITLBreakpointException):
        agent.resume("r")
    agent.decide(
        "r", agent.pending("r")[0].modify({"amount": 200, "to": "Ann", "pin": ""}, "less", by="Bea")
    )
    agent_of(journal, **options).resume("r")

    log = audit_log(journal, agent.spec, "r")

    shown = {"amount": 500, "to": "Ann", "pin": "********"}
    of_first = [one for one in log if one.call_id == "c0"]
    assert [(one.what, one.arguments["amount"]) for one in of_first if one.arguments] == [
        ("asked", 500),
        ("rewritten", 250),
        ("asked", 250),
        ("decided", 200),
        ("ran", 200),
        ("returned", 200),
    ]
    assert of_first[0].arguments == shown
    assert [(one.by, one.text) for one in of_first if one.what == "decided"] == [
        ("Ada", "Confirmed"),
        ("Bea", "Modified: less"),
    ]
    (denied,) = [one for one in log if one.what == "denied"]
    assert (denied.call_id, denied.by, denied.text) == ("c2", "policy", "not this amount")
    assert "pin 1234" not in json.dumps([one.to_dict() for one in log])


def test_the_log_knows_agents_inside_and_what_else_people_do() -> None:
    """Revoked, cancelled, failed; and what an authenticator keeps as a proof."""
    journal, ada = AuditedJournal(MemoryJournal()), Signer.new("Ada")
    inner = agent_of(MemoryJournal(), calls(500), calls(501))
    task = ChatMessage.from_assistant(tool_calls=[ToolCall("clerk", {"task": "pay"}, "t")])

    def broken() -> str:
        raise ValueError("no connection")

    agent = Agent(
        chat_generator=ScriptedChatGenerator(
            ChatMessage.from_assistant(tool_calls=[ToolCall("broken", {}, "b")]), task
        ),
        tools=[
            AgentTool(inner, name="clerk", description="Pays."),
            create_tool_from_function(broken, description=""),
        ],
        journal=journal,
        approvers=ApproverKeys({"Ada": ApproverKey(ada.public_key)}),
    )
    with pytest.raises(HITLBreakpointException):
        agent.run("go", run_id="r")
    (call,) = agent.pending("r")
    agent.decide("r", ada.sign(call.confirm(remember="arguments"), expires_at=4e9))
    (grant,) = agent.grants("r")
    agent.revoke("r", grant, by="Bea")

    log = audit_log(journal, agent.spec, "r")

    inside = [one for one in log if one.agents]
    assert [(one.what, one.tool_name) for one in inside] == [("asked", "pay"), ("decided", "pay")]
    assert json.loads(inside[1].proof).keys() == {"text", "signature"}
    assert [one.text for one in log if one.what == "failed"] == ["no connection"] or any(
        "no connection" in one.text for one in log if one.what == "failed"
    )
    assert [one.by for one in log if one.what == "revoked"] == ["Bea"]


def test_the_log_says_what_agents_inside_have_come_to() -> None:
    """Each behind what it did, also where one ends with the other, and where one fails."""

    def helper(name: str, inner: Tool, *, limit: int = 9) -> AgentTool:
        script = ScriptedChatGenerator(ToolCall(inner.name, {"task": "go"}, "c"), "Done.")
        agent = Agent(chat_generator=script, tools=[inner], max_agent_steps=limit)
        return AgentTool(agent, name=name, description="Helps.")

    def look(task: str) -> str:
        return "seen"

    looking = create_tool_from_function(look, description="Look.")
    outer = helper("outer", helper("inner", looking))
    weak = helper("weak", looking, limit=1)
    journal = MemoryJournal()
    both = [ToolCall(name, {"task": "go"}, name) for name in ("outer", "weak")]
    script = ScriptedChatGenerator(*both, "Done.")
    agent = Agent(chat_generator=script, tools=[outer, weak], journal=journal)

    agent.run("go", run_id="r")

    log = [(one.what, one.agents, one.tool_name) for one in audit_log(journal, agent.spec, "r")]
    assert log[:6] == [
        ("ran", (), "outer"),
        ("ran", ("outer",), "inner"),
        ("ran", ("outer", "inner"), "look"),
        ("returned", ("outer", "inner"), "look"),
        ("returned", ("outer",), "inner"),
        ("returned", (), "outer"),
    ]
    assert log[6] == ("ran", (), "weak")
    assert log[-1] == ("failed", (), "weak")


def test_a_question_that_nobody_answered_in_time_is_on_record() -> None:
    """By whom: nobody, the time."""
    journal = MemoryJournal()
    policy = WithQuestionOptions(AskAbove("amount", 100), expires_s=0.0)
    agent = agent_of(journal, calls(500), "done", confirmation_strategies={"pay": policy})

    with pytest.raises(HITLBreakpointException):
        agent.run("go", run_id="r")
    agent.resume("r")

    assert [(one.what, one.by) for one in audit_log(journal, agent.spec, "r")][-1] == (
        "denied",
        "expiry",
    )


def test_a_checkpoint_that_is_not_what_the_entries_make_is_found() -> None:
    """It stands beside the chain; the log is made of the entries alone."""
    store = MemoryJournal()
    agent = recorded(AuditedJournal(store))
    run = Runs(store, agent.spec)
    data = json.loads(Checkpoint(0, next(iter(store.read("r"))).text).text)
    data |= {"after": 0, "shared": {}}
    data.pop("chain")
    length = len(list(store.read("r")))
    forged = MemoryJournal()
    for entry in store.read("r"):
        last = entry.position == length - 1
        forged.append("r", [entry], Checkpoint(length, data) if last else None)

    assert audit_log(AuditedJournal(store), agent.spec, "r")
    with pytest.raises(StoredDataError, match="checkpoint of run 'r' is not what its entries make"):
        audit_log(AuditedJournal(forged), agent.spec, "r")
    with pytest.raises(RunNotFoundError):
        audit_log(run.journal, agent.spec, "no such run")


def test_a_secret_that_somebody_sets_and_signs_is_on_no_record() -> None:
    """What they have signed quotes it. What was signed of others is told, to be looked at."""
    ada = Signer.new("Ada")
    keys = ApproverKeys({"Ada": ApproverKey(ada.public_key)})
    journal = MemoryJournal()
    agent = agent_of(journal, calls(900, 901), "done", approvers=keys)
    agent.run("go", run_id="r", raise_at_break_point=False)
    changed, kept = agent.pending("r")
    said = changed.modify({**changed.arguments, "pin": "hunter-2"}), kept.confirm()
    agent.decide("r", *(ada.sign(one, expires_at=4e9) for one in said))
    agent.resume("r")

    log = audit_log(journal, agent.spec, "r")
    assert "hunter-2" not in json.dumps([one.to_dict() for one in log])
    first, second = (one.proof for one in log if one.what == "decided")
    assert (first, "signature" in second) == (MASK, True)
    stored = [entry.data for entry in journal.read("r")]
    assert "hunter-2" in json.dumps(stored)
    assert "hunter-2" not in json.dumps(masked_data(stored, {"pin"}))
    assert "hunter-2" in json.dumps(masked_data(stored, ()))
