"""Fields declare the keys of a class schema."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any, ClassVar, Literal

import pytest

from detent.core.errors import SchemaError, StateError, StateTypeError
from detent.core.state.fields import (
    Appended,
    Counter,
    Field,
    LastN,
    Maximum,
    Merged,
    Minimum,
    Replaced,
    SetUnion,
    Unique,
    _refuse_undeclared,
)
from detent.core.state.keys import UNSET, Key
from detent.core.state.state import TypedState


def longest(current: str, update: str) -> str:
    return max(current, update, key=len)


class Everything(TypedState):
    """One field of each kind."""

    inferred = Replaced("")
    optional = Replaced[int | None](None)
    choice = Replaced[Literal["a", "b"]]("a")
    annotated = Replaced[Annotated[int, "of importance"]](0)
    unset = Replaced[str]()
    appended = Appended[str]()
    begun = Appended[str](["a"])
    unique = Unique[str]()
    unique_by = Unique[str](key=str.lower)
    latest = LastN[int](2)
    merged = Merged[str, int]()
    united = SetUnion[int]({1})
    added = Counter(0)
    highest = Maximum(0)
    lowest = Minimum[int]()
    own = Field[str, str]("", longest)
    untyped: Field[str, str] = Field("", longest)


@pytest.mark.parametrize(
    ("name", "declared", "default", "updates", "expected"),
    [
        ("inferred", str, "", ["a", "b"], "b"),
        ("optional", int | None, None, [1, None, 2], 2),
        ("choice", Literal["a", "b"], "a", ["b"], "b"),
        ("annotated", Annotated[int, "of importance"], 0, [1], 1),
        ("unset", str, UNSET, ["a"], "a"),
        ("appended", list[str], [], [["a"], ("b", "c")], ["a", "b", "c"]),
        ("begun", list[str], ["a"], [["b"]], ["a", "b"]),
        ("unique", list[str], [], [["a"], ["a", "b"]], ["a", "b"]),
        ("unique_by", list[str], [], [["a"], ["A", "b"]], ["a", "b"]),
        ("latest", list[int], [], [[1], [2, 3]], [2, 3]),
        ("merged", dict[str, int], {}, [{"a": 1}, {"a": 2, "b": 3}], {"a": 2, "b": 3}),
        ("united", set[int], {1}, [{2}, [3, 1]], {1, 2, 3}),
        ("added", int, 0, [2, 3], 5),
        ("highest", int, 0, [2, 1], 2),
        ("lowest", int, UNSET, [2, 1, 3], 1),
        ("own", str, "", ["aa", "b"], "aa"),
        ("untyped", str, "", ["aa", "b"], "aa"),
    ],
)
def test_a_field_declares_a_key(
    name: str, declared: object, default: object, updates: list[Any], expected: object
) -> None:
    """With the type in its brackets, its default, and the handler of its kind."""
    key = getattr(Everything, name)
    assert isinstance(key, Key)
    assert (key.name, key.type, key.default) == (name, declared, default)
    state = Everything()
    for update in updates:
        state = state.set(key, update)
    assert getattr(state, name) == expected


def test_a_value_of_another_type_is_refused_at_run_time_too() -> None:
    """By the type in the brackets."""
    with pytest.raises(StateTypeError, match=r"'choice' holds Literal\['a', 'b'\]"):
        Everything().set(Everything.choice, "c")  # type: ignore[arg-type]  # that is the point


def test_reading_what_has_no_value_is_an_error() -> None:
    """It has a type, and None is not of it."""
    with pytest.raises(StateError, match=r"'unset' has no default .* state\.has\(…\)"):
        Everything().unset  # noqa: B018  # reading is the point


def test_assigning_says_how_to_write() -> None:
    """A state cannot be changed."""
    with pytest.raises(AttributeError, match=r"state = state\.set\('inferred', …\)"):
        Everything().inferred = "a"  # type: ignore[assignment]  # that is the point


def declared(**body: Any) -> type[TypedState]:
    return type("Wrong", (TypedState,), body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"data": Replaced("")}, "Wrong: 'data' cannot name a key"),
        ({"set": Replaced("")}, "Wrong: 'set' cannot name a key"),
        ({"messages": Replaced("")}, "Wrong: 'messages' cannot name a key"),
        ({"_x": Replaced("")}, "Wrong: '_x' cannot name a key"),
        ({"a b": Replaced("")}, "Wrong: 'a b' cannot name a key"),
        ({"x": Replaced(None)}, r"'x': say the type, e.g. Replaced\[str \| None\]\(None\)"),
        ({"x": Replaced()}, "'x': say the type"),
        ({"x": Appended()}, r"'x': say of what, e.g. Appended\[str\]\(\)"),
        ({"x": Merged()}, "'x': say of what"),
        ({"x": Replaced[int]("a")}, "state key 'x' holds int, got str: 'a'"),  # type: ignore[arg-type]  # as said
        ({"x": Replaced["str"]("a")}, "the type of state key 'x' must be a type"),  # as said
        ({"x": Field[int, int](0, "add")}, "the handler of state key 'x' must be callable"),  # type: ignore[arg-type]  # as said
        (
            {"__annotations__": {"x": int}, "x": 0},
            r"Wrong.x is annotated, .* x = Replaced\[int\]\(…\)",
        ),
        ({"__annotations__": {"x": "list[str]"}}, r"write e.g. x = Replaced\[list\[str\]\]"),
        ({"x": Appended[str]}, r"lacks its parentheses, .* write x = Appended\[str\]\(\)"),
        ({"x": Replaced}, r"Wrong.x lacks its parentheses, .* x = Replaced\[…\]\(\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_class_with_a_fault_is_refused(body: dict[str, Any], expected: str) -> None:
    """When it is made, with what to write instead."""
    fresh = {name: copy(value) for name, value in body.items()}  # a field gets its name once
    with pytest.raises(SchemaError, match=expected):
        declared(**fresh)


def test_a_field_has_one_name() -> None:
    """Under two it would be one key."""
    field = Replaced("")
    with pytest.raises((SchemaError, RuntimeError)) as caught:
        declared(a=field, b=field)
    assert isinstance(caught.value.__cause__ or caught.value, SchemaError)


def test_what_is_no_field_is_left_alone() -> None:
    """Methods, properties, constants, class variables."""

    class Research(TypedState):
        """A class schema."""

        limit: ClassVar[int] = 3
        count = Replaced(0)
        SIZE = 5

        @property
        def doubled(self) -> int:
            return self.count * 2

    assert list(Research().fields) == ["messages", "count"]
    assert Research().set(Research.count, 2).doubled == 4


class Named(TypedState):
    """A part of a schema."""

    name = Replaced("")


class Dated(TypedState, check="first"):
    """Another part."""

    dates = Appended[str]()


class Aged(TypedState):
    """A part with a namesake."""

    name = Replaced(0)


def test_schemas_combine() -> None:
    """The keys are the very ones of the parts, each with its own check."""

    class Both(Named, Dated):
        """A class."""

        more = Replaced(0)

    state = Both().set(Named.name, "a").set(Dated.dates, ["b"]).set(Both.more, 1)
    assert (state.name, state.dates, state.more) == ("a", ["b"], 1)
    assert Both.name is Named.name
    assert [key.check for key in state.fields.values()] == ["all", "first", "all", "all"]


def test_a_schema_may_inherit_one_key_by_two_ways() -> None:
    """It is one key."""

    class Left(Named):
        """A class."""

        left = Replaced(0)

    class Right(Named):
        """A class."""

        right = Replaced(0)

    class Both(Left, Right):
        """A class."""

    assert list(Both().fields) == ["messages", "name", "right", "left"]


def test_two_keys_cannot_have_one_name() -> None:
    """A write through one of the parts would miss the other."""
    expected = "'name' is declared by Aged and again by Named; rename one of them"
    with pytest.raises(SchemaError, match=expected):
        type("Both", (Named, Aged), {})
    with pytest.raises(SchemaError, match="'name' is declared by Named and again by Renamed"):
        type("Renamed", (Named,), {"name": Replaced("b")})
    with pytest.raises(SchemaError, match="'name' is declared by Named and again by Hidden"):
        type("Hidden", (Named,), {"name": property(lambda self: 1)})


def test_a_field_refuses_to_be_set_whichever_way() -> None:
    """As the state does itself."""
    with pytest.raises(AttributeError, match=r"state = state\.set\('inferred', …\)"):
        object.__setattr__(Everything(), "inferred", "a")


def test_annotations_that_cannot_be_looked_up_are_let_pass() -> None:
    """A later Python looks them up when they are asked for, and a type checker alone knows them."""

    def unknown(schema: type) -> dict[str, object]:
        raise NameError("name 'Paper' is not defined")

    lazy = type("Lazy", (type,), {"__annotations__": property(unknown)})
    _refuse_undeclared(lazy("Ahead", (), {}))
