"""Decisions about pending calls: what humans may say, and what of it counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from detent import (
    ChatMessage,
    Confirmed,
    Modified,
    State,
    StoredDataError,
    ToolCall,
    ToolExecutionDecision,
)
from detent.approvals import Ask, DecisionRefusedError, Refusal, pending
from detent.core.control.decisions import apply_decisions, decision_for, match_decision
from detent.core.machine.delegation import ANSWER, PARAMETERS
from detent.core.run.spec import Delegate
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentRef,
    AgentSpec,
    CallRef,
    Judged,
    ModelReplied,
    Thinking,
    ToolStarted,
    start,
    step,
    wrap_event,
)
from detent.models import ChatReply
from tests.core.asking import ALWAYS, PAY, called, spec_of, waiting

ANN, BOB = {"to": "Ann", "amount": 5, "pin": "1234"}, {"to": "Bob", "amount": 7}
SPEC = spec_of()
RUN = waiting(SPEC, ANN, BOB)
FIRST, SECOND = pending(SPEC, RUN)


def statuses(*decisions: ToolExecutionDecision) -> list[str]:
    """What has become of the two calls."""
    run, _ = apply_decisions(SPEC, RUN, decisions, 1.0)
    return [type(slot.status).__name__ for slot in run.slots]


def test_a_decision_about_an_unknown_call_is_told_what_waits() -> None:
    """By name and id, or that nothing does."""
    waits = match_decision(
        SPEC, RUN, ToolExecutionDecision("pay", execute=True, tool_call_id="x"), 1.0
    )
    refund = ToolExecutionDecision("refund", execute=True)
    nothing = match_decision(SPEC, waiting(SPEC), refund, 1.0)

    assert waits.failure() == Refusal(
        "unknown_call",
        "no call of 'pay' with the id 'x' waits in run 'r'; there waits: pay (c10), pay (c11)",
    )
    assert nothing.failure() == Refusal(
        "unknown_call", "no call of 'refund' waits in run 'r'; there waits: none"
    )
    decided, _ = apply_decisions(SPEC, RUN, [FIRST.confirm(), SECOND.confirm()], 1.0)
    other = match_decision(
        SPEC, decided, ToolExecutionDecision("pay", execute=True, tool_call_id="x")
    )
    assert other.failure().why == "unknown_call"


def test_a_decision_with_the_digest_of_another_question_is_told_so() -> None:
    """A call of that tool waits: that none does would not be true."""
    other = ToolExecutionDecision("pay", execute=True, digest="123")

    assert match_decision(SPEC, RUN, other, 1.0).failure() == Refusal(
        "wrong_digest",
        "the digest '123' is not that of a call of 'pay' that waits in run 'r': make the decision "
        "of a call of agent.pending('r')",
    )


def test_a_decision_is_about_one_call() -> None:
    """The other one still waits; decisions go through JSON as well."""
    sent = json.loads(json.dumps(FIRST.confirm(by="Dora").to_dict()))

    assert statuses(ToolExecutionDecision.from_dict(sent)) == ["Ready", "AwaitingDecision"]
    assert statuses(SECOND.reject("no")) == ["AwaitingDecision", "Refused"]
    assert statuses(FIRST.respond("done")) == ["AnsweredByHuman", "AwaitingDecision"]


def test_a_secret_that_was_left_alone_stays_what_it_is() -> None:
    """The human has only seen its mask."""
    run, _ = apply_decisions(SPEC, RUN, [FIRST.modify({**FIRST.arguments, "amount": 3})], 1.0)

    assert run.slots[0].call.arguments == {"to": "Ann", "amount": 3, "pin": "1234"}
    assert FIRST.faults({**FIRST.arguments, "amount": "x"}) != []


def nested(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (ToolExecutionDecision("pay", execute=True), "unknown_call"),
        (ToolExecutionDecision("refund", execute=True), "unknown_call"),
        (ToolExecutionDecision("pay", execute=True, tool_call_id="nobody"), "unknown_call"),
        (evolve(FIRST.confirm(), digest=SECOND.digest), "wrong_digest"),
        (evolve(FIRST.confirm(), digest=""), "wrong_digest"),
        (FIRST.modify({"to": "Ann"}), "invalid_arguments"),
        (FIRST.modify({**FIRST.arguments, "amount": nested(600)}), "invalid_arguments"),
    ],
    ids=["which", "tool", "id", "digest", "empty digest", "misfit", "too deep"],
)
def test_a_decision_that_does_not_count_changes_nothing(
    decision: ToolExecutionDecision, why: str
) -> None:
    """The others of the same list neither."""
    with pytest.raises(DecisionRefusedError) as caught:
        apply_decisions(SPEC, RUN, [decision, SECOND.confirm()], 1.0)

    assert caught.value.refusal.why == why
    assert waiting(SPEC, ANN, BOB) == RUN


def test_who_leaves_arguments_out_of_a_change_is_told_what_to_write() -> None:
    """It is not merged: what stands there is all that runs. Another misfit needs no such words."""
    told = []
    for given in ({"amount": 3}, {**FIRST.arguments, "amount": "x"}):
        with pytest.raises(DecisionRefusedError) as caught:
            apply_decisions(SPEC, RUN, [FIRST.modify(given)], 1.0)
        told.append(str(caught.value))

    way = "those that stay as well: modify({**call.arguments, 'amount': …})"
    assert "'to' is missing" in told[0]
    assert [text.endswith(way) for text in told] == [True, False]


def test_a_decision_about_a_call_that_has_ended_is_told_so() -> None:
    """The turn is over, and the run still knows what was decided in it."""
    run, _ = apply_decisions(SPEC, RUN, [FIRST.reject("no"), SECOND.reject("no")], 1.0)

    assert isinstance(run.phase, Thinking)
    for late, id_ in ((FIRST.confirm(), "c10"), (SECOND.confirm(), "c11")):
        assert match_decision(SPEC, run, late, 2.0).failure() == Refusal(
            "repeated", f"the call of 'pay' with the id '{id_}' has been decided about already"
        )


def test_a_decision_that_leaves_the_arguments_alone_confirms() -> None:
    """Nobody is told of a change then; a mask that was left alone is no change."""
    same = ToolExecutionDecision("pay", execute=True, final_tool_params=dict(FIRST.arguments))
    asked = RUN.slots[0].call

    assert decision_for(asked, PAY, same) == Confirmed()
    assert decision_for(asked, PAY, evolve(same, feedback="less", final_tool_params=BOB)) == (
        Modified(BOB, "less")
    )


def test_a_second_decision_is_refused_with_who_made_the_first() -> None:
    """Also where it says the same."""
    with pytest.raises(DecisionRefusedError, match="confirmed by Dora already"):
        statuses(FIRST.confirm(by="Dora"), FIRST.confirm(by="Eve"))


@pytest.mark.parametrize(
    "data",
    [{}, {"tool_name": "pay"}, {"tool_name": "pay", "execute": 1}, {"tool_name": "pay", "x": 1},
     {"tool_name": "pay", "execute": True, "remember": "ever"},
     {"tool_name": "pay", "execute": True, "final_tool_params": ["to"]},
     {"tool_name": "pay", "execute": False, "answer": 5},
     {"tool_name": "pay", "execute": False, "feedback": {"a": 1}},
     ["tool_name", "execute"]],
    ids=["empty", "no execute", "no boolean", "unknown", "scope", "list", "number",
         "dict", "no dict"],
)  # fmt: skip
def test_what_is_no_decision_is_refused(data: Any) -> None:
    """Nothing but True lets a tool run."""
    with pytest.raises(StoredDataError):
        ToolExecutionDecision.from_dict(data)


def test_agents_side_by_side_may_have_calls_of_one_id() -> None:
    """A decision is about the call whose digest it has; without one, about the one that waits."""
    rule: dict[str, Any] = {"outputs_to_string": {"source": ANSWER}}
    agent = Delegate("buyer", "", PARAMETERS, lambda task: {ANSWER: task}, agent=spec_of(), **rule)
    spec = AgentSpec(State({}), by_name([agent]))
    calls = [ToolCall("buyer", {"task": name}, name) for name in ("a", "b")]
    run = start(spec, [ChatMessage.from_user("buy")], run_id="r")
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))
    run = step(spec, run, ModelReplied(1, 1, reply))
    for place in range(2):
        at = (AgentRef(1, place, "buyer"),)
        run = step(spec, run, ToolStarted(CallRef(1, place), 1))
        run = step(spec, run, wrap_event(at, called(spec_of(), ANN)))
        run = step(spec, run, wrap_event(at, Judged(CallRef(1, 0), Ask())))
    first, second = pending(spec, run)
    assert first.call_id == second.call_id
    by_id = ToolExecutionDecision("pay", execute=True, tool_call_id=first.call_id)
    with pytest.raises(DecisionRefusedError, match="2 calls of 'pay' wait"):
        apply_decisions(spec, run, [by_id], 1.0)
    run, _ = apply_decisions(spec, run, [second.confirm()], 1.0)
    assert pending(spec, run) == (first,)
    run, _ = apply_decisions(spec, run, [by_id], 1.0)
    assert pending(spec, run) == ()


def test_without_an_id_only_one_call_can_be_meant() -> None:
    """Where one waits, its tool's name is enough."""
    spec = spec_of(ALWAYS)
    run, _ = apply_decisions(
        spec, waiting(spec, ANN), [ToolExecutionDecision("pay", execute=True)], 1.0
    )

    assert type(run.slots[0].status).__name__ == "Ready"


def test_what_a_human_says_is_in_the_decision() -> None:
    """Whatever they decide, and who they are."""
    about = {"tool_call_id": FIRST.call_id, "digest": FIRST.digest, "by": "Dora"}
    changed = {"to": "Ann", "amount": 3}

    for made, expected in (
        (FIRST.confirm(by="Dora", remember="tool"), {"execute": True, "remember": "tool"}),
        (FIRST.reject("no", by="Dora"), {"execute": False, "feedback": "no"}),
        (FIRST.respond("done", by="Dora"), {"execute": False, "answer": "done"}),
        (
            FIRST.modify(changed, "less", by="Dora"),
            {"execute": True, "feedback": "less", "final_tool_params": changed},
        ),
    ):
        assert made == ToolExecutionDecision("pay", **about, **expected)  # type: ignore[arg-type]  # by name


def test_what_is_no_decision_is_told_what_one_has() -> None:
    """All its names."""
    wrong: dict[str, Any] = {
        r"which has \['answer', 'by', 'credential'": [],
        r"it has no 'tool_name'": {"execute": True},
        r"'digset' is none of \['answer', .*; did you mean 'digest'\?": {"digset": "d"},
    }
    for words, data in wrong.items():
        with pytest.raises(StoredDataError, match=words):
            ToolExecutionDecision.from_dict(data)


def test_arguments_that_python_calls_equal_are_a_change() -> None:
    """True is no 1, wherever it stands; the order is that which was shown."""
    call = ToolCall("pay", {"to": ["Ann", 1], "amount": 5}, "c")
    given = evolve(FIRST.confirm(), final_tool_params={"amount": 5, "to": ["Ann", True]})

    changed = decision_for(call, PAY, given)

    assert changed == Modified({"to": ["Ann", True], "amount": 5})
    assert list(getattr(changed, "arguments", ())) == ["to", "amount"]
    same = evolve(given, final_tool_params={"amount": 5, "to": ["Ann", 1]})
    assert decision_for(call, PAY, same) == Confirmed()
