"""What takes as many values as a model, a tool, a server or a human likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

from attrs import evolve
from pydantic import BaseModel

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    Limits,
    MemoryJournal,
    ScriptedChatGenerator,
    State,
    ToolCall,
    diff,
    tool,
)
from detent.adapters.drivers.callbacks import SecretFilter
from detent.adapters.faces.following import Spoken
from detent.adapters.faces.openai_texts import Answer as Told
from detent.adapters.providers.anthropic.decode import MessageFold
from detent.adapters.providers.bedrock.decode import ConverseFold
from detent.adapters.providers.cohere.decode import ChatFold as CohereFold
from detent.adapters.providers.gemini.decode import GenerateFold
from detent.adapters.providers.http.answers import Fold
from detent.adapters.providers.local.decode import ReplyReader
from detent.adapters.providers.local.encode import Form
from detent.adapters.providers.ollama.decode import ChatFold as OllamaFold
from detent.adapters.providers.openai.decode import ChatFold
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.core.chat.replies import ChatReply
from detent.core.codec.whole_forms import whole_form
from detent.core.machine.delegation import ANSWER, PARAMETERS
from detent.core.machine.opening import with_call_ids
from detent.core.run.effects import Policy
from detent.core.run.run import with_slots
from detent.core.run.spec import Delegate
from detent.core.schema.conversion import convert
from detent.core.schema.filling import Filling
from detent.core.schema.json_values import Codes
from detent.core.schema.validation import Validator
from detent.core.state.handlers import append_unique, merge_dicts, unite_sets
from detent.core.state.stored import messages_from_json
from detent.core.tools.invocation import argument_faults
from detent.core.tools.masking import SecretParameter
from detent.core.tools.redaction import redact
from detent.core.tools.tool import by_name
from detent.core.values.frozen import FrozenDict, freeze, thaw
from detent.machine import AgentSpec, Delegated, ModelReplied, Run, due, start, step
from detent.models import StreamingChunk, ToolCallDelta


class Found(BaseModel):
    """What a tool gives that says it with pydantic: it has no hash."""

    name: str
    parts: list[int]


Work: TypeAlias = Callable[[], object]
Events: TypeAlias = Callable[[int, int], Mapping[str, Any]]
"""The event at a place among so many."""

EACH = 50
"""About how many characters an item takes."""


def _folded(make: Callable[[], Fold], event: Events) -> Callable[[int], Work]:
    """A provider's answer of as many events."""

    def ready(size: int) -> Work:
        count = max(size // EACH, 1)
        events = [event(place, count) for place in range(count)]

        def fold() -> None:
            reading = make()
            for one in events:
                reading.add(one)
            reading.finish(ended=True)

        return fold

    return ready


def _openai(delta: Callable[[int], Mapping[str, Any]]) -> Callable[[int], Work]:
    def event(place: int, count: int) -> Mapping[str, Any]:
        end = {"finish_reason": "stop"} if place == count - 1 else {}
        return {"choices": [{"delta": delta(place), **end}]}

    return _folded(ChatFold, event)


def _gemini(part: Callable[[int], Mapping[str, Any]], **beside: Any) -> Callable[[int], Work]:
    def event(place: int, count: int) -> Mapping[str, Any]:
        end = {"finishReason": "STOP", **beside} if place == count - 1 else {}
        return {"candidates": [{"content": {"parts": [part(place)]}, **end}]}

    return _folded(GenerateFold, event)


def _grounded(size: int) -> Work:
    """A text of Gemini's with a source for each few characters."""
    count = size // EACH
    supports = [
        {"segment": {"startIndex": at, "endIndex": at + EACH}, "groundingChunkIndices": [0]}
        for at in range(0, size, EACH)
    ]
    grounding = {"groundingChunks": [{"web": {"uri": "u"}}], "groundingSupports": supports}
    parts = [{"text": "é" * (EACH // 2)} for _ in range(count)]
    about = {"content": {"parts": parts}, "finishReason": "STOP", "groundingMetadata": grounding}

    def fold() -> None:
        reading = GenerateFold()
        reading.add({"candidates": [about]})
        reading.finish(ended=True)

    return fold


def _gemini_argument(place: int) -> Mapping[str, Any]:
    begun = {"name": "t", "willContinue": True} if not place else {"willContinue": True}
    return {
        "functionCall": {**begun, "partialArgs": [{"jsonPath": "$.a", "stringValue": "x" * 20}]}
    }


def _gemini_item(place: int) -> Mapping[str, Any]:
    begun = {"name": "t", "willContinue": True} if not place else {"willContinue": True}
    piece = {"jsonPath": f"$.a[{place}]", "stringValue": "x"}
    return {"functionCall": {**begun, "partialArgs": [piece]}}


def _gemini_member(place: int) -> Mapping[str, Any]:
    begun = {"name": "t", "willContinue": True} if not place else {"willContinue": True}
    piece = {"jsonPath": f"$.a{place}", "stringValue": "x"}
    return {"functionCall": {**begun, "partialArgs": [piece]}}


def _responses(place: int, count: int) -> Mapping[str, Any]:
    """An item each, without its number, and a piece of it."""
    if place == count - 1:
        return {"type": "response.completed", "response": {"status": "completed"}}
    if place % 2:
        return {"type": "response.function_call_arguments.delta", "delta": "{}"}
    item = {"type": "function_call", "name": "t", "call_id": f"c{place}"}
    return {"type": "response.output_item.added", "item": item}


def _cohere(place: int, count: int) -> Mapping[str, Any]:
    call = {"id": f"c{place}", "function": {"name": "t", "arguments": "{}"}}
    end = {"finish_reason": "TOOL_CALL"} if place == count - 1 else {}
    return {"index": place, "delta": {"message": {"tool_calls": call}, **end}}


def _anthropic(place: int, count: int) -> Mapping[str, Any]:
    if place == count - 1:
        return {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    if not place:
        return {"type": "message_start", "message": {"id": "m"}}
    if place % 2:
        block = {"type": "tool_use", "id": f"c{place}", "name": "t"}
        return {"type": "content_block_start", "index": place, "content_block": block}
    return {"type": "content_block_delta", "index": place - 1, "delta": {"partial_json": "{}"}}


def _bedrock(place: int, count: int) -> Mapping[str, Any]:
    if place == count - 1:
        return {"messageStop": {"stopReason": "tool_use"}}
    if place % 2:
        delta = {"toolUse": {"input": "{}"}}
        return {"contentBlockDelta": {"contentBlockIndex": place - 1, "delta": delta}}
    start = {"toolUse": {"name": "t", "toolUseId": f"c{place}"}}
    return {"contentBlockStart": {"contentBlockIndex": place, "start": start}}


def _ollama(place: int, count: int) -> Mapping[str, Any]:
    call = {"function": {"name": "t", "arguments": {"a": place}}}
    return {"message": {"tool_calls": [call]}, "done": place == count - 1}


def _items(function: Callable[[list[Any]], object], item: Callable[[int], Any]) -> Any:
    def ready(size: int) -> Work:
        items = [item(place) for place in range(max(size // EACH, 1))]
        return lambda: function(items)

    return ready


class Group(BaseModel):
    """A class of pydantic that has a set."""

    n: set[int] = set()
    texts: list[str] = []


def _alike(place: int) -> int:
    """Numbers of one hash."""
    return place * (2**61 - 1)


def _refusing(function: Callable[[Any], object]) -> Callable[[Any], object]:
    """What may raise ValueError."""

    def tried(items: Any) -> None:
        with suppress(ValueError):
            function(items)

    return tried


def _told(size: int) -> Work:
    """What a client of an OpenAI face is told that waits for all of it."""

    class Request:
        async def is_disconnected(self) -> bool:
            return False

    async def coming() -> AsyncGenerator[Spoken]:
        for _ in range(size // EACH):
            yield Spoken("0", "x" * EACH, is_thought=False)

    request: Any = Request()
    return lambda: asyncio.run(Told("").whole(request, coming()))


def _streamed(delta: Callable[[int], ToolCallDelta]) -> Callable[[int], Work]:
    """The pieces of an answer, each with a text behind it."""

    def veiled(deltas: list[ToolCallDelta]) -> None:
        veil = SecretFilter({"pay": frozenset({"pin"})})
        for one in deltas:
            for chunk in (StreamingChunk(tool_calls=(one,)), StreamingChunk("x")):
                list(veil(chunk))
        list(veil(StreamingChunk(finish_reason="stop")))

    ready: Callable[[int], Work] = _items(veiled, delta)
    return ready


@tool
def look(n: int = 0) -> int:
    """Look."""
    return n


def _run(calls: int, turns: int) -> Work:
    messages = [
        ChatMessage.from_assistant(
            tool_calls=[ToolCall("look", {"n": n}, f"{turn}.{n}") for n in range(calls)]
        )
        for turn in range(turns)
    ]
    script: list[ChatMessage | str] = [*messages, "Done."]
    return lambda: Agent(
        chat_generator=ScriptedChatGenerator(*script),
        tools=[look],
        journal=MemoryJournal(),
        max_agent_steps=turns + 2,
    ).run("Go.")


def _agents_judged(size: int) -> Work:
    """As many agents beside each other, each with a call that waits for a policy."""
    call, asked = ToolCall("look", {"n": 1}, "x"), ToolCall("ask", {"task": "look"}, "a")
    guard: FrozenDict[str, Policy] = FrozenDict({"look": AlwaysAskPolicy()})
    inner: AgentSpec[State] = AgentSpec(State({}), by_name([look]), policies=guard)
    rule: dict[str, Any] = {"outputs_to_string": {"source": ANSWER}}
    agent = Delegate("ask", "", PARAMETERS, lambda **_: {}, agent=inner, **rule)
    count = max(size // EACH, 1)
    limits = Limits(parallel_tool_calls=count, max_calls_per_reply=count)
    outer: AgentSpec[State] = AgentSpec(State({}), by_name([agent]), limits=limits)

    def acting(spec: AgentSpec[State], *calls: ToolCall) -> Run[State]:
        run = start(spec, [ChatMessage.from_user("Go.")], run_id="r")
        said = ChatMessage.from_assistant(tool_calls=calls)
        return step(spec, run, ModelReplied(1, 1, ChatReply(said)))

    run, inside = acting(outer, *[asked] * count), Delegated("ask", acting(inner, call))
    run = with_slots(run, [evolve(slot, status=inside) for slot in run.slots])
    return lambda: due(outer, run)


def _local(size: int) -> Work:
    """An answer of the model in this process, token by token."""
    begun = '{"name": "final_answer", "arguments": {"text": "'
    events = [
        {"choices": [{"delta": {"content": text}}]} for text in (begun, *["abc "] * (size // 4))
    ]

    def read() -> None:
        reader = ReplyReader(Form("final_answer"))
        for event in events:
            reader.read(event)

    return read


def _state(size: int) -> Work:
    schema = {"some": {"type": list}, "by": {"type": dict}}
    items = [f"item {n}" for n in range(size // EACH)]
    before = State(schema, {"some": items, "by": dict.fromkeys(items, 1)})
    after = State(schema, {"some": [*items, "x"], "by": dict.fromkeys(items, 2)})
    return lambda: [str(change) for change in diff(before, after)]


@tool
def log_in(password: Annotated[str, SecretParameter], ids: list[int]) -> str:
    """Log in."""
    return "done"


def _secret_faults(size: int) -> Work:
    """Half of it is a secret, the other wrong items."""
    words = "correct horse battery staple "
    arguments = {
        "password": words * (size // 2 // len(words)),
        "ids": ["x"] * (size // 2 // EACH),
    }
    return lambda: argument_faults(ToolCall("log_in", arguments, "c"), log_in)


def _filled(schema: Mapping[str, Any], make: Callable[[int], object]) -> Callable[[int], Work]:
    """A list of such items, each of which leaves something out."""
    root = {"properties": {"a": {"items": schema}}, "$defs": {"part": schema}}
    loose = Filling(root, most=1 << 40)
    ready: Callable[[int], Work] = _items(lambda items: loose.filled({"a": items}), make)
    return ready


PART = {
    "anyOf": [{"required": ["x"]}, {"properties": {"n": {"default": 1}}}],
    "allOf": [{"properties": {"in": {"$ref": "#/$defs/part"}, "m": {"default": 2}}}],
    "patternProperties": {"^p": {"$ref": "#/$defs/part"}},
}
"""Much that speaks of one value."""
MANY = Filling({**PART, "$defs": {"part": PART}}, most=1 << 40)


FORMS = ("a", "b", "c")
BLOCKS = Filling(
    {
        "properties": {"x": {"$ref": "#/$defs/a"}},
        "$defs": {
            name: {
                "properties": {
                    "parts": {
                        "items": {"anyOf": [{"$ref": f"#/$defs/{form}"} for form in FORMS]},
                        "default": [],
                        "title": name,
                    }
                }
            }
            for name in FORMS
        },
    },
    most=1 << 40,
)
"""Unions in unions, whose options all fit."""


def _blocks(size: int) -> Work:
    """A tree, each part of which has two."""
    level: list[dict[str, Any]] = [{} for _ in range(max(size // EACH, 1))]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [{"parts": [*pair]} for pair in pairs]
    return lambda: BLOCKS.filled({"x": level[0]})


def _ids_taken(size: int) -> Work:
    """Half of them are the names that a run would make up, the others are all alike."""
    half = size // EACH // 2
    ids = [f"call_1_{half + n}" for n in range(half)] + [f"call_1_{half}"] * half
    calls = [ToolCall("t", id=name) for name in ids]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))
    return lambda: with_call_ids(reply, 1)


VALUES: Mapping[str, Callable[[int], Work]] = {
    "local: pieces of text": _local,
    "openai: pieces of text": _openai(lambda n: {"content": "x" * EACH}),
    "openai: many calls": _openai(
        lambda n: {"tool_calls": [{"index": n, "id": f"c{n}", "function": {"name": "t"}}]}
    ),
    "openai: many calls, piece by piece, in turn": _openai(
        lambda n: {"tool_calls": [{"index": n % 1000, "function": {"arguments": " "}}]}
    ),
    "openai: one call in pieces": _openai(
        lambda n: {"tool_calls": [{"index": 0, "function": {"name": "t", "arguments": " " * 20}}]}
    ),
    "openai: pieces of reasoning": _openai(
        lambda n: {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "x" * 50}]}
    ),
    "openai: many thoughts": _openai(
        lambda n: {"reasoning_details": [{"type": "reasoning.text", "index": n, "text": "x"}]}
    ),
    "openai: many sources": _openai(
        lambda n: {"annotations": [{"type": "url_citation", "url": f"https://a.org/{n}"}]}
    ),
    "openai: many images": _openai(
        lambda n: {"images": [{"image_url": {"url": "data:image/png;base64,aGk="}}]}
    ),
    "responses: many calls": _folded(ResponseFold, _responses),
    "anthropic: many calls": _folded(MessageFold, _anthropic),
    "bedrock: many calls": _folded(ConverseFold, _bedrock),
    "cohere: many calls": _folded(CohereFold, _cohere),
    "ollama: many calls": _folded(OllamaFold, _ollama),
    "gemini: many calls": _gemini(lambda n: {"functionCall": {"name": "t", "args": {"a": n}}}),
    "gemini: an argument in pieces": _gemini(_gemini_argument),
    "gemini: many items of an argument": _gemini(_gemini_item),
    "gemini: many arguments": _gemini(_gemini_member),
    "gemini: many thoughts": _gemini(lambda n: {"text": "x", "thought": bool(n % 2)}),
    "gemini: ends of no call": _gemini(lambda n: {"functionCall": None}),
    "gemini: many sources": _grounded,
    "schema: a set": _items(
        Validator({"type": "array", "uniqueItems": True}).faults, lambda n: {"a": n}
    ),
    "schema: wrong items": _items(
        Validator({"type": "array", "items": {"type": "integer"}}).faults, str
    ),
    "schema: wrong options": _items(
        Validator(
            {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}
        ).faults,
        str,
    ),
    "schema: unknown names": _items(
        lambda names: Validator(
            {"properties": {"a": {}, "b1": {}}, "additionalProperties": False}
        ).faults(dict.fromkeys(names)),
        lambda n: f"b{n}",
    ),
    "schema: wrong names": _items(
        lambda names: Validator({"propertyNames": {"maxLength": 1}}).faults(dict.fromkeys(names)),
        lambda n: f"b{n}",
    ),
    "schema: a choice among wrong items": _items(
        Validator({"items": {"oneOf": [{"minimum": 1}, {"minimum": 0}]}}).faults, int
    ),
    "defaults of many items": _filled(PART, lambda n: {"x": 1, "in": {"in": {}}}),
    "defaults of many names": _items(
        lambda names: MANY.filled({n: {} for n in names}),
        lambda n: f"p{n}",
    ),
    "defaults of unions in unions": _blocks,
    "a converted list": _items(lambda items: convert(items, list[int], "x"), int),
    "a converted set": _items(lambda items: convert(items, set[str], "x"), str),
    "a set of one hash": _items(_refusing(lambda items: convert(items, set[int], "x")), _alike),
    "a set of few in a hash": _items(
        lambda items: convert(items, set[int], "x"), lambda n: _alike(n % 64)
    ),
    "a dict of one hash": _items(
        _refusing(lambda items: convert(dict.fromkeys(items, 1), dict[int, int], "x")),
        lambda n: str(_alike(n)),
    ),
    "a model of one hash": _items(
        _refusing(lambda items: convert({"n": items}, Group, "x")), _alike
    ),
    "a model of texts": _items(
        lambda items: convert({"texts": items}, Group, "x"), lambda n: f"fe{n}: 12 + 1/2"
    ),
    "codes of one hash": _items(lambda items: Codes().of(items), _alike),
    "state: unique items of one hash": _items(
        _refusing(lambda items: append_unique(items, items)), _alike
    ),
    "state: sets of one hash": _items(_refusing(lambda items: unite_sets(None, items)), _alike),
    "frozen and thawed": _items(lambda items: thaw(freeze(items)), lambda n: {"a": [n]}),
    "state: unique items": _items(lambda items: append_unique(items, items), lambda n: {"a": n}),
    "state: unique models": _items(
        lambda items: append_unique(items, items), lambda n: Found(name=str(n), parts=[n])
    ),
    "state: merged sets": _items(lambda items: unite_sets(set(items), set(items)), str),
    "state: merged dicts": _items(
        lambda items: merge_dicts(dict.fromkeys(items), dict.fromkeys(items)), str
    ),
    "state: what differs": _state,
    "state: all that values are": _items(
        lambda items: whole_form([{"set": {*items}}, dict.fromkeys(items)]), lambda n: (n, str(n))
    ),
    "an error without many values": _items(
        lambda items: redact(" ".join(items), {"it": items}, known={}), lambda n: f"item {n}"
    ),
    "an error without what many values know": _items(
        lambda items: redact(" ".join(items), {"it": items}, known=items), lambda n: f"item {n}"
    ),
    "faults of a call with a secret": _secret_faults,
    "calls with ids that the model has chosen": _ids_taken,
    "agents inside, with a call to judge each": _agents_judged,
    "calls without ids": _items(
        lambda calls: with_call_ids(ChatReply(ChatMessage.from_assistant(tool_calls=calls)), 1),
        lambda n: ToolCall("t"),
    ),
    "stored messages": _items(
        messages_from_json, lambda n: ChatMessage.from_user(f"{n}").to_dict()
    ),
    "a client that waits for all": _told,
    "streamed secrets: many calls": _streamed(lambda n: ToolCallDelta(n, "pay", '{"a": ')),
    "streamed secrets: many calls without a name": _streamed(lambda n: ToolCallDelta(n, None, "{")),
    "streamed secrets: many ends that are none": _streamed(
        lambda n: ToolCallDelta(0, None if n else "pay", "x" * EACH + "}" if n else '{"a": "')
    ),
    "a run of many turns": lambda size: _run(1, max(size // 4000, 1)),
    "a run of many calls": lambda size: _run(max(size // 1000, 1), 1),
}
