"""What a state holds can be stored as plain JSON and comes back the same."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from detent.core.chat.messages import ChatMessage, ImageContent, TextContent, ToolCall
from detent.core.codec.open_values import OpenValueConverter
from detent.core.codec.values import from_json, to_json
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.state.stored import messages_from_json, value_to_json
from detent.core.values.frozen import FrozenDict, freeze
from detent.core.values.shared_list import SharedList


@frozen
class Document:
    """A frozen attrs class."""

    title: str
    tags: tuple[str, ...] = ()


@frozen
class Holder:
    """A class that holds anything."""

    content: Any


anything = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
        *(
            st.binary(),
            st.datetimes(),
            st.datetimes(timezones=st.just(UTC)),
            st.dates(),
            st.times(),
        ),
        *(
            st.timedeltas(),
            st.uuids(),
            st.decimals(allow_nan=False),
            st.characters(categories=["Cs"]),
        ),
        *(st.just(PurePosixPath("a/b")), st.builds(Document, st.text())),
    ),
    lambda inner: st.one_of(
        *(st.lists(inner, max_size=3), st.tuples(inner, inner), st.builds(Holder, inner)),
        *(st.sets(st.integers() | st.text()), st.frozensets(st.binary())),
        st.dictionaries(
            st.text() | st.just("$type") | st.integers() | st.dates(), inner, max_size=3
        ),
    ),
    max_leaves=10,
)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and all that is in them is of the same types."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, dict):
        return all(map(same, one.values(), other.values())) and all(map(same, one, other))
    if isinstance(one, list | tuple):
        return all(map(same, one, other))
    return same(one.content, other.content) if isinstance(one, Holder) else True


def stored(value: object, declared: Any, *types: Any) -> Any:
    """The value after a way through real JSON."""
    text = json.dumps(to_json(value, declared, types), allow_nan=False)
    return from_json(json.loads(text), declared, types)


@given(anything)
def test_any_value_comes_back_equal_and_of_the_same_types(value: object) -> None:
    """Though nothing is declared but the classes that may occur."""
    assert same(stored(value, Any, Document, Holder), value)


@given(anything)
def test_a_value_in_a_declared_place_comes_back_too(value: object) -> None:
    """Whether the declaration fits it or not."""
    for declared in (list[Any], dict[str, Any], Document, Holder, tuple[Any, ...]):
        assert same(stored(value, declared, Document, Holder), value)
        assert same(stored([value], list[declared], Document, Holder), [value])  # type: ignore[valid-type]  # at run time


@given(anything)
def test_what_is_stored_is_plain_json(value: object) -> None:
    """Whatever reads it: of strict numbers and Unicode."""
    text = json.dumps(to_json(value, Any, [Document, Holder]), allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode("utf-8")) == to_json(value, Any, [Document, Holder])


@given(anything)
def test_what_is_frozen_is_stored_like_what_it_stands_for(value: object) -> None:
    """A state holds frozen values."""
    types = [Document, Holder]
    assert to_json(freeze(value), Any, types) == to_json(value, Any, types)


CALL = ToolCall("search", {"query": ["a", {"b": None}]}, id="1", extra={"signature": "x"})
MESSAGES = [
    ChatMessage.from_system("Be good."),
    ChatMessage.from_user(content_parts=["a", ImageContent("abc", detail="low")]),
    ChatMessage.from_assistant("b", tool_calls=[CALL], reasoning="c", meta={"usage": {"in": 1}}),
    ChatMessage.from_tool("d", CALL, error=True),
    ChatMessage.from_tool([TextContent("e"), ImageContent("f")], CALL),
]


@pytest.mark.parametrize("message", MESSAGES, ids=repr)
def test_a_message_is_stored_with_all_its_parts(message: ChatMessage) -> None:
    """Whoever said it."""
    assert stored([message], list[ChatMessage]) == [message]
    assert repr(stored(message, ChatMessage)) == repr(message)


def test_a_message_is_stored_readably() -> None:
    """A person can see what it says."""
    assert to_json(ChatMessage.from_user("hi"), ChatMessage) == {
        "role": "user",
        "content": [{"$type": "TextContent", "text": "hi"}],
    }


def test_frozen_containers_are_stored() -> None:
    """Wherever they are."""
    assert stored(SharedList([Document("a")]), list[Document]) == [Document("a")]
    assert stored(FrozenDict(a=SharedList([1])), Any) == {"a": [1]}


def test_a_type_may_have_annotations_without_a_hash() -> None:
    """They do not matter here."""
    assert stored([1], Annotated[list[int], ["a"]]) == [1]
    assert stored([1], list[Annotated[int, ["a"]]]) == [1]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (object, "value cannot be stored"),
        ([1, object], r"value\[1\] cannot be stored"),
        ({"a": [(1, object)]}, r"value\['a'\]\[0\]\[1\] cannot be stored"),
        ({object: 1}, r"value key <class 'object'> cannot be stored"),
        ([Holder({"a": Holder(object)})], r"value\[0\]\.content\['a'\]\.content cannot be stored"),
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_named_with_its_place(value: object, place: str) -> None:
    """Nothing is dropped in silence."""
    with pytest.raises(UnstorableError, match=place):
        to_json(value, Any, [Holder])


@pytest.mark.parametrize(
    ("data", "declared", "expected"),
    [
        ([{"title": "a"}, {}], list[Document], r"nothing is stored as 'title' @ value\[1\]\.title"),
        ([{"title": "a", "x": 1}], list[Document], r"Extra fields .* x @ value\[0\]"),
        (
            {"a": {"$type": "Documnt"}},
            dict[str, Any],
            r"mention no 'Documnt', or several @ value\['a'\]",
        ),
        (5, Document, "@ value"),
        ([5], list[Document], r"@ value\[0\]"),
        ({"$type": "date", "value": "nonsense"}, Any, "nonsense.* @ value"),
        ({"$type": "date"}, Any, "nothing is stored as 'value' @ value"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named_with_its_place(
    data: object, declared: Any, expected: str
) -> None:
    """Data may have been changed by anybody."""
    with pytest.raises(StoredDataError, match=expected):
        from_json(data, declared)


DECLARED: list[Any] = [
    *(Any, str, list, list[str], list[Any], list[list[str]], dict[str, int], date),
    *(set[str], dict[int, int], list[date], int | str, str | None, list[ChatMessage]),
]
VALUES: list[Any] = [
    *("a", 1, None, ["a"], [1], [["a"]], {"a": 1}, {"a": [1]}, ("a",), [None], [], {1: 2}, {}),
    *(ChatMessage.from_user("a"), [(1,)], {"$type": "x"}, float("nan"), 2**70, {"a"}),
]


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_what_is_written_comes_back(declared: Any) -> None:
    """Whatever the value is, and whatever it was declared as."""
    for value in VALUES:
        data = json.loads(json.dumps(to_json(value, declared, [date, ChatMessage])))
        again = from_json(data, declared, [date, ChatMessage])
        assert repr(again) == repr(value)


def test_the_forms_of_types_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is stored at every step."""
    to_json([Document("a")], list[Document])
    monkeypatch.setattr(
        OpenValueConverter, "__init__", lambda self, types: pytest.fail("worked out again")
    )
    assert to_json([Document("b")], list[Document]) == [{"title": "b", "tags": []}]


def test_an_integer_that_python_would_not_print_is_refused() -> None:
    """When it is stored, and when a file has one."""
    with pytest.raises(UnstorableError, match="more than 14000 bits"):
        to_json({"n": 1 << 14001}, Any)
    with pytest.raises(StoredDataError, match="more than 3500 hexadecimal digits"):
        from_json({"$type": "int", "value": "0x1" + "0" * 3600}, Any)
    assert stored(-(1 << 13999), Any) == -(1 << 13999)


def test_a_conversation_that_is_none_is_refused() -> None:
    """With the place where it is wrong."""
    with pytest.raises(StoredDataError, match=r"it is missing @ messages\[0\]\.content"):
        messages_from_json([{"role": "user"}], place="messages")


def test_what_a_message_must_not_hold_is_refused_in_text_too() -> None:
    """The error names the place."""
    with pytest.raises(UnstorableError, match="state key 'messages' cannot be stored"):
        value_to_json(
            [ChatMessage.from_user("hi", meta={"of": 1j})],
            list[ChatMessage],
            place="state key 'messages'",
        )


def test_a_type_without_a_hash_is_written_as_any_other() -> None:
    """As its JSON says."""
    assert to_json("a", Annotated[str, ["an annotation"]]) == "a"


@frozen
class Chain:
    """A record in a record."""

    links: list[Chain]


def test_what_is_nested_too_deeply_cannot_be_stored() -> None:
    """And it says so, in place of a bare RecursionError."""
    chain = Chain([])
    for _ in range(2000):
        chain = Chain([chain])

    with pytest.raises(UnstorableError, match="it is nested too deeply"):
        to_json(chain, Chain)


def test_a_zone_is_kept_by_its_name() -> None:
    """With which of two equal hours it is; a zone's rules for other days go with it."""
    for fold, offset in enumerate(["+01:00", "+00:00"]):
        night = datetime(2026, 10, 25, 1, 30, tzinfo=ZoneInfo("Europe/London"), fold=fold)
        assert to_json(night, datetime) == f"2026-10-25T01:30:00{offset}[Europe/London]"
        back = stored(night, datetime)
        assert (back.tzinfo, back.fold, back) == (night.tzinfo, fold, night)


@pytest.mark.parametrize(
    "data",
    [
        "2026-07-01T12:00:00+00:00[Europe/London]",  # by the rules of that day
        "2026-07-01T12:00:00+00:00[Nowhere/At_All]",
        "2026-07-01T12:00:00+00:00[../../etc/passwd]",
        "2026-07-01T12:00:00+00:00[tests.core/x]",
    ],
)
def test_a_zone_that_is_not_known_or_not_so_is_its_offset(data: str) -> None:
    """Nothing is opened because stored data names it."""
    assert repr(from_json(data, datetime)) == repr(datetime(2026, 7, 1, 12, tzinfo=UTC))
