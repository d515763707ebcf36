"""What OpenAI's clients say and are told: messages read, and a run put into words."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from attrs import evolve
from starlette.requests import Request

from detent.adapters.faces.entrance import TurnedAwayError, agent_of, is_name, name_of
from detent.adapters.faces.following import (
    Followed,
    Left,
    Quiet,
    Spoken,
    begin_of,
    beside,
    follow,
)
from detent.adapters.faces.replies import arguments_text, failure_text, unreadable
from detent.adapters.faces.threads import Thread
from detent.adapters.web.people import Person
from detent.adapters.web.shown import JsonText, visible
from detent.core.chat.messages import UNTRUSTED, ChatMessage, ToolCall, ToolCallResult
from detent.core.chat.replies import Usage
from detent.core.errors import DetentError
from detent.core.run.outcomes import Cancelled, Exhausted, Failed, Finished
from detent.core.run.run import Run
from detent.ports.hosting import HostedRun, HostRefusal
from detent.ports.pending import PendingCall

THREAD_HEADERS = ("X-Thread-Id", "X-OpenWebUI-Chat-Id")
"""Where a client names the conversation; the first one that is there counts."""
FULL, OURS = 429, 500
"""The status of a host that is full, and the first of those that are not the client's fault."""
STATUSES: Mapping[str, int] = {
    "unknown_agent": 404,
    "thread_busy": 409,
    "full": 429,
    "shutting_down": 503,
    "invalid": 400,
}
SHOWN_MAX = 500
"""How much of a tool's result is shown as work; questions are shown whole."""
REASONS = {"length": "length", "content_filter": "content_filter", "refusal": "content_filter"}
"""Why a client is told that an answer is over, where it is not "stop"."""


def error_body(status: int, code: str, text: str) -> dict[str, Any]:
    """What went wrong, as OpenAI's clients read it."""
    kind = "server_error" if status >= OURS else "invalid_request_error"
    return {"error": {"message": text, "type": kind, "param": None, "code": code}}


async def answering(
    thread: Thread, messages: Sequence[ChatMessage], run_id: str
) -> tuple[str, AsyncGenerator[Followed]]:
    """The run that answers, and what comes of it; a thread that waits for somebody says so again.

    Raises:
        TurnedAwayError: the host does not begin it.
    """
    begun = await thread.begin(await _labelled(thread, messages), run_id)
    if not isinstance(begun, HostRefusal):
        begin = begin_of((await thread.host.run(run_id)).run, messages[-1].text or "")
        return run_id, follow(thread.host, run_id, begin)
    waits = await thread.waiting() if begun.why == "thread_busy" else ()
    if not waits:
        raise TurnedAwayError(STATUSES.get(begun.why, OURS), begun.why, begun.text)
    return waits[0].run_id, _left_as_it_is(await thread.host.run(waits[0].run_id))


async def _labelled(thread: Thread, messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The messages, of which those that an agent is said to have answered bear labels.

    RULE: what a client says of the conversation until now has come from no run that is known here.
    Each tool may have been called in it, and the answer may hold what that has read: else a label
    would be lost in sending the text back. And it is untrusted in any case: nobody knows which
    tools there were then, what else was said, or whether it was an agent at all that has said this.
    """
    if not any(message.is_from("assistant") for message in messages):
        return messages
    hosted = await agent_of(thread.host, thread.agent)
    meta = {"labels": sorted({*UNTRUSTED, *hosted.labels})}
    return [
        evolve(message, meta=meta) if message.is_from("assistant") else message
        for message in messages
    ]


async def _left_as_it_is(hosted: HostedRun) -> AsyncGenerator[Followed]:
    yield Left(hosted)


def names_in(request: Request, person: Person) -> tuple[str | None, str]:
    """The conversation that a client names, and a token: the same where it sends the same key."""
    headers, key = request.headers, request.headers.get("Idempotency-Key", "")
    name = next(filter(None, (headers.get(header) for header in THREAD_HEADERS)), None)
    return name, name_of("key", person.name, key) if is_name(key) else uuid4().hex


def _malformed(text: str) -> TurnedAwayError:
    return TurnedAwayError(400, "invalid_request", text)


def said_in(body: Any) -> list[ChatMessage]:
    """What users and assistants have said, to a user's last message.

    Instructions of a client are left out: an agent has its own. Raises TurnedAwayError.
    """
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        raise _malformed("expected an object with a 'model', the name of an agent")
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise _malformed("expected 'messages', a list of objects")
    makers: Mapping[str, Callable[[str], ChatMessage]] = {
        "user": ChatMessage.from_user,
        "assistant": ChatMessage.from_assistant,
    }
    conversation = [
        makers[message["role"]](_text_in(message.get("content")))
        for message in messages
        if isinstance(message.get("role"), str) and message["role"] in makers
    ]
    while conversation and not conversation[-1].is_from("user"):
        conversation.pop()
    if not conversation:
        raise _malformed("expected a message of the user among 'messages'")
    return conversation


def with_messages(body: Any) -> tuple[Any, list[ChatMessage]]:
    """A body and what is said in it. Raises TurnedAwayError."""
    return body, said_in(body)


def _text_in(content: object) -> str:
    match content:
        case str():
            return content
        case None:
            return ""
        case list():
            return "\n".join(map(_part_text, content))
        case _:
            raise _malformed("the content of a message is a text or a list of parts")


def _part_text(part: object) -> str:
    match part:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return text
        case _:
            raise _malformed("of the parts of a message only texts can be read")


def in_code(value: object) -> str:
    """JSON in a block of code of Markdown, out of which nothing leads."""
    text = json.dumps(value, ensure_ascii=False, default=repr).replace("`", "\\u0060")
    return f"```json\n{visible(JsonText(text))}\n```"


def inbox_text(call: PendingCall, inbox_url: str) -> str:
    """What a person is told of a call that waits for them."""
    plain = call.to_dict()
    parts = {"tool": call.tool_name, "arguments": plain["arguments"], "state": plain["state"]}
    what = in_code({name: part for name, part in parts.items() if part or name != "state"})
    where = "in the inbox"
    if inbox_url:
        path = f"question/{quote(call.digest, safe='')}/{quote(call.run_id, safe='')}"
        where = f"here: {inbox_url}/{path}"
    return f"This waits for a decision:\n\n{what}\n\nDecide {where}"


class Answer:
    """A run in words, in the pieces that a client is sent.

    Attributes:
        finish_reason: why it is over.
        usage: the tokens of the run.
        fault: why there is no answer; "" where there is one.
    """

    def __init__(self, inbox_url: str) -> None:
        self._inbox_url = inbox_url
        self._message = ""
        self._has_text = False
        self.finish_reason, self.usage, self.fault = "stop", Usage(), ""

    async def whole(self, request: Request, coming: AsyncGenerator[Followed]) -> Mapping[str, str]:
        """All that a client is told, for one that waits for it. Raises TurnedAwayError."""
        by_kind: dict[str, list[str]] = {"content": [], "reasoning_content": []}
        async with aclosing(coming):
            async for item in coming:
                for delta in await self._deltas(item):
                    for name, text in delta.items():
                        by_kind[name].append(text)
                if isinstance(item, Quiet) and await request.is_disconnected():
                    break  # nobody reads it; the run goes on
        if self.fault:
            raise TurnedAwayError(502, "run_failed", self.fault)
        return {name: "".join(texts) for name, texts in by_kind.items()}

    async def pieces(
        self, coming: AsyncGenerator[Followed]
    ) -> AsyncGenerator[Mapping[str, str] | None]:
        """What a client is told, piece by piece; None where nothing has come for a while."""
        try:
            async with aclosing(coming):
                async for item in coming:
                    if isinstance(item, Quiet):
                        yield None
                    for delta in await self._deltas(item):
                        yield delta
        except DetentError as error:
            self.fault = unreadable(error)

    async def _deltas(self, followed: Followed) -> Iterable[Mapping[str, str]]:
        """The same; a piece of a text is short and at once, all else may be long."""
        deltas = partial(self.deltas, followed)
        return deltas() if isinstance(followed, Spoken) else await beside(deltas)

    def deltas(self, followed: Followed) -> Iterator[Mapping[str, str]]:
        """What a client is told of what has come."""
        match followed:
            case Spoken(text=text, is_thought=True):
                yield {"reasoning_content": text}
            case Spoken(message, text):
                gap = "\n\n" if self._has_text and message != self._message else ""
                self._message, self._has_text = message, True
                yield {"content": gap + text}
            case ToolCall():
                what = f"{followed.tool_name} {arguments_text(followed)}"
                yield {"reasoning_content": visible(JsonText(f"\n{what}\n"))}
            case ToolCallResult():
                yield {"reasoning_content": visible(f"\n-> {followed.text[:SHOWN_MAX]}\n")}
            case Left(hosted):
                yield from self._closing_pieces(hosted)
            case _:
                pass

    def _closing_pieces(self, hosted: HostedRun) -> Iterator[Mapping[str, str]]:
        self.usage = hosted.run.usage
        self._note_end(hosted.run)
        texts = [inbox_text(call, self._inbox_url) for call in hosted.pending]
        if isinstance(hosted.run.outcome, Cancelled):
            texts.append("The run was cancelled.")
        for text in texts:
            gap = "\n\n" if self._has_text else ""
            self._has_text = True
            yield {"content": gap + text}

    def _note_end(self, run: Run[Any]) -> None:
        match run.outcome:
            case Finished(exit_reason=reason):
                self.finish_reason = REASONS.get(reason, "stop")
            case Exhausted():
                self.finish_reason = "length"
            case Failed() as failed:
                _, self.fault = failure_text(failed)
            case _:
                pass


def usage_data(usage: Usage) -> dict[str, Any]:
    """Tokens, as OpenAI counts them."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
