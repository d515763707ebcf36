"""Classes of values are as attrs would have made them."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import pytest

import detent
from detent.core import values

T = TypeVar("T")
Make = Callable[..., Any]


def _kept(value: Any, field: Any, given: int) -> None:
    value.log.append((field.name, given))


def classes(by: Any) -> dict[str, Any]:  # noqa: C901  # one class after the other
    """The same classes, made by attrs or here; each has something that no other has."""

    @by.frozen
    class Plain:
        """Says what it is."""

        kinds: ClassVar[int] = 3
        a: int
        b: str = "b"

        def twice(self) -> Plain:
            """With a method that means its own class."""
            kind: Any = __class__  # type: ignore[name-defined]  # of every method
            made: Plain = kind(2 * self.a, self.b)
            return made

    @by.frozen
    class Rich:
        log: list[tuple[str, int]] = by.field(factory=list, eq=False, repr=False)
        _a: int = by.field(default="7", converter=int, validator=(_kept, _kept))
        b: str = by.field(default="x", alias="text", eq=str.lower, repr=lambda text: text.upper())
        c: int = by.field(init=False, default=by.Factory(lambda self: self._a + 1, takes_self=True))
        d: int = by.field(init=False, default=4, converter=float)
        e: object = by.field(init=False, eq=False, repr=False)
        f: int = by.field(default=1, kw_only=True)

        def __attrs_post_init__(self) -> None:
            self.log.append(("done", self.c))

    @by.frozen
    class Derived(Plain):
        """Puts one of its fields in another place, and adds one."""

        a: int = 5
        c: int = 6

    @by.frozen(kw_only=True, slots=False)
    class Loose(Generic[T]):
        one: T
        two: int = 2

    @by.frozen(init=False)
    class Own(Plain):
        def __init__(self, text: str) -> None:
            super().__init__(len(text), text)  # type: ignore[call-arg]  # mypy knows no `by`

        @cached_property
        def upper(self) -> str:
            """Made once."""
            return self.b.upper() + str(object())

    @by.frozen(eq=False, repr=False)
    class Itself(Mapping[str, int]):
        data: dict[str, int]

        def __getitem__(self, key: str) -> int:
            return self.data[key]

        def __iter__(self) -> Any:
            return iter(self.data)

        def __len__(self) -> int:
            return len(self.data)

    @by.frozen
    class Odd:
        a: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Odd)

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "odd"

    @by.define
    class Open:
        a: int
        b: list[int] = by.field(factory=list)

    @by.define(eq=False)
    class Nothing:
        pass

    return {name: kind for name, kind in locals().items() if name != "by"}


OURS, THEIRS = classes(values), classes(attrs)
MADE: dict[str, Callable[[Any], list[Any]]] = {
    "Plain": lambda kind: [kind(1), kind(b="c", a=2), kind(1, "b").twice()],
    "Rich": lambda kind: [kind(), kind(a="3", text="Y", f=2), kind([], 3, "y", f=2)],
    "Derived": lambda kind: [kind(), kind("x", 1, 2)],
    "Loose": lambda kind: [kind(one=1), kind[int](one="x", two=3)],
    "Own": lambda kind: [kind("four")],
    "Itself": lambda kind: [kind({"a": 1})],
    "Odd": lambda kind: [kind(1), kind(2)],
    "Open": lambda kind: [kind(1), kind(1, [2])],
    "Nothing": lambda kind: [kind()],
}
PAIRS = [pytest.param(OURS[name], THEIRS[name], MADE[name], id=name) for name in OURS]
FROZEN = [pair for pair in PAIRS if pair.id not in {"Open", "Nothing"}]


def test_every_class_is_tried() -> None:
    """And all that can be said of a field is said of one."""
    assert OURS.keys() == THEIRS.keys() == MADE.keys()


@pytest.mark.parametrize(("ours", "theirs", "made"), PAIRS)
def test_a_value_holds_and_says_the_same(ours: Any, theirs: Any, made: Make) -> None:
    """In all its fields, whichever way it was made."""
    for mine, other in zip(made(ours), made(theirs), strict=True):
        held, same = (
            {one.name: getattr(it, one.name, "nothing") for one in attrs.fields(type(it))}
            for it in (mine, other)
        )
        assert held == same
        if type(mine).__name__ != "Itself":
            assert repr(mine) == repr(other)


@pytest.mark.parametrize(("ours", "theirs", "made"), PAIRS)
def test_values_are_equal_to_the_same_ones(ours: Any, theirs: Any, made: Make) -> None:
    """And are told apart in sets, or cannot be in one."""

    def compared(kind: Any) -> list[list[bool]]:
        one, two = made(kind), made(kind)
        return [[a == b for b in [*two, object(), *one]] for a in one]

    assert compared(ours) == compared(theirs)
    if theirs.__hash__ is None:
        assert ours.__hash__ is None
    elif ours.__name__ not in {"Rich", "Open"}:
        assert len({*made(ours), *made(ours)}) == len({*made(theirs), *made(theirs)})


@pytest.mark.parametrize(("ours", "theirs", "made"), PAIRS)
def test_a_class_is_described_as_by_attrs(ours: Any, theirs: Any, made: Make) -> None:
    """Its fields, its signature, its slots, and what a pattern can match."""
    told = [
        [
            (one.name, one.alias, one.init, one.kw_only, one.type, one.validator is None)
            for one in attrs.fields(kind)
        ]
        for kind in (ours, theirs)
    ]
    assert told[0] == told[1]
    assert [*signature(ours).parameters] == [*signature(theirs).parameters]
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__doc__ == theirs.__doc__
    assert (ours.__qualname__, ours.__module__) == (theirs.__qualname__, theirs.__module__)
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)
    assert attrs.has(ours)


@pytest.mark.parametrize(("ours", "theirs", "made"), FROZEN)
def test_a_frozen_value_cannot_be_changed(ours: Any, theirs: Any, made: Make) -> None:
    """Nor can anything be added to it or taken from it."""
    value = made(ours)[0]
    for name in ("a", "new"):
        with pytest.raises(attrs.exceptions.FrozenInstanceError, match="can't set attribute"):
            setattr(value, name, 1)
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            delattr(value, name)
    assert values.is_frozen(ours)
    assert not values.is_frozen(theirs)


def test_an_open_value_can_be_changed() -> None:
    """In the fields that it has, and no others."""
    value = OURS["Open"](1)
    value.a = 2
    assert value == OURS["Open"](2)
    assert not values.is_frozen(OURS["Open"])
    with pytest.raises(AttributeError):
        value.new = 1


@pytest.mark.parametrize(
    ("given", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"a": 1}), ((1,), {"z": 1})]
)
def test_a_wrong_call_is_refused_as_python_does(given: Any, named: Any) -> None:
    """By the name of the class, whether or not its `__init__` was ever called before."""
    for kind in (OURS["Plain"], classes(values)["Plain"]):
        with pytest.raises(TypeError, match=r"Plain\.__init__\(\) (missing|takes|got)"):
            kind(*given, **named)


@pytest.mark.parametrize(("ours", "theirs", "made"), FROZEN)
def test_a_value_with_other_fields_is_as_attrs_makes_it(ours: Any, theirs: Any, made: Make) -> None:
    """All fields but those that are named, through converters and validators."""
    if ours.__name__ in {"Own", "Rich"}:  # is not made of its fields; has a log that is shared
        return
    name = attrs.fields(ours)[0].alias
    for mine, other in zip(made(ours), made(theirs), strict=True):
        assert str(values.evolve(mine, **{name: 9}).__reduce_ex__(4)[2]) == str(
            attrs.evolve(other, **{name: 9}).__reduce_ex__(4)[2]
        )
        assert attrs.evolve(mine) == values.evolve(mine)
        assert values.evolve(other) == attrs.evolve(other)


@values.frozen
class Pickled:
    """What pickle finds by its name."""

    a: int
    _b: tuple[Any, ...] = values.field(default=(), converter=tuple[Any, ...])


def test_a_value_can_be_pickled_copied_and_referred_to_weakly() -> None:
    """As any other."""
    value = Pickled(1, (2,))
    again = pickle.loads(pickle.dumps(value))  # noqa: S301  # our own
    assert again == copy.copy(value) == copy.deepcopy(value) == value
    told = weakref.ref(value)
    del value
    gc.collect()
    assert told() is None


def test_what_is_computed_once_is_kept() -> None:
    """Also by a value that can hold nothing but its fields."""
    value = OURS["Own"]("x")
    assert value.upper is value.upper
    assert not hasattr(value, "lower")
    assert signature(OURS["Own"]).parameters.keys() == {"text"}


def test_attrs_can_make_a_class_out_of_one_of_ours() -> None:
    """With the fields of both, frozen."""

    @attrs.frozen
    class More(Pickled):
        c: int = 3

    assert [one.name for one in values.fields(More)] == ["a", "_b", "c"]
    assert [one.default for one in values.fields(More)][::2] == [values.NOTHING, 3]
    assert values.evolve(More(1), c=4) == More(1, (), 4)
    assert [*signature(More).parameters] == ["a", "b", "c"]


def test_a_class_that_comes_from_one_of_ours_has_its_fields() -> None:
    """And a signature of its own, if it has one."""

    class Same(Pickled):
        pass

    class Other(Pickled):
        def __init__(self) -> None:
            super().__init__(8)

    assert Other().a == 8
    assert [*signature(Same).parameters] == ["a", "b"]
    assert not signature(Other).parameters
    assert values.fields(Same) == values.fields(Pickled)
    assert attrs.fields(Same) == attrs.fields(Pickled)
    assert repr(Same(1)).endswith("Same(a=1, _b=())")
    with pytest.raises(AttributeError):
        Pickled(1).__signature__  # type: ignore[attr-defined]  # noqa: B018 - instances have none


def test_what_has_fields_is_known() -> None:
    """Ours, those of attrs, and generic ones that were given their types."""
    assert values.has(Pickled)
    assert values.has(OURS["Loose"][int])
    assert values.has(THEIRS["Plain"])
    assert not values.has(int)
    assert repr(values.fields(Pickled)[0].default) == "NOTHING"


OWN = """
import sys
from detent.core.values import evolve, field, frozen

@frozen
class One:
    a: int
    b: list = field(factory=list)

assert evolve(One(1), a=2) == One(2) and repr(One(1)) == "One(a=1, b=[])" and hash(One(1, 2))
assert not {"attr", "attrs"} & set(sys.modules)
"""


def test_attrs_is_not_loaded_for_values() -> None:
    """Neither to make their classes nor to use them."""
    subprocess.run([sys.executable, "-c", OWN], check=True)


def test_every_class_of_ours_can_be_written() -> None:
    """All its methods compile, and attrs would have accepted the order of its fields."""
    root = Path(detent.__file__).parent
    made: set[Any] = set()
    for path in root.glob("*/**/*.py"):
        if "__main__" not in path.name:
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            module = import_module(name.removesuffix(".__init__"))
            kinds = [one for one in vars(module).values() if isinstance(one, type)]
            made |= {kind for kind in kinds if "__made_with__" in vars(kind)}
    for kind in made:
        written = [
            method.written().__qualname__
            for method in vars(kind).values()
            if hasattr(method, "written")
        ]
        assert all(name.startswith(kind.__qualname__) for name in written)
        assert len(attrs.fields(kind)) == len(values.fields(kind))
    assert len(made) > 150
