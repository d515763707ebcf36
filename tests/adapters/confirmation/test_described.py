"""Objects as data: what was written is read, and nothing else is made of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from detent import StoredDataError, UnstorableError
from detent.adapters.confirmation.described import object_from_data, object_to_data
from detent.adapters.confirmation.policies import AlwaysAskPolicy, AnyOf, AskAbove, AskWhen
from detent.approvals import RuleList

CLASSES = {"AskAbove": AskAbove, "AlwaysAskPolicy": AlwaysAskPolicy}


class Plain:
    """A class without anything to say of itself."""


class Own:
    """A class that says it itself."""

    def to_dict(self) -> dict[str, object]:
        """What it is."""
        return {"type": "Own", "init_parameters": {}}


def test_what_is_written_is_read() -> None:
    """Policies inside of policies."""
    policy = AskAbove("amount", 5) | AlwaysAskPolicy()

    assert AnyOf.from_dict(policy.to_dict(), CLASSES) == policy
    assert isinstance(object_from_data(object_to_data(Plain()), {"Plain": Plain}), Plain)
    assert isinstance(object_from_data(object_to_data(Own()), {"Own": Own}), Own)
    assert object_from_data(object_to_data({"a": [1, None]}), {}) == {"a": [1, None]}


def test_only_classes_that_were_handed_over_are_made() -> None:
    """Nothing is imported because data says so."""
    data = {"type": "os.system", "init_parameters": {"command": "true"}}
    with pytest.raises(StoredDataError, match=r"names the class 'os.system'"):
        AskAbove.from_dict(data)
    with pytest.raises(StoredDataError, match="a AlwaysAskPolicy, not a AskAbove"):
        AskAbove.from_dict(AlwaysAskPolicy().to_dict(), CLASSES)
    with pytest.raises(StoredDataError, match="does not fit"):
        AskAbove.from_dict({"type": "AskAbove", "init_parameters": {"x": 1}})


def test_a_function_has_no_such_form() -> None:
    """It says so."""
    with pytest.raises(UnstorableError, match="to_dict"):
        AskWhen(lambda params: True).to_dict()


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"arguments": None}, "'arguments' and 'state' are patterns by name, got None"),
        ({"state": ["user"]}, "are patterns by name, got ['user']"),
        ({"tools": None}, "'tools' is a list of names, got None"),
        ({"labels": 5}, "'labels' is a list of names, got 5"),
    ],
)
def test_a_part_of_a_rule_that_is_none_is_said(parts: dict[str, Any], told: str) -> None:
    """Null as well: nobody knows whether it was meant for all calls or for none."""
    rule = {"type": "CallRule", "init_parameters": {"effect": "allow", **parts}}

    with pytest.raises(StoredDataError, match=re.escape(told)):
        RuleList.from_dict({"type": "RuleList", "init_parameters": {"rules": [rule]}})
