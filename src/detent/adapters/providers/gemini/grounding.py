"""What an answer of Gemini rests on, and how likely its tokens were. Pure.

Source: https://ai.google.dev/gemini-api/docs/google-search
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, TypeAlias

from detent.adapters.providers.meaning.citations import citation
from detent.adapters.providers.meaning.parts import Said
from detent.core.chat.messages import Citation
from detent.core.chat.replies import TokenLogprob

Json: TypeAlias = Mapping[str, Any]

BLOCK = 1024
FURTHER = bytes(range(0x80, 0xC0))
"""In UTF-8 the bytes of a character behind its first."""


def grounds(about: Json, parts: Iterable[object]) -> Iterator[Citation]:
    """The sources of an answer: pages that it was grounded on, and works that it repeats."""
    texts = _Said("".join(part.text for part in parts if isinstance(part, Said)).encode())
    grounding = about.get("groundingMetadata") or {}
    chunks = grounding.get("groundingChunks") or ()
    sources: list[Json] = [
        next((kind_of_source for kind_of_source in chunk.values() if kind_of_source), {})
        for chunk in chunks
    ]
    supports = grounding.get("groundingSupports") or ()
    for support in supports:
        segment = support.get("segment") or {}
        for place in support.get("groundingChunkIndices") or ():
            if place < len(sources):
                yield citation({**sources[place], **_span(segment, texts)})
    if not supports:
        yield from map(citation, sources)
    repeated = about.get("citationMetadata") or {}
    for source in (*(repeated.get("citationSources") or ()), *(repeated.get("citations") or ())):
        if source.get("uri") or source.get("title"):
            yield citation({**source, **_span(source, texts)})


def _span(segment: Json, texts: _Said) -> Json:
    """The characters that a segment covers: Gemini counts bytes, and leaves a zero out."""
    end = segment.get("endIndex")
    if end is None:
        return {}
    places = {"start_index": segment.get("startIndex", 0), "end_index": end}
    return {name: texts.characters(at) for name, at in places.items()}


class _Said:
    """What was said, in UTF-8: of which the characters are counted once, not for each source."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        blocks = (data[at : at + BLOCK] for at in range(0, len(data), BLOCK))
        self._before = [0, *accumulate(map(_characters_begun, blocks))]

    def characters(self, end: int) -> int:
        """How many whole ones are among the first `end` bytes."""
        stop = slice(end).indices(len(self._data))[1]
        block = stop // BLOCK
        begun = self._before[block] + _characters_begun(self._data[block * BLOCK : stop])
        is_cut = self._data[stop : stop + 1] and self._data[stop] in FURTHER
        return begun - bool(is_cut)


def _characters_begun(data: bytes) -> int:
    """How many characters begin in some bytes."""
    return len(data.translate(None, FURTHER))


def likelihoods(result: Json) -> tuple[TokenLogprob, ...]:
    """The tokens of `logprobsResult`, each with what could have stood in its place."""
    others = [position.get("candidates") or () for position in result.get("topCandidates") or ()]
    chosen = result.get("chosenCandidates") or ()
    return tuple(
        TokenLogprob(
            *_token(candidate), tuple(map(_token, others[place] if place < len(others) else ()))
        )
        for place, candidate in enumerate(chosen)
    )


def _token(candidate: Json) -> tuple[str, float]:
    return str(candidate.get("token")), float(candidate.get("logProbability") or 0.0)
