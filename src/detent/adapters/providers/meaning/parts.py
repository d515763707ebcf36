"""What a provider says that the core has no type for, kept in a message at its place.

A message holds text, thoughts and calls in order. Blocks that only their provider understands (a
web search that it ran, say) and what belongs to a text (its citations, its id) are kept in the
message's `meta`, under the provider's name, with their place among the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

from detent.core.chat.messages import ChatMessage, ChatRole, Citation, Content, TextContent
from detent.core.values.frozen import FrozenDict, frozen_mapping

Json: TypeAlias = Mapping[str, Any]


@frozen
class Said:
    """A text of the model, and the provider's own data about it."""

    text: str
    extra: FrozenDict[str, Any] = field(factory=FrozenDict, converter=frozen_mapping)


@frozen
class Opaque:
    """A block that only its provider understands. It is given back to it unchanged."""

    block: FrozenDict[str, Any] = field(converter=frozen_mapping)


Part: TypeAlias = Content | Said | Opaque


def assistant_message(
    provider: str, parts: Iterable[Part], about: Mapping[str, object] | None = None
) -> ChatMessage:
    """The message made of `parts`; `about` is the provider's own data about the whole of it."""
    content: list[Content] = []
    kept: list[dict[str, object]] = []
    for part in parts:
        match part:
            case Opaque(block):
                kept.append({"at": len(content), "block": block})
            case Said(text, extra):
                if extra:
                    kept.append({"at": len(content), "text": extra})
                content.append(TextContent(text))
            case _:
                content.append(part)
    own = dict(about or {}) | ({"kept": kept} if kept else {})
    return ChatMessage(ChatRole.ASSISTANT, content, meta={provider: own} if own else {})


def parts_of(provider: str, message: ChatMessage) -> Iterator[Part]:
    """The parts of an assistant's message, as `assistant_message` took them; every text is `Said`.

    What another provider kept in it is left out.
    """
    kept = own_data(provider, message.meta).get("kept", ())
    texts = {note["at"]: note["text"] for note in kept if "text" in note}
    blocks = [(note["at"], Opaque(note["block"])) for note in kept if "block" in note]
    for place, part in enumerate(message.content):
        yield from (block for at, block in blocks if at == place)
        if isinstance(part, Citation):
            continue  # its provider has it in what belongs to the text
        yield Said(part.text, texts.get(place, {})) if isinstance(part, TextContent) else part
    yield from (block for at, block in blocks if at >= len(message.content))


def without(members: Json, *names: str) -> dict[str, Any]:
    """`members` but for those of these names."""
    return {name: value for name, value in members.items() if name not in names}


def own_data(provider: str, extra: Mapping[str, object]) -> Json:
    """What `provider` keeps in the `extra` or `meta` of a part or a message; nothing of others."""
    own = extra.get(provider)
    return own if isinstance(own, Mapping) else {}
