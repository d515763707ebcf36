"""The law of the observer: one that cannot take an event is found out."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from detent.machine import Event, Run
from detent.testing import check_observer


def test_an_observer_is_shown_every_kind_of_event() -> None:
    """None is forgotten, and all but the last of a run change it."""
    seen: list[tuple[Run[Any], Event, Run[Any]]] = []

    def observe(before: Run[Any], event: Event, after: Run[Any]) -> None:
        seen.append((before, event, after))

    check_observer(lambda: observe)

    assert {type(event) for _, event, _ in seen} == set(get_args(Event))
    assert [event for before, event, after in seen if before == after] == []
    assert sum(after.outcome is not None for *_, after in seen) == 3


def test_an_observer_that_raises_is_found_out() -> None:
    """With the event that it could not take."""

    def observe(before: Run[Any], event: Any, after: Run[Any]) -> None:
        str(event.reply.message)

    law = r"it takes every event, got AttributeError: .*; with Judged\("
    with pytest.raises(AssertionError, match=f"the observer breaks a law: {law}"):
        check_observer(lambda: observe)
