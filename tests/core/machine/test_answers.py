"""Answers: a run that wants a type ends when the model has given one, or has used up its tries."""

from __future__ import annotations

from typing import Annotated

import pytest
from attrs import evolve, frozen

from detent import (
    ChatMessage,
    Limits,
    OutputError,
    OutputType,
    SecretParameter,
    State,
    Tool,
    ToolCall,
    WiringError,
    tool,
)
from detent.adapters.control.breakpoints import ToolBreakpoint
from detent.core.chat.replies import FinishReason
from detent.core.machine.outputs import output_of
from detent.core.run.run import RunOptions
from detent.core.tools.result import ToolResult
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AnswerRejected,
    AskModel,
    CallRef,
    Exhausted,
    Finished,
    ModelReplied,
    Run,
    RunTool,
    Thinking,
    ToolReturned,
    ToolStarted,
    due,
    start,
    step,
)
from detent.models import ChatReply


@frozen
class Place:
    """What is asked for."""

    name: str


LOOK = Tool("look", "", {"type": "object"}, print)
SPEC: AgentSpec[State] = AgentSpec(
    State({}), by_name([LOOK]), output=OutputType(Place, native="without_tools")
)
BARE = evolve(SPEC, tools=by_name([]))


def run_of(spec: AgentSpec[State]) -> Run[State]:
    return start(spec, [ChatMessage.from_user("where?")], run_id="r")


def said(
    spec: AgentSpec[State], run: Run[State], *lines: str | ToolCall, reason: FinishReason = "stop"
) -> Run[State]:
    """The run after a reply with these texts and calls."""
    calls = [line for line in lines if isinstance(line, ToolCall)]
    text = "".join(line for line in lines if isinstance(line, str)) or None
    reply = ChatReply(ChatMessage.from_assistant(text, tool_calls=calls), reason)
    return step(spec, run, ModelReplied(run.turn, 1, reply))


def answer(**arguments: object) -> ToolCall:
    return ToolCall("final_answer", arguments, id=f"a{len(arguments)}")


@pytest.mark.parametrize("spec", [SPEC, BARE], ids=["by tool", "natively"])
def test_a_text_that_fits_is_the_answer(spec: AgentSpec[State]) -> None:
    """However the model was asked."""
    run = said(spec, run_of(spec), '{"name": "Oslo"}')
    assert run.outcome == Finished("output", {"name": "Oslo"})
    assert output_of(spec, run) == Place("Oslo")


def test_the_tool_to_answer_by_ends_the_run() -> None:
    """Nothing is run for it, and nobody is asked: the call is settled at once."""
    run = said(SPEC, run_of(SPEC), answer(name="Oslo"))
    assert output_of(SPEC, run) == Place("Oslo")
    assert run.messages[-1].tool_call_result is not None
    assert run.messages[-1].tool_call_result.text == "accepted"


def test_other_calls_of_the_last_turn_are_still_made() -> None:
    """The run ends when they are done; a breakpoint for tools stops before them."""
    run = said(SPEC, run_of(SPEC), answer(name="Oslo"), ToolCall("look", {}, id="b"))
    (effect,) = due(SPEC, run)
    assert isinstance(effect, RunTool)
    assert ToolBreakpoint("tool_invoker")(run, effect)
    run = step(SPEC, run, ToolStarted(effect.ref, 1))
    run = step(SPEC, run, ToolReturned(effect.ref, 1, ToolResult("seen")))
    assert output_of(SPEC, run) == Place("Oslo")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (answer(), "This answer cannot be used: 'name' is missing"),
        (answer(name=1), "This answer cannot be used: 'name' must be a string"),
        (ToolCall("final_answer", {}, id="u", unreadable="{nam"), "not a JSON object: {nam"),
    ],
    ids=["empty", "wrong", "unreadable"],
)
def test_a_misfit_goes_back_to_the_model(line: ToolCall, told: str) -> None:
    """As the error of its call, also where a tool's failure would end the run."""
    spec = evolve(SPEC, fail_on_tool_fault=True)
    run = said(spec, run_of(spec), line)
    result = run.messages[-1].tool_call_result
    assert result is not None
    assert told in result.text
    assert result.error
    assert (run.phase, run.turn, run.invalid_answers) == (Thinking(), 2, 1)


@pytest.mark.parametrize(
    ("spec", "how"),
    [(SPEC, "by calling the tool 'final_answer'"), (BARE, "as one JSON object")],
    ids=["by tool", "natively"],
)
def test_prose_goes_back_to_the_model(spec: AgentSpec[State], how: str) -> None:
    """The model is told what is wrong with it, and how to answer."""
    run = said(spec, run_of(spec), "In Oslo.")
    last = run.messages[-1].text or ""
    assert last.startswith("Your answer cannot be used: the answer is no JSON")
    assert last.endswith(f". Give it {how}.")
    assert run.invalid_answers == 1


def test_a_run_without_its_tools_is_asked_as_one_that_has_none() -> None:
    """What counts is which tools the run has, not the agent."""
    run = evolve(run_of(SPEC), options=RunOptions(tools=()))
    (effect,) = due(SPEC, run)
    assert isinstance(effect, AskModel)
    assert "response_format" in effect.generation_kwargs
    assert "as one JSON object" in (said(SPEC, run, "Oslo").messages[-1].text or "")


def test_the_tries_of_a_run_are_counted() -> None:
    """Texts and calls alike; after the last the run ends, and says why there is no output."""
    spec = evolve(SPEC, output=OutputType(Place, tries=2, native="never"))
    run = said(spec, run_of(spec), "Oslo")
    run = said(spec, run, answer(name=2))
    assert run.outcome == Exhausted("output_tries")
    with pytest.raises(OutputError, match="output_tries"):
        output_of(spec, run)


def test_what_did_not_fit_is_said_where_there_is_no_output() -> None:
    """The path and the reason, and how the last reply begins: also of one that was cut short."""
    spec = evolve(SPEC, output=OutputType(Place, tries=1, native="never"))
    for line, fault, begin in (
        (answer(name=2), "'name' must be a string, got 2", "'{\"name\": 2}'"),
        (answer(nmae="Oslo"), "'name' is missing", '\'{"nmae": "Oslo"}\''),
        ("O" * 200, "the answer is no JSON: ", f"{'O' * 120!r};"),
        (ToolCall("final_answer", unreadable='{"name'), "not a JSON object", "'{\"name'"),
    ):
        with pytest.raises(OutputError) as caught:
            output_of(spec, said(spec, run_of(spec), line))
        assert str(caught.value).startswith("run r has no output: it ended by 'output_tries'. ")
        assert fault in str(caught.value)
        assert f"The last reply begins with {begin}" in str(caught.value)
    with pytest.raises(OutputError, match=r"'length'.*no JSON.*The last reply is empty"):
        output_of(spec, said(spec, run_of(spec), "", reason="length"))


def test_what_did_not_fit_says_no_secret() -> None:
    """Neither as what was there in place of what fits, nor as how the reply begins."""

    @tool
    def enter(pin: Annotated[str, SecretParameter()]) -> str:
        """Enter."""
        return "in"

    tools = by_name([enter])
    spec = evolve(SPEC, tools=tools, output=OutputType(int, tries=1, native="never"))
    run = said(spec, run_of(spec), ToolCall("enter", {"pin": "hush-hush-4711"}, "c1"))
    run = step(spec, run, ToolStarted(CallRef(1, 0), 1))
    run = step(spec, run, ToolReturned(CallRef(1, 0), 1, ToolResult("in")))
    run = said(spec, run, answer(value="by hush-hush-4711"))

    with pytest.raises(OutputError, match="begins with") as caught:
        output_of(spec, run)
    assert "hush" not in str(caught.value)


def test_a_run_that_has_ended_before_its_answer_says_only_that() -> None:
    """Its last reply was none: it called another tool."""
    spec = evolve(SPEC, limits=Limits(1))
    run = said(spec, run_of(spec), ToolCall("gone", {}, "c1"))
    with pytest.raises(OutputError, match=r"no output: it ended by 'max_agent_steps'$"):
        output_of(spec, run)


def test_an_answer_that_fits_and_was_sent_back_is_not_said_not_to_fit() -> None:
    """Somebody was not content with it, and no step was left for another."""
    spec = evolve(BARE, output=OutputType(Place, native="always"), limits=Limits(1))
    run = said(spec, run_of(spec), '{"name": "Oslo"}')
    run = step(spec, run, AnswerRejected(1, "no"))
    with pytest.raises(OutputError, match=r"no output: it ended by 'max_agent_steps'$"):
        output_of(spec, run)


def test_the_last_step_is_the_last_try() -> None:
    """The limit on steps holds as for every run."""
    spec = evolve(SPEC, limits=Limits(1))
    assert said(spec, run_of(spec), "Oslo").outcome == Exhausted("max_agent_steps")


@pytest.mark.parametrize("reason", ["length", "content_filter", "refusal"])
def test_an_answer_that_was_cut_is_not_asked_for_again(reason: FinishReason) -> None:
    """The model would be cut again."""
    run = said(BARE, run_of(BARE), '{"name": "Os', reason=reason)
    assert run.outcome == Finished(reason)


def test_a_run_that_has_not_ended_has_no_output() -> None:
    """Nor one whose stored answer does not fit the type of the agent at hand."""
    run = run_of(SPEC)
    with pytest.raises(OutputError, match="has not ended"):
        output_of(SPEC, run)
    other = evolve(SPEC, output=OutputType(int))
    with pytest.raises(OutputError, match="'value' is missing"):
        output_of(other, said(SPEC, run, answer(name="Oslo")))


def test_no_output_type_no_output() -> None:
    """A run that ends with any text."""
    spec = evolve(SPEC, output=None)
    run = said(spec, run_of(spec), "Oslo")
    assert run.outcome == Finished("text")
    assert output_of(spec, run) is None


def test_a_tool_cannot_have_the_name_of_the_one_to_answer_by() -> None:
    """The message says what to do about it."""
    with pytest.raises(WiringError, match=r"OutputType\(…, name=…\)"):
        evolve(SPEC, tools=by_name([Tool("final_answer", "", {"type": "object"}, print)]))
