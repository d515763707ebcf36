"""What pydantic would take too long for is known before it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, Field

from detent.core.schema.conversion import ConversionError, convert
from detent.core.schema.model_work import excess
from tests.core.schema.test_work import Add, Item, Quote, chain


@dataclass
class Page:
    """A record in which models stand, and others like it."""

    quote: Quote | None = None
    pages: list[Page | str] | None = None


class Pair(NamedTuple):
    """Two of them."""

    first: int
    second: Quote


class Plain(BaseModel):
    """A model without choices."""

    n: int = Field(default=1)


FORMS: list[tuple[Any, Callable[[Any], Any]]] = [
    (Quote, lambda x: x),
    (Quote | Item | None, lambda x: x),
    (Annotated[list[Quote], "some"], lambda x: [x]),
    (dict[str, Quote], lambda x: {"a": x}),
    (tuple[int, Quote], lambda x: [1, x]),
    (Pair, lambda x: [1, x]),
    (Page, lambda x: {"pages": [{"quote": x}, "…"]}),
]


@pytest.mark.parametrize(("hint", "around"), FORMS)
def test_what_reading_would_refuse_is_said_before(hint: Any, around: Callable[[Any], Any]) -> None:
    """Wherever a model stands."""
    say = excess(hint)
    assert say is not None
    assert not say(around(chain(5)))
    assert convert(around(chain(5)), hint, "x")
    reason = say(around(chain(60)))
    with pytest.raises(ConversionError) as caught:
        convert(around(chain(60)), hint, "x")
    assert reason.startswith("the schema is at fault")
    assert reason in str(caught.value)


@pytest.mark.parametrize("value", [None, 1, "a", [], {}, [1], [[]], {"a": 1}, {"quote": 1}])
@pytest.mark.parametrize("hint", [hint for hint, _ in FORMS])
def test_what_fits_no_type_takes_no_work(hint: Any, value: object) -> None:
    """Whoever checks it says why."""
    say = excess(hint)
    assert say is not None
    assert not say(value)


@pytest.mark.parametrize("hint", [int, Plain, list[Plain], Add, dict[str, Any], Plain | int])
def test_where_there_is_nothing_to_try_nothing_is_counted(hint: Any) -> None:
    """No choices, or a discriminator."""
    assert excess(hint) is None


def test_a_model_beside_one_with_choices_takes_no_work() -> None:
    """It is not looked through."""
    say = excess(tuple[Plain, Quote])
    assert say is not None
    assert not say([{"n": 1}, {}])


def test_a_record_in_unions_is_counted_once() -> None:
    """It is made once of each part and type."""
    value: dict[str, Any] = {"quote": chain(9)}
    for _ in range(40):
        value = {"pages": [value]}
    say = excess(Page | list[Page])
    assert say is not None
    assert not say(value)
