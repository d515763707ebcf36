"""Runs as OpenTelemetry sees them: the tree of spans, what stands on them, what is counted."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Annotated, Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    ChatGeneratorError,
    ChatMessage,
    ChatRole,
    Confirmed,
    FileContent,
    HITLBreakpointException,
    ImageContent,
    Inbox,
    MemoryJournal,
    ScriptedChatGenerator,
    SecretParameter,
    TextContent,
    ToolCall,
    ToolInvocationError,
    tool,
)
from detent.adapters.telemetry import conventions as names
from detent.adapters.telemetry.instruments import Instruments
from detent.adapters.telemetry.works import ModelWork
from detent.journals import RedactedJournal
from detent.machine import AskModel, CancelRequested, FrozenDict, ModelFailed
from detent.models import ChatReply, Citation, ModelFailure, Usage
from detent.ports.telemetry import Model
from detent.telemetry import Drive, OpenTelemetry
from detent.testing import JumpingClock, ScriptedHuman


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@tool
def pay(amount: int, pin: Annotated[str, SecretParameter] = "") -> str:
    """Pay."""
    return f"paid {amount} with {pin}"


@tool
def fail() -> str:
    """Fail."""
    raise OSError("a secret of the disk")


class Seen:
    """What was exported."""

    def __init__(self, **options: Any) -> None:
        self.spans = InMemorySpanExporter()
        self.tracers = TracerProvider(**options)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader])

    def telemetry(self, **options: Any) -> OpenTelemetry:
        """What is given to an agent."""
        providers: Any = {"tracer_provider": self.tracers, "meter_provider": self.meters}
        return OpenTelemetry(**providers, **options)

    def all(self) -> tuple[ReadableSpan, ...]:
        """The spans in the order in which they ended."""
        return self.spans.get_finished_spans()

    def named(self, name: str) -> ReadableSpan:
        """The one span of this name."""
        (span,) = [span for span in self.all() if span.name == name]
        return span

    def tree(self) -> list[str]:
        """Each span behind the one that it hangs below."""
        by_id = {span.context.span_id: span for span in self.all() if span.context}

        def path(span: ReadableSpan) -> str:
            around = by_id.get(span.parent.span_id) if span.parent else None
            return f"{path(around)} > {span.name}" if around else span.name

        return sorted(map(path, self.all()))

    def metrics(self) -> dict[str, list[Any]]:
        """The points of each metric."""
        data = self.reader.get_metrics_data()
        return {
            one.name: list(one.data.data_points)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for one in scope.metrics
        }


@pytest.fixture
def seen() -> Seen:
    return Seen()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def clerk(seen: Seen, *lines: Any, **options: Any) -> Agent[Any]:
    script = lines or (ToolCall("look", {"q": "x"}), "Done.")
    given: dict[str, Any] = {"telemetry": seen.telemetry(), "tools": [look, pay, fail], **options}
    return Agent(name="clerk", chat_generator=ScriptedChatGenerator(*script), **given)


def drive(agent: Agent[Any], colour: str, **options: Any) -> None:
    if colour == "blocking":
        agent.run("Go", **options)
    else:
        asyncio.run(agent.run_async("Go", **options))


@pytest.mark.parametrize("colour", ["blocking", "asyncio"])
def test_a_run_is_a_tree_of_spans(seen: Seen, colour: str) -> None:
    """The agent, below it each model call and each tool, by the conventions' names and kinds."""
    drive(clerk(seen), colour, run_id="r1")

    assert seen.tree() == [
        "invoke_agent clerk",
        "invoke_agent clerk > chat",
        "invoke_agent clerk > chat",
        "invoke_agent clerk > execute_tool look",
    ]
    root, work = seen.named("invoke_agent clerk"), seen.named("execute_tool look")
    assert root.kind is SpanKind.INTERNAL
    assert attributes(root) | {
        names.OPERATION: "invoke_agent",
        names.AGENT_NAME: "clerk",
        names.CONVERSATION: "r1",
        names.RUN_ID: "r1",
        names.STATUS: "done",
        names.EXIT_REASON: "text",
        names.TURNS: 2,
    } == attributes(root)
    assert {span.kind for span in seen.all() if span.name == "chat"} == {SpanKind.CLIENT}
    assert attributes(work)[names.TOOL_CALL_ID] == "call_1_0"
    assert attributes(work)[names.TOOL_TYPE] == "function"
    assert not any(
        name.endswith((".messages", ".arguments", ".result", "instructions"))
        for span in seen.all()
        for name in attributes(span)
    )


def test_a_model_call_says_what_was_asked_of_whom_and_what_it_took(seen: Seen) -> None:
    """Provider and model, options, the answer's model, id, reason and tokens."""
    used = Usage(10, 5, 4, 3)
    extra: Any = {"id": "resp-1"}
    reply = ChatReply(ChatMessage.from_assistant("Hi"), "stop", used, "gpt-x", extra=extra)
    model = ScriptedChatGenerator(reply)
    model.model = "gpt"  # type: ignore[attr-defined]  # as those of providers have
    Agent(
        chat_generator=model, telemetry=seen.telemetry(), generation_kwargs={"temperature": 0.5}
    ).run("Hi")

    said = attributes(seen.named("chat gpt"))
    assert (
        said
        | {
            names.PROVIDER: "scripted",
            names.REQUEST_MODEL: "gpt",
            "gen_ai.request.temperature": 0.5,
            names.RESPONSE_MODEL: "gpt-x",
            names.RESPONSE_ID: "resp-1",
            names.FINISH_REASONS: ("stop",),
            names.INPUT_TOKENS: 10,
            names.OUTPUT_TOKENS: 5,
            names.CACHED_TOKENS: 4,
            names.REASONING_TOKENS: 3,
        }
        == said
    )
    assert attributes(seen.named("invoke_agent"))[names.INPUT_TOKENS] == 10


@pytest.mark.parametrize("colour", ["blocking", "asyncio"])
def test_an_agent_inside_hangs_below_its_tool(seen: Seen, colour: str) -> None:
    """Also two deep, and what a tool traces by itself hangs below the tool."""

    @tool
    def dig(q: str) -> str:
        """Dig."""
        with seen.tracers.get_tracer("a tool").start_as_current_span("dug"):
            return q

    deep = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("dig", {"q": "x"}), "deep"), tools=[dig]
    )
    digger = AgentTool(deep, name="digger", description="Digs.")
    inner = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("digger", {"task": "x"}), "inner"),
        tools=[digger],
    )
    helper = AgentTool(inner, name="helper", description="Helps.")

    drive(clerk(seen, ToolCall("helper", {"task": "t"}), "Done.", tools=[helper]), colour)

    below = "invoke_agent clerk > execute_tool helper > invoke_agent helper"
    deepest = f"{below} > execute_tool digger > invoke_agent digger"
    assert [line for line in seen.tree() if "chat" not in line] == [
        "invoke_agent clerk",
        "invoke_agent clerk > execute_tool helper",
        below,
        f"{below} > execute_tool digger",
        deepest,
        f"{deepest} > execute_tool dig",
        f"{deepest} > execute_tool dig > dug",
    ]
    assert [line for line in seen.tree() if line == f"{deepest} > chat"] == [
        f"{deepest} > chat"
    ] * 2


def test_a_stream_is_measured_as_well(seen: Seen) -> None:
    """Blocking and in an event loop, below what is current where it is begun."""

    async def streamed() -> None:
        async for _ in clerk(seen).stream_async("Go"):
            pass

    with seen.tracers.get_tracer("web").start_as_current_span("request"):
        for _ in clerk(seen).stream("Go"):
            pass
        asyncio.run(streamed())

    assert seen.tree().count("request > invoke_agent clerk > execute_tool look") == 2


def test_failures_have_a_type_and_tell_no_secret(seen: Seen) -> None:
    """A tool's, a model's, and that of the run."""
    broken = ChatGeneratorError(ModelFailure("server", "a secret of the server", status=500))
    agent = clerk(seen, ToolCall("fail"), broken, model_retries=0)

    with pytest.raises(ChatGeneratorError):
        agent.run("Go")

    kinds = [
        (span.name, attributes(span).get(names.ERROR_TYPE), span.status.status_code)
        for span in seen.all()
    ]
    assert kinds == [
        ("chat", None, StatusCode.UNSET),
        ("execute_tool fail", "OSError", StatusCode.ERROR),
        ("chat", "500", StatusCode.ERROR),
        ("invoke_agent clerk", "server", StatusCode.ERROR),
    ]
    assert "secret" not in "".join(span.to_json() for span in seen.all())


def test_an_answer_that_was_paid_for_and_not_taken_counts(seen: Seen) -> None:
    """On its span, and in the metrics; one that never came has no tokens, not 0 of them."""
    tracer, meters = seen.tracers.get_tracer("test"), Instruments(seen.meters.get_meter("test"))
    failure = ModelFailure("bad_response", "too large")
    for event in (ModelFailed(1, 1, failure, usage=Usage(10, 20, 5)), ModelFailed(1, 1, failure)):
        work = ModelWork(AskModel(1, 1, (), (), FrozenDict()), Model("m", "p"))
        with tracer.start_as_current_span("chat") as span:
            kind = work.record(span, event, None)
        work.measure(meters, 1.0, kind)

    paid, never_came = map(attributes, seen.all())
    found = paid[names.INPUT_TOKENS], paid[names.OUTPUT_TOKENS], paid[names.CACHED_TOKENS]
    assert found == (10, 20, 5)
    assert names.INPUT_TOKENS not in never_came
    points = seen.metrics()
    assert [one.value for one in points[names.INFERENCE_INPUT]] == [10]
    assert [one.value for one in points[names.INFERENCE_OUTPUT]] == [20]


@pytest.mark.parametrize("contents", [False, True])
def test_a_run_that_a_tool_has_ended_tells_no_text_of_it(seen: Seen, *, contents: bool) -> None:
    """Neither on spans nor with metrics, where each text would be one series more."""
    telemetry = seen.telemetry(contents=contents)
    options: Any = {"telemetry": telemetry, "raise_on_tool_invocation_failure": True}

    with pytest.raises(ToolInvocationError):
        clerk(seen, ToolCall("fail"), **options).run("Go")

    assert attributes(seen.named("invoke_agent clerk"))[names.ERROR_TYPE] == "OSError"
    points = [point.attributes for each in seen.metrics().values() for point in each]
    assert "OSError" in str(points)
    assert "secret" not in "".join(span.to_json() for span in seen.all()) + str(points)


@pytest.mark.parametrize("others", [(), (ToolCall("look", {"q": "x"}),)])
def test_an_agent_inside_without_an_answer_has_failed(
    seen: Seen, others: tuple[ToolCall, ...]
) -> None:
    """Whether it is the last whose answer the turn waits for or not."""
    broken = ChatGeneratorError(ModelFailure("server", "out of order"))
    inner = Agent(chat_generator=ScriptedChatGenerator(broken), model_retries=0)
    helper = AgentTool(inner, name="helper", description="Helps.")
    calls = (ToolCall("helper", {"task": "t"}), *others)
    clerk(seen, ChatMessage.from_assistant(tool_calls=calls), "Done.", tools=[helper, look]).run(
        "Go"
    )

    for name in ("execute_tool helper", "invoke_agent helper"):
        assert seen.named(name).status.status_code is StatusCode.ERROR
    assert seen.named("invoke_agent clerk").status.status_code is StatusCode.UNSET


def test_a_question_that_is_void_ends(seen: Seen) -> None:
    """As that of a run which is cancelled."""
    journal, rules = MemoryJournal(), {"pay": AlwaysAskPolicy()}
    options: Any = {"journal": journal, "confirmation_strategies": rules}
    agent = clerk(seen, ToolCall("pay", {"amount": 1}), **options)
    agent.run("Go", run_id="r", raise_at_break_point=False)
    seen.spans.clear()
    inbox = Inbox()
    inbox.put(CancelRequested("not needed"))
    agent.resume("r", inbox=inbox)

    assert attributes(seen.named("ask_human pay"))[names.DECISION] == "void"
    assert attributes(seen.named("invoke_agent clerk"))[names.EXIT_REASON] == "cancelled"


def test_a_task_that_is_cancelled_ends_its_spans(seen: Seen) -> None:
    """What is at work then has failed by that."""
    started = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    async def cancelled() -> None:
        agent = clerk(seen, ToolCall("wait"), tools=[wait])
        task = asyncio.create_task(agent.run_async("Go"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    kinds = {span.name: attributes(span).get(names.ERROR_TYPE) for span in seen.all()}
    assert kinds == {
        "chat": None,
        "execute_tool wait": "CancelledError",
        "invoke_agent clerk": "CancelledError",
    }


def test_calls_of_which_nobody_knows_what_came_are_counted_once(seen: Seen) -> None:
    """Where the question comes up, and not again by whoever takes the run up later."""

    @tool
    def bake(loaves: int) -> str:
        """Bake."""
        raise KeyboardInterrupt

    journal = MemoryJournal()
    call = ToolCall("bake", {"loaves": 2})
    with pytest.raises(KeyboardInterrupt):
        clerk(seen, call, tools=[bake], journal=journal).run("Go", run_id="r")
    again = clerk(seen, "Done.", tools=[bake], journal=journal)
    for _ in range(2):
        again.resume("r")

    (point,) = seen.metrics()[names.UNKNOWN_OUTCOMES]
    assert (point.value, dict(point.attributes)) == (1, {names.TOOL_NAME: "bake"})
    asked = [attributes(span) for span in seen.all() if span.name == "ask_human bake"]
    assert [each[names.OUTCOME_UNKNOWN] for each in asked] == [True, True]


def test_a_human_who_is_asked_here_is_waited_for(seen: Seen) -> None:
    """The wait is a span of its own, with what was decided, and is counted."""
    rules = {"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), ScriptedHuman(Confirmed()))}
    clerk(seen, ToolCall("pay", {"amount": 1}), "Paid.", confirmation_strategies=rules).run("Go")

    wait, work = seen.named("ask_human pay"), seen.named("execute_tool pay")
    assert attributes(wait)[names.DECISION] == "confirmed"
    assert wait.end_time is not None
    assert work.start_time is not None
    assert wait.end_time <= work.start_time
    (point,) = seen.metrics()[names.HUMAN_DURATION]
    assert point.count == 1
    assert dict(point.attributes) == {names.TOOL_NAME: "pay"}


PROCESS = """
import os, sys
from detent import Agent, AlwaysAskPolicy, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
from detent.telemetry import OpenTelemetry
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

what, store, url = sys.argv[1:]
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(url)))
trace.set_tracer_provider(provider)

@tool(on_unknown="rerun")
def pay(amount: int) -> str:
    '''Pay.'''
    if what == "begin":
        os._exit(9)
    return "paid"

agent = Agent(
    name="clerk",
    chat_generator=ScriptedChatGenerator(ToolCall("pay", {"amount": 5}), "Done."),
    tools=[pay],
    journal=SQLiteJournal(store),
    telemetry=OpenTelemetry(),
)
if what == "begin":
    agent.run("Pay", run_id="r1", thread_id="T1")
agent.resume("r1", take_over=True)
"""


def test_a_run_that_was_killed_goes_on_in_a_linked_trace(serve: Any, tmp_path: Path) -> None:
    """By a real exporter to a server which reads what the protocol says, from two processes."""
    got = list[Any]()

    def play(handler: BaseHTTPRequestHandler) -> None:
        request = ExportTraceServiceRequest.FromString(vars(handler)["body"])
        got.extend(
            span
            for one in request.resource_spans
            for scope in one.scope_spans
            for span in scope.spans
        )
        handler.send_response(200)
        handler.send_header("content-length", "0")
        handler.end_headers()

    url, store = serve(play), str(tmp_path / "runs.db")
    for what, code in (("begin", 9), ("resume", 0)):
        done = subprocess.run([sys.executable, "-c", PROCESS, what, store, url], check=False)
        assert done.returncode == code

    (asked,) = [span for span in got if span.name == "chat" and span.trace_id == got[0].trace_id]
    root = next(span for span in got if span.name == "invoke_agent clerk")
    (link,) = root.links
    assert link.trace_id == asked.trace_id != root.trace_id
    assert link.span_id == asked.parent_span_id  # the span itself has died with its process
    said = [one.value.string_value for one in root.attributes if one.key == names.CONVERSATION]
    assert said == ["T1"]
    assert {span.name for span in got} == {"chat", "execute_tool pay", "invoke_agent clerk"}


def test_waiting_over_night_is_a_span_in_each_leg_and_no_error(seen: Seen) -> None:
    """What was decided while no process drove the run is told, with its times, by the next."""
    journal, clock = MemoryJournal(), JumpingClock()
    options: Any = {
        "journal": journal,
        "clock": clock,
        "confirmation_strategies": {"pay": AlwaysAskPolicy()},
    }

    asked_at = clock.now()
    first_process = clerk(seen, ToolCall("pay", {"amount": 1}), **options)
    first_process.run("Go", run_id="r1", raise_at_break_point=False)
    clock.wait(asked_at + 3600, threading.Event())
    again = clerk(seen, "Not paid.", **options)
    again.decide("r1", again.pending("r1")[0].reject("no", by="Ada"))
    again.resume("r1")

    first, later = [span for span in seen.all() if span.name == "invoke_agent clerk"]
    assert attributes(first)[names.STATUS] == "waiting"
    assert {first.status.status_code, later.status.status_code} == {StatusCode.UNSET}
    assert first.context is not None
    assert [link.context.span_id for link in later.links] == [first.context.span_id]
    open_still, over = [span for span in seen.all() if span.name == "ask_human pay"]
    assert attributes(open_still)[names.STATUS] == "waiting"
    assert attributes(over)[names.DECISION] == "rejected"
    assert over.start_time is not None
    assert over.end_time is not None
    assert over.end_time - over.start_time == pytest.approx(3600e9, rel=0.01)
    assert "Ada" not in "".join(span.to_json() for span in seen.all())


def test_a_breakpoint_is_no_error(seen: Seen) -> None:
    """Nor is a human whom nobody here can ask, where that raises."""
    agent = clerk(
        seen,
        ToolCall("pay", {"amount": 1}),
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )

    with pytest.raises(HITLBreakpointException):
        agent.run("Go")

    assert seen.named("invoke_agent clerk").status.status_code is StatusCode.UNSET


def test_contents_are_there_if_asked_for_and_redacted(seen: Seen) -> None:
    """Secret parameters are masked; what the journal takes out, and what is told to, is out."""

    def no_cards(text: str) -> str:
        return text.replace("4711", "[card]")

    agent = clerk(
        seen,
        ToolCall("pay", {"amount": 5, "pin": "hush-hush"}),
        "Paid from 4711.",
        journal=RedactedJournal(MemoryJournal(), no_cards),
        telemetry=seen.telemetry(contents=True, redact=lambda text: text.replace("Bob", "[name]")),
        system_prompt="You pay.",
    )
    agent.run("Pay Bob from 4711")

    told = "".join(span.to_json() for span in seen.all())
    assert [word for word in ("4711", "Bob", "hush-hush") if word in told] == []
    work = attributes(seen.named("execute_tool pay"))
    assert json.loads(work[names.TOOL_ARGUMENTS])["amount"] == 5
    assert work[names.TOOL_RESULT] == "paid 5 with <pin>"
    last = attributes([span for span in seen.all() if span.name == "chat"][-1])
    assert json.loads(last[names.SYSTEM_INSTRUCTIONS]) == [{"type": "text", "content": "You pay."}]
    assert [one["role"] for one in json.loads(last[names.INPUT_MESSAGES])] == [
        "user",
        "assistant",
        "tool",
    ]
    assert json.loads(last[names.OUTPUT_MESSAGES])[0]["parts"] == [
        {"type": "text", "content": "Paid from [card]."}
    ]


def test_contents_of_every_kind(seen: Seen) -> None:
    """Reasoning, images, files and citations, in what is said and in what tools give."""

    @tool
    def draw() -> list[Any]:
        """Draw."""
        return [TextContent("a picture"), ImageContent("aGk=")]

    files: Any = [FileContent("aGk=", "application/pdf"), "Draw this."]
    thought = ChatMessage.from_assistant(tool_calls=[ToolCall("draw")], reasoning="hm")
    source = ChatMessage(ChatRole.ASSISTANT, (TextContent("Here."), Citation("https://x.example")))
    agent = clerk(seen, thought, source, tools=[draw], telemetry=seen.telemetry(contents=True))
    agent.run([ChatMessage.from_user(content_parts=files)])

    last = attributes([span for span in seen.all() if span.name == "chat"][-1])
    asked, called, given = json.loads(last[names.INPUT_MESSAGES])
    assert [part["type"] for part in asked["parts"]] == ["blob", "text"]
    assert called["parts"][0] == {"type": "reasoning", "content": "hm"}
    assert [one["type"] for one in given["parts"][0]["response"]] == ["text", "blob"]
    assert json.loads(last[names.OUTPUT_MESSAGES])[0]["parts"][1] == {
        "type": "citation",
        "url": "https://x.example",
        "title": None,
    }
    assert "aGk=" not in "".join(span.to_json() for span in seen.all())


@pytest.mark.parametrize(
    ("value", "has_contents"),
    [("SPAN_ONLY", True), ("span_and_event", True), ("EVENT_ONLY", False), ("NO_CONTENT", False)],
)
def test_the_environment_asks_for_contents(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, value: str, *, has_contents: bool
) -> None:
    """By the name that the conventions have for it; what the program says counts more."""
    monkeypatch.setenv(names.CAPTURE, value)

    clerk(seen, "Hi").run("Hello")
    clerk(seen, "Hi", telemetry=seen.telemetry(contents=False)).run("Hello")

    asked, silent = [span for span in seen.all() if span.name == "chat"]
    assert (names.INPUT_MESSAGES in attributes(asked)) is has_contents
    assert names.INPUT_MESSAGES not in attributes(silent)


def test_what_is_counted(seen: Seen) -> None:
    """The conventions' metrics, by their names of now and of before."""
    first = ChatReply(
        ChatMessage.from_assistant(tool_calls=[ToolCall("look", {"q": "x"})]), usage=Usage(7, 3)
    )
    clerk(seen, first, ChatReply(ChatMessage.from_assistant("Done."), usage=Usage(10, 2))).run("Go")

    found = seen.metrics()
    assert found.keys() == {
        *(names.AGENT_DURATION, names.AGENT_INFERENCES, names.AGENT_TOOL_CALLS),
        *(names.TOOL_DURATION, names.INFERENCE_DURATION, names.FORMER_DURATION),
        *(names.INFERENCE_INPUT, names.INFERENCE_OUTPUT, names.FORMER_TOKENS),
    }
    assert [point.sum for point in found[names.AGENT_INFERENCES]] == [2]
    assert [point.sum for point in found[names.AGENT_TOOL_CALLS]] == [1]
    assert sum(point.value for point in found[names.INFERENCE_INPUT]) == 17
    assert sum(point.value for point in found[names.INFERENCE_OUTPUT]) == 5
    assert sum(point.count for point in found[names.INFERENCE_DURATION]) == 2
    assert {
        point.attributes[names.TOKEN_TYPE]: point.sum for point in found[names.FORMER_TOKENS]
    } == {"input": 17, "output": 5}


def test_what_is_not_sampled_goes_on_all_the_same() -> None:
    """The SDK says so; the run, its resume and the metrics do not mind."""
    seen = Seen(sampler=ALWAYS_OFF)
    journal = MemoryJournal()
    rules = {"pay": AlwaysAskPolicy()}
    agent = clerk(
        seen,
        ToolCall("pay", {"amount": 1}),
        "Paid.",
        journal=journal,
        confirmation_strategies=rules,
    )
    agent.run("Go", run_id="r", raise_at_break_point=False)
    agent.decide("r", agent.pending("r")[0].confirm())

    assert agent.resume("r").text == "Paid."
    assert seen.all() == ()
    assert sum(point.count for point in seen.metrics()[names.AGENT_DURATION]) == 2


def test_without_an_sdk_nothing_is_measured_and_nothing_marked() -> None:
    """A program that sets none up pays for no span, and a run's nonce is as ever."""
    leg = OpenTelemetry().begin(Drive("a", "r", "r"))

    assert leg.mark == ""


def test_a_nonce_that_only_looks_like_a_mark_is_no_link(seen: Seen) -> None:
    """What is stored may be anything."""
    leg = seen.telemetry().begin(Drive("a", "r", "r", nonce="x.00-zz-yy-01"))
    leg.end(None)

    assert seen.named("invoke_agent a").links == ()


def test_telemetry_without_the_library_says_what_to_install() -> None:
    """One error, which names the extra."""
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from detent.telemetry import OpenTelemetry\nOpenTelemetry()"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "pip install 'detent[otel]'" in done.stderr.splitlines()[-1]
