"""Decisions: what one is bound to."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from detent import Modified, State, Tool, ToolCall
from detent.core.machine.binding import binding_of
from detent.core.run.approval import Binding
from detent.core.run.refs import CallRef
from detent.core.run.run import Run
from detent.core.tools.wording import Wording

SCHEMA = {"type": "object", "properties": {"amount": {}}}
PAY = Tool("pay", "pays", SCHEMA, print)
CALL = ToolCall("pay", {"amount": 5, "to": "Ann"}, "c1")
FIRST = CallRef(1, 0)
RUN = Run("run-1", State({}), nonce="n")


def bound(call: ToolCall = CALL, tool: Tool = PAY, run: Run[State] = RUN) -> str:
    return binding_of(run, call, tool).digest(FIRST, call.id)


def paying(amount: object) -> str:
    return bound(ToolCall("pay", {"amount": amount}, "c1"))


BOUND = bound()


@pytest.mark.parametrize(
    "other",
    [
        bound(run=evolve(RUN, id="run-2")),
        bound(run=evolve(RUN, nonce="m")),
        binding_of(RUN, CALL, PAY).digest(CallRef(2, 0), "c1"),
        binding_of(RUN, CALL, PAY).digest(CallRef(1, 1), "c1"),
        binding_of(RUN, CALL, PAY).digest(FIRST, "c1", "crash"),
        bound(evolve(CALL, id="c2")),
        bound(evolve(CALL, arguments={"amount": 6, "to": "Ann"})),
        bound(tool=evolve(PAY, name="refund")),
        bound(tool=evolve(PAY, parameters={"type": "object"})),
        bound(tool=evolve(PAY, description="Pays.")),
        bound(tool=evolve(PAY, function=len)),
        bound(tool=evolve(PAY, retries=1)),
    ],
    ids=[
        "run",
        "nonce",
        "turn",
        "place",
        "crash",
        "id",
        "arguments",
        "name",
        "schema",
        "description",
        "function",
        "retries",
    ],
)
def test_a_digest_is_of_this_call_alone(other: str) -> None:
    """One difference, whichever, makes it another."""
    assert other != BOUND


def test_values_that_python_calls_equal_are_told_apart() -> None:
    """1, 1.0, True and "1" are four arguments to a human, and to a tool."""
    assert len({paying(1), paying(1.0), paying(True), paying("1")}) == 4  # noqa: FBT003 - a value


def test_the_order_of_arguments_does_not_count() -> None:
    """A call that was stored and read again has the same digest."""
    reordered = evolve(CALL, arguments={"to": "Ann", "amount": 5})

    assert bound(reordered) == BOUND


def test_whatever_text_a_model_writes_has_a_digest() -> None:
    """JSON can spell half of a surrogate pair, which no encoding takes."""
    broken, whole = json.loads('["\\ud83d", "?"]')

    assert paying(broken) != paying(whole)


def test_a_modification_is_kept_as_it_was_given() -> None:
    """Changing the dict afterwards changes no decision."""
    arguments: dict[str, object] = {"amount": 3}
    decision = Modified(arguments)

    arguments["amount"] = 3000

    assert decision.arguments == {"amount": 3}


def test_the_model_is_told_of_a_decision_in_the_words_that_were_chosen() -> None:
    """Feedback follows, where there is some."""
    wording = Wording("no {tool_name}", "now {tool_name} {final_tool_params}", "({feedback})")

    assert wording.rejected("pay", None) == "no pay"
    assert wording.rejected("pay", "too much") == "no pay (too much)"
    assert wording.modified("pay", '{"amount": 3}', None) == 'now pay {"amount": 3}'
    assert wording.modified("pay", "{}", "less") == "now pay {} (less)"


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ({"reject": "no {tool}"}, r"'no \{tool\}' may name \{tool_name\}: KeyError"),
        ({"reject": "no {tool_name"}, r"may name \{tool_name\}: ValueError"),
        ({"reject": "no {0}"}, r"may name \{tool_name\}: IndexError"),
        ({"modify": "{tool_name.x}"}, r"\{tool_name\}, \{final_tool_params\}: AttributeError"),
        ({"feedback": "{tool_name}"}, r"'\{tool_name\}' may name \{feedback\}: KeyError"),
    ],
    ids=["name", "brace", "number", "attribute", "feedback"],
)
def test_a_template_that_names_something_else_is_refused_at_once(
    template: dict[str, str], told: str
) -> None:
    """When it is made, not when a human first says no."""
    with pytest.raises(ValueError, match=told):
        Wording(**template)


def test_a_digest_is_the_same_in_every_version() -> None:
    """Stored runs wait with it, and humans answer with it after an upgrade."""
    made = Binding("r", "t", "i", "a").digest(FIRST, "c1", "p1")

    assert made == "73c0314bd858c4aa9f73e9dbaec7157ebfaf80231af7af0efdbe7ece9a545ced"
