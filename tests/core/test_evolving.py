"""A copy with other values in some fields."""

from __future__ import annotations

import attrs
import pytest

from detent.core.evolving import evolve
from detent.core.run import Run, Thinking
from detent.core.state import State

RUN = Run("r", State({}), turn=3, misfits=1)


def test_a_run_is_evolved_as_attrs_does_it() -> None:
    """In all its fields, and the one before stays as it is."""
    as_attrs_does = attrs.evolve(RUN, phase=Thinking(2), turn=4, exhausted="max_tokens")

    assert evolve(RUN, phase=Thinking(2), turn=4, exhausted="max_tokens") == as_attrs_does
    assert (RUN.turn, RUN.phase) == (3, Thinking(1))


def test_what_has_slots_is_evolved_too() -> None:
    """By attrs itself."""
    assert evolve(Thinking(1), attempt=2) == Thinking(2)


def test_an_evolved_run_cannot_be_changed() -> None:
    """It is as frozen as any run."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        evolve(RUN, turn=4).turn = 5  # type: ignore[misc]  # on purpose


def test_a_run_has_only_fields_that_can_be_copied() -> None:
    """No converter would run, and no field is made of others."""
    assert all(field.converter is None and field.init for field in attrs.fields(Run))
