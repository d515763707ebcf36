"""The session: what a loop is given to do, and what it may bring back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from attrs import evolve

from detent import (
    ChatMessage,
    Confirmed,
    Limits,
    MemoryJournal,
    Modified,
    State,
    Tool,
    ToolCall,
    before_tool,
)
from detent.adapters.drivers.loading import Loaded
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.session import Landed
from detent.adapters.drivers.shared_run import SessionLeftError
from detent.adapters.drivers.steps import Wait, at_once
from detent.adapters.system.clocks import SystemClock
from detent.approvals import Allow, Ask
from detent.core.machine.delegation import PARAMETERS, wrap_event
from detent.core.run.sizes import MANY
from detent.core.run.spec import Delegate
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AskHuman,
    CallRef,
    CancelRequested,
    Effect,
    Event,
    FrozenDict,
    HumanDecided,
    Judge,
    Judged,
    MessageReceived,
    ModelReplied,
    Run,
    RunTool,
    Session,
    Thinking,
    ToolResult,
    ToolReturned,
    ToolStarted,
    UnknownEffectError,
    WaitUntil,
    due,
    start,
    step,
)
from detent.models import ChatReply

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
SPEC = AgentSpec(
    State({}),
    by_name([Tool("note", "", NUMBER, print), Tool("pay", "", NUMBER, print)]),
    policies=FrozenDict({"pay": lambda call, tool, run: Ask("money")}),
)
START = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")


def calling(*names: str) -> ModelReplied:
    """The model calls these tools."""
    calls = [ToolCall(name, {"n": 1}, str(place)) for place, name in enumerate(names)]
    return ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=calls)))


def session_after(event: Event) -> Session[State]:
    """A session whose model has answered, and whose policies have been asked."""
    session = Session(SPEC, START)
    (asked,) = session.take()
    session.land(asked, event)
    while questions := [one for one in due(SPEC, session.run) if isinstance(one, Judge)]:
        session.feed(*(Judged(one.ref, Ask("money")) for one in questions))
    return session


def returned(effect: Effect) -> ToolReturned:
    assert isinstance(effect, RunTool)
    return ToolReturned(effect.ref, effect.attempt, ToolResult("done"))


def confirmed(effect: Effect) -> HumanDecided:
    assert isinstance(effect, AskHuman)
    return HumanDecided(effect.ref, effect.digest, Confirmed())


def test_an_effect_is_given_out_once() -> None:
    """While it is under way it is not offered again."""
    session = Session(SPEC, START)

    (asked,) = session.take()

    assert session.take() == []
    assert session.under_way == {asked.key: asked}


def test_a_tool_is_recorded_as_started_before_anybody_can_run_it() -> None:
    """The intent comes before the deed."""
    events: list[Event] = []
    session = Session(SPEC, START, observers=[lambda before, event, after: events.append(event)])
    session.land(session.take()[0], calling("note"))

    (tool,) = session.take()

    assert isinstance(tool, RunTool)
    assert events == [calling("note"), ToolStarted(tool.ref, 1)]


def test_observers_see_the_run_before_and_after() -> None:
    """Every event, those from outside too, and those that change nothing."""
    seen: list[tuple[Run[Any], Event, Run[Any]]] = []
    session = Session(
        SPEC, START, observers=[lambda before, event, after: seen.append((before, event, after))]
    )

    session.feed(CancelRequested("enough"))
    session.feed(CancelRequested("again"))

    assert seen == [
        (START, CancelRequested("enough"), session.run),
        (session.run, CancelRequested("again"), session.run),
    ]


def test_what_is_left_unpaid_is_offered_again_to_the_next_loop() -> None:
    """Not to this one; and the run is as it was."""
    session = session_after(calling("pay"))
    (human,) = session.take()
    session.land(human, None)
    assert session.take() == []
    assert session.under_way == {}

    session.open()

    assert session.take() == [human]


def test_a_decision_that_does_not_fit_is_not_asked_for_in_a_circle() -> None:
    """A UI that gives wrong arguments time and again would hold the loop for ever."""
    session = session_after(calling("pay"))
    (human,) = session.take()
    assert isinstance(human, AskHuman)
    wrong = HumanDecided(human.ref, human.digest, Modified({"n": "all"}))

    session.land(human, wrong)

    assert session.take() == []
    session.feed(confirmed(human))
    assert [effect.key.kind for effect in session.take()] == ["tool"]


def test_an_effect_that_was_put_back_is_offered_again() -> None:
    """As if it had not been taken."""
    session = session_after(calling("pay"))
    (human,) = session.take()

    session.put_back(human)

    assert session.take() == [human]


def test_what_is_no_longer_owed_is_no_longer_under_way() -> None:
    """And what comes of it later is not heard."""
    session = session_after(calling("note"))
    (tool,) = session.take()

    session.feed(CancelRequested("enough"))

    assert session.take() == []
    assert session.under_way == {}
    ended = session.run
    session.land(tool, returned(tool))
    assert session.run is ended


def test_a_settled_effect_is_under_way_no_more_wherever_its_event_came_from() -> None:
    """A decision may arrive by another road than the one that was asked."""
    session = session_after(calling("pay"))
    (human,) = session.take()

    session.feed(confirmed(human))
    (tool,) = session.take()

    assert session.under_way == {tool.key: tool}


def test_what_another_session_was_given_does_not_land_here() -> None:
    """Two runs have effects of the same key; only one's own count."""
    ours, theirs = Session(SPEC, START), Session(SPEC, START)
    (asked,) = ours.take()
    (foreign,) = theirs.take()
    assert foreign.key == asked.key

    ours.land(foreign, calling("note"))

    assert ours.run == START
    assert ours.under_way == {asked.key: asked}


def test_an_exception_is_kept_and_nothing_new_is_begun() -> None:
    """What is under way may still land; then the exception is raised."""
    session = session_after(calling("pay", "pay", "note"))
    first, second, tool = session.take()
    broken = EOFError("nobody there")
    session.land(first, broken)
    session.land(second, confirmed(second))
    assert session.take() == []

    session.land(tool, returned(tool))

    with pytest.raises(EOFError) as caught:
        session.close()
    assert caught.value is broken
    session.open()
    assert [effect.key.kind for effect in session.take()] == ["human", "tool"]


@pytest.mark.parametrize("calls", [("pay",), ("pay", "note")])
def test_nobody_waits_for_the_end_of_a_runs_time_alone(calls: tuple[str, ...]) -> None:
    """A run that waits for a human comes back at once; what else is under way is waited for."""
    spec = evolve(SPEC, limits=Limits(max_seconds=60))
    session = Session(spec, start(spec, [ChatMessage.from_user("hello")], run_id="r", at=0))
    ask, end = session.take()
    assert end == WaitUntil(CallRef(0, 0), 0, "limit", 60)
    session.land(ask, calling(*calls))

    human, *tools = session.take()
    session.land(human, None)
    assert session.take() == []
    assert list(session.under_way) == [one.key for one in (end, *tools) if tools]
    for tool in tools:
        session.land(tool, returned(tool))

    assert session.take() == []
    assert session.under_way == {}


def test_a_closed_session_gives_its_run() -> None:
    """As far as it has come."""
    assert Session(SPEC, START).close().phase == Thinking()


class Appends:
    """A record, and how often it was written to; it fails while it is `full`."""

    def __init__(self) -> None:
        self.made: list[list[type[Event]]] = []
        self.full = False

    def __call__(self, happened: Sequence[tuple[Event, Run[Any]]]) -> None:
        """Write down, or fail."""
        if self.full:
            raise OSError("the disk is full")
        self.made.append([type(event) for event, _ in happened])


def recorded(*calls: str, **options: Any) -> tuple[Session[State], Appends]:
    """A session that is recorded, whose model has just called these tools."""
    appends = Appends()
    session = Session(SPEC, START, record=appends, **options)
    session.land(session.take()[0], calling(*calls))
    return session, appends


def test_a_reply_is_recorded_with_the_tools_that_it_starts() -> None:
    """Nothing happens in the world between the two: one append, before anybody has a tool."""
    seen: list[Event] = []
    session, appends = recorded("note", observers=[lambda was, event, now: seen.append(event)])
    assert (appends.made, seen) == ([], [])

    (tool,) = session.take()

    assert appends.made == [[ModelReplied, ToolStarted]]
    assert list(map(type, seen)) == [ModelReplied, ToolStarted]
    session.land(tool, returned(tool))
    assert appends.made[1:] == [[ToolReturned]]


def test_a_verdict_is_recorded_with_the_tool_that_it_lets_run() -> None:
    """And the reply before it with nothing: there was none to start."""
    session, appends = recorded("pay")
    (question,) = session.take()
    assert isinstance(question, Judge)

    session.land(question, Judged(question.ref, Allow()))
    session.take()

    assert appends.made == [[ModelReplied], [Judged, ToolStarted]]


def test_a_reply_that_starts_no_tool_is_recorded_by_the_next_take() -> None:
    """The run has ended with it."""
    session = Session(SPEC, START, record=(appends := Appends()))
    (asked,) = session.take()
    session.land(asked, ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant("hi"))))

    assert session.take() == []
    assert appends.made == [[ModelReplied]]


def test_whoever_looks_at_the_run_finds_it_recorded() -> None:
    """Also where the loop ends without another `take`."""
    session, appends = recorded("note")
    assert session.run.slots
    assert appends.made == [[ModelReplied]]
    session, appends = recorded("note")
    assert session.close().slots
    assert appends.made == [[ModelReplied]]


def test_a_hook_and_a_breakpoint_find_the_run_recorded() -> None:
    """What they do by themselves comes after what has led to it."""
    found: list[int] = []
    hook = before_tool(lambda effect, run: found.append(len(appends.made)))
    session, appends = recorded("note", hooks=[hook])
    session.take()
    assert found == [1]

    def hold(run: Run[Any], effect: Effect) -> bool:
        found.append(len(appends.made))
        return isinstance(effect, RunTool)

    appends = Appends()
    session = Session(SPEC, START, record=appends, hold=hold)
    session.land(session.take()[0], calling("note"))
    assert session.take() == []
    assert found == [1, 0, 1]


def test_what_lands_beside_other_work_is_recorded_at_once() -> None:
    """The other work may take long, or end the process."""
    session, appends = recorded("note", "pay")
    question, tool = session.take()
    assert isinstance(question, Judge)

    session.land(question, Judged(question.ref, Ask("money")))
    assert appends.made[1:] == [[Judged]]
    session.land(tool, returned(tool))
    assert appends.made[2:] == [[ToolReturned]]


def test_what_cannot_be_recorded_has_not_happened() -> None:
    """The run and what is under way are as before the reply landed, and nobody has seen it."""
    seen: list[Event] = []
    session, appends = recorded("note", observers=[lambda was, event, now: seen.append(event)])
    appends.full = True
    with pytest.raises(OSError, match="full"):
        session.take()

    assert (session.run, session.under_way, seen) == (START, {}, [])
    assert [type(effect) for effect in session.take()] == [type(due(SPEC, START)[0])]


def test_an_event_from_outside_comes_after_the_reply() -> None:
    """A run that is cancelled before the next `take` starts no tool."""
    session, appends = recorded("note")

    session.feed(CancelRequested("enough"))

    assert appends.made == [[ModelReplied, CancelRequested]]
    assert session.take() == []


def test_what_is_heard_together_is_recorded_together() -> None:
    """In one append, in its order."""
    session, appends = recorded("note", "note", "note")
    tools = session.take()

    session.hear([(tool, returned(tool)) for tool in tools])

    assert appends.made[1:] == [[ToolReturned] * 3]
    assert session.run.turn == 2


def test_what_was_heard_before_nonsense_counts() -> None:
    """And what comes behind it is still to be heard."""
    session, appends = recorded("note", "note")
    first, second = session.take()
    nonsense = ToolReturned(CallRef(9, 0), 1, ToolResult(""))
    items: Iterator[Event | Landed] = iter(
        [(first, returned(first)), nonsense, (second, returned(second))]
    )

    with pytest.raises(UnknownEffectError):
        session.hear(items)
    assert appends.made[1:] == [[ToolReturned]]
    session.hear(items)
    assert session.run.turn == 2


def test_events_that_are_fed_together_count_together() -> None:
    """Nonsense among them: none has happened, what landed before has."""
    session, appends = recorded("note", "note")
    first, _ = session.take()
    begun = session.run

    with pytest.raises(UnknownEffectError):
        session.feed(returned(first), ToolReturned(CallRef(9, 0), 1, ToolResult("")))

    assert session.run is begun
    assert appends.made[1:] == []


def test_what_is_heard_may_wait_as_what_lands_may() -> None:
    """A reply for the tools that it starts, a verdict beside other work not."""
    session = Session(SPEC, START, record=(appends := Appends()))
    (asked,) = session.take()
    session.hear([(asked, calling("note", "pay"))])
    assert appends.made == []

    question, _ = session.take()
    assert isinstance(question, Judge)
    session.hear([(question, Judged(question.ref, Ask("money")))])
    assert appends.made[1:] == [[Judged]]


def test_what_cannot_be_recorded_takes_nothing_with_it() -> None:
    """A tool's result that no store takes: those that have come at the same time are kept."""
    appends = Appends()

    def picky(happened: Sequence[tuple[Event, Run[Any]]]) -> None:
        if any(isinstance(event, ToolReturned) and event.ref.place == 0 for event, _ in happened):
            raise OSError("this has no text")
        appends(happened)

    seen: list[Event] = []
    session = Session(
        SPEC, START, record=picky, observers=[lambda was, event, now: seen.append(event)]
    )
    session.land(session.take()[0], calling("note", "note", "note"))
    tools = session.take()

    with pytest.raises(OSError, match="no text"):
        session.hear([(tool, returned(tool)) for tool in tools])

    assert appends.made[1:] == [[ToolReturned], [ToolReturned]]
    assert seen[-2:] == [returned(tool) for tool in tools[1:]]
    assert [effect.key for effect in due(SPEC, session.run)] == [tools[0].key]


def test_what_was_begun_and_not_given_out_is_not_under_way() -> None:
    """A `take` that fails half-way: nobody waits for it."""

    def answer(effect: RunTool, run: Run[Any]) -> ToolReturned | None:
        result = ToolReturned(effect.ref, effect.attempt, ToolResult("x"))
        return result if effect.ref.place == 0 else None

    class Full(Appends):
        """Fails once a tool has returned."""

        def __call__(self, happened: Sequence[tuple[Event, Run[Any]]]) -> None:
            self.full = any(isinstance(event, ToolReturned) for event, _ in happened)
            super().__call__(happened)

    session = Session(SPEC, START, record=(appends := Full()), hooks=[before_tool(answer)])
    session.land(session.take()[0], calling("note", "note"))
    with pytest.raises(OSError, match="full"):
        session.take()

    assert session.under_way == {}
    assert session.running() == []
    assert appends.made == [[ModelReplied], [ToolStarted]]


def test_a_session_that_was_left_says_so() -> None:
    """Whatever it is asked."""
    session = Session(SPEC, START)
    session.leave()

    for ask in (lambda: session.run, session.take, session.close):
        with pytest.raises(SessionLeftError, match="in another session"):
            ask()
    assert not hasattr(session, "nothing")


LARGE = ToolCall("note", {"n": 1, "rows": [[] for _ in range(MANY)]}, "0")
REPLY = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=[LARGE])))


@pytest.mark.parametrize("is_heard", [False, True])
def test_what_comes_of_a_large_reply_is_found_out_where_it_holds_no_loop(is_heard: object) -> None:
    """The fold is waited for, and the run is as it was until then."""
    session = Session(SPEC, START)
    (asked,) = session.take()
    steps = session.hear_steps([(asked, REPLY)]) if is_heard else session.land_steps(asked, REPLY)
    wait = next(steps)
    assert session.folded is START

    found = wait.call()
    with pytest.raises(StopIteration):
        steps.send(found)

    assert session.folded is found
    assert session.run == step(SPEC, START, REPLY)


def test_what_was_found_out_of_a_large_reply_counts_for_that_run_alone() -> None:
    """Where somebody has spoken meanwhile it is folded into the run as it is by now."""
    session = Session(SPEC, START)
    (asked,) = session.take()
    steps = session.land_steps(asked, REPLY)
    found = next(steps).call()
    said = MessageReceived(ChatMessage.from_user("and more"))
    session.feed(said)
    with pytest.raises(StopIteration):
        steps.send(found)

    assert session.run == step(SPEC, step(SPEC, START, said), REPLY)


def test_a_large_reply_of_an_agent_inside_is_found_out_as_well() -> None:
    """As an event of the outermost run."""
    inner = AgentSpec(State({}), by_name([Tool("note", "", NUMBER, print)]))
    helper = Delegate("helper", "", PARAMETERS, print, agent=inner)
    spec = AgentSpec(State({}), by_name([helper]))
    run = start(spec, [ChatMessage.from_user("hello")], run_id="r")
    session = Session(spec, run)
    (asked,) = session.take()
    call = ToolCall("helper", {"task": "go"}, "0")
    session.land(
        asked, ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=[call])))
    )
    (asked,) = session.take()
    before = session.run

    steps = session.land_steps(asked, REPLY)
    found = next(steps).call()
    with pytest.raises(StopIteration):
        steps.send(found)

    assert asked.path
    assert session.folded is found
    assert session.run == step(spec, before, wrap_event(asked.path, REPLY))


def test_a_large_reply_that_was_never_asked_for_is_refused_as_a_small_one_is() -> None:
    """The error comes where it is folded in."""
    session = Session(SPEC, START)
    (asked,) = session.take()
    with pytest.raises(UnknownEffectError):
        session.land(asked, evolve(REPLY, turn=2))
    assert session.run is START


def test_a_large_reply_is_put_into_words_where_it_holds_no_loop() -> None:
    """Nothing is written until then."""
    journal = MemoryJournal()
    recorder = Recorder(journal, SPEC, SystemClock(), Loaded(START, 0))
    at_once(recorder.begin(START))
    steps = recorder.recording([(REPLY, step(SPEC, START, REPLY))])
    assert isinstance(next(steps), Wait)
    assert recorder.length == 1
