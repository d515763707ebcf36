"""What agents inside answer is said, or made up; a proof names of what it knows one example."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from attrs import frozen
from pydantic import BaseModel, Field

from detent import Agent, AgentTool, tool
from detent.approvals import CallRule, RuleList
from detent.machine import Run
from detent.testing import (
    Refuted,
    ScriptedChatGenerator,
    always,
    check,
    never_runs_unapproved,
    simulate,
)

ONLY_APPROVED = never_runs_unapproved("pay")


@frozen
class Risk:
    """How risky something is."""

    level: str
    points: tuple[int, ...] = ()


class Rating(BaseModel):
    """The same, under other names."""

    level: str = Field(alias="l")


@tool
def pay(amount: int) -> str:
    """Pay somebody."""
    raise AssertionError("no tool is run")


def paying(kind: Any, pattern: object, **options: Any) -> Agent[Any]:
    """An agent that pays unasked where an agent inside has answered what a pattern takes."""
    judge = Agent(chat_generator=ScriptedChatGenerator(), output_type=kind, **options)
    inside = AgentTool(
        judge, name="judge", description="says how risky it is", outputs_to_state={"risk": {}}
    )
    rules = RuleList([CallRule("allow", state={"risk": pattern})], otherwise="ask")
    return Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=[inside, pay],
        state_schema={"risk": {"type": kind or str}},
        confirmation_strategies={"pay": rules},
    )


@pytest.mark.parametrize(
    ("kind", "pattern", "harmless", "harmful"),
    [
        (None, "low", "high", "low"),
        (int, {"minimum": 50}, 49, 50),
        (float, {"maximum": -0.5}, 0.0, -1.5),
        (list[str], {"minItems": 5}, ["a"], ["a"] * 5),
        (Literal["low", "high"], "low", "high", "low"),
        (bool, True, False, True),
        (str | None, "low", None, "low"),
        (Risk, {"properties": {"level": {"const": "low"}}}, Risk("high"), Risk("low", (1,))),
        (Rating, {"properties": {"l": {"const": "low"}}}, Rating(l="high"), Rating(l="low")),
    ],
    ids=str,
)
def test_what_an_agent_inside_may_answer_can_be_said(
    kind: Any, pattern: object, harmless: object, harmful: object
) -> None:
    """As what a tool may give, by the value of its type; all of them are looked at."""
    agent = paying(kind, pattern)
    proof = check(agent, ONLY_APPROVED, calls=1, results={"judge": [harmless]})
    assert proof.made_up_answers == ()
    assert "answers" not in str(proof)
    with pytest.raises(Refuted, match="nobody has approved that"):
        check(agent, ONLY_APPROVED, calls=1, results={"judge": [harmless, harmful]})


def test_an_agent_answers_nothing_else() -> None:
    """Neither in a text nor by the tool to answer by."""
    seen = set[object]()

    def sees(run: Run[Any]) -> bool:
        seen.add(run.state.read("risk"))
        return True

    check(paying(int, 7), always(sees), calls=1, results={"judge": [3, 4]})
    assert seen == {None, 3, 4}


@pytest.mark.parametrize("results", [{}, {"judge": [], "pay": []}])
def test_an_answer_that_is_made_up_is_named(results: dict[str, list[object]]) -> None:
    """So that nobody takes the proof for one of all answers."""
    proof = check(paying(None, "low"), ONLY_APPROVED, turns=2, calls=1, results=results)
    assert proof.made_up_answers == ("judge",)
    assert "one made-up result each of pay, made-up answers of judge;" in str(proof)


def test_arguments_of_which_none_is_said_are_named() -> None:
    """As if nobody had said anything."""
    proof = check(paying(None, "low"), ONLY_APPROVED, calls=1, arguments={"pay": [], "judge": []})
    assert proof.made_up == ("judge", "pay")


@pytest.mark.parametrize(
    ("kind", "answer", "why"),
    [
        (None, 5, r"agent 'judge' answers by a text, and not by 5"),
        (int, "low", r"agent 'judge' cannot answer 'low': .* must be an integer"),
        (Risk, {"level": 5}, r"agent 'judge' cannot answer .*must be a string"),
        (int, object(), r"agent 'judge' cannot answer <object .*: nothing in JSON stands for"),
    ],
)
def test_what_is_no_answer_is_refused(kind: Any, answer: object, why: str) -> None:
    """Else nothing would come of it."""
    with pytest.raises(ValueError, match=why):
        check(paying(kind, "low"), ONLY_APPROVED, results={"judge": [answer]})


def test_agents_of_one_name_are_both_looked_at() -> None:
    """One stands inside the other."""

    @tool
    def note(text: str) -> str:
        """Note it."""
        raise AssertionError("no tool is run")

    def inside(*tools: Any) -> AgentTool:
        agent = Agent(chat_generator=ScriptedChatGenerator(), tools=[*tools])
        return AgentTool(agent, name="helper", description="helps")

    agent = Agent(chat_generator=ScriptedChatGenerator(), tools=[inside(inside(note))])
    proof = check(agent, always(lambda run: True, "all is well"), turns=1, calls=1)
    assert (proof.made_up_results, proof.made_up_answers) == (("note",), ("helper",))
    with pytest.raises(ValueError, match=r"the arguments \{'text': 5\} do not fit tool 'note'"):
        check(agent, always(lambda run: True), arguments={"note": [{"text": 5}]})


def test_a_simulation_draws_what_agents_inside_answer() -> None:
    """It says so where somebody says something else."""
    with pytest.raises(ValueError, match=r"\['judge'\], agents inside: their answers are drawn"):
        simulate(paying(None, "low"), seeds=1, results={"judge": ["low"]})
