"""Labels: what messages bring along of where they come from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from detent.core.chat.messages import ChatMessage

UNTRUSTED = ("untrusted",)
"""The labels of what a stranger may have written, where nobody has said others."""


def labels_of(messages: Iterable[ChatMessage]) -> tuple[str, ...]:
    """The labels that messages bring along, in `meta["labels"]`.

    Raises:
        ValueError: of one of them, these are no list of texts.
    """
    names: list[str] = []
    for message in messages:
        if "labels" not in message.meta:
            continue
        labels: Any = message.meta["labels"]
        is_list = isinstance(labels, list | tuple | set | frozenset)
        if not is_list or not all(isinstance(label, str) and label for label in labels):
            raise ValueError(f"meta['labels'] of a message is a list of texts, got {labels!r:.80}")
        names += labels
    return tuple(sorted(set(names))) if names else ()
