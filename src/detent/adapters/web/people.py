"""People: who may use the web face, and how they say who they are."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from attrs import field, frozen
from attrs.validators import min_len
from starlette.requests import Request

NAME = "name"
"""Where a session keeps who has signed in."""
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

    async def __call__(self, request: Request) -> Person | None:
        """Who has signed in before, in this session."""
        name = str(request.session.get(NAME, ""))
        return Person(name) if name in self.names.values() else None
