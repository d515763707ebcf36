"""What fits a decision no longer, and what is said of it."""

from __future__ import annotations

import gc
from time import process_time
from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, State, Tool, ToolCall
from detent.approvals import Allow, Ask, Deny, Principal, pending
from detent.core.control.decisions import apply_decisions
from detent.core.machine import binding
from detent.core.machine.binding import (
    UNASKED,
    binding_of,
    grant_for,
    inputs_in,
    is_of_nobody,
    outdated_questions,
)
from detent.core.run.approval import Binding, Confirmed, DecisionRecord
from detent.core.run.refs import CallRef
from detent.core.run.run import Acting, AwaitingDecision, Ready, Run
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentRef,
    AgentSpec,
    AskHuman,
    CallRewritten,
    GrantRevoked,
    HumanDecided,
    Judge,
    Judged,
    ModelReplied,
    Resumed,
    RunTool,
    ToolFault,
    ToolRaised,
    ToolStarted,
    due,
    start,
    step,
    wrap_event,
)
from detent.models import ChatReply
from tests.core.asking import PAY, agent_tool, called, judged, spec_of, waiting

FIRST = CallRef(1, 0)
FIVE = {"to": "Ann", "amount": 5}


class Account:
    """Has no form in JSON."""


def test_what_has_no_stored_form_is_bound_by_its_type() -> None:
    """No process could compare it."""
    tool = Tool("pay", "", {"type": "object"}, lambda to: to, inputs_from_state={"account": "to"})
    state = State({"account": {"type": Account}})
    run = Run("r", state.set("account", Account()), nonce="n")
    same = Run("r", state.set("account", Account()), nonce="n")

    assert inputs_in(run, tool) == {"to": "<Account>"}
    assert inputs_in(run, tool, ()) == {}
    assert inputs_in(Run("r", state), tool) == {}
    call = ToolCall("pay", {})
    assert binding_of(run, call, tool) == binding_of(same, call, tool)


@pytest.mark.parametrize(
    "late",
    [
        Judged(FIRST, Allow()),
        Judged(FIRST, Allow(), binding=Binding("x")),
        CallRewritten(FIRST, ToolCall("pay", {"to": "Eve", "amount": 1}, "c0")),
    ],
)
def test_a_call_that_has_begun_is_judged_no_more(late: Any) -> None:
    """What comes late changes nothing, and neither does what is of a turn that has passed."""
    spec = spec_of(lambda call, tool, run: Allow())
    run = waiting(spec, FIVE)
    begun = step(spec, run, ToolStarted(FIRST, 1))

    assert step(spec, begun, late) is begun
    assert step(spec, begun, evolve(late, ref=CallRef(0, 0))) is begun


def test_a_yes_that_has_lapsed_is_not_heard_again() -> None:
    """Nothing has changed but the time: the same word, sent twice, is no answer to the next."""
    spec = spec_of(lambda call, tool, run: Ask("sure?", expires_s=10.0))
    run = waiting(spec, FIVE, at=0.0)
    yes = HumanDecided(FIRST, question_in(spec, run).digest, Confirmed(), at=5.0)
    lapsed = step(spec, step(spec, run, yes), ToolStarted(FIRST, 1, at=20.0))
    again = judged(spec, lapsed, 20.0)

    assert question_in(spec, again).digest != yes.digest
    assert step(spec, again, yes) is again
    new = evolve(yes, digest=question_in(spec, again).digest, at=21.0)
    assert isinstance(step(spec, again, new).slots[0].status, Ready)


def test_a_yes_to_one_attempt_is_not_heard_again_for_the_next() -> None:
    """The tool failed, and the human is asked about the second attempt."""
    spec = spec_of(lambda call, tool, run: Ask("sure?", attempts=1))
    spec = evolve(spec, tools=evolve_tools(spec, evolve(PAY, retries=3)))
    run = waiting(spec, FIVE)
    yes = HumanDecided(FIRST, question_in(spec, run).digest, Confirmed())
    fault = ToolFault("raised", "broke off", retryable=True)
    begun = step(spec, step(spec, run, yes), ToolStarted(FIRST, 1))
    again = judged(spec, step(spec, begun, ToolRaised(FIRST, 1, fault)))

    assert step(spec, again, yes) is again
    assert question_in(spec, again).digest != yes.digest


def question_in(spec: Any, run: Run[Any]) -> AskHuman:
    """What a human is asked."""
    (question,) = (one for one in due(spec, run) if isinstance(one, AskHuman))
    return question


def crashed(spec: Any) -> Run[Any]:
    """A run whose process ended in a call that its policy had let run."""
    run = step(spec, waiting(spec, FIVE), ToolStarted(FIRST, 1))
    return step(spec, run, Resumed("p2"))


@pytest.mark.parametrize("verdict", [Allow(), Ask("it costs money", remember="tool")])
def test_no_policy_answers_the_question_after_a_crash(verdict: Any) -> None:
    """Not even when it is judged anew, as the tool is another one by now."""
    spec = spec_of(lambda call, tool, run: Allow())
    later = evolve(spec, tools=evolve_tools(spec, evolve(PAY, description="Pay twice.")))
    (judgement,) = due(later, crashed(spec))
    assert isinstance(judgement, Judge)

    run = step(later, crashed(spec), Judged(FIRST, verdict, binding=judgement.binding))

    (question,) = due(later, run)
    assert isinstance(question, AskHuman)
    assert question.change is not None
    assert "nobody knows whether it was carried out" in question.reason
    assert "the tool itself has changed" in question.change.text
    assert question.ask.remember == "call"


def evolve_tools(spec: Any, tool: Tool) -> Any:
    return type(spec.tools)({**spec.tools, tool.name: tool})


def test_a_call_that_is_denied_after_a_crash_is_of_unknown_outcome() -> None:
    """The model is not told that it was not run."""
    spec = spec_of(lambda call, tool, run: Allow())
    later = evolve(spec, tools=evolve_tools(spec, evolve(PAY, description="Pay twice.")))
    (judgement,) = due(later, crashed(spec))
    assert isinstance(judgement, Judge)

    run = step(later, crashed(spec), Judged(FIRST, Deny(), binding=judgement.binding))

    (result,) = run.messages[-1].tool_call_results
    assert "unknown: a policy forbids it" in result.text


def test_an_agent_without_the_policy_judges_what_was_cleared_for_another_tool() -> None:
    """Nothing that was approved runs as something else, whoever goes on with it."""
    spec = spec_of(lambda call, tool, run: Allow())
    run = waiting(spec, FIVE)
    assert isinstance(run.phase, Acting)
    (slot,) = run.slots
    assert isinstance(slot.status, Ready)
    edited = evolve(slot, call=evolve(slot.call, arguments={**FIVE, "to": "Eve"}))
    other = evolve(run, phase=evolve(run.phase, slots=(edited,)))

    (judgement,) = due(spec, other)

    assert isinstance(judgement, Judge)
    after = step(spec, other, Judged(FIRST, Ask(), binding=judgement.binding))
    assert isinstance(after.slots[0].status, AwaitingDecision)


def test_a_number_of_attempts_is_one_at_least() -> None:
    """None is as many as the tool tries."""
    with pytest.raises(ValueError, match="'attempts' is a number above 0, got 0"):
        Ask(attempts=0)


def test_many_long_calls_are_read_once_each_not_at_each_event() -> None:
    """What is owed is asked for at each event: all of 128 calls would be read 128 times."""
    long = {"to": "x" * 80_000, "amount": 5}
    began = process_time()
    run = waiting(spec := spec_of(lambda call, tool, run: Ask()), *[long] * 128)
    once_s = process_time() - began
    owed = [due(spec, run) for _ in range(200)]

    assert all(isinstance(one, AskHuman) for one in owed[-1])
    assert process_time() - began < 20 * once_s


def test_what_is_known_of_a_call_is_forgotten_with_it() -> None:
    """Nothing is kept for a call or a tool that nobody has any more."""
    gc.collect()
    before = len(binding.arguments_digest)
    call = ToolCall("pay", FIVE)
    binding.arguments_digest(call, PAY)
    assert len(binding.arguments_digest) == before + 1
    del call
    gc.collect()

    assert len(binding.arguments_digest) <= before


@pytest.mark.parametrize("is_revoked", [True, False])
def test_a_call_that_a_revoked_grant_let_run_is_judged_again(is_revoked: bool) -> None:  # noqa: FBT001 - parametrised
    """It has not begun: what was confirmed for another call lets nothing begin any more."""
    spec = spec_of()
    run = waiting(spec, FIVE, FIVE)
    asked = [one for one in due(spec, run) if isinstance(one, AskHuman)]
    run = step(spec, run, HumanDecided(FIRST, asked[0].digest, Confirmed("arguments")))
    assert [type(one) for one in due(spec, run)] == [RunTool, RunTool]
    if is_revoked:
        run = step(spec, run, GrantRevoked(FIRST))

    owed = {one.ref: type(one) for one in due(spec, run) if isinstance(one, RunTool | Judge)}

    assert owed == {FIRST: RunTool, CallRef(1, 1): Judge if is_revoked else RunTool}
    for asked_again in [one for one in due(spec, run) if isinstance(one, Judge)]:
        run = step(spec, run, Judged(asked_again.ref, Ask(), binding=asked_again.binding))
    assert isinstance(run.slots[1].status, AwaitingDecision if is_revoked else Ready)


def test_a_question_of_another_release_is_named_with_what_has_changed() -> None:
    """Nobody is asked by it any more, and it is not lost to whoever looks at what waits."""
    spec = spec_of()
    run = waiting(spec, FIVE)
    later = evolve(spec, tools=evolve_tools(spec, evolve(PAY, description="Pay twice.")))

    assert [*outdated_questions(spec, run)] == []
    (outdated,) = outdated_questions(later, run)
    assert (outdated.tool_name, outdated.agents) == ("pay", ())
    assert "the tool itself has changed" in outdated.changes[0]
    assert [*outdated_questions(later, judged(later, run))] == []


def test_so_is_one_whose_rules_have_not_been_asked_since_a_process_took_it_up() -> None:
    """Nothing has changed that it is bound to; perhaps the rules have."""
    spec = spec_of()
    run = step(spec, waiting(spec, FIVE), Resumed("p2"))
    (outdated,) = outdated_questions(spec, run)
    assert outdated.changes == (UNASKED,)


def test_a_call_that_no_policy_has_judged_asks_nobody_yet() -> None:
    """So it has no question that could be another release's."""
    spec = spec_of()
    run = step(spec, start(spec, [], run_id="r"), called(spec, FIVE))
    assert [*outdated_questions(spec, run)] == []


def test_a_question_of_an_agent_inside_says_whose_it_is() -> None:
    """It is in the run around it that it waits."""
    inner = spec_of()
    desk = AgentSpec(State({}), by_name([agent_tool(inner)]))
    run = start(desk, [ChatMessage.from_user("go")], run_id="r")
    asked = ChatMessage.from_assistant(tool_calls=[ToolCall("ask", {"task": "pay"}, "c0")])
    run = step(desk, run, ModelReplied(1, 1, ChatReply(asked)))
    run = step(desk, run, ToolStarted(FIRST, 1))
    at = (AgentRef(1, 0, "ask"),)
    run = step(desk, run, wrap_event(at, called(inner, FIVE)))
    (judgement,) = (one for one in due(desk, run) if isinstance(one, Judge))
    run = step(desk, run, wrap_event(at, Judged(FIRST, Ask(), binding=judgement.binding)))
    changed = evolve(inner, tools=evolve_tools(inner, evolve(PAY, description="Pay twice.")))
    later = evolve(desk, tools=by_name([agent_tool(changed)]))

    assert [*outdated_questions(desk, run)] == []
    (outdated,) = outdated_questions(later, run)
    assert (outdated.agents, outdated.tool_name) == (("ask",), "pay")


def test_a_yes_is_of_whom_it_was_said_by_last() -> None:
    """Who is known may have said it again: then nobody is asked once more, and once more."""
    spec = evolve(spec_of(), vouches=lambda event, call, tool: True)
    run = waiting(spec_of(), {"to": "Ann", "amount": 5})
    run, _ = apply_decisions(spec_of(), run, [pending(spec, run)[0].confirm()], 1.0)
    (unknown,) = run.decisions
    known = evolve(unknown, who=Principal("Ada"))

    def is_unknown(*records: DecisionRecord) -> bool:
        return is_of_nobody(spec, evolve(run, decisions=records), unknown.ref)

    assert is_unknown(unknown)
    assert not is_unknown(unknown, known)
    assert not is_unknown()
    assert not is_of_nobody(spec_of(), run, unknown.ref)


def test_what_people_have_seen_alike_is_compared_once() -> None:
    """There may be many who have: each of their yeses counts as long as that stands there."""
    ask = Ask(reveals=("user",), remember="tool")
    spec = spec_of(lambda call, tool, run: ask)
    run = waiting(spec, FIVE, {"to": "Bob", "amount": 6})
    asked = next(one for one in due(spec, run) if isinstance(one, AskHuman))
    run = step(spec, run, HumanDecided(FIRST, asked.digest, Confirmed("tool")))
    (grant,) = run.grants
    run = evolve(run, grants=(grant, grant))
    now = binding_of(run, run.slots[1].call, PAY)

    assert grant.revealed == {"user": "Ann"}
    assert grant_for(spec, run, PAY, now, None, ask) is grant
