"""Fast constructors and `evolve` make what those of attrs make, and as frozen."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from inspect import signature
from typing import Any, get_type_hints

import attrs
import pytest
from attrs import Factory, field, frozen
from attrs.exceptions import FrozenInstanceError
from attrs.validators import instance_of

from detent import ChatMessage, ChatRole, ToolCall
from detent.core.chat.replies import Usage
from detent.core.run.run import Run, RunOptions, Thinking, evolve
from detent.core.state.state import State
from detent.core.values.fast_values import fast_init
from detent.core.values.frozen import FrozenDict


def again() -> Any:
    """A class with everything that a field can have, made anew."""

    class Whole:
        """A class."""

        place: int
        kind: str = field(alias="sort")
        parts: tuple[int, ...] = field(default=(), converter=tuple)
        _hidden: int = 7

    return frozen(type("Whole", (), dict(Whole.__dict__)))


SLOW, FAST = again(), fast_init(again())


@pytest.mark.parametrize(
    ("positional", "named"),
    [
        ((1, "x"), {}),
        ((1, "x", [1, 2], 4), {}),
        ((), {"place": 1, "sort": "x", "hidden": 5, "parts": [1]}),
    ],
)
def test_what_is_made_is_what_attrs_makes(
    positional: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Every field is there, of the very class, and cannot be changed."""
    slow, made = SLOW(*positional, **named), FAST(*positional, **named)

    assert type(made) is FAST
    assert attrs.astuple(made) == attrs.astuple(slow)
    assert repr(made) == repr(slow)
    assert made == FAST(*positional, **named)
    for item in attrs.fields(FAST):
        with pytest.raises(FrozenInstanceError):
            setattr(made, item.name, None)
        with pytest.raises(FrozenInstanceError):
            delattr(made, item.name)
    assert attrs.evolve(made, place=5).place == 5


def test_it_is_called_as_the_constructor_of_attrs() -> None:
    """A reader of signatures, and who calls it wrongly, sees the same."""
    assert signature(FAST) == signature(SLOW)
    assert FAST.__init__.__qualname__ == SLOW.__init__.__qualname__
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'sort'"):
        FAST(1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'kind'"):
        FAST(1, kind="x")


def test_a_subclass_has_the_constructor_of_attrs() -> None:
    """One with attributes of its own has no twin."""
    plain: Any = type("Plain", (FAST,), {})
    made = plain(1, sort="x")
    more: Any = frozen(type("More", (FAST,), {"__annotations__": {}}))

    assert type(made) is plain
    assert attrs.astuple(made) == attrs.astuple(more(1, "x"))
    with pytest.raises(FrozenInstanceError):
        made.place = 2


@pytest.mark.parametrize(
    "odd",
    [
        field(validator=instance_of(int)),
        field(default=1, kw_only=True),
        field(default=1, init=False),
        field(factory=list),
        field(default=Factory(lambda self: 1, takes_self=True)),
    ],
)
def test_a_field_that_asks_for_more_is_refused(odd: Any) -> None:
    """It would be left out without a word."""
    kind: Any = frozen(type("Odd", (), {"place": odd, "__annotations__": {"place": int}}))

    with pytest.raises(TypeError, match=r"Odd\.place has more than a default and a converter"):
        fast_init(kind)


def test_a_field_that_is_no_parameter_is_made_of_the_others() -> None:
    """As attrs makes it, also where a field is changed."""
    made: Any = Factory(lambda self: self.place + 1, takes_self=True)
    body = {"place": field(), "following": field(init=False, default=made)}
    hints = {"place": int, "following": int}
    kind: Any = fast_init(frozen(type("Place", (), {**body, "__annotations__": hints})))

    assert kind(1).following == 2
    assert attrs.evolve(kind(1), place=5).following == 6
    with pytest.raises(TypeError, match="unexpected keyword argument 'following'"):
        kind(1, following=3)


def test_a_field_may_be_called_as_the_generator_calls_its_own() -> None:
    """A parameter called `kind` once hid the class, and all that has one took the slow way."""
    names = ["kind", "slow", "twin", "become", "value", "new"]
    kind: Any = type("Odd", (), {"__annotations__": dict.fromkeys(names, int)})
    fast = fast_init(frozen(kind))
    called: list[str] = []
    sys.setprofile(lambda frame, *_: called.append(frame.f_code.co_filename))
    try:
        made = fast(*range(6))
    finally:
        sys.setprofile(None)

    assert attrs.astuple(made) == tuple(range(6))
    assert not [name for name in called if name.startswith("<attrs")]


def test_a_class_that_does_more_at_the_end_is_refused() -> None:
    """That would be left out as well."""

    @frozen
    class Late:
        """A class."""

        def __attrs_post_init__(self) -> None: ...

    with pytest.raises(TypeError, match=r"Late\.__attrs_post_init__ would not be called"):
        fast_init(Late)


def test_a_class_without_fields_is_made() -> None:
    """There is nothing to fill."""

    @fast_init
    @frozen
    class Empty:
        """A class."""

    assert Empty() == Empty()


def test_a_message_is_converted_as_ever() -> None:
    """What can be changed, or is only said by its value."""
    call = ToolCall("add", {"a": 1})
    role: Any = "user"
    message = ChatMessage(role, [call])

    assert type(call.arguments) is FrozenDict
    assert message.content == (call,)
    assert message.role is ChatRole.USER


RUN = Run("r", State({}), turn=3, invalid_answers=1)
CHANGES: dict[str, object] = {
    "id": "s",
    "state": State({"n": {"type": int}}),
    "phase": Thinking(2),
    "turn": 4,
    "usage": Usage(1, 2),
    "tool_call_counts": FrozenDict(add=1),
    "options": RunOptions(("add",)),
    "invalid_answers": 2,
    "cost": 0.5,
    "exhausted": "max_tokens",
    "deadline": 9.5,
    "calls_inside": FrozenDict(add=3),
    "started_by": "Ada",
    "labels": ("untrusted",),
    "spent": FrozenDict(amount=5.0),
    "decisions": (1,),
    "grants": (2,),
    "nonce": "drawn",
    "given_up": 3,
    "unread": (4,),
}


@pytest.mark.parametrize("name", [field.name for field in attrs.fields(Run)])
def test_a_run_is_evolved_as_attrs_does_it(name: str) -> None:
    """In each of its fields, and the one before stays as it is."""
    given: Any = {name: CHANGES[name]}
    before = attrs.evolve(RUN)

    evolved = evolve(RUN, **given)
    assert getattr(evolved, name) == CHANGES[name] != getattr(RUN, name)
    assert evolved == attrs.evolve(RUN, **given)
    assert before == RUN


def test_a_run_has_only_fields_that_can_be_copied() -> None:
    """No converter would run, and no field is made of others."""
    assert all(field.converter is None and field.init for field in attrs.fields(Run))


def test_the_types_that_a_constructor_names_are_found() -> None:
    """As whoever makes forms or documents of a class asks for them."""
    hints = get_type_hints(ChatMessage.__init__)

    assert hints["role"] == ChatRole | str
    assert hints["meta"] == Mapping[str, object]
