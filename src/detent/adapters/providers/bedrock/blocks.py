"""The blocks of a message's content, while their pieces come in. Pure.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import define, field

from detent.adapters.providers.bedrock.encode import PROVIDER
from detent.adapters.providers.meaning.citations import cited
from detent.adapters.providers.meaning.parts import Opaque, Part, Said, without
from detent.adapters.providers.meaning.wire import read_arguments
from detent.core.chat.messages import ReasoningContent, ToolCall
from detent.ports.chat import StreamingChunk, ToolCallDelta

Json: TypeAlias = Mapping[str, Any]

SERVER_TOOL = "server_tool_use"


@define
class Block:
    """A block of content while its pieces come in. `place` is its number, if it is a call.

    In a stream only calls and a few other blocks have a start; of a text the first that comes is a
    piece. In an answer that came whole a block is all start.
    """

    start: Json
    place: int
    texts: dict[str, list[str]] = field(factory=dict)
    listed: list[object] = field(factory=list)
    thought: bool = False
    is_shown: bool = False

    @property
    def is_call(self) -> bool:
        """Whether it is a call of a tool of ours, not of one that runs at the provider."""
        use = self.start.get("toolUse")
        return isinstance(use, Mapping) and use.get("type") != SERVER_TOOL

    def opened(self) -> Sequence[StreamingChunk]:
        """What can be shown of the block as it starts."""
        match self.start:
            case {"toolUse": use} if self.is_call:
                arguments = json.dumps(use["input"]) if use.get("input") else ""
                name, call_id = use.get("name"), use.get("toolUseId")
                delta = ToolCallDelta(self.place, name, arguments, call_id)
                return (StreamingChunk(tool_calls=(delta,)),)
            case {"reasoningContent": {"reasoningText": {"text": text}}}:
                return self._piece(text, thought=True)
            case {"citationsContent": {"content": content}}:
                return self._piece(_joined(content))
            case {"text": text}:
                return self._piece(text)
            case _:
                return ()

    def grown(self, delta: Json) -> Sequence[StreamingChunk]:
        """Take in the next piece; give what can be shown of it."""
        if isinstance(text := delta.get("text"), str):  # as in nearly all
            self._keep("text", text)
            return self._piece(text)
        match delta:
            case {"toolUse": {"input": arguments}}:
                self._keep("input", arguments)
                if self.is_call and arguments:
                    call = ToolCallDelta(self.place, None, arguments)
                    return (StreamingChunk(tool_calls=(call,)),)
            case {"reasoningContent": members}:
                self.thought = True
                for name, text in members.items():
                    self._keep(name, text)
                return self._piece(members.get("text") or "", thought=True)
            case {"citation": citation}:
                self.listed.append(citation)
                return cited(citation)
            case {"toolResult": list(results)}:
                self.listed += results
            case _:
                pass  # kinds that are not known yet
        return ()

    def part(self, *, cut: bool) -> Part:
        """The whole block. Where the answer was `cut` off in it, a call is not whole."""
        match self._whole():
            case {"toolUse": use} if self.is_call:
                return self._call(use, cut=cut)
            case {"text": str(text)}:
                return Said(text)
            case {"citationsContent": {"content": content} as cited}:
                return Said(_joined(content), without(cited, "content"))
            case {"reasoningContent": {"reasoningText": {"text": text} as thought}}:
                own = without(thought, "text")
                return ReasoningContent(text, {PROVIDER: own} if own else {})
            case {"reasoningContent": {"redactedContent": _} as own}:
                return ReasoningContent("", {PROVIDER: own})
            case block:
                return Opaque(block)

    def _keep(self, name: str, text: str) -> None:
        self.texts.setdefault(name, []).append(text)

    def _piece(self, text: str, *, thought: bool = False) -> Sequence[StreamingChunk]:
        if not text:
            return ()
        start, self.is_shown = not self.is_shown, True
        if thought:
            return (StreamingChunk(reasoning=text, start=start),)
        return (StreamingChunk(text, start=start),)

    def _whole(self) -> dict[str, Any]:
        """The block as it is in an answer that comes whole."""
        texts = {name: "".join(pieces) for name, pieces in self.texts.items()}
        match self.start:
            case {"toolUse": use} if "input" in texts:
                return {
                    "toolUse": {**use, "input": read_arguments(texts["input"], cut=False) or {}}
                }
            case {"toolResult": result} if self.listed:
                return {"toolResult": {**result, "content": self.listed}}
            case _ if self.start:
                return dict(self.start)
            case _:
                return self._grown_whole(texts)

    def _grown_whole(self, texts: dict[str, str]) -> dict[str, Any]:
        text = {"text": "", **texts}
        if self.thought:
            redacted = "redactedContent" in texts
            return {"reasoningContent": texts if redacted else {"reasoningText": text}}
        if self.listed:
            return {"citationsContent": {"content": [text], "citations": self.listed}}
        return text

    def _call(self, use: Json, *, cut: bool) -> ToolCall:
        """The call. Of one that came whole nobody can tell whether the end cut it off."""
        arguments = use.get("input") or {}
        written = "".join(self.texts.get("input", ())) or (
            json.dumps(arguments) if arguments else ""
        )
        streamed = "input" in self.texts or not arguments
        read = read_arguments(written, cut=cut) if streamed or not cut else None
        own = without(use, "input", "name", "toolUseId", "type")
        return ToolCall(
            str(use.get("name") or ""),
            read or {},
            use.get("toolUseId"),
            {PROVIDER: own} if own else {},
            written if read is None else None,
        )


def _joined(content: Iterable[Json] | None) -> str:
    return "".join(part.get("text") or "" for part in content or ())
