"""Pending calls: what a human sees, and what they may change."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from attrs import evolve

from detent import SecretParameter, State, StoredDataError, create_tool_from_function
from detent.approvals import Answers, Approvers, Ask, PendingCall, pending
from detent.core.control.decisions import apply_decisions
from detent.core.machine.binding import outdated_questions
from detent.core.run.approval import FormerDecision
from detent.core.run.effects import Policy
from detent.core.run.run import evolve as evolve_run
from detent.core.tools.masking import MASK
from detent.core.tools.tool import by_name
from detent.machine import AgentSpec, AskHuman, FrozenDict, due, start
from detent.ports.pending import OutdatedQuestionError, answerable, left_over, question
from tests.core.asking import PAY, spec_of, waiting

ANN, BOB = {"to": "Ann", "amount": 5, "pin": "1234"}, {"to": "Bob", "amount": 7}
SPEC = spec_of()
RUN = waiting(SPEC, ANN, BOB)
FIRST, SECOND = pending(SPEC, RUN)


def test_secrets_and_the_state_are_not_shown() -> None:
    """And the whole question goes through JSON."""
    assert FIRST.arguments == {"to": "Ann", "amount": 5, "pin": MASK}
    assert FIRST.state == {}
    assert (FIRST.run_id, FIRST.turn, FIRST.place, FIRST.call_id) == ("r", 1, 0, "c10")
    told = json.dumps(FIRST.to_dict())
    assert "1234" not in told
    assert json.loads(told)["tool_name"] == "pay"


def test_a_number_that_a_page_may_have_rounded_is_told() -> None:
    """By the question that was shown there."""
    shown = evolve(FIRST, arguments={"account": 2**53 + 1, "amount": 5})

    assert shown.rounding_faults({"account": 2**53 + 1, "amount": 90}) == []
    assert len(shown.rounding_faults({"account": 2**53, "amount": 90})) == 1


def test_a_question_comes_back_from_json() -> None:
    """As it was, so that whoever shows it can check and decide with it."""
    again = PendingCall.from_dict(json.loads(json.dumps(FIRST.to_dict())))

    assert again == FIRST
    assert again.confirm(by="Dora") == FIRST.confirm(by="Dora")
    limited = evolve(FIRST, answers=Answers(modify=("to",)), defaults=("amount",))
    assert PendingCall.from_dict(json.loads(json.dumps(limited.to_dict()))) == limited


@pytest.mark.parametrize(
    "data",
    [None, [], {}, {"tool_name": "pay"}, {"agents": 3}, {"answers": {"remember": "all"}}, "x"],
    ids=str,
)
def test_what_is_no_question_is_refused(data: Any) -> None:
    """Whatever stands there."""
    with pytest.raises(StoredDataError, match="this is no pending call"):
        PendingCall.from_dict(data)


def test_a_policy_may_reveal_what_comes_from_the_state() -> None:
    """By the name of the parameter."""
    spec = spec_of(lambda call, tool, run: Ask("look", reveals=("user",)))

    (call,) = pending(spec, waiting(spec, BOB))

    assert (call.state, call.reason) == ({"user": "Ann"}, "look")


def test_what_is_secret_is_revealed_by_no_policy() -> None:
    """Nor is it on record that somebody has seen it."""

    def pay(to: str, account: Annotated[str, SecretParameter]) -> str:
        """Pay."""
        return account

    paying = create_tool_from_function(pay, inputs_from_state={"account": "account"})
    guard: FrozenDict[str, Policy] = FrozenDict({"pay": lambda *_: Ask(reveals=("account",))})
    state = State({"account": {"type": str}}, {"account": "ACC-7"})
    spec: AgentSpec[State] = AgentSpec(state, by_name([paying]), policies=guard)
    run = waiting(spec, {"to": "Ann"})
    (call,) = pending(spec, run)
    decided, _ = apply_decisions(spec, run, [call.confirm()], 1.0)

    assert call.state == {"account": MASK}
    assert decided.decisions[0].revealed == {"account": MASK}


def test_a_mask_that_was_left_alone_is_no_fault() -> None:
    """Whatever the parameter must be; what a human writes in its place must fit."""
    schema = {
        "type": "object",
        "properties": {"pin": {"type": "integer"}, "n": {"type": "integer"}},
    }
    asked = evolve(FIRST, arguments={"pin": MASK, "n": 1}, parameters=schema)

    assert asked.faults({"pin": MASK, "n": 2}) == []
    assert asked.faults({"pin": MASK, "n": "x"}) == ["'n' must be an integer, got \"x\""]
    assert asked.faults({"pin": "x", "n": MASK}) == [
        "'pin' must be an integer, got \"<pin>\"",
        f"'n' must be an integer, got {json.dumps(MASK, ensure_ascii=False)}",
    ]


def test_a_fault_does_not_quote_what_is_masked() -> None:
    """What somebody has typed in its place is sent back to them, and to whoever looks on."""
    schema = {"type": "object", "properties": {"pin": {"type": "integer"}}}
    asked = evolve(FIRST, arguments={"pin": MASK}, parameters=schema, masked=("pin",))

    (told,) = asked.faults({"pin": "hush-1234"})

    assert told.startswith("'pin' must be an integer, got ")
    assert "hush" not in told


def test_a_run_that_waits_by_a_question_of_another_release_is_said_to_wait() -> None:
    """That nobody is waited for would be untrue. With the release that asked, it is answerable."""
    changed = by_name([evolve(PAY, description="Pay twice.")])
    later = evolve(SPEC, tools=changed)

    assert answerable(SPEC, RUN) == (FIRST, SECOND)
    assert pending(later, RUN) == ()
    with pytest.raises(OutdatedQuestionError, match=r"agent\.resume\('r'\) puts it anew") as caught:
        answerable(later, RUN)
    assert caught.value.run_id == "r"
    assert [one.tool_name for one in caught.value.questions] == ["pay", "pay"]
    assert answerable(later, start(later, [], run_id="s")) == ()


def test_a_question_that_is_just_being_put_anew_is_of_no_other_release() -> None:
    """Whoever drives the run is about to: until then nobody can be asked, and nothing is amiss."""
    state = RUN.state.set("user", "Bob")
    read_since = evolve_run(RUN, state=state)

    assert [one.changes for one in outdated_questions(SPEC, read_since)] == [
        ("what the state fills in has changed",)
    ] * 2
    assert answerable(SPEC, read_since) == ()


def test_the_reason_is_made_of_whole_sentences() -> None:
    """What a policy says may lack its full stop, and then more is said behind it."""
    (asked, _) = [effect for effect in due(SPEC, RUN) if isinstance(effect, AskHuman)]
    changed = FormerDecision("It must be decided anew: the arguments have changed.")

    assert question(evolve(asked, reason="that is much")).reason == "that is much"
    said = [question(evolve(asked, reason=text, change=changed)).reason for text in ("much", "No!")]
    assert said == [f"much. {changed.text}", f"No! {changed.text}"]


@pytest.mark.parametrize("is_read", [False, True])
def test_a_yes_is_counted_whether_the_host_has_come_to_it_or_not(*, is_read: bool) -> None:
    """A change and a no are enough by one person; what else waits still does."""
    asked = evolve(FIRST, approvers=Approvers(3))
    once = evolve(asked, votes=("Ada",))
    now = [once if is_read else asked, SECOND]

    left = list(left_over(now, asked, asked.confirm(), "Ada"))
    assert (left, left[0].more_votes) == ([once, SECOND], 2)
    twice, _ = left_over([once, SECOND], once, once.confirm(), "Bob")
    assert (twice.votes, twice.more_votes) == (("Ada", "Bob"), 1)
    assert list(left_over([twice, SECOND], twice, twice.confirm(), "Cyd")) == [SECOND]
    for decision in (asked.reject(), asked.modify({"amount": 1}), asked.respond("no")):
        assert list(left_over([asked, SECOND], asked, decision, "Ada")) == [SECOND]
