"""Folding events: every way in which a run goes on, and the laws that hold for all of them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from detent import (
    Answered,
    ChatMessage,
    Confirmed,
    Limits,
    Modified,
    Rejected,
    Retries,
    State,
    StateError,
    Tool,
    ToolCall,
)
from detent.approvals import Allow, Ask, Decision, judge
from detent.core.tools.result import result_of
from detent.core.tools.tool import by_name
from detent.machine import (
    Acting,
    AgentSpec,
    AnswerRejected,
    AskHuman,
    AskModel,
    CallRef,
    Cancelled,
    CancelRequested,
    ClockTicked,
    Done,
    EffectKey,
    Event,
    Exhausted,
    Failed,
    Finished,
    FrozenDict,
    HumanDecided,
    Judge,
    Judged,
    ModelFailed,
    ModelReplied,
    Pausing,
    Resumed,
    Run,
    RunOptions,
    RunTool,
    Thinking,
    ToolFault,
    ToolRaised,
    ToolReturned,
    ToolStarted,
    UnknownEffectError,
    WaitUntil,
    Write,
    due,
    replay,
    start,
    step,
)
from detent.models import ChatReply, ModelFailure, Usage

NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "who": {"type": "string"}},
    "required": ["n"],
}


NOTE = Tool(
    "note",
    "takes a note",
    NUMBER,
    print,
    outputs_to_state={"notes": {}},
    inputs_from_state={"user": "who"},
)
PAY = Tool("pay", "pays", NUMBER, print)
FINISH = Tool("finish", "finishes", NUMBER, print)
SPEC = AgentSpec(
    state=State({"notes": {"type": list[int]}, "user": {"type": str}}),
    tools=by_name([NOTE, PAY, FINISH]),
    exit_conditions=frozenset({"text", "finish"}),
    policies=FrozenDict({"pay": lambda call, tool, run: Ask("money")}),
    limits=Limits(max_agent_steps=4),
)
HELLO = ChatMessage.from_user("hello")
START = start(SPEC, [HELLO], run_id="run-1")


def said(*calls: ToolCall, text: str | None = None, turn: int = 1) -> ModelReplied:
    """The model's answer in a turn."""
    message = ChatMessage.from_assistant(text, tool_calls=calls)
    return ModelReplied(turn, 1, ChatReply(message, usage=Usage(10, 2)))


def call(tool: str, n: object = 1, call_id: str | None = "c1") -> ToolCall:
    """A tool call with a number."""
    return ToolCall(tool, {"n": n}, call_id)


def returned(place: int, value: int, turn: int = 1) -> ToolReturned:
    """A note tool gave a number."""
    return ToolReturned(CallRef(turn, place), 1, result_of(NOTE, value))


def judged(spec: AgentSpec[State], run: Run[State]) -> Run[State]:
    """The run when every policy has been asked."""
    while asked := [effect for effect in due(spec, run) if isinstance(effect, Judge)]:
        for effect in asked:
            said = judge(effect)
            assert isinstance(said, Judged)
            run = step(spec, run, said)
    return run


def digest_at(run: Run[State], place: int) -> str:
    """What a decision about the call at a place must carry."""
    asked = {
        effect.ref.place: effect.digest for effect in due(SPEC, run) if isinstance(effect, AskHuman)
    }
    return asked[place]


def decided(run: Run[State], place: int, decision: Decision) -> HumanDecided:
    """A human's decision, bound to the call as it stands."""
    return HumanDecided(CallRef(run.turn, place), digest_at(run, place), decision)


def texts(run: Run[State]) -> list[str]:
    """The tool messages of a run, in order."""
    return [result.text for message in run.messages for result in message.tool_call_results]


def test_a_run_starts_by_asking_the_model() -> None:
    """Nothing has happened, and the conversation is owed an answer."""
    run = start(evolve(SPEC, system_prompt="be brief"), [HELLO], run_id="r")

    (effect,) = due(SPEC, run)

    assert isinstance(effect, AskModel)
    assert effect.messages == [ChatMessage.from_system("be brief"), HELLO]
    assert effect.tools == (NOTE.spec, PAY.spec, FINISH.spec)


def test_what_is_no_spec_or_event_is_told() -> None:
    """As a loop of somebody's own may have it: the agent, the run, a text, nothing."""
    wrong: Any = "hello"
    run = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")
    for call, text in (
        (lambda: start(wrong, [], run_id="r"), "start takes an AgentSpec first"),
        (lambda: start(SPEC, wrong, run_id="r"), "start takes a list of messages"),
        (lambda: step(wrong, run, Resumed("p")), "step takes an AgentSpec first"),
        (lambda: step(SPEC, run, wrong), "step takes an event last"),
        (lambda: due(wrong, run), "due takes an AgentSpec first"),
    ):
        with pytest.raises(TypeError, match=text):
            call()


def test_initial_state_is_checked() -> None:
    """An unknown key is refused before anything runs."""
    with pytest.raises(StateError, match="did you mean 'notes'"):
        start(SPEC, [], run_id="r", state=[Write("nots", [1])])


def test_text_ends_a_run() -> None:
    """A reply without tool calls is the answer."""
    run = step(SPEC, START, said(text="hi"))

    assert run.phase == Done(Finished("text"))
    assert run.messages[-1].text == "hi"
    assert run.usage == Usage(10, 2)
    assert due(SPEC, run) == ()


def test_a_provider_that_stops_early_is_the_exit_reason() -> None:
    """A cut or filtered text says so."""
    reply = ChatReply(ChatMessage.from_assistant("hal"), finish_reason="length")

    assert step(SPEC, START, ModelReplied(1, 1, reply)).phase == Done(Finished("length"))


def test_a_failed_model_call_ends_a_run() -> None:
    """The failure is the outcome."""
    failure = ModelFailure("authentication", "no such key")

    assert step(SPEC, START, ModelFailed(1, 1, failure)).phase == Done(Failed(failure))


BUSY = ModelFailure("rate_limit", "slow down", retryable=True)


PAID = ModelFailed(1, 1, BUSY, at=100, usage=Usage(6, 4), cost=0.5)


@pytest.mark.parametrize(
    ("limits", "is_last"),
    [
        (Limits(), False),
        (Limits(max_tokens=11, max_cost=0.6, price=lambda reply: 0.0), False),
        (Limits(max_tokens=10), True),
        (Limits(max_cost=0.5, price=lambda reply: 0.0), True),
    ],
)
def test_an_answer_that_was_paid_for_and_not_taken_counts(
    limits: Limits,
    is_last: bool,  # noqa: FBT001 - the case
) -> None:
    """Where it reaches a limit, the model is not asked again by itself; a human may have it so."""
    spec = evolve(SPEC, limits=limits)
    run = step(spec, START, PAID)
    assert (run.usage, run.cost) == (Usage(6, 4), 0.5)
    assert run.phase == (Done(Failed(BUSY)) if is_last else Pausing(2, 101.0))
    if is_last:
        assert step(spec, run, Resumed("Ada", 200.0)).phase == Thinking(2)


def test_the_last_answer_that_was_paid_for_and_not_taken_is_asked_for_again() -> None:
    """What is spent is why it is the last one."""
    spec = evolve(SPEC, limits=Limits(max_agent_steps=1, max_tokens=10**6, final_answer=True))
    run = replay(spec, START, [said(call("note")), returned(0, 1)])
    assert run.exhausted == "max_agent_steps"
    paid = evolve(PAID, turn=2, usage=Usage(10**9))
    assert isinstance(step(spec, run, paid).phase, Pausing)


def test_a_model_that_fails_in_passing_is_asked_again_after_a_pause() -> None:
    """The pause is owed as a wait; then the same turn is owed again, with its next attempt."""
    paused = step(SPEC, START, ModelFailed(1, 1, BUSY, at=100, chance=1))
    assert paused.phase == Pausing(2, 100.5)
    assert due(SPEC, paused) == (WaitUntil(CallRef(1, 0), 2, "model_pause", 100.5),)
    assert step(SPEC, paused, ClockTicked(100.4)) is paused

    run = step(SPEC, paused, ClockTicked(100.5))

    (effect,) = due(SPEC, run)
    assert isinstance(effect, AskModel)
    assert (effect.turn, effect.attempt, effect.messages) == (1, 2, [HELLO])
    assert step(SPEC, run, said(text="late, of the first attempt")) is run


@pytest.mark.parametrize(
    ("retries", "at"),
    [(Retries(2, backoff_s=0), 100), (Retries(2), None)],
    ids=["no pause", "no clock"],
)
def test_without_a_pause_or_a_clock_the_model_is_asked_at_once(
    retries: Retries, at: float | None
) -> None:
    """Nobody has to wait."""
    run = step(evolve(SPEC, model_retries=retries), START, ModelFailed(1, 1, BUSY, at))
    assert run.phase == Thinking(2)


def test_each_turn_has_all_its_attempts() -> None:
    """The last failure of the last attempt is the outcome."""
    spec = evolve(SPEC, model_retries=Retries(1))
    run = replay(spec, START, [ModelFailed(1, 1, BUSY), evolve(said(call("note")), attempt=2)])
    run = replay(spec, run, [returned(0, 1), ModelFailed(2, 1, BUSY)])
    assert (run.turn, run.phase) == (2, Thinking(2))

    last = evolve(BUSY, message="still too fast")
    assert step(spec, run, ModelFailed(2, 2, last)).phase == Done(Failed(last))


def test_a_run_without_an_answer_asks_again_when_it_is_resumed() -> None:
    """With a new attempt, retries counted anew; what comes late of an earlier one is not heard."""
    spec = evolve(SPEC, model_retries=Retries(1), limits=Limits(max_seconds=60))
    failed = replay(spec, START, [ModelFailed(1, 1, BUSY), ModelFailed(1, 2, BUSY)])
    assert failed.phase == Done(Failed(BUSY))

    again = step(spec, failed, Resumed("p", at=1000))
    assert (again.phase, again.deadline) == (Thinking(3), 1060)
    assert step(spec, again, ModelFailed(1, 2, BUSY)) is again
    assert step(spec, again, ModelFailed(1, 3, BUSY)).phase == Thinking(4)

    twice = replay(
        spec, again, [ModelFailed(1, 3, BUSY), ModelFailed(1, 4, BUSY), Resumed("q", at=1000)]
    )
    assert twice.phase == Thinking(5)
    acting = step(spec, twice, evolve(said(call("note")), attempt=5))
    assert step(spec, acting, returned(0, 1)) == evolve(
        replay(spec, START, [said(call("note")), returned(0, 1)]), deadline=1060
    )


def test_a_run_that_has_ended_otherwise_stays_ended() -> None:
    """It has its result, whoever resumes it."""
    failed = step(evolve(SPEC, model_retries=Retries(0)), START, ModelFailed(1, 1, BUSY))
    assert step(SPEC, failed, CancelRequested("enough")) is failed
    assert step(SPEC, failed, AnswerRejected(1, "no")) is failed
    by_tool = evolve(failed, phase=Done(Failed(ToolFault("raised", "no"))))
    for ended in (by_tool, step(SPEC, START, said()), step(SPEC, START, CancelRequested("enough"))):
        assert step(SPEC, ended, Resumed("p", at=1000)) is ended


def test_a_pause_can_be_cancelled_and_survives_its_process() -> None:
    """It is the run's own, not a thread's."""
    paused = step(SPEC, START, ModelFailed(1, 1, BUSY, at=100))
    assert step(SPEC, paused, Resumed("p")) is paused
    assert step(SPEC, paused, CancelRequested("enough")).phase == Done(Cancelled("enough"))


def test_calls_become_slots_and_slots_become_messages() -> None:
    """The reply enters the conversation together with all its answers, in the model's order."""
    run = step(SPEC, START, said(call("note", 1, "a"), call("note", 2, "b")))
    assert run.messages == [HELLO]
    assert [effect.key for effect in due(SPEC, run)] == [
        EffectKey("tool", 1, 0, 1),
        EffectKey("tool", 1, 1, 1),
    ]

    run = replay(SPEC, run, [returned(1, 20), returned(0, 10)])

    assert run.phase == Thinking()
    assert run.turn == 2
    assert run.state.get("notes") == [10, 20]
    assert texts(run) == ["10", "20"]
    assert [m.role for m in run.messages] == ["user", "assistant", "tool", "tool"]
    assert run.tool_call_counts == {"note": 2}


def test_a_started_tool_is_still_owed() -> None:
    """The intent is kept; the effect stays the same effect."""
    run = step(SPEC, START, said(call("note")))
    begun = step(SPEC, run, ToolStarted(CallRef(1, 0), 1))

    assert begun != run
    assert [e.key for e in due(SPEC, begun)] == [e.key for e in due(SPEC, run)]
    assert step(SPEC, begun, ToolStarted(CallRef(1, 0), 1)) == begun


def test_an_unknown_tool_is_answered_in_its_place() -> None:
    """The model is told which tools there are; the others run."""
    run = step(SPEC, START, said(call("note", 1, "a"), call("nope", 1, "b"), call("note", 2, "c")))
    assert [effect.key.place for effect in due(SPEC, run)] == [0, 2]

    run = replay(SPEC, run, [returned(0, 1), returned(2, 2)])

    assert texts(run) == ["1", "Tool 'nope' not found. Available tools: note, pay, finish", "2"]


def test_bad_arguments_are_answered_and_nothing_runs() -> None:
    """The model is told which argument is wrong and why."""
    run = step(SPEC, START, said(call("note", "one")))

    assert run.turn == 2
    assert texts(run) == ["Tool 'note' was not run: 'n' must be an integer, got \"one\""]
    assert run.messages[-1].tool_call_results[0].error


def test_unreadable_arguments_are_answered_and_nothing_runs() -> None:
    """Arguments that are no JSON object are told back."""
    run = step(SPEC, START, said(ToolCall("note", {}, "a", unreadable='{"n": ')))

    assert 'not a JSON object: {"n": ' in texts(run)[0]


def test_a_value_sent_for_an_injected_parameter_is_ignored() -> None:
    """What the state fills, the model cannot."""
    sent = ToolCall("note", {"n": 1, "who": "somebody else"}, "a")

    (effect,) = due(SPEC, step(SPEC, START, said(sent)))

    assert isinstance(effect, RunTool)
    assert effect.call.arguments == {"n": 1}


def test_a_tool_that_fails_is_answered_and_writes_nothing() -> None:
    """One call's failure loses no sibling's result."""
    run = step(SPEC, START, said(call("note", 1, "a"), call("note", 2, "b")))
    run = replay(
        SPEC, run, [ToolRaised(CallRef(1, 0), 1, ToolFault("raised", "boom")), returned(1, 2)]
    )

    assert texts(run) == ["boom", "2"]
    assert run.state.get("notes") == [2]


def test_a_result_of_the_wrong_type_fails_alone() -> None:
    """What does not fit the state is told to the model; the sibling's write is kept."""
    run = step(SPEC, START, said(call("note", 1, "a"), call("note", 2, "b")))
    wrong = ToolReturned(CallRef(1, 0), 1, result_of(NOTE, "ten"))

    run = replay(SPEC, run, [wrong, returned(1, 2)])

    assert texts(run)[0].startswith("The result of tool 'note' was not stored")
    assert run.state.get("notes") == [2]


def test_a_tool_fault_can_end_the_run() -> None:
    """With fail_on_tool_fault the fault is the outcome, and no call is left unanswered."""
    spec = evolve(SPEC, fail_on_tool_fault=True)
    fault = ToolFault("raised", "boom")
    run = step(spec, START, said(call("note")))

    run = step(spec, run, ToolRaised(CallRef(1, 0), 1, fault))

    assert run.phase == Done(Failed(fault))
    assert texts(run) == ["boom"]


def test_an_exit_tool_ends_the_run_once_it_has_succeeded() -> None:
    """Wherever it stands among the calls, after all of them are answered."""
    run = step(SPEC, START, said(call("note", 1, "a"), call("finish", 1, "b")))
    done = ToolReturned(CallRef(1, 1), 1, result_of(FINISH, "ok"))

    run = replay(SPEC, run, [done, returned(0, 1)])

    assert run.phase == Done(Finished("finish"))
    assert texts(run) == ["1", "ok"]


def test_an_exit_tool_that_fails_does_not_end_the_run() -> None:
    """The model goes on."""
    run = step(SPEC, START, said(call("finish")))

    run = step(SPEC, run, ToolRaised(CallRef(1, 0), 1, ToolFault("raised", "boom")))

    assert run.phase == Thinking()


def test_the_last_step_leaves_no_call_unanswered() -> None:
    """At max_agent_steps the calls of the last reply are still run."""
    spec = evolve(SPEC, limits=Limits(max_agent_steps=1))
    run = step(spec, START, said(call("note")))

    run = step(spec, run, returned(0, 7))

    assert run.phase == Done(Exhausted("max_agent_steps"))
    assert texts(run) == ["7"]


def test_no_steps_at_all_asks_nobody() -> None:
    """A limit of zero ends the run before it begins."""
    run = start(evolve(SPEC, limits=Limits(max_agent_steps=0)), [HELLO], run_id="r")

    assert run.phase == Done(Exhausted("max_agent_steps"))
    assert run.turn == 0


def test_a_run_begins_that_may_cost_something() -> None:
    """At its start it has cost nothing."""
    spec = evolve(SPEC, limits=Limits(max_cost=0.5, price=lambda reply: 1))

    assert start(spec, [HELLO], run_id="r").phase == Thinking()


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(max_tokens=12), "max_tokens"),
        (Limits(max_cost=0.5, price=lambda reply: 0), "max_cost"),
    ],
)
def test_what_is_spent_ends_a_run_with_its_turn(limits: Limits, reason: str) -> None:
    """The calls of the reply that went too far are run, and nothing more is begun."""
    spec = evolve(SPEC, limits=limits)
    run = step(spec, START, evolve(said(call("note")), cost=0.5))
    assert (run.usage, run.cost) == (Usage(10, 2), 0.5)

    run = step(spec, run, returned(0, 7))

    assert run.phase == Done(Exhausted(reason))
    assert texts(run) == ["7"]


def test_an_answer_is_an_answer_whatever_it_has_cost() -> None:
    """A limit ends what would go on."""
    spec = evolve(SPEC, limits=Limits(max_tokens=12))
    assert step(spec, START, said(text="hi")).phase == Done(Finished("text"))


def test_an_answer_may_be_sent_back() -> None:
    """The run goes on in the next turn, and the model is told why; at the last step it is over."""
    ended = step(SPEC, START, said(text="hi"))
    once = evolve(SPEC, limits=Limits(1))

    back = step(SPEC, ended, AnswerRejected(1, "why?"))

    assert (back.phase, back.turn) == (Thinking(), 2)
    assert [message.text for message in back.messages] == ["hello", "hi", "why?"]
    assert step(once, ended, AnswerRejected(1, "why?")).phase == Done(Exhausted("max_agent_steps"))


def test_nothing_else_can_be_sent_back() -> None:
    """A run that goes on, one that did not end with an answer, and an answer of another turn."""
    ended = step(SPEC, START, said(text="hi"))
    for run in (START, step(SPEC, START, CancelRequested("enough"))):
        assert step(SPEC, run, AnswerRejected(1, "why?")) is run
    assert step(SPEC, ended, AnswerRejected(2, "why?")) is ended


def last_turn() -> tuple[AgentSpec[State], Run[State]]:
    """A run whose steps are spent, and that is asked for its last answer."""
    spec = evolve(SPEC, limits=Limits(max_agent_steps=1, max_tokens=10**6, final_answer=True))
    return spec, replay(spec, START, [said(call("note")), returned(0, 7)])


def test_a_run_that_is_spent_may_give_a_last_answer() -> None:
    """It is asked without tools; the outcome is still that the limit was reached."""
    spec, run = last_turn()
    (effect,) = due(spec, run)
    assert isinstance(effect, AskModel)
    assert (effect.turn, effect.tools) == (2, ())

    run = step(spec, run, said(text="so far: 7", turn=2))

    assert run.phase == Done(Exhausted("max_agent_steps"))
    assert run.messages[-1].text == "so far: 7"


def test_tools_that_were_not_offered_are_not_run_in_the_last_answer() -> None:
    """A model that calls them all the same is answered, and the run ends."""
    spec, run = last_turn()

    run = step(spec, run, said(call("note"), turn=2))

    assert run.phase == Done(Exhausted("max_agent_steps"))
    assert texts(run) == ["7", "Tool 'note' not found. Available tools: none"]


TIMED = evolve(SPEC, limits=Limits(max_seconds=60))
BEGUN = start(TIMED, [HELLO], run_id="run-1", at=100)
END = WaitUntil(CallRef(0, 0), 0, "limit", 160)


def test_a_run_with_a_time_is_owed_its_end() -> None:
    """All the while that anything is owed; it is one and the same wait."""
    run = step(TIMED, BEGUN, said(call("pay")))
    assert due(TIMED, BEGUN)[1:] == due(TIMED, run)[1:] == (END,)
    assert step(TIMED, run, ClockTicked(159)) is run
    assert due(TIMED, step(TIMED, BEGUN, said(text="hi"))) == ()


def test_when_the_time_is_up_everything_has_an_answer() -> None:
    """What is done is kept, what runs is given up, and the model is waited for no longer."""
    run = step(TIMED, BEGUN, said(*(call("note", n, str(n)) for n in range(3))))
    run = replay(TIMED, run, [returned(0, 7), ToolStarted(CallRef(1, 1), 1), ClockTicked(160)])

    assert run.phase == Done(Exhausted("max_seconds"))
    assert texts(run) == [
        "7",
        "Tool 'note' was running when the run's time was up. Its outcome is unknown.",
        "Tool 'note' was not run: the run's time was up.",
    ]
    assert step(TIMED, BEGUN, ClockTicked(161)).phase == Done(Exhausted("max_seconds"))


def test_who_takes_a_run_up_has_all_the_time_again() -> None:
    """A run that waited for a human over night is not late in the morning."""
    assert due(TIMED, step(TIMED, BEGUN, Resumed("p", at=1000)))[1:] == (evolve(END, at=1060),)
    assert due(SPEC, step(SPEC, BEGUN, Resumed("p", at=1000)))[1:] == ()


def test_a_limit_on_parallel_calls_holds() -> None:
    """The next call is owed when one before it has been answered."""
    spec = evolve(SPEC, limits=Limits(parallel_tool_calls=2))
    run = step(spec, START, said(*(call("note", n, str(n)) for n in range(3))))
    assert [effect.key.place for effect in due(spec, run)] == [0, 1]

    run = step(spec, run, returned(0, 0))

    assert [effect.key.place for effect in due(spec, run)] == [1, 2]


def test_calls_without_an_id_get_one() -> None:
    """So does a call whose id was used before in the reply."""
    run = step(SPEC, START, said(call("note", 1, None), call("note", 2, "x"), call("note", 3, "x")))

    ids = [slot.call.id for slot in run.slots]

    assert ids == ["call_1_0", "x", "call_1_2"]


@pytest.mark.parametrize("ids", [["call_1_1", None], [None, None, "call_1_0"], ["", "", ""]])
def test_an_id_that_is_made_up_is_no_other_calls(ids: list[str | None]) -> None:
    """Whatever the provider called the others; theirs are kept."""
    run = step(SPEC, START, said(*(call("note", 1, each) for each in ids)))

    made = [slot.call.id for slot in run.slots]

    assert len({*made}) == len(ids)
    assert all(each in ("", None, new) for each, new in zip(ids, made, strict=True))


def test_only_the_chosen_tools_are_offered_and_run() -> None:
    """A call to another one of the agent's tools is answered like an unknown one."""
    run = start(SPEC, [HELLO], run_id="r", options=RunOptions(tools=("note",)))
    (effect,) = due(SPEC, run)
    assert isinstance(effect, AskModel)
    assert effect.tools == (NOTE.spec,)

    run = step(SPEC, run, said(call("finish")))

    assert texts(run) == ["Tool 'finish' not found. Available tools: note"]


def test_options_of_a_run_win_over_the_agents() -> None:
    """generation_kwargs are merged key by key."""
    spec = evolve(SPEC, generation_kwargs={"temperature": 0, "seed": 1})
    run = start(spec, [HELLO], run_id="r", options=RunOptions(generation_kwargs={"seed": 2}))

    (effect,) = due(spec, run)

    assert isinstance(effect, AskModel)
    assert effect.generation_kwargs == {"temperature": 0, "seed": 2}


def test_cancelling_empties_what_is_due() -> None:
    """Whatever is under way is no longer owed."""
    run = step(SPEC, START, CancelRequested("enough"))

    assert due(SPEC, run) == ()
    assert run.phase == Done(Cancelled("enough"))
    assert run.messages == [HELLO]


def test_cancelling_keeps_what_has_been_done() -> None:
    """A result is kept; of what has not ended the conversation says how far it came."""
    calls = [call("note", 1, "a"), call("note", 2, "b"), call("note", 3, "c"), call("pay", 4, "d")]
    run = step(SPEC, START, said(*calls))
    run = replay(SPEC, run, [returned(0, 10), ToolStarted(CallRef(1, 1), 1)])

    run = step(SPEC, run, CancelRequested("enough"))

    assert run.state.get("notes") == [10]
    assert texts(run) == [
        "10",
        "Tool 'note' was running when the run was cancelled. Its outcome is unknown.",
        "Tool 'note' was not run: the run was cancelled.",
        "Tool 'pay' was not run: the run was cancelled.",
    ]


# --- approval ---------------------------------------------------------------------------


def test_a_guarded_call_asks_a_human_and_does_not_run() -> None:
    """The policy's reason is in the question; other calls go on."""
    run = judged(SPEC, step(SPEC, START, said(call("note", 1, "a"), call("pay", 2, "b"))))

    human, tool = due(SPEC, run)

    assert isinstance(human, AskHuman)
    assert (human.ref, human.reason) == (CallRef(1, 1), "money")
    assert isinstance(tool, RunTool)
    assert tool.ref == CallRef(1, 0)


def test_a_policy_may_allow() -> None:
    """Then the call runs at once."""
    spec = evolve(SPEC, policies=FrozenDict({"pay": lambda call, tool, run: Allow()}))

    (effect,) = due(spec, judged(spec, step(spec, START, said(call("pay")))))

    assert isinstance(effect, RunTool)


def test_a_confirmed_call_runs_as_it_is() -> None:
    """Exactly the arguments that were shown."""
    run = judged(SPEC, step(SPEC, START, said(call("pay", 5))))

    (effect,) = due(SPEC, step(SPEC, run, decided(run, 0, Confirmed())))

    assert isinstance(effect, RunTool)
    assert effect.call.arguments == {"n": 5}


def test_a_modified_call_runs_with_the_new_arguments_and_says_so() -> None:
    """The conversation holds what was run; the result tells the model who changed it."""
    run = judged(SPEC, step(SPEC, START, said(call("pay", 5))))
    run = judged(SPEC, step(SPEC, run, decided(run, 0, Modified({"n": 3}, "less"))))

    run = step(SPEC, run, ToolReturned(CallRef(1, 0), 1, result_of(PAY, "paid")))

    assert run.messages[1].tool_calls[0].arguments == {"n": 3}
    lead = "The parameters for tool 'pay' were updated by the user to:"
    assert texts(run) == [f'{lead}\n{{"n": 3}} With user feedback: less\npaid']


def test_a_modification_that_does_not_fit_the_tool_changes_nothing() -> None:
    """The call stays pending."""
    run = judged(SPEC, step(SPEC, START, said(call("pay", 5))))

    assert step(SPEC, run, decided(run, 0, Modified({"n": "all"}))) == run


def test_a_rejected_call_is_answered_with_the_feedback() -> None:
    """It never runs."""
    run = judged(SPEC, step(SPEC, START, said(call("pay", 5))))

    run = step(SPEC, run, decided(run, 0, Rejected("too much")))

    assert texts(run) == [
        "Tool execution for 'pay' was rejected by the user. With user feedback: too much"
    ]
    assert run.phase == Thinking()


def test_a_human_may_answer_in_the_tools_place() -> None:
    """The model reads the answer as the tool's."""
    run = judged(SPEC, step(SPEC, START, said(call("pay", 5))))

    run = step(SPEC, run, decided(run, 0, Answered("paid by hand")))

    assert texts(run) == ["paid by hand"]


def test_a_decision_for_other_arguments_counts_for_nothing() -> None:
    """Neither does one for another call of the same tool, nor one that was used already."""
    run = judged(SPEC, step(SPEC, START, said(call("pay", 5, "a"), call("pay", 6, "b"))))
    crossed = HumanDecided(CallRef(1, 0), digest_at(run, 1), Confirmed())
    good = decided(run, 0, Confirmed())

    assert step(SPEC, run, crossed) == run
    after = step(SPEC, run, good)
    assert step(SPEC, after, good) == after


def test_a_policy_is_asked_once() -> None:
    """What it has said stands, whatever it would say later; in the model's order."""
    run = step(SPEC, START, said(call("pay", 5, "a"), call("pay", 6, "b")))
    (first,) = due(SPEC, run)
    assert isinstance(first, Judge)
    assert (first.ref, first.call.arguments, first.run) == (CallRef(1, 0), {"n": 5}, run)

    run = step(SPEC, run, Judged(first.ref, Allow()))

    assert step(SPEC, run, Judged(first.ref, Ask("changed my mind"))) is run
    assert [effect.key for effect in due(SPEC, run)] == [
        EffectKey("judge", 1, 1, 1),
        EffectKey("tool", 1, 0, 1),
    ]


def test_policies_are_asked_at_once_where_they_are_several() -> None:
    """Only what one of them has said before may matter to it."""
    more = FrozenDict({**SPEC.policies, "note": lambda call, tool, run: Allow()})
    spec = evolve(SPEC, policies=more)

    run = step(spec, START, said(call("pay", 1, "a"), call("note", 2, "b"), call("note", 3, "c")))

    assert [effect.key for effect in due(spec, run)] == [
        EffectKey("judge", 1, 0, 1),
        EffectKey("judge", 1, 1, 1),
    ]


def test_a_call_whose_policy_is_gone_is_asked_about() -> None:
    """Another process may have another agent."""
    run = step(SPEC, START, said(call("pay", 5)))
    poorer = evolve(SPEC, policies=FrozenDict())

    (human,) = due(poorer, judged(poorer, run))

    assert isinstance(human, AskHuman)
    assert "this agent has none for 'pay'" in human.reason


def test_a_tool_that_nobody_has_judged_is_not_started() -> None:
    """Nor does it give a result, nor does a human decide about it."""
    run = step(SPEC, START, said(call("pay", 5)))
    asked = judged(SPEC, run)

    for event in (ToolStarted(CallRef(1, 0), 1), returned(0, 1), decided(asked, 0, Confirmed())):
        assert step(SPEC, run, event) is run


# --- what answers nothing ---------------------------------------------------------------


def test_late_and_doubled_events_change_nothing() -> None:
    """The second answer to a question, or one to an earlier turn, is no answer."""
    run = step(SPEC, START, said(call("note", 1, "a"), call("note", 2, "b")))
    once = step(SPEC, run, returned(0, 1))
    assert step(SPEC, once, returned(0, 99)) == once
    assert step(SPEC, once, said(text="late")) == once

    later = step(SPEC, once, returned(1, 2))

    assert step(SPEC, later, returned(1, 99)) == later
    assert step(SPEC, later, ToolStarted(CallRef(1, 1), 1)) == later


def test_events_after_the_end_change_nothing() -> None:
    """A run that is done stays as it is."""
    run = step(SPEC, START, said(text="hi"))

    assert step(SPEC, run, said(text="again")) is run


@pytest.mark.parametrize(
    "event",
    [
        said(text="from the future", turn=2),
        returned(0, 1),
        returned(0, 1, turn=7),
        returned(-1, 1),
        ToolStarted(CallRef(1, 3), 1),
    ],
)
def test_an_answer_to_what_was_never_asked_is_refused(event: Event) -> None:
    """It belongs to another run, and that is somebody's mistake."""
    with pytest.raises(UnknownEffectError, match="run-1"):
        step(SPEC, START, event)


# --- laws -------------------------------------------------------------------------------


def test_every_order_of_arrival_gives_the_same_run() -> None:
    """Results are folded in the model's order, whoever comes first."""
    calls = [call(tool, n, str(n)) for n, tool in enumerate(["note", "pay", "note"])]
    run = judged(SPEC, step(SPEC, START, said(*calls)))
    paid = ToolReturned(CallRef(1, 1), 1, result_of(PAY, "paid"))
    events: list[list[Event]] = [
        [returned(0, 10)],
        [decided(run, 1, Confirmed()), paid],
        [returned(2, 30)],
    ]

    runs = [
        replay(SPEC, run, [e for part in order for e in part]) for order in permutations(events)
    ]

    assert all(each == runs[0] for each in runs)
    assert runs[0].state.get("notes") == [10, 30]


CALLS = st.lists(
    st.builds(call, st.sampled_from(["note", "pay", "finish", "no"]), st.sampled_from([1, 2, "x"]),
              st.sampled_from([None, "a", "b"])),
    max_size=3,
)  # fmt: skip
TURNS = st.integers(1, 3)
REFS = st.builds(CallRef, TURNS, st.integers(0, 2))
EVENTS = st.one_of(
    st.builds(
        lambda calls, turn: said(*calls, text=None if calls else "done", turn=turn), CALLS, TURNS
    ),
    st.builds(ToolStarted, REFS, st.just(1)),
    st.builds(
        ToolReturned, REFS, st.just(1), st.builds(lambda n: result_of(NOTE, n), st.integers())
    ),
    st.builds(
        ToolRaised, REFS, st.just(1), st.builds(ToolFault, st.just("raised"), st.text(max_size=3))
    ),
    st.builds(Judged, REFS, st.sampled_from([Allow(), Ask("why")])),
    st.builds(CancelRequested, st.just("stop")),
)


def fold(run: Run[State], events: list[Event]) -> Run[State]:
    """The run after those of the events that it can have been asked for."""
    for event in events:
        try:
            run = step(SPEC, run, event)
        except UnknownEffectError:
            continue
    return run


@given(st.lists(EVENTS, max_size=20), st.integers(0, 20))
def test_no_list_of_events_breaks_a_run(events: list[Event], cut: int) -> None:
    """History grows and is valid; effects are distinct, and gone exactly when the run is done."""
    run = START
    for event in events:
        before, run = run, fold(run, [event])
        keys = [effect.key for effect in due(SPEC, run)]
        assert len(set(keys)) == len(keys)
        assert (not keys) == isinstance(run.phase, Done)
        assert run.messages[: len(before.messages)] == list(before.messages)
        assert run.turn <= SPEC.limits.max_agent_steps
        assert_all_calls_are_answered(run)
    assert fold(fold(START, events[:cut]), events[cut:]) == run


def assert_all_calls_are_answered(run: Run[State]) -> None:
    """Each assistant message with calls is followed by one answer for each, in order."""
    messages = list(run.messages)
    for at, message in enumerate(messages):
        calls = message.tool_calls
        answers = [m.tool_call_results for m in messages[at + 1 : at + 1 + len(calls)]]
        assert [result.origin for results in answers for result in results] == list(calls)


@given(st.lists(EVENTS, max_size=20))
def test_a_guarded_tool_never_runs_without_a_decision(events: list[Event]) -> None:
    """No event but a human's decision makes it due, unless its policy allows it."""
    run = START
    for event in events:
        if isinstance(event, Judged) and isinstance(event.verdict, Allow):
            continue
        run = fold(run, [event])
        owed = [effect for effect in due(SPEC, run) if isinstance(effect, RunTool)]
        assert "pay" not in {effect.call.tool_name for effect in owed}


def test_acting_keeps_the_reply() -> None:
    """Nothing of what the provider said is lost while its calls are answered."""
    event = said(call("note"), text="let me see")

    run = step(SPEC, START, event)

    assert isinstance(run.phase, Acting)
    assert run.phase.reply == event.reply


def test_a_fault_that_belongs_to_no_open_attempt_changes_nothing() -> None:
    """Neither one of an earlier turn nor one of an attempt that is over."""
    late = ToolRaised(CallRef(1, 0), 1, ToolFault("raised", "boom"))
    settled = step(SPEC, step(SPEC, START, said(call("note"), call("note"))), returned(0, 7))

    assert step(SPEC, settled, late) is settled
