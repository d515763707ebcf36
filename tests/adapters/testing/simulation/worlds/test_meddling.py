"""What comes to a simulated run that it did not ask for is what it says to be."""

from __future__ import annotations

from typing import Any

from detent import ChatMessage, Confirmed, State, Tool, ToolCall
from detent.adapters.testing.simulation.worlds.meddling import echoed, forged, late_yes
from detent.approvals import Ask
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    CallRef,
    FrozenDict,
    HumanDecided,
    Judged,
    ModelReplied,
    Resumed,
    Run,
    start,
    step,
)
from detent.models import ChatReply

SPEC = AgentSpec(
    State({}),
    by_name([Tool("pay", "", {"type": "object"}, print)]),
    policies=FrozenDict({"pay": lambda call, tool, run: Ask()}),
)
BEGUN = start(SPEC, [], run_id="r")
REPLIED = ModelReplied(
    1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {}, "a")]))
)


def asking(expires_s: float | None) -> Run[Any]:
    """A run that waits for a human."""
    verdict = Judged(CallRef(1, 0), Ask(expires_s=expires_s), at=1.0)
    return step(SPEC, step(SPEC, BEGUN, REPLIED), verdict)


def test_a_forged_yes_has_another_digest() -> None:
    """There is none where nothing is asked."""
    run = asking(None)
    event = forged(run, ["another"], 1)

    assert isinstance(event, HumanDecided)
    assert step(SPEC, run, event) is run
    assert forged(BEGUN, ["another"], 1) is None


def test_a_late_yes_is_one_to_a_question_that_ends() -> None:
    """It is the question's own digest, and a time behind its end."""
    run = asking(5.0)
    late = late_yes(SPEC, run, 0)

    assert late is not None
    assert late.at == 7.0
    event = HumanDecided(late.effect.ref, late.effect.digest, late.decision, at=late.at)
    assert step(SPEC, run, event) is run
    assert late_yes(SPEC, asking(None), 0) is None


def test_an_echo_is_of_the_past() -> None:
    """About a call of the open turn, if it is to be and there is one."""
    about, other = HumanDecided(CallRef(1, 0), "d", Confirmed()), Resumed("p")

    assert echoed(asking(None), [other, about], 2) is about
    assert echoed(asking(None), [other, about], 4) is other
