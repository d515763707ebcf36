"""The responses of OpenAI's protocol: https://platform.openai.com/docs/api-reference/responses.

A response is a run. Its id has the name of the conversation in it, which goes on where a request
names the response before.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from attrs import evolve, frozen
from starlette.requests import Request
from starlette.responses import Response

from detent.adapters.faces.entrance import Entrance, TurnedAwayError, body_of, name_of
from detent.adapters.faces.following import Followed, begin_of, follow
from detent.adapters.faces.openai_texts import Answer, answering, names_in, said_in
from detent.adapters.faces.replies import KEEP_ALIVE, as_response, event_stream
from detent.adapters.faces.replies import event as event_of
from detent.adapters.faces.threads import Thread
from detent.adapters.web.people import Person
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import Usage
from detent.ports.hosting import Host, HostedRun
from detent.ports.journal import RunNotFoundError
from detent.ports.listing import UnknownAgentError

NOT_THERE = "there is no such response, or it is somebody else's"


@frozen
class _Asked:
    """What is wanted in a thread, and in which run; `name` is the client's for the thread."""

    thread: Thread
    messages: Sequence[ChatMessage]
    name: str
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
        body, messages = await body_of(request, _with_messages)
        client_request = await self._request_of(request, person, body, messages)
        run_id, coming = await answering(
            client_request.thread, client_request.messages, client_request.run_id
        )
        client_request = evolve(client_request, run_id=run_id)
        if body.get("stream") is True:
            return event_stream(_events(client_request, Answer(self.inbox_url), coming))
        return await self._whole(request, client_request, coming)

    async def retrieve(self, request: Request) -> Response:
        """A response as it is by now; one that is at work is waited for."""
        person = await self.entrance.person(request)
        run_id, name = _parts(request.path_params["id"])
        try:
            agent = (await self.host.run(run_id)).listed.agent or ""
        except (RunNotFoundError, UnknownAgentError):
            agent = ""
        thread = Thread(self.host, agent, person, self.entrance.thread(person, name))
        hosted = await _known_run(thread, run_id)
        client_request = _Asked(thread, (), name, run_id, None, int(hosted.listed.at))
        coming = follow(self.host, run_id, begin_of(hosted.run))
        return await self._whole(request, client_request, coming)

    async def _request_of(
        self, request: Request, person: Person, body: Any, messages: Sequence[ChatMessage]
    ) -> _Asked:
        model, previous = body["model"], body.get("previous_response_id")
        made, (thread_name, token) = int(time.time()), names_in(request, person)
        if previous is not None:
            before, name = _parts(str(previous))
            thread = Thread(self.host, model, person, self.entrance.thread(person, name))
            await _known_run(thread, before)
            run_id = name_of("responses", model, str(thread.id), before, messages[-1].text or "")
            if await thread.last() not in (before, run_id) and await thread.run(run_id) is None:
                text = "previous_response_id is not the last response of the conversation"
                raise TurnedAwayError(409, "not_the_last", text)
            return _Asked(thread, messages[-1:], name, run_id, previous, made)
        name = thread_name or token
        thread = Thread(self.host, model, person, self.entrance.thread(person, name))
        messages = messages if thread_name is None else messages[-1:]
        run_id = name_of("responses", model, str(thread.id), token)
        return _Asked(thread, messages, name, run_id, None, made)

    async def _whole(
        self, request: Request, client_request: _Asked, coming: AsyncGenerator[Followed]
    ) -> Response:
        answer = Answer(self.inbox_url)
        text = (await answer.whole(request, coming))["content"]
        return as_response(_response(client_request, _status(answer), text, answer))


async def _known_run(thread: Thread, run_id: str) -> HostedRun:
    """A run of this thread. Raises TurnedAwayError."""
    if hosted := await thread.run(run_id):
        return hosted
    raise TurnedAwayError(404, "response_not_found", NOT_THERE)


def _with_messages(body: Any) -> tuple[Any, list[ChatMessage]]:
    return body, said_in(_as_chat(body))


def _as_chat(body: Any) -> Any:
    """What is sent, as chat completions send it. Raises TurnedAwayError."""
    if not isinstance(body, dict):
        return body
    input_items = body.get("input")
    items: Any = (
        [{"role": "user", "content": input_items}] if isinstance(input_items, str) else input_items
    )
    if isinstance(items, list):
        for item in items:
            if not isinstance(item, dict) or item.get("type", "message") != "message":
                text = "of the items of 'input' only messages can be read"
                raise TurnedAwayError(400, "invalid_request", text)
    return {"model": body.get("model"), "messages": items}


def _parts(response_id: str) -> tuple[str, str]:
    run_id, _, name = response_id.removeprefix("resp_").partition(".")
    return run_id, name


def _status(answer: Answer) -> str:
    return "completed" if answer.finish_reason == "stop" else "incomplete"


def _item(client_request: _Asked, status: str, text: str | None) -> dict[str, Any]:
    content = [] if text is None else [_part(text)]
    return {
        "id": f"msg_{client_request.run_id}",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _response(
    client_request: _Asked, status: str, text: str | None = None, answer: Answer | None = None
) -> dict[str, Any]:
    """A response as it is sent."""
    reasons = {"length": "max_output_tokens"}
    why = answer.finish_reason if answer is not None and status == "incomplete" else None
    return {
        "id": client_request.id,
        "object": "response",
        "created_at": client_request.made,
        "status": status,
        "model": client_request.thread.agent,
        "output": [] if text is None else [_item(client_request, "completed", text)],
        "previous_response_id": client_request.previous,
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
    client_request: _Asked, answer: Answer, coming: AsyncGenerator[Followed]
) -> AsyncGenerator[str]:
    """The response in server-sent events, until it is over."""
    number, text = -1, ""
    where = {"item_id": f"msg_{client_request.run_id}", "output_index": 0, "content_index": 0}

    def event(kind: str, **data: Any) -> str:
        nonlocal number
        number += 1
        body = {"type": f"response.{kind}", "sequence_number": number, **data}
        return event_of(body, f"response.{kind}")

    yield event("created", response=_response(client_request, "in_progress"))
    yield event("in_progress", response=_response(client_request, "in_progress"))
    item = _item(client_request, "in_progress", None)
    yield event("output_item.added", output_index=0, item=item)
    yield event("content_part.added", **where, part=_part(""))
    async with aclosing(answer.pieces(coming)) as pieces:
        async for delta in pieces:
            if delta is None:
                yield KEEP_ALIVE
            elif piece := delta.get("content"):
                text += piece
                yield event("output_text.delta", **where, delta=piece, logprobs=[])
    if answer.fault:
        fault = {"code": "server_error", "message": answer.fault}
        yield event("failed", response=_response(client_request, "failed", text) | {"error": fault})
        return
    yield event("output_text.done", **where, text=text, logprobs=[])
    yield event("content_part.done", **where, part=_part(text))
    yield event("output_item.done", output_index=0, item=_item(client_request, "completed", text))
    status = _status(answer)
    yield event(status, response=_response(client_request, status, text, answer))
