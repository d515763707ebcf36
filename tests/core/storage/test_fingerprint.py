"""Fingerprints: an agent that has changed since a run was stored is told in what."""

from __future__ import annotations

from attrs import evolve

from detent import ChatMessage, State, ToolCall
from detent.core.machine.delegation import ANSWER, PARAMETERS
from detent.core.run.run import RunOptions
from detent.core.run.spec import Delegate
from detent.core.storage.journal import fingerprint, is_fingerprint, mismatches, run_to_json
from detent.core.tools.tool import by_name
from detent.machine import AgentSpec, CallRef, ModelReplied, ToolStarted, start, step
from detent.models import ChatReply
from tests.core import asking


def spec_of(agent: AgentSpec[State]) -> AgentSpec[State]:
    ask = Delegate("ask", "Ask.", PARAMETERS, lambda task: {ANSWER: task}, agent=agent)
    return AgentSpec(State({}), by_name([ask]))


INNER: AgentSpec[State] = AgentSpec(State({"found": {"type": str}}, {"found": "a"}))
SPEC = spec_of(INNER)
CALL = ChatMessage.from_assistant(tool_calls=[ToolCall("ask", {"task": "look"}, "a")])
ASKED = step(SPEC, start(SPEC, [], run_id="r"), ModelReplied(1, 1, ChatReply(CALL)))
RUN = step(SPEC, ASKED, ToolStarted(CallRef(1, 0), 1))


def test_the_same_agent_fits() -> None:
    """And so do the agents inside it."""
    told = fingerprint(SPEC, RUN)
    assert is_fingerprint(told)
    assert is_fingerprint(told["agents"]["0"])
    assert mismatches(SPEC, told, run_to_json(SPEC, RUN), RUN.slots) == []


def test_another_agent_inside_is_told_with_its_name() -> None:
    """Its state has lost a key."""
    other = spec_of(evolve(INNER, state=State({})))
    (fault,) = mismatches(other, fingerprint(SPEC, RUN), run_to_json(SPEC, RUN), RUN.slots)
    assert fault.startswith("agent 'ask': its state has the key 'found'")


def test_a_tool_that_is_gone_is_told() -> None:
    """A call of it is open."""
    bare = evolve(SPEC, tools=by_name([]))
    found = mismatches(bare, fingerprint(SPEC, RUN), run_to_json(SPEC, RUN), RUN.slots)
    assert found == ["it needs the tool 'ask'; this agent has none"]


def test_a_fingerprint_that_is_not_whole_is_none() -> None:
    """What is stored may be damaged."""
    assert not is_fingerprint({"tools": {"ask": {}}, "state": {}})
    assert not is_fingerprint({"state": {}})
    assert not is_fingerprint({"tools": {}, "state": {}, "agents": []})
    assert not is_fingerprint({"tools": {}, "state": {}, "agents": {"0": {"state": {}}}})
    schema = {"schema": "s", "description": "d"}
    assert is_fingerprint({"tools": {"ask": {**schema, "masked": ["a"]}}, "state": {}})
    assert not is_fingerprint({"tools": {"ask": {**schema, "masked": [1]}}, "state": {}})


def test_a_fingerprint_says_which_parameters_people_may_not_see() -> None:
    """So that a snapshot can be shown without the agent that it is of."""
    spec = asking.spec_of()
    run = asking.waiting(spec, {"to": "Ann", "amount": 5, "pin": "1234"})

    assert fingerprint(spec, run)["tools"]["pay"]["masked"] == ["pin"]


def test_a_tool_that_the_run_was_allowed_is_needed_too() -> None:
    """Though no call of it is open."""
    begun = start(SPEC, [], run_id="r", options=RunOptions(tools=("ask",)))
    bare = evolve(SPEC, tools=by_name([]))

    found = mismatches(bare, fingerprint(SPEC, begun), run_to_json(SPEC, begun), begun.slots)

    assert found == ["it needs the tool 'ask'; this agent has none"]
