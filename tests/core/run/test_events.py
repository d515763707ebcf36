"""Events: the union that `step` is checked against is whole."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest
from attrs.exceptions import FrozenInstanceError

from detent.core.run import events
from detent.machine import CallRef, CancelRequested, Event, ToolStarted


def test_every_event_is_one_of_the_union() -> None:
    """A class that is left out would never be missed by the type checker."""
    classes = {
        item
        for item in vars(events).values()
        if inspect.isclass(item) and item.__module__ == events.__name__
    }

    assert classes == set(get_args(Event))


def test_an_event_cannot_be_changed() -> None:
    """What has happened has happened; two tellings of it are equal."""
    event = ToolStarted(CallRef(1, 0), 1)

    with pytest.raises(FrozenInstanceError):
        event.attempt = 2  # type: ignore[misc]  # the mistake that is tested
    assert CancelRequested("enough") == CancelRequested("enough")
