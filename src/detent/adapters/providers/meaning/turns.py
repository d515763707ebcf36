"""Conversations for APIs in which user and model take turns, each with a list of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from detent.adapters.providers.meaning.parts import Said
from detent.core.chat.messages import TextContent

Json: TypeAlias = dict[str, Any]


def in_turns(
    roles_and_blocks: Iterable[tuple[str, Sequence[Json]]],
    *,
    is_result: Callable[[Mapping[str, Any]], bool],
) -> list[Json]:
    """Messages of one role in a row as one, and none without blocks.

    The results of tools, which `is_result` knows, come before all else that a user says.

    >>> said = [("user", [{"text": "a"}]), ("model", []), ("user", [{"result": 1}])]
    >>> in_turns(said, is_result=lambda block: "result" in block)
    [{'role': 'user', 'content': [{'result': 1}, {'text': 'a'}]}]
    """
    wire: list[Json] = []
    for role, turn in groupby(
        (role_and_blocks for role_and_blocks in roles_and_blocks if role_and_blocks[1]),
        key=itemgetter(0),
    ):
        blocks = [block for _, part in turn for block in part]
        if role == "user":
            blocks.sort(key=lambda block: not is_result(block))
        wire.append({"role": role, "content": blocks})
    return wire


def is_blank(part: object) -> bool:
    """Whether a part is a text with nothing in it: such APIs refuse it."""
    if isinstance(part, (TextContent, Said)):  # `|` takes thrice as long
        return not part.text.strip()
    return False
