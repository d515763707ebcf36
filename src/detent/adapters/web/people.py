"""People: who may use the web face, and how they say who they are."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeAlias

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

    RULE: the token goes with each decision as its credential, found here by whoever has signed in.
    An agent's `approvers` judge it by themselves, and no request can name somebody else.

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

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Those in a file, as `detent serve --token-file` has it.

        It has a line for each, with a name, a space and a token; one that begins with # says
        nothing.

        Raises:
            ValueError: it is no text, a line is none, a token is said twice, or can be guessed.
                None is shown.
            OSError: the file cannot be read.
        """
        names: dict[str, str] = {}
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path}: expected text, in UTF-8") from None
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, _, token = line.strip().rpartition(" ")
            if not name or token in names:
                what = "has a token that stands above" if name else "is no name and token"
                raise ValueError(f"{path}: line {number} {what}")
            names[token] = name.strip()
        try:
            return cls(names)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def person(self, token: str) -> Person | None:
        """Whose token it is. All are compared, so that the time that it takes says nothing."""
        found = [
            Person(name, known)
            for known, name in self.names.items()
            if hmac.compare_digest(known.encode(), token.encode())
        ]
        return found[0] if found else None

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
        for token, known in self.names.items():
            if (_mark_of(token), known) == (mark, name):
                return Person(known, token)
        return None


def _mark_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()
