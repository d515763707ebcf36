"""What a user says to a run that goes on: when the model reads it, and what does not end before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, Limits, OutputType, State, Tool, ToolCall
from detent.core.chat.messages import ChatRole
from detent.core.chat.replies import FinishReason
from detent.core.errors import StoredDataError
from detent.core.machine.turns import with_unread
from detent.core.storage.journal import progress_mark
from detent.core.tools.result import result_of
from detent.core.tools.retries import Retries
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AnswerRejected,
    AskModel,
    CallRef,
    Cancelled,
    CancelRequested,
    ClockTicked,
    Done,
    Event,
    Exhausted,
    Finished,
    MessageReceived,
    ModelFailed,
    ModelReplied,
    Pausing,
    Resumed,
    Run,
    Thinking,
    ToolReturned,
    ToolStarted,
    due,
    event_from_json,
    event_to_json,
    replay,
    run_from_json,
    run_to_json,
    start,
)
from detent.models import ChatReply, ModelFailure
from detent.ports.results import RunEndedError

ECHO = Tool("echo", "", {"type": "object"}, lambda: None)
SPEC = AgentSpec(State({}), by_name([ECHO]), model_retries=Retries(2, backoff_s=1))
START = start(SPEC, [ChatMessage.from_user("go")], run_id="r")
MORE, AGAIN = (MessageReceived(ChatMessage.from_user(text)) for text in ("more", "again"))
FIRST = CallRef(1, 0)


def says(
    text: str, turn: int = 1, *, reason: FinishReason = "stop", attempt: int = 1
) -> ModelReplied:
    reply = ChatReply(ChatMessage.from_assistant(text), reason)
    return ModelReplied(turn, attempt, reply)


def calls(turn: int = 1, tool: str = "echo", arguments: Mapping[str, Any] | None = None) -> Event:
    call = ToolCall(tool, arguments or {}, "c")
    return ModelReplied(turn, 1, ChatReply(ChatMessage.from_assistant(tool_calls=[call])))


def fails(attempt: int = 1, at: float | None = None) -> ModelFailed:
    return ModelFailed(1, attempt, ModelFailure("server", "away", retryable=True), at)


RETURNED = ToolReturned(FIRST, 1, result_of(ECHO, "fine"))


def conversation(run: Run[Any]) -> list[str]:
    return [f"{one.role.value}: {one.text or ''}".strip(" :") for one in run.messages]


def test_what_is_said_while_the_model_thinks_is_read_behind_its_answer() -> None:
    """It was asked without it: its answer is not the last one."""
    told = replay(SPEC, START, [MORE])
    assert (told.messages, told.unread) == (START.messages, (MORE.message,))
    assert due(SPEC, told) == due(SPEC, START)  # it goes on with what it was asked

    run = replay(SPEC, told, [says("done")])

    assert conversation(run) == ["user: go", "assistant: done", "user: more"]
    assert (run.phase, run.turn, run.unread) == (Thinking(), 2, ())
    assert replay(SPEC, run, [says("all of it", 2)]).outcome == Finished("text")


def test_what_is_said_while_tools_run_stands_behind_their_results() -> None:
    """No call is parted from its result, whatever is said in between."""
    run = replay(SPEC, START, [calls(), MORE, ToolStarted(FIRST, 1), AGAIN, RETURNED])

    assert conversation(run) == ["user: go", "assistant", "tool", "user: more", "user: again"]
    (asked,) = due(SPEC, run)
    assert isinstance(asked, AskModel)
    assert [*asked.messages] == [*run.messages]


def test_what_is_said_during_a_pause_is_read_at_its_end() -> None:
    """Nobody is at work, so it enters the conversation at once; so does what came before."""
    paused = replay(SPEC, START, [MORE, fails(at=10.0)])
    assert isinstance(paused.phase, Pausing)
    assert conversation(paused) == ["user: go", "user: more"]
    told = replay(SPEC, paused, [AGAIN, ClockTicked(99.0)])
    assert (conversation(told)[1:], told.phase) == (["user: more", "user: again"], Thinking(2))


@pytest.mark.parametrize(
    "event", [fails(), Resumed("p2", 1.0)], ids=["asked again", "in another process"]
)
def test_a_model_that_is_asked_anew_is_given_all(event: Event) -> None:
    """Whatever the first one was asked."""
    run = replay(SPEC, START, [MORE, event])
    assert (conversation(run), run.unread) == (["user: go", "user: more"], ())


def test_a_run_that_failed_reads_it_when_it_is_resumed() -> None:
    """And hears no more until then."""
    spec = AgentSpec(State({}), model_retries=Retries(0))
    failed = replay(spec, START, [MORE, fails(), AGAIN])
    assert failed.unread == (MORE.message,)
    again = replay(spec, failed, [Resumed("p2")])
    assert (conversation(again), again.phase) == (["user: go", "user: more"], Thinking(2))


def test_a_call_that_ends_the_run_does_not_before_all_is_read() -> None:
    """The answer was given without it."""
    spec = AgentSpec(State({}), by_name([ECHO]), exit_conditions=frozenset({"echo"}))
    ending = [calls(), ToolStarted(FIRST, 1)]
    assert replay(spec, START, [*ending, RETURNED]).outcome == Finished("echo")
    run = replay(spec, START, [*ending, MORE, RETURNED])
    assert (conversation(run)[-1], run.outcome, run.turn) == ("user: more", None, 2)


def test_an_answer_of_a_type_does_not_end_the_run_before_all_is_read() -> None:
    """Neither as text nor as a call."""
    spec = AgentSpec(State({}), output=OutputType(dict[str, int]))
    assert replay(spec, START, [says('{"one": 1}')]).outcome == Finished("output", {"one": 1})
    text = replay(spec, START, [MORE, says('{"one": 1}')])
    assert (conversation(text)[-1], text.outcome) == ("user: more", None)
    called = replay(spec, START, [MORE, calls(tool="final_answer", arguments={"one": 1})])
    assert (conversation(called)[-1], called.outcome) == ("user: more", None)


def test_where_a_limit_is_in_the_way_the_run_ends_and_it_stays_unread() -> None:
    """Whoever goes on behind it reads it."""
    spec = AgentSpec(State({}), limits=Limits(1))
    run = replay(spec, START, [MORE, says("done"), AGAIN])
    assert (run.outcome, run.unread) == (Finished("text"), (MORE.message,))
    assert conversation(with_unread(run))[-1] == "user: more"


def test_a_last_answer_may_still_read_it() -> None:
    """A limit that lets the model answer once more lets it read once more."""
    spec = AgentSpec(State({}), limits=Limits(1, final_answer=True))
    run = replay(spec, START, [MORE, says("done")])
    assert (conversation(run)[-1], run.exhausted) == ("user: more", "max_agent_steps")
    last = replay(spec, run, [AGAIN, says("enough", 2)])
    assert (last.outcome, last.unread) == (Exhausted("max_agent_steps"), (AGAIN.message,))


def test_what_is_cancelled_is_not_kept_going() -> None:
    """It ends at once."""
    run = replay(SPEC, START, [MORE, CancelRequested("enough")])
    assert (run.outcome, run.unread) == (Cancelled("enough"), (MORE.message,))


def test_a_run_that_has_ended_hears_nothing() -> None:
    """Whoever says it finds that it changes nothing."""
    ended = replay(SPEC, START, [says("done")])
    assert replay(SPEC, ended, [MORE]) is ended


def test_an_answer_that_a_hook_rejects_comes_with_what_is_unread() -> None:
    """Of which it could be told only now."""
    spec = AgentSpec(State({}), limits=Limits(1))
    ended = replay(spec, START, [MORE, says("done")])
    more = evolve(spec, limits=Limits(3))
    run = replay(more, ended, [AnswerRejected(1, "think")])
    assert conversation(run)[-2:] == ["user: more", "user: think"]


def test_a_message_brings_its_labels_along_when_it_is_read() -> None:
    """Not before: until then the model knows nothing of it."""
    mail = MessageReceived(ChatMessage.from_user("more", meta={"labels": ["mail"]}))
    told = replay(SPEC, START, [mail])
    assert told.labels == ()
    assert replay(SPEC, told, [says("done")]).labels == ("mail",)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (ChatMessage.from_assistant("I did"), "a user's message"),
        (ChatMessage.from_user("x", meta={"labels": "mail"}), "a list of texts"),
    ],
)
def test_only_a_users_message_can_be_received(message: ChatMessage, why: str) -> None:
    """An assistant's would part what belongs together; in stored data it is damage."""
    with pytest.raises(ValueError, match=why):
        MessageReceived(message)
    data = event_to_json(SPEC, MORE)
    data["message"]["role"] = ChatRole.ASSISTANT.value
    with pytest.raises(StoredDataError, match="a user's message"):
        event_from_json(SPEC, data)


def test_what_is_unread_is_stored_and_told_apart() -> None:
    """The run and the event come back as they were; the mark says how many."""
    told = replay(SPEC, START, [MORE, AGAIN])
    assert run_from_json(SPEC, run_to_json(SPEC, told)) == told
    assert event_from_json(SPEC, event_to_json(SPEC, MORE)) == MORE
    assert progress_mark(told) == f"{progress_mark(START)} 2 unread"


def test_an_end_is_the_end_where_nothing_was_said() -> None:
    """As ever."""
    assert replay(SPEC, START, [says("done")]).phase == Done(Finished("text"))


def test_whoever_speaks_to_a_run_that_has_ended_is_told_how_to_go_on() -> None:
    """With its id and what it has come to."""
    error = RunEndedError("r", "done")
    assert (error.run_id, error.status) == ("r", "done")
    assert "after=result" in str(error)
