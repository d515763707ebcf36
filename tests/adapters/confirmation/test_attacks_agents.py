"""Attacks on a yes to an agent's call while the agent is at work: forks, copies, releases, time.

Each test is called by the promise that it attacks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.approvals import (
    Approvers,
    CallRule,
    DecisionRefusedError,
    PendingCall,
    Policy,
    Principal,
    RuleList,
    WithApprovers,
    WithQuestionOptions,
)
from detent.journals import Runs

PEOPLE = {"a": Principal("Ada", ["finance"]), "b": Principal("Bob", ["finance"])}
LOOK, PAY = ToolCall("look", {"order": "A7"}), ToolCall("pay", {"amount": 900})
ASK = AlwaysAskPolicy()


class Clock:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return self.time

    def wait(self, until: float, dropped: Any) -> None:
        """Time passes for nobody who waits."""
        dropped.wait()

    async def wait_async(self, until: float) -> None:
        """As `wait`."""
        await asyncio.Event().wait()


class Desk:
    """An agent whose calls of another one, the cashier, are guarded; each process has its own."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.journal = MemoryJournal()
        self.clock = Clock()

    def agent(
        self,
        *script: Any,
        guard: Policy | None = ASK,
        prompt: str = "You look orders up.",
        depth: int = 1,
        **options: Any,
    ) -> Agent[Any]:
        """The desk in one process: the cashier says what is in `script`."""

        @tool
        def look(order: str) -> str:
            """Look an order up."""
            self.done.append(order)
            return "found"

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            self.done.append(amount)
            return "paid"

        inner: Any = Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[look, pay],
            system_prompt=prompt,
            confirmation_strategies={"pay": ASK},
        )
        for level in range(depth, 0, -1):
            is_outermost, name = level == 1, "cashier" if level == depth else "clerk"
            more: dict[str, Any] = {"journal": self.journal, "clock": self.clock, **options}
            more = more if is_outermost else {}
            inner = Agent(
                chat_generator=ScriptedChatGenerator(*[calls(name)] * 9),
                tools=[AgentTool(inner, name=name, description="Works.")],
                confirmation_strategies={name: guard} if is_outermost and guard else {},
                **more,
            )
        agent: Agent[Any] = inner
        return agent

    def asked(self, agent: Agent[Any], run_id: str = "r") -> list[PendingCall]:
        """What people are asked once an agent has gone on with the run; nothing if it has ended."""
        try:
            agent.resume(run_id)
        except HITLBreakpointException as stopped:
            return list(stopped.pending)
        return []

    def confirm(self, run_id: str = "r", agent: Agent[Any] | None = None) -> None:
        """Say yes to all that waits."""
        agent = agent or self.agent()
        for call in agent.pending(run_id):
            agent.decide(run_id, call.confirm(by="Ada"))

    def at_work(self, **options: Any) -> None:
        """The cashier, whom Ada has let work, has looked and waits for a yes to paying."""
        self.agent(**options).run("Pay A7.", run_id="r", raise_at_break_point=False)
        self.confirm(agent=self.agent(**options))
        (call,) = self.asked(self.agent(LOOK, PAY, **options))
        assert (call.tool_name, self.done) == ("pay", ["A7"])


def calls(name: str) -> Callable[[Sequence[ChatMessage]], Any]:
    """A model that calls an agent, and is content with any answer."""

    def say(messages: Sequence[ChatMessage]) -> object:
        is_answered = messages[-1].tool_call_results
        return "Done." if is_answered else ToolCall(name, {"task": "Pay A7."})

    return say


def names(asked: Sequence[PendingCall]) -> list[str]:
    return [call.tool_name for call in asked]


def forked(desk: Desk, length: int | None = None, **options: Any) -> str:
    """A fork of the run, which has stopped at its first question."""
    agent = desk.agent(**options)
    snapshot = Runs(desk.journal, agent.spec).fork("r", length)
    try:
        return agent.run(snapshot=snapshot, run_id="fork").run.id
    except HITLBreakpointException as stopped:
        return stopped.snapshot.run_id


@pytest.mark.parametrize("depth", [1, 2])
def test_a_fork_goes_on_with_no_agent_by_the_yes_of_the_old_run(depth: int) -> None:
    """It asks about the agent's call first; then the agent goes on, and does nothing twice."""
    desk = Desk()
    desk.at_work(depth=depth)
    outermost = "cashier" if depth == 1 else "clerk"

    forked(desk, depth=depth)

    (call,) = desk.agent(depth=depth).pending("fork")
    assert call.tool_name == outermost
    assert "waits for this before it goes on" in call.reason
    desk.confirm("fork", desk.agent(depth=depth))
    assert names(desk.asked(desk.agent(depth=depth), "fork")) == ["pay"]
    desk.confirm("fork", desk.agent(depth=depth))
    assert not desk.asked(desk.agent("Paid.", depth=depth), "fork")
    assert desk.done == ["A7", 900]


def test_a_fork_has_the_agent_do_nothing_where_people_say_no() -> None:
    """What the agent has asked is gone with it."""
    desk = Desk()
    desk.at_work()
    forked(desk)
    (call,) = desk.agent().pending("fork")
    desk.agent().decide("fork", call.reject(by="Bob"))
    assert not desk.asked(desk.agent(), "fork")
    assert desk.done == ["A7"]
    assert desk.agent().pending("r"), "the old run waits as it did"


def test_a_fork_takes_two_people_again() -> None:
    """Approvers, roles and who has begun it count for the fork as for any run."""
    desk = Desk()
    guard = WithApprovers(ASK, Approvers(2, roles=("finance",), apart=True))
    options: dict[str, Any] = {
        "guard": guard,
        "approvers": lambda decision, question: PEOPLE.get(decision.credential),
    }
    agent = desk.agent(**options)
    agent.run("Pay A7.", run_id="r", started_by="Cyd", raise_at_break_point=False)
    for credential in "ab":
        (call,) = agent.pending("r")
        agent.decide("r", evolve(call.confirm(), credential=credential))
    assert names(desk.asked(desk.agent(LOOK, PAY, **options))) == ["pay"]

    forked(desk, **options)

    (call,) = agent.pending("fork")
    assert (call.tool_name, call.votes) == ("cashier", ())
    with pytest.raises(DecisionRefusedError):
        agent.decide("fork", evolve(call.confirm(), credential="m"))
    agent.decide("fork", evolve(call.confirm(), credential="a"))
    assert names(agent.pending("fork")) == ["cashier"]


def test_a_fork_from_before_the_agent_has_begun_begins_it_anew() -> None:
    """Its call has been let run, and the agent's model has said nothing yet."""
    desk = Desk()
    desk.at_work()
    kinds = [entry.kind for entry in desk.journal.read("r")]
    forked(desk, kinds.index("ToolStarted") + 1)
    assert names(desk.agent().pending("fork")) == ["cashier"]
    desk.confirm("fork")
    assert names(desk.asked(desk.agent(LOOK, PAY), "fork")) == ["pay"]
    assert desk.done == ["A7", "A7"]


def test_a_fork_asks_nothing_about_an_agent_that_nobody_guards() -> None:
    """What is guarded inside is asked about."""
    desk = Desk()
    desk.agent(LOOK, PAY, guard=None).run("Pay A7.", run_id="r", raise_at_break_point=False)
    forked(desk, guard=None)
    assert names(desk.agent(guard=None).pending("fork")) == ["pay"]


def test_a_copy_goes_on_with_no_agent_by_the_yes_of_the_run_that_the_journal_has() -> None:
    """Each copy asks anew."""
    desk = Desk()
    desk.agent().run("Pay A7.", run_id="r", raise_at_break_point=False)
    desk.confirm()
    with pytest.raises(HITLBreakpointException) as stopped:
        desk.agent(LOOK, PAY).resume("r")
    for run_id in ("one", "two"):
        with pytest.raises(HITLBreakpointException) as again:
            desk.agent().run(snapshot=stopped.value.snapshot, run_id=run_id)
        assert names(list(again.value.pending)) == ["cashier"]
    assert desk.done == ["A7"]


def test_a_yes_to_an_agent_counts_for_no_other_version_of_it() -> None:
    """A release changes the agent at work: the call is asked about again, with what has changed."""
    desk = Desk()
    desk.at_work()
    desk.confirm()  # to paying, by the old release

    (call,) = desk.asked(desk.agent(prompt="You wire money."))

    assert call.tool_name == "cashier"
    assert "the tool itself has changed" in call.changed
    assert desk.done == ["A7"]
    desk.agent(prompt="You wire money.").decide("r", call.confirm(by="Bob"))
    asked = desk.asked(desk.agent("Paid.", prompt="You wire money."))
    assert (names(asked), desk.done) == ([], ["A7", 900])


def test_an_agent_that_waits_for_its_call_is_given_no_other_task() -> None:
    """It works on the one that it has."""
    desk = Desk()
    desk.at_work()
    (call,) = desk.asked(desk.agent(prompt="You wire money."))
    changed = desk.agent(prompt="You wire money.")
    with pytest.raises(DecisionRefusedError, match="may not be changed"):
        changed.decide("r", call.modify({"task": "Pay Mallory."}))
    changed.decide("r", call.confirm(by="Bob"))
    assert names(desk.asked(changed)) == ["pay"]


def test_a_new_rule_stops_an_agent_at_work() -> None:
    """It goes on by nobody's word, and the model is told that it had begun."""
    desk = Desk()
    desk.at_work()
    desk.confirm()
    deny = RuleList([CallRule("deny", reason="no more agents")])
    result = desk.agent(guard=deny).resume("r")
    (told,) = (one.text for m in result.messages for one in m.tool_call_results)
    assert "was tried, and not again: rule 1: no more agents" in told
    assert desk.done == ["A7"]


def test_a_rule_that_is_new_is_asked_about_an_agent_at_work() -> None:
    """Nothing guarded the call when it began. A journal refuses such a release; nothing else."""
    desk = Desk()
    unguarded = desk.agent(LOOK, PAY, guard=None, journal=None)
    with pytest.raises(HITLBreakpointException) as stopped:
        unguarded.run("Pay A7.")
    with pytest.raises(HITLBreakpointException) as asked:
        desk.agent(journal=None).run(snapshot=stopped.value.snapshot)
    assert names(list(asked.value.pending)) == ["cashier"]


def test_an_agent_at_work_goes_on_unasked_by_the_same_rules() -> None:
    """Also when it is another process, and the time for a yes is over: it had begun by then."""
    desk = Desk()
    guard = WithQuestionOptions(ASK, expires_s=1)
    desk.at_work(guard=guard)
    desk.clock.time += 10
    assert names(desk.asked(desk.agent(guard=guard))) == ["pay"]


def test_a_yes_lapses_where_the_agent_has_not_begun_when_its_process_ends() -> None:
    """Its model had not answered yet; whoever goes on later asks anew."""
    desk, guard = Desk(), WithQuestionOptions(ASK, expires_s=1)

    def dies(messages: Sequence[ChatMessage]) -> object:
        raise KeyboardInterrupt

    for later, asked in ((0.5, ["pay"]), (2.5, ["cashier"])):
        run_id = f"after {later} s"
        desk.agent(guard=guard).run("Pay A7.", run_id=run_id, raise_at_break_point=False)
        desk.confirm(run_id, desk.agent(guard=guard))
        with pytest.raises(KeyboardInterrupt):
            desk.agent(dies, guard=guard).resume(run_id)
        desk.clock.time += later
        assert names(desk.asked(desk.agent(PAY, guard=guard), run_id)) == asked
