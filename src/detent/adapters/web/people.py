"""People: who may use the web face, and how they say who they are."""

from __future__ import annotations

import hmac
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Mapping,
)
from hashlib import sha256
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Self, TypeAlias

from attrs import field, frozen
from attrs.validators import min_len
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from detent.core.values.checks import meant

LOGGER = logging.getLogger("detent.people")
NAME, SINCE, MARK = "name", "since", "mark"
"""Where a session keeps who has signed in, when, and by which token."""
SESSION_S = 12 * 60 * 60
"""How long a session lasts, in seconds, however often it is used."""
SHORTEST = 16
"""So many characters a token needs at least."""
READ_ONLY = "read-only"
"""The mark on a line of who may only look."""
ALIKE = 0.8
"""So alike is what was meant as that mark: `meant`."""
LOOKING = frozenset({"GET", "HEAD"})
"""The methods of requests that change nothing."""
STEP_S = 2.0
"""The longest step in which a file system counts when a file was written to."""
NOBODY_KNOWN = (
    "nobody is let in at the moment, as it cannot be read who may sign in: the log of this "
    "service says why"
)
Part: TypeAlias = str | bytes | memoryview
Stamp: TypeAlias = tuple[int, ...]


@frozen
class Person:
    """Somebody who has shown who they are.

    Attributes:
        name: what is written down as `by` with each of their decisions, where the agent has no
            `approvers`.
        credential: what the agent's `approvers` know them by; it goes with each decision.
        is_read_only: whether they may look, and change nothing: no run is begun, decided about,
            told more, cancelled or tried again in their name.
    """

    name: str = field(validator=min_len(1))
    credential: str | None = field(default=None, repr=False)
    is_read_only: bool = False


SignIn: TypeAlias = Callable[[Request], Awaitable[Person | None]]
"""Says whose a request is, by what the app around has found out; None is nobody's."""


class TokenSignIn(ABC):
    """People who sign in by a secret of their own: its holder is whom it names.

    RULE: the token goes with each decision as its credential, found here by whoever has signed in.
    An agent's `approvers` judge it by themselves, and no request can name somebody else.
    """

    __slots__ = ()

    @abstractmethod
    def people(self) -> Collection[Person]:
        """Everybody who may sign in now, each with their token as the credential."""

    @property
    def is_unknown(self) -> bool:
        """Whether nobody is let in because it cannot be said who may."""
        return False

    def person(self, token: str) -> Person | None:
        """Whose token it is. All are compared, so that the time that it takes says nothing."""
        code = token.encode()
        found = [
            person
            for person in self.people()
            if hmac.compare_digest((person.credential or "").encode(), code)
        ]
        return found[0] if found else None

    def knows(self, person: Person) -> bool:
        """Whether somebody who was let in before would be let in now, as the same one."""
        return self.person(person.credential or "") == person

    def holder(self, request: Request, token: str) -> Person | None:
        """Whose token a request shows; the log says where one is from that nobody has."""
        person = self.person(token)
        if person is None and not self.is_unknown:
            where = "?" if request.client is None else request.client.host
            LOGGER.warning("a token that nobody has was shown, from %s", where)
        return person

    def begin(self, request: Request, token: str) -> Person | None:
        """Sign somebody in by their token; None is nobody, and changes nothing.

        RULE: what was known of this session before, others may know.
        """
        person, session = self.holder(request, token), request.session
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
        for one in self.people():
            if (_mark_of(one.credential or ""), one.name) == (mark, name):
                return one
        return None


def _mark_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()


@frozen
class Tokens(TokenSignIn):
    """People who sign in by a secret of their own, as a program names them.

    Attributes:
        names: the name of each person, by their token: at least 16 characters, e.g. of
            ``secrets.token_urlsafe()``.
        read_only: those of the tokens whose holders may look, and change nothing.

    Raises:
        ValueError: there is none, one of them can be guessed, or one that is read-only is nobody's.
    """

    names: Mapping[str, str] = field(repr=False)
    read_only: Collection[str] = field(default=(), repr=False)

    def __attrs_post_init__(self) -> None:
        if not self.names:
            raise ValueError("nobody could sign in: Tokens needs at least one token")
        if not all(self.names.values()):
            raise ValueError("a token is nobody's: each has the name of a person")
        if any(len(token) < SHORTEST for token in self.names):
            raise ValueError(
                f"a token is too short: it needs {SHORTEST} characters, of secrets.token_urlsafe()"
            )
        if isinstance(self.read_only, str) or not self.names.keys() >= set(self.read_only):
            raise ValueError("read_only has a token that is nobody's: it names some of the tokens")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Those in a file, as it is now; `TokenFile` looks again.

        It has a line for each, with a name, a space and a token; one that begins with # says
        nothing. Who may only look has "read-only" between the two.

        Raises:
            ValueError: it is no text, a line is none, a token is said twice, or can be guessed.
                None is shown.
            OSError: the file cannot be read.
        """
        names, read_only = dict[str, str](), list[str]()
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path}: expected text, in UTF-8") from None
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            words, _, token = line.strip().rpartition(" ")
            name, fault = _without_mark(words.strip())
            if fault or not name or token in names:
                what = fault or (
                    "has a token that stands above" if name else "is no name and token"
                )
                raise ValueError(f"{path}: line {number} {what}")
            names[token] = name
            read_only += [token] if name != words.strip() else []
        try:
            return cls(names, read_only)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def people(self) -> Collection[Person]:
        """Everybody who may sign in."""
        return [Person(name, token, token in self.read_only) for token, name in self.names.items()]


def _without_mark(words: str) -> tuple[str, str]:
    """The name on a line, without the mark of who may only look; and what is wrong with that.

    RULE: a mark that is misspelt is none, and would let in somebody who may do all.
    """
    name, _, last = words.rpartition(" ")
    if last == READ_ONLY:
        return name.strip(), ""
    for word in words.split(" "):
        if meant("".join(filter(str.isalpha, word.lower())), ["readonly"], ALIKE):
            return words, f"has {word!r}; did you mean {READ_ONLY!r}, right before the token?"
    return words, ""


class TokenFile(TokenSignIn):
    """The same people, as a file has them at each moment: what is changed there counts at once.

    RULE: it is looked at whenever somebody asks. Whose line is taken out is let in no more, with
    none of their sessions. While the file cannot be read, or a line of it is wrong, nobody is let
    in: whoever takes a token out of it, and makes a mistake beside, must not believe it gone
    while it still opens everything. The log says what is wrong; all come in again once it is right.

    Args:
        path: the file; see `Tokens.read`.

    Raises:
        ValueError: it is none, when this is made.
        OSError: it cannot be read then.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path, self._lock = Path(path), Lock()
        self._stamp = _stamp_of(self._path)
        self._people = self._known = Tokens.read(self._path).people()
        self._fault: str | None = None

    def people(self) -> Collection[Person]:
        """Everybody who may sign in now."""
        with self._lock:
            stamp = _stamp_of(self._path)
            if stamp is None or stamp != self._stamp:
                self._stamp = stamp
                self._read()
            return self._people

    @property
    def is_unknown(self) -> bool:
        """Whether nobody is let in because the file cannot be read, or is none."""
        self.people()
        return self._fault is not None

    def _read(self) -> None:
        people, fault = self._found()
        if fault is not None and fault != self._fault:
            LOGGER.error("nobody is let in, as it cannot be read who may sign in: %s", fault)
        elif fault is None and self._fault is not None:
            LOGGER.warning("%s can be read again: who stands in it is let in", self._path)
        self._people, self._fault = people, fault
        if fault is not None:
            return
        gone, new = (
            sum(one not in others for one in some)
            for some, others in ((self._known, people), (people, self._known))
        )
        if gone or new:
            text = "who may sign in has changed: %d stand there no more as they did, %d are new"
            LOGGER.info(text, gone, new)
        self._known = people

    def _found(self) -> tuple[Collection[Person], str | None]:
        """Who stands in the file; nobody, and why, where that cannot be said."""
        try:
            return Tokens.read(self._path).people(), None
        except ValueError as error:
            return (), str(error)
        except OSError as error:
            return (), f"{self._path}: {error.strerror}"


def _stamp_of(path: Path) -> Stamp | None:
    """By what one sees that a file was written to; None is that it must be read to know.

    RULE: times of files have steps. One that was written to just now may be once more within the
    same, and look as it did.
    """
    try:
        seen = path.stat()
    except OSError:
        return None
    if time.time() - max(seen.st_ctime, seen.st_mtime) < STEP_S:
        return None
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def refusal_of(request: Request, person: Person) -> str | None:
    """Why somebody may not make a request: they may look, and it changes something. None: they may.

    RULE: it goes by the method, and not by a list of what changes something: whatever is added is
    refused as well.
    """
    if person.is_read_only and request.method not in LOOKING:
        return "you may look, and change nothing: your token is read-only"
    return None


def while_known(answer: Response, sign_in: SignIn | None, person: Person) -> Response:
    """The answer, which says nothing more once whose request it was is let in no longer.

    RULE: a stream goes on for as long as a run: whose token is taken away is still listening.
    """
    if isinstance(answer, StreamingResponse) and isinstance(sign_in, TokenSignIn):
        answer.body_iterator = _while_known(answer.body_iterator, sign_in, person)
    return answer


async def _while_known(
    parts: AsyncIterable[Part], sign_in: TokenSignIn, person: Person
) -> AsyncGenerator[Part]:
    async for part in parts:
        if not sign_in.knows(person):
            return
        yield part
