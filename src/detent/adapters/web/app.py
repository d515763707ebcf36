"""The app: which page is where, who may open it, and what each answer says for its protection."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.status import HTTP_404_NOT_FOUND

from detent.adapters.hosts.stored import opened
from detent.adapters.web import decided, inbox, live, moments, overview, runs
from detent.adapters.web.api.health import alive, probe
from detent.adapters.web.api.routes import api_routes
from detent.adapters.web.people import (
    NOBODY_KNOWN,
    SESSION_S,
    SHORTEST,
    Person,
    SignIn,
    TokenSignIn,
    refusal_of,
    while_known,
)
from detent.adapters.web.protection import (
    LOCAL_NAMES,
    Headers,
    NamedHosts,
    forgery,
    is_of_somebody_else,
    not_local,
)
from detent.adapters.web.rendering import base_of, page
from detent.ports.hosting import Host
from detent.ports.journal import JournalError

Page = Callable[[Request], Awaitable[Response]]
HEALTH, ALIVE = "/health", "/alive"
FORM_BYTES, FORM_FIELDS = 1_000_000, 2_000
"""How large a form may be."""


def web_app(
    host: Host,
    *,
    sign_in: SignIn | None = None,
    secret: str | None = None,
    allowed_hosts: Sequence[str] | None = None,
    https_only: bool = False,
) -> Starlette:
    """An ASGI app with the inbox and the runs of a host, to serve or to mount into another app.

    Args:
        host: whose runs are shown, and who is told what people decide.
        sign_in: says who somebody is: `Tokens`, a `TokenFile`, or a function of the app around.
            Without it only requests from this machine to this machine's own names are answered, and
            whoever makes them is called "local".
        secret: what sessions are signed with, of 16 characters or more; without it one is drawn,
            and sessions end with the process. Several processes need the same.
        allowed_hosts: the names that this app answers to; without them any, but for an app without
            `sign_in`. Where people sign in, ``/health`` and ``/alive`` answer to any, as a probe
            asks a number.
        https_only: whether the session's cookie is only sent over HTTPS.

    Raises:
        ValueError: the secret can be guessed.
    """
    if secret is not None and len(secret) < SHORTEST:
        raise ValueError(
            f"secret is too short: it needs {SHORTEST} characters, of secrets.token_urlsafe()"
        )
    names = allowed_hosts or (["*"] if sign_in else LOCAL_NAMES)
    app = Starlette(
        routes=_routes(sign_in),
        exception_handlers={JournalError: _no_store, HTTP_404_NOT_FOUND: _no_page},
        lifespan=lambda app: opened(host),
        middleware=[
            Middleware(Headers),
            Middleware(NamedHosts, names=list(names), probes=(HEALTH, ALIVE) if sign_in else ()),
            Middleware(
                SessionMiddleware,
                secret_key=secret or secrets.token_urlsafe(),
                session_cookie="detent",
                same_site="strict",
                https_only=https_only,
                max_age=SESSION_S,
            ),
        ],
    )
    app.state.host, app.state.overview = host, overview.Overview()
    app.state.sign_in = sign_in
    return app


PAGES: Mapping[str, Page] = {
    "/": inbox.inbox,
    "/question/{digest}/{run_id:path}": inbox.question,
    "/decided": decided.decided,
    "/runs": runs.runs,
    "/run/{run_id:path}": runs.run,
    "/raw/{run_id:path}": runs.raw,
    "/moment/{run_id:path}": moments.moment,
    "/proof/{run_id:path}": moments.proof,
    "/compare": moments.compare,
    "/overview": overview.overview,
    "/live/questions": live.questions,
    "/live/run/{run_id:path}": live.run,
}
"""The pages, and what they listen to."""
PARTS: Mapping[str, Page] = {
    "/part/questions": inbox.questions,
    "/part/decided": decided.decided_part,
    "/part/run/{run_id:path}": runs.run_part,
    "/part/moment/{run_id:path}": moments.moment_part,
}
"""The parts of a page that are asked for again."""
CHANGING: Mapping[str, Page] = {
    "/decide": inbox.decide,
    "/decide-many": inbox.decide_many,
    "/begin": runs.begin,
    "/fork": moments.fork,
    "/cancel": runs.cancel,
    "/go-on": runs.go_on,
    "/try-again": runs.try_again,
    "/revoke": runs.revoke,
}
"""What takes a form."""


def _routes(sign_in: SignIn | None) -> list[Route | Mount]:
    routes: list[Route | Mount] = [
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        *(Route(path, _for_known_people(handler, sign_in)) for path, handler in PAGES.items()),
        *(
            Route(path, _for_known_people(_of_own_page(handler), sign_in))
            for path, handler in PARTS.items()
        ),
        *(
            Route(path, _for_known_people(_ours(handler), sign_in), methods=["POST"])
            for path, handler in CHANGING.items()
        ),
    ]
    routes += [Route(HEALTH, probe(sign_in)), Route(ALIVE, alive(sign_in)), *api_routes(sign_in)]
    if isinstance(sign_in, TokenSignIn):
        routes += [
            Route("/sign-in", _sign_in_page, methods=["GET"]),
            Route("/sign-in", _ours(_signing_in(sign_in)), methods=["POST"]),
            Route("/sign-out", _signing_out(sign_in), methods=["POST"]),
        ]
    return routes


def _for_known_people(handler: Page, sign_in: SignIn | None) -> Page:
    """The page, for people who have shown who they are, and may ask that."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        if sign_in is None:
            if text := not_local(request):
                return _refused(request, 403, text)
            person: Person | None = Person("local")
        else:
            person = await sign_in(request)
        if person is None:
            return _nobody(request, sign_in)
        if text := refusal_of(request, person):
            return _refused(request, 403, f"This was not done: {text}.", person)
        request.state.person = person
        return while_known(await handler(request), sign_in, person)

    return guarded


def _of_own_page(handler: Page) -> Page:
    """The part of a page, for whom the page was shown to; to others all of it is shown anew."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        if is_of_somebody_else(request, request.state.person):
            return Response(status_code=204, headers={"HX-Refresh": "true"})
        return await handler(request)

    return guarded


def _refused(request: Request, status: int, text: str, person: Person | None = None) -> Response:
    request.state.person = person
    return page(request, "refused.html", status, text=text, details=())


def _nobody(request: Request, sign_in: SignIn | None) -> Response:
    """What answers a request of which nobody knows whose it is."""
    if not isinstance(sign_in, TokenSignIn):
        return _refused(request, 401, "you are not signed in")
    if sign_in.is_unknown:
        return _refused(request, 503, NOBODY_KNOWN)
    return RedirectResponse(f"{base_of(request)}/sign-in", 303)


def _ours(handler: Page) -> Page:
    """The handler, for forms that a page of this session has sent."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        async with request.form(max_fields=FORM_FIELDS, max_files=0) as form:
            person: Person | None = getattr(request.state, "person", None)
            why = forgery(request, person, str(form.get("csrf", "")))
            if why is not None:
                text = f"This was not done: {why}."
                return page(request, "refused.html", 403, text=text, details=())
            request.state.form = form
            return await handler(request)

    return guarded


async def _no_store(request: Request, error: Exception) -> Response:
    """A page cannot be made as the store cannot be asked: what is in it stands."""
    text = "the store of the runs cannot be read or written at the moment; nothing was lost"
    return page(request, "refused.html", 503, text=text, details=(str(error),))


async def _no_page(request: Request, _: Exception) -> Response:
    """Whoever has mistyped an address finds the way back."""
    return page(request, "refused.html", 404, text="There is no such page.", details=())


async def _sign_in_page(request: Request) -> Response:
    return page(request, "sign_in.html", failed=False)


def _signing_in(tokens: TokenSignIn) -> Page:
    async def sign_in(request: Request) -> Response:
        token = str(request.state.form.get("token", "")).strip()
        if tokens.begin(request, token) is None:
            if tokens.is_unknown:
                return _refused(request, 503, NOBODY_KNOWN)
            return page(request, "sign_in.html", 403, failed=True)
        return RedirectResponse(f"{base_of(request)}/", 303)

    return sign_in


def _signing_out(tokens: TokenSignIn) -> Page:
    async def end(request: Request) -> Response:
        request.session.clear()
        return RedirectResponse(f"{base_of(request)}/sign-in", 303)

    async def sign_out(request: Request) -> Response:
        request.state.person = await tokens(request)  # who may only look may go as well
        return (
            _nobody(request, tokens) if request.state.person is None else await _ours(end)(request)
        )

    return sign_out
