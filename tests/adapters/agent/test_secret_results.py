"""What a tool quotes of a secret that its call does not name: the model reads it, no human does."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Annotated, Any

import pytest
from attrs import evolve
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rich.pretty import pretty_repr

from detent import (
    Agent,
    FileContent,
    Hook,
    ImageContent,
    MemoryJournal,
    Replaced,
    ScriptedChatGenerator,
    SecretParameter,
    StreamingChunk,
    TextContent,
    ToolCall,
    ToolCallResult,
    TypedState,
    after_tool,
    before_tool,
    tool,
)
from detent.approvals import audit_log
from detent.core.chat.messages import ResultPart
from detent.faces import agui_app, openai_app
from detent.machine import Event, Run, RunTool, ToolRaised, ToolResult, ToolReturned, Write
from detent.telemetry import OpenTelemetry
from detent.testing import transcript
from detent.web import web_app
from tests.adapters.faces.peers import PEOPLE, hosting, peer

SECRETS = {
    "a default": "D3faultPin99",
    "from the state": "St4tePin8877",
    "put in by a hook": "H00kPin66555",
    "quoted by a hook": "Qu0tedPin4433",
}
PLACES = (*SECRETS, "answered by a hook")
QUOTED = "welcome at x?session=<pin>"
"""What people see of it."""


class FromState(TypedState):
    """What the state holds from the beginning."""

    token = Replaced(SECRETS["from the state"])


def swap(effect: RunTool, _run: Run[Any]) -> RunTool:
    """Another pin than the model has said, which no human is asked about."""
    arguments = {**effect.call.arguments, "pin": SECRETS["put in by a hook"]}
    return evolve(effect, call=evolve(effect.call, arguments=arguments))


def requote(effect: RunTool, answer: ToolReturned | ToolRaised, _run: Run[Any]) -> ToolReturned:
    """Another result than that of the tool."""
    assert isinstance(answer, ToolReturned)
    quoted = evolve(answer.result, content=f"welcome at x?session={effect.call.arguments['pin']}")
    return evolve(answer, result=quoted)


def stand_in(effect: RunTool, _run: Run[Any]) -> ToolReturned:
    """An answer in the tool's place."""
    text = f"welcome at x?session={effect.state.read('token')}"
    return ToolReturned(effect.ref, effect.attempt, ToolResult(text))


def secret_of(place: str) -> str:
    """What its tool quotes."""
    return SECRETS["from the state" if place == "answered by a hook" else place]


def files(text: str) -> list[ResultPart]:
    """All that a file and an image can say: in what they hold, and in what goes along."""
    about = {"from": [{text: text}, 4711]}
    return [
        FileContent(base64(text), "text/plain"),
        ImageContent(base64(text)),
        FileContent(base64("x"), "text/plain", filename=text, extra=about),
        ImageContent(base64("x"), detail=text, meta=about),
    ]


def base64(text: str) -> str:
    """As a part holds it."""
    return b64encode(text.encode()).decode()


def talker(place: str, *, parts: bool = False, **options: Any) -> Agent[FromState]:
    """An agent whose tool says the secret again."""
    from_state = place in ("from the state", "answered by a hook")

    @tool(
        inputs_from_state={"token": "pin"} if from_state else {},
        outputs_to_string={"raw_result": True},
    )
    def login(site: str, pin: Annotated[str, SecretParameter] = SECRETS["a default"]) -> Any:
        """Log in."""
        text = "in." if place == "quoted by a hook" else f"welcome at {site}?session={pin}"
        return [TextContent("In."), TextContent(text), *files(text)] if parts else text

    hooks: dict[str, list[Hook]] = {
        "put in by a hook": [before_tool(swap)],
        "quoted by a hook": [after_tool(requote)],
        "answered by a hook": [before_tool(stand_in)],
    }
    by_model = (
        {"site": "x", "pin": SECRETS[place]} if place == "quoted by a hook" else {"site": "x"}
    )
    lines: list[ToolCall | str] = [ToolCall("login", by_model, "c1"), "Done."]
    return Agent(
        chat_generator=ScriptedChatGenerator(*lines * 3),
        tools=[login],
        hooks=hooks.get(place),
        state_schema=FromState,
        name="clerk",
        **options,
    )


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_the_model_reads_it_and_no_human_does(place: str, *, parts: bool) -> None:
    """In the pieces of a stream, in the audit log, and in what telemetry exports."""
    spans, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    telemetry = OpenTelemetry(tracer_provider=tracers, contents=True)
    pieces: list[StreamingChunk] = []
    journal = MemoryJournal()
    agent = talker(place, parts=parts, journal=journal, telemetry=telemetry)

    result = agent.run("Go.", pieces.append, run_id="r")

    (read,) = [part for message in result.messages for part in message.tool_call_results]
    assert f"welcome at x?session={secret_of(place)}" in read.text
    told = [piece.tool_call_result for piece in pieces if piece.tool_call_result]
    exported = "".join(span.to_json() for span in spans.get_finished_spans())
    log = audit_log(journal, agent.spec, "r")
    assert [QUOTED in part.text for part in told] == [True]
    assert "session=<pin>" in exported
    assert secret_of(place) not in repr((told, exported, log))


@pytest.mark.parametrize(
    ("place", "parts"), [*((place, False) for place in PLACES), ("a default", True)]
)
def test_no_face_shows_it_and_no_page(place: str, *, parts: bool) -> None:
    """As it comes, to whoever comes back, as a story, and as the data of entries."""

    async def told(base: Any) -> dict[str, str]:
        said = {"role": "user", "content": "Go."}
        body: dict[str, Any] = {"threadId": "t", "tools": [], "context": [], "forwardedProps": {}}
        body |= {"runId": "1", "messages": [said | {"id": "1"}], "state": {}}
        async with hosting(MemoryJournal(), clerk=base) as host, asyncio.timeout(30):
            await host.start("clerk", "Go.", run_id="r")
            await host.result("r")
            async with peer(agui_app(host, sign_in=PEOPLE)) as client:
                agui = [(await client.post("/clerk", json=body)).text for _ in range(2)]
            async with peer(openai_app(host, sign_in=PEOPLE)) as client:
                asked = {"model": "clerk", "input": [said]}
                openai = (await client.post("/v1/responses", json=asked)).text
            async with peer(web_app(host)) as client:
                paths = ("/run/r", "/api/run/r", "/api/entries/r")
                web = [(await client.get(path)).raise_for_status().text for path in paths]
        return {"AG-UI": "".join(agui), "OpenAI": openai, "pages": "".join(web)}

    texts = asyncio.run(told(talker(place, parts=parts)))
    assert all(
        "session=<pin>" in texts[name] or "session=&lt;pin&gt;" in texts[name]
        for name in ("AG-UI", "pages")
    )
    assert [name for name, text in texts.items() if secret_of(place) in text] == []
    if parts:
        held = base64(f"welcome at x?session={secret_of(place)}").rstrip("=")
        assert held not in "".join(texts.values())
        assert "(withheld: a file that may say &lt;pin&gt;)" in texts["pages"]


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_prints_shows_it(place: str, *, parts: bool) -> None:
    """What has happened, the messages, and what is read of a failed test."""
    events: list[Event] = []
    agent = talker(place, parts=parts, observers=[lambda _old, event, _new: events.append(event)])

    result = agent.run("Go.")

    returned = [event for event in events if isinstance(event, ToolReturned)]
    (told,) = [part for message in result.messages for part in message.tool_call_results]
    for value in (returned, told, result.messages):
        printed = f"{value!r} {pretty_repr(value, max_length=None, max_depth=None)}"
        assert "display=" in printed
        assert secret_of(place) not in printed
    assert QUOTED in transcript(result)
    assert secret_of(place) not in transcript(result) + transcript(result.messages)


def test_what_people_may_see_prints_as_it_is() -> None:
    """Every field, by its name."""
    assert repr(ToolResult("in")) == "ToolResult(content='in', writes=(), warnings=())"
    quoted = ToolResult("in by 77", writes=(Write("pin", "77"),), display="in by <pin>")
    assert repr(quoted) == "ToolResult(display='in by <pin>', writes='********', warnings=())"
    told = ToolCallResult("in", ToolCall("login"), error=True)
    assert repr(told) == f"ToolCallResult(result='in', origin={told.origin!r}, error=True)"
