"""Documents: pieces of text that tools find, pass on and cite."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from attrs import field, frozen

from detent.core.values.frozen import frozen_mapping


@frozen
class Document:
    """A piece of text with what is known about it.

    Attributes:
        id: what it is called; without one, a fingerprint of content and meta.
        content: the text.
        meta: anything else that is known: source, page, author.
        score: how well it fits the query that found it.
    """

    id: str = ""
    content: str | None = None
    meta: Mapping[str, object] = field(factory=dict, converter=frozen_mapping)
    score: float | None = None

    def __attrs_post_init__(self) -> None:
        if not self.id:
            text = json.dumps([self.content, self.meta], sort_keys=True, default=repr)
            object.__setattr__(self, "id", sha256(text.encode()).hexdigest())
