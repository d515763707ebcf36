"""Recovery: a call whose process has ended is treated as its tool declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from detent import AlwaysAskPolicy, ChatMessage, Confirmed, Modified, State, Tool, ToolCall
from detent.approvals import pending
from detent.core.control.decisions import apply_decisions
from detent.core.machine.binding import binding_of
from detent.core.machine.delegation import runs_in
from detent.core.machine.recovery import rebind, without_clearances
from detent.core.run.effects import Reconcile
from detent.core.run.events import ModelFailed, Resumed, ToolLost, ToolNeverRan
from detent.core.run.run import AwaitingPolicy, Ready, with_slots
from detent.core.storage.snapshot import run_of, snapshot_from, snapshot_of
from detent.core.tools.result import ToolFault
from detent.core.tools.retries import Retries
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentRef,
    AgentSpec,
    AskHuman,
    CallRef,
    CancelRequested,
    ClockTicked,
    Event,
    Failed,
    FrozenDict,
    HumanDecided,
    Judge,
    ModelReplied,
    Run,
    RunTool,
    Thinking,
    ToolRaised,
    ToolResult,
    ToolReturned,
    ToolStarted,
    WaitUntil,
    due,
    nested_run,
    start,
    step,
    wrap_event,
)
from detent.models import ChatReply, ModelFailure
from tests.core.asking import PAY, agent_tool, judged, spec_of, waiting

FIRST = CallRef(1, 0)


def in_flight(
    on_unknown: Literal["ask", "rerun", "fail"] | Callable[..., Any], retries: int = 0
) -> tuple[AgentSpec[State], Run[State]]:
    """A run of two calls: one was begun, the other has its result."""
    tool = Tool("pay", "", {"type": "object"}, print, on_unknown=on_unknown, retries=retries)
    spec = AgentSpec(State({}), by_name([tool]))
    run = start(spec, [ChatMessage.from_user("hello")], run_id="r")
    calls = [ToolCall("pay", id="a"), ToolCall("pay", id="b")]
    for event in (
        ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=calls))),
        ToolStarted(FIRST, 1),
        ToolStarted(CallRef(1, 1), 1),
        ToolReturned(CallRef(1, 1), 1, ToolResult("paid")),
    ):
        run = step(spec, run, event)
    return spec, run


def test_an_idempotent_call_is_run_again_with_the_same_key() -> None:
    """The same attempt of the same call, and nothing else."""
    spec, run = in_flight("rerun")
    (before,) = due(spec, run)

    (again,) = due(spec, step(spec, run, Resumed("p2")))

    assert isinstance(again, RunTool)
    assert isinstance(before, RunTool)
    assert again.idempotency_key == before.idempotency_key


def begun(spec: AgentSpec[State], run: Run[State]) -> tuple[Run[State], RunTool]:
    """The run once its tool is begun again."""
    (effect,) = due(spec, run)
    assert isinstance(effect, RunTool)
    return step(spec, run, ToolStarted(effect.ref, effect.attempt)), effect


def crashed(spec: AgentSpec[State], run: Run[State], times: int) -> Run[State]:
    """The run after so many processes that ended in the middle of its tool."""
    for process in range(times):
        if process:
            run, _ = begun(spec, run)
        run = through_a_store(spec, step(spec, run, Resumed(f"p{process}")))
    return run


def through_a_store(spec: AgentSpec[State], run: Run[State]) -> Run[State]:
    """The same run, once it has been a snapshot."""
    read = run_of(spec, snapshot_from(snapshot_of(spec, run, at=1.0).to_json()))
    assert read == run
    return read


@pytest.mark.parametrize(("retries", "most"), [(0, 3), (2, 3), (5, 3)])
def test_a_call_that_ends_its_process_is_begun_a_bounded_number_of_times(
    retries: int, most: int
) -> None:
    """Then a human is asked, and told how often: also after each further one."""
    spec, run = in_flight("rerun", retries)
    run, _ = begun(spec, crashed(spec, run, most - 1))
    asked = through_a_store(spec, step(spec, run, Resumed("last")))
    (question,) = due(spec, asked)
    assert isinstance(question, AskHuman)
    assert f"in the middle of it, {most} times in a row" in question.reason
    assert step(spec, asked, Resumed("later")).slots[0].crashes == most

    confirmed = HumanDecided(FIRST, question.digest, Confirmed())
    run, _ = begun(spec, step(spec, asked, confirmed))
    (again,) = due(spec, step(spec, run, Resumed("once more")))
    assert isinstance(again, AskHuman)
    assert f"{most + 1} times in a row" in again.reason


def test_an_attempt_that_ends_by_itself_ends_the_row_of_crashes() -> None:
    """It fails and is tried again: it does not end its process each time."""
    spec, run = in_flight("rerun", 1)
    run, effect = begun(spec, crashed(spec, run, 2))
    fault = ToolFault("raised", "away", retryable=True)
    run = step(spec, run, ToolRaised(FIRST, effect.attempt, fault))
    run, _ = begun(spec, run)
    assert isinstance(due(spec, crashed(spec, run, 2))[0], RunTool)
    assert isinstance(due(spec, crashed(spec, run, 3))[0], AskHuman)


def test_no_other_tool_counts_crashes() -> None:
    """Somebody is asked, or looks it up, after each."""
    for how in ("ask", "fail"):
        spec, run = in_flight(how)
        resumed = step(spec, run, Resumed("b"))
        assert all(not slot.crashes for slot in resumed.slots)


def test_a_human_is_asked_anew_after_each_crash() -> None:
    """A decision about an earlier question does not count."""
    spec, run = in_flight("ask")
    asked = step(spec, run, Resumed("p2"))
    (question,) = due(spec, asked)
    assert isinstance(question, AskHuman)
    assert "nobody knows whether" in question.reason

    confirmed = HumanDecided(FIRST, question.digest, Confirmed())
    running = step(spec, step(spec, asked, confirmed), ToolStarted(FIRST, 1))
    once_more = step(spec, running, Resumed("p3"))

    assert step(spec, once_more, confirmed) is once_more


def test_what_came_of_the_attempt_before_the_question_is_no_answer_to_the_one_after() -> None:
    """The human may have changed the arguments: the next attempt has a number of its own."""
    spec, run = in_flight("ask")
    asked = step(spec, run, Resumed("p2"))
    (question,) = due(spec, asked)
    assert isinstance(question, AskHuman)
    changed = HumanDecided(FIRST, question.digest, Modified({"n": 9}))

    approved = step(spec, asked, changed)
    (again,) = due(spec, approved)

    assert isinstance(again, RunTool)
    assert again.attempt == 2
    assert step(spec, approved, ToolReturned(FIRST, 1, ToolResult("paid 7"))) is approved
    assert step(spec, approved, ToolReturned(FIRST, 2, ToolResult("paid 9"))).turn == 2


def test_the_model_is_told_that_the_outcome_is_unknown() -> None:
    """And the settled call keeps its answer."""
    spec, run = in_flight("fail")

    failed = step(spec, run, Resumed("p2"))

    first, second = (one for m in failed.messages for one in m.tool_call_results)
    assert first.error
    assert "outcome of tool 'pay' is unknown" in first.text
    assert second.text == "paid"
    recovered = step(evolve(spec, fail_on_tool_fault=True), run, Resumed("p2"))
    assert isinstance(recovered.outcome, Failed)
    assert recovered.outcome.failure == ToolFault("unknown_outcome", first.text)


def test_a_function_looks_up_what_happened() -> None:
    """It found a result, or that nothing was done; until then the call is not run."""
    spec, run = in_flight(lambda arguments, key: None)
    unknown = step(spec, run, Resumed("p2"))
    (lookup,) = due(spec, unknown)
    assert isinstance(lookup, Reconcile)

    found = step(spec, unknown, ToolReturned(FIRST, 1, ToolResult("paid before")))
    answers = [one.text for m in found.messages for one in m.tool_call_results]
    assert answers == ["paid before", "paid"]

    (again,) = due(spec, step(spec, unknown, ToolNeverRan(FIRST, 1)))
    assert isinstance(again, RunTool)
    assert again.idempotency_key == lookup.idempotency_key


def test_a_human_decides_when_nobody_could_look_it_up() -> None:
    """It is neither run again nor given up, and each crash has a question of its own."""
    spec, run = in_flight(lambda arguments, key: None)
    failed = ToolFault("unknown_outcome", "nobody answers")
    unknown = step(spec, run, Resumed("p2"))

    asked = step(spec, unknown, ToolRaised(FIRST, 1, failed))
    (question,) = due(spec, asked)
    assert isinstance(question, AskHuman)
    assert question.reason == "nobody answers"
    confirmed = HumanDecided(FIRST, question.digest, Confirmed())
    running = step(spec, step(spec, asked, confirmed), ToolStarted(FIRST, 2))
    assert step(spec, running, ToolReturned(FIRST, 1, ToolResult("late"))) is running

    once_more = step(spec, step(spec, running, Resumed("p3")), ToolRaised(FIRST, 2, failed))
    (another,) = due(spec, once_more)
    assert isinstance(another, AskHuman)
    assert step(spec, once_more, confirmed) is once_more
    resumed = step(spec, asked, Resumed("p3"))
    assert due(spec, resumed) == due(spec, asked)
    assert step(spec, resumed, Resumed("p4")) is resumed


def test_the_failure_of_the_attempt_itself_is_an_outcome() -> None:
    """The process that began it may say so while another one looks it up."""
    spec, run = in_flight(lambda arguments, key: None)
    unknown = step(spec, run, Resumed("p2"))

    failed = step(spec, unknown, ToolRaised(FIRST, 1, ToolFault("raised", "no money")))

    assert [one.text for m in failed.messages for one in m.tool_call_results] == [
        "no money",
        "paid",
    ]


@given(st.floats(0, 4e9), st.floats(0, 4e9), st.floats(0, 99), st.integers(1, 6), st.floats(0, 1))
def test_no_pause_lasts_longer_by_another_clock(
    failed_at: float, resumed_at: float, asked_s: float, times: int, chance: float
) -> None:
    """Of a tool and of the model; what was nearer stays as it is."""
    retries = Retries(6)
    tool = Tool("pay", "", {"type": "object"}, print, retries=retries)
    spec = AgentSpec(State({}), by_name([tool]), model_retries=retries)
    thinking = start(spec, [ChatMessage.from_user("hello")], run_id="r")
    call = ChatMessage.from_assistant(tool_calls=[ToolCall("pay", id="a")])
    acting = step(spec, thinking, ModelReplied(1, 1, ChatReply(call)))
    overloaded = ModelFailure("overloaded", "", retryable=True, retry_after_s=asked_s)
    raised = ToolFault("raised", "", retryable=True)
    waits, pauses = acting, thinking
    for attempt in range(1, times + 1):
        begun = step(spec, acting, ToolStarted(FIRST, attempt))
        waits = step(spec, begun, ToolRaised(FIRST, attempt, raised, failed_at, chance))
        acting = step(spec, waits, ClockTicked(failed_at + 60))
        pauses = step(spec, thinking, ModelFailed(1, attempt, overloaded, failed_at, chance))
        thinking = step(spec, pauses, ClockTicked(failed_at + 999))

    for run, longest_s in ((waits, 60), (pauses, 60 + 60)):
        if run.outcome is not None:  # the provider asked for more than is waited for
            continue
        (before,), (wait,) = due(spec, run), due(spec, step(spec, run, Resumed("p2", resumed_at)))
        assert isinstance(before, WaitUntil)
        assert isinstance(wait, WaitUntil)
        assert wait.at <= before.at
        assert wait.at - resumed_at <= longest_s + 1e-6
        if resumed_at >= failed_at:
            assert wait == before


def test_without_a_time_a_pause_ends_when_it_was_to() -> None:
    """A loop that has no clock waits for none."""
    spec, run = in_flight("ask")
    spec = evolve(spec, model_retries=Retries(1))
    overloaded = ModelFailure("overloaded", "", retryable=True)
    pausing = step(spec, evolve(run, phase=Thinking()), ModelFailed(1, 1, overloaded, 9.0))

    assert step(spec, pausing, Resumed("p2")) is pausing


def test_what_is_heard_late_of_an_attempt_before_is_nothing_about_the_one_after() -> None:
    """A word that it never ran, heard again when the next one has run, runs it no third time."""
    spec, run = in_flight(lambda arguments, key: None)
    never_ran = ToolNeverRan(FIRST, 1)
    ready = step(spec, step(spec, run, Resumed("p2")), never_ran)
    running = step(spec, ready, ToolStarted(FIRST, 2))
    again = step(spec, running, Resumed("p3"))

    assert [one.key.attempt for one in due(spec, again) if isinstance(one, Reconcile)] == [2]
    assert step(spec, again, never_ran) is again
    for late in (ToolRaised(FIRST, 1, ToolFault("raised", "no")), ToolStarted(FIRST, 1)):
        assert [step(spec, one, late) for one in (ready, running, again)] == [ready, running, again]


LOST = ToolLost(FIRST, 1, "the bank is silent", 5.0)


@pytest.mark.parametrize("event", [Resumed("p2"), ToolNeverRan(FIRST, 1), LOST])
def test_what_was_not_under_way_stays(event: Resumed | ToolNeverRan | ToolLost) -> None:
    """A call that was never begun is simply begun."""
    spec, _ = in_flight("ask")
    run = start(spec, [ChatMessage.from_user("hello")], run_id="r")
    calls = [ToolCall("pay", id="a")]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))
    run = step(spec, run, ModelReplied(1, 1, reply))

    assert step(spec, run, event) is run


def test_a_copy_of_a_run_has_questions_of_its_own() -> None:
    """A decision about the original does not count for the copy."""
    spec, run = in_flight("ask")
    asked = step(spec, run, Resumed("p2"))
    (question,) = due(spec, asked)
    assert isinstance(question, AskHuman)

    copied = rebind(asked, "copy", "n-copy")
    other = rebind(asked, "other", "n-other")

    digests = [one.digest for copy in (copied, other) for one in pending(spec, copy)]
    assert len({question.digest, *digests}) == 3
    assert rebind(run, "copy", "n-copy").messages == run.messages


def keys_of(spec: AgentSpec[State], run: Run[State]) -> list[str]:
    """By which keys calls are begun, looked up, or asked about."""
    effects = due(spec, run)
    names = [one.name for one in effects if isinstance(one, RunTool | Reconcile | AskHuman)]
    return [name.key for name in names if name is not None]


@pytest.mark.parametrize("on_unknown", ["ask", "rerun", lambda arguments, key: None])
def test_what_has_begun_keeps_its_key_in_a_copy_of_a_copy(on_unknown: Any) -> None:
    """Whoever looks it up by another one finds nothing; what has not begun has one of its own."""
    spec, run = in_flight(on_unknown)
    (key,) = keys_of(spec, run)
    copy = rebind(rebind(run, "copy", "n"), "again", "m")

    resumed = step(spec, without_clearances(spec, copy), Resumed("p2"))

    assert keys_of(spec, copy) == [key]
    assert keys_of(spec, resumed) == [key]
    late = rebind(step(spec, run, Resumed("p2")), "copy", "n")  # as a snapshot goes on
    assert keys_of(spec, late) == [key]
    fresh = start(spec, [ChatMessage.from_user("hello")], run_id="r")
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("pay", id="a")]))
    fresh = step(spec, fresh, ModelReplied(1, 1, reply))
    assert keys_of(spec, rebind(fresh, "copy", "n")) != keys_of(spec, fresh)


def test_what_is_tried_again_keeps_its_key_in_a_copy() -> None:
    """The attempt that has failed may have been heard."""
    spec, run = in_flight("ask")
    tool = evolve(spec.tools["pay"], retries=Retries(2))
    spec = evolve(spec, tools=by_name([tool]))
    (key,) = keys_of(spec, run)
    fault = ToolFault("raised", "no answer", retryable=True)
    pausing = step(spec, run, ToolRaised(FIRST, 1, fault, 5.0))

    copies = [
        without_clearances(spec, rebind(one, "copy", "n"))
        for one in (pausing, step(spec, pausing, ClockTicked(1e9)))
    ]

    assert [keys_of(spec, step(spec, copy, ClockTicked(1e9))) for copy in copies] == [[key]] * 2


def test_what_a_human_has_changed_in_a_copy_has_a_key_of_its_own() -> None:
    """It is another thing than was begun."""
    spec, run = in_flight("ask")
    (key,) = keys_of(spec, run)
    asked = step(spec, rebind(run, "copy", "n"), Resumed("p2"))
    (question,) = due(spec, asked)
    assert isinstance(question, AskHuman)

    changed = step(spec, asked, HumanDecided(FIRST, question.digest, Modified({"n": 9})))

    (new,) = keys_of(spec, changed)
    assert new != key
    assert new.startswith("copy/")


def test_what_is_remembered_goes_along_with_a_copy() -> None:
    """Not what the tool's schema has made void meanwhile; and nothing when it begins anew."""
    spec = spec_of()
    run = waiting(spec, {"to": "Ann", "amount": 5}, {"to": "Bob", "amount": 6})
    run, _ = apply_decisions(spec, run, [pending(spec, run)[0].confirm(remember="tool")], 1.0)
    assert pending(spec, run) == ()
    other = evolve(PAY, parameters={**PAY.parameters, "description": "another"})
    another = evolve(spec, tools=FrozenDict({"pay": other}))

    (grant,) = rebind(run, "copy", "n-copy").grants
    again = without_clearances(spec, run)

    copy = rebind(run, "copy", "n-copy")
    call = run.slots[1].call
    assert grant.fits(binding_of(copy, call, PAY))
    assert not grant.fits(binding_of(copy, call, another.tools["pay"]))
    assert rebind(evolve(copy, nonce="edited"), "next", "n").grants == ()
    assert (again.grants, [slot.status for slot in again.slots]) == ((), [AwaitingPolicy()] * 2)
    assert [slot.call for slot in again.slots] == [slot.call for slot in run.slots]


def test_what_is_remembered_for_some_arguments_goes_along_with_them() -> None:
    """And with no others."""
    spec = spec_of()
    run = waiting(spec, {"to": "Ann", "amount": 5}, {"to": "Bob", "amount": 6})
    run, _ = apply_decisions(spec, run, [pending(spec, run)[0].confirm(remember="arguments")], 1.0)

    (grant,) = rebind(run, "copy", "n-copy").grants

    copy = rebind(run, "copy", "n-copy")
    fits = [grant.fits(binding_of(copy, slot.call, PAY)) for slot in run.slots]
    assert fits == [True, False]


def test_only_guarded_calls_that_have_not_begun_are_judged_anew() -> None:
    """The others are as they were; so are those of agents at work, each by its own rules.

    One that has begun may be done: it is not begun again as if nothing were known of it.
    """
    spec, run = in_flight("ask")
    assert without_clearances(spec, run) == run
    guarded = evolve(spec, policies=FrozenDict({"*": AlwaysAskPolicy()}))
    assert without_clearances(guarded, run) == run
    begun, settled = run.slots
    ready = with_slots(run, [evolve(begun, status=Ready(1)), settled])
    assert [slot.status for slot in without_clearances(guarded, ready).slots] == [
        AwaitingPolicy(),
        settled.status,
    ]


def test_what_a_human_has_made_of_a_call_counts_for_no_fork() -> None:
    """The copy has the changed call, and its policy has a human asked about it."""
    spec = spec_of()
    run = waiting(spec, {"to": "Ann", "amount": 5})
    (call,) = pending(spec, run)
    run, _ = apply_decisions(spec, run, [call.modify({"to": "Bob", "amount": 1})], 1.0)
    (changed,) = run.slots
    assert (changed.status, changed.clearance is not None) == (AwaitingPolicy(), True)

    (slot,) = without_clearances(spec, run).slots

    assert slot.clearance is not None
    assert (slot.status, slot.clearance.is_unjudged) == (AwaitingPolicy(), False)


def test_only_open_calls_have_decisions_to_bind() -> None:
    """A copy of a run that thinks is in the same phase."""
    spec, _ = in_flight("ask")
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")
    assert rebind(run, "copy", "n-copy").phase == Thinking()


def test_a_copy_of_a_run_asks_questions_of_its_own() -> None:
    """Each call has its digest in each run, so that no decision is about two of them."""
    spec = spec_of()
    run = waiting(spec, *({"to": "Ann", "amount": n} for n in (1, 2)))
    digests = [
        call.digest
        for one in (run, rebind(run, "s", "n-s"), rebind(run, "t", "n-t"))
        for call in pending(spec, one)
    ]

    assert len(set(digests)) == 6
    assert rebind(run, "s", "n-s") == rebind(run, "s", "n-s")


def test_a_human_is_asked_about_a_lost_call_while_others_run() -> None:
    """Of that one alone; a late outcome of it is heard, and each loss has a question of its own."""
    spec, run = in_flight("ask")

    asked = step(spec, run, LOST)

    (question,) = due(spec, asked)
    assert isinstance(question, AskHuman)
    assert question.reason == "the bank is silent"
    assert step(spec, asked, LOST) is asked
    heard = step(spec, asked, ToolReturned(FIRST, 1, ToolResult("paid after all")))
    texts = [one.text for m in heard.messages for one in m.tool_call_results]
    assert texts == ["paid after all", "paid"]
    confirmed = HumanDecided(FIRST, question.digest, Confirmed())
    running = step(spec, step(spec, asked, confirmed), ToolStarted(FIRST, 2))
    once_more = step(spec, running, evolve(LOST, attempt=2))
    assert step(spec, once_more, confirmed) is once_more
    assert [type(one) for one in due(spec, once_more)] == [AskHuman]


def test_a_lost_call_is_begun_again_a_bounded_number_of_times() -> None:
    """Where its tool lets it: a tool that is always lost has a human asked in the end."""
    spec, run = in_flight("rerun")
    begun = 0
    while isinstance((one := due(spec, run)[0]), RunTool):
        begun += 1
        run = step(spec, step(spec, run, ToolStarted(FIRST, begun)), evolve(LOST, attempt=begun))
    assert isinstance(one, AskHuman)
    assert begun == 2


def test_of_a_lost_call_the_tool_says_what_happens() -> None:
    """The model is told, or somebody looks it up."""
    spec, run = in_flight("fail")
    failed = step(spec, run, LOST)
    first = next(one for m in failed.messages for one in m.tool_call_results)
    assert "the bank is silent" in first.text
    spec, run = in_flight(lambda arguments, key: None)
    assert [type(one) for one in due(spec, step(spec, run, LOST))] == [Reconcile]


def look_up_nothing(arguments: object, key: object) -> None:
    """Say how it went: never called here."""


NO_LOOKUP = ToolRaised(FIRST, 1, ToolFault("unknown_outcome", "the ledger is gone"))


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize(
    ("on_unknown", "events"),
    [
        ("ask", [ClockTicked(9.0)]),
        ("ask", [CancelRequested("enough")]),
        *((how, [event]) for how in ("ask", "rerun", "fail") for event in (LOST, Resumed("b"))),
        (look_up_nothing, [Resumed("b"), NO_LOOKUP]),
    ],
)
def test_a_tool_that_has_begun_labels_the_run_though_its_result_is_lost(
    on_unknown: Any, events: list[Event], depth: int
) -> None:
    """However that came, and however deep the tool worked."""
    tool = Tool(
        "read", "", {"type": "object"}, print, on_unknown=on_unknown, labels={"web"}, timeout_s=5
    )
    spec, path = AgentSpec(State({}), by_name([tool])), tuple[AgentRef, ...]()
    for _ in range(depth):
        spec = AgentSpec(State({}), by_name([agent_tool(spec)]))
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")
    for level in range(depth, -1, -1):
        call = ToolCall("ask", {"task": "read"}) if level else ToolCall("read")
        said = ChatReply(ChatMessage.from_assistant(tool_calls=[call]))
        run = step(spec, run, wrap_event(path, ModelReplied(1, 1, said)))
        run = step(spec, run, wrap_event(path, ToolStarted(FIRST, 1, at=1.0)))
        path = (*path, AgentRef(1, 0, "ask"))
    at = path[:depth]
    assert (run.labels, nested_run(run, at).labels) == ((), ())

    for event in events:
        run = step(spec, run, event if isinstance(event, Resumed) else wrap_event(at, event))

    assert not any(isinstance(effect, Judge) for effect in due(spec, run))  # nothing is outdated
    inner = dict(runs_in(run)).get(at)  # it may have ended
    assert run.labels == ("web",)
    assert inner is None or inner.labels == ("web",)


def test_a_tool_that_is_still_at_work_has_not_labelled_the_run() -> None:
    """As what may yet come of it does."""
    spec, run = in_flight(look_up_nothing)
    spec = evolve(spec, tools=by_name([evolve(spec.tools["pay"], labels=("web",))]))

    assert step(spec, run, ClockTicked(9.0)).labels == ()
    assert step(spec, run, CancelRequested("enough")).labels == ("web",)


@pytest.mark.parametrize("on_unknown", ["ask", look_up_nothing])
def test_of_what_may_have_run_nobody_is_told_that_it_was_not(on_unknown: Any) -> None:
    """The run is cancelled while a human, or the tool's own function, is asked how it went."""
    spec, run = in_flight(on_unknown)
    unknown = step(spec, run, Resumed("p2"))

    cancelled = step(spec, unknown, CancelRequested("enough"))

    first, _ = (result for m in cancelled.messages for result in m.tool_call_results)
    assert first.text == (
        "The outcome of tool 'pay' is unknown: it was begun, its process ended, stands still or "
        "could not write down what came of it, and nobody knows whether it was carried out. Do not "
        "assume either."
    )


@pytest.mark.parametrize("backoff_s", [0, 1])
def test_what_was_tried_is_not_told_as_never_run(backoff_s: float) -> None:
    """The run is cancelled before the next attempt."""
    tool = Tool("pay", "", {"type": "object"}, print, retries=Retries(1, backoff_s=backoff_s))
    spec = AgentSpec(State({}), by_name([tool]))
    run = start(spec, [ChatMessage.from_user("hello")], run_id="r", at=0.0)
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("pay", id="a")]))
    failed = ToolRaised(FIRST, 1, ToolFault("raised", "no line", retryable=True), 0.0)
    for event in (ModelReplied(1, 1, reply), ToolStarted(FIRST, 1), failed):
        run = step(spec, run, event)

    cancelled = step(spec, run, CancelRequested("enough"))

    (told,) = (result for m in cancelled.messages for result in m.tool_call_results)
    assert told.text == (
        "Tool 'pay' was tried, and not again: the run was cancelled. Its outcome is unknown."
    )


def test_a_copy_asks_where_its_look_up_finds_nothing() -> None:
    """The run that it is a copy of may be at work on the call, and end it later."""
    spec, run = in_flight(lambda arguments, key: None)
    copy = step(spec, rebind(run, "copy", "n"), Resumed("p2"))
    (look_up,) = due(spec, copy)
    assert isinstance(look_up, Reconcile)

    asked = step(spec, copy, ToolNeverRan(FIRST, look_up.attempt))

    (question,) = due(spec, asked)
    assert isinstance(question, AskHuman)
    assert "it was begun in the run of which this one is a copy" in question.reason
    (own,) = due(spec, step(spec, step(spec, run, Resumed("p2")), ToolNeverRan(FIRST, 1)))
    assert isinstance(own, RunTool)


@pytest.mark.parametrize("loss", ["crash", "lost"])
def test_a_call_that_is_never_found_is_begun_a_bounded_number_of_times(loss: str) -> None:
    """Each process that does it ends, or loses it, and its look-up knows nothing of it."""
    spec, run = in_flight(lambda arguments, key: None)
    for attempt in (1, 2, 3):
        lost = ToolLost(FIRST, attempt, "it is away", 5.0)
        run = step(spec, run, Resumed(f"p{attempt}") if loss == "crash" else lost)
        run = step(spec, run, ToolNeverRan(FIRST, attempt))
        if attempt < 3:
            run, _ = begun(spec, run)

    (question,) = due(spec, run)
    assert isinstance(question, AskHuman)
    assert "it was begun 3 times in a row and has not come to an end" in question.reason


def test_a_guarded_call_that_had_begun_is_asked_about_anew_as_one_that_had() -> None:
    """In a copy, where it may be run again without a question about its outcome."""
    spec = spec_of()
    spec = evolve(spec, tools=by_name([evolve(PAY, on_unknown="rerun")]))
    run = waiting(spec, {"to": "Ann", "amount": 5})
    run, _ = apply_decisions(spec, run, [pending(spec, run)[0].confirm()], 1.0)
    run = step(spec, run, ToolStarted(FIRST, 1))

    copy = step(spec, without_clearances(spec, rebind(run, "copy", "n")), Resumed("p2"))

    (question,) = due(spec, judged(spec, copy))
    assert isinstance(question, AskHuman)
    assert question.trouble == "an attempt at it has begun before, and may have carried it out"
    assert question.trouble in question.reason
