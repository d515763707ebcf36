"""The form of a call's arguments: what is not touched stays to the letter, the rest is checked."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.web.arguments import (
    LEFT_OUT,
    VALUE,
    FormError,
    arguments_in,
    changes,
    fields_of,
)
from detent.approvals import Answers, PendingCall

SCHEMA = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "who is paid"},
        "amount": {"type": "integer"},
        "urgent": {"type": "boolean"},
        "way": {"enum": ["wire", "cash"]},
        "note": {"type": "string"},
    },
    "required": ["to", "amount"],
}


def asked(arguments: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> PendingCall:
    return PendingCall("r", 1, 0, "c1", "pay", "Pay.", arguments, "", "d", schema)


def sent(call: PendingCall) -> dict[str, str]:
    """What a browser sends of a form that nobody has touched, with the line ends of the web."""
    return {
        VALUE + field.name: field.text.replace("\n", "\r\n")
        for field in fields_of(call)
        if not field.is_fixed
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "more"]), JSON, max_size=6))
def test_an_untouched_form_changes_nothing(arguments: dict[str, Any]) -> None:
    """Whatever the model has written, fit or not: controls, line ends, numbers of any size."""
    call = asked(arguments)
    assert arguments_in(call, sent(call)) == dict(call.arguments)
    assert changes(call.arguments, arguments_in(call, sent(call))) == ()


def test_a_text_is_a_text_and_a_number_a_number() -> None:
    """What is typed for a text needs no quotes, and "100" never becomes 100."""
    call = asked({"to": "Ann", "amount": 100})
    form = {**sent(call), VALUE + "to": "100", VALUE + "amount": "5"}
    assert arguments_in(call, form) == {"to": "100", "amount": 5}
    with pytest.raises(FormError, match="amount: this is no JSON"):
        arguments_in(call, {**form, VALUE + "amount": "five"})
    with pytest.raises(FormError, match="NaN is no number"):
        arguments_in(call, {**form, VALUE + "amount": "NaN"})
    with pytest.raises(FormError, match="1e999 is no number"):
        arguments_in(call, {**form, VALUE + "amount": "1e999"})


def test_what_may_be_missing_is_left_out_where_a_form_says_so() -> None:
    """An empty field of an argument that the call has not got adds none."""
    call = asked({"to": "Ann", "amount": 1, "note": "hi", "urgent": True})
    form = sent(call)
    assert "way" not in arguments_in(call, form)
    assert arguments_in(call, {**form, VALUE + "way": '"cash"'})["way"] == "cash"
    assert "note" not in arguments_in(call, {**form, LEFT_OUT + "note": "on"})
    assert arguments_in(call, {**form, VALUE + "urgent": "false"})["urgent"] is False
    # what the tool needs cannot be left out by a form that somebody else has made
    assert arguments_in(call, {**form, LEFT_OUT + "to": "on"})["to"] == "Ann"


def test_what_may_not_be_changed_is_not_read_from_a_form() -> None:
    """Neither by another value nor by leaving it out."""
    call = evolve(asked({"to": "Ann", "amount": 1}), answers=Answers(modify=("amount",)))
    assert [field.name for field in fields_of(call) if not field.is_fixed] == ["amount"]
    form = {VALUE + "to": "Eve", VALUE + "amount": "2", VALUE + "note": "hello"}
    assert arguments_in(call, form) == {"to": "Ann", "amount": 2}


def test_a_text_that_hides_something_is_edited_as_json() -> None:
    """A form shows texts as they are: what cannot be seen there is spelled out."""
    (to, *_) = fields_of(asked({"to": "Ann\u202egnp", "amount": 1}))
    assert (to.kind, to.text) == ("json", '"Ann\\u202egnp"')
    (to, *_) = fields_of(asked({"to": "Ann\nBob", "amount": 1}))
    assert (to.kind, to.text, to.help) == ("text", "Ann\nBob", "who is paid")


def test_a_change_says_what_was_and_what_is() -> None:
    """With the type in sight, and without a value where there is none."""
    (amount, note) = changes({"amount": 100, "to": "a"}, {"amount": "100", "to": "a", "note": ""})
    assert (amount.name, amount.before, amount.after) == ("amount", "100", '"100"')
    assert (note.before, note.after) == (None, '""')
