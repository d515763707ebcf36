"""What a run writes to its log: what it does and why, and nothing that anybody has said."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest
from attrs import define

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatGeneratorError,
    ChatMessage,
    IdempotencyKey,
    Inbox,
    MemoryJournal,
    Retries,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    on_exit,
    tool,
)
from detent.adapters.telemetry.logs import LOGGER, log_event
from detent.approvals import Allow, Ask, Deny
from detent.machine import (
    CallRef,
    CancelRequested,
    ClockTicked,
    Event,
    GrantRevoked,
    Judged,
    ModelReplied,
    OutcomeUnknownError,
    Resumed,
    ToolLost,
    ToolNeverRan,
    ToolStarted,
    start,
    step,
)
from detent.models import ChatReply, ModelFailure

PRIVATE = "nobody may read this"


@tool
def add(a: int, b: int, note: str = "") -> str:
    """Add two numbers."""
    return f"{a + b} {note}"


@tool
def fail(note: str) -> str:
    """Fail."""
    raise OSError(note)


def working(*lines: Any, **options: Any) -> Agent[Any]:
    """An agent with tools, on a script."""
    return Agent(chat_generator=ScriptedChatGenerator(*lines), tools=[add, fail], **options)


ADD, FAIL = ToolCall("add", {"a": 1, "b": 2, "note": PRIVATE}), ToolCall("fail", {"note": PRIVATE})


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{one.levelname} {one.getMessage()}" for one in caplog.records]


def test_a_run_says_what_it_does(caplog: pytest.LogCaptureFixture) -> None:
    """At INFO, a line for each thing; agents inside it say whose work it is."""
    caplog.set_level(logging.INFO, "detent")
    helper = AgentTool(working(FAIL, PRIVATE), name="ask", description="Ask.")
    model = ScriptedChatGenerator(ToolCall("ask", {"task": PRIVATE}), PRIVATE)
    agent = Agent(chat_generator=model, tools=[helper])

    agent.run(PRIVATE, run_id="r")

    assert told(caplog) == [
        "INFO run r: begins with 1 messages",
        "INFO run r: turn 1: the model answered",
        "INFO run r: turn 1: ask began",
        "INFO run r > ask: turn 1: the model answered",
        "INFO run r > ask: turn 1: fail began",
        "INFO run r > ask: turn 1: fail failed (raised)",
        "INFO run r > ask: turn 2: the model answered",
        "INFO run r: turn 2: the model answered",
        "INFO run r: ended: text after 2 turns",
    ]
    raised: Any = caplog.records[5]
    assert (raised.run_id, raised.turn, raised.tool, raised.agents) == ("r", 1, "fail", ("ask",))
    assert (raised.attempt, raised.call_id) == (1, "call_1_0")


def test_a_run_says_why(caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG: what a step has cost, and what comes next; never what was said."""
    caplog.set_level(logging.DEBUG, "detent")

    working(ADD, FAIL, PRIVATE, name=PRIVATE).run(PRIVATE, run_id="r")

    whys = [text for text in told(caplog) if text.startswith("DEBUG")]
    assert whys == [
        "DEBUG run r: 0 tokens read, 0 written, 1 tool calls, ended by 'tool_calls'",
        "DEBUG run r: 0 tokens read, 0 written, 1 tool calls, ended by 'tool_calls'",
        "DEBUG run r: attempt 1; the model is told",
        "DEBUG run r: 0 tokens read, 0 written, 0 tool calls, ended by 'stop'",
        "DEBUG run r: in all 0 tokens read, 0 written",
    ]
    assert PRIVATE not in str([vars(record) for record in caplog.records])


def test_a_model_without_an_answer_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    """Its cause in a word, as the words of a provider may quote anything."""
    caplog.set_level(logging.DEBUG, "detent")
    failure = ChatGeneratorError(ModelFailure("bad_request", PRIVATE))

    with pytest.raises(ChatGeneratorError):
        working(failure).run("go", run_id="r")

    assert told(caplog)[1:4] == [
        "INFO run r: turn 1: the model gave no answer (bad_request)",
        "DEBUG run r: attempt 1; it is not asked again",
        "INFO run r: ended: model_failure after 1 turns",
    ]
    assert PRIVATE not in caplog.text


def test_the_last_attempt_of_the_model_is_said_to_be_the_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failure may pass, but nobody asks any more once the attempts are used up."""
    caplog.set_level(logging.DEBUG, "detent")
    failures = [ChatGeneratorError(ModelFailure("overloaded", "", retryable=True))] * 2

    with pytest.raises(ChatGeneratorError):
        working(*failures, model_retries=Retries(1, backoff_s=0)).run("go", run_id="r")

    assert [line for line in told(caplog) if "attempt" in line] == [
        "DEBUG run r: attempt 1; it is asked again",
        "DEBUG run r: attempt 2; it is not asked again",
    ]


def test_the_last_attempt_of_a_tool_is_said_to_be_the_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Of an agent inside as well, which is gone when it fails."""
    caplog.set_level(logging.DEBUG, "detent")

    @tool(retries=Retries(1, backoff_s=0))
    def look() -> str:
        """Look."""
        raise OSError

    failure = ChatGeneratorError(ModelFailure("overloaded", "", retryable=True))
    inner = Agent(chat_generator=ScriptedChatGenerator(failure), model_retries=0)
    helper = AgentTool(inner, name="ask", description="Ask.")
    model = ScriptedChatGenerator(ToolCall("look"), ToolCall("ask", {"task": "go"}), "done")
    Agent(chat_generator=model, tools=[look, helper]).run("go", run_id="r")

    assert [line for line in told(caplog) if "attempt" in line] == [
        "DEBUG run r: attempt 1; it is tried again",
        "DEBUG run r: attempt 2; the model is told",
        "DEBUG run r > ask: attempt 1; it is not asked again",
    ]


def test_a_call_that_does_not_run_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """In a word why, also where no other call of the reply runs, and of an agent inside."""
    caplog.set_level(logging.INFO, "detent")
    rare = tool(max_calls=1)(add.function)
    inner = Agent(chat_generator=ScriptedChatGenerator(ToolCall("gone"), "done"), tools=[fail])
    helper = AgentTool(inner, name="ask", description="Ask.")
    calls = [ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 1, "b": 2})]
    model = ScriptedChatGenerator(
        ToolCall("add", {"a": PRIVATE}, id="c1"),
        ChatMessage.from_assistant(tool_calls=calls),
        ToolCall("ask", {"task": "go"}),
        "done",
    )

    Agent(chat_generator=model, tools=[rare, helper]).run("go", run_id="r")

    lines = [one for one in caplog.records if "did not run" in one.getMessage()]
    assert [one.getMessage() for one in lines] == [
        "run r: turn 1: add did not run (invalid_arguments)",
        "run r: turn 2: add did not run (over_limit)",
        "run r: turn 2: add did not run (over_limit)",
        "run r > ask: turn 1: gone did not run (unknown_tool)",
    ]
    fields = [vars(lines[0])[name] for name in ("run_id", "turn", "tool", "call_id")]
    assert fields == ["r", 1, "add", "c1"]
    assert PRIVATE not in caplog.text


def test_an_answer_of_another_type_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Else three turns would go by, and nothing would say what for."""
    caplog.set_level(logging.INFO, "detent")
    call = ToolCall("final_answer", {"value": PRIVATE})
    working(PRIVATE, call, PRIVATE, output_type=int).run("go", run_id="r")

    assert [line for line in told(caplog) if "type" in line] == [
        "INFO run r: turn 1: the answer does not fit the output type",
        "INFO run r: turn 2: final_answer does not fit the output type",
        "INFO run r: turn 3: the answer does not fit the output type",
    ]
    assert PRIVATE not in caplog.text


def test_a_reply_with_far_too_many_calls_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """Else a model would choose how long the log gets."""
    caplog.set_level(logging.INFO, "detent")
    calls = ChatMessage.from_assistant(tool_calls=[ADD] * 129)
    working(calls, "done").run("go", run_id="r")

    lines = [line for line in told(caplog) if "did not run" in line]
    assert lines == ["INFO run r: turn 1: its 129 calls did not run (over_limit)"]


@pytest.mark.parametrize("level", [logging.WARNING, logging.DEBUG])
def test_the_log_checks_nothing_anew(level: int, caplog: pytest.LogCaptureFixture) -> None:
    """A reply may be so large that no event loop checks it; and an answer is of others' classes."""
    caplog.set_level(level, "detent")
    made = list[int]()

    @define
    class Order:
        n: int

        def __attrs_post_init__(self) -> None:
            made.append(self.n)

    calls = [ToolCall("final_answer", {"n": n}) for n in ("none", 1)]
    result = working(*calls, output_type=Order).run("go")

    assert (result.exit_reason, made) == ("output", [1])


def test_what_takes_too_long_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A tool that gives no answer in time, and whether it is tried again."""
    caplog.set_level(logging.DEBUG, "detent")
    slow = Tool("slow", "Slow.", {"type": "object"}, lambda: 1, timeout_s=1, retries=1)
    spec = Agent(chat_generator=ScriptedChatGenerator(), tools=[slow]).spec
    call = ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("slow", id="c1")]))
    ref = CallRef(1, 0)
    run = step(spec, start(spec, [], run_id="r"), ModelReplied(1, 1, call))
    events: list[Event] = [
        ToolStarted(ref, 1, 10.0),
        ClockTicked(11.0),
        ClockTicked(12.0),
        ToolStarted(ref, 2, 12.0),
        ClockTicked(13.0),
    ]
    for event in events:
        before, run = run, step(spec, run, event)
        log_event(spec, before, event, run)

    assert told(caplog) == [
        "INFO run r: turn 1: slow began",
        "INFO run r: turn 1: slow failed (timeout)",
        "DEBUG run r: attempt 1; it is tried again",
        "DEBUG run r: a pause is over",
        "INFO run r: turn 1: slow began",
        "INFO run r: turn 1: slow failed (timeout)",
        "DEBUG run r: attempt 2; the model is told",
    ]


def test_a_question_that_nobody_answers_in_time_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """That was a no, and the run goes on."""
    caplog.set_level(logging.INFO, "detent")
    asks = {"add": lambda *_: Ask(expires_s=1)}
    spec = working(confirmation_strategies=asks).spec
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[ADD]))
    run = step(spec, start(spec, [], run_id="r"), ModelReplied(1, 1, reply))
    run = step(spec, run, Judged(CallRef(1, 0), Ask(expires_s=1), at=10.0))
    event = ClockTicked(11.0)

    log_event(spec, run, event, step(spec, run, event))

    assert told(caplog) == ["INFO run r: turn 1: add was not decided about in time"]


def test_what_humans_hooks_and_callers_do_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A question, its answer, a process that goes on, an answer that is sent back, an end."""
    caplog.set_level(logging.INFO, "detent")
    journal = MemoryJournal()
    options: dict[str, Any] = {
        "journal": journal,
        "confirmation_strategies": {"add": AlwaysAskPolicy()},
    }
    again = iter(["once more", None])
    agent = working(ADD, "first", "second", hooks=[on_exit(lambda run: next(again))], **options)
    agent.run("go", run_id="r", raise_at_break_point=False)
    (call,) = agent.pending("r")
    agent.decide("r", call.confirm(by="Ada"))
    agent.resume("r")

    assert told(caplog).count("INFO run r: turn 1: add waits for a human") == 1
    assert "INFO run r: turn 1: add goes by what was decided" in told(caplog)
    assert "INFO run r: goes on" in told(caplog)
    assert "INFO run r: a hook has rejected the answer" in told(caplog)
    assert "Ada" not in caplog.text


@pytest.mark.parametrize(
    ("verdict", "text"),
    [(Allow(), "is allowed by its policy"), (Deny("no"), "is denied by its policy")],
)
def test_what_a_policy_says_is_told(
    verdict: Allow | Deny, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A call that is denied is never said to be allowed."""
    caplog.set_level(logging.INFO, "detent")
    agent = working(ADD, "done", confirmation_strategies={"add": lambda *_: verdict})

    agent.run("go", run_id="r")

    assert [line for line in told(caplog) if "policy" in line] == [
        f"INFO run r: turn 1: add {text}"
    ]


def test_a_run_that_is_cancelled_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """Without the reason, which is somebody's text."""
    caplog.set_level(logging.INFO, "detent")
    inbox = Inbox()
    inbox.put(CancelRequested(PRIVATE))

    working("hi").run("go", run_id="r", inbox=inbox)

    assert "INFO run r: is to end" in told(caplog)
    assert PRIVATE not in caplog.text


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (ToolNeverRan(CallRef(1, 0), 1), "INFO run r: turn 1:  had not run"),
        (ToolLost(CallRef(1, 0), 1, "gone"), "INFO run r: turn 1:  has an unknown outcome"),
        (GrantRevoked(CallRef(1, 0)), "INFO run r: a confirmation counts no longer"),
        (ClockTicked(1.0), "DEBUG run r: a pause is over"),
        (Resumed("x"), "DEBUG run r: what was under way has an unknown outcome"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_event_has_its_line(event: Any, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """Also those that are rare."""
    caplog.set_level(logging.DEBUG, "detent")
    spec = working().spec
    before, after = (start(spec, [], run_id="r") for _ in range(2))

    log_event(spec, before, event, after)

    assert told(caplog) == [text]


def test_what_changes_nothing_is_told_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    """An answer that came twice, say."""
    caplog.set_level(logging.DEBUG, "detent")
    spec = working().spec
    run = start(spec, [], run_id="r")

    log_event(spec, run, Resumed("x"), run)

    assert told(caplog) == ["DEBUG run r: Resumed changed nothing: it is late, or came before"]


def test_nobody_who_does_not_log_pays_for_it() -> None:
    """No observer is there, and a program that sets up nothing prints nothing."""
    assert not working("hi").begin("go").session._observers

    code = """
from detent import Agent, ScriptedChatGenerator
Agent(chat_generator=ScriptedChatGenerator("hi")).run("go")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_one_line_turns_it_on() -> None:
    """That of every program that logs."""
    code = """
import logging
logging.basicConfig(level=logging.INFO)
from detent import Agent, ScriptedChatGenerator
Agent(chat_generator=ScriptedChatGenerator("hi")).run("go", run_id="r")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [
        "INFO:detent:run r: begins with 1 messages",
        "INFO:detent:run r: turn 1: the model answered",
        "INFO:detent:run r: ended: text after 1 turns",
    ]


def test_a_run_that_stops_for_a_human_warns(caplog: pytest.LogCaptureFixture) -> None:
    """It looks as if nothing happened, and nothing more does until somebody decides."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    agent = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("pay", {"amount": 3})),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )
    with caplog.at_level(logging.WARNING, "detent"):
        result = agent.run("pay", run_id="r", raise_at_break_point=False)

    (line,) = caplog.records
    text = "run r: waits for a human to decide about: pay; see agent.pending('r')"
    text += ", `detent runs pending` or the inbox"
    assert (line.levelname, line.getMessage()) == ("WARNING", text)
    assert [call.tool_name for call in result.pending] == ["pay"]
    assert "waits for a human: pay" in repr(result)


def test_a_call_that_may_have_been_done_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """Of an agent inside as well: somebody must find out, by the key that the other end knows."""
    keys = list[str]()

    @tool
    def pay(amount: int, key: IdempotencyKey) -> str:
        """Pay."""
        keys.append(key)
        raise OutcomeUnknownError("secret of the bank")

    @tool
    def send(text: str) -> str:
        """Send."""
        raise OutcomeUnknownError("secret of the post")

    said = ChatMessage.from_assistant(
        tool_calls=[ToolCall("pay", {"amount": 3}, "c1"), ToolCall("send", {"text": "paid"}, "c2")]
    )
    clerk = Agent(chat_generator=ScriptedChatGenerator(said), tools=[pay, send])
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("clerk", {"task": "pay"})),
        tools=[AgentTool(clerk, name="clerk", description="Pays.")],
    )
    with caplog.at_level(logging.WARNING, "detent"):
        agent.run("go", run_id="r", raise_at_break_point=False)

    found = [one for one in caplog.records if one.levelname == "ERROR"]
    assert [one.getMessage() for one in found] == [
        f"run r > clerk: nobody knows what came of pay in turn 1; its key is {keys[0]}",
        "run r > clerk: nobody knows what came of send in turn 1",
    ]
    fields = [[vars(one)[name] for name in ("tool", "call_id", "idempotency_key")] for one in found]
    assert fields == [["pay", "c1", keys[0]], ["send", "c2", ""]]


def test_no_name_of_a_run_makes_a_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    """Nor steers a terminal; its field says it as it is."""
    name = "x\nINFO run payroll: turn 1: pay was decided by a human: confirmed\x1b[2K\u202e"
    caplog.set_level(logging.DEBUG, "detent")
    Agent(chat_generator=ScriptedChatGenerator("done")).run("x", run_id=name)
    LOGGER.warning("run %s could not go on here: %s, %d", name, OSError(name), 3)

    written = "".join(told(caplog))
    assert written.count("\\nINFO run payroll") == len(caplog.records) + 1
    assert not set(written) & set("\n\x1b\u202e")
    assert {record.__dict__.get("run_id", name) for record in caplog.records} == {name}


def test_a_tool_of_which_the_model_knows_the_name_alone_warns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once for each agent that has it; a docstring is all that it needs."""

    @tool
    def mystery(n: int) -> int:
        return n

    Agent(chat_generator=ScriptedChatGenerator(), tools=[add, mystery])

    (warned,) = told(caplog)
    assert warned.startswith("WARNING tool mystery has no description: the model knows it by its")


def test_a_result_that_is_no_json_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """With what the model reads in its place; the contents of the result are not told."""

    @tool
    def look() -> object:
        """Look."""
        return {"secret": working, PRIVATE: 1}

    caplog.set_level(logging.INFO, "detent")
    Agent(chat_generator=ScriptedChatGenerator(ToolCall("look", {}), "done"), tools=[look]).run("x")

    (warned,) = [line for line in told(caplog) if line.startswith("WARNING")]
    assert warned.endswith(
        "the result of tool 'look' is no JSON: the model reads how Python prints a dict; "
        "return a text, a dict or a dataclass, or say outputs_to_string={'handler': …}"
    )
