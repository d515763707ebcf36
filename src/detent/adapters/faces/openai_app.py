"""The OpenAI-compatible endpoint: an agent is a model, for front ends that know nothing else.

https://platform.openai.com/docs/api-reference/chat. Tools run here and not at the client, so that
no tool calls are sent: work is shown as thoughts, and a question as a text with a link.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import wraps
from typing import Any

from attrs import field, frozen
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from detent.adapters.faces.entrance import (
    Entrance,
    ThreadOf,
    TurnedAwayError,
    agent_of,
    body_of,
    name_of,
    own_threads,
)
from detent.adapters.faces.following import Followed
from detent.adapters.faces.openai_responses import Responses
from detent.adapters.faces.openai_texts import (
    FULL,
    Answer,
    answering,
    error_body,
    names_in,
    usage_data,
    with_messages,
)
from detent.adapters.faces.replies import (
    KEEP_ALIVE,
    as_response,
    event,
    event_stream,
    unreadable,
)
from detent.adapters.faces.threads import Thread
from detent.adapters.hosts.stored import opened
from detent.adapters.web.people import Person, SignIn
from detent.core.chat.messages import ChatMessage
from detent.core.errors import DetentError
from detent.ports.hosting import Host

NO_RUN = "### Task:"
"""What a front end begins with when it asks for a title or tags of a conversation."""
Handler = Callable[[Request], Awaitable[Response]]


def openai_app(
    host: Host,
    *,
    sign_in: SignIn | None = None,
    inbox_url: str = "",
    thread_of: ThreadOf = own_threads,
) -> Starlette:
    """An ASGI app with `/v1/models`, `/v1/chat/completions` and `/v1/responses`.

    Args:
        host: whose agents are the models.
        sign_in: says whose a request is: `Tokens`, whose tokens are the keys of the API, or a
            function of the app around. Without it only this machine is answered.
        inbox_url: where the inbox of the host is, as people reach it: each question has a link.
        thread_of: which thread of the host a person means by the name that their client sends;
            None is one that they may not see. Without it each person has their own.
    """
    face = _Face(host, Entrance(sign_in, thread_of), inbox_url.rstrip("/"))
    responses = Responses(host, face.entrance, face.inbox_url)
    return Starlette(
        routes=[
            Route("/v1/models", _answered(face.models)),
            Route("/v1/models/{name:path}", _answered(face.model)),
            Route("/v1/chat/completions", _answered(face.completions), methods=["POST"]),
            Route("/v1/responses", _answered(responses.create), methods=["POST"]),
            Route("/v1/responses/{id:path}", _answered(responses.retrieve)),
        ],
        lifespan=lambda app: opened(host),
    )


def _error(status: int, code: str, text: str) -> Response:
    """What went wrong, as OpenAI's clients read it, which then do not try again by themselves."""
    headers = {"x-should-retry": "true" if status == FULL else "false"}
    return as_response(error_body(status, code, text), status, headers=headers)


def _answered(handler: Handler) -> Handler:
    """The handler, whose refusals are answers in OpenAI's shape."""

    @wraps(handler)
    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except TurnedAwayError as error:
            return _error(error.status, error.code, error.text)
        except DetentError as error:
            return _error(500, "unreadable", unreadable(error))

    return answered


@frozen
class _Asked:
    """What a client wants in a thread, in which run, and how it is to be told."""

    thread: Thread
    messages: Sequence[ChatMessage]
    run_id: str
    is_stream: bool
    with_usage: bool
    made: int = field(factory=lambda: int(time.time()))


@frozen
class _Face:
    host: Host
    entrance: Entrance
    inbox_url: str

    async def models(self, request: Request) -> Response:
        await self.entrance.person(request)
        data = [_model(agent.name) for agent in await self.host.agents()]
        return as_response({"object": "list", "data": data})

    async def model(self, request: Request) -> Response:
        await self.entrance.person(request)
        agent = await agent_of(self.host, request.path_params["name"], "model_not_found")
        return as_response(_model(agent.name))

    async def completions(self, request: Request) -> Response:
        person = await self.entrance.person(request)
        body, messages = await body_of(request, with_messages)
        client_request = self._request_of(request, person, body, messages)
        if (client_request.messages[-1].text or "").startswith(NO_RUN):
            return await self._send(request, client_request, _nothing())
        _, coming = await answering(
            client_request.thread, client_request.messages, client_request.run_id
        )
        return await self._send(request, client_request, coming)

    async def _send(
        self, request: Request, client_request: _Asked, coming: AsyncGenerator[Followed]
    ) -> Response:
        answer = Answer(self.inbox_url)
        if client_request.is_stream:
            return event_stream(_chunks(client_request, answer, coming))
        texts = await answer.whole(request, coming)
        message: dict[str, Any] = {"role": "assistant", "content": texts["content"]}
        if thoughts := texts["reasoning_content"]:
            message["reasoning_content"] = thoughts
        reason = answer.finish_reason
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        body = _head(client_request, "chat.completion")
        return as_response(body | {"choices": [choice], "usage": usage_data(answer.usage)})

    def _request_of(
        self, request: Request, person: Person, body: Any, messages: Sequence[ChatMessage]
    ) -> _Asked:
        name, token = names_in(request, person)
        model = body["model"]
        run_id = name_of("openai", model, token)
        thread = None if name is None else self.entrance.thread(person, name)
        if thread is not None:
            count = sum(message.is_from("user") for message in messages)
            run_id = name_of("openai", model, thread, str(count), messages[-1].text or "")
            messages = messages[-1:]
        options = body.get("stream_options")
        with_usage = isinstance(options, dict) and options.get("include_usage") is True
        where = Thread(self.host, model, person, thread)
        return _Asked(where, messages, run_id, body.get("stream") is True, with_usage)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "detent"}


def _head(client_request: _Asked, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{client_request.run_id}",
        "object": kind,
        "created": client_request.made,
        "model": client_request.thread.agent,
    }


async def _nothing() -> AsyncGenerator[Followed]:
    """No run, and so no answer."""
    for none in list[Followed]():
        yield none


async def _chunks(
    client_request: _Asked, answer: Answer, coming: AsyncGenerator[Followed]
) -> AsyncGenerator[str]:
    """The answer in server-sent events, until it is over."""
    head = _head(client_request, "chat.completion.chunk")
    usage = {"usage": None} if client_request.with_usage else {}

    def chunk(delta: Mapping[str, str], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return event(head | usage | {"choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(answer.pieces(coming)) as pieces:
        async for delta in pieces:
            yield KEEP_ALIVE if delta is None else chunk(delta)
    if answer.fault:
        yield event(error_body(500, "run_failed", answer.fault))
        return
    yield chunk({}, answer.finish_reason)
    if client_request.with_usage:
        yield event(head | {"choices": [], "usage": usage_data(answer.usage)})
    yield "data: [DONE]\n\n"
