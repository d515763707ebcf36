"""A loop in trio that has no driver, and a driver's behaviour."""

from __future__ import annotations

import pytest
import trio.testing

from detent import ScriptedChatGenerator, ToolCall
from tests.examples.loading import example

loop = example("trio_loop/loop.py")


def asked(model: ScriptedChatGenerator) -> tuple[list[str], float]:
    """What tools gave, and how long it took by trio's clock, which jumps over all waits."""

    async def timed() -> tuple[list[str], float]:
        began = trio.current_time()
        run = await loop.ask("How warm is it?", model)
        told = [one.text for said in run.messages for one in said.tool_call_results]
        return told, trio.current_time() - began

    return trio.run(timed, clock=trio.testing.MockClock(autojump_threshold=0.2))


def test_the_core_ends_a_tool_and_trio_cancels_it() -> None:
    """The results are in the model's order, and the slow one takes no longer than it may."""
    told, seconds = asked(loop.scripted())
    assert told[:2] == ["Oslo: 4 degrees", "Rome: 17 degrees"]
    assert told[2] == "Tool 'measure' gave no answer within 2 s"
    assert 2 <= seconds < 60


def test_a_tool_that_fails_is_told_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of a coroutine is an event like any other."""
    monkeypatch.setitem(loop.SENSORS, "Oslo", (-1, 0))
    model = ScriptedChatGenerator(ToolCall("measure", {"city": "Oslo"}), "Too bad.")
    told, _ = asked(model)
    assert len(told) == 1
    assert "negative" in told[0] or "seconds" in told[0]


def test_a_city_without_a_sensor_is_said_to_have_none() -> None:
    """With those that have one, so that a model can mend its call."""
    model = ScriptedChatGenerator(ToolCall("measure", {"city": "Paris"}), "Too bad.")
    told, _ = asked(model)
    assert told == ["there is no sensor in Paris, only in Oslo, Rome, Lima"]
