"""The spec: everything that does not fit together is said at once, before anything runs."""

from __future__ import annotations

import pytest
from attrs import evolve

from detent import AlwaysAskPolicy, NeverAskPolicy, State, Tool, WiringError
from detent.approvals import Allow
from detent.core.run.effects import Policy
from detent.core.state.state import secret_keys
from detent.core.tools.tool import by_name
from detent.machine import AgentSpec, FrozenDict

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}, "who": {"type": "string"}}}
STATE = State({"notes": {"type": list[int]}, "user": {"type": str}})
NOTE = Tool(
    "note",
    "notes",
    NUMBER,
    print,
    inputs_from_state={"user": "who"},
    outputs_to_state={"notes": {}},
)
PAY = Tool("pay", "pays", NUMBER, print)


def test_every_misfit_is_named_at_once() -> None:
    """Exit conditions, confirmation rules and state keys, each with what there is."""
    stray = Tool(
        "stray", "", NUMBER, print, inputs_from_state={"usr": "who"}, outputs_to_state={"x": {}}
    )

    with pytest.raises(WiringError) as caught:
        AgentSpec(
            STATE,
            by_name([PAY, stray]),
            exit_conditions=frozenset({"text", "finish"}),
            policies=FrozenDict({"refund": lambda call, tool, run: Allow()}),
        )

    exits, rules, read, written = caught.value.faults
    assert (
        exits == "exit condition 'finish' is neither 'text' nor a tool; there is: pay, stray, text"
    )
    assert rules == "a confirmation rule names the tool 'refund'; there is: pay, stray"
    assert "'stray'" in read
    assert "did you mean 'user'?" in read
    assert "'x' is not a key" in written


def test_what_fits_together_is_accepted() -> None:
    """Tools, rules and exits that know each other."""
    spec = AgentSpec(
        STATE,
        by_name([NOTE, PAY]),
        exit_conditions=frozenset({"pay"}),
        policies=FrozenDict({"pay": lambda call, tool, run: Allow()}),
    )

    assert spec.offered == (NOTE.spec, PAY.spec)


def test_the_model_is_not_offered_what_the_state_fills() -> None:
    """A parameter that is wired to the state is not in the schema."""
    (offered,) = AgentSpec(STATE, by_name([NOTE])).offered

    properties = offered.parameters["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == {"n"}


def test_a_spec_knows_which_keys_fill_secrets() -> None:
    """Of all its tools, and of those that it has now."""
    parameters = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}}}
    enter = Tool("enter", "", parameters, print, inputs_from_state={"name": "pin"})
    state = State({"name": {"type": str}})
    spec = AgentSpec(state, by_name([enter]))

    assert secret_keys(spec.state) == {"name"}
    assert secret_keys(evolve(spec, tools=by_name([PAY])).state) == frozenset()


def test_a_changed_spec_offers_the_tools_it_has_now() -> None:
    """What is derived from the tools follows them, and the checks are made again."""
    spec = AgentSpec(STATE, by_name([NOTE]))

    assert evolve(spec, tools=by_name([PAY])).offered == (PAY.spec,)
    with pytest.raises(WiringError):
        evolve(spec, exit_conditions=frozenset({"pay"}))


def test_a_policy_may_be_for_every_tool_that_has_none_of_its_own() -> None:
    """It stands under a star."""
    always, never = AlwaysAskPolicy(), NeverAskPolicy()
    rules: FrozenDict[str, Policy] = FrozenDict({"*": always, "note": never})
    spec = AgentSpec(STATE, by_name([NOTE, PAY]), policies=rules)

    assert (spec.guards["pay"], spec.guards["note"]) == (always, never)
    assert AgentSpec(State({})).guards == {}
