"""State in both its styles: values that are read, and written into new states."""

from __future__ import annotations

from typing import Any, cast

import pytest

from detent import (
    ChatMessage,
    SchemaError,
    State,
    StateError,
    StateTypeError,
    TypedState,
    Write,
    appended,
    replaced,
)

SCHEMA = {"documents": {"type": list}, "user_name": {"type": str}, "count": {"type": int}}


class Research(TypedState):
    """A schema as a class."""

    user_name = replaced(str, "")
    queries = appended(str)


def test_writing_gives_another_state() -> None:
    """The old one stays as it was."""
    state = State(SCHEMA, {"user_name": "Alice"})

    after = state.set("documents", [1, 2]).set("documents", [3, 4]).set("user_name", "Bob")

    assert after.get("documents") == [1, 2, 3, 4]
    assert after.get("user_name") == "Bob"
    assert state.get("documents", []) == []
    assert state.get("user_name") == "Alice"


def test_a_key_is_absent_until_it_is_written() -> None:
    """The default of a reading is only for then."""
    state = State(SCHEMA)

    assert not state.has("count")
    assert state.get("count", 7) == 7
    assert state.set("count", 0).get("count", 7) == 0


def test_one_write_may_have_a_handler_of_its_own() -> None:
    """The schema's holds again for the next."""
    state = State(SCHEMA, {"user_name": "Alice"})

    joined = state.set("user_name", "Bob", lambda current, new: f"{current}-{new}")

    assert joined.get("user_name") == "Alice-Bob"
    assert joined.set("user_name", "Carol").get("user_name") == "Carol"


def test_messages_are_there_by_themselves() -> None:
    """They append; another type for them is refused."""
    state = State(SCHEMA)
    hello = ChatMessage.from_user("hello")

    assert state.schema["messages"]["type"] == list[ChatMessage]
    assert state.set("messages", [hello]).messages == [hello]
    with pytest.raises(SchemaError, match="messages"):
        State({"messages": {"type": list[str]}})


@pytest.mark.parametrize(
    "make",
    [
        lambda: State(SCHEMA, {"documnts": []}),
        lambda: State(SCHEMA).set("documnts", []),
        lambda: State(SCHEMA).get("documnts"),
    ],
    ids=["made", "written", "read"],
)
def test_an_unknown_key_is_refused_with_the_closest_one(make: Any) -> None:
    """When a state is made, written or read."""
    with pytest.raises(StateError, match="did you mean 'documents'"):
        make()


def test_several_writes_are_merged_or_none() -> None:
    """One that fails leaves the state as it was."""
    state = State(SCHEMA)

    both = state.update([Write("count", 1), Write("user_name", "Al")])

    assert (both.get("count"), both.get("user_name")) == (1, "Al")
    with pytest.raises(StateTypeError, match="'count' holds int, got str"):
        state.update([Write("user_name", "Al"), Write("count", "one")])
    assert not state.has("user_name")


def test_nothing_that_is_handed_out_changes_a_state() -> None:
    """Neither values nor the snapshot of all of them, nor what was passed in."""
    given: dict[str, Any] = {"tags": ["a"]}
    state = State(SCHEMA, {"documents": [given]})

    given["tags"].append("b")

    assert state.get("documents") == [{"tags": ["a"]}]
    for handle in (state.get("documents")[0], state.get("documents")[0]["tags"], state.data):
        with pytest.raises(TypeError):
            handle.clear()
    with pytest.raises(AttributeError, match="cannot be changed"):
        cast("Any", state).count = 1


def test_a_typed_state_reads_by_attribute_and_writes_by_key() -> None:
    """Its fields have defaults."""
    state = Research(Research.user_name.put("Al"))

    after = state.set(Research.queries, ["detents"]).set(Research.queries, ["springs"])

    assert (after.user_name, after.queries) == ("Al", ["detents", "springs"])
    assert state.queries == []


def test_a_key_of_another_schema_is_refused() -> None:
    """Also when it has the same name."""

    class Other(TypedState):
        queries = replaced(str, "")

    with pytest.raises(StateError, match="queries"):
        Research().set(Other.queries, "x")


def test_states_compare_by_what_they_hold() -> None:
    """Equal states hash alike."""
    one = State(SCHEMA, {"count": 1})
    two = State(SCHEMA).set("count", 1)

    assert one == two
    assert one != two.set("count", 2)
    assert hash(one) == hash(two)
    assert "count=1" in repr(one)
