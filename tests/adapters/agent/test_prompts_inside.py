"""Runs go on, and are read, when agents inside have got other instructions, or none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatMessage,
    Runs,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.journals import MemoryJournal
from detent.machine import AgentChangedError
from detent.ports.journal import Journal
from detent.testing import When

Prompts = tuple[str | None, str | None]
"""Those of the agent in the middle, and of the one inside it."""
PROMPTS: list[Prompts] = [
    (None, None),
    ("Be brief.", None),
    (None, "Be careful."),
    ("Be brief.", "Be careful."),
    ("Be kind.", "Be quick."),
]


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"{amount} paid"


def scripted(name: str, arguments: dict[str, object]) -> ScriptedChatGenerator:
    """A model that calls one tool, and tells what it gave."""

    def replied(messages: Sequence[ChatMessage]) -> ToolCall | str:
        results = messages[-1].tool_call_results
        return results[0].text if results else ToolCall(name, arguments)

    return ScriptedChatGenerator(When(lambda messages: True, replied))


def desk(prompts: Prompts, journal: Journal | None = None, *, is_asked: bool = True) -> Agent:
    """An agent around another one around a third, which pays once it is told to."""
    middle, inside = prompts
    rules = {"pay": AlwaysAskPolicy()} if is_asked else {}
    payer = Agent(
        chat_generator=scripted("pay", {"amount": 5}),
        tools=[pay],
        confirmation_strategies=rules,
        system_prompt=inside,
    )
    clerk = Agent(
        chat_generator=scripted("payer", {"task": "pay"}),
        tools=[AgentTool(payer, name="payer", description="Pays.")],
        system_prompt=middle,
    )
    return Agent(
        name="desk",
        chat_generator=scripted("clerk", {"task": "pay"}),
        tools=[AgentTool(clerk, name="clerk", description="Has it paid.")],
        system_prompt="Help.",
        journal=journal,
    )


@pytest.mark.parametrize("before", PROMPTS)
@pytest.mark.parametrize("after", PROMPTS)
def test_a_run_is_the_same_by_other_instructions_inside(before: Prompts, after: Prompts) -> None:
    """Wherever it stands: at work inside, waiting for a human there, or at its end."""
    journal = MemoryJournal()
    begun = desk(before, journal)
    begun.run("Pay.", run_id="r", raise_at_break_point=False)
    waiting = journal.runs()[0].length
    (question,) = begun.pending("r")

    later = desk(after, journal)
    (same,) = later.pending("r")
    assert same.digest == question.digest
    later.decide("r", question.confirm(by="Ada"))
    assert later.resume("r").text == "5 paid"

    length = journal.runs()[0].length
    assert length > waiting
    for one in (desk(before), desk(after)):
        for until in range(1, length + 1):
            Runs(journal, one.spec).at("r", until)


def test_other_rules_inside_are_still_found_out() -> None:
    """Instructions say nothing of what a run comes to; a guard does."""
    journal = MemoryJournal()
    desk((None, None), journal).run("Pay.", run_id="r", raise_at_break_point=False)
    unguarded = desk(("Be brief.", "Be careful."), is_asked=False)
    with pytest.raises(AgentChangedError, match=r"the agent's rules have changed"):
        Runs(journal, unguarded.spec).at("r")
