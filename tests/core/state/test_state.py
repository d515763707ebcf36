"""A state is a value: it is checked, it never changes, and it costs what is new."""

from __future__ import annotations

import copy
import json
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from time import perf_counter_ns
from typing import Any, cast

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState, class_schema
from detent.core.chat.messages import ChatMessage
from detent.core.errors import (
    SchemaError,
    StateError,
    StateTypeError,
    StoredDataError,
    UnstorableError,
)
from detent.core.state.fields import Appended, Field
from detent.core.state.handlers import (
    add_numbers,
    append_unique,
    keep_last,
    keep_max,
    merge_dicts,
    merge_lists,
    replace_values,
)
from detent.core.state.keys import Key, Write
from detent.core.state.state import (
    BaseState,
    State,
    initial_writes,
    lists_in,
    secret_keys,
    with_messages,
    with_secret_keys,
)
from detent.core.values.frozen import FrozenList
from detent.core.values.shared_list import SharedList

SCHEMA: dict[str, Any] = {
    "user_name": {"type": str},
    "documents": {"type": list},
    "count": {"type": int, "handler": add_numbers},
}


@attrs.frozen
class Document:
    """A frozen attrs class."""

    title: str
    tags: list[str] = attrs.field(factory=list)


@dataclass
class Draft:
    """A dataclass that can be changed."""

    lines: list[str] = field(default_factory=list)


def keep_best(current: tuple[Document, ...], found: list[Document]) -> tuple[Document, ...]:
    return tuple(sorted((*current, *found), key=lambda document: document.title)[:2])


class Research(TypedState):
    """A class schema."""

    user_name = Replaced("")
    home = Replaced[str]()
    queries = Appended[str]()
    best = Field[tuple[Document, ...], list[Document]]((), keep_best)


class Other(TypedState):
    """Another schema, with a namesake."""

    user_name = Replaced("")
    colour = Replaced("")


class TestTheDictStyleOfOldDocuments:
    """Examples that people know, with `state.set(…)` read as `state = state.set(…)`."""

    def test_messages_are_there_by_themselves(self) -> None:
        """A list that messages are appended to."""
        state = State(schema={"user_id": {"type": str}})
        assert "messages" in state.schema
        assert state.schema["messages"]["type"] == list[ChatMessage]
        assert state.schema["messages"]["handler"] is merge_lists
        assert state.get("messages", []) == []
        hello = ChatMessage.from_user("hello")
        assert state.set("messages", [hello]).set("messages", [hello]).messages == [hello, hello]

    def test_a_state_is_made_of_schema_and_data_and_read_by_key(self) -> None:
        """With a default for what is not there."""
        data = {"user_name": "Alice", "documents": [], "count": 0}
        state = State(schema=SCHEMA, data=data)
        assert state.get("user_name") == "Alice"
        assert state.get("documents", []) == []
        assert state.has("user_name")
        assert state.data == data
        assert State(SCHEMA).get("user_name", "nobody") == "nobody"
        assert State(SCHEMA).get("user_name") is None
        assert not State(SCHEMA).has("user_name")
        assert State(SCHEMA).data == {}

    def test_lists_merge_and_others_are_replaced(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Unless the schema has a handler."""
        state = State(schema={"documents": {"type": list}, "user_name": {"type": str}})
        state = state.set("documents", [1, 2])
        state = state.set("documents", [3, 4])
        print(state.get("documents"))  # noqa: T201  # as people do
        state = state.set("user_name", "Alice")
        state = state.set("user_name", "Bob")
        print(state.get("user_name"))  # noqa: T201  # as people do
        assert capsys.readouterr().out == "[1, 2, 3, 4]\nBob\n"

    def test_a_handler_may_be_ones_own(self, capsys: pytest.CaptureFixture[str]) -> None:
        """It gets None where nothing is, and lists that pass for lists."""

        def custom_merge(current_value: Any, new_value: Any) -> Any:
            current_list = current_value or []
            new_list = new_value if isinstance(new_value, list) else [new_value]
            return sorted(current_list + new_list)

        def deduplicate(current_value: list[Any] | None, new_value: list[Any]) -> list[Any]:
            existing = set(current_value or [])
            return (current_value or []) + [item for item in new_value if item not in existing]

        schema = {
            "numbers": {"type": list, "handler": custom_merge},
            "doc_ids": {"type": list, "handler": deduplicate},
        }
        state = State(schema=schema)
        state = state.set("numbers", [3, 1])
        state = state.set("numbers", [2, 4])
        print(state.get("numbers"))  # noqa: T201  # as people do
        state = state.set("doc_ids", ["doc-1", "doc-2"])
        state = state.set("doc_ids", ["doc-2", "doc-3"])
        print(state.get("doc_ids"))  # noqa: T201  # as people do
        assert capsys.readouterr().out == "[1, 2, 3, 4]\n['doc-1', 'doc-2', 'doc-3']\n"

    def test_a_handler_may_be_overridden_for_one_write(self) -> None:
        """The next one goes by the schema again."""

        def concatenate_strings(current: str | None, new: str) -> str:
            return f"{current}-{new}" if current else new

        state = State(schema={"user_name": {"type": str}})
        state = state.set("user_name", "Alice")
        state = state.set("user_name", "Bob", handler_override=concatenate_strings)
        assert state.get("user_name") == "Alice-Bob"
        assert state.set("user_name", "Eve").get("user_name") == "Eve"


def test_a_list_is_read_as_a_list() -> None:
    """Whatever it was written as, and with all that a list is asked."""
    state = State(SCHEMA, {"documents": [1]}).set("documents", (2,)).set("documents", 3)
    documents = state.get("documents")
    assert isinstance(documents, list)
    assert documents == [1, 2, 3]
    assert documents + [4] == [1, 2, 3, 4]  # noqa: RUF005  # as people do


def test_reading_gives_the_very_value() -> None:
    """Nothing is copied that cannot be changed."""
    document = Document("a")
    state = State({"a": {"type": Document}, "b": {"type": list}}, {"a": document, "b": [1]})
    assert state.get("a") is state.get("a")
    assert type(state.get("b")) is FrozenList


UNKNOWN: dict[str, Callable[[], object]] = {
    "data": lambda: State(SCHEMA, {"user_nam": "Alice"}),
    "set": lambda: State(SCHEMA).set("user_nam", "Alice"),
    "update": lambda: State(SCHEMA).update([Write("user_nam", "Alice")]),
    "restored": lambda: State(SCHEMA).restored({"version": 1, "data": {"user_nam": "Alice"}}),
    "read": lambda: Research().read("user_nam"),
}


@pytest.mark.parametrize("act", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_key_is_refused_where_it_matters(act: Callable[[], object]) -> None:
    """With the keys that there are, and the one that may have been meant."""
    with pytest.raises(StateError, match=r"'user_nam' is not a key .* did you mean 'user_name'\?"):
        act()


MISTYPED: dict[str, Callable[[], object]] = {
    "data": lambda: State(SCHEMA, {"user_name": 1}),
    "set": lambda: State(SCHEMA).set("user_name", 1),
    "handler": lambda: State(SCHEMA).set("user_name", "a", lambda current, update: 1),
    "writes": lambda: Research(Research.user_name.put(cast(str, 1))),
    "typed set": lambda: Research().set(Research.user_name, cast(str, 1)),
}


@pytest.mark.parametrize("act", MISTYPED.values(), ids=MISTYPED)
def test_a_value_of_another_type_is_refused_everywhere(act: Callable[[], object]) -> None:
    """At construction, on a write, and when a handler gives it."""
    with pytest.raises(StateTypeError, match=r"'user_name' holds str.* got int: 1"):
        act()


def test_of_what_a_secret_key_refuses_nothing_is_told() -> None:
    """But what it is. A handler that raises is named; what has come out of it is its cause."""
    names = frozenset({"user_name", "documents"})
    state = with_secret_keys(State(SCHEMA, {"user_name": "Alice"}), names)

    hidden = r"user_name' holds str, got dict, which is not shown: it is secret$"
    with pytest.raises(StateTypeError, match=hidden) as refused:
        state.set("user_name", {"hush": Draft()})
    assert refused.value.is_hidden
    assert not refused.value.__cause__
    hidden = r"holds list and <lambda> must return that, got FrozenSet, which is not shown"
    with pytest.raises(StateTypeError, match=hidden):
        state.set("documents", {"hush"}, lambda current, update: update)
    with pytest.raises(StateError, match=r"raised KeyError$"):
        state.set("user_name", "hush", lambda current, update: {}[update])
    with pytest.raises(StateTypeError, match="'hush'") as refused:
        state.set("count", "hush")
    assert not refused.value.is_hidden


def test_a_state_knows_its_secret_keys_and_does_not_print_them() -> None:
    """Whatever comes out of it; it is equal to what holds the same."""
    plain = State(SCHEMA, {"user_name": "Alice", "count": 1})
    state = with_secret_keys(plain, frozenset({"user_name"}))
    after = state.set("count", 2)

    assert repr(after) == "State(user_name=********, count=3)"
    assert not secret_keys(plain)
    assert secret_keys(after) == {"user_name"}
    assert state == plain
    assert with_secret_keys(state, frozenset({"user_name"})) is state
    assert repr(Write("user_name", "Alice", is_secret=True)) == "Write('user_name', ********)"


def test_several_writes_are_made_together_or_not_at_all() -> None:
    """The state that they were meant for is as it was."""
    state = State(SCHEMA, {"count": 1})
    after = state.update([Write("count", 2), Write("documents", [1]), Write("documents", [2])])
    assert after.data == {"count": 3, "documents": [1, 2]}
    with pytest.raises(StateTypeError):
        state.update([Write("documents", [1]), Write("user_name", 2)])
    assert state.data == {"count": 1}


def test_a_handler_that_raises_changes_nothing() -> None:
    """And is named."""
    state = State(SCHEMA, {"count": 1})
    with pytest.raises(
        StateError, match="the handler <lambda> of state key 'count' raised KeyError"
    ):
        state.set("count", 1, lambda current, update: {}[update])
    assert state.data == {"count": 1}


def test_initial_values_pass_no_handler() -> None:
    """They take the place of defaults."""
    assert State(SCHEMA, {"count": 5}).get("count") == 5
    assert initial_writes({"count": 5}) == [Write("count", 5, replace_values)]


def test_the_schema_can_set_a_default() -> None:
    """It is there until something is written, and is no data."""
    state = State({"count": {"type": int, "handler": add_numbers, "default": 10}})
    assert (state.get("count", 0), state.holds("count"), state.data) == (10, True, {})
    assert not state.has("count")
    assert state.set("count", 5).get("count") == 15


def test_a_class_schema_is_read_by_attributes_and_written_by_keys() -> None:
    """Types and handlers are those of its fields."""
    state = Research(Research.user_name.put("Alice")).set(Research.queries, ["a"])
    state = state.set(Research.best, [Document("c"), Document("b"), Document("a")])
    assert (state.user_name, state.queries) == ("Alice", ["a"])
    assert state.best == (Document("a"), Document("b"))
    assert (
        state.set(Research.user_name, "B", lambda current, new: current + new).user_name == "AliceB"
    )
    assert state.update([Research.queries.put(["b"])]).queries == ["a", "b"]
    assert state.messages == []


def test_what_may_be_unset_is_read_with_a_default() -> None:
    """Or asked for first."""
    state = Research()
    assert not state.has(Research.home)
    assert state.get(Research.home) is None
    assert state.get(Research.home, "nowhere") == "nowhere"
    assert state.set(Research.home, "Rome").get(Research.home) == "Rome"
    assert state.set(Research.home, "Rome").has(Research.home)


FOREIGN: dict[str, Callable[[Research], object]] = {
    "set": lambda state: state.set(Other.user_name, "a"),
    "get": lambda state: state.get(Other.user_name),
    "has": lambda state: state.has(Other.user_name),
    "update": lambda state: state.update([Other.user_name.put("a")]),
    "writes": lambda state: type(state)(Other.user_name.put("a")),
}


@pytest.mark.parametrize("act", FOREIGN.values(), ids=FOREIGN)
def test_a_key_of_another_schema_is_refused(act: Callable[[Research], object]) -> None:
    """Also a namesake with the same type."""
    with pytest.raises(StateError, match="'user_name' is a key of another schema than Research"):
        act(Research())


def test_a_key_that_no_schema_shares_is_unknown() -> None:
    """As any other that is not there."""
    with pytest.raises(StateError, match="'colour' is not a key of this state"):
        Research().set(Other.colour, "red")


def test_a_string_is_no_typed_key() -> None:
    """The message says what to write."""
    with pytest.raises(StateError, match=r"write Research\.user_name, a typed key"):
        Research().set("user_name", "a")  # type: ignore[arg-type]  # that is the point


def test_a_class_schema_becomes_a_dict_schema_and_back() -> None:
    """With types, handlers and defaults."""
    state = Research(Research.user_name.put("Alice"))
    loose = State(state.schema, state.data)
    assert loose.set("best", [Document("a")]).get("best") == (Document("a"),)
    again = class_schema("Again", loose.schema)
    assert issubclass(again, TypedState)
    assert (again.__name__, again().schema) == ("Again", loose.schema)
    key = cast(Key[Any, Any], vars(again)["best"].key)
    assert again().set(key, [Document("a")]).read("best") == (Document("a"),)
    with pytest.raises(SchemaError, match="'data' cannot name a key"):
        class_schema("Wrong", {"data": {"type": str}})
    with pytest.raises(SchemaError, match="'messages' is there by itself, merged by merge_lists"):
        class_schema("Wrong", {"messages": {"type": list[ChatMessage], "handler": replace_values}})


@pytest.mark.parametrize("state", [State(SCHEMA, {"count": 1}), Research()], ids=["dict", "class"])
def test_a_state_refuses_every_change(state: BaseState) -> None:
    """Of its attributes, known and unknown, and being begun again."""
    before = repr(state)
    for name in ("user_name", "data", "_values", "new"):
        with pytest.raises(AttributeError, match="a state cannot be changed"):
            setattr(state, name, 1)
        with pytest.raises(AttributeError, match="a state cannot be changed"):
            delattr(state, name)
    with pytest.raises(TypeError, match="cannot be changed, nor begun again"):
        state.__init__(SCHEMA)  # type: ignore[misc]  # that is the point
    with pytest.raises(TypeError, match="cannot be changed"):
        state.data["user_name"] = 1
    assert repr(state) == before


def test_equal_states_have_equal_schemas_and_values() -> None:
    """And equal hashes, where their values have any."""
    state = State(SCHEMA, {"count": 1, "documents": [1]})
    same = State(SCHEMA).set("documents", [1]).set("count", 1)
    assert state == same
    assert hash(state) == hash(same)
    assert state != state.set("count", 1)
    assert state != State({**SCHEMA, "more": {"type": str}}, {"count": 1, "documents": [1]})
    assert state != {"count": 1, "documents": [1]}
    with pytest.raises(TypeError, match="unhashable"):
        hash(State({"draft": {"type": Draft}}, {"draft": Draft()}))


def test_a_state_is_shown_with_long_values_shortened() -> None:
    """So that a person can read it."""
    state = State(SCHEMA, {"user_name": "Alice", "documents": list(range(1_000))})
    assert repr(state) == "State(user_name='Alice', documents=[0, 1, 2, 3, … 996 more])"
    assert repr(Research()) == "Research()"


def test_a_copy_of_a_state_is_the_state_itself() -> None:
    """There is nothing to protect. Pickling would lose the handlers."""
    state = State(SCHEMA, {"count": 1})
    assert copy.copy(state) is copy.deepcopy(state) is state
    with pytest.raises(TypeError, match="store what to_dict"):
        pickle.dumps(state)


def test_a_state_is_stored_and_restored() -> None:
    """The schema is given again; what comes back is equal."""
    state = State(
        {**SCHEMA, "found": {"type": list[Document]}},
        {"count": 1, "documents": [1, (2,), Document("b")]},
    )
    state = state.set("found", [Document("a", ["b"])]).set(
        "messages", [ChatMessage.from_user("hi")]
    )
    stored = state.to_dict()
    assert stored["version"] == 1
    assert State.from_dict(stored, {**SCHEMA, "found": {"type": list[Document]}}) == state
    assert state.restored(stored) == state
    typed = Research().set(Research.queries, ["a"]).set(Research.best, [Document("a")])
    assert Research.from_dict(typed.to_dict()) == typed


def test_a_key_that_is_not_there_has_no_value() -> None:
    """To ask for it by a text is no mistake: there is nothing to lose."""
    state = State(SCHEMA, {"user_name": "Ada"})

    assert state.get("nowhere") is None
    assert state.get("nowhere", 1) == 1
    assert not state.has("nowhere")
    assert state.get("documents", ["a"]) == ["a"]  # there, but nothing was written


def dropping(state: Any) -> None:
    """Write to a state, and keep nothing."""
    if isinstance(state, State):
        state.set("count", 1)
    else:
        state.set(Research.queries, ["a"])


def keeping(state: Any) -> object:
    """Write to a state in all the ways that keep what comes of it."""
    key: Any = "count" if isinstance(state, State) else Research.queries
    value: Any = 1 if isinstance(state, State) else ["a"]
    later = state.set(key, value)
    both = [state.set(key, value), later.set(key, value)]
    assert state.set(key, value) != state
    return both and state.set(key, value)


@pytest.mark.parametrize("state", [State(SCHEMA), Research()], ids=lambda one: type(one).__name__)
def test_a_state_that_is_thrown_away_warns_where_it_is(state: Any) -> None:
    """``state.set(…)`` as a statement changes nothing; any other use of it says nothing."""
    with pytest.warns(RuntimeWarning, match="a state is a value, write state = …") as found:
        dropping(state)
    assert keeping(state)

    first = dropping.__code__.co_firstlineno
    assert [warning.lineno - first for warning in found] == [3 if type(state) is State else 5]
    assert found[0].filename == __file__


class Own:
    """A class that data cannot name."""


NAMED: dict[str, Any] = {
    "a": {"type": list[str]},
    "b": {"type": str | None, "default": None},
    "c": {"type": date},
    "d": {"type": str | int, "handler": keep_max},
    "e": {"type": dict[str, int], "handler": merge_dicts},
    "f": {"type": list},
    "g": {"type": list[ChatMessage], "default": []},
    "h": {"type": Any},
}


def test_a_stored_state_names_the_schema_that_python_knows() -> None:
    """It comes back with types, handlers and defaults, through JSON, without being told of them."""
    state = State(NAMED).set("a", ["x"]).set("c", date(2026, 1, 2)).set("f", [1, date(2026, 1, 2)])
    stored = json.loads(json.dumps(state.to_dict()))

    again = State.from_dict(stored)

    assert again == state
    assert again.schema == state.schema


@pytest.mark.parametrize(
    "entry",
    [
        {"type": Own},
        {"type": list[Own]},
        {"type": type("date", (), {})},
        {"type": int, "handler": lambda before, update: update},
        {"type": list, "handler": keep_last(3)},
    ],
    ids=["class", "items", "namesake", "lambda", "made handler"],
)
def test_a_schema_of_ones_own_is_given_again(entry: Any) -> None:
    """Data names no class and no function but those of two closed tables."""
    stored = State({"key": entry}).to_dict()

    with pytest.raises(StoredDataError, match=r"pass the schema, State.from_dict\(data, schema\)"):
        State.from_dict(stored)
    assert State.from_dict(stored, {"key": entry}) == State({"key": entry})


@pytest.mark.parametrize(
    "schema",
    [None, [], {"key": None}, {"key": {"type": "int"}}]
    + [{"key": {"type": kind, "handler": "replace_values"}} for kind in (5, "eval", "os", None)]
    + [{"key": {"type": "int", "handler": by}} for by in ("eval", ["eval"], "SharedList")],
    ids=str,
)
def test_a_stored_schema_that_is_none_is_refused(schema: Any) -> None:
    """With what to do."""
    with pytest.raises(StoredDataError, match="pass the schema"):
        State.from_dict({"version": 1, "data": {}, "schema": schema})


def test_what_cannot_be_stored_is_named_with_its_place() -> None:
    """Nothing is dropped."""
    state = State(SCHEMA, {"documents": [1, {"a": Draft}]})
    with pytest.raises(
        UnstorableError, match=r"state key 'documents'\[1\]\['a'\] cannot be stored"
    ):
        state.to_dict()


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ({"data": {}}, "version None"),
        ({"version": 3, "data": {}}, "version 3; this Detent reads version 1"),
        ({"version": 1}, "a dict with 'version' and 'data'"),
        ("{}", "a dict with 'version' and 'data'"),
        ({"version": 1, "data": {"found": [{"titel": "a"}]}}, r"state key 'found'\[0\]"),
    ],
    ids=str,
)
def test_what_is_no_stored_state_is_refused(stored: Any, expected: str) -> None:
    """With what is wrong."""
    with pytest.raises(StoredDataError, match=expected):
        State.from_dict(stored, {"found": {"type": list[Document]}})


def test_what_is_restored_is_checked() -> None:
    """Against the types of the schema."""
    with pytest.raises(StateTypeError, match="state key 'user_name' holds str, got int: 1"):
        State.from_dict({"version": 1, "data": {"user_name": 1}}, SCHEMA)


def test_ten_thousand_states_take_the_memory_of_one() -> None:
    """They share all but what is new."""
    state = State(SCHEMA, {"documents": list(range(10_000))}).set("documents", [0])
    kept = [state]
    tracemalloc.start()
    for _ in range(10_000):
        kept.append(kept[-1].set("documents", [0]))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / 10_000 < 1_000


def test_a_write_costs_the_same_however_long_the_list() -> None:
    """Within twice the time; the least of many, for others use the machine too."""
    ten = list(range(10))
    states = {n: State(SCHEMA, {"documents": list(range(n))}) for n in (10, 1_000, 100_000)}
    least = dict.fromkeys(states, sys.maxsize)
    for _ in range(300):
        for size, state in states.items():
            begun = perf_counter_ns()
            states[size] = state.set("documents", ten)
            least[size] = min(least[size], perf_counter_ns() - begun)
    assert max(least.values()) <= 2 * min(least.values())


values = st.recursive(
    st.integers() | st.text(max_size=2) | st.builds(Draft) | st.binary(max_size=2).map(bytearray),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
        | st.tuples(inner)
        | st.builds(Document, st.text(max_size=2), st.lists(st.text(max_size=2), max_size=2))
        | st.sets(st.integers(), max_size=2)
    ),
    max_leaves=6,
)
HANDLERS = [
    None,
    merge_lists,
    replace_values,
    append_unique,
    lambda current, update: [current, update],
]


def spoil(value: Any) -> None:
    """Change what is in a value, and then the value, in every way one can think of."""
    for part in parts(value):
        spoil(part)
    if isinstance(value, Document):  # to change one itself is to go behind its back
        return
    for way in (
        lambda: value.append("spoilt"),
        lambda: value.update({"spoilt": "spoilt"}),
        lambda: value.add("spoilt"),
        lambda: value.clear(),  # noqa: PLW0108  # it may not have it
        lambda: value.sort(key=str, reverse=True),
        lambda: value.extend(b"spoilt"),
        lambda: value.__setitem__(0, "spoilt"),
        lambda: value.__delitem__(0),
        lambda: value.__init__(),  # noqa: PLW0108  # as above
        lambda: setattr(value, "lines", ["spoilt"]),
        lambda: setattr(value, "title", "spoilt"),
        lambda: setattr(value, "_values", {"spoilt": "spoilt"}),
    ):
        with suppress(Exception):
            way()


def parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    if isinstance(value, list | tuple):
        return [*value]
    if isinstance(value, Document):
        return [value.tags]
    return [value.lines] if isinstance(value, Draft) else []


class NobodyChangesAState(RuleBasedStateMachine):
    """States stay what they were, whatever is done to what one can get hold of."""

    states: Bundle[State] = Bundle("states")

    def __init__(self) -> None:
        super().__init__()
        self.were: list[tuple[State, str]] = []

    def remember(self, state: State) -> State:
        """Note what it is now."""
        self.were.append((state, full(state)))
        return state

    @rule(
        target=states, data=st.fixed_dictionaries({}, optional={"a": values, "b": st.lists(values)})
    )
    def begin(self, data: dict[str, Any]) -> State:
        """A state."""
        schema = {"a": {"type": Any}, "b": {"type": list}, "c": {"type": Any, "default": data}}
        state = self.remember(State(schema, data))
        spoil(schema)
        spoil(data)
        return state

    @rule(
        target=states,
        state=states,
        key=st.sampled_from("abc"),
        value=values,
        handler=st.sampled_from(HANDLERS),
    )
    def write(self, state: State, key: str, value: Any, handler: Any) -> State:
        """A state after one write, whose value is spoilt then."""
        write = Write(key, value, handler)
        try:
            new = self.remember(state.set(key, value, handler))
        except StateTypeError:  # "b" holds lists only
            return state
        spoil(value)
        spoil(write.value)
        assert full(state.update([write])) == full(new)
        return new

    @rule(target=states, state=states, value=st.lists(values))
    def write_by_a_handler_that_spoils(self, state: State, value: list[Any]) -> State:
        """A handler that spoils what it gets and what it gave."""
        kept: list[Any] = []

        def handler(current: Any, update: Any) -> Any:
            spoil(current)
            spoil(update)
            kept.append([*(current or []), *update])
            return kept[-1]

        new = self.remember(state.set("b", value, handler))
        spoil(kept)
        return new

    @rule(state=states)
    def spoil_what_is_read(self, state: State) -> None:
        """Whatever one can get hold of."""
        for key in "abc":
            spoil(state.get(key))
            for item in state.get("b") or ():
                spoil(item)
        spoil(state.data)
        spoil(state.schema)
        spoil(state)

    @invariant()
    def nothing_has_changed(self) -> None:
        """Not one of them."""
        for state, was in self.were:
            assert full(state) == was


def full(state: State) -> str:
    """All that a state holds, in full."""
    return repr({name: state.get(name) for name in "abc"})


TestNobodyChangesAState = NobodyChangesAState.TestCase
TestNobodyChangesAState.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)


def test_a_list_is_kept_as_a_shared_one() -> None:
    """That is what makes it cheap to grow; who reads it gets a real list, which JSON takes."""
    state = State(SCHEMA, {"documents": [1]})

    assert lists_in(state) == {"documents": SharedList([1])}
    assert isinstance(state.get("documents"), list)
    assert json.dumps(state.get("documents")) == "[1]"


def test_what_is_said_passes_the_handler_of_messages() -> None:
    """One's own, if the schema has one."""
    one, two = ChatMessage.from_user("one"), ChatMessage.from_user("two")
    forgetful = State({"messages": {"type": list[ChatMessage], "handler": keep_last(1)}})

    assert with_messages(with_messages(forgetful, [one]), [two]).messages == [two]
    assert with_messages(with_messages(State({}), [one]), [two]).messages == [one, two]
