"""Grants: what a confirmation counts for, until it is revoked."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from detent import ToolCall
from detent.approvals import AskOncePolicy, pending
from detent.core.control.decisions import apply_decisions, grants_in
from detent.core.run.approval import Binding, Grant, Scope
from detent.core.run.refs import CallRef
from detent.core.storage.journal import event_from_json, event_to_json
from detent.core.tools.result import result_of
from detent.machine import CancelRequested, GrantRevoked, ModelFailed, ToolReturned, step
from detent.models import ModelFailure
from tests.core.asking import PAY, called, judged, spec_of, waiting

SPEC = spec_of()
FIVE, SIX = {"to": "Ann", "amount": 5}, {"to": "Ann", "amount": 6}


@pytest.mark.parametrize(("remember", "left"), [("call", 2), ("arguments", 1), ("tool", 0)])
def test_a_confirmation_counts_for_its_scope(remember: Scope, left: int) -> None:
    """For other calls of the turn that wait already, too."""
    run = waiting(SPEC, FIVE, FIVE, SIX)

    run, _ = apply_decisions(
        SPEC, run, [pending(SPEC, run)[0].confirm(remember=remember, by="Ann")], 1
    )

    assert len(pending(SPEC, run)) == left
    assert [(grant.by, grant.at) for grant in run.grants] == [("Ann", 1)] * (remember != "call")
    assert len(run.decisions) == 1


def test_a_grant_counts_in_later_turns_until_it_is_revoked() -> None:
    """Revoking one that there is not changes nothing."""
    run = waiting(SPEC, FIVE)
    run, _ = apply_decisions(SPEC, run, [pending(SPEC, run)[0].confirm(remember="tool")], 1)
    run = step(SPEC, run, ToolReturned(CallRef(1, 0), 1, result_of(PAY, "paid")))
    revoked = step(SPEC, run, GrantRevoked(CallRef(1, 0)))

    again = called(SPEC, SIX, turn=2)

    assert pending(SPEC, judged(SPEC, step(SPEC, run, again))) == ()
    assert len(pending(SPEC, judged(SPEC, step(SPEC, revoked, again)))) == 1
    assert step(SPEC, revoked, GrantRevoked(CallRef(1, 0))) is revoked


def test_a_run_that_has_ended_has_nothing_to_take_back() -> None:
    """It makes no further calls: to take anything back is refused."""
    run = waiting(SPEC, FIVE, SIX)
    run, _ = apply_decisions(SPEC, run, [pending(SPEC, run)[0].confirm(remember="arguments")], 1)
    ended = step(SPEC, run, CancelRequested("enough"))

    assert (len(grants_in(run)), ended.outcome is not None, len(ended.grants)) == (1, True, 1)
    assert grants_in(ended) == ()


def test_what_has_failed_goes_on_by_nothing_that_was_taken_back() -> None:
    """The model gave no answer: it is asked again, and what was confirmed would count still."""
    run = waiting(SPEC, FIVE)
    run, _ = apply_decisions(SPEC, run, [pending(SPEC, run)[0].confirm(remember="tool")], 1)
    run = step(SPEC, run, ToolReturned(CallRef(1, 0), 1, result_of(PAY, "paid")))
    failed = step(SPEC, run, ModelFailed(2, 1, ModelFailure("overloaded", "no")))
    assert failed.outcome is not None
    assert grants_in(failed) == failed.grants

    revoked = step(SPEC, failed, GrantRevoked(CallRef(1, 0)))
    done = step(SPEC, run, CancelRequested("enough"))

    assert (len(failed.grants), revoked.grants) == (1, ())
    assert step(SPEC, done, GrantRevoked(CallRef(1, 0))) is done


def test_ask_once_asks_once_for_equal_calls() -> None:
    """Two at once as well; a rejection is remembered by nobody."""
    spec = spec_of(AskOncePolicy())
    run = waiting(spec, FIVE, FIVE, SIX)

    confirmed, _ = apply_decisions(spec, run, [pending(spec, run)[0].confirm()], 1)
    rejected, _ = apply_decisions(spec, run, [pending(spec, run)[0].reject()], 1)

    assert [call.arguments["amount"] for call in pending(spec, confirmed)] == [6]
    assert len(pending(spec, rejected)) == 2


def test_for_this_call_only_is_no_more_whatever_the_policy_remembers() -> None:
    """Also as it is stored, where it is another word than none, which is the policy's."""
    spec = spec_of(AskOncePolicy())
    run = waiting(spec, FIVE, FIVE)

    once, (said,) = apply_decisions(spec, run, [pending(spec, run)[0].confirm(remember="call")], 1)

    assert len(pending(spec, once)) == 1
    assert once.grants == ()
    stored = json.dumps(event_to_json(spec, said))
    assert event_from_json(spec, json.loads(stored)) == said


def test_what_fits_a_grant() -> None:
    """All of a call but, for a tool, its arguments."""
    binding = Binding("r", "t", "i", "a")
    others = [evolve(binding, **{name: "x"}) for name in ("run", "tool", "inputs", "arguments")]
    equal, tool = (
        Grant(CallRef(1, 0), ToolCall("pay", FIVE, "a"), scope, binding)
        for scope in ("arguments", "tool")
    )

    assert [equal.fits(one) for one in (binding, *others)] == [True, *[False] * 4]
    assert [tool.fits(one) for one in (binding, *others)] == [True, *[False] * 3, True]
