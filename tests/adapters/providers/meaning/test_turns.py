"""User and model in turns."""

from __future__ import annotations

import pytest

from detent.adapters.providers.meaning.parts import Opaque, Said
from detent.adapters.providers.meaning.turns import in_turns, is_blank
from detent.core.chat.messages import ImageContent, TextContent


def test_messages_of_one_role_in_a_row_are_one() -> None:
    """Results come first in what a user says; a model's blocks keep their order."""
    said: list[tuple[str, list[dict[str, object]]]] = [
        ("user", [{"text": "a"}]),
        ("user", [{"result": 1}, {"text": "b"}]),
        ("model", [{"text": "c"}, {"result": 2}]),
        ("user", []),
        ("model", [{"text": "d"}]),
        ("user", [{"result": 3}]),
        ("user", [{"result": 4}]),
    ]
    assert in_turns(said, is_result=lambda block: "result" in block) == [
        {"role": "user", "content": [{"result": 1}, {"text": "a"}, {"text": "b"}]},
        {"role": "model", "content": [{"text": "c"}, {"result": 2}, {"text": "d"}]},
        {"role": "user", "content": [{"result": 3}, {"result": 4}]},
    ]


@pytest.mark.parametrize(
    ("part", "blank"),
    [
        (TextContent(""), True),
        (TextContent(" \n"), True),
        (Said("\t"), True),
        (TextContent("a "), False),
        (Said("a"), False),
        (ImageContent(""), False),
        (Opaque({}), False),
    ],
)
def test_a_text_with_nothing_in_it_is_blank(part: object, *, blank: bool) -> None:
    """Other parts never are."""
    assert is_blank(part) == blank
