"""Protection: what another site has made does nothing here, and no page runs foreign code."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from detent.adapters.web.people import Person

TOKEN = "csrf"  # noqa: S105 - the name of a field
PAGE = "detent-page"
"""In what header a page that asks for a part of itself says whose it is: by the token of a form."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What each answer says: https://developer.mozilla.org/docs/Web/HTTP/Headers."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
"""The hosts that a page may be asked of as long as nobody signs in: a page of another site that has
its name point here is asked of that name."""


class Headers:
    """Adds the protecting headers to all answers; pages are kept by no cache."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Of ASGI."""

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, protected if scope["type"] == "http" else send)


class NamedHosts:
    """Answers requests to these names alone, but for probes, which ask an address by its number.

    RULE: a probe is told whether this lives or is ready, and nothing else, so that no page of
    another site learns anything by a name that it has point here.
    """

    def __init__(self, app: ASGIApp, names: Sequence[str], probes: Sequence[str]) -> None:
        self._app, self._probes = app, probes
        self._named = TrustedHostMiddleware(app, allowed_hosts=names, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Of ASGI."""
        path = str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
        app = self._app if path in self._probes else self._named
        await app(scope, receive, send)


def form_token(request: Request, person: Person | None) -> str:
    """What a form must carry that somebody is shown in this session.

    RULE: it is theirs alone. An app around may have another person sign in, in the same browser:
    what the one was shown is then not sent in the name of the other.
    """
    secret: Any = request.session.setdefault(TOKEN, secrets.token_urlsafe())
    return _token_of(str(secret), person)


def _token_of(secret: str, person: Person | None) -> str:
    whose = "" if person is None else f"of {person.name}"
    return hmac.new(secret.encode(), whose.encode(errors="replace"), hashlib.sha256).hexdigest()


def forgery(request: Request, person: Person | None, token: str) -> str | None:
    """Why a request that changes something was not sent by a page of ours; None if it was.

    Args:
        request: what came.
        person: whose request it is; None is somebody who has not signed in.
        token: what its form has carried.
    """
    if other_site(request):
        return "it comes from another site"
    if not _is_theirs(request, person, token):
        return "its form is not of this session, or of somebody else: open the page again"
    return None


def is_of_somebody_else(request: Request, person: Person | None) -> bool:
    """Whether a page asks for a part of itself that was shown to another person.

    RULE: forms that are put into it would be those of this one, under the name of the other.
    """
    token = request.headers.get(PAGE)
    return token is not None and not _is_theirs(request, person, token)


def _is_theirs(request: Request, person: Person | None, token: str) -> bool:
    secret = str(request.session.get(TOKEN, ""))
    known = _token_of(secret, person)
    return bool(secret) and hmac.compare_digest(known.encode(), token.encode(errors="replace"))


def other_site(request: Request) -> bool:
    """Whether a browser says that a page of another site has sent a request."""
    return request.headers.get("sec-fetch-site") not in {None, "same-origin", "none"}


FORWARDED = ("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip")
"""What proxies say of a request that is somebody else's, beside all that begins with x-forwarded.
One that says nothing cannot be told from a program of this machine."""


def not_local(request: Request) -> str | None:
    """Why a request is not from this machine, and what to do; None if it is."""
    if any(name in FORWARDED or name.startswith("x-forwarded") for name in request.headers):
        return (
            "this came by a proxy, and nobody can sign in here, so that only this machine is "
            "answered: give the app sign_in=…"
        )
    if _is_loopback(request):
        return None
    return "nobody can sign in here, so that only this machine is answered"


def _is_loopback(request: Request) -> bool:
    if request.client is None:
        return False
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:
        return False
