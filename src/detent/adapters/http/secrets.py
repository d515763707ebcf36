"""Secrets: values that are used but never shown."""

from __future__ import annotations

import os
from collections.abc import Iterable

from attrs import field, frozen


class SecretError(ValueError):
    """A secret is missing, or is not one. The message says where it was sought, not what it is."""


@frozen(repr=False)
class Secret:
    """A value such as an API key, which prints as its origin and never as itself.

    Make one from the value, ``Secret("…")``, or better ``Secret.from_env_var("OPENAI_API_KEY")``,
    which is looked up at each use, so that the value is in no object that could be stored.
    """

    _value: str | None
    env_var: str | None = field(default=None, kw_only=True)

    @classmethod
    def from_env_var(cls, name: str) -> Secret:
        """The secret in the environment variable `name`, read when it is used."""
        return cls(None, env_var=name)

    def reveal(self) -> str:
        """The value itself, without surrounding white space.

        Raises:
            SecretError: it is missing or empty, or holds what no HTTP header can carry.
        """
        value = os.environ.get(self.env_var, "") if self.env_var is not None else self._value
        value = (value or "").strip()
        origin = f"environment variable {self.env_var}" if self.env_var else "given secret"
        if not value:
            raise SecretError(f"the {origin} is not set, or is empty")
        if not (value.isascii() and value.isprintable()):
            raise SecretError(f"the {origin} holds a character that no key has; copy it anew")
        return value

    def __repr__(self) -> str:
        return f"Secret.from_env_var({self.env_var!r})" if self.env_var else "Secret('***')"


def as_secret(value: str | Secret | None) -> Secret | None:
    """`value` as a secret, so that it can be kept in an object that prints."""
    return Secret(value) if isinstance(value, str) else value


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` with every one of `secrets` in it replaced: a server may echo what it was sent."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
