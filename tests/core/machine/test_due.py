"""What is due: the same for the same run, and never twice what is under way."""

from __future__ import annotations

from attrs import evolve

from detent import ChatMessage, Confirmed, IdempotencyKey, Limits, OutputType, State, Tool, ToolCall
from detent.approvals import Ask, judge
from detent.core.run.approval import Decision, DecisionRecord, Modified
from detent.core.run.effects import call_name
from detent.core.run.refs import AgentRef
from detent.core.run.run import evolve as evolve_run
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AskHuman,
    AskModel,
    CallRef,
    Event,
    FrozenDict,
    HumanDecided,
    Judge,
    Judged,
    ModelReplied,
    Reconcile,
    Resumed,
    Run,
    RunOptions,
    RunTool,
    ToolStarted,
    due,
    replay,
    start,
    step,
)
from detent.models import ChatReply

NOTE, PAY = (Tool(name, "", {"type": "object"}, print) for name in ("note", "pay"))
SPEC = AgentSpec(
    State({"user": {"type": str}}),
    by_name([NOTE, PAY]),
    policies=FrozenDict({"pay": lambda call, tool, run: Ask("money")}),
    generation_kwargs=FrozenDict({"temperature": 0, "seed": 1}),
)
START = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")


def judged(spec: AgentSpec[State], run: Run[State]) -> Run[State]:
    """The run when every policy has been asked."""
    while asked := [effect for effect in due(spec, run) if isinstance(effect, Judge)]:
        for effect in asked:
            said = judge(effect)
            assert isinstance(said, Judged)
            run = step(spec, run, said)
    return run


def calling(*names: str) -> Run[State]:
    """The run after the model has called these tools."""
    calls = [ToolCall(name, {}, str(place)) for place, name in enumerate(names)]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))
    return judged(SPEC, step(SPEC, START, ModelReplied(1, 1, reply)))


def kinds(spec: AgentSpec[State], run: Run[State]) -> list[tuple[str, int]]:
    """Kind and place of each effect."""
    return [(effect.key.kind, effect.key.place) for effect in due(spec, run)]


def test_the_model_is_asked_with_the_conversation_and_the_tools() -> None:
    """Options of the agent hold where the run has none of its own."""
    run = evolve(START, options=RunOptions(("pay",), FrozenDict({"seed": 2})))

    (plain,), (chosen,) = due(SPEC, START), due(SPEC, run)

    assert isinstance(plain, AskModel)
    assert (plain.messages, plain.tools) == ([ChatMessage.from_user("hello")], SPEC.offered)
    assert isinstance(chosen, AskModel)
    assert chosen.tools == (PAY.spec,)
    assert chosen.generation_kwargs == {"temperature": 0, "seed": 2}


def test_humans_and_tools_are_owed_together() -> None:
    """A question keeps no other call waiting; the tool gets the state as it is."""
    human, tool = due(SPEC, calling("note", "pay"))

    assert isinstance(human, AskHuman)
    assert (human.ref, human.tool, human.reason) == (CallRef(1, 1), PAY, "money")
    assert human.call == ToolCall("pay", {}, "1")
    assert isinstance(tool, RunTool)
    assert (tool.ref, tool.tool, tool.state) == (CallRef(1, 0), NOTE, START.state)


def test_the_same_run_owes_the_same() -> None:
    """In the same order, however often it is asked."""
    assert due(SPEC, calling("note", "pay", "note")) == due(SPEC, calling("note", "pay", "note"))


def test_a_started_tool_is_not_displaced_by_a_late_approval() -> None:
    """With the limit reached, the approved call waits, and what runs is not owed anew later."""
    spec = evolve(SPEC, limits=Limits(parallel_tool_calls=1))
    run = step(spec, calling("pay", "note"), ToolStarted(CallRef(1, 1), 1))
    assert kinds(spec, run) == [("human", 0), ("tool", 1)]
    (human,) = (effect for effect in due(spec, run) if isinstance(effect, AskHuman))

    run = step(spec, run, HumanDecided(human.ref, human.digest, Confirmed()))

    assert kinds(spec, run) == [("tool", 1)]


def test_a_lookup_has_all_that_it_takes() -> None:
    """The call, its tool, the state and the key: as the tool itself had them."""
    look = Tool("look", "", {"type": "object"}, print, on_unknown=lambda arguments, key: None)
    spec = AgentSpec(State({}), by_name([look]))
    call = ToolCall("look", {"n": 1}, "a")
    begun = start(spec, [ChatMessage.from_user("hello")], run_id="r")
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[call]))
    events: list[Event] = [ModelReplied(1, 1, reply), ToolStarted(CallRef(1, 0), 1), Resumed("p2")]
    run = replay(spec, begun, events)

    (lookup,) = due(spec, run)

    assert isinstance(lookup, Reconcile)
    name = call_name(run, run.slots[0])
    assert lookup == Reconcile(CallRef(1, 0), 1, call, look, run.state, name)
    assert lookup.idempotency_key == name.key
    assert isinstance(name.key, IdempotencyKey)
    assert evolve(lookup, name=None).idempotency_key == ""


def test_a_key_names_the_run_the_call_and_what_humans_have_made_of_it() -> None:
    """So what is approved is never taken for what was done in another run, or before a change."""
    run = calling("pay")
    (slot,) = run.slots
    said: list[Decision] = [Confirmed(), Modified({"n": 2}), Modified({"n": 3})]
    records = [DecisionRecord(slot.ref, slot.call, decision) for decision in said]
    inside = evolve(records[1], path=(AgentRef(1, 0, "x"),))
    others = [evolve(records[1], ref=CallRef(1, 1)), inside]

    def key(*decisions: DecisionRecord) -> str:
        return call_name(evolve_run(run, decisions=decisions), slot).key

    keys = {key(), key(*records[:2]), key(*records)}
    keys.add(call_name(evolve_run(run, nonce="another"), slot).key)
    assert len(keys) == 4
    assert key(records[0], *others) == key()
    redacted = evolve(slot, call=evolve(slot.call, arguments=FrozenDict({"n": 9})))
    assert call_name(run, redacted).key == key()
    assert all(name.startswith("r/1/0/") for name in keys)


def test_the_tool_to_answer_by_is_offered_with_the_others() -> None:
    """Where the provider does not hold the model to the schema itself."""
    look, wanted = Tool("look", "", {"type": "object"}, print), OutputType(int)
    spec = AgentSpec(State({}), by_name([look]), output=wanted)

    (ask,) = due(spec, start(spec, [ChatMessage.from_user("go")], run_id="r"))

    assert isinstance(ask, AskModel)
    assert ask.tools == (look.spec, wanted.tool)
