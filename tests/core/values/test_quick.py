"""A quick constructor makes what the one of attrs makes, and as frozen."""

from __future__ import annotations

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
from detent.core.values.frozen import FrozenDict
from detent.core.values.quick import quick


def classes() -> tuple[Any, Any]:
    """A class with everything that a field can have, as attrs makes it and with `quick`."""

    class Whole:
        """A class."""

        place: int
        kind: str = field(alias="sort")
        parts: tuple[int, ...] = field(default=(), converter=tuple)
        names: list[str] = field(factory=list)
        _hidden: int = 7
        made: int = field(init=False, default=3)
        both: tuple[int, ...] = field(
            init=False, default=Factory(lambda self: (self.place, self.made), takes_self=True)
        )
        fresh: list[int] = field(init=False, factory=list)
        last: float = field(kw_only=True)
        least: float = field(default=0.5, kw_only=True, converter=float)
        after: list[str] = field(init=False, factory=list)

        def __attrs_post_init__(self) -> None:
            self.after.append("made")

    def again() -> Any:
        return frozen(type("Whole", (), dict(Whole.__dict__)))

    return again(), quick(again())


SLOW, QUICK = classes()
GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1, "x"), {"last": 2}),
    ((1, "x", [1, 2], ["n"], 4), {"last": 2.0, "least": 3}),
    ((), {"place": 1, "sort": "x", "last": 1, "hidden": 5, "parts": [1]}),
]


@pytest.mark.parametrize(("given", "named"), GIVEN)
def test_what_is_made_is_what_attrs_makes(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Every field is there, of the very class, and cannot be changed."""
    slow, made = SLOW(*given, **named), QUICK(*given, **named)

    assert type(made) is QUICK
    assert attrs.astuple(made) == attrs.astuple(slow)
    assert repr(made) == repr(slow)
    assert made == QUICK(*given, **named)
    assert made.names is not QUICK(*given, **named).names or "names" in named or len(given) > 3
    for one in attrs.fields(QUICK):
        with pytest.raises(FrozenInstanceError):
            setattr(made, one.name, None)
        with pytest.raises(FrozenInstanceError):
            delattr(made, one.name)
    assert attrs.evolve(made, place=5).place == 5


def test_it_is_called_as_the_one_of_attrs() -> None:
    """A reader of signatures, and who calls it wrongly, sees the same."""
    assert signature(QUICK) == signature(SLOW)
    assert QUICK.__init__.__qualname__ == SLOW.__init__.__qualname__
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'last'"):
        QUICK(1, "x")
    with pytest.raises(TypeError, match="unexpected keyword argument 'kind'"):
        QUICK(1, kind="x", last=1)
    with pytest.raises(ValueError, match="could not convert"):
        QUICK(1, "x", last=1, least="none")


def test_a_subclass_has_the_constructor_of_attrs() -> None:
    """One with attributes of its own has no twin."""
    plain: Any = type("Plain", (QUICK,), {})
    made = plain(1, sort="x", last=2)
    more: Any = frozen(type("More", (QUICK,), {"__annotations__": {}}))
    made_again = more(1, "x", last=2)

    assert type(made) is plain
    assert made.both == made_again.both == (1, 3)
    assert type(made_again) is more
    with pytest.raises(FrozenInstanceError):
        made.place = 2


def test_a_class_with_a_validator_is_refused() -> None:
    """It would be left out without a word."""

    @frozen
    class Checked:
        """A class."""

        place: int = field(validator=instance_of(int))

    with pytest.raises(TypeError, match="place has a validator"):
        quick(Checked)


def test_a_class_without_fields_is_made() -> None:
    """And so is a message, whose fields are all converted."""

    @quick
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


RUN = Run("r", State({}), turn=3, misfits=1)
CHANGES: dict[str, object] = {
    "id": "s",
    "state": State({"n": {"type": int}}),
    "phase": Thinking(2),
    "turn": 4,
    "usage": Usage(1, 2),
    "tool_call_counts": FrozenDict(add=1),
    "options": RunOptions(("add",)),
    "misfits": 2,
    "cost": 0.5,
    "exhausted": "max_tokens",
    "deadline": 9.5,
    "decisions": (1,),
    "grants": (2,),
    "given_up": 3,
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
