"""The scripted human answers as it was told, and tells what it was asked."""

from __future__ import annotations

from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    Answered,
    BlockingConfirmationStrategy,
    ChatMessage,
    ConfirmationUIResult,
    Confirmed,
    Modified,
    Rejected,
    ToolCall,
    tool,
)
from detent.ports.confirmation import decision_of
from detent.testing import Question, ScriptedChatGenerator, ScriptedHuman, transcript


@tool
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


@pytest.mark.parametrize(
    "decision",
    [Confirmed(), Rejected("too much"), Modified({"n": [1]}, "less"), Answered("by hand"), None],
    ids=lambda decision: type(decision).__name__,
)
def test_a_decision_is_said_so_that_it_is_understood(
    decision: Confirmed | Rejected | Modified | Answered | None,
) -> None:
    """What the driver makes of the answer is the decision again."""
    said = ScriptedHuman(decision).get_user_confirmation("pay", "Pay.", {})

    assert decision_of(said) == decision


def test_an_answer_may_be_said_raised_or_made() -> None:
    """As the console would say it, by an exception, or by a function of the question."""
    whole = ConfirmationUIResult("confirm")
    human = ScriptedHuman(
        whole, KeyboardInterrupt_(), lambda asked: Answered(f"no {asked.tool_name}")
    )

    assert human.get_user_confirmation("pay", "", {}) is whole
    with pytest.raises(KeyboardInterrupt_):
        human.get_user_confirmation("pay", "", {})
    assert human.get_user_confirmation("pay", "", {}).feedback == "no pay"
    human.assert_complete()


class KeyboardInterrupt_(Exception):  # noqa: N801, N818 - stands for one
    """Somebody has had enough."""


def test_an_answer_may_depend_on_the_tool() -> None:
    """All other questions are answered in order."""
    human = ScriptedHuman(Confirmed(), by_tool={"pay": Rejected("never")})

    actions = [human.get_user_confirmation(name, "", {}).action for name in ("pay", "mail", "pay")]

    assert actions == ["reject", "confirm", "reject"]
    human.assert_complete()


def test_a_script_that_is_not_kept_to_is_an_error() -> None:
    """Asked too often, or not often enough."""
    human = ScriptedHuman(by_tool={"pay": Confirmed()})
    with pytest.raises(AssertionError, match=r"has 0 answers.*\n  may mail run with {'n': 1}\?"):
        human.get_user_confirmation("mail", "", {"n": 1})
    with pytest.raises(AssertionError, match=r"1 answer of the script was .*\n  pay: Confirmed"):
        human.assert_complete()
    with pytest.raises(AssertionError, match=r"2 answers of the script were never asked for"):
        ScriptedHuman(Confirmed(), None).assert_complete()


def test_an_agent_asks_it() -> None:
    """Each call of the guarded tool, with what the tool is for."""
    human = ScriptedHuman(Rejected("too much"), Confirmed())
    calls = [ToolCall("pay", {"amount": 9}), ToolCall("pay", {"amount": 1})]
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "ok"),
        tools=[pay],
        confirmation_strategies={"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), human)},
    )

    result = agent.run("pay them")

    assert human.asked == [
        Question("pay", "Pay somebody.", {"amount": amount}) for amount in (9, 1)
    ]
    assert "paid 1" in transcript(result)
    assert "paid 9" not in transcript(result)


def test_what_is_no_answer_is_refused_where_it_is_written() -> None:
    """And where a function makes it."""
    yes: Any = "yes"
    with pytest.raises(TypeError, match=r"an answer of a script is one of Confirmed, .*: 'yes'"):
        ScriptedHuman(yes)
    with pytest.raises(TypeError, match="an answer of a script is one of Confirmed"):
        ScriptedHuman(by_tool={"pay": yes})
    with pytest.raises(TypeError, match="an answer of a script is one of Confirmed"):
        ScriptedHuman(lambda question: yes).get_user_confirmation("pay", "", {})


def test_a_question_that_nobody_answers_names_the_tools_that_are_answered_for() -> None:
    """It is then most often a name that was written wrong."""
    human = ScriptedHuman(by_tool={"pya": Confirmed()})
    with pytest.raises(
        AssertionError, match=r"may pay run with \{\}\? \(by_tool answers for pya\)"
    ):
        human.get_user_confirmation("pay", "", {})
