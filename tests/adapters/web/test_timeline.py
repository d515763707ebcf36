"""The timeline: what took time in a run, by its entries alone."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from detent.adapters.web.timeline import BARS_MAX, LANES_MAX, bars_of, picture_of
from detent.journals import Entry


def entries(*happened: tuple[float, str, dict[str, Any]]) -> list[Entry]:
    return [
        Entry(position, at, kind, "running", data)
        for position, (at, kind, data) in enumerate(happened)
    ]


def numbered(*parts: Entry) -> list[Entry]:
    return [evolve(entry, position=position) for position, entry in enumerate(parts)]


def replied(turn: int, *tools: str) -> dict[str, Any]:
    calls = [{"$type": "ToolCall", "tool_name": name} for name in tools]
    return {"turn": turn, "attempt": 1, "reply": {"message": {"content": calls}}}


RUN = entries(
    (10.0, "Started", {}),
    (12.0, "ModelReplied", replied(1, "pay", "look")),
    (12.0, "Judged", {"ref": [1, 0], "verdict": {"$type": "Ask"}}),
    (12.0, "Judged", {"ref": [1, 1], "verdict": {"$type": "Allow"}}),
    (12.5, "ToolStarted", {"ref": [1, 1], "attempt": 1}),
    (13.0, "ToolRaised", {"ref": [1, 1], "attempt": 1}),
    (20.0, "HumanDecided", {"ref": [1, 0]}),
    (20.0, "ToolStarted", {"ref": [1, 0], "attempt": 1}),
)


def test_each_thing_stands_in_its_lane_from_its_begin_to_its_end() -> None:
    """The model from what came before it; what is allowed waits for nobody."""
    found = [(bar.lane, bar.begin, bar.end, bar.failed) for bar in bars_of(RUN)]
    assert found == [
        ("model", 10.0, 12.0, False),
        ("waits", 12.0, 20.0, False),
        ("look", 12.5, 13.0, True),
        ("pay", 20.0, None, False),
    ]


def test_who_has_decided_is_waited_for_no_more() -> None:
    """Though a policy is asked again before it and behind it, and leaves it at that."""
    asked = {"ref": [1, 0], "verdict": {"$type": "Ask"}}
    again = entries((15.0, "Judged", asked), (20.5, "Judged", asked))
    began = (21.0, "ToolStarted", {"ref": [1, 0], "attempt": 1})
    run = numbered(*RUN[:6], again[0], RUN[6], again[1], *entries(began))
    found = [(bar.begin, bar.end, bar.failed) for bar in bars_of(run) if bar.lane == "waits"]
    assert found == [(12.0, 20.0, False)]


def test_nothing_is_drawn_where_no_process_lived() -> None:
    """What was cut short ends with the last that is known of its process, and has a mark there."""
    run = numbered(
        *RUN,
        *entries(
            (23.0, "MessageReceived", {}),
            (90.0, "Resumed", {"mark": "1 Acting 1 AwaitingDecision Faulted"}),
            (99.0, "HumanDecided", {"ref": [1, 0]}),
            (99.5, "ToolStarted", {"ref": [1, 0], "attempt": 2}),
            (99.9, "ToolReturned", {"ref": [1, 0], "attempt": 2}),
        ),
    )
    picture = picture_of(run, now=200.0)
    assert picture is not None
    paid = [(drawn.bar.begin, drawn.bar.end, drawn.bar.is_cut) for drawn in picture.bars[3:]]
    assert paid == [(20.0, 20.0, True), (90.0, 99.0, False), (99.5, 99.9, False)]
    assert picture.bars[3].text == "pay: pay, cut short after 0.0 s or later"
    assert picture.has_cut


def test_an_agent_inside_has_lanes_of_its_own() -> None:
    """Its events stand in those of the run around it."""
    inner = {"$type": "ModelReplied", **replied(1, "dig")}
    start = {"$type": "ToolStarted", "ref": [1, 0], "attempt": 1}
    run = entries(
        (0.0, "Started", {}),
        (1.0, "ModelReplied", replied(1, "helper")),
        (1.0, "ToolStarted", {"ref": [1, 0]}),
        (2.0, "HappenedInside", {"ref": [1, 0], "tool_name": "helper", "event": inner}),
        (3.0, "HappenedInside", {"ref": [1, 0], "tool_name": "helper", "event": start}),
    )
    assert [bar.lane for bar in bars_of(run)] == [
        "model",
        "helper",
        "helper / model",
        "helper / dig",
    ]


def test_the_model_waits_for_an_agent_inside() -> None:
    """Its second answer takes from when the agent has ended, which the marks of the entries say."""
    inner = {"$type": "ModelReplied", **replied(1), "mark": "1 Done 2"}
    run = entries(
        (0.0, "Started", {}),
        (1.0, "ModelReplied", {**replied(1, "helper"), "mark": "1 Acting 1 Ready"}),
        (1.0, "ToolStarted", {"ref": [1, 0]}),
        (
            5.0,
            "HappenedInside",
            {"ref": [1, 0], "tool_name": "helper", "event": inner, "mark": "2 Thinking 3"},
        ),
        (6.0, "ModelReplied", {**replied(2), "mark": "2 Done 4"}),
    )
    assert [(bar.lane, bar.begin, bar.end) for bar in bars_of(run)] == [
        ("model", 0.0, 1.0),
        ("helper", 1.0, 5.0),
        ("helper / model", 1.0, 5.0),
        ("model", 5.0, 6.0),
    ]


def test_a_picture_is_to_scale_and_says_what_goes_on() -> None:
    """What has not ended lasts until now."""
    picture = picture_of(RUN, now=30.0)
    assert picture is not None
    assert picture.seconds == 20.0
    width = {one.bar.lane: one.width for one in picture.bars}
    assert (width["model"], width["pay"]) == (10.0, 50.0)  # in hundredths of the picture
    assert picture.has_failed
    assert "goes on 10.0 s" in picture.bars[-1].text
    assert picture_of(entries((1.0, "Started", {})), now=2.0) is None


def test_a_run_of_any_length_has_a_picture_that_can_be_looked_at() -> None:
    """What is left out is counted."""
    many = entries(
        (0.0, "Started", {}),
        *((float(turn), "ModelReplied", replied(turn, f"t{turn}")) for turn in range(1, 3001)),
        *((4000.0, "ToolStarted", {"ref": [turn, 0]}) for turn in range(1, 101)),
    )
    picture = picture_of(many, now=5000.0)
    assert picture is not None
    assert len(picture.bars) == BARS_MAX
    assert len(picture.lanes) == LANES_MAX
    assert picture.left_out == 3100 - BARS_MAX
