"""Attacks on a budget: the same money through other tools, other agents, copies and other days."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    Confirmed,
    HITLBreakpointException,
    MemoryJournal,
    Retries,
    Runs,
    ScriptedChatGenerator,
    State,
    Tool,
    ToolCall,
    create_tool_from_function,
    keep_last_messages,
)
from detent.adapters.drivers.asyncio import _working_on  # pyright: ignore[reportPrivateUsage]  # a race that no test can time
from detent.approvals import (
    AllOf,
    Allow,
    AlwaysAskPolicy,
    Ask,
    AskAfter,
    AskOverBudget,
    Deny,
    NeverAskPolicy,
    PendingCall,
    ToolExecutionDecision,
    Verdict,
    WithApprovers,
    WithQuestionOptions,
)
from detent.core.tools.result import ToolFault
from detent.journals import JournalConflictError, SQLiteJournal
from detent.machine import (
    AgentSpec,
    AskHuman,
    CallRef,
    ClockTicked,
    HumanDecided,
    Judge,
    Judged,
    ManualClock,
    ModelReplied,
    OutcomeUnknownError,
    Run,
    ToolRaised,
    ToolStarted,
    due,
    start,
    step,
)
from detent.models import ChatReply
from detent.ports.journal import ClaimLostError

HUNDRED = AskOverBudget("amount", 100)
Paid = list[int]


def calls(*made: tuple[str, int]) -> ChatMessage:
    """A reply that pays, or sends, so much."""
    return ChatMessage.from_assistant(
        tool_calls=[ToolCall(name, {"amount": amount}) for name, amount in made]
    )


def delegations(*tasks: str, name: str = "worker") -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[ToolCall(name, {"task": one}) for one in tasks])


class Payer:
    """A model that pays what its task says, call by call, and then is done."""

    def run(self, messages: Any, **options: Any) -> ChatReply:
        """The calls that the last message names: "pay 60, wire 50"."""
        last = messages[-1]
        words = (
            [one.split() for one in (last.text or "").split(", ")] if last.role == "user" else []
        )
        made = [ToolCall(name, {"amount": int(amount)}) for name, amount in words]
        return ChatReply(ChatMessage.from_assistant(None if made else "done", tool_calls=made))


def tools(paid: Paid, **options: Any) -> list[Tool]:
    """Two ways to spend money."""

    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    def wire(amount: int) -> str:
        paid.append(amount)
        return "wired"

    return [create_tool_from_function(one, description="", **options) for one in (pay, wire)]


def agent_of(paid: Paid, *script: Any, policy: Any = HUNDRED, **options: Any) -> Agent[Any]:
    """Both of whose tools stand under one policy."""
    generator = ScriptedChatGenerator(*script) if script else Payer()
    inner = options.pop("tools", [])
    crashed = {"on_unknown": options.pop("on_unknown", "ask")}
    return Agent(
        chat_generator=generator,
        tools=[*tools(paid, **crashed), *inner],
        confirmation_strategies={("pay", "wire"): policy},
        **options,
    )


def worker(paid: Paid, depth: int = 1, policy: Any = HUNDRED, *, name: str = "worker") -> AgentTool:
    """An agent that pays what its task says; with more depth, one that has that done."""
    inner = agent_of(paid, policy=policy)
    for _ in range(depth - 1):
        tool = AgentTool(inner, name="worker", description="Pays.")
        inner = Agent(chat_generator=Forwarding(), tools=[tool])
    return AgentTool(inner, name=name, description="Pays.")


class Forwarding:
    """A model that hands its task on."""

    def run(self, messages: Any, **options: Any) -> ChatReply:
        """Once."""
        last = messages[-1]
        said = delegations(last.text) if last.role == "user" else ChatMessage.from_assistant("done")
        return ChatReply(said)


def stopped(agent: Agent[Any], *args: Any, **more: Any) -> HITLBreakpointException:
    """What the run waits for."""
    with pytest.raises(HITLBreakpointException) as raised:
        agent.run(*args, **more)
    return raised.value


def amounts(stop: HITLBreakpointException) -> list[Any]:
    return [call.arguments["amount"] for call in stop.pending]


def test_one_budget_counts_over_all_tools_that_it_guards() -> None:
    """In one reply, and in the next."""
    paid: Paid = []

    at_once = stopped(agent_of(paid, calls(("pay", 60), ("wire", 60))), "go")
    in_turn = stopped(agent_of(paid, calls(("pay", 60)), calls(("wire", 60))), "go")

    assert amounts(at_once) == amounts(in_turn) == [60]
    assert at_once.pending[0].reason == "amount 60 on top of 60 is over 100"
    assert paid == [60, 60]


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("runs_async", [False, True], ids=["sync", "async"])
def test_twenty_agents_have_the_budget_of_one(depth: int, *, runs_async: bool) -> None:
    """However deep they work, and all at once."""
    paid: Paid = []
    tool = worker(paid, depth)
    agent = agent_of(paid, calls(("pay", 30)), delegations(*["pay 30"] * 20), tools=[tool])

    with pytest.raises(HITLBreakpointException) as raised:
        asyncio.run(agent.run_async("go")) if runs_async else agent.run("go")

    assert paid == [30, 30, 30]
    assert amounts(raised.value) == [30] * 18


def test_what_agents_have_spent_counts_when_they_are_gone() -> None:
    """Their runs have ended, and nothing of them is in the conversation."""
    paid: Paid = []
    script = (delegations("pay 40, wire 40"), delegations("wire 10"), calls(("pay", 20)))

    stop = stopped(agent_of(paid, *script, tools=[worker(paid)]), "go")

    assert paid == [40, 40, 10]
    assert amounts(stop) == [20]
    assert stop.pending[0].reason == "amount 20 on top of 90 is over 100"


@pytest.mark.parametrize("depth", [1, 2])
def test_a_tool_of_an_agent_is_called_no_more_often_when_that_is_called_anew(depth: int) -> None:
    """Nor with its namesake in the agent around it: there is one cap for a run."""
    paid: Paid = []
    most = tools(paid, max_calls=2)
    inner = Agent(chat_generator=Payer(), tools=most)
    for _ in range(depth - 1):
        tool = AgentTool(inner, name="worker", description="Pays.")
        inner = Agent(chat_generator=Forwarding(), tools=[tool])
    worker = AgentTool(inner, name="worker", description="Pays.")
    script = (delegations("pay 1", "pay 2"), delegations("pay 3"), calls(("pay", 4), ("wire", 5)))

    result = Agent(
        chat_generator=ScriptedChatGenerator(*script, "done"), tools=[worker, *most]
    ).run("go")

    assert sorted(paid) == [1, 2, 5]
    told = [one.text for message in result.messages for one in message.tool_call_results]
    over = "Tool 'pay' was not run: it may be called 2 times, and was. Answer without it."
    assert over in told


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("script", [(20, 0), (1, 19)], ids=["at once", "one by one"])
def test_calls_of_agents_are_counted_when_they_are_gone(
    script: tuple[int, int], depth: int
) -> None:
    """For a policy that asks from the third call on."""
    paid: Paid = []
    at_once, later = script
    replies = [delegations(*["pay 5"] * at_once), *[delegations("pay 5")] * later]

    stop = stopped(
        Agent(
            chat_generator=ScriptedChatGenerator(*replies),
            tools=[worker(paid, depth, AskAfter(2))],
        ),
        "go",
    )

    assert paid == [5, 5]
    # agents work side by side: whichever is judged first
    assert "pay was called 2 times in this run" in {call.reason for call in stop.pending}


@pytest.mark.parametrize("is_inner_asked", [False, True])
def test_calls_of_agents_with_other_rules_are_counted_as_well(is_inner_asked: bool) -> None:  # noqa: FBT001 - a case
    """Those of an agent inside, whose tools nobody guards; and those around the one that asks."""
    paid: Paid = []
    rule, free = AskAfter(2), NeverAskPolicy()
    own, inner = (free, rule) if is_inner_asked else (rule, free)
    alone, within = calls(*[("pay", 1)] * 3), delegations("pay 5", "pay 5", "pay 5")
    replies = (alone, within) if is_inner_asked else (within, alone)
    outer = worker(paid, 1, inner)

    stop = stopped(agent_of(paid, *replies, policy=own, tools=[outer]), "go")

    assert len(paid) == 3
    # agents work side by side: whichever is judged first
    assert "pay was called 3 times in this run" in {call.reason for call in stop.pending}


def test_calls_are_counted_over_all_that_a_run_goes_on_from() -> None:
    """Also when its conversation has been cut, as by what keeps only the last messages."""
    paid: Paid = []
    script = [calls(("pay", n)) for n in range(5)]
    short = agent_of(paid, *script, policy=AskAfter(2), hooks=[keep_last_messages(2)])

    assert amounts(stopped(short, "go")) == [2]
    assert paid == [0, 1]


def test_a_call_counts_once_however_often_it_is_tried() -> None:
    """And not at all where a human has stopped it."""
    tried: list[int] = []

    def pay(amount: int) -> str:
        tried.append(amount)
        if len(tried) < 3:
            raise OSError("busy")
        return "paid"

    tool = create_tool_from_function(
        pay, description="", retries=Retries(2, on=(OSError,), backoff_s=0.01)
    )
    agent = Agent(
        chat_generator=ScriptedChatGenerator(*[calls(("pay", n)) for n in range(3)]),
        tools=[tool],
        confirmation_strategies={"pay": AskAfter(2)},
    )

    assert amounts(stopped(agent, "go")) == [2]
    assert tried == [0, 0, 0, 1]


def test_budgets_of_another_name_are_other_budgets() -> None:
    """One of the same name is the same, whatever its limit is."""
    paid: Paid = []
    apart = AskOverBudget("amount", 100, name="travel")
    script = (calls(("pay", 80)), delegations("pay 80"), "done")

    agent_of(paid, *script, tools=[worker(paid, policy=apart)]).run("go")
    strict = AskOverBudget("amount", 90)
    stop = stopped(agent_of(paid, *script, tools=[worker(paid, policy=strict)]), "go")

    assert paid == [80, 80, 80]
    assert stop.pending[0].reason == "amount 80 on top of 80 is over 90"


def test_a_fork_carries_what_was_spent_before_it() -> None:
    """Up to where it was made."""
    paid: Paid = []
    journal = MemoryJournal()
    script = (calls(("pay", 50)), delegations("wire 40"), "done")
    agent = agent_of(paid, *script, tools=[worker(paid)], journal=journal)
    agent.run("go", run_id="r")
    more = [ChatMessage.from_user("more")]

    later = Runs(journal, agent.spec).fork("r", messages=more)
    stop = stopped(agent_of(paid, calls(("pay", 20)), tools=[worker(paid)]), snapshot=later)
    places = range(1, len(journal.read("r")) + 1)
    early = [Runs(journal, agent.spec).at("r", place).spent for place in places]

    assert paid == [50, 40]
    assert stop.pending[0].reason == "amount 20 on top of 90 is over 100"
    assert [one.get("amount", 0) for one in early if one] == sorted(
        one["amount"] for one in early if one
    )
    assert early[0] == {}


def test_another_process_goes_on_with_what_was_spent(tmp_path: Any) -> None:
    """From its journal, or from a snapshot as text; a replay makes the same run of it."""
    paid: Paid = []
    script = (delegations("pay 60"), delegations("wire 60"))
    journal = SQLiteJournal(tmp_path / "runs.db")
    agent = agent_of(paid, *script, tools=[worker(paid)], journal=journal)
    stop = stopped(agent, "go", run_id="r")
    text = stop.snapshot.to_json()
    agent.decide("r", stop.pending[0].confirm())

    fresh = SQLiteJournal(tmp_path / "runs.db")
    other = agent_of(paid, calls(("pay", 1)), tools=[worker(paid)], journal=fresh)
    with pytest.raises(HITLBreakpointException) as raised:
        other.resume("r")
    stored = Runs(fresh, other.spec).at("r")
    again = stopped(agent_of(paid, tools=[worker(paid)]), snapshot=text)

    assert paid == [60, 60]
    assert raised.value.pending[0].reason == "amount 1 on top of 120 is over 100"
    assert stored.spent == raised.value.result.run.spent == {"amount": 121.0}
    assert again.pending[0].reason == stop.pending[0].reason


def test_the_next_run_of_a_thread_goes_on_with_it() -> None:
    """And a run behind a result; what was left out of the conversation was spent all the same."""
    paid: Paid = []
    journal = MemoryJournal()
    first = agent_of(paid, calls(("pay", 80)), "done", journal=journal).run("go", thread_id="t")
    shorter = {"hooks": [keep_last_messages(1)]}

    of_thread = stopped(agent_of(paid, calls(("wire", 30)), journal=journal), "go", thread_id="t")
    behind = stopped(agent_of(paid, calls(("wire", 30)), **shorter), "go", after=first)

    for stop in (of_thread, behind):
        assert stop.pending[0].reason == "amount 30 on top of 80 is over 100"


def test_a_call_that_was_stopped_has_spent_nothing() -> None:
    """One that a human has rejected, answered, or changed to less; one that has failed has."""
    paid: Paid = []
    script = (calls(("pay", 90)), calls(("pay", 80)), calls(("pay", 80)), calls(("pay", 80)))
    agent = agent_of(paid, *script, calls(("wire", 5)), "done", journal=MemoryJournal())
    answers: list[Callable[[PendingCall], ToolExecutionDecision]] = [
        lambda call: call.reject(),
        lambda call: call.respond("by hand"),
        lambda call: call.modify({"amount": 5}),
    ]
    stopped(agent, "go", run_id="r")
    for answer in answers:
        (call,) = agent.pending("r")
        assert call.reason == "amount 80 on top of 90 is over 100"
        agent.decide("r", answer(call))
        if answer is not answers[-1]:
            with pytest.raises(HITLBreakpointException):
                agent.resume("r")

    assert agent.resume("r").run.spent == {"amount": 100.0}
    assert paid == [90, 5, 5]


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_call_that_waits_when_its_run_is_cancelled_has_spent_nothing(*, is_inside: bool) -> None:
    """The thread has that amount yet; what was paid before stays spent, whoever has paid it."""
    paid: Paid = []
    journal = MemoryJournal()
    task = delegations("pay 60, wire 80") if is_inside else calls(("pay", 60), ("wire", 80))
    agent = agent_of(paid, task, tools=[worker(paid)], journal=journal)
    stopped(agent, "go", run_id="r", thread_id="t")

    agent.cancel("r", "enough")
    after = agent_of(paid, calls(("pay", 40)), "done", tools=[worker(paid)], journal=journal)

    assert after.run("go", thread_id="t").run.spent == {"amount": 100.0}
    assert paid == [60, 40]


def test_a_yes_that_expires_inside_gives_back_what_it_would_have_spent() -> None:
    """Also where that is only found when the run is taken up again."""
    paid: Paid = []
    clock = ManualClock(100)
    asking = WithQuestionOptions(HUNDRED, expires_s=10)
    script = (delegations("pay 500"), calls(("wire", 90)), "done")
    agent = agent_of(
        paid, *script, tools=[worker(paid, policy=asking)], journal=MemoryJournal(), clock=clock
    )
    stopped(agent, "go", run_id="r")
    clock.advance(11)

    assert agent.resume("r").run.spent == {"amount": 90.0}
    assert paid == [90]


COMBINED = [
    NeverAskPolicy() | HUNDRED,
    HUNDRED & (AlwaysAskPolicy() | NeverAskPolicy()),
    AllOf([HUNDRED, NeverAskPolicy()]) | HUNDRED,
    ~~HUNDRED,
    WithQuestionOptions(HUNDRED, reveals=()),
    WithApprovers(HUNDRED),
]


@pytest.mark.parametrize("policy", COMBINED, ids=[f"{n}" for n in range(len(COMBINED))])
def test_a_budget_counts_whatever_it_is_combined_with(policy: Any) -> None:
    """Also side by side, in agents of their own."""
    paid: Paid = []
    tool = worker(paid, policy=policy)

    stop = stopped(agent_of(paid, delegations(*["pay 60"] * 3), tools=[tool]), "go")

    assert paid == [60]
    assert amounts(stop) == [60, 60]


def test_a_slow_policy_is_not_asked_twice_about_the_same_money() -> None:
    """One that takes its time judges one call after another: each sees those before."""
    paid: Paid = []

    class Slow:
        """Lets others go on while it thinks."""

        budgets = ("amount",)

        def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Awaitable[Verdict]:
            async def later() -> Verdict:
                await asyncio.sleep(0)
                return HUNDRED(call, tool, run)

            return later()

    make: Callable[[], Any] = Slow
    agents = [worker(paid, policy=make(), name=f"worker{n}") for n in range(3)]
    handed = [delegations("pay 60", name=one.name).tool_calls[0] for one in agents]
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=handed)),
        tools=agents,
    )
    with pytest.raises(HITLBreakpointException) as raised:
        asyncio.run(agent.run_async("go"))

    assert paid == [60]
    assert amounts(raised.value) == [60, 60]


@pytest.mark.parametrize("on_unknown", ["ask", "rerun"])
def test_what_a_crash_has_left_may_have_been_spent(on_unknown: Any) -> None:
    """And what runs again may spend it once more, whoever says what to the question."""
    paid: Paid = []
    journal = MemoryJournal()
    options: dict[str, Any] = {"on_unknown": on_unknown}
    agent_of(paid, calls(("pay", 60)), "done", journal=journal, **options).run("go", run_id="r")
    entries = journal.read("r")
    begun = next(n for n, one in enumerate(entries) if one.kind == "ToolStarted") + 1
    cut = MemoryJournal()
    cut.append("r", entries[:begun])
    agent = agent_of(paid, calls(("wire", 50)), journal=cut, **options)

    with pytest.raises(HITLBreakpointException) as raised:
        agent.resume("r")
    (call,) = raised.value.pending
    agent.decide("r", call.reject())
    with pytest.raises(HITLBreakpointException) as raised:
        agent.resume("r")

    assert raised.value.pending[0].reason == "amount 50 on top of 60 is over 100"
    assert paid == [60]


def test_a_judgement_that_is_owed_again_is_not_dropped_for_the_one_before() -> None:
    """Turns change while agents work side by side: the new one has the old one's key."""
    spec = agent_of([], "done").spec
    begun = start(spec, [ChatMessage.from_user("go")], run_id="r")
    run = step(spec, begun, ModelReplied(1, 1, ChatReply(calls(("pay", 5)))))
    (dropped,), (owed,) = due(spec, run), due(spec, run)
    assert isinstance(dropped, Judge)

    async def work() -> list[bool]:
        flights: dict[Any, Any] = {asyncio.Future(): owed}
        return [bool(_working_on([effect], flights)) for effect in (dropped, owed)]

    assert dropped.key == owed.key
    assert asyncio.run(work()) == [False, True]


@pytest.mark.parametrize("backoff_s", [0, 5])
@pytest.mark.parametrize("fails_by", ["fault", "time"])
def test_each_attempt_counts_as_it_may_have_paid(backoff_s: float, fails_by: str) -> None:
    """What `retries` begin again is asked about once it is over the budget; one yes is for all."""
    spec, paid = (
        Agent(
            chat_generator=ScriptedChatGenerator(),
            tools=tools([], retries=Retries(3, backoff_s=backoff_s), timeout_s=10),
            confirmation_strategies={"pay": HUNDRED},
        ).spec,
        list[float](),
    )
    run = step(spec, start(spec, [], run_id="r"), ModelReplied(1, 1, ChatReply(calls(("pay", 60)))))
    ref, at = CallRef(1, 0), 0.0

    def fail(run: Run[Any], attempt: int, at: float) -> Run[Any]:
        run = step(spec, run, ToolStarted(ref, attempt, at))
        paid.append(float(run.spent["amount"]))
        fault = ToolFault("raised", "it is busy", retryable=True)
        raised = ToolRaised(ref, attempt, fault, at, 0.5)
        run = step(spec, run, raised if fails_by == "fault" else ClockTicked(at + 10, 0.5))
        return step(spec, run, ClockTicked(at + 100))

    def judged(run: Run[Any]) -> Run[Any]:
        (owed,) = (one for one in due(spec, run) if isinstance(one, Judge))
        verdict = owed.policy(owed.call, owed.tool, owed.run)
        assert not isinstance(verdict, Awaitable)
        return step(spec, run, Judged(ref, verdict, binding=owed.binding))

    run = judged(fail(judged(run), 1, at))
    (asked,) = (one for one in due(spec, run) if isinstance(one, AskHuman))
    assert run.spent == {"amount": 120.0}
    assert asked.begins == 2
    assert "amount 60 on top of 60 is over 100" in asked.reason
    run = step(spec, run, HumanDecided(ref, asked.digest, Confirmed(), at=200.0))
    run = judged(fail(run, 2, 200.0))
    run = step(spec, run, ToolStarted(ref, 3, 400.0))
    assert run.spent == {"amount": 180.0}
    assert paid == [60.0, 120.0]


def test_what_is_too_much_to_add_up_is_over_the_budget() -> None:
    """And is spent, if somebody says yes."""
    call, tool = ToolCall("pay", {"amount": 10**400}), tools([])[0]
    said = HUNDRED(call, tool, start(AgentSpec(State({})), [], run_id="r"))
    assert isinstance(said, Ask)
    assert said.spends == {"amount": 1e300}


@pytest.mark.parametrize("huge", [10**20, 10**300])
def test_a_huge_amount_that_is_refused_gives_nothing_back_but_itself(huge: int) -> None:
    """A sum of floats forgets what was there beside it: the budget would be empty again."""
    paid: Paid = []
    journal = MemoryJournal()
    script = (calls(("pay", 100)), calls(("pay", huge)), calls(("pay", 100)), "done")
    agent = agent_of(paid, *script, journal=journal)

    result = agent.run("go", run_id="r", raise_at_break_point=False)
    for _ in range(2):
        (call,) = result.pending
        agent.decide("r", call.reject("Too much."))
        result = agent.resume("r", raise_at_break_point=False)

    assert result.text == "done"
    assert paid == [100]


@pytest.mark.parametrize("retries", [0, 3])
def test_what_the_tool_itself_knows_no_outcome_of_may_have_been_spent(retries: int) -> None:
    """Begun again, it counts once more, and is asked about once that is over the budget."""
    paid: Paid = []

    def pay(amount: int) -> str:
        paid.append(amount)
        raise OutcomeUnknownError("the bank has not answered")

    tool = create_tool_from_function(
        pay, description="", on_unknown="rerun", retries=Retries(retries, backoff_s=0)
    )
    agent = Agent(
        chat_generator=ScriptedChatGenerator(calls(("pay", 60))),
        tools=[tool],
        confirmation_strategies={"pay": HUNDRED},
    )

    stop = stopped(agent, "go")

    assert paid == [60]
    assert "amount 60 on top of 60 is over 100" in stop.pending[0].reason
    assert stop.result.run.spent == {"amount": 120}


def crashed(journal: MemoryJournal, policy: Any, *script: Any, paid: Paid) -> Agent[Any]:
    """An agent whose payment of 60 was begun by a process that has died; a human is asked."""

    def pay(amount: int) -> str:
        paid.append(amount)
        if len(paid) == 1:
            raise KeyboardInterrupt
        return "paid"

    agent = Agent(
        chat_generator=ScriptedChatGenerator(calls(("pay", 60)), *script),
        tools=[create_tool_from_function(pay, description="")],
        confirmation_strategies={"pay": policy},
        journal=journal,
    )
    with pytest.raises(KeyboardInterrupt):
        agent.run("go", run_id="r")
    agent.resume("r", raise_at_break_point=False)
    return agent


def test_what_a_call_takes_once_stays_taken_where_no_more_is_tried() -> None:
    """It was called, whatever has come of that."""
    paid: Paid = []
    agent = crashed(MemoryJournal(), AskAfter(1), calls(("pay", 61)), paid=paid)

    (call,) = agent.pending("r")
    agent.decide("r", call.reject())
    result = agent.resume("r", raise_at_break_point=False)

    assert paid == [60]
    assert [asked.arguments["amount"] for asked in result.pending] == [61]


def test_a_call_that_was_tried_is_not_told_as_never_run() -> None:
    """A policy forbids what a human has made of it, after a crash."""

    def not_ten(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        return Deny("ten is too little") if call.arguments["amount"] == 10 else Allow()

    agent = crashed(MemoryJournal(), not_ten, "done", paid=[])
    (call,) = agent.pending("r")
    agent.decide("r", call.modify({"amount": 10}))

    result = agent.resume("r")

    (told,) = (each for message in result.messages for each in message.tool_call_results)
    assert told.text == (
        "Tool 'pay' was tried, and not again: ten is too little. Its outcome is unknown."
    )


@pytest.mark.parametrize("on_unknown", ["ask", "rerun"])
def test_what_is_known_late_was_spent_once(on_unknown: Any) -> None:
    """The next attempt, about which a human was asked meanwhile, is none."""
    paid: Paid = []
    journal = MemoryJournal()
    begun, go = threading.Event(), threading.Event()

    def agent(*script: Any) -> Agent[Any]:
        def pay(amount: int) -> str:
            begun.set()
            assert go.wait(20)
            paid.append(amount)
            return "paid"

        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[create_tool_from_function(pay, description="", on_unknown=on_unknown)],
            confirmation_strategies={"pay": HUNDRED},
            journal=journal,
        )

    def drive() -> None:
        with suppress(JournalConflictError, ClaimLostError):
            agent(calls(("pay", 60)), "done").run("go", run_id="r")

    first = threading.Thread(target=drive)
    first.start()
    assert begun.wait(20)
    second = agent("done")
    asked = second.resume("r", take_over=True, raise_at_break_point=False)
    assert asked.run.spent == {"amount": 120}
    go.set()
    first.join()

    result = second.resume("r")

    assert paid == [60]
    assert result.run.spent == {"amount": 60}
