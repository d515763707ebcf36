"""Rules that name what is not there are found when the agent is built: they would never be used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field

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


class Payee(BaseModel):
    """Of pydantic, which calls it otherwise than the program does."""

    name: str = Field(alias="payee")
    inner: Payee | None = None


class Loose(BaseModel, extra="allow"):
    """What keeps whatever it gets."""

    to: Payee


@dataclass
class Order:
    """With what is in a class, in lists of such, and by names that nobody knows."""

    to: Payee
    others: list[Payee]
    named: dict[str, Payee]
    loose: Loose
    note: str | None = None


@tool
def order(order: Order) -> str:
    """Order something."""
    return str(order)


@tool
def order_too(order: Loose) -> str:
    """Order something else."""
    return str(order)


def looks(*path: str) -> dict[str, Any]:
    """A pattern that looks at a place; "[]" leads into a list."""
    if len(path) == 1:
        return {"required": [*path]}
    inside = looks(*path[1:])
    return {"items": inside} if path[0] == "[]" else {"properties": {path[0]: inside}}


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


@pytest.mark.parametrize(
    ("pattern", "place", "names"),
    [
        (looks("to", "name"), "order.to.name", "payee, inner"),
        (looks("to", "inner", "inner", "name"), "order.to.inner.inner.name", "payee, inner"),
        (looks("others", "[]", "name"), "order.others[].name", "payee, inner"),
        (looks("named", "x", "name"), "order.named.x.name", "payee, inner"),
        (looks("loose", "to", "name"), "order.loose.to.name", "payee, inner"),
        ({"anyOf": [looks("nte"), True]}, "order.nte", "to, others, named, loose, note"),
        ({"properties": {"nte": True}}, "order.nte", "to, others, named, loose, note"),
    ],
)
def test_what_a_rule_looks_at_inside_an_argument_must_be_there(
    pattern: object, place: str, names: str
) -> None:
    """By the name that the call has: a class may call it otherwise."""
    with pytest.raises(
        WiringError, match=re.escape(f"at '{place}' of the arguments; there is: {names}")
    ):
        built({"order": deny(arguments={"order": pattern})}, order)


@pytest.mark.parametrize(
    "pattern",
    [
        looks("to", "payee"),
        looks("to", "inner", "inner", "payee"),
        looks("others", "[]", "payee"),
        looks("named", "x", "payee"),
        looks("loose", "whatever", "more"),
        looks("note", "length"),  # of a text, nobody says
    ],
)
def test_what_is_there_inside_an_argument_is_taken(pattern: object) -> None:
    """Also what a class keeps that it does not name."""
    assert built({"order": deny(arguments={"order": pattern})}, order).spec.policies


def test_a_rule_for_several_tools_may_look_inside_an_argument_of_some() -> None:
    """One that keeps whatever it gets may get that."""
    rules = deny(arguments={"order": looks("note", "length"), "page": 3})
    assert built({"*": deny(arguments={"order": looks("x")})}, order, order_too).spec.policies
    assert built({"*": rules}, order, look).spec.policies


def test_of_schemas_in_schemas_each_that_counts_says_what_is_there() -> None:
    """Of options, all that take objects must be without it; of those that always hold, one."""
    closed = {"properties": {"a": {}}, "additionalProperties": False}
    base: dict[str, Any] = {"type": "object", "$defs": {"closed": closed}}

    def lost(**schema: Any) -> bool:
        made = Tool("any", "Any.", {**base, "properties": {"x": schema}}, lambda x: x)
        try:
            return not built({"any": deny(arguments={"x": looks("b")})}, made).spec.policies
        except WiringError:
            return True

    assert lost(**closed)
    assert lost(**{"$ref": "#/$defs/closed"})
    assert lost(allOf=[{"type": "object"}, closed])
    assert lost(anyOf=[closed, {"type": ["string", "null"]}])
    assert not lost(anyOf=[closed, {"type": "object"}])
    assert not lost(oneOf=[closed, True])
    assert not lost(anyOf=[{"type": "null"}])
    assert not lost(**closed, patternProperties={"^b": {}})
    assert not lost(**{"$ref": "#/$defs/closed"}, anyOf=[{"properties": {"b": {}}}])


@tool
def send(to: list[str], text: str, copies: int | None = None) -> str:
    """Send a mail."""
    return text


@pytest.mark.parametrize("name", ["to", "copies"])
def test_a_text_that_is_looked_for_where_none_ever_is_is_a_mistake(name: str) -> None:
    """A rule that is to deny by it would let everything pass."""
    rules = RuleList([CallRule("deny", arguments={name: "*@evil.example"}, name="blocked")])
    fault = f"rule 'blocked' of the RuleList for 'send' looks at the argument {name!r} for a text"
    with pytest.raises(WiringError, match=re.escape(fault)):
        built({"send": rules}, send)


def test_a_text_is_looked_for_where_one_may_be() -> None:
    """In one of the tools at least, or in what nobody says anything of."""
    contains = {"contains": {"pattern": "@evil\\.example$"}}
    built({"send": RuleList([CallRule("deny", arguments={"to": contains})])}, send)
    built({"send": RuleList([CallRule("deny", arguments={"text": "*@evil.example"})])}, send)
    built({"*": RuleList([CallRule("deny", arguments={"to": "*@evil.example"})])}, send, pay)
    built({"any": RuleList([CallRule("deny", arguments={"to": "*@evil.example"})])}, ANY)
