"""Replaying recorded runs: the requests that we make are those that were recorded.

A request is flattened into items, so that what clients write differently and mean the same is the
same. From the items of the first recorded request the conversation is built; what was said and done
after each answer is taken from the request after it; the answers themselves are ours, decoded.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Literal, TypeAlias

import httpx
from attrs import evolve, field, frozen

from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    Content,
    TextContent,
    ToolCall,
    ToolCallResult,
)
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.recorded import Record, body_of, records


@frozen
class Item:
    """One thing in a conversation.

    `value` is the text, the arguments, the payload of a result, the image or the file as a part of
    a message, the text of a thought or its signature.
    """

    kind: Literal["text", "media", "call", "result", "thought", "signature"]
    role: Literal["system", "user", "assistant", "tool"]
    value: Any
    id: str | None = None
    name: str | None = None


Items: TypeAlias = Sequence[Item]


@frozen
class Api:
    """How the requests of one API are made and read.

    Attributes:
        generator: makes the generator for a record: its model and path.
        items: flattens the body of a request.
        tools: name and JSON Schema of each tool in the body of a request.
        issues_ids: whether the provider gives every call an id.
        same_id: what makes call ids equal that mean the same.
        signed: gives a part of a history that we did not decode the signature that it had.
        known: the runs in which we differ from the client, by id, with the reason.
    """

    generator: Callable[[Record, httpx.Client], HttpChatGenerator]
    items: Callable[[Mapping[str, Any]], Iterable[Item]]
    tools: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    issues_ids: bool = True
    same_id: Callable[[str], str] = str
    signed: Callable[[Content, str], Content] = lambda part, signature: part
    known: Mapping[str, str] = field(factory=dict)


def check_runs(name: str, api: Api) -> None:
    """Replay every strict run of a file."""
    runs = defaultdict(list)
    for record in records(name):
        if record.get("run_strict"):
            runs[record["run_id"]].append(record)
    assert runs
    different: dict[str, str] = {}
    for run_id, turns in runs.items():
        try:
            replay(sorted(turns, key=lambda record: record["turn"]), api)
        except AssertionError as error:
            different[run_id] = str(error)
    explained = runs.keys() & api.known.keys()
    assert different.keys() == explained, "\n".join(
        f"{run_id}: {different.get(run_id, 'is no longer different')}"
        for run_id in sorted(different.keys() ^ explained)
    )


def replay(turns: Sequence[Record], api: Api) -> None:
    """Play one run, and hold each request that we send against the recorded one."""
    messages = [*messages_of(merged(api.items(turns[0]["request_body"])), api)]
    for place, record in enumerate(turns):
        sent, reply = exchanged(record, messages, api)
        ours, theirs = (comparable(body, record, api) for body in (sent, record["request_body"]))
        assert ours == theirs, f"turn {record['turn']}: {first_difference(ours, theirs)}"
        if place + 1 < len(turns):
            messages += [] if reply is None else [with_ids(reply, place)]
            new = after_the_last_answer(merged(api.items(turns[place + 1]["request_body"])))
            messages += messages_of(new, api, calls_of(messages))


def exchanged(
    record: Record, messages: Sequence[ChatMessage], api: Api
) -> tuple[Mapping[str, Any], ChatMessage | None]:
    """The body of the request that we send, and the message that the recorded answer is to us."""
    bodies: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        path = (record["url_path"] or "").split("?")[0]
        assert request.url.path.rsplit("/")[-1] == path.rsplit("/")[-1] or not path
        return httpx.Response(record["status"], content=body_of(record))

    schemas = api.tools(record["request_body"])
    tools = [ToolSpec(name, "", schema or {}) for name, schema in schemas.items()]
    callback = (lambda _: None) if record["stream"] else None
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        generator = api.generator(record, client)
        try:
            reply = generator.run(messages, tools=tools, streaming_callback=callback).message
        except ChatGeneratorError:
            reply = None
    assert api.tools(bodies[0]) == schemas
    assert bodies[0].get("model") == record["request_body"].get("model")
    return bodies[0], reply


def with_ids(message: ChatMessage, turn: int) -> ChatMessage:
    """The message as a run keeps it: a call without an id gets one."""
    numbers = count()

    def named(part: Content) -> Content:
        if isinstance(part, ToolCall) and part.id is None:
            return evolve(part, id=f"call_{turn}_{next(numbers)}")
        return part

    return evolve(message, content=[named(part) for part in message.content])


def merged(items: Iterable[Item]) -> Items:
    """The items without what means nothing: empty texts, and where a text is cut in two."""
    kept: list[Item] = []
    for item in items:
        last = kept[-1] if kept else None
        if item.kind in {"text", "thought"} and last and same_place(last, item):
            kept[-1] = evolve(last, value=last.value + item.value)
        elif item.kind != "text" or item.value.strip():
            kept.append(item)
    return [evolve(one, value=one.value.strip()) if one.kind == "text" else one for one in kept]


def same_place(one: Item, other: Item) -> bool:
    """Whether a text goes on."""
    return (one.kind, one.role) == (other.kind, other.role)


def comparable(body: Mapping[str, Any], record: Record, api: Api) -> Items:
    """The items of a request that must be the same, whoever made it."""
    replayed = (record.get("history_match") or {}).get("thinking", "none")
    ignored = {
        "full": set[str](),
        "partial": {"thought", "signature"},
        "signatures_only": {"thought"},
        "dropped": {"thought", "signature"},
        "none": {"thought", "signature"},
    }[replayed]
    items = merged(item for item in api.items(body) if item.kind not in ignored)
    if not api.issues_ids:
        return numbered(items)
    return [evolve(item, id=item.id and api.same_id(item.id)) for item in items]


def numbered(items: Items) -> Items:
    """The items with each call numbered, and each result by the call that it answers."""
    seen: list[Item] = []
    kept = []
    for item in items:
        if item.kind == "call":
            seen.append(item)
            kept.append(evolve(item, id=f"#{len(seen)}"))
        elif item.kind == "result":
            call = next(
                (one for one in seen if item.id and one.id == item.id),
                next((one for one in seen if one.name == item.name), None),
            )
            assert call is not None, f"a result without its call: {item}"
            place = seen.index(call)
            seen[place] = evolve(call, id=None, name=None)  # it is answered
            kept.append(evolve(item, id=f"#{place + 1}"))
        else:
            kept.append(item)
    return kept


def after_the_last_answer(items: Items) -> Items:
    """What was said and done since the model spoke."""
    spoke = max(place for place, item in enumerate(items) if item.role == "assistant")
    return items[spoke + 1 :]


def calls_of(messages: Iterable[ChatMessage]) -> list[ToolCall]:
    """The calls of a conversation that are not answered."""
    messages = list(messages)
    answered = [result.origin for one in messages for result in one.tool_call_results]
    return [call for one in messages for call in one.tool_calls if call not in answered]


def messages_of(items: Items, api: Api, calls: Iterable[ToolCall] = ()) -> Iterator[ChatMessage]:
    """The conversation that the items are; `calls` are those that are not answered yet."""
    unanswered = list(calls)
    parts: list[Content] = []
    for place, item in enumerate(items):
        if item.kind == "signature":
            parts[-1:] = [api.signed(part, item.value) for part in parts[-1:]]
        elif part := part_of(item, unanswered):
            parts.append(part)
            unanswered += [part] if isinstance(part, ToolCall) else []
        following = items[place + 1] if place + 1 < len(items) else None
        ends = following is None or following.role != item.role or item.kind == "result"
        if parts and ends:
            yield ChatMessage(ChatRole(item.role), parts)
            parts = []


def part_of(item: Item, unanswered: list[ToolCall]) -> Content | None:
    """An item as a part of a message; what the model thought is not made up."""
    match item.kind:
        case "text":
            return TextContent(item.value)
        case "media":
            part: Content = item.value
            return part
        case "call":
            return ToolCall(item.name or "", item.value, item.id)
        case "result":
            fits = [call for call in unanswered if item.id in {None, call.id}] or [
                call for call in unanswered if item.name == call.tool_name
            ]
            named = [call for call in fits if item.name in {None, call.tool_name}]
            origin = named[0]
            unanswered.remove(origin)
            return ToolCallResult(item.value, origin)
        case _:
            return None


def first_difference(ours: Items, theirs: Items) -> str:
    """Where two conversations part."""
    for mine, other in zip(ours, theirs, strict=False):
        if mine != other:
            return f"\n  ours   {mine}\n  theirs {other}"
    return f"{len(ours)} items and {len(theirs)}: {[*ours, *theirs][min(len(ours), len(theirs)) :]}"


def arguments_of(text: object) -> Any:
    """Arguments as JSON, where no text stands for none."""
    if isinstance(text, str):
        text = json.loads(text) if text.strip() else {}
    return text or {}


def payload_of(response: object) -> Any:
    """What a tool gave, out of the object that a client wrapped around it."""
    if isinstance(response, Mapping):
        if set(response) == {"name", "content"}:
            return "".join(part["text"] for part in response["content"])
        if len(response) == 1:
            (response,) = response.values()
    return response if isinstance(response, str) else json.dumps(response)
