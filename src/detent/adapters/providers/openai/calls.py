"""Tool calls of Chat Completions while their pieces come in. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from attrs import define, field

from detent.adapters.providers.http.calls import FREE_TEXT
from detent.adapters.providers.meaning.wire import read_arguments
from detent.core.chat.messages import ToolCall
from detent.ports.chat import ToolCallDelta

Json: TypeAlias = Mapping[str, Any]


@define(eq=False)
class Calls:
    """The calls of one answer. A piece finds its own at once, however many there are."""

    _all: list[_Call] = field(factory=list)
    _alike: dict[int | None, _Alike] = field(factory=dict)
    """By their index; under None is every call."""

    def __len__(self) -> int:
        return len(self._all)

    def tool_calls(self, *, cut: bool) -> list[ToolCall]:
        """The calls, whole; where the answer was cut off, the last one may have been, too."""
        return [call.tool_call(cut=cut and call is self._all[-1]) for call in self._all]

    def add(self, wire: Json) -> ToolCallDelta:
        """Take in a call, or a piece of one; give what can be shown of it."""
        function = wire.get("function") or wire.get("custom") or {}
        name = function.get("name")
        call = self._call_of(wire, name)
        first = not call.name
        call.name = call.name or name or ""
        if not call.id and (call_id := wire.get("id")):
            call.id = call_id
            for alike in self._those_like(call):
                alike.by_id[call_id] = max(call, alike.by_id.get(call_id, call), key=_place)
        if signature := wire.get("extra_content"):
            call.extra["extra_content"] = signature
        if wire.get("type", "custom") == "custom" and wire.get("custom"):
            call.extra["type"] = "custom"  # Snowflake has an empty one beside each function
        arguments = function.get("arguments") or function.get("input") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        call.arguments.append(arguments)
        return ToolCallDelta(
            call.place, name if first else None, arguments, call.id if first else None
        )

    def _call_of(self, wire: Json, name: str | None) -> _Call:
        """The call that a delta goes on with, or a new one.

        Deltas go by their index. Servers that leave it out, or give every call the same one, begin
        a call with its name, and with a new id if they give ids at all.
        """
        index, call_id = wire.get("index"), wire.get("id")
        alike = self._alike.get(index)
        if alike is not None and not (name and index is None and not call_id):
            found = alike.with_id(call_id) if name and call_id else alike.latest
            if found is not None:
                return found
        call = _Call(len(self._all), index)
        self._all.append(call)
        for alike in self._those_like(call):
            alike.latest = call
            alike.without_id.append(call)
        return call

    def _those_like(self, call: _Call) -> list[_Alike]:
        return [self._alike.setdefault(index, _Alike()) for index in {call.index, None}]


@define(eq=False)
class _Call:
    """A tool call while its pieces come in."""

    place: int
    index: int | None
    id: str | None = None
    name: str = ""
    arguments: list[str] = field(factory=list)
    extra: dict[str, Any] = field(factory=dict)

    def tool_call(self, *, cut: bool) -> ToolCall:
        """The whole call; its free text, if it is a custom one, is its only argument."""
        text = "".join(self.arguments)
        if "type" in self.extra:
            read: Json | None = None if cut else {FREE_TEXT: text}
        else:
            read = read_arguments(text, cut=cut)
        unreadable = text if read is None else None
        call_id = str(self.id) if self.id else None
        return ToolCall(str(self.name), read or {}, call_id, self.extra, unreadable)


@define(eq=False)
class _Alike:
    """Calls that a delta can mean."""

    latest: _Call | None = None
    by_id: dict[str, _Call] = field(factory=dict)
    without_id: list[_Call] = field(factory=list)
    """Some have got one since."""

    def with_id(self, call_id: str) -> _Call | None:
        """The latest with this id, or with none yet."""
        while self.without_id and self.without_id[-1].id:
            self.without_id.pop()
        found = (*self.without_id[-1:], self.by_id.get(call_id))
        return max(filter(None, found), key=_place, default=None)


def _place(call: _Call) -> int:
    return call.place
