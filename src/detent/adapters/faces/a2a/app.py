"""A2A: agents for agents of others: https://a2a-protocol.org.

What a client sends is a claim. Who asks is known by the request, what may run by the host.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from starlette.applications import Starlette
from starlette.authentication import SimpleUser
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from detent.adapters.faces.a2a.faults import require_a2a
from detent.adapters.faces.entrance import (
    Entrance,
    ThreadOf,
    TurnedAwayError,
    agent_of,
    body_of,
    own_threads,
)
from detent.adapters.faces.replies import as_response, turned_away
from detent.adapters.hosts.stored import opened
from detent.adapters.web.people import Person, SignIn
from detent.ports.hosting import Host

if TYPE_CHECKING:
    from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
    from a2a.server.tasks import PushNotificationConfigStore

    from detent.adapters.faces.a2a.push import Pushing

CARD = "/.well-known/agent-card.json"


def a2a_app(
    host: Host,
    *,
    url: str,
    sign_in: SignIn | None = None,
    about: Mapping[str, str] | None = None,
    thread_of: ThreadOf = own_threads,
    push: PushNotificationConfigStore | None = None,
    push_to: Callable[[str], Awaitable[bool]] | None = None,
) -> Starlette:
    """An ASGI app that has each agent of a host as an agent of A2A, by JSON-RPC at `/NAME`.

    A task is a run, its context a thread, and what it asks an "input required", which is answered
    by the digest of what was shown. Its card is at `/NAME/.well-known/agent-card.json`, for all.

    Args:
        host: whose agents they are.
        url: where clients reach this app; the cards say it.
        sign_in: says whose a request is: `Tokens`, for "Authorization: Bearer", or a function of
            the app around. Without it only this machine is answered.
        about: what each agent is for, as its card says.
        thread_of: which thread of the host a person means by the name of a context; None is one
            that they may not see. Without it each person has their own.
        push: a store of the SDK, for clients that want to be told where they do not wait; without
            it they cannot.
        push_to: whether a client may have us send to a URL; without it none in private networks.

    Raises:
        ImportError: the extra ``detent[a2a]`` is not installed.
    """
    require_a2a("a2a_app")
    pushing = None
    if push is not None:
        from a2a.utils.push_url_validator import validate_push_notification_url

        from detent.adapters.faces.a2a.push import Pushing

        pushing = Pushing(push, push_to or validate_push_notification_url)
    entrance = Entrance(sign_in, thread_of)
    face = _Face(host, entrance, url.rstrip("/"), dict(about or {}), pushing)
    return Starlette(
        routes=[
            Route(f"/{{agent}}{CARD}", face.card),
            Route("/{agent}", face.call, methods=["POST"]),
        ],
        lifespan=lambda app: opened(host),
    )


@frozen
class _Face:
    host: Host
    entrance: Entrance
    url: str
    about: Mapping[str, str]
    push: Pushing | None
    _ways: dict[str, JsonRpcDispatcher] = field(factory=dict, init=False)

    async def card(self, request: Request) -> Response:
        from a2a.server.request_handlers.response_helpers import agent_card_to_dict

        from detent.adapters.faces.a2a.words import card_of

        try:
            if self.entrance.sign_in is None:
                await self.entrance.person(request)
            agent = await agent_of(self.host, request.path_params["agent"])
        except TurnedAwayError as error:
            return turned_away(error)
        about = self.about.get(agent.name, f"The agent {agent.name}.")
        is_open, pushes = self.entrance.sign_in is None, self.push is not None
        where = f"{self.url}/{agent.name}"
        card = card_of(agent, where, about, is_open=is_open, pushes=pushes)
        return as_response(agent_card_to_dict(card), headers={"Cache-Control": "no-cache"})

    async def call(self, request: Request) -> Response:
        try:
            request.state.person = await self.entrance.person(request)
            agent = await agent_of(self.host, request.path_params["agent"])
            body: Any = await body_of(request)
        except TurnedAwayError as error:
            return turned_away(error)
        return await self._way(agent.name).handle_requests(_replayed(request, body))

    def _way(self, agent: str) -> JsonRpcDispatcher:
        """What reads requests to an agent, and words their answers."""
        if agent not in self._ways:
            from a2a.server.context import ServerCallContext
            from a2a.server.routes.common import ServerCallContextBuilder, StarletteUser
            from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher

            from detent.adapters.faces.a2a.tasks import Tasks

            class Contexts(ServerCallContextBuilder):
                def build(self, request: Request) -> ServerCallContext:
                    person: Person = request.state.person
                    found = {"headers": dict(request.headers), "person": person}
                    return ServerCallContext(
                        user=StarletteUser(SimpleUser(person.name)),
                        state=found | {"request": request},
                    )

            tasks = Tasks(self.host, self.entrance, agent, self.push)
            self._ways[agent] = JsonRpcDispatcher(tasks, Contexts())
        return self._ways[agent]


def _replayed(request: Request, sent: Any) -> Request:
    """The request, with a body that was read within its bounds."""
    content = json.dumps(sent).encode()

    body = iter([{"type": "http.request", "body": content, "more_body": False}])

    async def receive() -> Any:
        return next(body, None) or await request.receive()

    return Request(request.scope, receive)
