"""Attacks on who decides: names that anybody writes, one person for two, the starter's own yes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve, field, frozen

from detent import (
    Agent,
    AgentDataError,
    AgentTool,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    NeverAskPolicy,
    Runs,
    ScriptedChatGenerator,
    StoredDataError,
    ToolCall,
    create_tool_from_function,
)
from detent.approvals import (
    Answers,
    AnyOf,
    ApproverKey,
    ApproverKeys,
    Approvers,
    AskAbove,
    AskWhen,
    BlockingConfirmationStrategy,
    BreakpointConfirmationStrategy,
    ConfirmationUIResult,
    DecisionRefusedError,
    Deny,
    Not,
    PendingCall,
    Principal,
    Refusal,
    Scope,
    Signer,
    ToolExecutionDecision,
    WithApprovers,
    WithQuestionOptions,
)
from detent.core.codec.json_text import TAG
from detent.journals import Entry

TOKENS = {
    "token of Ada": Principal("Ada", ("finance",)),
    "token of Bob": Principal("Bob", ("finance", "audit")),
    "token of Cyd": Principal("Cyd", ()),
}
LATER = 4e9
ADA, BOB = Signer.new("Ada"), Signer.new("Bob")
KEYS = {one.name: ApproverKey(one.public_key, ("finance",)) for one in (ADA, BOB)}


def by_token(decision: ToolExecutionDecision, question: PendingCall, /) -> Principal | None:
    """The people by what they present. What the decision says of itself counts for nothing."""
    return TOKENS.get(decision.credential or "")


async def by_token_later(
    decision: ToolExecutionDecision, question: PendingCall, /
) -> Principal | None:
    return by_token(decision, question)


def calls(*amounts: int, name: str = "pay", **more: Any) -> ChatMessage:
    made = [ToolCall(name, {"amount": one, **more}, f"c{at}") for at, one in enumerate(amounts)]
    return ChatMessage.from_assistant(tool_calls=made)


@frozen
class Bank:
    """An agent that pays, anew for each process, and what has been paid."""

    approvers: Any = None
    policy: Any = field(factory=AlwaysAskPolicy)
    paid: list[int] = field(factory=list)
    journal: MemoryJournal = field(factory=MemoryJournal)

    def agent(self, *script: Any, **options: Any) -> Agent[Any]:
        """The agent, whose model says what is in the script."""

        def pay(amount: int) -> str:
            self.paid.append(amount)
            return "paid"

        return Agent(
            chat_generator=ScriptedChatGenerator(*(script or ["done"])),
            tools=[create_tool_from_function(pay, description="Pay.")],
            journal=self.journal,
            confirmation_strategies={"pay": self.policy},
            approvers=self.approvers,
            **options,
        )

    def stopped(self, *amounts: int, started_by: str | None = None) -> tuple[PendingCall, ...]:
        """The calls that wait in a new run."""
        with pytest.raises(HITLBreakpointException) as raised:
            self.agent(calls(*(amounts or (5,)))).run("go", run_id="r", started_by=started_by)
        return raised.value.pending

    def refusal(self, decision: ToolExecutionDecision, run_id: str = "r") -> Refusal:
        """Why a decision does not count; the call goes on waiting, and nothing is written."""
        agent, before = self.agent(), list(self.journal.read(run_id))
        waiting = agent.pending(run_id)
        with pytest.raises(DecisionRefusedError) as raised:
            agent.decide(run_id, decision)
        assert agent.pending(run_id) == waiting
        assert list(self.journal.read(run_id)) == before
        return raised.value.refusal

    def decide(self, *decisions: ToolExecutionDecision) -> tuple[PendingCall, ...]:
        """Decide about the run, as another process would."""
        return self.agent().decide("r", *decisions)

    def by(self) -> list[str | None]:
        """Who has decided, as the run says once it is gone on with."""
        return [done.by for done in self.agent().resume("r").run.decisions]


def token(name: str, decision: ToolExecutionDecision) -> ToolExecutionDecision:
    return evolve(decision, credential=f"token of {name}")


def signed(who: Signer, decision: ToolExecutionDecision) -> ToolExecutionDecision:
    return who.sign(decision, expires_at=LATER)


# --- who it is ---


@pytest.mark.parametrize("credential", [None, "", "token of Mallory", "Ada"])
@pytest.mark.parametrize("answer", ["confirm", "reject"])
def test_a_name_that_is_written_is_nobody(credential: str | None, answer: str) -> None:
    """Not even its no counts: whoever can write `by` is not yet Ada."""
    bank = Bank(by_token)
    (call,) = bank.stopped()
    said = getattr(call, answer)(by="Ada")

    refusal = bank.refusal(evolve(said, credential=credential))

    assert refusal.why == "unauthenticated"
    assert "it is not known who decides" in refusal.text


@pytest.mark.parametrize("approvers", [by_token, by_token_later])
def test_who_decides_is_what_the_authenticator_says(approvers: Any) -> None:
    """Bob, whatever name he writes; and the credential is kept nowhere."""
    bank = Bank(approvers)
    (call,) = bank.stopped()

    assert bank.decide(token("Bob", call.confirm(by="Ada"))) == ()

    assert bank.by() == ["Bob"]
    assert bank.paid == [5]
    assert "token of" not in "".join(entry.text for entry in bank.journal.read("r"))


def test_an_authenticator_says_itself_why_it_does_not_know_somebody() -> None:
    """The reason is its own; what is no answer is a mistake in the program."""
    bank = Bank(lambda decision, question: Refusal("unauthenticated", "the token has run out"))
    (call,) = bank.stopped()

    assert bank.refusal(call.confirm()).text == "the token has run out"
    with pytest.raises(TypeError, match=r"approvers answer with a Principal, .* got bool"):
        evolve(bank, approvers=lambda decision, question: True).decide(call.confirm())


def test_a_name_that_is_written_is_nobody_at_a_ui_either() -> None:
    """The console of an agent with approvers is asked again, and then the call waits."""
    asked: list[str] = []

    @frozen
    class Window:
        credential: str | None

        def get_user_decision(self, pending: PendingCall) -> ConfirmationUIResult:
            asked.append(pending.reason)
            return ConfirmationUIResult("confirm", by="Ada", credential=self.credential)

        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> Any:
            """Never called."""

    def run(credential: str | None) -> Any:
        strategy = BlockingConfirmationStrategy(AlwaysAskPolicy(), Window(credential))
        bank = Bank(by_token, strategy)
        bank.agent(calls(5), "done").run("go", run_id="r")
        return bank

    nobody, bob = run(None), run("token of Bob")

    assert (nobody.paid, bob.paid, bob.by()) == ([], [5], ["Bob"])
    assert "it is not known who decides" in asked[1]


@pytest.mark.parametrize("action", ["confirm", "modify", "reject", "respond"])
def test_a_strategy_and_a_ui_say_the_same_to_the_authenticator(action: Any) -> None:
    """Whatever is answered, it sees what was decided, about what was shown."""
    seen: list[ToolExecutionDecision] = []

    def look(decision: ToolExecutionDecision, question: PendingCall, /) -> Principal:
        assert decision.digest == question.digest
        seen.append(evolve(decision, digest=None))  # of two runs
        return Principal("Ada")

    said = {
        "confirm": ConfirmationUIResult("confirm"),
        "modify": ConfirmationUIResult("modify", "less", {"amount": 1}),
        "reject": ConfirmationUIResult("reject", "no"),
        "respond": ConfirmationUIResult("respond", "by hand"),
    }[action]

    @frozen
    class Window:
        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> Any:
            return said

    @frozen
    class Strategy:
        def run(self, **about: Any) -> Any:
            name, amount = about["tool_name"], {"amount": 1}
            return {
                "confirm": ToolExecutionDecision(name, execute=True),
                "modify": ToolExecutionDecision(
                    name, execute=True, feedback="less", final_tool_params=amount
                ),
                "reject": ToolExecutionDecision(name, execute=False, feedback="no"),
                "respond": ToolExecutionDecision(name, execute=False, answer="by hand"),
            }[action]

    for policy in (BlockingConfirmationStrategy(AlwaysAskPolicy(), Window()), Strategy()):
        Bank(look, policy).agent(calls(5), "done").run("go", run_id="r")

    assert seen[0] == seen[1]


def test_a_decision_in_a_snapshot_is_that_of_somebody_known() -> None:
    """Whoever hands in the snapshot writes its decisions."""
    bank = Bank(by_token)
    agent = bank.agent(calls(5), "done")
    with pytest.raises(HITLBreakpointException) as raised:
        agent.run("go")
    (call,), snapshot = raised.value.pending, raised.value.snapshot
    other = Bank(by_token)  # whose journal has not got the run

    with pytest.raises(DecisionRefusedError, match="not known who decides"):
        other.agent("done").run(snapshot=snapshot.with_decisions([call.confirm(by="Ada")]))
    other.agent("done").run(snapshot=snapshot.with_decisions([token("Ada", call.confirm())]))

    assert other.paid == [5]


def test_the_calls_of_agents_inside_need_somebody_known_as_well() -> None:
    """Also where the inner agent itself asks nobody who they are."""
    paid = Bank()
    inner = Agent(
        chat_generator=ScriptedChatGenerator(calls(5), "paid"),
        tools=[paid.agent().spec.tools["pay"]],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )
    clerk = AgentTool(inner, name="clerk", description="Pays.")
    task = ChatMessage.from_assistant(tool_calls=[ToolCall("clerk", {"task": "pay"}, "t")])
    outer = Agent(
        chat_generator=ScriptedChatGenerator(task, "done"),
        tools=[clerk],
        journal=MemoryJournal(),
        approvers=by_token,
    )
    with pytest.raises(HITLBreakpointException) as raised:
        outer.run("go", run_id="r")
    (call,) = raised.value.pending

    with pytest.raises(DecisionRefusedError, match="not known who decides"):
        outer.decide("r", call.confirm(by="Ada"))
    trusting = Agent(chat_generator=outer.chat_generator, tools=[clerk], journal=MemoryJournal())
    for entry in outer.assembly.required_journal.read("r"):
        trusting.assembly.required_journal.append("r", [entry])
    trusting.decide("r", call.confirm(by="Ada"))  # in a store that anybody can write to
    assert trusting.pending("r") == ()
    with pytest.raises(StoredDataError):
        Runs(trusting.assembly.required_journal, outer.spec).replay("r")
    outer.decide("r", token("Ada", call.confirm()))
    outer.resume("r")

    assert paid.paid == [5]


# --- which people ---


def test_two_people_must_say_yes_and_one_is_never_two() -> None:
    """The first yes is shown; neither it again nor another name for it is the second."""
    bank = Bank(by_token, WithApprovers(AlwaysAskPolicy(), Approvers(2)))
    (call,) = bank.stopped()
    assert call.reason == "2 people must say yes; so far: nobody."

    (left,) = bank.decide(token("Ada", call.confirm()))

    assert left.votes == ("Ada",)
    assert left.reason == "2 people must say yes; so far: Ada."
    again = bank.refusal(token("Ada", call.confirm(by="Bob")))
    assert (again.why, again.text.rpartition(": ")[2]) == ("repeated", "somebody else must, too")
    with pytest.raises(HITLBreakpointException):
        bank.agent().resume("r")
    assert bank.paid == []

    assert bank.decide(token("Cyd", left.confirm())) == ()
    assert bank.by() == ["Ada", "Cyd"]
    assert bank.paid == [5]


def test_one_no_is_enough() -> None:
    """Also by somebody who has said yes before, and the yes is no decision that has counted."""
    bank = Bank(by_token, WithApprovers(AlwaysAskPolicy(), Approvers(2)))
    (call,) = bank.stopped()
    bank.decide(token("Ada", call.confirm()))

    assert bank.decide(token("Ada", call.reject("I was wrong"))) == ()

    assert (bank.by(), bank.paid) == (["Ada"], [])


SPELLED = ("Zoe\u0308", "ZO\u00cb", " Zo\u00eb\t", "Zo\u00eb\u200b", "\uff3ao\u00eb")


@pytest.mark.parametrize("other", SPELLED)
def test_a_name_in_another_spelling_is_no_other_person(other: str) -> None:
    """As accents, case, spaces and what cannot be seen come out of directories and forms."""
    bank = Bank(lambda decision, _: Principal(decision.credential or "?"))
    policy = WithApprovers(AlwaysAskPolicy(), Approvers(2, apart=True))
    bank = evolve(bank, policy=policy)
    (waiting,) = bank.stopped(started_by="zoe")
    agent = bank.agent()
    (waiting,) = agent.decide("r", evolve(waiting.confirm(), credential="Zo\u00eb"))
    with pytest.raises(DecisionRefusedError) as raised:
        agent.decide("r", evolve(waiting.confirm(), credential=other))
    assert raised.value.refusal.why == "repeated"
    with pytest.raises(DecisionRefusedError) as raised:
        agent.decide("r", evolve(waiting.confirm(), credential="Zoe "))
    assert raised.value.refusal.why == "not_entitled"
    assert agent.decide("r", evolve(waiting.confirm(), credential="Zo\u00eb Z.")) == ()


def test_two_people_confirm_the_same_or_nothing() -> None:
    """A change that only one of them has seen, or an answer in the tool's place, is none of two."""
    bank = Bank(by_token, WithApprovers(AlwaysAskPolicy(), Approvers(2)))
    (call,) = bank.stopped()
    bank.decide(token("Ada", call.confirm()))

    for said in (call.modify({"amount": 500}), call.respond("paid")):
        assert bank.refusal(token("Bob", said)).why == "not_allowed"


def test_what_one_of_two_people_lets_count_for_more_counts_for_no_more() -> None:
    """Only what both have said is remembered."""
    policy = WithApprovers(AlwaysAskPolicy(), Approvers(2))
    cases: list[tuple[Scope, Scope, int]] = [("tool", "call", 1), ("arguments", "tool", 0)]
    for first, second, asked in cases:
        bank = Bank(by_token, policy)
        with pytest.raises(HITLBreakpointException) as raised:
            bank.agent(calls(5)).run("go", run_id="r")
        (call,) = raised.value.pending
        bank.decide(token("Ada", call.confirm(remember=first)))
        bank.decide(token("Bob", call.confirm(remember=second)))
        agent = bank.agent(calls(5), "done")
        if asked:
            with pytest.raises(HITLBreakpointException):
                agent.resume("r")
        else:
            assert [grant.by for grant in agent.resume("r").run.grants] == ["Ada, Bob"]
        assert len(bank.paid) == 2 - asked


def test_a_remembered_yes_of_one_person_is_none_of_two() -> None:
    """Small amounts take one person, who remembers it for the tool; great ones still take two."""
    two = WithApprovers(AskAbove("amount", 100), Approvers(2))
    bank = Bank(by_token, AnyOf((AlwaysAskPolicy(), two)))
    (call,) = bank.stopped(5)
    bank.decide(token("Ada", call.confirm(remember="tool")))

    with pytest.raises(HITLBreakpointException) as raised:
        bank.agent(calls(6, 500)).resume("r")

    assert [one.arguments["amount"] for one in raised.value.pending] == [500]
    assert raised.value.pending[0].approvers == Approvers(2)
    assert bank.paid == [5, 6]


def test_the_votes_for_one_call_are_none_for_another_nor_for_a_copy() -> None:
    """A fork asks both again."""
    bank = Bank(by_token, WithApprovers(AlwaysAskPolicy(), Approvers(2)))
    first, second = bank.stopped(5, 5)
    bank.decide(token("Ada", first.confirm()))
    bank.decide(token("Bob", second.confirm()))
    agent = bank.agent()

    with pytest.raises(HITLBreakpointException) as raised:
        agent.run(snapshot=Runs(bank.journal, agent.spec).fork("r"), run_id="copy")

    assert [call.votes for call in agent.pending("r")] == [("Ada",), ("Bob",)]
    assert [call.votes for call in raised.value.pending] == [(), ()]
    with pytest.raises(DecisionRefusedError):
        agent.decide("copy", token("Bob", first.confirm()))


def test_without_the_role_nobody_answers() -> None:
    """Neither yes nor no; a role that two policies want must be had for both."""
    policy = WithApprovers(AlwaysAskPolicy(), Approvers(roles=("finance", "board")))
    bank = Bank(by_token, policy)
    (call,) = bank.stopped()

    for said in (call.confirm(), call.reject()):
        refusal = bank.refusal(token("Cyd", said))
        assert refusal.why == "not_entitled"
        assert refusal.text.endswith("Cyd has not got the role 'finance' or 'board'")
    bank.decide(token("Ada", call.confirm()))


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ((), ("a",), [("a",)]),
        (("a",), (), [("a",)]),
        (("a",), ("a",), [("a",)]),
        (("a", "b"), ("b", "c"), [("a", "b"), ("b", "c")]),
    ],
)
def test_what_two_policies_want_is_wanted(first: Any, second: Any, both: Any) -> None:
    """However they are combined, none loosens the other."""
    wanted = [WithApprovers(AlwaysAskPolicy(), Approvers(1, first, apart=True))]
    wanted.append(WithApprovers(AlwaysAskPolicy(), Approvers(3, second)))
    expected = Approvers(3, both[0], apart=True, also=both[1:])
    nested = WithApprovers(wanted[0], wanted[1].approvers)

    for policy in (wanted[0] | wanted[1], wanted[0] & wanted[1], nested):
        assert Bank(by_token, policy).stopped()[0].approvers == expected
    options = WithQuestionOptions(nested, expires_s=60)
    assert Bank(by_token, options).stopped()[0].approvers == expected


def test_who_answers_has_a_role_of_each_of_two_policies() -> None:
    """One that both want, or one of each; and is told which one is lacking."""
    known = {"Ada": ("a", "c"), "Bob": ("b",), "Cyd": ("a",), "Dan": ("c",)}

    def who(decision: Any, question: Any) -> Principal:
        return Principal(decision.credential, known[decision.credential])

    one, other = (
        WithApprovers(AlwaysAskPolicy(), Approvers(1, roles)) for roles in (("a", "b"), ("b", "c"))
    )
    policy = one | other
    for name, lacking in (("Cyd", "'b' or 'c'"), ("Dan", "'a' or 'b'")):
        bank = Bank(who, policy)
        (call,) = bank.stopped()
        refusal = bank.refusal(evolve(call.confirm(), credential=name))
        assert refusal.text.endswith(f"{name} has not got the role {lacking}")
    for name in ("Ada", "Bob"):
        bank = Bank(who, policy)
        (call,) = bank.stopped()
        assert Approvers(**call.to_dict()["approvers"]) == call.approvers
        bank.decide(evolve(call.confirm(), credential=name))


@pytest.mark.parametrize("started_by", ["Ada", None])
def test_who_has_started_a_run_does_not_say_yes_to_its_calls(started_by: str | None) -> None:
    """Where that is not known, nobody does; a no is anybody's."""
    bank = Bank(by_token, WithApprovers(AlwaysAskPolicy(), Approvers(apart=True)))
    (call,) = bank.stopped(started_by=started_by)
    assert call.started_by == started_by
    assert ("it is not known who did" in call.reason) is (started_by is None)

    for said in (call.confirm(), call.modify({"amount": 1}), call.respond("paid")):
        refusal = bank.refusal(token("Ada", said))
        assert refusal.why == "not_entitled"
        assert ("Ada has started this run" if started_by else "with started_by=") in refusal.text
    bank.decide(token("Ada", call.reject()) if started_by is None else token("Bob", call.confirm()))

    bank.agent().resume("r")
    assert bank.paid == ([5] if started_by else [])


@pytest.mark.parametrize("approvers", [by_token, ApproverKeys(KEYS)], ids=["token", "signature"])
def test_an_answer_to_the_question_of_another_release_is_outdated(approvers: Any) -> None:
    """Whoever gives it: as nobody is asked by it any more, no approver says whose it is."""
    bank = Bank(approvers)
    (call,) = bank.stopped()

    def pay(amount: int) -> str:
        raise AssertionError("nobody has confirmed this one")

    after = Agent(
        chat_generator=ScriptedChatGenerator("done"),
        tools=[create_tool_from_function(pay, description="Pay, and tell.")],
        journal=bank.journal,
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        approvers=approvers,
    )
    entries = list(bank.journal.read("r"))
    for said in (call.confirm(), call.reject()):
        is_signed = isinstance(approvers, ApproverKeys)
        proven = ADA.sign(said, expires_at=LATER) if is_signed else token("Ada", said)
        for decision in (proven, said):
            with pytest.raises(DecisionRefusedError, match="the tool itself has changed") as raised:
                after.decide("r", decision)
            assert raised.value.refusal.why == "outdated"
    assert list(bank.journal.read("r")) == entries


def test_a_ui_is_held_to_the_same() -> None:
    """Ada's second yes at a UI is none of somebody else, and the call waits."""
    tokens = iter(["token of Ada"] * 7)

    @frozen
    class Window:
        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> ConfirmationUIResult:
            return ConfirmationUIResult("confirm", credential=next(tokens))

    two = WithApprovers(AlwaysAskPolicy(), Approvers(2))
    bank = Bank(by_token, BlockingConfirmationStrategy(two, Window()))

    result = bank.agent(calls(5), "done").run("go", run_id="r")

    assert result.run.outcome is None
    assert bank.paid == []
    assert len(list(tokens)) == 1, "one yes, and five that were told why they are none"


def test_a_question_for_certain_people_needs_an_agent_that_knows_them() -> None:
    """Without approvers nobody can be told from anybody: the call waits for ever, and says why."""
    bank = Bank(None, WithApprovers(AlwaysAskPolicy(), Approvers(2)))
    (call,) = bank.stopped()

    refused = bank.refusal(call.confirm(by="Ada"))
    assert refused.why == "unauthenticated"
    assert "the agent has no approvers; give it some, by Agent(approvers=…)" in refused.text


@pytest.mark.parametrize(
    ("approvers", "policy", "warned"),
    [
        (None, WithApprovers(AlwaysAskPolicy(), Approvers(2)), True),
        (None, ~AskAbove("amount", 3) | WithApprovers(AlwaysAskPolicy(), Approvers(2)), True),
        (None, WithApprovers(WithApprovers(AlwaysAskPolicy(), Approvers(apart=True))), True),
        (
            None,
            BreakpointConfirmationStrategy(
                confirmation_policy=WithApprovers(AlwaysAskPolicy(), Approvers(2))
            ),
            True,
        ),
        (None, WithApprovers(AlwaysAskPolicy()), False),
        (None, AlwaysAskPolicy(), False),
        (by_token, WithApprovers(AlwaysAskPolicy(), Approvers(2)), False),
    ],
)
def test_an_agent_that_cannot_know_whom_it_asks_for_is_warned_of(
    approvers: Any, policy: Any, *, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Where it is built, as such a question waits for ever."""
    Bank(approvers, policy).agent("done")
    told = [text for text in caplog.messages if "certain people alone may answer about" in text]
    assert [text.partition(" by ")[2] for text in told] == ["Agent(approvers=…)"] * warned


def fails(*about: Any) -> Any:
    raise LookupError("no connection")


async def fails_later(*about: Any) -> Any:
    raise LookupError("no connection")


async def asks_later(*about: Any) -> Any:
    return Deny("not today") if about[0].arguments["amount"] > 5 else NeverAskPolicy()(*about)


@pytest.mark.parametrize("policy", [fails, fails_later])
def test_a_policy_that_fails_does_not_let_one_person_decide(policy: Any) -> None:
    """Its question is for the same people."""
    (call,) = Bank(by_token, WithApprovers(policy, Approvers(2))).stopped()

    assert call.approvers == Approvers(2)
    assert call.reason.startswith("the policy failed: LookupError: no connection")


TWO = WithApprovers(AlwaysAskPolicy(), Approvers(2, ("finance",), apart=True))
SOON = WithQuestionOptions(
    AlwaysAskPolicy(), expires_s=5, answers=Answers(modify=(), respond=False, remember="call")
)


@pytest.mark.parametrize("fails", [fails, fails_later, lambda *_: "yes"])
def test_a_policy_that_fails_takes_nothing_from_those_beside_it(fails: Any) -> None:
    """The model may choose, by what it writes, whether one of them fails."""
    for policy in (TWO | fails, TWO & fails, AnyOf((fails, TWO)), WithApprovers(TWO | fails)):
        (call,) = Bank(by_token, policy).stopped()
        assert call.approvers == TWO.approvers
        assert "the policy failed: " in call.reason
    for policy in (SOON | fails, WithQuestionOptions(SOON & fails, attempts=1)):
        (call,) = Bank(by_token, policy).stopped()
        assert call.expires_at is not None
        assert call.answers == SOON.answers
    options = WithQuestionOptions(AlwaysAskPolicy() | fails, expires_s=5)
    assert Bank(by_token, options).stopped()[0].expires_at is not None


@pytest.mark.parametrize("policy", [fails, fails_later])
def test_the_opposite_of_a_failure_is_a_question(policy: Any) -> None:
    """However deep it is, and whoever is to be asked."""
    for turned in (~AnyOf((policy,)), ~(NeverAskPolicy() | policy), ~~AnyOf((policy,))):
        bank = Bank(by_token, turned)
        assert len(bank.stopped()) == 1
        assert bank.paid == []


@pytest.mark.parametrize("policy", [TWO, SOON, TWO | AskAbove("amount", 3), AnyOf((SOON,))])
def test_who_may_answer_is_not_lost_by_turning_a_policy_round(policy: Any) -> None:
    """Its questions become a yes, and a question that is made of that one is for anybody."""
    with pytest.raises(ValueError, match="would lose who may answer"):
        Not(policy)
    with pytest.raises(ValueError, match=r"WithApprovers\(~policy"):
        Not(NeverAskPolicy() | policy)
    assert WithApprovers(~AskAbove("amount", 3), Approvers(2)).limits_answers


def test_a_policy_that_asks_nobody_asks_nobody() -> None:
    """What it allows or denies, it does, also later."""
    bank = Bank(by_token, WithApprovers(asks_later, Approvers(2)))

    bank.agent(calls(5, 6), "done").run("go", run_id="r")

    assert bank.paid == [5]


def test_a_question_for_certain_people_goes_through_json() -> None:
    """For a web page, and back."""
    (call,) = Bank(by_token, WithApprovers(AlwaysAskPolicy(), Approvers(2, ("a",)))).stopped()

    assert PendingCall.from_dict(json.loads(json.dumps(call.to_dict()))) == call


# --- signatures ---


def test_a_signature_is_of_one_decision_about_one_question() -> None:
    """Nothing in it can be changed, and it fits no other call, run or name."""
    bank = Bank(ApproverKeys(KEYS))
    call, other = bank.stopped(5, 500)
    good = signed(ADA, call.confirm())
    forged = [
        evolve(good, digest=other.digest, tool_call_id=other.call_id),
        evolve(good, by="Bob"),
        evolve(good, by=None),
        evolve(good, remember="tool"),
        evolve(good, final_tool_params={"amount": 500}),
        evolve(good, execute=False),
        evolve(signed(ADA, call.reject()), execute=True),
        evolve(good, credential=None),
        evolve(good, credential="[" * 100_000),
        evolve(good, credential='{"text": "[1]", "signature": 3}'),
        signed(Signer.new("Ada"), call.confirm()),
        ADA.sign(call.confirm(), expires_at=1.0),
        evolve(good, credential=signed(BOB, call.confirm()).credential),
    ]

    for decision in forged:
        assert bank.refusal(decision).why == "unauthenticated", decision
    refusal = bank.refusal(evolve(good, remember="tool"))
    assert refusal.text == "what was signed is another decision"
    assert [one.call_id for one in bank.decide(good)] == [other.call_id]
    assert bank.refusal(good).why == "repeated"


def test_a_signature_of_another_run_of_the_id_counts_for_nothing() -> None:
    """The nonce is in what is signed."""
    first, second = Bank(ApproverKeys(KEYS)), Bank(ApproverKeys(KEYS))
    (call,), _ = first.stopped(), second.stopped()

    assert second.refusal(signed(ADA, call.confirm())).why == "wrong_digest"


def test_the_key_of_somebody_who_has_left_counts_no_more() -> None:
    """What they signed before is still read."""
    bank = Bank(ApproverKeys(KEYS))
    first, second = bank.stopped(5, 6)
    bank.decide(signed(ADA, first.confirm()))
    at = next(iter(bank.agent().resume("r", raise_at_break_point=False).run.decisions)).at or 0
    left = {**KEYS, "Ada": evolve(KEYS["Ada"], until=at)}
    bank = evolve(bank, approvers=ApproverKeys(left))

    assert "counted until" in bank.refusal(signed(ADA, second.confirm())).text
    assert [done.by for done in Runs(bank.journal, bank.agent().spec).replay("r").decisions] == [
        "Ada"
    ]


def test_only_what_has_been_shown_can_be_signed() -> None:
    """A decision without a digest is about nothing."""
    with pytest.raises(ValueError, match="only a decision about a PendingCall can be signed"):
        ADA.sign(ToolExecutionDecision("pay", execute=True), expires_at=LATER)


def rewritten(change: Callable[[dict[str, Any]], None], bank: Bank) -> MemoryJournal:
    """The journal as somebody has changed it who can write to the store."""
    forged = MemoryJournal()
    for entry in bank.journal.read("r"):
        data = json.loads(entry.text)
        if entry.kind == "HumanDecided":
            change(data)
            data.pop("mark")  # of how far the run had come, which they would write as well
        kept = Entry(entry.position, entry.at, entry.kind, entry.status, data)
        forged.append("r", [kept])
    return forged


def _other_amount(data: dict[str, Any]) -> None:
    data["decision"] = {TAG: "Modified", "arguments": {"amount": 500}}


def _other_person(data: dict[str, Any]) -> None:
    data["who"] = {**data["who"], "name": "Bob"}
    data["by"] = "Bob"


def _more_roles(data: dict[str, Any]) -> None:
    data["who"] = {**data["who"], "roles": ["finance", "board"]}


def _nobody(data: dict[str, Any]) -> None:
    del data["who"]


def _later(data: dict[str, Any]) -> None:
    data["at"] = LATER + 1


def _no_proof(data: dict[str, Any]) -> None:
    data["who"] = {"name": "Ada", "roles": ["finance"]}


@pytest.mark.parametrize(
    "change", [_other_amount, _other_person, _more_roles, _nobody, _later, _no_proof]
)
def test_a_decision_that_is_written_to_the_store_does_not_count(change: Any) -> None:
    """What was signed is held against it when it is read: nothing runs by it."""
    bank = Bank(ApproverKeys(KEYS))
    (call,) = bank.stopped()
    bank.decide(signed(ADA, call.confirm()))

    with pytest.raises((StoredDataError, HITLBreakpointException)):
        evolve(bank, journal=rewritten(change, bank)).agent().resume("r")
    assert bank.paid == []

    bank.agent().resume("r")
    assert bank.paid == [5]


def test_a_proof_is_none_for_another_call() -> None:
    """Whoever writes to the store has Ada's yes to 5, and puts it at the call that pays 500."""
    bank = Bank(ApproverKeys(KEYS))
    first, second = bank.stopped(5, 500)
    bank.decide(signed(ADA, first.confirm()))

    def elsewhere(data: dict[str, Any]) -> None:
        data["ref"], data["digest"] = [second.turn, second.place], second.digest

    forged = evolve(bank, journal=rewritten(elsewhere, bank))

    with pytest.raises((StoredDataError, HITLBreakpointException)):
        forged.agent().resume("r")
    assert bank.paid == []


def test_signed_changes_and_secrets_are_the_arguments_that_run() -> None:
    """The arguments are in what is signed; it is read again and is the same."""
    bank = Bank(ApproverKeys(KEYS))
    first, second, third = bank.stopped(5, 6, 7)
    bank.decide(signed(ADA, first.modify({"amount": 1})), signed(BOB, second.respond("by hand")))
    bank.decide(signed(BOB, third.reject("no")))

    assert sorted(map(str, bank.by())) == ["Ada", "Bob", "Bob"]
    assert bank.paid == [1]


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One clear error."""
    import sys

    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)

    with pytest.raises(ImportError, match=r"pip install 'detent\[signed\]'"):
        Signer.new("Ada")


def test_a_signed_text_is_no_signed_decision_and_of_one_person() -> None:
    """E.g. the head of an audit log."""
    keys, signature = ApproverKeys(KEYS), ADA.sign_text("head")

    assert keys.has_signed("Ada", "head", signature)
    for name, text, given in (
        ("Ada", "other", signature),
        ("Bob", "head", signature),
        ("Mallory", "head", signature),
        ("Ada", "head", "no Base64 !"),
    ):
        assert not keys.has_signed(name, text, given)
    ended = ApproverKeys({"Ada": evolve(KEYS["Ada"], until=0)})
    assert ended.has_signed("Ada", "head", signature)  # what was signed before is still there


def test_a_change_by_one_person_is_none_of_two() -> None:
    """A small amount takes one person, who makes a great one of it: that takes two."""
    two = WithApprovers(AskAbove("amount", 100), Approvers(2))
    bank = Bank(by_token, AnyOf((AlwaysAskPolicy(), two)))
    (call,) = bank.stopped(5)
    bank.decide(token("Ada", call.modify({"amount": 5000})))

    with pytest.raises(HITLBreakpointException) as raised:
        bank.agent().resume("r")

    assert raised.value.pending[0].approvers == Approvers(2)
    assert bank.paid == []


def test_people_go_through_data() -> None:
    """Policies about them come back as they were, alone and in an agent that asks who decides."""
    policy = WithApprovers(AskAbove("amount", 100), Approvers(2, ["finance"], apart=True))
    assert (
        WithApprovers.from_dict(json.loads(json.dumps(policy.to_dict())), {"AskAbove": AskAbove})
        == policy
    )
    agent = Bank(by_token, policy).agent()
    parts = {"tools": [agent.spec.tools["pay"]], "chat_generator": agent.chat_generator}

    again = Agent.from_dict(agent.to_dict(), **parts, approvers=by_token)

    assert again.assembly.approvers is by_token
    assert again.assembly.strategies["pay"].confirmation_policy == policy
    with pytest.raises(AgentDataError, match="it asks who decides; pass those who know"):
        Agent.from_dict(agent.to_dict(), **parts)


@pytest.mark.parametrize(
    "make",
    [partial(Approvers, 1), partial(Principal, "Ada"), partial(ApproverKey, ADA.public_key)],
    ids=["Approvers", "Principal", "ApproverKey"],
)
def test_roles_are_a_list(make: Any) -> None:
    """A text would be one role a letter, which nobody has."""
    with pytest.raises(TypeError, match="roles are a list of texts, got 'finance'"):
        make("finance")


def test_a_policy_that_fails_beside_one_with_approvers_is_asked_of_these() -> None:
    """Also where that one would let the call run."""

    def failing(arguments: dict[str, Any]) -> bool:
        raise ConnectionError("the fraud service is away")

    people = Approvers(2, ("fin",), apart=True)
    careful = WithApprovers(AskAbove("amount", 10**9), people)
    for policy in (
        careful | AskWhen(failing),
        AskWhen(failing) | careful,
        careful & AskWhen(failing),
    ):
        (call,) = Bank(by_token, policy).stopped()
        assert call.approvers == people
