"""Secrets: values that are used but never shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable

from attrs import field, frozen

from detent.core.errors import DetentError

LONG = 8
"""A secret with as many characters is found in no word by chance."""


class SecretError(DetentError, ValueError):
    """A secret is missing, or is not one. The message says where it was sought, not what it is."""


class _Hidden:
    """A value in a closure: what prints the attributes of objects, as tracebacks do, finds none."""

    __slots__ = ("read",)
    read: Callable[[], str | Callable[[], str] | None]

    def __init__(self, value: str | Callable[[], str] | None) -> None:
        self.read = lambda: value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hidden) and self.read() == other.read()

    def __hash__(self) -> int:
        return hash(self.read())

    def __repr__(self) -> str:
        return "***"


@frozen(repr=False)
class Secret:
    """A value such as an API key, which prints as its origin and never as itself.

    Make one from the value, ``Secret("…")``, from a function that gives it (a token that expires,
    say), or best ``Secret.from_env_var("OPENAI_API_KEY")``: then the value is in no object that
    could be stored. A function and the environment are asked at each use.
    """

    _value: _Hidden = field(converter=_Hidden, repr=False)
    env_vars: tuple[str, ...] = field(default=(), kw_only=True)

    @classmethod
    def from_env_var(cls, *names: str) -> Secret:
        """The secret in the first of the environment variables `names` that is set."""
        return cls(None, env_vars=names)

    def reveal(self) -> str:
        """The value itself, without surrounding white space.

        Raises:
            SecretError: it is missing or empty, or holds what no HTTP header can carry.
        """
        if (value := self._read_value()) and value.isascii() and value.isprintable():
            return value
        is_missing = not value
        del value  # a traceback that shows variables must not show it
        names = " or ".join(self.env_vars)
        origin = f"environment variable {names}" if names else "given secret"
        if is_missing:
            raise SecretError(f"the {origin} is not set, or is empty")
        raise SecretError(f"the {origin} holds a character that no key has; copy it anew")

    def _read_value(self) -> str:
        kept = self._value.read()
        value = kept() if callable(kept) else kept
        return (value or next(filter(None, map(os.environ.get, self.env_vars)), "")).strip()

    def __reduce__(self) -> tuple[Callable[..., Secret], tuple[str, ...]]:
        """What is pickled: the names of variables, never a value."""
        if self._value.read() is not None:
            raise TypeError(
                "a secret that holds its value is not pickled; make it with Secret.from_env_var"
            )
        return Secret.from_env_var, self.env_vars

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.env_vars))
        return f"Secret.from_env_var({names})" if names else "Secret('***')"


def as_secret(value: str | Secret | None) -> Secret | None:
    """`value` as a secret, so that it can be kept in an object that prints."""
    return Secret(value) if isinstance(value, str) else value


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` with every one of `secrets` in it replaced: a server may echo what it was sent.

    It may do so as JSON, and httpx shows what it cannot read as Python writes it. A short one is
    replaced where it stands by itself: a placeholder such as "x" is a part of many a word.
    """
    for secret in secrets:
        for form in {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], _slashed(secret)}:
            if len(form) >= LONG:
                text = text.replace(form, "***")
            else:
                text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", "***", text)
    return text


def _slashed(secret: str) -> str:
    """A secret in JSON as PHP writes it."""
    return secret.replace("/", r"\/")
