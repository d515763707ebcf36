"""What every request of the JSON face must have: who asks, and JSON that says what it should."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any

from attrs import frozen
from starlette.requests import Request
from starlette.responses import Response

from detent.adapters.system.threads_and_loops import NoThreadError, read_apart
from detent.adapters.web.people import (
    NOBODY_KNOWN,
    Person,
    SignIn,
    TokenSignIn,
    refusal_of,
    while_known,
)
from detent.adapters.web.protection import not_local, other_site
from detent.adapters.web.rendering import json_response
from detent.core.codec.json_text import read_json
from detent.core.errors import StoredDataError
from detent.core.values.checks import meant
from detent.ports.journal import JournalError, RunNotFoundError
from detent.ports.listing import RunQuery, UnknownAgentError

NOT_SIGNED_IN = 401
NO_SUCH_QUERY = 400
PAGING = ("limit", "before")
"""What every query for a page may say."""
BODY_BYTES = 1_000_000
"""How long what is sent may be."""
LIMIT_MAX = 1_000
"""How many runs a page may have."""
Answer = Callable[[Request], Awaitable[Response]]


@frozen
class ApiError(Exception):
    """A request that is answered with an error."""

    status: int
    why: str
    text: str
    faults: tuple[str, ...] = ()


def answered(handler: Answer, sign_in: SignIn | None) -> Answer:
    """The handler, for who has shown who they are, and may ask that."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        request.state.person = person = await person_of(request, sign_in)
        if text := refusal_of(request, person):
            raise ApiError(403, "read_only", text)
        return while_known(await handler(request), sign_in, person)

    return said_in_json(guarded)


def said_in_json(handler: Answer) -> Answer:
    """The handler; what goes wrong is JSON as well."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except ApiError as error:
            return _error(error)
        except RunNotFoundError as error:
            return _error(ApiError(404, "unknown_run", str(error)))
        except UnknownAgentError as error:
            return _error(ApiError(409, "other_agent", str(error)))
        except StoredDataError as error:
            return _error(ApiError(409, "unreadable", str(error)))
        except JournalError as error:
            return _error(ApiError(503, "no_store", str(error)))
        except NoThreadError:
            text = "this process is given no further thread: nothing was done, try again later"
            return _error(ApiError(503, "full", text))
        except ValueError as error:
            return _error(ApiError(422, "invalid", str(error)))

    return guarded


def _error(error: ApiError) -> Response:
    details = {"why": error.why, "text": error.text, "faults": [*error.faults]}
    headers = {"WWW-Authenticate": "Bearer"} if error.status == NOT_SIGNED_IN else None
    return json_response({"error": details}, error.status, headers)


async def person_of(request: Request, sign_in: SignIn | None) -> Person:
    """Who asks. Raises ApiError where they have not shown it."""
    if sign_in is None:
        if text := not_local(request):
            raise ApiError(403, "not_local", text)
        return Person("local")
    if isinstance(sign_in, TokenSignIn):
        if sign_in.is_unknown:
            raise ApiError(503, "nobody_known", NOBODY_KNOWN)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        is_token = scheme.lower() == "bearer"
        person = sign_in.holder(request, token.strip()) if is_token else None
        text = "say who you are: Authorization: Bearer, and your token"
    else:
        person, text = await sign_in(request), "you are not signed in"
    if person is None:
        raise ApiError(NOT_SIGNED_IN, "not_signed_in", text)
    return person


def read_first(handler: Answer) -> Answer:
    """The handler, for an object of JSON that no page of another site can send."""

    @wraps(handler)
    async def reading(request: Request) -> Response:
        if other_site(request):
            raise ApiError(403, "other_site", "it comes from another site")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            text = f"expected JSON, Content-Type: application/json, got {kind or 'no type'}"
            raise ApiError(415, "invalid", text)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > BODY_BYTES:
                raise ApiError(413, "invalid", f"expected at most {BODY_BYTES:,} bytes")
        try:
            content = await read_apart(len(body), partial(read_json, body))
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise ApiError(422, "invalid", "expected an object of JSON")
        request.state.said = content
        return await handler(request)

    return reading


def members_of(request: Request, optional: Sequence[str] = (), **kinds: type) -> list[Any]:
    """What a request says by these names, each of its type, and nothing else."""
    content: dict[str, Any] = request.state.said
    if more := sorted(content.keys() - kinds.keys()):
        text = f"expected {', '.join(kinds)}; got {more[0]!r} as well{meant(more[0], kinds)}"
        raise ApiError(422, "invalid", text)
    for name, kind in kinds.items():
        is_left_out = name in optional and content.get(name) is None
        if not (is_left_out or isinstance(content.get(name), kind)):
            raise ApiError(422, "invalid", f"{name}: expected {kind.__name__}")
    return [content.get(name) for name in kinds]


def query_of(request: Request, *names: str) -> Mapping[str, str]:
    """What a query says by these names, and nothing else: a misspelt filter lets every run through.

    RULE: each endpoint with a query reads it by this.
    """
    query = request.query_params
    for name in sorted(query.keys() - names):
        text = f"expected no more than {', '.join(names)}, got {name[:40]!r}{meant(name, names)}"
        raise ApiError(NO_SUCH_QUERY, "invalid", text)
    try:
        RunQuery(query.get("status"))
    except ValueError as error:
        raise ApiError(NO_SUCH_QUERY, "invalid", str(error)) from None
    return query


def page_of(query: Mapping[str, str]) -> dict[str, Any]:
    """Which page is asked for, and of which runs."""
    named = {name: query[name] for name in query.keys() - PAGING}
    limit = whole("limit", query.get("limit", "50"))
    before = read_json(query["before"]) if "before" in query else None
    if before is not None and not isinstance(before, list):
        raise ValueError("before is the `next` of a page, as JSON: [time, id]")
    return {**named, "limit": min(limit, LIMIT_MAX), "before": before}


def whole(name: str, text: str) -> int:
    """A whole number. Raises ApiError where it is none."""
    try:
        return int(text)
    except ValueError:
        raise ApiError(422, "invalid", f"{name}: expected a number, got {text[:40]!r}") from None
