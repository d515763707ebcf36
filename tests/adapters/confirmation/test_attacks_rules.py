"""Attacks by time: a yes of yesterday, under the rules of today."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    AskAbove,
    AskOncePolicy,
    ChatMessage,
    HITLBreakpointException,
    Limits,
    MemoryJournal,
    NeverAskPolicy,
    Retries,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    Tool,
    ToolCall,
    create_tool_from_function,
    tool,
)
from detent.approvals import (
    Allow,
    Answers,
    Approvers,
    Ask,
    AskAfter,
    AskOverBudget,
    CallRule,
    DecisionRefusedError,
    Deny,
    PendingCall,
    Principal,
    RuleList,
    Scope,
    ToolExecutionDecision,
    Verdict,
    WithApprovers,
    WithQuestionOptions,
    pending,
)
from detent.machine import ManualClock, Run

ASK = AlwaysAskPolicy()
DENY = RuleList([CallRule("deny", tools=["pay"], reason="nobody pays any more")])
PAY = ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {"amount": 5}, "c1")])
TWICE = ChatMessage.from_assistant(
    tool_calls=[ToolCall("pay", {"amount": 5}, f"c{n}") for n in range(2)]
)
Paid = list[int]


def by_name(decision: ToolExecutionDecision, call: PendingCall) -> Principal:
    return Principal(decision.by or "nobody")


def agent_of(paid: Paid, policy: Any, *script: Any, **options: Any) -> Agent[Any]:
    """An agent with the rules of a day."""

    def pay(amount: int, account: str = "") -> str:
        paid.append(amount)
        return "paid"

    tool = create_tool_from_function(
        pay, description="", inputs_from_state={"account": "account"}, **options.pop("tool", {})
    )
    return Agent(
        chat_generator=ScriptedChatGenerator(*(script or ["done"])),
        tools=[tool],
        state_schema=options.pop("state_schema", {"account": {"type": str}}),
        confirmation_strategies={"pay": policy},
        **options,
    )


def asked(run: Callable[..., Any], *args: Any, **more: Any) -> PendingCall:
    """What is asked when the run stops."""
    with pytest.raises(HITLBreakpointException) as raised:
        run(*args, **more)
    return raised.value.pending[0]


def said(agent: Agent[Any], **answer: Any) -> str:
    """What the model was told in the end."""
    messages = agent.resume("r", **answer).messages
    return [one for one in messages if one.role == "tool"][-1].tool_call_results[0].text


@pytest.mark.parametrize("decides", ["before", "by the new rules", "between"])
def test_what_is_denied_today_does_not_run_by_the_yes_of_yesterday(
    decides: str, tmp_path: Any
) -> None:
    """Whoever wrote the yes down, and whenever: the question was put, and answered, before."""
    paid: Paid = []
    journal = SQLiteJournal(tmp_path / "runs.db")
    old = agent_of(paid, ASK, PAY, journal=journal)
    call = asked(old.run, "go", run_id="r")
    new = agent_of(paid, DENY, journal=SQLiteJournal(tmp_path / "runs.db"))
    if decides != "between":
        (old if decides == "before" else new).decide("r", call.confirm())

    text = said(new)

    assert "nobody pays any more" in text
    assert paid == []
    with pytest.raises(DecisionRefusedError):
        new.decide("r", call.confirm())


def test_a_snapshot_with_a_yes_is_judged_by_the_rules_of_today() -> None:
    """It carries the question, and the yes, and nothing of what was ruled since."""
    paid: Paid = []
    with pytest.raises(HITLBreakpointException) as stopped:
        agent_of(paid, ASK, PAY).run("go")
    signed = stopped.value.snapshot.with_decisions([stopped.value.pending[0].confirm()])

    result = agent_of(paid, DENY).run(snapshot=signed.to_json())

    assert paid == []
    assert result.text == "done"


def test_what_was_let_run_before_and_has_not_begun_is_judged_again() -> None:
    """The process ended between the policy's word and the call."""
    paid: Paid = []
    journal = MemoryJournal()
    old = agent_of(paid, NeverAskPolicy(), PAY, "done", journal=journal)
    old.run("go", run_id="r")
    entries = journal.read("r")
    ready = next(n for n, one in enumerate(entries) if one.kind == "Judged") + 1
    cut = MemoryJournal()
    cut.append("r", entries[:ready])
    paid.clear()

    call = asked(agent_of(paid, ASK, journal=cut).resume, "r")

    assert paid == []
    assert "the rules want more now: a human must be asked" in call.reason
    same = MemoryJournal()
    same.append("r", entries[:ready])
    assert agent_of(paid, NeverAskPolicy(), journal=same).resume("r").text == "done"
    assert paid == [5]


def test_what_was_remembered_does_not_reach_over_a_denial() -> None:
    """Of the whole tool, for the rest of the run."""
    paid: Paid = []
    journal = MemoryJournal()
    old = agent_of(paid, ASK, PAY, journal=journal)
    call = asked(old.run, "go", run_id="r")
    old.decide("r", call.confirm(remember="tool"))

    assert "nobody pays any more" in said(agent_of(paid, DENY, journal=journal))
    assert paid == []


STRICTER: Mapping[str, tuple[Any, str]] = {
    "two people": (WithApprovers(ASK, Approvers(2)), "others must decide, or more people"),
    "a role": (WithApprovers(ASK, Approvers(roles=("cfo",))), "others must decide"),
    "revealed": (WithQuestionOptions(ASK, reveals=("account",)), "more is shown"),
    "no yes": (
        WithQuestionOptions(ASK, answers=Answers(confirm=False)),
        "other answers are taken",
    ),
    "no answer": (
        WithQuestionOptions(ASK, answers=Answers(respond=False)),
        "other answers are taken",
    ),
    "fewer changes": (
        WithQuestionOptions(ASK, answers=Answers(modify=("amount",))),
        "other answers are taken",
    ),
    "for one call": (
        WithQuestionOptions(ASK, answers=Answers(remember="call")),
        "a yes counts for less",
    ),
    "not for long": (
        WithQuestionOptions(ASK, answers=Answers(remember_s=5)),
        "a yes counts for less",
    ),
}


@pytest.mark.parametrize("name", STRICTER)
@pytest.mark.parametrize("is_decided", [True, False])
def test_what_is_no_longer_enough_is_asked_again(name: str, *, is_decided: bool) -> None:
    """Under the rules of today, and the human is told what they want more."""
    policy, words = STRICTER[name]
    paid: Paid = []
    journal = MemoryJournal()
    options: dict[str, Any] = {"journal": journal, "approvers": by_name}
    old = agent_of(paid, ASK, PAY, **options)
    call = asked(old.run, "go", run_id="r")
    if is_decided:
        old.decide("r", call.confirm(by="ann"))

    new = agent_of(paid, policy, **options)
    again = asked(new.resume, "r")

    assert paid == []
    assert again.digest != call.digest
    assert f"It must be decided anew: the rules want more now: {words}" in again.reason
    assert again.changed
    with pytest.raises(DecisionRefusedError, match="of another call, run or question"):
        new.decide("r", call.confirm(by="bob"))
    assert asked(new.resume, "r").digest == again.digest


def test_two_people_decide_from_the_beginning() -> None:
    """A yes under the old rules is no vote under the new ones, and two of them are enough once."""
    paid: Paid = []
    options: dict[str, Any] = {"journal": MemoryJournal(), "approvers": by_name}
    old = agent_of(paid, ASK, PAY, **options)
    old.decide("r", asked(old.run, "go", run_id="r").confirm(by="ann"))
    new = agent_of(paid, WithApprovers(ASK, Approvers(2)), **options)
    again = asked(new.resume, "r")
    assert again.votes == ()

    new.decide("r", again.confirm(by="ann"))
    assert asked(new.resume, "r").votes == ("ann",)
    new.decide("r", again.confirm(by="bob"))
    new.resume("r")

    assert paid == [5]


SAME: Mapping[str, tuple[Any, Any]] = {
    "the same": (ASK, ASK),
    "looser": (WithQuestionOptions(ASK, reveals=("account",)), ASK),
    "fewer people": (WithApprovers(ASK, Approvers(1, ("cfo",))), ASK),
    "another reason": (ASK, lambda call, tool, run: Ask(f"it is turn {run.turn} at noon")),
}


class Lists:
    """Denies who stands on a list, and fails where there is none for a country."""

    def __init__(self, **lists: tuple[str, ...]) -> None:
        self.lists = lists

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Ask | Deny:
        """Look it up."""
        country = str(call.arguments.get("country", "DE"))
        return Deny("sanctioned") if call.arguments["to"] in self.lists[country] else Ask()


@pytest.mark.parametrize(
    "around",
    [
        lambda policy: policy,
        lambda policy: AlwaysAskPolicy() | policy,
        lambda policy: WithQuestionOptions(policy, reveals=()),
    ],
    ids=["alone", "beside another", "with options"],
)
@pytest.mark.parametrize("scope", ["tool", "arguments"])
def test_what_was_remembered_answers_no_policy_that_fails(around: Any, scope: Any) -> None:
    """It might have denied the call, and the model chooses by which arguments it fails."""
    sent: list[str] = []

    @tool
    def send(to: str, country: str = "DE") -> str:
        """Send."""
        sent.append(to)
        return "ok"

    ann, eve = {"to": "Ann", "country": "XX"}, {"to": "Eve", "country": "XX"}
    calls = [ToolCall("send", arguments) for arguments in (ann, eve, ann)]
    journal = MemoryJournal()

    def clerk(policy: Any, *script: Any) -> Agent[Any]:
        model = ScriptedChatGenerator(*script)
        rules = {"send": around(policy)}
        return Agent(
            chat_generator=model, tools=[send], confirmation_strategies=rules, journal=journal
        )

    known = clerk(Lists(XX=()), calls[0])
    known.decide("r", asked(known.run, "go", run_id="r").confirm(remember=scope))
    failing = clerk(Lists(), calls[1], calls[2], "done")
    for _ in range(3):  # what was confirmed, and not begun, as well
        question = asked(failing.resume, "r")
        assert "the policy failed: KeyError: 'XX'" in question.reason
        assert question.answers.remember == "call"
        failing.decide("r", question.confirm())
    assert failing.resume("r").text == "done"
    assert sent == ["Ann", "Eve", "Ann"]


def test_a_policy_may_say_itself_that_it_has_failed() -> None:
    """Nothing that was remembered answers it then."""
    paid: Paid = []
    large = ToolCall("pay", {"amount": 9})

    def careful(call: ToolCall, tool: Tool, run: Run[Any]) -> Ask:
        return Ask("the list is away", is_failure=call.arguments == large.arguments)

    agent = agent_of(paid, careful, PAY, large, "done", journal=MemoryJournal())
    agent.decide("r", asked(agent.run, "go", run_id="r").confirm(remember="tool"))
    question = asked(agent.resume, "r")
    assert (paid, question.arguments["amount"]) == ([5], 9)
    agent.decide("r", question.confirm())
    assert agent.resume("r").text == "done"
    assert paid == [5, 9]


@pytest.mark.parametrize("yeses", [0, 1, 2])
def test_a_policy_that_fails_takes_nothing_back_of_what_it_has_asked(yeses: int) -> None:
    """Who may answer, and how, is as it was: nobody knows what it would say now."""
    paid: Paid = []
    people = {"ann": ("finance",), "bob": ("finance",)}

    def known(decision: ToolExecutionDecision, call: PendingCall) -> Principal:
        return Principal(decision.by or "nobody", people.get(decision.by or "", ()))

    two = Ask(approvers=Approvers(2, ("finance",)), answers=Answers(modify=(), respond=False))
    options: dict[str, Any] = {"journal": MemoryJournal(), "approvers": known}
    before = agent_of(paid, lambda call, tool, run: two, PAY, **options)
    question = asked(before.run, "go", run_id="r")
    for name in [*people][:yeses]:
        before.decide("r", question.confirm(by=name))
    failing = agent_of(paid, lambda call, tool, run: 1 / 0, **options)

    again = asked(failing.resume, "r")
    assert (again.approvers, again.answers.modify, again.answers.respond) == (
        two.approvers,
        (),
        False,
    )
    with pytest.raises(DecisionRefusedError, match="has not got the role 'finance'"):
        failing.decide("r", again.confirm(by="mallory"))
    for name in people:
        failing.decide("r", again.confirm(by=name))
    failing.resume("r")
    assert paid == [5]


def test_what_a_human_has_changed_is_asked_about_where_its_policy_fails() -> None:
    """It was asked about something else, and might deny this; what they say then counts."""
    paid: Paid = []

    def small(call: ToolCall, tool: Tool, run: Run[Any]) -> Ask:
        return Ask() if call.arguments["amount"] == 5 else Ask(str(1 / 0))

    agent = agent_of(paid, small, PAY, "done", journal=MemoryJournal())
    question = asked(agent.run, "go", run_id="r")
    agent.decide("r", question.modify({**question.arguments, "amount": 6}))
    again = asked(agent.resume, "r")
    assert "they have failed, and may have said no" in again.reason
    agent.decide("r", again.confirm())
    agent.resume("r")
    assert paid == [6]


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("is_decided", [True, False])
def test_what_is_enough_still_is_not_asked_again(name: str, *, is_decided: bool) -> None:
    """The same question goes on waiting, so that links to it hold; a yes to it counts."""
    before, now = SAME[name]
    paid: Paid = []

    def known(decision: ToolExecutionDecision, call: PendingCall) -> Principal:
        return Principal("ann", ("cfo",))

    options: dict[str, Any] = {"journal": MemoryJournal(), "approvers": known}
    old = agent_of(paid, before, PAY, **options)
    call = asked(old.run, "go", run_id="r")
    new = agent_of(paid, now, **options)
    if not is_decided:
        assert asked(new.resume, "r").digest == call.digest
    new.decide("r", call.confirm())

    assert new.resume("r").text == "done"
    assert paid == [5]


def test_a_question_that_was_put_waits_though_it_need_not_be_put_today() -> None:
    """Somebody may be about to say no; and a policy that looks at the time says this by night."""
    paid: Paid = []
    journal = MemoryJournal()
    asked(agent_of(paid, ASK, PAY, journal=journal).run, "go", run_id="r")
    new = agent_of(paid, NeverAskPolicy(), journal=journal)

    new.decide("r", asked(new.resume, "r").reject("no"))

    assert "no" in said(new)
    assert paid == []


def test_a_shorter_time_holds_for_what_was_asked_and_said_before() -> None:
    """Nobody is asked again for that; of two times it is the sooner."""
    paid: Paid = []
    clock = ManualClock(100)
    options: dict[str, Any] = {"journal": MemoryJournal(), "clock": clock}
    first = WithQuestionOptions(ASK, expires_s=60)
    asked(agent_of(paid, first, PAY, **options).run, "go", run_id="r")

    for expires_s, until in ((90, 160), (None, 160), (10, 110), (60, 110)):
        policy = WithQuestionOptions(ASK, expires_s=expires_s)
        assert asked(agent_of(paid, policy, **options).resume, "r").expires_at == until
    clock.advance(11)

    assert "nobody did so in time" in said(agent_of(paid, ASK, **options))


def test_fewer_attempts_hold_for_what_was_said_before() -> None:
    """A yes to three attempts is one to the first alone, where the rules say so by now."""
    journal = MemoryJournal()
    tried: Paid = []

    def pay(amount: int) -> str:
        tried.append(amount)
        raise ValueError("not now")

    def made(policy: Any) -> Agent[Any]:
        tool = create_tool_from_function(pay, description="", retries=3)
        return Agent(
            chat_generator=ScriptedChatGenerator(PAY, "done")
            if policy is ASK
            else ScriptedChatGenerator("done"),
            tools=[tool],
            journal=journal,
            confirmation_strategies={"pay": policy},
        )

    old = made(ASK)
    old.decide("r", asked(old.run, "go", run_id="r").confirm())
    new = made(WithQuestionOptions(ASK, attempts=1))
    again = asked(new.resume, "r")

    assert tried == [5]
    assert "the yes covers it no longer" in again.reason


def test_agents_inside_are_judged_by_the_rules_of_today_as_well() -> None:
    """Their questions wait inside, and so does what they were let do."""
    paid: Paid = []
    journal = MemoryJournal()
    task = ChatMessage.from_assistant(tool_calls=[ToolCall("worker", {"task": "pay"})])

    def made(policy: Any, *script: Any) -> Agent[Any]:
        inner = agent_of(paid, policy, *(script[1:] or ["done"]))
        tool = AgentTool(inner, name="worker", description="Pays.")
        return Agent(
            chat_generator=ScriptedChatGenerator(*(script[:1] or ["done"])),
            tools=[tool],
            journal=journal,
        )

    old = made(ASK, task, PAY)
    old.decide("r", asked(old.run, "go", run_id="r").confirm())

    result = made(DENY).resume("r")

    assert paid == []
    (record, denied) = result.run.decisions
    assert (denied.by, len(denied.path)) == ("policy", 1)
    assert record.path == denied.path


def test_a_crash_in_a_call_leaves_a_question_to_the_rules_of_today() -> None:
    """What is denied now is not begun anew, whatever somebody would say."""
    paid: Paid = []
    journal = MemoryJournal()
    old = agent_of(paid, ASK, PAY, "done", journal=journal, tool={"on_unknown": "ask"})
    old.decide("r", asked(old.run, "go", run_id="r").confirm())
    old.resume("r")
    entries = journal.read("r")
    begun = next(n for n, one in enumerate(entries) if one.kind == "ToolStarted") + 1
    cut = MemoryJournal()
    cut.append("r", entries[:begun])

    new = agent_of(paid, DENY, journal=cut, tool={"on_unknown": "ask"})

    assert "nobody pays any more" in said(new)
    assert paid == [5]


def test_an_agent_without_a_policy_goes_on_with_what_was_said() -> None:
    """It has no rules that could say more."""
    paid: Paid = []
    with pytest.raises(HITLBreakpointException) as stopped:
        agent_of(paid, ASK, TWICE).run("go")
    first, second = stopped.value.pending
    plain = agent_of(paid, ASK)
    free = Agent(
        chat_generator=ScriptedChatGenerator("done"),
        tools=list(plain.spec.tools.values()),
        state_schema={"account": {"type": str}},
    )

    half = stopped.value.snapshot.with_decisions([first.confirm()])
    (waiting,) = pending(free.spec, free.run(snapshot=half).run)
    whole = stopped.value.snapshot.with_decisions([first.reject(), second.confirm()])

    assert waiting.digest == second.digest
    assert free.run(snapshot=whole).text == "done"
    assert paid == [5, 5]


def test_a_copy_carries_no_yes_by_being_judged_again() -> None:
    """What waits for today's rules in one run is judged by them in its fork, from the beginning."""
    paid: Paid = []
    journal = MemoryJournal()
    old = agent_of(paid, ASK, TWICE, journal=journal)
    with pytest.raises(HITLBreakpointException) as stopped:
        old.run("go", run_id="r")
    old.decide("r", stopped.value.pending[0].confirm())
    asked(old.resume, "r")

    fork = Runs(journal, old.spec).fork("r")
    with pytest.raises(HITLBreakpointException) as copied:
        agent_of(paid, ASK).run(snapshot=fork)

    assert len(copied.value.pending) == 1
    assert paid == [5]
    entries = journal.read("r")
    decided = next(n for n, one in enumerate(entries) if one.kind == "Resumed") + 1
    early = Runs(journal, old.spec).fork("r", decided)
    with pytest.raises(HITLBreakpointException) as copied:
        agent_of(paid, ASK).run(snapshot=early)

    assert len(copied.value.pending) == 2
    assert paid == [5]


def test_counting_policies_count_a_call_once_when_they_are_asked_again() -> None:
    """Neither itself, nor those that come after it."""
    from detent.approvals import AskAfter, AskOverBudget

    for policy in (AskAfter(1), AskOverBudget("amount", 5)):
        paid: Paid = []
        journal = MemoryJournal()
        old = agent_of(paid, policy, TWICE, journal=journal)
        first = asked(old.run, "go", run_id="r")
        again = asked(agent_of(paid, policy, journal=journal).resume, "r")

        assert paid == [5]
        assert (again.reason, again.digest) == (first.reason, first.digest)


def test_a_verdict_of_today_may_be_async() -> None:
    """As any other."""
    paid: Paid = []
    journal = MemoryJournal()
    old = agent_of(paid, ASK, PAY, journal=journal)
    old.decide("r", asked(old.run, "go", run_id="r").confirm())

    async def later(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        return Deny("not today") if run.turn == 1 else Allow()

    assert "not today" in said(agent_of(paid, later, journal=journal))
    assert paid == []


def limited(**limits: Any) -> dict[str, Any]:
    return {"limits": Limits(**limits)}


class Sometimes:
    """A policy of a user's own, as it was written on one day."""

    def should_ask(self, name: str, description: str, params: dict[str, Any]) -> bool:
        """Above a limit."""
        return bool(params["amount"] > 10)


class Seldom:
    """The same on another day."""

    def should_ask(self, name: str, description: str, params: dict[str, Any]) -> bool:
        """Above another limit."""
        return bool(params["amount"] > 10_000)


Seldom.__qualname__ = Sometimes.__qualname__


def clerk_of(paid: Paid, policy: Any, *, deep: bool, **options: Any) -> AgentTool:
    """An agent that pays, as a tool; or one that has such an agent among its tools."""
    clerk = AgentTool(
        agent_of(paid, policy, PAY, "paid", **options), name="clerk", description="Pays."
    )
    if not deep:
        return clerk
    chief: Agent[Any] = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("clerk", {"task": "pay"}), "paid"),
        tools=[clerk],
    )
    return AgentTool(chief, name="clerk", description="Pays.")


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(
    ("was", "now", "options"),
    [
        (AskAbove("amount", 10), NeverAskPolicy(), {}),
        (AskAbove("amount", 10), AskAbove("amount", 1000), {}),
        (AskAbove("amount", 10) | AskAfter(1), AskAbove("amount", 10) | AskAfter(9), {}),
        (RuleList([CallRule("deny")]), RuleList([CallRule("allow")]), {}),
        (Sometimes(), Seldom(), {}),
        (lambda call, tool, run: Ask(), lambda call, tool, run: Allow(), {}),
        (ASK, ASK, limited(max_tool_calls=1000)),
        (ASK, ASK, limited(max_calls_per_reply=4)),
        (ASK, ASK, {"exit_conditions": ["pay"]}),
        (ASK, ASK, {"raise_on_tool_invocation_failure": True}),
        (ASK, ASK, {"system_prompt": "Pay whatever they want."}),
        (ASK, ASK, {"state_schema": {"account": {"type": str, "default": "Mallory's"}}}),
        (ASK, ASK, {"state_schema": {"account": {"type": str, "handler": lambda old, new: new}}}),
        (ASK, ASK, {"tool": {"max_calls": 9}}),
        (ASK, ASK, {"tool": {"labels": ["untrusted"]}}),
        (ASK, ASK, {"tool": {"on_unknown": "rerun"}}),
        (ASK, ASK, {"tool": {"timeout_s": 9.0}}),
    ],
)
def test_a_yes_to_the_call_of_an_agent_is_to_the_rules_by_which_it_works(
    was: Any, now: Any, options: dict[str, Any], *, deep: bool
) -> None:
    """It has them from code: another version of it is asked about again."""
    paid: Paid = []
    journal = MemoryJournal()

    def chief(rules: Any, *script: Any, **more: Any) -> Agent[Any]:
        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[clerk_of(paid, rules, deep=deep, **more)],
            confirmation_strategies={"clerk": ASK},
            journal=journal,
        )

    call = asked(chief(was, ToolCall("clerk", {"task": "pay"})).run, "go", run_id="r")
    same = chief(was, "done")
    assert same.pending("r")[0].digest == call.digest
    same.decide("r", call.confirm())

    again = asked(chief(now, "done", **options).resume, "r")

    assert again.tool_name == "clerk"
    assert "the tool itself has changed" in again.changed
    assert paid == []


def test_the_rules_of_an_agent_are_told_in_the_same_words_by_each_process() -> None:
    """Else a yes would count in the process alone that has put the question."""
    code = (
        "from detent import Agent, AgentTool, AskAbove, Limits, ScriptedChatGenerator, tool\n"
        "from detent.approvals import AskWhen, CallRule, RuleList\n"
        "@tool\n"
        "def pay(amount: int) -> str:\n"
        "    'Pay.'\n"
        "    return ''\n"
        "@tool\n"
        "def send(amount: int) -> str:\n"
        "    'Send.'\n"
        "    return ''\n"
        "rules = RuleList([CallRule('deny', arguments={'amount': {'enum': [1, 2]}})])\n"
        "both = AskAbove('amount', 1) | AskWhen(lambda given: given['amount'] in {1, 2, 3})\n"
        "agent = Agent(chat_generator=ScriptedChatGenerator('a'), tools=[pay, send],\n"
        "    state_schema={'who': {'type': set, 'default': {'a', 'b', 'c'}}},\n"
        "    limits=Limits(max_cost=1.0, price=lambda reply: 0.1),\n"
        "    exit_conditions=['pay', 'send', 'text'],\n"
        "    confirmation_strategies={'pay': both, 'send': rules})\n"
        "print(AgentTool(agent, name='clerk', description='Pays.').version)\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


def test_a_call_that_had_a_yes_of_its_own_runs_by_no_other_that_is_taken_back() -> None:
    """What let its first attempt begin is used up, and what was to let the next is revoked."""
    paid: list[int] = []

    @tool(retries=Retries(5, backoff_s=0))
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        if amount == 1:
            raise RuntimeError("again")
        return "paid"

    journal = MemoryJournal()

    def agent(*script: Any) -> Agent[Any]:
        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[pay],
            confirmation_strategies={"pay": WithQuestionOptions(AlwaysAskPolicy(), attempts=1)},
            journal=journal,
        )

    made = [ToolCall("pay", {"amount": one}) for one in (1, 2)]
    both = ChatMessage.from_assistant(tool_calls=made)
    agent(both).run("go", run_id="r", raise_at_break_point=False)
    agent().decide("r", agent().pending("r")[0].confirm())
    agent().resume("r", raise_at_break_point=False)
    (second,) = (one for one in agent().pending("r") if one.arguments == {"amount": 2})
    agent().decide("r", second.confirm(remember="tool"))
    agent().revoke("r", agent().grants("r")[0])
    result = agent("done").resume("r", raise_at_break_point=False)

    assert (paid, [one.arguments for one in result.pending]) == ([1, 2], [{"amount": 1}])


@pytest.mark.parametrize(("scope", "asked"), [(None, 3), ("arguments", 1), ("tool", 1)])
def test_what_a_policy_remembers_answers_no_question_of_one_beside_it(
    scope: Scope | None, asked: int
) -> None:
    """It was silent before: nobody has been asked what it asks now, but by who says so."""
    paid: Paid = []
    policy = AskOncePolicy() | AskOverBudget("amount", 10)
    agent = agent_of(paid, policy, *[PAY] * 4, "done", journal=MemoryJournal())
    agent.run("go", run_id="r", raise_at_break_point=False)
    count = 0
    while questions := agent.pending("r"):
        count += 1
        agent.decide("r", questions[0].confirm(remember=scope))
        agent.resume("r", raise_at_break_point=False)

    assert (paid, count) == ([5] * 4, asked)
