"""Effects and reports as JSON: another process that has the same agent finds the same effect."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, State, Tool, ToolCall
from detent.adapters.hosts.effects.stored import (
    effect_from_json,
    effect_to_json,
    report_from_json,
    report_to_json,
)
from detent.approvals import Ask
from detent.core.errors import AgentChangedError, StoredDataError, UnstorableError
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AskModel,
    Effect,
    FrozenDict,
    Judge,
    ModelReplied,
    Run,
    RunTool,
    ToolReturned,
    due,
    start,
    step,
)
from detent.models import ChatReply

NOTE = Tool(
    "note",
    "",
    {"type": "object", "properties": {"text": {"type": "string"}}},
    lambda text: text,
    outputs_to_state={"notes": {}},
)
SPEC = AgentSpec(State({"notes": {"type": list[str]}}), tools=by_name([NOTE]))


def turned() -> Run[Any]:
    """A run that is owed two calls of a tool."""
    run = start(SPEC, [ChatMessage.from_user("hi")], run_id="r")
    calls = [ToolCall("note", {"text": text}, text) for text in ("a", "b")]
    said = ChatMessage.from_assistant(tool_calls=calls)
    return step(SPEC, run, ModelReplied(1, 1, ChatReply(said)))


def travelled(effect: Effect, run: Run[Any]) -> Effect:
    """Through text."""
    return effect_from_json(SPEC, json.loads(json.dumps(effect_to_json(SPEC, run, effect))))


def test_a_judgement_that_is_owed_comes_back_as_it_was() -> None:
    """Known by its name alone: what the policy is asked about is in the run."""
    spec = evolve(SPEC, policies=FrozenDict({"note": lambda call, tool, run: Ask()}))
    run = start(spec, [ChatMessage.from_user("hi")], run_id="r")
    call = ToolCall("note", {"text": "a"}, "a")
    run = step(
        spec, run, ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=[call])))
    )
    (judge,) = due(spec, run)
    assert isinstance(judge, Judge)
    back = effect_from_json(spec, json.loads(json.dumps(effect_to_json(spec, run, judge))))
    assert (type(back), back.key) == (Judge, judge.key)


def test_each_effect_comes_back_as_it_was() -> None:
    """With the tool itself, which no JSON has."""
    run = start(SPEC, [ChatMessage.from_user("hi")], run_id="r")
    (asked,) = due(SPEC, run)
    assert travelled(asked, run) == asked
    run = turned()
    for effect in due(SPEC, run):
        again = travelled(effect, run)
        assert again == effect
        assert isinstance(again, RunTool)
        assert again.tool is NOTE


def test_what_a_run_is_not_owed_as_it_is_does_not_travel() -> None:
    """What a hook has changed would come back unchanged; what is done would be done again."""
    run = start(SPEC, [ChatMessage.from_user("hi")], run_id="r")
    (asked,) = due(SPEC, run)
    assert isinstance(asked, AskModel)
    changed = evolve(asked, generation_kwargs=FrozenDict({"temperature": 0}))
    later = turned()
    call = due(SPEC, later)[0]
    assert isinstance(call, RunTool)
    other = evolve(call, call=ToolCall("note", {"text": "c"}, "a"))
    for effect, of in ((changed, run), (asked, later), (other, later)):
        with pytest.raises(UnstorableError, match=f"is not owed {effect.key.to_text()} as it is"):
            effect_to_json(SPEC, of, effect)


def test_an_effect_may_travel_with_a_run_that_has_moved_on() -> None:
    """Of two calls the second one is the same when the first one has ended."""
    run = turned()
    first, second = due(SPEC, run)
    assert isinstance(first, RunTool)
    later = step(SPEC, run, first.returned("a"))
    again = travelled(second, later)
    assert again.key == second.key
    assert isinstance(again, RunTool)
    assert again.state.to_dict() == later.state.to_dict()


def test_an_agent_with_other_rules_is_told_before_it_performs() -> None:
    """By an error of its own; what does not change how a run goes on does not matter."""
    run = turned()
    data = effect_to_json(SPEC, run, due(SPEC, run)[0])
    with pytest.raises(AgentChangedError, match="written by an agent with the rules"):
        effect_from_json(evolve(SPEC, exit_conditions=frozenset({"text", "note"})), data)
    assert (
        effect_from_json(evolve(SPEC, system_prompt="Be brief."), data).key == due(SPEC, run)[0].key
    )


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"detent": "report"}, "no effect"),
        ({"effect": 7}, "no effect"),
        ({"effect": "tool"}, "damaged data: this is no key"),
        ({"effect": "tool/1/7/1"}, "damaged data: run 'r' is not owed tool/1/7/1"),
        ({"run": []}, "no effect"),
        ({"run": {"id": 1}}, "stored data cannot be read"),
        ({"rules": None}, "no effect"),
        ({"format": 99}, "stored in format 99"),
    ],
)
def test_what_is_no_effect_is_refused(changed: dict[str, object], told: str) -> None:
    """Whoever sends jobs may send anything."""
    run = turned()
    data = effect_to_json(SPEC, run, due(SPEC, run)[0]) | changed
    with pytest.raises(StoredDataError, match=told):
        effect_from_json(SPEC, data)


def test_a_report_comes_back_with_what_the_tool_wrote() -> None:
    """So that the run after it is the same as if nothing had travelled."""
    run = turned()
    effect = due(SPEC, run)[1]
    assert isinstance(effect, RunTool)
    event = effect.returned("b")
    again = report_from_json(
        SPEC, effect, json.loads(json.dumps(report_to_json(SPEC, effect, event)))
    )
    assert isinstance(again, ToolReturned)
    assert step(SPEC, run, again) == step(SPEC, run, event)
    assert report_from_json(SPEC, effect, report_to_json(SPEC, effect, None)) is None


@pytest.mark.parametrize("change", [{"detent": "effect"}, {"event": 3}, {"effect": "tool/1/0/1"}])
def test_what_is_no_report_on_it_is_refused(change: dict[str, object]) -> None:
    """A report on another effect, too: it would settle what nobody has done."""
    run = turned()
    effect = due(SPEC, run)[1]
    data = report_to_json(SPEC, effect, None) | change
    with pytest.raises(StoredDataError, match=r"this is (no|a) report"):
        report_from_json(SPEC, effect, data)
