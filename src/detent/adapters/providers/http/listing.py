"""Asking a server which models it has, where its API tells. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from attrs import field, frozen
from returns.result import Failure, Result, Success

from detent.adapters.providers.http.failures import failure_in_answer, unfinished
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.ports.chat import StreamingChunk

Json: TypeAlias = Mapping[str, Any]

NAMES = ("id", "name", "model")


@frozen
class ModelList:
    """Where an API lists its models.

    Attributes:
        path: below the address of the server.
        query: asks for all of them at once.
        version: the last part of the address in place of the usual one, if it stands elsewhere.
        before_name: what each name begins with, beside itself.
    """

    path: str = "/models"
    query: str = field(default="", kw_only=True)
    version: str = field(default="", kw_only=True)
    before_name: str = field(default="", kw_only=True)

    def base_of(self, base_url: str) -> str:
        """The address below which the list is."""
        above = base_url.rstrip("/").rpartition("/")[0]
        return f"{above}/{self.version}" if self.version else base_url


class NamesFold:
    """Reads a list of models: in a member, or bare."""

    def __init__(self, listing: ModelList) -> None:
        self._listing = listing
        self._names: list[str] = []

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the list, or one of a bare list."""
        if value.get("error"):
            return failure_in_answer(value)
        listed = value.get("data", value.get("models"))
        for entry in [value] if listed is None else listed:
            first, *_ = [str(entry[member]) for member in NAMES if entry.get(member)]
            self._names.append(first.removeprefix(self._listing.before_name))
        return ()

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """A reply that says nothing, with the names beside it."""
        if not ended:
            return Failure(unfinished("list of models", cut_off=True))
        names = {"models": self._names}
        return Success(ChatReply(ChatMessage.from_assistant(), extra=names))


def names_in(reply: ChatReply) -> list[str]:
    """The names that `NamesFold` has read."""
    names: Any = reply.extra["models"]
    return list(names)
