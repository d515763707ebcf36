"""A question about a call of very many parts is put without a copy of them."""

from __future__ import annotations

import sys
from typing import Any

from attrs import evolve

from detent import Tool, ToolCall
from detent.approvals import PendingCall
from detent.machine import AskHuman, due
from detent.ports.pending import question
from tests.core.asking import spec_of, waiting

ANN = {"to": "Ann", "amount": 5, "pin": "1234"}
SPEC = spec_of()
(EFFECT,) = (one for one in due(SPEC, waiting(SPEC, ANN)) if isinstance(one, AskHuman))
ANYTHING: dict[str, Any] = {"type": "object", "properties": {"x": {}}}
FILLED: dict[str, Any] = {"type": "object", "properties": {"x": {}, "y": {"default": [1]}}}


def question_and_calls(effect: AskHuman) -> tuple[PendingCall, int]:
    """A question, and how many calls of functions it takes to put it."""
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(f"{event} {frame.f_code.co_name}"))
    try:
        put = question(effect)
    finally:
        sys.setprofile(None)
    return put, len(calls)


def about(schema: dict[str, Any], many: int) -> AskHuman:
    """A question about so many lists."""
    tool = Tool("put", "", schema, print)
    return evolve(EFFECT, tool=tool, call=ToolCall("put", {"x": [[] for _ in range(many)]}, "c"))


def test_it_takes_no_longer_than_one_about_a_few() -> None:
    """An event loop puts it: eight of 390 kB held it for more than a second."""
    for schema in (ANYTHING, FILLED):
        few, many = about(schema, 1), about(schema, 10_000)
        for effect in (few, many):
            question(effect)  # what is filled in is found out before, to check the call

        assert question_and_calls(many)[1] == question_and_calls(few)[1]


def test_the_arguments_are_those_of_the_call() -> None:
    """Which nobody can change; what it leaves out stands behind them."""
    effect = about(ANYTHING, 3)
    assert question(effect).arguments["x"] is effect.call.arguments["x"]
    whole = question(about(FILLED, 1))
    assert whole.arguments == {"x": [[]], "y": [1]}
    assert whole.defaults == ("y",)
    assert hash(whole.arguments["y"]) == hash(whole.arguments["y"])
