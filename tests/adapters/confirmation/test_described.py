"""Objects as data: what was written is read, and nothing else is made of it."""

from __future__ import annotations

import pytest

from detent import StoredDataError, UnstorableError
from detent.adapters.confirmation.described import object_from_data, object_to_data
from detent.adapters.confirmation.policies import AlwaysAskPolicy, AnyOf, AskAbove, AskWhen

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
