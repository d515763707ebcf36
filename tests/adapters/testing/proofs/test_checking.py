"""Claims about an agent are proved by every order of events, or refuted by a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest
from attrs import evolve, frozen

import detent.testing
from detent import (
    Agent,
    ChatMessage,
    Confirmed,
    Limits,
    Rejected,
    State,
    Tool,
    ToolCall,
    create_tool_from_function,
)
from detent.adapters.testing.proofs.checking import Proof, Refuted, check
from detent.adapters.testing.proofs.properties import (
    Property,
    Violation,
    always,
    always_ends_within,
    budget_never_exceeded,
    never_runs_unapproved,
)
from detent.adapters.testing.proofs.transitions import Small
from detent.adapters.testing.simulation.scenarios import Scenario
from detent.adapters.tools.output_type import OutputType
from detent.approvals import (
    Allow,
    AlwaysAskPolicy,
    Answers,
    Ask,
    Grant,
    WithQuestionOptions,
)
from detent.core.machine.delegation import ANSWER, PARAMETERS, runs_in
from detent.core.run.effects import Policy
from detent.core.run.run import AwaitingDecision, Running
from detent.core.run.spec import Delegate
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AskHuman,
    CallRef,
    Event,
    FrozenDict,
    HumanDecided,
    Judged,
    ModelReplied,
    Resumed,
    Run,
    RunTool,
    ToolStarted,
    due,
    run_to_json,
    start,
    step,
)
from detent.models import ChatReply, Usage
from detent.testing import ScriptedChatGenerator
from detent.testing import calls_of as calls_said


def look(city: str) -> str:
    """Look up the weather."""
    raise AssertionError("no tool is run")


def pay(amount: int) -> int:
    """Pay."""
    raise AssertionError("no tool is run")


def ask_much(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow | Ask:
    """Ask about large amounts only."""
    amount = call.arguments["amount"]
    assert isinstance(amount, int)
    return Ask() if amount >= 100 else Allow()


def always_ask(call: ToolCall, tool: Tool, run: Run[Any]) -> Ask:
    """Ask every time."""
    return Ask()


LAST = 2
"""The turn in which nothing may be asked again."""
LOOK = create_tool_from_function(look, on_unknown="rerun", retries=1, timeout_s=5)
PAY = create_tool_from_function(pay)


def spec_of(policy: Policy = always_ask, *tools: Tool, steps: int = 2) -> AgentSpec[State]:
    """An agent with a guarded payment."""
    return AgentSpec(
        state=State({"seen": {"type": str}}),
        tools=by_name(tools or (LOOK, PAY)),
        policies=FrozenDict({"pay": policy}),
        limits=Limits(steps),
    )


SPEC = spec_of()
REPLIED = ModelReplied(
    1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {"amount": 1})]))
)


def test_a_claim_is_proved() -> None:
    """And it is said how much was looked at."""
    look_again = create_tool_from_function(look, on_unknown="rerun")
    spec = spec_of(always_ask, look_again, PAY, steps=1)
    proof = check(spec, never_runs_unapproved("pay"), always_ends_within(1), turns=1)

    assert isinstance(proof, Proof)
    assert (proof.turns, proof.calls, proof.cut) == (1, 2, 0)
    assert proof.states > 1000
    assert proof.transitions > 4 * proof.states
    assert str(proof).startswith("never_runs_unapproved('pay'), always_ends_within(1): holds for")


def test_a_refutation_is_a_story_that_can_be_played() -> None:
    """It is as short as any, and its last run is what the claim denies."""
    with pytest.raises(Refuted, match=r"look runs for call .*, and nobody has approved") as caught:
        check(spec_of(), never_runs_unapproved("look"))

    scenario = caught.value.scenario
    assert caught.value.claim == "never_runs_unapproved('look')"
    assert [type(event).__name__ for event in scenario.events] == ["ModelReplied", "ToolStarted"]
    (effect, _) = due(scenario.spec, scenario.play())
    assert isinstance(effect, RunTool)
    assert effect.call.tool_name == "look"
    assert Scenario.from_json(scenario.spec, scenario.to_json()) == scenario


def test_a_policy_is_looked_at_with_the_arguments_that_one_gives() -> None:
    """One amount for which it does not ask is enough."""
    claim = never_runs_unapproved("pay")
    spec = spec_of(ask_much, PAY)

    check(spec, claim, calls=1, arguments={"pay": [{"amount": 100}, {"amount": 500}]})
    with pytest.raises(Refuted, match="'amount': 99"):
        check(spec, claim, calls=1, arguments={"pay": [{"amount": 100}, {"amount": 99}]})


def ask_by_the_last(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow | Ask:
    """A mistake: it looks at the last call of the reply, and not at its own."""
    amount = cast(int, run.slots[-1].call.arguments.get("amount", 0))
    return Ask() if amount > 50 else Allow()


def ask_unless_one_looks_next(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow | Ask:
    """A mistake: what is followed by a look is let run."""
    here = next(place for place, slot in enumerate(run.slots) if slot.call == call)
    after = [slot.call.tool_name for slot in run.slots[here + 1 :]]
    return Allow() if "look" in after else Ask()


@pytest.mark.parametrize("amounts", [(10, 100), (100, 10)])
def test_the_calls_of_a_reply_come_in_any_order(amounts: Sequence[int]) -> None:
    """Whatever the order in which their arguments are named."""
    claim = budget_never_exceeded(amount=50, tools=["pay"])
    arguments = {"pay": [{"amount": amount} for amount in amounts]}

    with pytest.raises(Refuted, match="makes 100 in all"):
        check(spec_of(ask_by_the_last, PAY), claim, turns=1, arguments=arguments)


@pytest.mark.parametrize("tools", [(LOOK, PAY), (PAY, LOOK)])
def test_the_tools_of_a_reply_come_in_any_order(tools: Sequence[Tool]) -> None:
    """Whatever the order in which the agent has them."""
    with pytest.raises(Refuted, match="nobody has approved that"):
        check(spec_of(ask_unless_one_looks_next, *tools), never_runs_unapproved("pay"), turns=1)


KINDS = [(1, 1.0), (1.0, 1), (1, True), (True, 1), (0.0, -0.0)]


@pytest.mark.parametrize(("first", "other"), KINDS)
@pytest.mark.parametrize("exact", [False, True])
def test_arguments_that_python_calls_equal_are_told_apart(
    first: object, other: object, *, exact: bool
) -> None:
    """As what a human says yes to is: a policy may look at the type, and so may a tool."""

    def ask_about_the_first(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow | Ask:
        return Ask() if repr(call.arguments["amount"]) == repr(first) else Allow()

    anything = Tool("pay", "", {"type": "object"}, print)
    arguments = {"pay": [{"amount": first}, {"amount": other}]}
    with pytest.raises(Refuted, match=f"'amount': {other}}}, and nobody has approved"):
        check(
            spec_of(ask_about_the_first, anything),
            never_runs_unapproved("pay"),
            turns=1,
            calls=1,
            arguments=arguments,
            exact=exact,
        )


@pytest.mark.parametrize(("first", "other"), KINDS)
def test_values_of_the_state_that_python_calls_equal_are_told_apart(
    first: object, other: object
) -> None:
    """They are read by policies, and by tools."""
    noting = Tool("note", "", {"type": "object"}, print, outputs_to_state={"seen": {}})
    state = State({"seen": {"type": object}})
    spec = AgentSpec(state, tools=by_name([noting]), limits=Limits(4))

    def does_not_end_with_it(run: Run[Any]) -> bool:
        return run.outcome is None or repr(run.state.read("seen")) != repr(other)

    with pytest.raises(Refuted, match="does_not_end_with_it does not hold"):
        check(spec, always(does_not_end_with_it), calls=1, results={"note": [first, other]})


def test_a_claim_of_ones_own() -> None:
    """Any function of a run."""

    def pays_after_looking(run: Run[Any]) -> bool:
        return "pay" not in run.tool_call_counts or "look" in run.tool_call_counts

    with pytest.raises(Refuted, match="pays_after_looking does not hold"):
        check(spec_of(), always(pays_after_looking))
    check(spec_of(), always(lambda run: run.turn <= 2, "two turns"), calls=1)


def test_what_tools_give_may_be_said() -> None:
    """Each value is looked at."""
    seen: set[object] = set()

    def notes(run: Run[Any]) -> bool:
        seen.add(run.state.read("seen"))
        return True

    noting = Tool("note", "", {"type": "object"}, print, outputs_to_state={"seen": {}})
    check(spec_of(always_ask, noting, PAY), always(notes), calls=1, results={"note": ["a", "b"]})

    assert seen == {None, "a", "b"}


def test_a_run_that_goes_on_too_long_is_found() -> None:
    """The limit is what ends it."""
    with pytest.raises(Refuted, match="there is a turn 2"):
        check(spec_of(steps=2), always_ends_within(1))


def test_a_budget_is_proved_and_refuted() -> None:
    """By the agent's own limits, at what each reply uses and costs."""
    claim = budget_never_exceeded(tokens=300, cost=3.0)
    spec = spec_of(always_ask, PAY, steps=9)
    tokens = evolve(spec, limits=Limits(9, max_tokens=300, final_answer=True))
    money = evolve(spec, limits=Limits(9, max_cost=3.0, price=lambda reply: 1.5))

    assert check(tokens, claim, turns=5, calls=1).cut == 0
    assert check(money, claim, turns=5, calls=1, usage=Usage(1, 1)).cut == 0
    with pytest.raises(Refuted, match="asked when 400 tokens are spent"):
        check(spec, claim, turns=3, calls=1)
    free = evolve(money, limits=evolve(money.limits, max_cost=99.0))
    with pytest.raises(Refuted, match=r"asked when 3\.0 are spent"):
        check(free, claim, turns=5, calls=1, usage=Usage(1, 1))


def test_an_answer_of_a_type_is_among_what_a_model_says() -> None:
    """As a text and by the tool that is offered for it, one that fits and one that does not."""
    seen: set[str] = set()

    def notes(run: Run[Any]) -> bool:
        seen.add(run.outcome.exit_reason if run.outcome else "")
        return True

    spec = evolve(spec_of(always_ask, PAY), output=OutputType(int, tries=1))
    check(spec, always(notes), calls=1)

    assert {"output", "output_tries"} <= seen


def test_what_lies_beyond_the_bound_is_counted() -> None:
    """A proof says how far it goes."""
    proof = check(spec_of(steps=4), always_ends_within(4), turns=1, calls=1)
    short = check(spec_of(steps=4), never_runs_unapproved("pay"), turns=1, calls=1)

    assert (proof.turns, proof.cut) == (4, 0)
    assert short.cut > 0
    assert "up to turn 1" in str(short)
    assert "to the end" in str(proof)


def test_runs_that_differ_in_what_was_said_alone_count_as_one() -> None:
    """Unless that is to be looked at as well."""
    some = check(spec_of(), always(lambda run: True, "nothing"), calls=1)
    more = check(spec_of(), always(lambda run: True, "nothing"), calls=1, exact=True)

    assert more.states > some.states


def test_an_agent_is_taken_as_well() -> None:
    """Its spec is what is checked."""
    agent = Agent(chat_generator=ScriptedChatGenerator(), tools=[LOOK])

    assert check(agent, always(lambda run: True, "nothing"), turns=1, calls=1).states > 10


class Deaf(Small):
    """A world in which no tool ever begins."""

    def events(self, run: Run[Any]) -> Iterator[Event]:
        """All but that."""
        return (event for event in super().events(run) if not isinstance(event, ToolStarted))


def asking_a_helper(inner: AgentSpec[State]) -> AgentSpec[State]:
    """An agent whose one tool is another agent."""
    function = {"source": ANSWER}
    helper = Delegate("helper", "helps", PARAMETERS, print, function, agent=inner)
    return AgentSpec(State({}), by_name([helper]))


def test_what_is_said_of_a_tool_is_said_of_the_agents_inside_as_well() -> None:
    """A guard inside is enough, and without one the scenario says in which agent it was."""
    guarded = asking_a_helper(spec_of())
    free = asking_a_helper(evolve(spec_of(), policies=FrozenDict()))

    assert check(guarded, never_runs_unapproved("pay"), turns=1, calls=1).cut > 0
    with pytest.raises(Refuted, match=r"(?s)pay runs for call.*in helper at call 1\.0: ToolSt"):
        check(free, never_runs_unapproved("pay"), turns=1, calls=1)


def test_a_run_that_cannot_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only one that is too long: one from which there is no way out but to cancel it."""
    monkeypatch.setattr("detent.adapters.testing.proofs.checking.Small", Deaf)

    with pytest.raises(Refuted, match=r"(?s)no end can be reached.*call +look.*\[Ready\]"):
        check(spec_of(), always_ends_within(3), calls=1)


def test_a_run_that_is_stored_as_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a crash leaves is part of what is looked at."""
    monkeypatch.setattr(
        "detent.adapters.testing.proofs.checking.run_from_json", lambda spec, data: "another run"
    )

    with pytest.raises(Refuted, match="a stored run is the run is refuted"):
        check(spec_of(), always_ends_within(2), calls=1)


def test_an_approval_holds_for_one_question() -> None:
    """After a crash the human is asked anew, and an answer to the old question is none."""
    replied = step(SPEC, start(SPEC, [], run_id="r"), REPLIED)
    asked = step(SPEC, replied, Judged(CallRef(1, 0), Ask()))
    (effect,) = due(SPEC, asked)
    assert isinstance(effect, AskHuman)
    yes = HumanDecided(effect.ref, effect.digest, Confirmed())
    approved = step(SPEC, asked, yes)
    begun = step(SPEC, approved, ToolStarted(effect.ref, 1))
    again = step(SPEC, begun, Resumed("p2"))
    judge = never_runs_unapproved("pay").judge

    memory = judge(None, asked, yes, approved)
    place, call = ((), CallRef(1, 0)), ToolCall("pay", {"amount": 1}, "call_1_0")
    assert cast(Any, memory).calls == frozenset({(place, call)})
    assert judge(memory, approved, ToolStarted(effect.ref, 1), begun) == memory
    memory = judge(memory, begun, Resumed("p2"), again)
    assert cast(Any, memory).calls == frozenset()
    assert isinstance(judge(memory, again, yes, begun), Violation)


def nothing(run: Run[Any]) -> bool:
    """Say nothing."""
    return True


@pytest.mark.parametrize(
    ("claim", "given", "told"),
    [
        (never_runs_unapproved("pya"), {}, r"about \['pya'\]; the agent has \['look', 'pay'\]"),
        (always(nothing), {"arguments": {"pya": [{}]}}, r"arguments are given for \['pya'\]"),
        (always(nothing), {"results": {"pya": [1]}}, r"results are given for \['pya'\]"),
        (always(nothing), {"arguments": {"pay": [{"sum": 1}]}}, "do not fit tool 'pay': 'sum' is"),
    ],
)
def test_a_world_in_which_nothing_could_happen_is_refused(
    claim: Property, given: dict[str, Any], told: str
) -> None:
    """A claim would hold in it, and nobody has proved anything."""
    tools = [
        Tool(name, "", {"type": "object", "additionalProperties": False}, print)
        for name in ("look", "pay")
    ]
    with pytest.raises(ValueError, match=told):
        check(AgentSpec(State({}), by_name(tools)), claim, **given)


def test_humans_say_that_a_yes_counts_for_more_where_they_may() -> None:
    """Such a yes is one to each call that it covers; a question that takes none is always put."""

    def ask_each(call: ToolCall, tool: Tool, run: Run[Any]) -> Ask:
        return Ask(answers=Answers(remember="call"))

    def has_no_grants(run: Run[Any]) -> bool:
        return not run.grants

    paying = evolve(SPEC, tools=by_name([PAY]))  # what ends its process asks by itself
    freely, each = (
        evolve(paying, policies=FrozenDict(pay=policy)) for policy in (always_ask, ask_each)
    )
    claims = (never_runs_unapproved("pay"), always(has_no_grants))
    alone = check(freely, *claims, calls=1)
    assert "where each yes is to one call" in str(alone)
    assert "each yes" not in str(check(each, *claims, calls=1, remember=True))
    named = WithQuestionOptions(AlwaysAskPolicy(), answers=Answers(remember="call"))
    assert 'answers=Answers(remember="call"))' in str(never_runs_unapproved.__doc__)
    recommended = evolve(paying, policies=FrozenDict(pay=named))
    assert check(recommended, *claims, calls=1, remember=True).states
    more = check(freely, claims[0], calls=1, remember=True)
    assert more.states > alone.states
    with pytest.raises(Refuted, match="has_no_grants"):
        check(freely, *claims, calls=1, remember=True)


def test_a_grant_that_covers_another_tool_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim counts by itself what a human has said yes to."""
    monkeypatch.setattr(Grant, "fits", lambda *_: True)
    spec = evolve(SPEC, policies=FrozenDict(pay=always_ask, look=always_ask))

    with pytest.raises(Refuted, match="nobody has approved"):
        check(spec, never_runs_unapproved("look"), calls=1, remember=True)


def test_a_world_in_which_nothing_happens_proves_nothing() -> None:
    """No call, no turn, or a tool that nobody lets run."""
    claim = never_runs_unapproved("pay")
    with pytest.raises(ValueError, match="calls=0: a model that calls no tool proves nothing"):
        check(SPEC, claim, calls=0)
    with pytest.raises(ValueError, match="ends by max_agent_steps before anything happens"):
        check(spec_of(steps=0), claim)
    inner = AgentSpec(State({}), by_name([PAY]), limits=Limits(0))
    tool = Delegate("ask", "", PARAMETERS, lambda task: {ANSWER: task}, agent=inner)
    with pytest.raises(ValueError, match=r"holds because \['pay'\] never ran"):
        check(AgentSpec(State({}), by_name([tool]), limits=Limits(1)), claim)


def test_a_function_by_another_name_is_the_same_function() -> None:
    """What is claimed of one name alone says nothing of what it does."""
    again = evolve(PAY, name="transfer")
    spec = spec_of(always_ask, PAY, again)
    with pytest.raises(ValueError, match=r"a function that is also called \['transfer'\]"):
        check(spec, never_runs_unapproved("pay"))
    with pytest.raises(Refuted, match="transfer runs"):
        check(spec, never_runs_unapproved("pay"), never_runs_unapproved("transfer"))


def test_a_budget_is_that_of_agents_inside_as_well() -> None:
    """Their models are asked from the same budget."""
    claim = budget_never_exceeded(tokens=300)
    inner = AgentSpec(State({}), by_name([LOOK]), limits=Limits(3))
    tool = Delegate("ask", "", PARAMETERS, lambda task: {ANSWER: task}, agent=inner)
    spec = AgentSpec(State({}), by_name([tool]), limits=Limits(1))

    with pytest.raises(Refuted, match="asked when 400 tokens are spent"):
        check(spec, claim, calls=1)
    limited = evolve(spec, limits=Limits(1, max_tokens=300))
    assert check(limited, claim, calls=1).claims == (claim.name,)


def test_what_is_no_claim_is_refused() -> None:
    """With what to write instead."""
    nobody: Any = nothing
    with pytest.raises(TypeError, match=r"is no Claim; always\(function\) makes one"):
        check(AgentSpec(State({})), nobody)
    with pytest.raises(TypeError, match="always takes a function of a run, not 'nothing'"):
        always(cast(Any, "nothing"))
    with pytest.raises(TypeError, match="what is wanted is an Agent or its spec, not 3"):
        check(cast(Any, 3), always(nothing))
    with pytest.raises(ValueError, match="says nothing without tokens=, cost= or amount="):
        budget_never_exceeded()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_what_goes_by_past_rejections_is_seen(*, inside: bool, exact: bool) -> None:
    """Nobody is asked again about what people refuse; who has not refused is."""
    limits = Limits(2, max_rejections=1)
    spec = evolve(spec_of(always_ask, PAY), limits=limits)
    if inside:
        spec = asking_a_helper(spec)

    def pays_once(run: Run[Any]) -> bool:
        runs = [one for _, one in runs_in(run)]
        at_work = any(isinstance(slot.status, Running) for one in runs for slot in one.slots)
        return not (at_work and any(one.tool_call_counts.get("pay", 0) > 1 for one in runs))

    with pytest.raises(Refuted, match="pays_once does not hold"):
        check(spec, always(pays_once), turns=2, calls=1, exact=exact)


@pytest.mark.parametrize("exact", [False, True])
def test_what_holds_by_past_rejections_alone_is_proved(*, exact: bool) -> None:
    """Where nobody is asked a second time, nobody is."""
    limits = Limits(2, max_tool_rejections=1)
    spec = evolve(spec_of(always_ask, PAY), limits=limits)

    def judge(
        memory: int | None, before: Run[Any], event: Event, after: Run[Any]
    ) -> int | Violation:
        has_refused = isinstance(event, HumanDecided) and isinstance(event.decision, Rejected)
        refusals = (memory or 0) + has_refused
        waits = any(isinstance(slot.status, AwaitingDecision) for slot in after.slots)
        wrong = waits and refusals and after.turn == LAST
        return Violation("somebody is asked again") if wrong else refusals

    assert check(spec, Property("asked once", judge), calls=1, exact=exact).cut == 0


def test_a_policy_or_claim_that_reads_the_past_needs_exact() -> None:
    """Runs that differ in what was said or decided count as one without it."""

    def once(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow | Ask:
        return Ask() if run.decisions else Allow()

    def has_said_little(run: Run[Any]) -> bool:
        return len(run.messages) < 100

    with pytest.raises(ValueError, match=r"the policy of 'pay' reads \['decisions'\].*exact=True"):
        check(spec_of(once), always_ends_within(2))
    with pytest.raises(ValueError, match=r"has_said_little reads \['messages'\]"):
        check(spec_of(), always(has_said_little))
    assert check(spec_of(once), always(has_said_little), turns=1, calls=1, exact=True).states


def test_what_reads_the_conversation_by_a_function_of_ours_is_refused() -> None:
    """By whatever name it goes there, and however far inside the conversation is read."""

    def by_calls(call: Any, tool: Any, run: Run[Any]) -> Allow | Ask:
        return Allow() if calls_said(run, "pay") else Ask()

    def has_no_lines(run: Run[Any]) -> bool:
        return not detent.testing.transcript(run)

    with pytest.raises(ValueError, match=r"the policy of 'pay' reads \['messages'\].*exact=True"):
        check(spec_of(by_calls), never_runs_unapproved("pay"), turns=1)

    def is_short(run: Run[Any]) -> bool:
        return len(str(run_to_json(spec, run))) < 10**6

    spec = spec_of()
    for claim in (has_no_lines, is_short):
        with pytest.raises(ValueError, match=rf"{claim.__name__} reads .*exact=True"):
            check(spec, always(claim), turns=1)
    assert check(spec_of(), always(lambda run: run.calls < 9), turns=1, calls=1).states


def test_a_proof_says_that_arguments_are_made_up() -> None:
    """It is of these alone."""
    spec = spec_of(always_ask, PAY)
    made_up = check(spec, never_runs_unapproved("pay"), turns=1, calls=1)
    assert "pay with the arguments of one made-up example" in str(made_up)
    assert "one made-up result each of pay" in str(made_up)
    examples: dict[str, Any] = {"arguments": {"pay": [{"amount": 7}]}, "results": {"pay": [1]}}
    named = check(spec, never_runs_unapproved("pay"), turns=1, calls=1, **examples)
    assert "made-up" not in str(named)


def test_a_policy_that_reads_the_conversation_as_a_value_of_the_state_needs_exact() -> None:
    """By the name of its key, in a text."""

    def once(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow | Ask:
        return Ask() if len(run.state.read("messages")) > 9 else Allow()

    with pytest.raises(ValueError, match=r"the policy of 'pay' reads \['messages'\]"):
        check(spec_of(once), always_ends_within(2))


def test_what_an_agent_inside_asks_costs_what_the_run_around_it_says() -> None:
    """As in a run: it has no price of its own."""
    inner = AgentSpec(State({}), by_name([LOOK]), limits=Limits(3))
    spec = evolve(asking_a_helper(inner), limits=Limits(1, price=lambda reply: 1.0))
    with pytest.raises(Refuted, match=r"asked when 2\.0 are spent"):
        check(spec, budget_never_exceeded(cost=2.0))


@frozen
class User:
    """Somebody who is known."""

    login: str


USERS = {"ann": User("ann")}


def test_a_tool_may_make_and_read_values_of_attrs() -> None:
    """Their code finds fields by their names, and calls nothing else of anybody's."""

    def known(login: str) -> str:
        """Look somebody up."""
        return USERS[login].login

    def made(login: str) -> str:
        """Make somebody."""
        return evolve(User(login), login="bob").login

    for function in (known, made):
        spec = evolve(SPEC, tools=by_name([PAY, create_tool_from_function(function)]))
        assert check(
            evolve(spec, policies=FrozenDict(pay=always_ask)),
            never_runs_unapproved("pay"),
            calls=1,
        )
