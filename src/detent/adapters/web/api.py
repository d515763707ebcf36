"""The JSON face: what the pages show and send, for programs, and for `detent runs --host`.

Who asks shows who they are as on the pages: by a token of `Tokens`, as ``Authorization: Bearer``,
or by what the app around has found out. What changes something takes JSON alone, which no form of
another site can send, and `by` is whose request it is, never what the request says.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import wraps
from typing import Any

from attrs import asdict, evolve, frozen
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from detent.adapters.hosts.stored import HostHealth
from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.finding import entries_of, host_of, plain_entries, plain_entry, secret_in
from detent.adapters.web.live import event, stream, with_pauses
from detent.adapters.web.people import Person, SignIn, Tokens
from detent.adapters.web.protection import is_local, other_site
from detent.adapters.web.rendering import json_response
from detent.adapters.web.shown import secret_names
from detent.core.chat.messages import ChatMessage
from detent.core.codec.json_text import read_json
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.errors import StoredDataError
from detent.core.run.events import CancelRequested, MessageReceived
from detent.core.values.checks import meant
from detent.ports.hosting import Accepted, Host, HostRefusal, UnknownAgentError
from detent.ports.journal import Entry, JournalError, RunNotFoundError
from detent.ports.listing import RunQuery

VERSION = 1
"""Of what is asked and answered: a change that breaks a client is another one."""
NOT_SIGNED_IN = 401
NO_SUCH_QUERY = 400
PAGING = ("limit", "before")
"""What every query for a page may say."""
BODY_BYTES = 1_000_000
"""How long what is sent may be."""
LIMIT_MAX = 1_000
"""How many runs a page may have."""
Answer = Callable[[Request], Awaitable[Response]]
STATUSES: Mapping[str, int] = {
    "unknown_run": 404,
    "unknown_agent": 404,
    "invalid": 422,
    "full": 503,
    "shutting_down": 503,
}
"""What a refusal is in HTTP; any other one is a conflict with what is stored."""


@frozen
class ApiError(Exception):
    """A request that is answered with an error."""

    status: int
    why: str
    text: str
    faults: tuple[str, ...] = ()


def api_routes(sign_in: SignIn | None) -> list[Route]:
    """What is asked for where."""
    reading: dict[str, Answer] = {
        "/api": about,
        "/api/health": health,
        "/api/runs": runs,
        "/api/pending": pending,
        "/api/run/{run_id:path}": run,
        "/api/entries/{run_id:path}": entries,
        "/api/watch/{run_id:path}": watch,
    }
    changing: dict[str, Answer] = {
        "/api/start": begin,
        "/api/decide": decide,
        "/api/cancel": cancel,
        "/api/send": send,
    }
    return [
        *(Route(path, _answered(handler, sign_in)) for path, handler in reading.items()),
        *(
            Route(path, _answered(_read_first(handler), sign_in), methods=["POST"])
            for path, handler in changing.items()
        ),
    ]


def _answered(handler: Answer, sign_in: SignIn | None) -> Answer:
    """The handler, for who has shown who they are."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        request.state.person = await _person(request, sign_in)
        return await handler(request)

    return _said_in_json(guarded)


def _said_in_json(handler: Answer) -> Answer:
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
        except ValueError as error:
            return _error(ApiError(422, "invalid", str(error)))

    return guarded


def _error(error: ApiError) -> Response:
    details = {"why": error.why, "text": error.text, "faults": [*error.faults]}
    headers = {"WWW-Authenticate": "Bearer"} if error.status == NOT_SIGNED_IN else None
    return json_response({"error": details}, error.status, headers)


async def _person(request: Request, sign_in: SignIn | None) -> Person:
    if sign_in is None:
        if not is_local(request):
            text = "nobody can sign in here, so that only this machine is answered"
            raise ApiError(403, "not_local", text)
        return Person("local")
    if isinstance(sign_in, Tokens):
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        person = sign_in.person(token.strip()) if scheme.lower() == "bearer" else None
        text = "say who you are: Authorization: Bearer, and your token"
    else:
        person, text = await sign_in(request), "you are not signed in"
    if person is None:
        raise ApiError(NOT_SIGNED_IN, "not_signed_in", text)
    return person


def _read_first(handler: Answer) -> Answer:
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
            content = read_json(body)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise ApiError(422, "invalid", "expected an object of JSON")
        request.state.said = content
        return await handler(request)

    return reading


def _members(request: Request, optional: Sequence[str] = (), **kinds: type) -> list[Any]:
    """What a request says by these names, each of its type, and nothing else."""
    content: dict[str, Any] = request.state.said
    if more := sorted(content.keys() - kinds.keys()):
        raise ApiError(422, "invalid", f"expected {', '.join(kinds)}; got {more[0]!r} as well")
    for name, kind in kinds.items():
        is_left_out = name in optional and content.get(name) is None
        if not (is_left_out or isinstance(content.get(name), kind)):
            raise ApiError(422, "invalid", f"{name}: expected {kind.__name__}")
    return [content.get(name) for name in kinds]


def _query(request: Request, *names: str) -> Mapping[str, str]:
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


def _page(query: Mapping[str, str]) -> dict[str, Any]:
    """Which page is asked for, and of which runs."""
    named = {name: query[name] for name in query.keys() - PAGING}
    limit = _whole("limit", query.get("limit", "50"))
    before = read_json(query["before"]) if "before" in query else None
    if before is not None and not isinstance(before, list):
        raise ValueError("before is the `next` of a page, as JSON: [time, id]")
    return {**named, "limit": min(limit, LIMIT_MAX), "before": before}


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ApiError(422, "invalid", f"{name}: expected a number, got {text[:40]!r}") from None


async def about(request: Request) -> Response:
    """Whom the host answers, and which agents it has."""
    agents = [asdict(agent) for agent in await host_of(request).agents()]
    return json_response({"api": VERSION, "you": request.state.person.name, "agents": agents})


async def health(request: Request) -> Response:
    """How the host is."""
    return _of_health(await _health(request))


def probe(sign_in: SignIn | None) -> Answer:
    """Whether the host is ready, for anybody who is let in, as a probe has no token.

    RULE: where nobody can sign in, this machine alone is answered, here as everywhere.
    """

    async def ready(request: Request) -> Response:
        if sign_in is None:
            await _person(request, sign_in)
        return _of_health({"is_ready": (await _health(request))["is_ready"]})

    return _said_in_json(ready)


async def _health(request: Request) -> dict[str, Any]:
    """What a host says of itself; one that says nothing is ready as long as it answers."""
    host = host_of(request)
    tell: Callable[[], HostHealth] | None = getattr(host, "health", None)
    if tell is None:
        await host.agents()
    return {"is_ready": True} if tell is None else asdict(tell())


def _of_health(content: dict[str, Any]) -> Response:
    return json_response(content, 200 if content["is_ready"] else 503)


async def runs(request: Request) -> Response:
    """A page of runs, the one last written to first."""
    query = _query(request, "status", "agent", "thread_id", "label", *PAGING)
    page = _page(query)
    found = await host_of(request).runs(**page)
    following = found[-1].cursor if len(found) == page["limit"] else None
    return json_response({"runs": [asdict(listed) for listed in found], "next": following})


async def pending(request: Request) -> Response:
    """The questions of a page of runs."""
    query = _query(request, "agent", "thread_id", *PAGING)
    found = await host_of(request).pending(**_page(query))
    following = found[-1].cursor if found else None
    return json_response({"pending": [question.to_dict() for question in found], "next": following})


async def run(request: Request) -> Response:
    """A run: what a list says of it, and which calls wait."""
    host = host_of(request)
    hosted = await host.run(request.path_params["run_id"])
    of = [agent.tools for agent in await host.agents() if agent.name == hosted.listed.agent]
    calls = [call.to_dict() for call in hosted.pending]
    content = {
        "run": asdict(hosted.listed),
        "pending": calls,
        "outdated": [asdict(one) for one in hosted.outdated],
        "tools": [*of[0]] if of else [],
    }
    return json_response(content)


async def entries(request: Request) -> Response:
    """What is stored of a run, behind the entry that `after` names. Secrets are masked."""
    host, after = host_of(request), _after(request)
    hosted = await host.run(request.path_params["run_id"])
    found = await entries_of(host, hosted.listed)
    return await in_a_thread(lambda: json_response(plain_entries(hosted, found, after)))


def _after(request: Request) -> int:
    said = _query(request, "after").get("after")
    position = request.headers.get("last-event-id") or said
    return _whole("after", position or "-1")


async def watch(request: Request) -> Response:
    """The same as they come, as server-sent events, until the run has ended."""
    host, after = host_of(request), _after(request)
    hosted = await host.run(request.path_params["run_id"])
    if not -1 <= after < hosted.listed.length:
        raise ApiError(422, "invalid", f"after: the run has {hosted.listed.length} entries")
    secret = secret_in(hosted, await entries_of(host, hosted.listed))
    return stream(_events(host, hosted.listed.run_id, after, set(secret)))


async def _events(host: Host, run_id: str, after: int, secret: set[str]) -> AsyncGenerator[str]:
    try:
        async with (
            aclosing(host.watch(run_id, None if after < 0 else after)) as watched,
            aclosing(with_pauses(watched)) as seen_or_quiet,
        ):
            async for seen in seen_or_quiet:
                if isinstance(seen, Entry):
                    secret.update(secret_names(seen.data))
                    yield event("entry", json.dumps(plain_entry(seen, secret)), str(seen.position))
                elif seen is None:
                    yield ": still here\n\n"
        yield event("ended", run_id)
    except RunNotFoundError:
        yield event("gone", run_id)


async def begin(request: Request) -> Response:
    """Begin a run of an agent. With a `run_id` that is there already, it is that run."""
    names = ("run_id", "thread_id")
    agent, text, run_id, thread_id = _members(
        request, names, agent=str, text=str, run_id=str, thread_id=str
    )
    if not text.strip() or run_id == "":
        what = "run_id: expected a name" if text.strip() else "text: there is nothing to say"
        raise ApiError(422, "invalid", what)
    said, name = [ChatMessage.from_user(text)], request.state.person.name
    done = await host_of(request).start(
        agent, said, run_id=run_id, thread_id=thread_id, started_by=name
    )
    is_new = isinstance(done, Accepted) and done.is_new
    return _outcome(done, by=name, is_new=is_new)


async def decide(request: Request) -> Response:
    """Decide about a call: `decision` is a `ToolExecutionDecision`, with the digest of the call."""
    run_id, data = _members(request, run_id=str, decision=dict)
    person: Person = request.state.person
    for name in ("by", "credential"):
        if data.get(name) is not None:
            raise ApiError(422, "invalid", f"{name}: who decides is whose request it is")
    try:
        decision = ToolExecutionDecision.from_dict(data)
    except StoredDataError as error:
        raise ApiError(422, "invalid", str(error)) from None
    if decision.digest is None:
        raise ApiError(422, "invalid", "digest: expected that of the call, as it was shown")
    whose = evolve(decision, by=person.name, credential=person.credential)
    done = await host_of(request).send(run_id, whose)
    return _outcome(done, by=person.name)


async def cancel(request: Request) -> Response:
    """End a run."""
    run_id, reason = _members(request, run_id=str, reason=str)
    name = request.state.person.name
    done = await host_of(request).send(run_id, CancelRequested(f"{reason} ({name})"))
    return _outcome(done, by=name)


async def send(request: Request) -> Response:
    """Say something more to a run; to one that has ended, in a new run behind it."""
    run_id, text = _members(request, run_id=str, text=str)
    if not text.strip():
        raise ApiError(422, "invalid", "text: there is nothing to say")
    name = request.state.person.name
    message = MessageReceived(ChatMessage.from_user(text), by=name)
    return _outcome(await host_of(request).send(run_id, message), by=name)


def _outcome(done: Accepted | HostRefusal, by: str, **more: bool) -> Response:
    if isinstance(done, HostRefusal):
        status = 422 if done.faults else STATUSES.get(done.why, 409)
        raise ApiError(status, done.why, done.text, done.faults)
    return json_response({"run_id": done.run_id, "by": by, **more})
