"""Schemas of servers: what the server would fill in is shown and judged before it is sent."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

from detent import Agent, AlwaysAskPolicy, MemoryJournal, ScriptedChatGenerator, ToolCall
from detent.adapters.mcp.schemas import SchemaRefusedError, plain_schema
from detent.approvals import CallRule, RuleList
from detent.core.schema.filling import Filling
from detent.core.schema.validation import Validator
from detent.mcp import MCPToolset


class Order(BaseModel):
    """A model that has itself in it."""

    to: str
    amount: int = 9000
    next: Order | None = None


def shop(ran: list[Order]) -> MCPServer:
    """A server with one tool, whose parameter has a description beside its reference."""
    server = MCPServer("shop")

    @server.tool()
    def pay(order: Annotated[Order, Field(description="what to pay")]) -> str:
        """Pay."""
        ran.append(order)
        return "paid"

    return server


def test_a_default_behind_a_reference_is_shown_and_sent() -> None:
    """Also where a word stands beside it, and in a model within itself."""
    ran: list[Order] = []
    sent = {"order": {"to": "Ann", "next": {"to": "Bob"}}}
    inner = {"to": "Bob", "amount": 9000, "next": None}
    with MCPToolset(shop(ran)) as tools:
        agent = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", sent), "done"),
            tools=[tools],
            confirmation_strategies={"pay": AlwaysAskPolicy()},
            journal=MemoryJournal(),
        )
        agent.run("go", run_id="r", raise_at_break_point=False)
        (call,) = agent.pending("r")
        assert call.arguments == {"order": {"to": "Ann", "amount": 9000, "next": inner}}
        agent.decide("r", call.confirm())
        agent.resume("r")

    assert ran == [Order(to="Ann", next=Order(to="Bob"))]


@pytest.mark.parametrize("sent", [{"to": "A"}, {"to": "A", "amount": 1, "next": {"to": "B"}}])
def test_a_rule_is_not_passed_by_what_is_left_out(sent: dict[str, Any]) -> None:
    """It sees what the server would have taken."""
    ran: list[Order] = []
    much = {"properties": {"amount": {"minimum": 1000}}, "required": ["amount"]}
    within = {"properties": {"next": much}, "required": ["next"]}
    deny = [CallRule("deny", arguments={"order": pattern}) for pattern in (much, within)]
    with MCPToolset(shop(ran)) as tools:
        Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", {"order": sent}), "done"),
            tools=[tools],
            confirmation_strategies={"pay": RuleList(deny, otherwise="allow")},
        ).run("go")

    assert ran == []


def test_what_has_defaults_goes_no_deeper_than_they_are_known() -> None:
    """Else nobody would be shown those further down; without any, it goes as deep as it likes."""

    def deep(levels: int) -> dict[str, Any]:
        return {"order": {"to": "Ann", **({"next": deep(levels - 1)["order"]} if levels else {})}}

    with MCPToolset(shop([])) as tools:
        tools.warm_up()
        (pay,) = tools
        assert [pay.fits(deep(levels)) for levels in (0, 3, 4)] == [True, True, False]
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}}
    assert plain_schema(loop, fills_in=True) == {"properties": {"b": True}}


@pytest.mark.parametrize(("names", "levels"), [(2, 3), (10, 2), (40, 1), (100, 0)])
def test_what_has_no_room_is_followed_less_often(names: int, levels: int) -> None:
    """And not at all, where there is none."""
    many = {f"n{n}": {"$ref": "#/$defs/a"} for n in range(names)}
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {**many, "x": {"default": 1}}}}}

    part: Any = plain_schema(loop, fills_in=True)
    for _ in range(levels):
        part = part["properties"]["n0"]
    assert part["properties"]["n0"] is False
    assert plain_schema(loop)["properties"]["n0"] is True


@pytest.mark.parametrize(
    "part",
    [
        {"unevaluatedProperties": {"properties": {"n": {"default": 1}}}},
        {"dependencies": {"to": {"properties": {"n": {"default": 1}}}}},
        {"patternProperties": {"(?!x)": {"properties": {"n": {"default": 1}}}}},
        {
            "patternProperties": {"(?!x)": {}},
            "additionalProperties": {"properties": {"n": {"default": 1}}},
        },
    ],
)
def test_a_default_where_it_would_not_be_seen_refuses_the_tool(part: dict[str, Any]) -> None:
    """What is taken out of a schema takes no default along."""
    with pytest.raises(SchemaRefusedError, match="nobody would be shown it"):
        plain_schema({"properties": {"a": part}}, fills_in=True)
    assert plain_schema({"properties": {"a": part}}) == {"properties": {"a": {}}}


HARD = {"properties": {"to": {"pattern": "^(?!Ann)"}}}
FEE = {"properties": {"fee": {"default": 5}}}
FREE = {"properties": {"fee": {"default": 0}}}


@pytest.mark.parametrize(
    "rule",
    [
        {"if": HARD, "then": FEE, "else": FREE},
        {"if": HARD, "then": FEE},
        {"if": HARD, "else": FEE},
        {"if": {"not": HARD}, "then": FEE},
        {"if": {"unevaluatedProperties": False}, "then": FEE},
        {"anyOf": [{"required": ["to"]}, {**FEE, "not": HARD}]},
        {"oneOf": [HARD, {**HARD, **FEE}]},
    ],
)
def test_what_hangs_on_a_rule_that_cannot_be_checked_must_be_said(rule: dict[str, Any]) -> None:
    """Only the server can say whether it fills that in."""
    schema = plain_schema({"type": "object", **rule}, fills_in=True)

    for to in ("Ann", "Bob"):
        assert Filling(schema).filled({"to": to}).unclear == (("fee",),)
        assert Filling(schema).filled({"to": to, "fee": 1}).unclear == ()


def test_a_rule_that_cannot_be_checked_refuses_nothing() -> None:
    """Not as a condition, nor where it stands in what must not be."""
    branches = {"if": HARD, "then": {"required": ["x"]}, "else": {"required": ["y"]}}
    schema = plain_schema({"allOf": [branches], "not": HARD, "oneOf": [HARD, {"not": HARD}]})

    for fine in ({"x": 1}, {"y": 1}):
        assert Validator(schema).fits(fine)
    assert not Validator(schema).fits({})
