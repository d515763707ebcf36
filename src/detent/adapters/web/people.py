"""People: who may use the web face, and how they say who they are."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any, TypeAlias

from attrs import field, frozen
from attrs.validators import min_len
from starlette.requests import Request

NAME, SINCE, MARK = "name", "since", "mark"
"""Where a session keeps who has signed in, when, and by which token."""
SESSION_S = 12 * 60 * 60
"""How long a session lasts, in seconds, however often it is used."""
SHORTEST = 16
"""So many characters a token needs at least."""


@frozen
class Person:
    """Somebody who has shown who they are.

    Attributes:
        name: what is written down as `by` with each of their decisions, where the agent has no
            `approvers`.
        credential: what the agent's `approvers` know them by; it goes with each decision.
    """

    name: str = field(validator=min_len(1))
    credential: str | None = field(default=None, repr=False)


SignIn: TypeAlias = Callable[[Request], Awaitable[Person | None]]
"""Says whose a request is, by what the app around has found out; None is nobody's."""


@frozen
class Tokens:
    """People who sign in by a secret of their own: its holder is whom it names.

    Attributes:
        names: the name of each person, by their token: at least 16 characters, e.g. of
            ``secrets.token_urlsafe()``.

    Raises:
        ValueError: there is none, or one of them can be guessed.
    """

    names: Mapping[str, str] = field(repr=False)

    def __attrs_post_init__(self) -> None:
        if not self.names:
            raise ValueError("nobody could sign in: Tokens needs at least one token")
        if not all(self.names.values()):
            raise ValueError("a token is nobody's: each has the name of a person")
        if any(len(token) < SHORTEST for token in self.names):
            raise ValueError(
                f"a token is too short: it needs {SHORTEST} characters, of secrets.token_urlsafe()"
            )

    def person(self, token: str) -> Person | None:
        """Whose token it is. All are compared, so that the time that it takes says nothing."""
        found = [
            name
            for known, name in self.names.items()
            if hmac.compare_digest(known.encode(), token.encode())
        ]
        return Person(found[0]) if found else None

    def begin(self, session: dict[str, Any], token: str) -> Person | None:
        """Sign somebody in by their token; None is nobody, and changes nothing.

        RULE: what was known of this session before, others may know.
        """
        person = self.person(token)
        if person is not None:
            session.clear()
            session |= {NAME: person.name, SINCE: time.time(), MARK: _mark_of(token)}
        return person

    async def __call__(self, request: Request) -> Person | None:
        """Who has signed in before, in this session.

        RULE: a cookie may have been copied. It is worth nothing once the token is replaced, or its
        time is over.
        """
        session = request.session
        name, since, mark = (session.get(key) for key in (NAME, SINCE, MARK))
        if not isinstance(since, int | float) or time.time() - since >= SESSION_S:
            return None
        known = {(_mark_of(token), name) for token, name in self.names.items()}
        return Person(str(name)) if (mark, name) in known else None


def _mark_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()
