"""The responses of OpenAI's protocol: https://platform.openai.com/docs/api-reference/responses.

A response is a run. Its id has the name of the conversation in it, which goes on where a request
names the response before.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from attrs import evolve, frozen
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from detent.adapters.faces.entrance import (
    Entrance,
    TurnedAwayError,
    as_response,
    body_of,
    is_name,
    name_of,
)
from detent.adapters.faces.following import Followed, Quiet, begin_of, follow
from detent.adapters.faces.openai_texts import (
    STATUSES,
    THREAD_HEADERS,
    UNREADABLE,
    Answer,
    joined,
    said_in,
    what_waits,
)
from detent.adapters.web.people import Person
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import Usage
from detent.core.errors import DetentError
from detent.ports.hosting import Host, HostedRun, HostRefusal, PendingQuestion, UnknownAgentError
from detent.ports.journal import RunNotFoundError

NOT_THERE = "there is no such response, or it is somebody else's"


@frozen
class _Asked:
    """Of which agent what is wanted, and in which run; `name` is the client's for the thread."""

    agent: str
    person: Person
    said: Sequence[ChatMessage]
    name: str
    thread: str
    run_id: str
    previous: str | None
    made: int

    @property
    def id(self) -> str:
        """What the client calls the response."""
        return f"resp_{self.run_id}.{self.name}"


@frozen
class Responses:
    """The handlers; the fields are those of `openai_app`."""

    host: Host
    entrance: Entrance
    inbox_url: str

    async def create(self, request: Request) -> Response:
        """Begin a response, or go on from one."""
        person = await self.entrance.person(request)
        body = await body_of(request)
        asked = await self._asked(request, person, body)
        asked, coming = await self._begun(asked)
        if body.get("stream") is True:
            headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
            events = _events(asked, Answer(self.inbox_url), coming)
            return StreamingResponse(events, media_type="text/event-stream", headers=headers)
        return await self._whole(request, asked, coming)

    async def retrieve(self, request: Request) -> Response:
        """A response as it is by now; one that is at work is waited for."""
        person = await self.entrance.person(request)
        run_id, name = _parts(request.path_params["id"])
        thread = self.entrance.thread(person, name)
        hosted = await self._hosted(run_id, thread)
        asked = _Asked(hosted.listed.agent, person, (), name, thread, run_id, None, _made(hosted))
        coming = follow(self.host, run_id, begin_of(hosted.run))
        return await self._whole(request, asked, coming)

    async def _asked(self, request: Request, person: Person, body: Any) -> _Asked:
        said = said_in(_as_chat(body))
        previous, made = body.get("previous_response_id"), int(time.time())
        key = request.headers.get("Idempotency-Key", "")
        token = name_of("key", person.name, key) if is_name(key) else uuid4().hex
        if previous is not None:
            before, name = _parts(str(previous))
            thread = self.entrance.thread(person, name)
            await self._hosted(before, thread, body["model"])
            text = said[-1].text or ""
            run_id = name_of("responses", body["model"], thread, before, text)
            await self._is_last(before, run_id, body["model"], thread)
            return _Asked(body["model"], person, said[-1:], name, thread, run_id, previous, made)
        names = [request.headers.get(header, "") for header in THREAD_HEADERS]
        given = next(filter(None, names), None)
        name = given or token
        thread = self.entrance.thread(person, name)
        said = said if given is None else said[-1:]
        run_id = name_of("responses", body["model"], thread, token)
        return _Asked(body["model"], person, said, name, thread, run_id, None, made)

    async def _is_last(self, before: str, run_id: str, agent: str, thread: str) -> None:
        """Raise TurnedAwayError where the conversation has gone on in another way."""
        last = await self.host.runs(agent=agent, thread_id=thread, limit=1)
        if last[0].run_id in (before, run_id):
            return
        try:
            await self.host.run(run_id)
        except RunNotFoundError:
            text = "previous_response_id is not the last response of the conversation"
            raise TurnedAwayError(409, "not_the_last", text) from None

    async def _hosted(self, run_id: str, thread: str, agent: str | None = None) -> HostedRun:
        """A run of this thread. Raises TurnedAwayError."""
        try:
            hosted = await self.host.run(run_id)
        except (RunNotFoundError, UnknownAgentError):
            raise TurnedAwayError(404, "response_not_found", NOT_THERE) from None
        listed = hosted.listed
        if listed.thread_id != thread or agent not in (None, listed.agent):
            raise TurnedAwayError(404, "response_not_found", NOT_THERE)
        return hosted

    async def _begun(self, asked: _Asked) -> tuple[_Asked, AsyncGenerator[Followed]]:
        """The run that answers; a thread that waits for somebody says so again."""
        begun = await self.host.start(
            asked.agent,
            asked.said,
            run_id=asked.run_id,
            thread_id=asked.thread,
            started_by=asked.person.name,
        )
        if isinstance(begun, HostRefusal):
            waits: Sequence[PendingQuestion] = ()
            if begun.why == "thread_busy":
                waits = await self.host.pending(agent=asked.agent, thread_id=asked.thread, limit=1)
            if not waits:
                raise TurnedAwayError(STATUSES.get(begun.why, 500), begun.why, begun.text)
            run_id = waits[0].call.run_id
            return evolve(asked, run_id=run_id), what_waits(await self.host.run(run_id))
        hosted = await self.host.run(asked.run_id)
        begin = begin_of(hosted.run, asked.said[-1].text)
        return asked, follow(self.host, asked.run_id, begin)

    async def _whole(
        self, request: Request, asked: _Asked, coming: AsyncGenerator[Followed]
    ) -> Response:
        answer, deltas = Answer(self.inbox_url), list[Mapping[str, str]]()
        async with aclosing(coming):
            async for one in coming:
                deltas += answer.deltas(one)
                if isinstance(one, Quiet) and await request.is_disconnected():
                    break  # nobody reads it; the run goes on
        if answer.fault:
            raise TurnedAwayError(502, "run_failed", answer.fault)
        return as_response(_response(asked, _status(answer), joined(deltas, "content"), answer))


def _as_chat(body: Any) -> Any:
    """What is sent, as chat completions send it. Raises TurnedAwayError."""
    if not isinstance(body, dict):
        return body
    given = body.get("input")
    items: Any = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if isinstance(items, list):
        for item in items:
            if not isinstance(item, dict) or item.get("type", "message") != "message":
                text = "of the items of 'input' only messages can be read"
                raise TurnedAwayError(400, "invalid_request", text)
    return {"model": body.get("model"), "messages": items}


def _parts(response_id: str) -> tuple[str, str]:
    run_id, _, name = response_id.removeprefix("resp_").partition(".")
    return run_id, name


def _made(hosted: HostedRun) -> int:
    return int(hosted.listed.at)


def _status(answer: Answer) -> str:
    return "completed" if answer.finish_reason == "stop" else "incomplete"


def _item(asked: _Asked, status: str, text: str | None) -> dict[str, Any]:
    content = [] if text is None else [_part(text)]
    return {
        "id": f"msg_{asked.run_id}",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _response(
    asked: _Asked, status: str, text: str | None = None, answer: Answer | None = None
) -> dict[str, Any]:
    """A response as it is sent."""
    reasons = {"length": "max_output_tokens"}
    why = answer.finish_reason if answer is not None and status == "incomplete" else None
    return {
        "id": asked.id,
        "object": "response",
        "created_at": asked.made,
        "status": status,
        "model": asked.agent,
        "output": [] if text is None else [_item(asked, "completed", text)],
        "previous_response_id": asked.previous,
        "error": None,
        "incomplete_details": None if why is None else {"reason": reasons.get(why, why)},
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if answer is None else _usage(answer.usage),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


async def _events(
    asked: _Asked, answer: Answer, coming: AsyncGenerator[Followed]
) -> AsyncGenerator[str]:
    """The response in server-sent events, until it is over."""
    number, text = -1, ""
    where = {"item_id": f"msg_{asked.run_id}", "output_index": 0, "content_index": 0}

    def event(kind: str, **data: Any) -> str:
        nonlocal number
        number += 1
        body = {"type": f"response.{kind}", "sequence_number": number, **data}
        return f"event: response.{kind}\ndata: {json.dumps(body)}\n\n"

    yield event("created", response=_response(asked, "in_progress"))
    yield event("in_progress", response=_response(asked, "in_progress"))
    item = _item(asked, "in_progress", None)
    yield event("output_item.added", output_index=0, item=item)
    yield event("content_part.added", **where, part=_part(""))
    try:
        async with aclosing(coming):
            async for one in coming:
                if isinstance(one, Quiet):
                    yield ": keep-alive\n\n"
                for delta in answer.deltas(one):
                    if piece := delta.get("content"):
                        text += piece
                        yield event("output_text.delta", **where, delta=piece, logprobs=[])
    except DetentError as error:
        answer.fault = f"{UNREADABLE} ({type(error).__name__})"
    if answer.fault:
        fault = {"code": "server_error", "message": answer.fault}
        yield event("failed", response=_response(asked, "failed", text) | {"error": fault})
        return
    yield event("output_text.done", **where, text=text, logprobs=[])
    yield event("content_part.done", **where, part=_part(text))
    yield event("output_item.done", output_index=0, item=_item(asked, "completed", text))
    status = _status(answer)
    yield event(status, response=_response(asked, status, text, answer))
