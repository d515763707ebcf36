"""Entrance: who asks, what they have sent, and which conversation they mean."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

from attrs import frozen
from starlette.requests import Request

from detent.adapters.system.threads_and_loops import read_apart
from detent.adapters.web.people import NOBODY_KNOWN, Person, SignIn, TokenSignIn, refusal_of
from detent.adapters.web.protection import LOCAL_NAMES, not_local
from detent.core.codec.json_text import read_json
from detent.ports.hosting import Host, HostedAgent

T = TypeVar("T")

BODY_BYTES = 4_000_000
"""How much a client may send: front ends send the whole conversation each time."""
NAME_MAX = 200
"""How long the name of a thread or of a run may be that a client gives."""

ThreadOf: TypeAlias = Callable[[Person, str], str | None]
"""The thread that a person means by a name; None is one that they may not see."""


def own_threads(person: Person, name: str) -> str | None:
    """Each person has their own: nobody can name somebody else's."""
    return f"{quote(person.name, safe='')}/{name}"


class TurnedAwayError(Exception):
    """A request that is not answered. It never leaves the face.

    Attributes:
        status: of HTTP.
        code: why, in a word for programs.
        text: why, in a sentence.
    """

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status, self.code, self.text = status, code, text


@frozen
class Entrance:
    """Lets people in.

    Attributes:
        sign_in: says whose a request is; for `Tokens` the one that stands behind "Bearer". Without
            it only this machine is answered, as "local".
        thread_of: which thread they mean.
    """

    sign_in: SignIn | None
    thread_of: ThreadOf

    async def person(self, request: Request) -> Person:
        """Whose request it is. Raises TurnedAwayError."""
        wrong = "this key is nobody's, or there is none"
        if isinstance(self.sign_in, TokenSignIn):
            if self.sign_in.is_unknown:
                raise TurnedAwayError(503, "nobody_known", NOBODY_KNOWN)
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            is_bearer = scheme.lower() == "bearer"
            found = self.sign_in.person(token.strip()) if is_bearer else None
        elif self.sign_in is not None:
            found = await self.sign_in(request)
        else:
            elsewhere = not_local(request)
            wrong = elsewhere or wrong
            is_ours = elsewhere is None and request.url.hostname in _LOCAL
            found = Person("local") if is_ours else None
        if found is None:
            raise TurnedAwayError(401, "unauthorized", wrong)
        if refused := refusal_of(request, found):
            raise TurnedAwayError(403, "read_only", refused)
        return found

    def thread(self, person: Person, name: str) -> str:
        """The thread that they mean. Raises TurnedAwayError."""
        found = self.thread_of(person, name) if is_name(name) else None
        if not found:
            raise TurnedAwayError(404, "thread_not_found", "there is no such thread")
        return found


_LOCAL = frozenset(name.strip("[]") for name in LOCAL_NAMES)


def is_name(text: str) -> bool:
    """Whether a thread or a run may be called that."""
    return 0 < len(text) <= NAME_MAX and text.isprintable()


def name_of(*parts: str) -> str:
    """The id of a run, made of names that others give: the same for the same names."""
    text = json.dumps(parts)  # a list: ("a", "bc") is not ("ab", "c")
    return hashlib.sha256(text.encode()).hexdigest()[:32]


async def agent_of(host: Host, name: str, code: str = "unknown_agent") -> HostedAgent:
    """The agent that a request names. Raises TurnedAwayError."""
    for agent in await host.agents():
        if agent.name == name:
            return agent
    raise TurnedAwayError(404, code, "this host has no such agent")


def _as_sent(body: Any) -> Any:
    return body


async def body_of(request: Request, meaning: Callable[[Any], T] = _as_sent) -> T:
    """What was sent, as JSON, and what that means to a face. Raises TurnedAwayError.

    Of another type it is not read: a page of another site can send text without asking. A large one
    is read in a thread.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise TurnedAwayError(415, "not_json", "send JSON, with Content-Type: application/json")
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > BODY_BYTES:
            raise TurnedAwayError(413, "too_large", f"at most {BODY_BYTES} bytes are read")
    return await read_apart(len(read), lambda: meaning(_json_in(read)))


def _json_in(read: bytearray) -> Any:
    try:
        body = read_json(read)
        json.dumps(body, ensure_ascii=False).encode()  # half a character can be sent nowhere
    except ValueError:
        raise TurnedAwayError(400, "not_json", "the body is no JSON of whole characters") from None
    return body
