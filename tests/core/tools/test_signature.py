"""What a function takes, as its author declared it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, Optional

import pytest
from attrs import frozen

from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.decorator import inject
from detent.core.errors import ToolDefinitionError
from detent.core.state.state import BaseState, State
from detent.core.tools.signature import (
    OUTPUT_TYPES,
    Signature,
    StateParameter,
    name_of,
    signature_of,
    state_kind,
)
from detent.core.tools.wiring import Input
from detent.core.values.frozen import FrozenDict


class Research(TypedState):
    """The state of an agent."""

    reader = Replaced("")


@frozen
class Place:
    """A place.

    Attributes:
        name: what it is called
    """

    name: str
    floor: int = 0


def google(query: str, limit: int = 3) -> str:
    """Search the library.

    All of it.

    Args:
        query: what to look for
        limit: how many to find
    """
    return query * limit


def _takes_named(**names: str) -> None: ...


class Kit:
    """An object that can be called, with a method."""

    def look(self, at: str) -> str:
        """Look at it."""
        return at

    def __call__(self, at: str) -> str:
        """Call it."""
        return at


def test_an_annotation_that_leads_nowhere_is_an_error() -> None:
    """Imports for type checkers only are not there at run time."""

    def look(at: Somewhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - the mistake

    with pytest.raises(ToolDefinitionError, match="Define or import it at module level"):
        signature_of(look)


def test_a_signature_has_the_declared_types() -> None:
    """Of what is passed and of what is returned."""
    assert signature_of(google) == Signature(
        declared=FrozenDict({"query": str, "limit": int}),
        required=frozenset({"query"}),
        defaults=FrozenDict({"limit": 3}),
        returns=str,
    )


async def _later(at: str) -> int:
    return len(at)


class Later:
    """An object whose call is a coroutine."""

    async def __call__(self, at: str) -> int:
        """Call it later."""
        return len(at)


@pytest.mark.parametrize(
    ("function", "is_async"),
    [(_later, True), (partial(_later), True), (Later(), True), (google, False), (Kit(), False)],
)
def test_a_coroutine_function_is_known_in_every_guise(function: Any, is_async: object) -> None:
    """A partial of one and an object whose call is one."""
    assert signature_of(function).is_async is is_async


def test_methods_partials_and_objects_are_functions_too() -> None:
    """What a partial has bound is no parameter any more."""
    bound = partial(google, limit=5)
    assert signature_of(bound).declared == {"query": str}
    assert name_of(bound) == "google"
    assert signature_of(Kit().look).declared == {"at": str}
    assert name_of(Kit().look) == "look"
    assert signature_of(Kit()).declared == {"at": str}
    assert name_of(Kit()) == "Kit"
    assert signature_of(Place).declared == {"name": str, "floor": int}


def test_what_cannot_be_looked_into_may_take_anything() -> None:
    """Functions written in C have no annotations."""
    assert signature_of(print) == Signature(is_open=True)
    assert signature_of(_takes_named).is_open


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        (State, State),
        (State | None, State),
        (Optional[Research], Research),  # noqa: UP045 - as people write it
        (Annotated[State | None, "the state"], State),
        (BaseState, BaseState),
        (State | Research, None),
        (str, None),
        (Literal["State"], None),
    ],
    ids=str,
)
def test_a_state_parameter_is_known_by_its_annotation(declared: Any, kind: type | None) -> None:
    """In all the forms that the annotation may take."""
    assert state_kind(declared) is kind


def test_a_signature_says_what_the_state_fills() -> None:
    """The state itself, and parameters whose default names a key."""

    def look(state: Research, at: str, reader: str = inject(Research.reader)) -> None: ...

    signature = signature_of(look)
    assert signature.state == StateParameter("state", Research)
    assert signature.inputs == (Input("reader", "reader", Research.reader),)


def test_one_parameter_may_get_the_state() -> None:
    """Writes through two would have no order."""

    def look(one: State, two: State | None = None) -> None: ...

    with pytest.raises(ToolDefinitionError, match="not 'one' and 'two'"):
        signature_of(look)


def test_declared_outputs_are_what_a_function_returns() -> None:
    """Also where its annotation says less."""

    def run() -> dict[str, str]:
        return {"reply": ""}

    setattr(run, OUTPUT_TYPES, {"reply": str})
    assert signature_of(run).returns.__annotations__ == {"reply": str}


def test_a_parameter_that_is_none_by_default_may_be_none() -> None:
    """Whether its annotation says so or not."""

    def look(at: str = None, by: Annotated[int, "how"] = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013 - as people write it

    assert signature_of(look).declared == {"at": str | None, "by": Annotated[int | None, "how"]}
