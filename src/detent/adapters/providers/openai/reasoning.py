"""Reasoning in the entries of OpenRouter, which come in fragments. Pure.

Source: https://openrouter.ai/docs/use-cases/reasoning-tokens
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from attrs import define, field

Json: TypeAlias = Mapping[str, Any]

FRAGMENTED = {"reasoning.text": "text", "reasoning.summary": "summary"}


@define(eq=False)
class Details:
    """The entries of one answer: OpenRouter wants them back whole."""

    _entries: list[_Entry] = field(factory=list)
    _first: dict[tuple[object, object], _Entry] = field(factory=dict)
    """The first entry of each thought, by its type and index."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, details: Iterable[Json]) -> None:
        """Join fragments to the entries that they belong to.

        Entries that come together are whole, or belong to different thoughts.
        """
        fresh: list[tuple[tuple[object, object], _Entry]] = []
        for detail in details:
            thought = detail.get("type"), detail.get("index")
            member = FRAGMENTED.get(detail.get("type", ""))
            entry = self._first.get(thought)
            if member is None or entry is None:
                fresh.append((thought, _Entry(dict(detail), member)))
            else:
                entry.go_on(detail)
        self._entries += (entry for _, entry in fresh)
        for thought, entry in fresh:
            self._first.setdefault(thought, entry)

    def whole(self) -> list[dict[str, Any]]:
        """All of them, each with its text in one piece."""
        return [entry.whole() for entry in self._entries]


@define(eq=False)
class _Entry:
    """An entry, and the fragments of the text that its `member` is."""

    data: dict[str, Any]
    member: str | None
    fragments: list[str] = field(factory=list)

    def go_on(self, detail: Json) -> None:
        """Take in the next fragment; what else it says counts in place of what was said."""
        if self.member is not None and not self.fragments:
            self.fragments.append(self.data.get(self.member) or "")
        self.data.update({key: value for key, value in detail.items() if value is not None})
        self.fragments.append(detail.get(self.member or "") or "")

    def whole(self) -> dict[str, Any]:
        """The entry with its text in one piece."""
        text = "".join(self.fragments)
        return {**self.data, self.member: text} if self.member and text else self.data
