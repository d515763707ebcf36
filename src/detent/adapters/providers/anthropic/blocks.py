"""The blocks of a message's content, while their pieces come in. Pure.

Source: https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from attrs import define, field

from detent.adapters.providers.anthropic.encode import PROVIDER
from detent.adapters.providers.meaning.citations import cited
from detent.adapters.providers.meaning.parts import Opaque, Part, Said, without
from detent.adapters.providers.meaning.server_tools import server_tool_begun
from detent.adapters.providers.meaning.wire import read_arguments
from detent.core.chat.messages import ReasoningContent, ToolCall
from detent.core.codec.json_text import is_finite
from detent.ports.chat import StreamingChunk, ToolCallDelta

Json: TypeAlias = Mapping[str, Any]


@define
class Block:
    """A block of content while its pieces come in. `place` is its number, if it is a call."""

    start: Json
    kind: str
    place: int
    texts: dict[str, list[str]] = field(factory=dict)
    citations: list[object] = field(factory=list)
    is_shown: bool = False

    def opened(self) -> Sequence[StreamingChunk]:
        """What can be shown of the block as it starts; mostly it is empty then."""
        if self.kind == "server_tool_use":
            return server_tool_begun(self.start.get("name"))
        if self.kind != "tool_use":
            return self._pieces(self.start)
        input_at_start = self.start.get("input")
        arguments = json.dumps(input_at_start) if input_at_start else ""
        name, call_id = self.start.get("name"), self.start.get("id")
        delta = ToolCallDelta(self.place, name, arguments, call_id)
        return (StreamingChunk(tool_calls=(delta,)),)

    def grown(self, delta: Json) -> Sequence[StreamingChunk]:
        """Take in the next piece; give what can be shown of it.

        A text goes on with the member of its name, so that kinds that are not known yet grow, too.
        """
        if "citation" in delta:
            self.citations.append(delta["citation"])
            return cited(delta["citation"])
        for name, more in delta.items():
            if name != "type" and isinstance(more, str):
                self.texts.setdefault(name, []).append(more)
        return self._pieces(delta)

    def _pieces(self, delta: Json) -> Sequence[StreamingChunk]:
        if self.kind == "tool_use" and (arguments := delta.get("partial_json")):
            return (StreamingChunk(tool_calls=(ToolCallDelta(self.place, None, arguments),)),)
        if not (self.kind in {"text", "thinking"} and (text := delta.get(self.kind))):
            return ()
        start, self.is_shown = not self.is_shown, True
        if self.kind == "text":
            return (StreamingChunk(text, start=start),)
        return (StreamingChunk(reasoning=text, start=start),)

    def part(self, *, cut: bool) -> Part:
        """The whole block. Where the answer was `cut` off in it, a call is not whole."""
        whole = self._whole()
        match self.kind:
            case "text":
                return Said(whole.pop("text", ""), without(whole, "type"))
            case "thinking":
                return ReasoningContent(whole.pop("thinking", ""), {PROVIDER: whole})
            case "redacted_thinking":
                return ReasoningContent("", {PROVIDER: whole})
            case "tool_use":
                return self._call(whole, cut=cut)
            case _:
                written = self._input(cut=False) if "partial_json" in self.texts else None
                return Opaque(whole | ({"input": written} if written else {}))

    def _call(self, whole: Json, *, cut: bool) -> ToolCall:
        read = self._input(cut=cut)
        arguments = whole.get("input")
        written = self._joined_arguments() or (json.dumps(arguments) if arguments else "")
        own = without(whole, "type", "id", "name", "input")
        return ToolCall(
            str(whole.get("name") or ""),
            read or {},
            whole.get("id"),
            {PROVIDER: own} if own else {},
            written if read is None else None,
        )

    def _joined_arguments(self) -> str:
        return "".join(self.texts.get("partial_json", ()))

    def _input(self, *, cut: bool) -> Json | None:
        """The arguments; None when they are no JSON object, or may be the first part of one.

        Of arguments that came whole nobody can tell whether the end of the answer cut them off.
        """
        if written := self._joined_arguments():
            return read_arguments(written, cut=cut)
        whole = self.start.get("input") or {}
        return whole if not cut and is_finite(whole) else None

    def _whole(self) -> dict[str, Any]:
        whole = given_only(self.start)
        for name, fragments in self.texts.items():
            if name != "partial_json":
                whole[name] = (whole.get(name) or "") + "".join(fragments)
        if self.citations:
            whole["citations"] = [*(whole.get("citations") or ()), *self.citations]
        return whole


def given_only(members: Json) -> dict[str, Any]:
    """`members` without those that are null."""
    return {name: value for name, value in members.items() if value is not None}
