"""Streamed arguments: no piece shows what is secret, in whatever order the pieces come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from threading import get_ident
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    Limits,
    MemoryJournal,
    ScriptedChatGenerator,
    SecretParameter,
    StreamingChunk,
    ToolCall,
    print_streaming_chunk,
    tool,
)
from detent.adapters.drivers.callbacks import SecretFilter
from detent.core.tools.masking import MASK
from detent.models import (
    ChatReply,
    OpenAIChatGenerator,
    OpenAIResponsesChatGenerator,
    ToolCallDelta,
)
from tests.adapters.faces.peers import hosting
from tests.adapters.providers.http.wires import Wire

PIN = "S3CRETpin99"
FIRST, SECOND = '{"site": "x", ', f'"pin": "{PIN}"}}'
MASKED = json.dumps({"site": "x", "pin": MASK})
OTHER = '{"x": "1"}'
SECRETS = {"login": frozenset({"pin"}), "look": frozenset[str](), "*": frozenset({"pin"})}
"""As an agent has them: what is no tool may be a tool's misspelled name."""


def piece(
    index: int, arguments: str = "", name: str | None = None, call_id: str | None = None
) -> StreamingChunk:
    """One of a call."""
    return StreamingChunk(tool_calls=(ToolCallDelta(index, name, arguments, call_id),))


TEXT = StreamingChunk(content="hm ")
END = StreamingChunk(finish_reason="tool_calls")
TAKEN_BACK = StreamingChunk(finish_reason="discarded")
IN_TURNS = [
    piece(0, name="login"), piece(0, FIRST), piece(1, name="look"), piece(0, SECOND),
    piece(1, OTHER),
]  # fmt: skip
AROUND_A_TEXT = [piece(0, name="login"), piece(0, FIRST), TEXT, piece(0, SECOND)]
BEFORE_THE_NAME = [piece(0, FIRST), piece(0, SECOND, "login")]


def shown(chunks: Iterable[StreamingChunk]) -> list[StreamingChunk]:
    """What people see of the pieces."""
    veil = SecretFilter(SECRETS)
    return [one for chunk in chunks for one in veil(chunk)]


def joined(chunks: Iterable[StreamingChunk]) -> dict[int, str]:
    """The arguments of each call, put together."""
    texts: dict[int, str] = {}
    for delta in (delta for chunk in chunks for delta in chunk.tool_calls):
        texts[delta.index] = texts.get(delta.index, "") + delta.arguments
    return texts


@pytest.mark.parametrize(
    ("chunks", "told"),
    [
        (IN_TURNS, {0: MASKED, 1: OTHER}),
        (AROUND_A_TEXT, {0: MASKED}),
        (BEFORE_THE_NAME, {0: MASKED}),
        ([piece(0, FIRST), piece(0, SECOND)], {0: MASKED}),
        ([piece(0, '{"x": '), piece(0, '"1', "look"), piece(0, '"}')], {0: OTHER}),
        ([piece(0, FIRST + SECOND, "login"), TEXT, piece(0, SECOND)], {0: MASKED}),
        ([piece(0, f"{FIRST}}}", "login"), TEXT, piece(0, SECOND)], {0: MASK}),
        ([piece(0, name="login"), piece(1, OTHER, "look")], {0: "{}", 1: OTHER}),
        ([piece(0, FIRST, "login", "1"), piece(0, OTHER, "look", "2")], {0: MASK + OTHER}),
        ([piece(0, FIRST, "login"), TAKEN_BACK, piece(0, OTHER, "look")], {0: OTHER}),
        ([piece(0, name=""), piece(0, FIRST), piece(0, SECOND, "login")], {0: MASKED}),
    ],
    ids=[
        "two calls in turns", "around a text", "before the name", "without a name", "late name",
        "more than all", "an end that is none", "nothing", "another one", "anew", "empty name",
    ],
)  # fmt: skip
def test_a_call_is_one_until_its_message_ends(
    chunks: list[StreamingChunk], told: dict[int, str]
) -> None:
    """Whatever comes between its pieces."""
    pieces = shown([*chunks, END])

    assert joined(pieces) == told
    assert PIN not in repr(pieces)
    assert pieces[-1] is END


def test_the_last_pieces_may_come_with_the_end() -> None:
    """The masked arguments stand behind the name, and before the end."""
    last = StreamingChunk(
        tool_calls=(ToolCallDelta(0, "login", FIRST + SECOND),), finish_reason="tool_calls"
    )
    pieces = shown([last])

    assert [one.tool_calls for one in pieces] == [
        (ToolCallDelta(0, "login"),), (ToolCallDelta(0, arguments=MASKED),), ()
    ]  # fmt: skip
    assert [one.finish_reason for one in pieces] == [None, None, "tool_calls"]


def test_calls_without_secrets_are_the_very_pieces() -> None:
    """No piece of theirs waits for a call that has some, or is another one than it was."""
    mine = [piece(1, name="look"), TEXT, piece(1, '{"x": '), piece(1, '"1"}')]
    pieces = shown([piece(0, FIRST, "login"), *mine])

    assert all(one is other for one, other in zip(pieces[1:], mine, strict=True))


@st.composite
def calls_in_pieces(draw: st.DrawFn) -> tuple[list[StreamingChunk], dict[int, str]]:
    """The pieces of some calls, anyhow cut and mixed, and what may be shown of each call."""
    ahead: list[list[StreamingChunk]] = []
    told: dict[int, str] = {}
    sites = st.text(st.characters(codec="utf-8"), max_size=12)
    for index in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(["login", "look", "logim"]))
        arguments: dict[str, Any] = {"site": draw(sites), "{pin}": draw(sites)}
        arguments |= (
            {} if name == "look" else {"pin": draw(st.sampled_from([PIN, [PIN], {"a": PIN}]))}
        )
        text = json.dumps(arguments, ensure_ascii=False)
        told[index] = (
            text if name == "look" else json.dumps(arguments | {"pin": MASK}, ensure_ascii=False)
        )
        places = st.lists(st.integers(0, len(text)), max_size=6)
        cuts = [0, *sorted(draw(places)), len(text)]
        parts = [text[start:end] for start, end in pairwise(cuts)]
        named = draw(st.integers(0, len(parts) - 1))
        ahead.append(
            [
                piece(index, part, name if place == named else None)
                for place, part in enumerate(parts)
            ]
        )
    others = [TEXT, StreamingChunk(reasoning="thinks"), StreamingChunk(server_tool="search")]
    ahead.append(draw(st.lists(st.sampled_from(others), max_size=6)))
    chunks: list[StreamingChunk] = []
    while ahead := [queue for queue in ahead if queue]:
        chunks.append(draw(st.sampled_from(ahead)).pop(0))
    return chunks, told


@given(calls_in_pieces(), st.integers(0, 40))
def test_no_mixture_and_no_cut_shows_a_secret(
    made: tuple[list[StreamingChunk], dict[int, str]], broken: int
) -> None:
    """A call with secrets is masked as a whole; of one without, all is told as it was.

    What an answer has told before it was taken back changes nothing.
    """
    chunks, told = made
    veil = SecretFilter(SECRETS)
    before = [one for chunk in (*chunks[:broken], TAKEN_BACK) for one in veil(chunk)]
    pieces = [one for chunk in (*chunks, END) for one in veil(chunk)]

    assert joined(pieces) == told
    for one in (*before, *pieces):
        assert PIN not in repr(one)
    for index, text in joined(before).items():
        assert told[index].startswith(text)
    assert [one for one in pieces if not one.tool_calls] == [
        one for one in (*chunks, END) if not one.tool_calls
    ]


@tool
def login(site: str, pin: Annotated[str, SecretParameter]) -> str:
    """Log in."""
    return "in"


@tool
def look(x: str) -> str:
    """Look."""
    return "seen"


class Mixing:
    """A model whose two calls come in turns."""

    def run(
        self, messages: Sequence[ChatMessage], streaming_callback: Any = None, **options: object
    ) -> ChatReply:
        """Call both, and be done."""
        if messages[-1].tool_call_results:
            return ChatReply(ChatMessage.from_assistant("Done."))
        for chunk in (*IN_TURNS, END) if streaming_callback else ():
            streaming_callback(chunk)
        calls = [
            ToolCall("login", {"site": "x", "pin": PIN}, "c1"),
            ToolCall("look", {"x": "1"}, "c2"),
        ]
        return ChatReply(ChatMessage.from_assistant(tool_calls=calls))


def mixing() -> Agent[Any]:
    """Its agent."""
    return Agent(chat_generator=Mixing(), tools=[login, look])


def test_nothing_on_a_terminal_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    """As it comes."""
    mixing().run("go", print_streaming_chunk)

    printed = capsys.readouterr().out
    assert MASKED in printed
    assert PIN not in printed


def test_nor_any_piece_of_an_agent_inside() -> None:
    """It has secrets of its own."""
    pieces: list[StreamingChunk] = []
    inner = AgentTool(mixing(), name="clerk", description="Does it.")
    model = ScriptedChatGenerator(ToolCall("clerk", {"task": "go"}, "c"), "Done.")
    Agent(chat_generator=model, tools=[inner]).run("go", pieces.append)

    assert any(one.agents for one in pieces)
    assert PIN not in repr(pieces)


def test_nor_any_piece_at_a_host() -> None:
    """To whoever watches."""

    async def watch() -> list[Any]:
        async with hosting(MemoryJournal(), clerk=mixing()) as host, asyncio.timeout(30):
            await host.start("clerk", "go", run_id="r")
            return [one async for one in host.watch("r")]

    pieces = [one for one in asyncio.run(watch()) if type(one).__name__ == "Piece"]
    assert PIN not in repr(pieces)


class Watched(str):
    """A text that knows which thread has looked into it."""

    __slots__ = ()
    seen: ClassVar[list[int]] = []

    def __getitem__(self, part: Any, /) -> str:
        """As a text does."""
        self.seen.append(get_ident())
        return super().__getitem__(part)


@tool
async def enter(pins: Annotated[list[str], SecretParameter]) -> str:
    """Log in."""
    return Watched("in")


@pytest.mark.parametrize(("count", "is_in_loop"), [(1, True), (200, False)], ids=["few", "many"])
def test_many_secrets_are_looked_for_in_results_in_a_thread(
    count: int, *, is_in_loop: bool
) -> None:
    """What is told is told in the event loop, for which a few are nothing."""
    Watched.seen.clear()
    pieces: list[tuple[StreamingChunk, int]] = []
    pins = [f"{PIN}-{n}" for n in range(count)]
    model = ScriptedChatGenerator(ToolCall("enter", {"pins": pins}, "c"), "Done.")
    agent = Agent(chat_generator=model, tools=[enter])
    asyncio.run(agent.run_async("go", lambda chunk: pieces.append((chunk, get_ident()))))

    assert [one.tool_call_result.text for one, _ in pieces if one.tool_call_result] == ["in"]
    assert {thread for _, thread in pieces} == {get_ident()}
    assert (get_ident() in Watched.seen) is is_in_loop
    assert {*Watched.seen} - {get_ident()}  # when the result was made


def chat_stream() -> str:
    """Two calls in turns, as Chat Completions."""

    def told(arguments: str, index: int, name: str | None = None) -> dict[str, Any]:
        begun = {} if name is None else {"id": f"c{index}", "type": "function"}
        function = {"arguments": arguments} | ({"name": name} if name else {})
        piece: dict[str, Any] = {"index": index, "function": function, **begun}
        return {"tool_calls": [piece]}

    deltas = [told("", 0, "login"), told(FIRST, 0), told("", 1, "look"), told(SECOND, 0),
              told(OTHER, 1)]  # fmt: skip
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    lines = [json.dumps({"choices": [choice]}) for choice in choices]
    return "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]"))


def responses_stream() -> str:
    """The same as the Responses API."""
    calls = [
        {"type": "function_call", "id": f"f{place}", "call_id": f"c{place}", "name": name,
         "arguments": arguments, "status": "completed"}
        for place, (name, arguments) in enumerate([("login", FIRST + SECOND), ("look", OTHER)])
    ]  # fmt: skip
    delta = "response.function_call_arguments.delta"

    def begun(place: int) -> dict[str, Any]:
        item = calls[place] | {"arguments": ""}
        return {"type": "response.output_item.added", "output_index": place, "item": item}

    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        begun(0),
        {"type": delta, "output_index": 0, "item_id": "f0", "delta": FIRST},
        begun(1),
        {"type": delta, "output_index": 0, "item_id": "f0", "delta": SECOND},
        {"type": delta, "output_index": 1, "item_id": "f1", "delta": OTHER},
        *({"type": "response.output_item.done", "output_index": place, "item": call}
          for place, call in enumerate(calls)),
        {"type": "response.completed", "response": {
            "id": "r", "status": "completed", "model": "m", "output": calls}},
    ]  # fmt: skip
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)


@pytest.mark.parametrize(
    ("generator", "stream"),
    [(OpenAIChatGenerator, chat_stream), (OpenAIResponsesChatGenerator, responses_stream)],
    ids=["chat", "responses"],
)
def test_nor_any_of_a_server_that_mixes_its_calls(generator: Any, stream: Any) -> None:
    """As parallel calls may come."""
    pieces: list[StreamingChunk] = []
    with Wire(stream()).client() as client:
        model = generator("m", api_key="k", http_client=client)
        limits = Limits(max_agent_steps=1)
        Agent(chat_generator=model, tools=[login, look], limits=limits).run("go", pieces.append)

    assert joined(pieces) == {0: MASKED, 1: OTHER}
    assert PIN not in repr(pieces)
