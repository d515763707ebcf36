"""A dict schema declares keys, or is refused with what is wrong in it."""

from __future__ import annotations

from typing import Any

import pytest

from detent.core.chat.messages import ChatMessage
from detent.core.errors import SchemaError
from detent.core.state.dict_schema import entries_of, keys_of
from detent.core.state.handlers import append_unique, merge_lists, replace_values
from detent.core.state.keys import UNSET


class Reply(ChatMessage):
    """A message of a kind of its own."""


DEFAULT_HANDLERS: dict[Any, Any] = {
    **dict.fromkeys([list, list[int], list[int] | None], merge_lists),
    **dict.fromkeys([str, tuple[int, ...], int | str], replace_values),
}


@pytest.mark.parametrize(
    ("declared", "handler"), DEFAULT_HANDLERS.items(), ids=map(str, DEFAULT_HANDLERS)
)
def test_a_key_without_a_handler_gets_the_one_of_its_type(
    declared: object, handler: object
) -> None:
    """Lists are merged, all else is replaced."""
    for entry in ({"type": declared}, {"type": declared, "handler": None}):
        key = keys_of({"spot": entry})["spot"]
        assert (key.name, key.type, key.handler, key.default) == ("spot", declared, handler, UNSET)


def test_a_key_has_the_handler_and_the_default_of_its_entry() -> None:
    """The default is frozen."""
    source = [1]
    key = keys_of({"spot": {"type": list, "handler": append_unique, "default": source}})["spot"]
    source.append(2)
    assert (key.handler, key.default) == (append_unique, [1])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({1: {"type": str}}, "a state key is a string, got 1"),
        ({"a": str}, r"state key 'a' needs a 'type' entry, e.g. \{'type': str\}"),
        ({"a": {}}, "state key 'a' needs a 'type' entry"),
        ({"a": {"type": "str"}}, "the type of state key 'a' must be a type, got 'str'"),
        ({"a": {"type": str, "handel": 1}}, "state key 'a' has the unknown entry 'handel'"),
        (
            {"a": {"type": str, "handler": "f"}},
            "the handler of state key 'a' must be callable, got 'f'",
        ),
        (
            {"a": {"type": str, "handler": len}},
            "called with the current value and the update, which .* does not take",
        ),
        ({"a": {"type": str, "default": 1}}, "state key 'a' holds str, got int: 1"),
        ({"messages": {"type": list}}, r"'messages' must be a list\[ChatMessage\], or be left out"),
        ({"messages": {"type": list[str]}}, "'messages' must be"),
        ({"messages": {"type": str}}, "'messages' must be"),
    ],
    ids=str,
)
def test_a_schema_with_a_fault_is_refused(schema: Any, expected: str) -> None:
    """And told which key and what."""
    with pytest.raises(SchemaError, match=expected):
        keys_of(schema)


def test_a_check_is_of_all_items_or_the_first() -> None:
    """Nothing else."""
    assert keys_of({"a": {"type": list}}, "first")["a"].check == "first"
    with pytest.raises(SchemaError, match="check must be 'all' or 'first', got 'some'"):
        keys_of({"a": {"type": list}}, "some")  # type: ignore[arg-type]  # that is the point


def test_messages_may_be_of_a_class_of_ones_own() -> None:
    """With any handler."""
    key = keys_of({"messages": {"type": list[Reply], "handler": append_unique}})["messages"]
    assert (key.handler, key.default) == (append_unique, [])


def test_a_schema_can_be_had_back() -> None:
    """With every handler filled in."""
    schema = {
        "a": {"type": list[int], "default": [1]},
        "b": {"type": str, "handler": replace_values},
    }
    entries = entries_of(keys_of(schema))
    assert entries == {
        "a": {"type": list[int], "handler": merge_lists, "default": [1]},
        "b": {"type": str, "handler": replace_values},
    }
    assert keys_of(entries) == keys_of(schema)
