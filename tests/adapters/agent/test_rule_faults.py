"""Rules that name what is not there are found when the agent is built: they would never be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    AskAbove,
    AskAfter,
    ScriptedChatGenerator,
    State,
    Tool,
    Toolset,
    WiringError,
    tool,
)
from detent.approvals import Answers, AskOverBudget, CallRule, RuleList, WithQuestionOptions


@tool(inputs_from_state={"user": "payer"})
def pay(amount: float, to: str, payer: str) -> str:
    """Pay somebody."""
    return to


@tool
def look(page: int) -> str:
    """Look something up."""
    return str(page)


ANY = Tool("any", "Takes what it gets.", {"type": "object"}, lambda **given: given)
NONE = Tool("none", "Takes nothing.", {"type": "object", "additionalProperties": False}, lambda: 1)


class Server(Toolset):
    """Has its tools once it is connected."""

    def __iter__(self) -> Iterator[Tool]:
        return iter(())


def built(strategies: dict[Any, Any], *tools: Any) -> Agent[State]:
    """An agent with these rules."""
    return Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=tools or [pay, look],
        state_schema={"user": {"type": str}},
        confirmation_strategies=strategies,
    )


def deny(*tools: str, **options: Any) -> RuleList:
    """A list of one rule."""
    return RuleList([CallRule("deny", tools or ("*",), **options)])


@pytest.mark.parametrize(
    ("strategies", "fault"),
    [
        ({"*": deny("pya")}, "rule 1 of the RuleList for '*' is about 'pya', and no tool is"),
        ({"*": deny("look", "refund_*")}, "is about 'refund_*', and no tool is called so; there"),
        ({"pay": deny("look")}, "is about 'look', and no tool is called so; there is: pay"),
        ({"pay": deny(name="no", arguments={"amuont": 3})}, "rule 'no' of the RuleList for 'pay'"),
        ({"*": deny("look", arguments={"amount": 3})}, "the argument 'amount'; there is: page"),
        ({"*": deny(arguments={"amuont": 3})}, "'amuont'; there is: amount, to, page"),
        ({"pay": deny(state={"usr": "Ada"})}, "the state key 'usr'; there is: "),
        ({"pay": AskAbove("amuont", 3)}, "AskAbove for 'pay' looks at the parameter 'amuont'"),
        ({"pay": AskOverBudget("to", 3)}, "the parameter 'to', which is no number but a string"),
        ({("pay", "look"): AskAbove("amount", 3)}, "'look' looks at the parameter 'amount'"),
        ({"*": AskAbove("cost", 3)}, "AskAbove for '*' looks at the parameter 'cost'"),
        ({"*": AskAfter(3) | ~deny("pya")}, "is about 'pya'"),
        ({"pay": WithQuestionOptions(AskAfter(1), reveals=("user",))}, "filled is: payer"),
        ({"look": WithQuestionOptions(AskAfter(1), reveals=("user",))}, "filled is: nothing"),
        ({"pay": WithQuestionOptions(deny("pya"))}, "is about 'pya'"),
        (
            {"pay": WithQuestionOptions(AskAfter(1), answers=Answers(modify=("amuont",)))},
            "the policy for 'pay' lets people change 'amuont'; there is: amount, to",
        ),
    ],
)
def test_what_a_rule_names_must_be_there(strategies: dict[Any, Any], fault: str) -> None:
    """Each tool, argument, state key and parameter, wherever in a policy it is named."""
    with pytest.raises(WiringError) as told:
        built(strategies)
    assert fault in str(told.value)
    assert len(told.value.faults) == 1


@pytest.mark.parametrize(
    "strategies",
    [
        {"*": deny("pay", arguments={"amount": 3}, state={"user": "Ada"})},
        {"*": deny("p*", "loo?")},
        {"*": AskAbove("amount", 3), "look": AlwaysAskPolicy()},
        {("pay", "look"): deny("look", arguments={"page": 3})},
        {"pay": WithQuestionOptions(AskAfter(1), reveals=("payer",), answers=Answers())},
        {"*": RuleList([CallRule("deny", ["drop_*"], {"table": "*"})], is_shared=True)},
    ],
)
def test_what_is_there_is_taken(strategies: dict[Any, Any]) -> None:
    """A list that other agents have as well may name what this one has not got."""
    assert built(strategies).spec.policies.keys() == {
        name for key in strategies for name in ((key,) if isinstance(key, str) else key)
    }


def test_of_tools_that_come_later_nothing_is_known() -> None:
    """A server's are looked up when it is connected; what the state has is known all the same."""
    rules = {"*": deny("remote_*", arguments={"x": 3}) | AskAbove("cost", 3)}
    assert built(rules, look, Server()).spec.policies
    assert built({"*": WithQuestionOptions(AskAfter(1), reveals=("x",))}, Server()).spec.policies
    with pytest.raises(WiringError, match="state key 'usr'"):
        built({"*": deny(state={"usr": "x"})}, Server())


def test_a_tool_that_takes_anything_takes_each_argument() -> None:
    """One that says that it takes nothing more does not."""
    rules = deny(arguments={"x": 3})
    assert built({"any": rules}, ANY).spec.policies
    with pytest.raises(WiringError, match="the argument 'x'; there is: none"):
        built({"none": rules}, NONE)
