"""Effects: their identity, which is all that a driver goes by."""

from __future__ import annotations

import pytest
from attrs import evolve

from detent import ChatMessage, State, Tool, ToolCall
from detent.machine import (
    AgentRef,
    AskHuman,
    AskModel,
    CallRef,
    EffectKey,
    FrozenDict,
    ModelReplied,
    Reconcile,
    RunTool,
    ToolResult,
    ToolReturned,
)
from detent.models import ChatReply

CALL = ToolCall("pay", {"n": 1}, "c1")
PAY = Tool("pay", "pays", {"type": "object"}, print)
STATE = State({"notes": {"type": list[int]}})
ASK = AskModel(2, 1, (), (), FrozenDict())
RUN = RunTool(CallRef(2, 0), 1, CALL, PAY, STATE)
LOOK = Reconcile(CallRef(2, 0), 1, CALL, PAY, STATE)
HUMAN = AskHuman(CallRef(2, 0), CALL, PAY, "digest", "money")


def test_effects_of_different_kinds_are_never_the_same() -> None:
    """A question about a call, its run and the turn's model call have keys of their own."""
    assert len({ASK.key, RUN.key, HUMAN.key, LOOK.key}) == 4


def test_another_call_turn_or_attempt_is_another_effect() -> None:
    """Each of the three is part of the identity."""
    others = [
        evolve(RUN, ref=CallRef(2, 1)),
        evolve(RUN, ref=CallRef(3, 0)),
        evolve(RUN, attempt=2),
    ]

    assert len({RUN.key, *(other.key for other in others)}) == 4
    assert len({ASK.key, evolve(ASK, turn=3).key, evolve(ASK, attempt=2).key}) == 3


def test_what_is_handed_along_does_not_change_the_identity() -> None:
    """A tool that is under way stays the same effect while the state moves on."""
    assert evolve(RUN, state=STATE.set("notes", [1])).key == RUN.key


def test_a_repr_does_not_spell_out_the_conversation() -> None:
    """Logs stay readable."""
    asked = evolve(ASK, messages=(ChatMessage.from_user("a secret"),))

    assert "<1 messages>" in repr(asked)
    assert "a secret" not in repr(asked)


def test_an_answer_is_said_to_its_request() -> None:
    """By those who answer in the place of the model or of the tool."""
    message = ChatMessage.from_assistant("hi")
    for given in ("hi", message, ChatReply(message)):
        assert ASK.replied(given).cost == 0
        assert ASK.replied(given, cost=0.5) == ModelReplied(2, 1, ChatReply(message), cost=0.5)
    assert RUN.returned({"n": 1}) == ToolReturned(CallRef(2, 0), 1, ToolResult('{"n": 1}'))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (EffectKey("model", 1, 0, 2), "model/1/0/2"),
        (EffectKey("model_pause", 12, 0, 1), "model_pause/12/0/1"),
        (
            EffectKey("tool", 1, 3, 1, (AgentRef(2, 0, "a.b:c-d"), AgentRef(10, 1, "e"))),
            "tool/1/3/1@2.0.a.b:c-d@10.1.e",
        ),
    ],
)
def test_a_key_as_text_is_the_same_in_every_process(key: EffectKey, text: str) -> None:
    """It comes back as it was, and equal ones have equal texts."""
    assert key.to_text() == text
    assert EffectKey.from_text(text) == key


@pytest.mark.parametrize(
    "text",
    [
        *("", "tool", "tool/1/0", "tool/1/0/1/2", "tool/1/0/-1", "tool/01/0/1", "tool/1/0/1\n"),
        *("tool/1/0/1@", "tool/1/0/1@1.0", "tool/1/0/1@1.0.", "tool/1/0/1@1.0.a@", "TOOL/1/0/1"),
        *("tool/\u0661/0/1", "tool/1/0/1@01.0.a", f"tool/{'9' * 5000}/0/1", " tool/1/0/1"),
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    """One key has one text, so that texts can be compared."""
    with pytest.raises(ValueError, match="no key of an effect"):
        EffectKey.from_text(text)
