"""A policy whose claims are proved, and one whose claims are not."""

from __future__ import annotations

import pytest

from detent.approvals import CallRule, RuleList
from detent.testing import Refuted
from tests.examples.loading import example

policy = example("proven_policy/policy.py")


def test_the_rules_that_ship_hold() -> None:
    """Each claim is proved to the end, and none because nothing happens."""
    proofs = list(policy.proved(policy.SHIPPED))
    assert [proof.cut for proof in proofs] == [0, 0, 0]
    assert all(proof.states > 10 for proof in proofs)


def test_careless_rules_are_refuted_by_a_shortest_run() -> None:
    """The program ends with 1; the run has a call, a verdict, and a start."""
    with pytest.raises(Refuted) as refuted:
        list(policy.proved(policy.CARELESS))
    assert len(refuted.value.scenario.events) == 3


def test_a_claim_of_ones_own_is_refuted_too() -> None:
    """Rules that ask about large sums are not rules that deny them."""
    asking = RuleList([CallRule("allow", tools=["balance"])], otherwise="ask")
    with pytest.raises(Refuted, match="begins with"):
        list(policy.proved(asking))
