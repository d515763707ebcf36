"""Attacks on whose word counts: what nobody can look at again, one vote as two, another's name.

Each test is called by the promise that it attacks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import inf, nan
from time import time
from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentSnapshot,
    AgentTool,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    ChatMessage,
    ConfirmationUIResult,
    HITLBreakpointException,
    IdempotencyKey,
    MemoryJournal,
    NeverAskPolicy,
    Runs,
    ScriptedChatGenerator,
    State,
    ToolCall,
    tool,
)
from detent.approvals import (
    ApproverKey,
    ApproverKeys,
    Approvers,
    AskOverBudget,
    CallRule,
    DecisionRefusedError,
    PendingCall,
    Principal,
    RuleList,
    Signer,
    ToolExecutionDecision,
    WithApprovers,
)
from detent.core.codec.json_text import TAG
from detent.core.errors import StoredDataError, WiringError
from detent.journals import Entry, RedactedJournal
from detent.machine import Run
from detent.testing import When

LATER = 4e9
SIGNERS = {name: Signer.new(name) for name in ("Ada", "Bob", "Cyd")}
KEYS = ApproverKeys({name: ApproverKey(one.public_key) for name, one in SIGNERS.items()})
SESSIONS = {"session of Ada": Principal("Ada", ["finance"])}
CALL = ToolCall("pay", {"amount": 900})
Written = dict[str, Any]


def by_session(decision: ToolExecutionDecision, question: PendingCall) -> Principal | None:
    """Somebody who is known by what a browser sends."""
    return SESSIONS.get(decision.credential or "")


class Desk:
    """An agent that pays once it may."""

    def __init__(self, approvers: Any, rule: Any, **options: Any) -> None:
        self.paid: list[int] = []
        self.options: dict[str, Any] = {
            "approvers": approvers,
            "confirmation_strategies": {"pay": rule},
            **options,
        }

    def agent(self, *script: Any) -> Agent[Any]:
        """For one process."""

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        return Agent(chat_generator=ScriptedChatGenerator(*script), tools=[pay], **self.options)

    def stopped(self, *script: Any, **begin: Any) -> tuple[PendingCall, AgentSnapshot]:
        """What waits when a run stops, and the run."""
        with pytest.raises(HITLBreakpointException) as raised:
            self.agent(*script).run(**begin)
        return raised.value.pending[0], raised.value.snapshot


def rewritten(snapshot: AgentSnapshot, change: Callable[[Written], None]) -> AgentSnapshot:
    """The snapshot as somebody has changed it, who is given its call."""
    data = json.loads(json.dumps(snapshot.to_dict()))
    change(data["run"]["phase"]["slots"][0])
    return AgentSnapshot.from_dict(data)


@pytest.mark.parametrize("approvers", [KEYS, by_session], ids=["keys", "sessions"])
def test_nobody_has_changed_a_call_because_a_snapshot_says_so(approvers: Any) -> None:
    """Where nobody is named who must be asked, either: the policy is asked, and asks."""
    desk = Desk(approvers, AlwaysAskPolicy())
    _, snapshot = desk.stopped(CALL, messages="go")

    def unjudged(slot: Written) -> None:
        slot["clearance"] = {"binding": slot["status"]["binding"], "is_unjudged": True}
        slot["status"] = {TAG: "AwaitingPolicy"}

    waiting, _ = desk.stopped("done", snapshot=rewritten(snapshot, unjudged))
    assert (waiting.tool_name, desk.paid) == ("pay", [])


def test_a_vote_without_a_proof_is_none_in_a_snapshot() -> None:
    """Whom a function has named is known where it named them, and cannot be looked at again."""
    desk = Desk(by_session, WithApprovers(AlwaysAskPolicy(), Approvers(2, roles=("finance",))))
    call, snapshot = desk.stopped(CALL, messages="go")

    def vote(slot: Written) -> None:
        who = {"name": "Bob", "roles": ["finance"]}
        said = {"decision": {TAG: "Confirmed"}, "by": "Bob", "at": 1.0, "who": who}
        slot["status"]["votes"] = [{"ref": [1, 0], "call": slot["call"], **said}]

    yes = evolve(call.confirm(), credential="session of Ada")
    forged = rewritten(snapshot, vote).with_decisions([yes])
    waiting, _ = desk.stopped("done", snapshot=forged)
    assert (waiting.votes, desk.paid) == (("Ada",), [])


OF_FINANCE = ApproverKeys(
    {
        name: ApproverKey(one.public_key, () if name == "Cyd" else ("finance",))
        for name, one in SIGNERS.items()
    }
)
SAID: dict[str, Callable[[PendingCall], ToolExecutionDecision]] = {
    "no": lambda call: call.reject("never"),
    "another answer": lambda call: call.respond("all paid"),
    "another amount": lambda call: call.modify({"amount": 1}),
    "yes": lambda call: call.confirm(),
}
DECISIONS: dict[str, Written] = {
    "no": {TAG: "Rejected", "feedback": "never"},
    "another answer": {TAG: "Answered", "text": "all paid"},
    "another amount": {TAG: "Modified", "arguments": {"amount": 1}},
    "yes": {TAG: "Confirmed"},
}


@pytest.mark.parametrize(
    ("name", "said", "lasts_s"),
    [
        *(("Ada", said, 300) for said in ("no", "another answer", "another amount")),
        *(("Cyd", "yes", 300), ("Ada", "yes", -300)),
    ],
)
def test_a_vote_in_a_snapshot_is_a_yes_in_time_and_theirs_to_give(
    name: str, said: str, lasts_s: float
) -> None:
    """What was signed is no other word, and no role, and no longer time, by being written there."""
    rule = WithApprovers(AlwaysAskPolicy(), Approvers(2, roles=("finance",), apart=True))
    desk = Desk(OF_FINANCE, rule)
    call, snapshot = desk.stopped(CALL, messages="go", started_by="Cyd")
    proof = SIGNERS[name].sign(SAID[said](call), expires_at=time() + lasts_s).credential

    def vote(slot: Written) -> None:
        who = {"name": name, "roles": [*OF_FINANCE.keys[name].roles], "proof": proof}
        told = {"decision": DECISIONS[said], "by": name, "at": time() - 600, "who": who}
        slot["status"]["votes"] = [{"ref": [1, 0], "call": slot["call"], **told}]

    yes = SIGNERS["Bob"].sign(call.confirm(), expires_at=LATER)
    forged = rewritten(snapshot, vote).with_decisions([yes])
    waiting, _ = desk.stopped("done", snapshot=forged)
    assert (waiting.votes, desk.paid) == (("Bob",), [])


@pytest.mark.parametrize("on_unknown", ["ask", "a lookup"])
def test_what_is_denied_today_runs_by_nobody_s_yes_after_a_crash(on_unknown: str) -> None:
    """Also where nobody could look up how it went: today's policy is asked, as for any other."""
    journal, ran = MemoryJournal(), list[int]()

    def fails(arguments: Any, key: Any) -> Any:
        raise ConnectionError("away")

    def agent(rule: Any, *script: Any) -> Agent[Any]:
        @tool(on_unknown=fails if on_unknown == "a lookup" else "ask")
        def pay(amount: int) -> str:
            """Pay."""
            ran.append(amount)
            if len(ran) == 1:
                raise KeyboardInterrupt
            return "paid"

        ui = Refusing(0)
        asks = {"pay": BlockingConfirmationStrategy(rule, ui)}
        model = ScriptedChatGenerator(*script)
        return Agent(
            chat_generator=model, tools=[pay], confirmation_strategies=asks, journal=journal
        )

    with pytest.raises(KeyboardInterrupt):
        agent(AlwaysAskPolicy(), CALL).run("go", run_id="r")
    result = agent(RuleList([], otherwise="deny"), "done").resume("r")
    assert (ran, result.text) == ([900], "done")


@pytest.mark.parametrize("name", ["Ada", "Bob"])
def test_one_signed_vote_is_one(name: str) -> None:
    """However often it stands there, and whoever's it is called."""
    desk = Desk(KEYS, WithApprovers(AlwaysAskPolicy(), Approvers(3)))
    call, snapshot = desk.stopped(CALL, messages="go")
    first = snapshot.with_decisions([SIGNERS["Ada"].sign(call.confirm(), expires_at=LATER)])
    _, snapshot = desk.stopped("done", snapshot=first)

    def doubled(slot: Written) -> None:
        (vote,) = slot["status"]["votes"]
        slot["status"]["votes"] = [vote, {**vote, "by": name}]

    call, snapshot = desk.stopped("done", snapshot=rewritten(snapshot, doubled))
    assert call.votes == ("Ada",)
    last = snapshot.with_decisions([SIGNERS["Cyd"].sign(call.confirm(), expires_at=LATER)])
    waiting, _ = desk.stopped("done", snapshot=last)
    assert (waiting.votes, desk.paid) == (("Ada", "Cyd"), [])


class Renaming(MemoryJournal):
    """A store in which somebody else's name is written over a decision."""

    name: str | None = None

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As it is now."""
        entries = super().read(run_id, start)
        if self.name is None:
            return entries
        written = {"by": self.name}
        return [
            evolve(one, data={**one.data, **written}) if one.kind == "HumanDecided" else one
            for one in entries
        ]


def test_a_signed_decision_is_that_of_who_signed_it() -> None:
    """Under another name it is nobody's."""
    journal = Renaming()
    desk = Desk(KEYS, AlwaysAskPolicy(), journal=journal)
    desk.agent(CALL).run("go", run_id="r", raise_at_break_point=False)
    (call,) = desk.agent().pending("r")
    desk.agent().decide("r", SIGNERS["Ada"].sign(call.confirm(), expires_at=LATER))

    journal.name = "Bob"
    with pytest.raises(StoredDataError, match=r"entry 3 of run 'r' \(HumanDecided\)"):
        desk.agent("done").resume("r")
    journal.name = "Ada"
    (record,) = desk.agent("done").resume("r").run.decisions
    assert (record.by, desk.paid) == ("Ada", [900])


@pytest.mark.parametrize("end", [nan, inf, -inf])
def test_what_is_signed_has_an_end(end: float) -> None:
    """Neither does anybody sign without one by mistake, nor does it count."""
    desk = Desk(KEYS, AlwaysAskPolicy(), journal=MemoryJournal())
    desk.agent(CALL).run("go", run_id="r", raise_at_break_point=False)
    (call,) = desk.agent().pending("r")
    with pytest.raises(ValueError, match="'expires_at' is a time"):
        SIGNERS["Ada"].sign(call.confirm(), expires_at=end)

    signed = SIGNERS["Ada"].sign(call.confirm(), expires_at=LATER)
    proof = json.loads(signed.credential or "")
    text = proof["text"].replace(repr(LATER), json.dumps(end))
    key = SIGNERS["Ada"]._key()
    from base64 import b64encode

    proof = {"text": text, "signature": b64encode(key.sign(text.encode())).decode()}
    with pytest.raises(DecisionRefusedError, match="that is no signature of Ada"):
        desk.agent().decide("r", evolve(signed, credential=json.dumps(proof)))


class Refusing:
    """Says no to all but the last of so many questions."""

    def __init__(self, most: int) -> None:
        self.asked, self.most = 0, most

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """The next no."""
        self.asked += 1
        return ConfirmationUIResult("reject" if self.asked < self.most else "confirm")


def test_nobody_is_worn_down_through_an_agent_inside() -> None:
    """The same call of the same agent is asked about three times, however often that begins."""
    ui, paid = Refusing(30), list[int]()

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def always(reply: Callable[[Any], Any]) -> ScriptedChatGenerator:
        return ScriptedChatGenerator(When(lambda messages: True, reply))

    inner: Agent[Any] = Agent(
        chat_generator=always(lambda m: "no luck" if m[-1].tool_call_results else CALL),
        tools=[pay],
        confirmation_strategies={"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), ui)},
    )
    names = ("clerk", "cashier")
    tools = [AgentTool(inner, name=name, description="Pays.") for name in names]
    tasks = [ToolCall(name, {"task": "pay"}) for name in names for _ in range(10)]
    outer: Agent[Any] = Agent(
        chat_generator=always(lambda m: tasks[len(m) // 2] if len(m) < 38 else "end"), tools=tools
    )
    outer.run("go")
    assert (ui.asked, paid) == (6, [])  # three of each: they are two agents


def doubled(run: Written) -> None:
    run["phase"]["slots"][0]["ref"] = [1, 1]


def swapped(run: Written) -> None:
    run["phase"]["slots"].reverse()


def missing(run: Written) -> None:
    run["phase"]["slots"].pop()


@pytest.mark.parametrize("change", [doubled, swapped, missing])
def test_each_call_of_a_snapshot_stands_at_its_place(change: Callable[[Written], None]) -> None:
    """Else a run would wait for a decision that nobody can find, or end in an error of ours."""
    desk = Desk(KEYS, AlwaysAskPolicy())
    calls = [ToolCall("pay", {"amount": amount}, f"{amount}") for amount in (1, 1000)]
    reply = ChatMessage.from_assistant(tool_calls=calls)
    _, snapshot = desk.stopped(reply, messages="go")
    data = json.loads(json.dumps(snapshot.to_dict()))
    change(data["run"])
    with pytest.raises(StoredDataError, match="are not those of its last reply"):
        desk.agent("done").run(snapshot=AgentSnapshot.from_dict(data))


def test_of_two_strategies_for_one_tool_neither_wins_by_its_place() -> None:
    """A name of its own wins over a tuple; two tuples are a mistake, unless they say the same."""
    always, never = AlwaysAskPolicy(), NeverAskPolicy()
    with pytest.raises(WiringError, match="'pay' stands in two tuples"):
        Desk(None, {}, confirmation_strategies={("pay",): never, ("pay", "*"): always}).agent()
    Desk(None, {}, confirmation_strategies={("pay",): always, ("pay", "*"): always}).agent()
    Desk(None, {}, confirmation_strategies={"pay": never, ("pay", "*"): always}).agent()


PARTS = [
    ({"prefixItems": [{"maximum": 100}]}, ["500"]),
    ({"contains": {"maximum": 100}}, ["500"]),
    ({"patternProperties": {".*": {"maximum": 100}}}, {"a": "500"}),
    ({"$ref": "#/$defs/few", "$defs": {"few": {"maximum": 100}}}, "500"),
    ({"if": {"type": "array"}, "else": {"maximum": 100}}, "500"),
    ({"dependentSchemas": {"a": {"properties": {"a": {"maximum": 100}}}}}, {"a": "500"}),
]


@pytest.mark.parametrize(("pattern", "value"), PARTS)
def test_what_is_allowed_is_of_its_type_wherever_that_stands(pattern: Any, value: Any) -> None:
    """A text is no small number, in no part of what a rule allows."""
    rule = CallRule("allow", arguments={"amount": pattern})

    @tool
    def send(amount: Any) -> str:
        """Send."""
        return "ok"

    call = ToolCall("send", {"amount": value})
    run = Run("r", State({}))
    assert not rule.fits(call, send, run)
    number = json.loads(json.dumps(value).replace('"500"', "50"))
    assert rule.fits(ToolCall("send", {"amount": number}), send, run)


class Till:
    """A provider that does one key once. With `dies`, the power fails behind its first charge."""

    def __init__(self, *, dies: bool = False) -> None:
        self.charges: dict[str, int] = {}
        self.keys: list[str] = []
        self.dies = dies

    def agent(self, journal: MemoryJournal, *script: Any, **options: Any) -> Agent[Any]:
        """For one process."""

        @tool(**options)
        def charge(amount: int, key: IdempotencyKey) -> str:
            """Charge the card."""
            self.charges.setdefault(key, amount)
            self.keys.append(key)
            if self.dies and len(self.keys) == 1:
                raise KeyboardInterrupt
            return f"charged {self.charges[key]}"

        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[charge],
            journal=journal,
            confirmation_strategies={"charge": AlwaysAskPolicy()},
        )

    def confirmed(self, journal: MemoryJournal, amount: int, **options: Any) -> Any:
        """What a run comes to whose charge is confirmed."""
        call = ToolCall("charge", {"amount": amount})
        self.agent(journal, call).run("go", run_id="order-7", raise_at_break_point=False)
        (question,) = self.agent(journal).pending("order-7")
        self.agent(journal).decide("order-7", question.confirm(by="Ada"))
        return self.agent(journal, "Done.", **options).resume("order-7")


def test_what_is_approved_is_not_taken_for_a_run_of_the_same_id_elsewhere() -> None:
    """A test of yesterday has charged under this run's id; each run has keys of its own."""
    till = Till()
    till.confirmed(MemoryJournal(), 5)
    till.confirmed(MemoryJournal(), 900)
    assert [*till.charges.values()] == [5, 900]


def test_what_a_human_has_made_of_a_call_is_not_taken_for_what_it_was() -> None:
    """After a crash they make 90 of the 900: the provider is told of another charge."""
    till, journal = Till(dies=True), MemoryJournal()
    with pytest.raises(KeyboardInterrupt):
        till.confirmed(journal, 900)
    with pytest.raises(HITLBreakpointException) as stopped:
        till.agent(journal).resume("order-7")
    (question,) = stopped.value.pending
    till.agent(journal).decide("order-7", question.modify({"amount": 90}, by="Ada"))
    till.agent(journal, "Done.").resume("order-7")
    assert [*till.charges.values()] == [900, 90]


def test_a_call_that_is_run_again_after_a_crash_has_the_same_key() -> None:
    """So that it is charged once."""
    till, journal = Till(dies=True), MemoryJournal()
    with pytest.raises(KeyboardInterrupt):
        till.confirmed(journal, 900, on_unknown="rerun")
    till.agent(journal, "Done.", on_unknown="rerun").resume("order-7")
    first, second = till.keys
    assert first == second
    assert [*till.charges.values()] == [900]


def test_the_key_of_a_call_is_none_of_the_defaults_of_its_code() -> None:
    """They may be others in the process that goes on: by a clock, or in another release."""
    keys: list[str] = []

    def agent(journal: MemoryJournal, day: str, *script: Any) -> Agent[Any]:
        @tool(on_unknown="rerun")
        def book(amount: int, key: IdempotencyKey, day: str = day) -> str:
            """Book it."""
            keys.append(key)
            if len(keys) == 1:
                raise KeyboardInterrupt
            return "booked"

        return Agent(chat_generator=ScriptedChatGenerator(*script), tools=[book], journal=journal)

    journal = MemoryJournal()
    with pytest.raises(KeyboardInterrupt):
        agent(journal, "monday", ToolCall("book", {"amount": 5})).run("go", run_id="r")
    agent(journal, "tuesday", "Done.").resume("r")
    first, second = keys
    assert first == second


def test_a_call_has_the_same_key_where_a_store_has_redacted_its_arguments() -> None:
    """Whoever looks it up finds what was charged."""
    charged: dict[str, str] = {}

    def look_up(arguments: dict[str, Any], key: str) -> Any:
        return f"charged {key in charged}"

    @tool(on_unknown=look_up)
    def charge(card: str, key: IdempotencyKey) -> str:
        """Charge the card."""
        charged[key] = card
        raise KeyboardInterrupt

    def agent(*script: Any) -> Agent[Any]:
        return Agent(chat_generator=ScriptedChatGenerator(*script), tools=[charge], journal=journal)

    journal = RedactedJournal(MemoryJournal(), lambda text: text.replace("4111-1111", "[card]"))
    with pytest.raises(KeyboardInterrupt):
        agent(ToolCall("charge", {"card": "4111-1111"})).run("go", run_id="r")
    result = agent("Done.").resume("r")
    assert [one.text for said in result.messages for one in said.tool_call_results] == [
        "charged True"
    ]
    assert [*charged.values()] == ["4111-1111"]


@pytest.mark.parametrize("on_unknown", ["ask", "rerun"])
def test_a_fork_does_not_forget_that_a_guarded_call_had_begun(on_unknown: Any) -> None:
    """Its process died in it: a human is asked what that has done, or the budget has it twice."""
    paid: list[int] = []

    def agent(*script: Any) -> Agent[Any]:
        @tool(on_unknown=on_unknown, labels=["bank"])
        def pay(amount: int) -> str:
            """Pay."""
            paid.append(amount)
            if len(paid) == 1:
                raise KeyboardInterrupt
            return "paid"

        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[pay],
            journal=journal,
            confirmation_strategies={"pay": AskOverBudget("amount", 100)},
        )

    journal = MemoryJournal()
    with pytest.raises(KeyboardInterrupt):
        agent(ToolCall("pay", {"amount": 60})).run("go", run_id="r")
    forked = agent("Done.")
    snapshot = Runs(journal, forked.spec).fork("r")
    with pytest.raises(HITLBreakpointException) as stopped:
        forked.run(snapshot=snapshot)
    (question,) = stopped.value.pending
    assert "begun" in question.trouble
    assert stopped.value.result.run.labels == ("bank",)
    assert paid == [60]
