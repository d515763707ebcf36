"""How a turn ends: its reply, its answers and its writes enter the run together."""

from __future__ import annotations

from attrs import evolve

from detent import ChatMessage, Limits, State, ToolCall
from detent.core.machine.turns import ask_again, end, end_with_answer, fold_turn, say, settle
from detent.core.run.run import Faulted, Ready, Status
from detent.machine import (
    Acting,
    AgentSpec,
    CallRef,
    Done,
    Exhausted,
    Slot,
    Thinking,
    ToolFault,
    start,
)
from detent.models import ChatReply

SPEC: AgentSpec[State] = AgentSpec(State({}))
RUN = start(SPEC, [ChatMessage.from_user("go")], run_id="r")


def turn_of(*statuses: Status) -> tuple[ChatReply, list[Slot]]:
    calls = [ToolCall("t", {"n": n}, id=f"c{n}") for n in range(len(statuses))]
    slots = [Slot(CallRef(1, n), calls[n], status) for n, status in enumerate(statuses)]
    return ChatReply(ChatMessage.from_assistant(tool_calls=calls)), slots


def fault(text: str) -> Faulted:
    return Faulted(ToolFault("raised", text))


def test_a_turn_with_an_open_call_waits() -> None:
    """Nothing of it is said before every call has its answer."""
    reply, slots = turn_of(fault("no"), Ready())
    acting = evolve(RUN, phase=Acting(reply, tuple(slots)))
    assert settle(SPEC, acting) is acting


def test_a_whole_turn_is_said_in_the_models_order() -> None:
    """The reply, then each answer; and the model is asked again."""
    reply, slots = turn_of(fault("one"), fault("two"))
    run = settle(SPEC, evolve(RUN, phase=Acting(reply, tuple(slots))))
    results = [result.text for message in run.messages for result in message.tool_call_results]
    assert (run.phase, run.turn, results) == (Thinking(), 2, ["one", "two"])
    assert fold_turn(SPEC, RUN, reply, slots)[1] == slots


def test_a_paused_reply_goes_on_in_the_next_turn_within_the_limits() -> None:
    """What it said stands last, and the model is asked again; the last turn is the last."""
    reply = ChatReply(ChatMessage.from_assistant("so far"), "paused")
    run = end_with_answer(SPEC, RUN, reply)
    assert (run.phase, run.turn, run.messages[-1].text) == (Thinking(), 2, "so far")
    once = AgentSpec(State({}), limits=Limits(1))
    assert end_with_answer(once, RUN, reply).phase == Done(Exhausted("max_agent_steps"))


def test_saying_and_ending_leave_the_run_before_as_it_was() -> None:
    """Each gives a new run."""
    said = say(RUN, [ChatMessage.from_assistant("hi")])
    assert [message.text for message in said.messages] == ["go", "hi"]
    assert end(said, Exhausted("x")).phase == Done(Exhausted("x"))
    assert (len(RUN.messages), RUN.phase) == (1, Thinking())


def test_the_model_is_told_why_its_answer_will_not_do() -> None:
    """In its next turn; when this was its last nobody would read it."""
    again, last = (ask_again(evolve(SPEC, limits=Limits(n)), RUN, "why?") for n in (2, 1))

    assert (again.turn, again.phase) == (2, Thinking())
    assert [message.text for message in again.messages] == ["go", "why?"]
    assert last.outcome == Exhausted("max_agent_steps")
    assert last.messages == RUN.messages
