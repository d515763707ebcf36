"""Runs that go on where another has ended: its messages and state, and nothing else of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event, Thread
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentResult,
    Appended,
    Breakpoint,
    ChatMessage,
    ChatRole,
    MemoryJournal,
    Replaced,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    State,
    StateError,
    ToolCall,
    TypedState,
    keep_last_messages,
    tool,
)
from detent.approvals import AlwaysAskPolicy, HITLBreakpointException
from detent.journals import (
    DirectoryJournal,
    Journal,
    JournalError,
    RunQuery,
    StoredRun,
    ThreadNotEndedError,
    page_of,
)
from detent.ports.listing import ALL_RUNS
from detent.ports.results import BreakpointException

Runner: TypeAlias = Callable[..., AgentResult[Any]]


def blocking(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    return agent.run(*said, **options)


def async_(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    return asyncio.run(agent.run_async(*said, **options))


def streamed(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    *_, last = agent.stream(*said, **options)
    assert isinstance(last, AgentResult)
    return last


def streamed_async(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    async def read() -> AgentResult[Any]:
        *_, last = [one async for one in agent.stream_async(*said, **options)]
        assert isinstance(last, AgentResult)
        return last

    return asyncio.run(read())


def by_hand(agent: Agent[Any], *said: Any, **options: Any) -> AgentResult[Any]:
    return agent.begin(*said, **options).go(None, raises=True)


@pytest.fixture(params=[blocking, async_, streamed, streamed_async, by_hand])
def run(request: pytest.FixtureRequest) -> Runner:
    """Every way to begin a run goes on alike."""
    runner: Runner = request.param
    return runner


class Notes(TypedState):
    """What is noted in a conversation."""

    notes = Appended[str]()
    user = Replaced("nobody")


@tool(outputs_to_state={"notes": {}})
def note(text: str) -> str:
    """Note something."""
    return text


def noting(text: str) -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[ToolCall("note", {"text": text}, text)])


def agent_of(*script: Any, **options: Any) -> Agent[Notes]:
    """An agent with a prompt, on a script."""
    options = {"system_prompt": "Be brief.", **options}
    chat = ScriptedChatGenerator(*script)
    return Agent(chat_generator=chat, tools=[note], state_schema=Notes, **options)


def texts(messages: Sequence[ChatMessage]) -> list[tuple[str, str | None]]:
    return [(one.role.value, one.text) for one in messages if one.role is not ChatRole.TOOL]


def test_a_run_goes_on_with_the_messages_and_the_state_of_another(run: Runner) -> None:
    """It is a run of its own: what it spends and what it may spend is counted anew."""
    agent = agent_of(noting("a"), "one", noting("b"), "two", max_agent_steps=2)
    first = run(agent, "first?", user="Ann")

    second = run(agent, "and second?", after=first)

    assert texts(second.messages) == [
        ("system", "Be brief."),
        ("user", "first?"),
        ("assistant", None),
        ("assistant", "one"),
        ("user", "and second?"),
        ("assistant", None),
        ("assistant", "two"),
    ]
    assert list(second.messages[: len(first.messages)]) == list(first.messages)
    assert second["notes"] == ["a", "b"]
    assert second["user"] == "Ann"
    assert second.run_id != first.run_id
    assert (first.step_count, second.step_count) == (2, 2)
    assert second.tool_call_counts == {"note": 1}
    assert second.exit_reason == "text"
    assert len(first.messages) == 5
    assert first["notes"] == ["a"]


@pytest.mark.parametrize("is_new", [False, True], ids=["same", "another"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"system_prompt": "Be long."},
        {"messages": [ChatMessage.from_system("Be brief."), ChatMessage.from_user("more")]},
    ],
    ids=["as it was", "another prompt", "handed in"],
)
def test_the_prompt_is_said_once(options: dict[str, Any], *, is_new: bool, run: Runner) -> None:
    """The first message is that of the run that begins, also by an agent that is made anew."""
    agent = agent_of("one", "two")
    first = run(agent, "first?")
    other = agent_of("two") if is_new else agent

    second = run(other, **{"messages": "more", **options}, after=first)

    assert texts(second.messages) == [
        ("system", options.get("system_prompt", "Be brief.")),
        ("user", "first?"),
        ("assistant", "one"),
        ("user", "more"),
        ("assistant", "two"),
    ]


def test_an_agent_without_a_prompt_leaves_the_messages_as_they_are(run: Runner) -> None:
    """What users said as the system is theirs."""
    agent = agent_of("one", "two", system_prompt=None)
    own = [ChatMessage.from_system("Be kind."), ChatMessage.from_user("first?")]

    second = run(agent, "more", after=run(agent, own))

    assert [text for _, text in texts(second.messages)] == [
        *("Be kind.", "first?", "one", "more", "two")
    ]


def test_a_prompt_comes_first_where_none_was(run: Runner) -> None:
    """The run before had none."""
    first = run(agent_of("one", system_prompt=None), "first?")

    second = run(agent_of("two"), "more", after=first)

    assert [role for role, _ in texts(second.messages)] == [
        *("system", "user", "assistant", "user", "assistant")
    ]


def test_values_of_the_new_run_take_the_place_of_those_that_were_left(run: Runner) -> None:
    """As they take the place of defaults."""
    agent = agent_of("one", "two")
    first = run(agent, "first?", user="Ann", notes=["a"])

    second = run(agent, "more", after=first, notes=["b"])

    assert (second["user"], second["notes"]) == ("Ann", ["b"])


def test_the_journal_of_the_new_run_has_all_that_it_needs(run: Runner) -> None:
    """The one before may be deleted; limits are counted anew after a crash as well."""
    journal = MemoryJournal()
    agent = agent_of(noting("a"), "one", noting("b"), "two", journal=journal)
    first = run(agent, "first?")
    second = run(agent, "more", after=first, run_id="second")
    journal.delete(first.run_id)

    again = agent_of(journal=journal).resume("second")

    assert list(again.messages) == list(second.messages)
    assert again.state == second.state


def test_a_run_that_has_spent_its_steps_can_be_gone_on_with(run: Runner) -> None:
    """Every call in its conversation has an answer."""
    agent = agent_of(noting("a"), "two", max_agent_steps=1)
    spent = run(agent, "first?")
    assert spent.exit_reason == "max_agent_steps"
    assert run(agent, "more", after=spent).text == "two"


def test_a_run_that_has_not_ended_is_refused(run: Runner) -> None:
    """It is itself to be gone on with."""
    agent = agent_of("one", "two")
    with pytest.raises(BreakpointException) as stopped:
        agent.run("first?", run_id="r", break_point=Breakpoint("chat_generator", 0))

    with pytest.raises(ValueError, match=r"run 'r' has not ended: go on with itself"):
        run(agent, "more", after=stopped.value.result)


def test_a_state_that_does_not_fit_is_refused(run: Runner) -> None:
    """By the schema of the agent that goes on."""
    chat = ScriptedChatGenerator("one")
    other: Agent[State] = Agent(chat_generator=chat, state_schema={"pages": {"type": int}})
    left = other.run("first?", pages=3)

    with pytest.raises(StateError, match="'pages'"):
        run(agent_of("two"), "more", after=left)


def test_what_is_no_result_is_refused(run: Runner) -> None:
    """A snapshot goes on by itself, and an id stands in a journal."""
    agent = agent_of("one", "two")
    first = agent.run("first?")

    with pytest.raises(TypeError, match="after must be the result of an earlier run, got 'r'"):
        run(agent, "more", after="r")
    with pytest.raises(ValueError, match="leave out after"):
        run(agent, after=first, snapshot="{}")


def thread_agent(journal: Journal, *script: Any, **options: Any) -> Agent[Notes]:
    """An agent made anew, as in another process."""
    return agent_of(*script, journal=journal, **options)


STORES: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda place: MemoryJournal(),
    "directory": DirectoryJournal,
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
}


@pytest.mark.parametrize("store", STORES)
def test_a_thread_goes_on_where_its_last_run_has_ended(
    store: str, run: Runner, tmp_path: Path
) -> None:
    """As behind its result, in any process; other threads have nothing of it."""
    journal = STORES[store](tmp_path)
    said = {"thread_id": "alice", "user": "Ann"}
    first = run(
        thread_agent(journal, noting("a"), "one", max_agent_steps=2), "first?", **said, run_id="1"
    )
    run(thread_agent(journal, "hello"), "hi", thread_id="bob")
    run(thread_agent(journal, "alone"), "hi")

    agent = thread_agent(journal, noting("b"), "two", max_agent_steps=2)
    second = run(agent, "second?", thread_id="alice")
    third = run(thread_agent(journal, "three"), "third?", thread_id="alice")

    assert list(second.messages[: len(first.messages)]) == list(first.messages)
    assert texts(third.messages) == [
        *(("system", "Be brief."), ("user", "first?"), ("assistant", None), ("assistant", "one")),
        *(("user", "second?"), ("assistant", None), ("assistant", "two")),
        *(("user", "third?"), ("assistant", "three")),
    ]
    assert (third["notes"], third["user"]) == (["a", "b"], "Ann")
    assert (second.step_count, third.step_count) == (2, 1)
    runs = Runs(journal, agent.spec)
    assert [one.run_id for one in runs.list(thread_id="alice")] == [
        *(third.run_id, second.run_id, "1")
    ]
    assert {one.thread_id for one in runs.list()} == {"alice", "bob", ""}
    assert next(iter(journal.read("1"))).data["thread_id"] == "alice"


def test_a_thread_whose_last_run_has_not_ended_waits_for_it(run: Runner) -> None:
    """The error names it, and what to do first; nothing is written."""
    journal = MemoryJournal()
    asking = {"confirmation_strategies": {"note": AlwaysAskPolicy()}}
    agent = thread_agent(journal, noting("a"), **asking)
    with pytest.raises(HITLBreakpointException):
        run(agent, "first?", thread_id="alice", run_id="first")

    with pytest.raises(ThreadNotEndedError, match="run 'first' is waiting; decide about") as error:
        run(thread_agent(journal, "two", **asking), "more", thread_id="alice")
    assert error.value.run_id == "first"
    assert "the calls of 'note' and then go on with it by agent.resume('first')" in str(error.value)
    assert len(journal.runs()) == 1

    (call,) = agent.pending("first")
    agent.decide("first", call.confirm())
    with pytest.raises(ThreadNotEndedError, match=r"is at it end it or, where none is, go on with"):
        run(thread_agent(journal, "two", **asking), "more", thread_id="alice")
    thread_agent(journal, "one", **asking).resume("first")
    last = run(thread_agent(journal, "two", **asking), "more", thread_id="alice")
    assert last["notes"] == ["a"]
    assert [text for _, text in texts(last.messages)][-3:] == ["one", "more", "two"]


def test_a_thread_goes_on_by_other_rules(run: Runner) -> None:
    """The last run is not followed by them: what it has left is what counts."""
    journal = MemoryJournal()
    first = [noting("a"), noting("b"), "one"]
    run(thread_agent(journal, *first), "first?", thread_id="alice")

    agent = thread_agent(journal, "two", max_agent_steps=1, system_prompt="Be long.")
    second = run(agent, "second?", thread_id="alice")

    assert (second.text, second["notes"]) == ("two", ["a", "b"])
    assert texts(second.messages)[0] == ("system", "Be long.")


def test_what_a_model_is_sent_of_a_thread_can_be_compacted(run: Runner) -> None:
    """The run keeps all of it, and so has the next."""
    journal, sent, lengths = MemoryJournal(), list[int](), list[int]()

    def answer(messages: Sequence[ChatMessage]) -> str:
        sent.append(len(messages))
        return "well"

    for number in range(5):
        agent = thread_agent(journal, answer, hooks=[keep_last_messages(3)])
        lengths.append(len(run(agent, f"question {number}", thread_id="alice").messages))

    assert sent == [2, 4, 4, 4, 4]
    assert lengths == [3, 5, 7, 9, 11]


def test_a_thread_needs_a_journal_that_finds_it(run: Runner) -> None:
    """Else the second run would have forgotten the first."""

    class Plain(MemoryJournal):
        def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
            every = [evolve(one, agent="", thread_id="") for one in super().runs()]
            return page_of(every, query)

    with pytest.raises(ValueError, match=r"this agent has none; .* after=result"):
        run(agent_of("one"), "first?", thread_id="alice")
    plain = Plain()
    with pytest.raises(JournalError, match=r"does not keep to which thread .* after=result"):
        run(thread_agent(plain, "one"), "first?", thread_id="alice")
    assert plain.runs() == []


@pytest.mark.parametrize("thread_id", ["", 7])
def test_a_thread_has_a_name(thread_id: object, run: Runner) -> None:
    """Any text but none."""
    with pytest.raises(
        ValueError,
        match="thread_id is a text of 1 to 255 characters that every store can keep, got",
    ):
        run(thread_agent(MemoryJournal(), "one"), "first?", thread_id=thread_id)


def test_a_thread_says_behind_what_a_run_begins(run: Runner) -> None:
    """So that nothing else can: no result, and no snapshot."""
    journal = MemoryJournal()
    first = run(thread_agent(journal, "one"), "first?", thread_id="alice")
    with pytest.raises(ValueError, match="leave out after"):
        run(thread_agent(journal, "two"), "more", thread_id="alice", after=first)
    with pytest.raises(ValueError, match="leave out thread_id"):
        run(thread_agent(journal, "two"), thread_id="alice", snapshot="{}")


def test_messages_that_are_handed_in_say_the_prompt_themselves(run: Runner) -> None:
    """A second question may be asked by hand: the first messages, and what comes next."""
    agent = agent_of("one", "two", "three")
    first = run(agent, "first?")

    second = run(agent, [*first.messages, ChatMessage.from_user("and second?")])
    third = run(agent, [*second.messages, ChatMessage.from_user("and third?")])

    assert texts(third.messages) == [
        ("system", "Be brief."),
        ("user", "first?"),
        ("assistant", "one"),
        ("user", "and second?"),
        ("assistant", "two"),
        ("user", "and third?"),
        ("assistant", "three"),
    ]


def test_another_prompt_that_is_handed_in_stays(run: Runner) -> None:
    """It is the caller's: ours is said before it."""
    result = run(agent_of("one"), [ChatMessage.from_system("Rhyme."), ChatMessage.from_user("go")])

    assert texts(result.messages)[:2] == [("system", "Be brief."), ("system", "Rhyme.")]


def test_the_prompt_of_another_agent_gives_way_with_its_history(run: Runner) -> None:
    """What is handed in has its answers: it is that agent's conversation, and goes on as ours."""
    first = run(agent_of("one", system_prompt="Be long."), "first?")
    more = [ChatMessage.from_system("Rhyme."), ChatMessage.from_user("more")]

    second = run(agent_of("two"), [*first.messages, *more])

    assert texts(second.messages) == [
        ("system", "Be brief."),
        ("user", "first?"),
        ("assistant", "one"),
        ("system", "Rhyme."),
        ("user", "more"),
        ("assistant", "two"),
    ]


class Looking(SQLiteJournal):
    """Two who look for the end of a thread at once both see it before either begins a run."""

    both: Barrier

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """Where the thread ends; the other is heard out first, if it is about to ask."""
        found = super().runs(query)
        if query.thread_id is not None:
            with suppress(BrokenBarrierError):
                self.both.wait(0.2)
        return found


def test_of_two_who_begin_a_run_of_a_thread_at_once_one_does(tmp_path: Path) -> None:
    """In any process: the other is told that the thread's last run has not ended."""
    begun: list[str] = []
    refused: list[ThreadNotEndedError] = []
    is_told, both = Event(), Barrier(2)

    @tool
    def hold() -> str:
        """Hold the run until the other was told."""
        assert is_told.wait(30)
        return "held"

    def begin(claim_s: float) -> None:
        journal = Looking(tmp_path / "runs.db")
        journal.both = both
        model = ScriptedChatGenerator(ToolCall("hold", {}, "c"), "done")
        agent = Agent(chat_generator=model, tools=[hold], journal=journal, claim_s=claim_s)
        try:
            begun.append(agent.run("hi", thread_id="t").text or "")
        except ThreadNotEndedError as error:
            refused.append(error)
            is_told.set()

    # a time of its own has each claim by itself, as two processes do
    threads = [Thread(target=begin, args=(claim_s,)) for claim_s in (20.0, 21.0)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)

    assert begun == ["done"]
    assert len(refused) == 1
    assert len(SQLiteJournal(tmp_path / "runs.db").runs()) == 1


@pytest.mark.parametrize(
    ("run_id", "kind", "told"),
    [
        ("", ValueError, "without a character"),
        ("a\ud800", ValueError, "with half of a character"),
        (7, TypeError, "run_id is a text of 1 to 255 characters that every store can keep, got 7"),
    ],
)
def test_a_run_is_called_what_every_store_can_keep(
    run_id: Any, kind: type[Exception], told: str
) -> None:
    """An empty name would be another one in silence."""
    model = ScriptedChatGenerator("never asked")
    with pytest.raises(kind, match=told):
        Agent(chat_generator=model).run("go", run_id=run_id)
    assert not model.calls
