"""Hooks: what goes out and what comes in, and in which order."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import pytest
from attrs import evolve

from detent import (
    ChatMessage,
    HookError,
    SecretParameter,
    State,
    Tool,
    ToolCall,
    after_model,
    after_tool,
    before_model,
    before_tool,
    create_tool_from_function,
    on_exit,
)
from detent.core.control.hooks import Hook, incoming, outgoing, sent_back
from detent.core.run.events import AnswerRejected
from detent.machine import (
    AgentSpec,
    AskHuman,
    AskModel,
    CallRef,
    ModelFailed,
    ModelReplied,
    Run,
    RunTool,
    ToolFault,
    ToolRaised,
    ToolResult,
    ToolReturned,
    due,
    start,
    step,
)
from detent.models import ModelFailure

SPEC: AgentSpec[State] = AgentSpec(State({}))
RUN = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")
(OWED,) = due(SPEC, RUN)
assert isinstance(OWED, AskModel)
ASK: AskModel = OWED
TOOL = Tool("note", "", {"type": "object"}, print)
CALL = RunTool(CallRef(1, 0), 1, ToolCall("note", {"n": 1}, "c1"), TOOL, State({}))
REPLIED, RETURNED = ASK.replied("hi"), CALL.returned("done")


def said(hook_says: str) -> tuple[Hook, Hook]:
    """A hook on the way out and one on the way in, which sign what they see."""

    def ask(ask: AskModel, run: Run[Any]) -> AskModel:
        return evolve(ask, messages=[*ask.messages, ChatMessage.from_user(hook_says)])

    def answer(ask: AskModel, event: Any, run: Run[Any]) -> ModelReplied:
        text = f"{event.reply.message.text} {hook_says}"
        return ask.replied(evolve(event.reply, message=ChatMessage.from_assistant(text)))

    return before_model(ask), after_model(answer)


def never(*given: object) -> None:
    """Content with everything."""


def text_of(event: object) -> str | None:
    assert isinstance(event, ModelReplied)
    return event.reply.message.text


def test_requests_go_out_through_the_first_and_answers_come_in_through_the_last() -> None:
    """As through the layers of an onion."""
    hooks = [*said("a"), *said("b")]

    sent = outgoing(hooks, ASK, RUN)

    assert isinstance(sent, AskModel)
    assert [message.text for message in sent.messages] == ["hello", "a", "b"]
    assert text_of(incoming(hooks, ASK, REPLIED, RUN)) == "hi b a"


def test_who_answers_in_the_models_place_is_heard_by_those_outside() -> None:
    """Those further in see neither the request nor the answer."""
    cached = before_model(lambda ask, run: ask.replied("from the cache"))

    assert text_of(outgoing([*said("a"), cached, *said("b")], ASK, RUN)) == "from the cache a"


def test_a_hook_may_let_be_what_it_sees() -> None:
    """And it sees what it is for, and nothing else."""
    seen: list[object] = []

    def look(ask: object, run: object) -> None:
        seen.append(ask)

    def hear(ask: object, event: object, run: object) -> None:
        seen.append(event)

    hooks: list[Hook] = [
        *(before_model(look), after_model(hear)),
        *(before_tool(never), after_tool(never)),
    ]
    human = AskHuman(CALL.ref, CALL.call, TOOL, "digest", "why")

    for effect, event in ((ASK, REPLIED), (CALL, RETURNED), (human, RETURNED)):
        assert outgoing(hooks, effect, RUN) is effect
        assert incoming(hooks, effect, event, RUN) is event
    assert seen == [ASK, REPLIED]


def test_tools_have_hooks_as_well() -> None:
    """A call may be changed or answered, a result may be changed."""

    def less(call: RunTool, run: Run[Any]) -> RunTool:
        return evolve(call, call=evolve(call.call, arguments={"n": 0}))

    def masked(call: RunTool, event: Any, run: Run[Any]) -> ToolReturned:
        assert isinstance(event, ToolReturned)
        return evolve(event, result=evolve(event.result, content="***"))

    sent = outgoing([before_tool(less)], CALL, RUN)
    assert isinstance(sent, RunTool)
    assert sent.call.arguments == {"n": 0}
    dry = before_tool(lambda call, run: call.returned("would have run"))
    assert outgoing([dry], CALL, RUN) == ToolReturned(CALL.ref, 1, ToolResult("would have run"))
    assert incoming([after_tool(masked)], CALL, RETURNED, RUN) == CALL.returned("***")


def wrong(function: Any) -> Hook:
    return before_model(function)


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        (before_model(lambda ask, run: evolve(ask, turn=2)), "must give a ModelReplied or"),
        (wrong(lambda ask, run: "hi"), "for the same turn, .* or the AskModel, got 'hi'"),
        (wrong(lambda ask, run: ModelReplied(1, 2, REPLIED.reply)), "same turn"),
        (wrong(lambda ask, run: 1 / 0), "raised ZeroDivisionError: division by zero"),
    ],
    ids=["another request", "a text", "another attempt", "an exception"],
)
def test_a_hook_that_gives_no_answer_is_named(hook: Hook, text: str) -> None:
    """With what it should have given."""
    with pytest.raises(HookError, match=text):
        outgoing([hook], ASK, RUN)


def test_an_answer_may_not_become_a_request() -> None:
    """It has come in already."""
    with pytest.raises(HookError, match=r"must give a ToolReturned or ToolRaised .*, got RunTool"):
        incoming([after_tool(lambda call, event, run: call)], CALL, RETURNED, RUN)  # type: ignore[arg-type,return-value]  # the mistake


def test_the_first_hook_that_is_not_content_sends_a_run_back() -> None:
    """One that has ended with an answer, and no other."""
    ended = step(SPEC, RUN, REPLIED)
    hooks = [on_exit(lambda run: None), on_exit(lambda run: "why?"), on_exit(lambda run: "no")]

    assert sent_back(hooks, ended) == AnswerRejected(1, "why?")
    assert sent_back(hooks, RUN) is None
    assert sent_back(hooks[:1], ended) is None
    with pytest.raises(HookError, match="must give a text or None, got True"):
        sent_back([on_exit(lambda run: True)], ended)  # type: ignore[arg-type,return-value]  # the mistake


def test_who_sends_a_run_back_sees_it() -> None:
    """As it has ended; a hook without a name is told as it is printed."""
    ended = step(SPEC, RUN, REPLIED)

    assert sent_back([on_exit(lambda run: run.id)], ended) == AnswerRejected(1, ended.id)
    with pytest.raises(HookError, match=r"the hook functools\.partial\(.*\) raised TypeError"):
        sent_back([on_exit(partial(int, 3))], ended)  # type: ignore[arg-type]  # the mistake


def test_who_looks_at_an_answer_sees_the_run() -> None:
    """Also at one that came from a hook."""
    seen: list[Run[Any]] = []

    def hear(ask: AskModel, event: Any, run: Run[Any]) -> None:
        seen.append(run)

    hooks = [after_model(hear), before_model(lambda ask, run: REPLIED)]

    assert outgoing(hooks, ASK, RUN) is REPLIED
    assert incoming(hooks, ASK, REPLIED, RUN) is REPLIED
    assert seen == [RUN, RUN]


def test_a_hook_sees_a_request_of_a_class_of_its_own_kind() -> None:
    """Who gives one of a subclass would else switch off the hooks behind it: a guard, say."""

    class Traced(AskModel):
        """A request with more about it."""

    def trace(ask: AskModel, run: Run[Any]) -> AskModel:
        return Traced(ask.turn, ask.attempt, ask.messages, ask.tools, ask.generation_kwargs)

    def guard(ask: AskModel, run: Run[Any]) -> ModelReplied:
        return ask.replied("not asked")

    came = outgoing([before_model(trace), before_model(guard)], ASK, RUN)

    assert came == ASK.replied("not asked")


def test_what_a_hook_makes_knows_what_is_secret_in_it() -> None:
    """As what the model and the tool give: the calls of a reply, a result, a fault, a new call."""
    pin = "S3CRETpin99"

    def sign(site: str, pin: Annotated[str, SecretParameter]) -> str:
        """Sign in."""
        return "in"

    tool = create_tool_from_function(sign)
    call = ToolCall("sign", {"site": "x", "pin": pin}, "c1")
    made = ToolCall("sign", {"site": "x", "pin": pin}, "c1")
    ask = evolve(ASK, tools=(tool.spec,))
    run_tool = evolve(CALL, tool=tool, call=call)
    reply = ask.replied(ChatMessage.from_assistant(tool_calls=[made]))
    returned = run_tool.returned(f"in by {pin}")
    cause = OSError("a cause")
    faults = [ToolFault("raised", f"not by {pin}"), ToolFault("raised", pin).because(cause)]

    cached = outgoing([before_model(lambda ask, run: reply)], ask, RUN)
    said = incoming([after_model(lambda ask, answer, run: reply)], ask, ASK.replied("hi"), RUN)
    for event in (cached, said):
        assert isinstance(event, ModelReplied)
        assert [one.secret for one in event.reply.message.tool_calls] == [("pin",)]
    failed = ModelFailed(ask.turn, ask.attempt, ModelFailure("bug", "no"))
    assert outgoing([before_model(lambda ask, run: failed)], ask, RUN) is failed

    before = run_tool.returned("in")
    new = incoming([after_tool(lambda effect, answer, run: returned)], run_tool, before, RUN)
    assert isinstance(new, ToolReturned)
    assert (new.result.content, new.result.display) == (f"in by {pin}", "in by <pin>")
    told = [
        incoming([after_tool(lambda _, answer, run: evolve(answer))], run_tool, event, RUN)
        for event in (ToolRaised(run_tool.ref, run_tool.attempt, fault) for fault in faults)
    ]
    raised = [event.fault for event in told if isinstance(event, ToolRaised)]
    assert [fault.message for fault in raised] == ["not by <pin>", "<pin>"]
    assert raised[1].cause is cause


def test_an_event_that_a_hook_gives_back_is_that_event() -> None:
    """Not one like it, for which all would be done once more that is done beforehand."""
    same = after_tool(lambda _, answer, run: answer)
    for event in (RETURNED, ToolRaised(CALL.ref, CALL.attempt, ToolFault("raised", "no"))):
        assert incoming([same], CALL, event, RUN) is event


def test_a_hook_that_cannot_be_called_is_refused_where_it_is_made() -> None:
    """By how many it takes, or as it is async; what is not of Python does not say it."""

    async def late(ask: AskModel, run: Run[Any]) -> None:
        """Nobody waits for it."""

    class Late:
        async def __call__(self, ask: AskModel, run: Run[Any]) -> None:
            """Nor for it."""

    function: Any
    for function in (late, Late()):
        with pytest.raises(TypeError, match="is async: a hook is an ordinary function"):
            before_model(function)
    for make, function, words in (
        (
            before_tool,
            lambda effect: None,
            r"is called with \(request, run\), and takes \(effect\)",
        ),
        (after_tool, lambda a, b: None, r"is called with \(request, answer, run\)"),
        (on_exit, lambda: None, r"is called with \(run\), and takes \(\)"),
    ):
        with pytest.raises(TypeError, match=words):
            make(function)
    silent: Any = dict
    assert before_model(silent)
