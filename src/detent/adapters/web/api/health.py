"""Health: how the host is, for who may look, and for probes, which have no token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from attrs import asdict
from starlette.requests import Request
from starlette.responses import Response

from detent.adapters.hosts.faults import HostHealth
from detent.adapters.web.api.requests import Answer, person_of, said_in_json
from detent.adapters.web.finding import host_of
from detent.adapters.web.people import SignIn
from detent.adapters.web.rendering import json_response
from detent.ports.listing import WaitingQuestions


async def health(request: Request) -> Response:
    """How the host is, and which questions wait: null where its store does not say."""
    content = await _health(request)
    host = host_of(request)
    ask: Callable[[], Awaitable[WaitingQuestions | None]] | None = getattr(host, "questions", None)
    if ask is not None:
        found = await ask()
        content["questions"] = None if found is None else asdict(found)
    return _of_health(content)


def probe(sign_in: SignIn | None) -> Answer:
    """Whether the host is ready, for anybody who is let in, as a probe has no token.

    RULE: where nobody can sign in, this machine alone is answered, here as everywhere.
    """

    async def ready(request: Request) -> Response:
        if sign_in is None:
            await person_of(request, sign_in)
        return _of_health({"is_ready": (await _health(request))["is_ready"]})

    return said_in_json(ready)


def alive(sign_in: SignIn | None) -> Answer:
    """That this process answers at all, to the same who ask whether it is ready: no content.

    RULE: it looks at nothing. Whoever kills a process that does not answer it must kill none whose
    store or engine is away: that helps nobody.
    """

    async def answer(request: Request) -> Response:
        if sign_in is None:
            await person_of(request, sign_in)
        return Response(status_code=204)

    return said_in_json(answer)


async def _health(request: Request) -> dict[str, Any]:
    """What a host says of itself; one that says nothing is ready as long as it answers."""
    host = host_of(request)
    tell: Callable[[], HostHealth] | None = getattr(host, "health", None)
    if tell is None:
        await host.agents()
    return {"is_ready": True} if tell is None else asdict(tell())


def _of_health(content: dict[str, Any]) -> Response:
    return json_response(content, 200 if content["is_ready"] else 503)
