"""Shapes: what fits passes both ways, what does not is refused with its place."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from detent.core.chat.messages import ChatRole
from detent.core.codec.shapes import RefusedError, Shape, array_of, exactly, object_of, one_of
from detent.core.values.frozen import FrozenDict

NUMBER = exactly(int)
ROLE = one_of({role.value: role for role in ChatRole})


@pytest.mark.parametrize(
    ("shape", "value", "data"),
    [
        (NUMBER, 3, 3),
        (ROLE, ChatRole.USER, "user"),
        (array_of(ROLE), (ChatRole.USER,), ["user"]),
        (object_of(array_of(NUMBER)), FrozenDict(a=(1, 2)), {"a": [1, 2]}),
    ],
    ids=["exactly", "one of", "array", "object"],
)
def test_what_fits_is_written_and_read(shape: Shape, value: object, data: object) -> None:
    """It comes back as it was."""
    assert json.loads(shape.write(value, None)) == data
    assert shape.read(data, None) == value
    assert type(shape.read(data, None)) is type(value)


@pytest.mark.parametrize(
    ("shape", "data", "told"),
    [
        (NUMBER, True, "must be int, got bool @ data"),
        (ROLE, "robot", "must be one of system, user, assistant, tool, got 'robot' @ data"),
        (array_of(NUMBER), {}, "must be an array, got dict @ data"),
        (array_of(NUMBER), [1, "2"], "must be int, got str @ data[1]"),
        (object_of(NUMBER), [], "must be an object, got list @ data"),
        (object_of(array_of(NUMBER)), {"a": [], "b": [0, None]}, "got NoneType @ data.b[1]"),
    ],
    ids=range(6),
)
def test_what_does_not_fit_is_refused_with_its_place(shape: Shape, data: Any, told: str) -> None:
    """When it is read, and when it is written."""
    with pytest.raises(RefusedError, match=re.escape(told)):
        shape.read(data, None)


def test_a_long_reason_is_cut() -> None:
    """Stored data does not fill a log."""
    assert len(str(RefusedError("x" * 9999))) < 600
