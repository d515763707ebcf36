"""Documents: pieces of text that tools pass on."""

from __future__ import annotations

import pytest
from attrs.exceptions import FrozenInstanceError

from detent.adapters.tools.documents import Document
from detent.core.tools.result import text_of


def test_a_document_without_an_id_gets_a_fingerprint() -> None:
    """The same content and meta have the same one; the score does not count."""
    one = Document(content="text", meta={"page": 1}, score=0.5)
    assert one.id == Document(content="text", meta={"page": 1}).id
    assert one.id != Document(content="text").id
    assert Document("mine", "text").id == "mine"


def test_a_document_cannot_be_changed() -> None:
    """Nor what is known about it."""
    document = Document(content="text", meta={"pages": [1]})
    with pytest.raises(FrozenInstanceError):
        document.content = "other"  # type: ignore[misc]  # the mistake
    with pytest.raises(TypeError):
        document.meta["pages"].append(2)  # type: ignore[attr-defined]  # the mistake
    assert hash(document) == hash(Document(content="text", meta={"pages": [1]}))


def test_a_model_reads_it_as_json() -> None:
    """With all its fields."""
    document = Document("1", "text", {"page": 1}, 0.5)
    assert text_of([document]) == (
        '[{"id": "1", "content": "text", "meta": {"page": 1}, "score": 0.5}]'
    )
