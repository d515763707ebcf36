"""What a conversation is made of: messages and their parts, all immutable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar, cast, get_args

from attrs import evolve, field, frozen
from attrs.converters import optional

from detent.core.values.copies import sealed_mapping
from detent.core.values.fast_values import fast_init
from detent.core.values.frozen import EMPTY, FrozenDict, sealed
from detent.core.values.short_repr import MASK, joined_repr

Part = TypeVar("Part")


class ChatRole(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@sealed
@fast_init
@frozen
class TextContent:
    """Plain text."""

    text: str


@sealed
@frozen
class ReasoningContent:
    """What the model thought before it answered.

    `extra` is the provider's own data (signatures, ids, encrypted text), given back to it
    unchanged.
    """

    reasoning_text: str
    extra: FrozenDict[str, object] = field(default=EMPTY, converter=sealed_mapping)


@sealed
@frozen
class ImageContent:
    """An image, base64 encoded. `detail` asks for a resolution: "low", "high" or "auto"."""

    base64_image: str = field(repr=lambda text: f"<{len(text)} characters>")
    mime_type: str = "image/png"
    detail: str | None = None
    meta: FrozenDict[str, object] = field(default=EMPTY, converter=sealed_mapping)


@sealed
@frozen
class FileContent:
    """A file (a PDF, say), base64 encoded."""

    base64_data: str = field(repr=lambda text: f"<{len(text)} characters>")
    mime_type: str
    filename: str | None = None
    extra: FrozenDict[str, object] = field(default=EMPTY, converter=sealed_mapping)


def sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names of secret arguments, as a call holds them."""
    return tuple(sorted(names))


@sealed
@fast_init
@frozen(repr=False)
class ToolCall:
    """The model asks for a tool to be run.

    `id` pairs the call with its result. A run gives an id to a call whose provider gave none.
    `extra` is the provider's own data, given back to it unchanged. `unreadable` is what the model
    wrote where its arguments are no JSON object: such a call is never run, and the model is told.
    `secret` are the arguments that print as a mask, as their tool declares them.
    """

    tool_name: str
    arguments: FrozenDict[str, object] = field(default=EMPTY, converter=sealed_mapping)
    id: str | None = None
    extra: FrozenDict[str, object] = field(default=EMPTY, converter=sealed_mapping)
    unreadable: str | None = None
    secret: tuple[str, ...] = field(default=(), eq=False, converter=sorted_names)

    def __rich_repr__(self) -> Iterator[tuple[str, object]]:
        """What prints, by name."""
        yield "tool_name", self.tool_name
        yield "arguments", {n: MASK if n in self.secret else v for n, v in self.arguments.items()}
        yield from (("id", self.id), ("extra", self.extra))
        yield "unreadable", MASK if self.secret and self.unreadable else self.unreadable

    def __repr__(self) -> str:
        return f"ToolCall({joined_repr(self.__rich_repr__())})"


@sealed
@frozen
class Citation:
    """A source that the model names for what it says; it stands behind the text that it is for.

    `quote` is what the source says. `start` and `end` are the characters of the message's text that
    rest on it, from 0, where the provider tells them. It is never sent to a provider.
    """

    url: str | None = None
    title: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None


def _parts_of(content: Sequence[Part], classes: frozenset[type]) -> tuple[Part, ...]:
    """The parts, each of a class that freezes what comes in. Raises TypeError for anything else."""
    parts = tuple(content)
    if not classes.issuperset(map(type, parts)):
        names = ", ".join(sorted(kind.__name__ for kind in classes))
        hint = "; ChatMessage.from_user('…') makes one of a text" * isinstance(content, str)
        wrong = content if hint else next(part for part in parts if type(part) not in classes)
        raise TypeError(f"a message is made of {names}, in a list; got {wrong!r:.80}{hint}")
    return parts


ResultPart: TypeAlias = TextContent | ImageContent | FileContent
_RESULT_PARTS: frozenset[type] = frozenset(get_args(ResultPart))


def _result(value: str | Sequence[ResultPart]) -> str | tuple[ResultPart, ...]:
    return value if isinstance(value, str) else _parts_of(value, _RESULT_PARTS)


@sealed
@fast_init
@frozen(repr=False)
class ToolCallResult:
    """What came of a tool call, for the model to read. `display` is for people, if not the same.

    It prints in place of the result.
    """

    result: str | tuple[ResultPart, ...] = field(converter=_result)
    origin: ToolCall
    error: bool = False
    display: str | tuple[ResultPart, ...] | None = field(default=None, converter=optional(_result))

    @property
    def text(self) -> str:
        """The textual part of the result."""
        if isinstance(self.result, str):
            return self.result
        return "\n".join(part.text for part in self.result if isinstance(part, TextContent))

    def __rich_repr__(self) -> Iterator[tuple[str, object]]:
        """What prints, by name."""
        yield ("result", self.result) if self.display is None else ("display", self.display)
        yield from (("origin", self.origin), ("error", self.error))

    def __repr__(self) -> str:
        return f"ToolCallResult({joined_repr(self.__rich_repr__())})"


Content: TypeAlias = ResultPart | ReasoningContent | ToolCall | ToolCallResult | Citation
_CONTENTS: frozenset[type] = frozenset(get_args(Content))
UserPart: TypeAlias = str | ResultPart


def _role(role: ChatRole | str) -> ChatRole:
    return role if type(role) is ChatRole else ChatRole(role)


def _contents(parts: Sequence[Content]) -> tuple[Content, ...]:
    if type(parts) is tuple and _CONTENTS.issuperset(map(type, parts)):
        return parts  # the usual case, and the quick one
    return _parts_of(parts, _CONTENTS)


def _text(text: str) -> TextContent:
    if not isinstance(text, str):
        raise TypeError(f"the text of a message is a str, got {text!r:.80}")
    return TextContent(text)


@sealed
@fast_init
@frozen
class ChatMessage:
    """One message of a conversation. Make one with a `from_…` constructor."""

    role: ChatRole = field(converter=_role)
    content: tuple[Content, ...] = field(converter=_contents)
    name: str | None = None
    meta: FrozenDict[str, object] = field(default=EMPTY, converter=sealed_mapping)

    @classmethod
    def from_system(
        cls, text: str, *, name: str | None = None, meta: Mapping[str, object] | None = None
    ) -> ChatMessage:
        """Instructions for the model."""
        return cls(ChatRole.SYSTEM, (_text(text),), name, meta or EMPTY)

    @classmethod
    def from_user(
        cls,
        text: str | None = None,
        *,
        content_parts: Sequence[UserPart] | None = None,
        name: str | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> ChatMessage:
        """What the user says: a text, or parts (texts, images, files) in order.

        Raises ValueError unless exactly one of the two is given.
        """
        if (text is None) == (not content_parts):
            raise ValueError("from_user takes either a text or content_parts, one of the two")
        if text is not None:
            return cls(ChatRole.USER, (_text(text),), name, meta or EMPTY)
        parts = [content_parts] if isinstance(content_parts, str) else content_parts or ()
        content = [_text(part) if isinstance(part, str) else part for part in parts]
        return cls(ChatRole.USER, content, name, meta or EMPTY)

    @classmethod
    def from_assistant(
        cls,
        text: str | None = None,
        *,
        tool_calls: Sequence[ToolCall] | None = None,
        reasoning: str | ReasoningContent | None = None,
        name: str | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> ChatMessage:
        """What the model says: its reasoning, its text and its tool calls, in this order."""
        parts: list[Content] = []
        if reasoning is not None:
            parts.append(ReasoningContent(reasoning) if isinstance(reasoning, str) else reasoning)
        if text is not None:
            parts.append(_text(text))
        return cls(ChatRole.ASSISTANT, (*parts, *(tool_calls or ())), name, meta or EMPTY)

    @classmethod
    def from_tool(
        cls,
        tool_result: str | Sequence[ResultPart],
        origin: ToolCall,
        *,
        error: bool = False,
        meta: Mapping[str, object] | None = None,
    ) -> ChatMessage:
        """The answer to the tool call `origin`."""
        result = ToolCallResult(tool_result, origin, error)
        return cls(ChatRole.TOOL, (result,), meta=meta or EMPTY)

    def to_dict(self) -> dict[str, Any]:
        """The message as plain JSON.

        Raises:
            UnstorableError: its `meta`, or the `extra` of a part, holds what JSON has no form of.
        """
        from detent.core.codec.own_values import dump  # only loaded once something is stored

        return cast("dict[str, Any]", dump(self))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ChatMessage:
        """What `to_dict` gave.

        Raises:
            StoredDataError: it is no message; the error says where.
        """
        from detent.core.codec.own_values import load  # only loaded once something is read

        return load(dict(data), ChatMessage)

    def is_from(self, role: ChatRole | str) -> bool:
        """Whether it is a message of this role."""
        return self.role == role

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text part, in order."""
        return tuple(part.text for part in self._parts(TextContent))

    @property
    def text(self) -> str | None:
        """The text of the message, its parts joined; None when it has none."""
        return "".join(self.texts) if self.texts else None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every tool call, in the model's order."""
        return self._parts(ToolCall)

    @property
    def tool_call(self) -> ToolCall | None:
        """The first tool call, or None."""
        return next(iter(self.tool_calls), None)

    @property
    def tool_call_results(self) -> tuple[ToolCallResult, ...]:
        """Every tool result, in order."""
        return self._parts(ToolCallResult)

    @property
    def tool_call_result(self) -> ToolCallResult | None:
        """The first tool result, or None."""
        return next(iter(self.tool_call_results), None)

    @property
    def images(self) -> tuple[ImageContent, ...]:
        """Every image, in order."""
        return self._parts(ImageContent)

    @property
    def image(self) -> ImageContent | None:
        """The first image, or None."""
        return next(iter(self.images), None)

    @property
    def files(self) -> tuple[FileContent, ...]:
        """Every file, in order."""
        return self._parts(FileContent)

    @property
    def file(self) -> FileContent | None:
        """The first file, or None."""
        return next(iter(self.files), None)

    @property
    def reasonings(self) -> tuple[ReasoningContent, ...]:
        """Every piece of reasoning, in order."""
        return self._parts(ReasoningContent)

    @property
    def reasoning(self) -> ReasoningContent | None:
        """The first piece of reasoning, or None."""
        return next(iter(self.reasonings), None)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Every source that the model names, in order."""
        return self._parts(Citation)

    def _parts(self, kind: type[Part]) -> tuple[Part, ...]:
        content: tuple[Any, ...] = self.content
        for part in content:
            if not isinstance(part, kind):
                return tuple([part for part in content if isinstance(part, kind)])
        return content  # has no other parts: the usual case, and the quick one


def with_calls(message: ChatMessage, calls: Sequence[ToolCall]) -> ChatMessage:
    """The message with each of its calls, in order, replaced by one of `calls`."""
    content = message.content
    if {*map(id, content)}.issuperset(map(id, calls)):
        return message  # they are its own: the usual case
    new = iter(calls)
    parts = [next(new) if isinstance(part, ToolCall) else part for part in content]
    return evolve(message, content=parts)


def tool_message(result: ToolCallResult) -> ChatMessage:
    """The message that tells the model what came of its call."""
    return ChatMessage(ChatRole.TOOL, (result,))


UNTRUSTED = ("untrusted",)
"""The labels of what a stranger may have written, where nobody has said others."""


def labels_of(messages: Iterable[ChatMessage]) -> tuple[str, ...]:
    """The labels that messages bring along of where they come from, in `meta["labels"]`.

    Raises:
        ValueError: of one of them, these are no list of texts.
    """
    names: list[str] = []
    found: Iterable[Any] = [each.meta["labels"] for each in messages if "labels" in each.meta]
    for labels in found:
        is_list = isinstance(labels, list | tuple | set | frozenset)
        if not is_list or not all(isinstance(label, str) and label for label in labels):
            raise ValueError(f"meta['labels'] of a message is a list of texts, got {labels!r:.80}")
        names += labels
    return tuple(sorted(set(names))) if names else ()


def says_nothing(message: ChatMessage) -> bool:
    """Whether there is nothing in a message but empty texts."""
    return all(part == TextContent("") for part in message.content)
