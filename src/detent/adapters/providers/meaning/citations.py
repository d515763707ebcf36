"""Sources that a model names for what it says, in whatever words its provider gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from detent.adapters.providers.meaning.parts import Part, Said
from detent.core.chat.messages import Citation
from detent.ports.chat import StreamingChunk

Json: TypeAlias = Mapping[str, Any]


def citation(raw: Json) -> Citation:
    """One source.

    Places in a document are left out: `start` and `end` are places in what the model says.

    >>> citation({"type": "url_citation", "url_citation": {"url": "https://a.org", "title": "A"}})
    Citation(url='https://a.org', title='A', quote=None, start=None, end=None)
    """
    source = {**raw, **_mapping(raw.get("url_citation"))}
    web = _mapping(_mapping(source.get("location")).get("web"))
    pieces = [_text(piece.get("text")) or "" for piece in source.get("sourceContent") or ()]
    return Citation(
        _first(source, "url", "uri", "source") or _first(web, "url"),
        _first(source, "title", "document_title", "filename"),
        _first(source, "cited_text", "content", "snippet") or "".join(pieces) or None,
        _place(source, "start_index"),
        _place(source, "end_index"),
    )


def with_citations(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts; behind each text its citations, which its provider calls `citations`."""
    for part in parts:
        yield part
        if isinstance(part, Said):
            yield from map(citation, part.extra.get("citations") or ())


def cited(annotations: object) -> tuple[StreamingChunk, ...]:
    """The piece that tells of one source; none where nothing is told."""
    if not isinstance(annotations, Mapping) or not annotations:
        return ()
    return (StreamingChunk(citations=(citation(annotations),)),)


def _first(members: Json, *names: str) -> str | None:
    return next((text for name in names if (text := _text(members.get(name)))), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _place(members: Json, name: str) -> int | None:
    value = members.get(name)
    return value if isinstance(value, int) else None


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}
