"""Places: who may go on next."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from detent.adapters.hosts.places import Group, HostLimits, Places


def first_that_fits(queue: list[tuple[str, Group]], on: list[Group], limits: HostLimits) -> int:
    """Who may go on, by a look at everybody: the place in the queue, or -1."""
    agents, keys = Counter(agent for agent, _ in on), Counter(key for _, key in on)
    for place, (_, (agent, key)) in enumerate(queue):
        if len(on) < limits.running and not (
            (limits.per_agent is not None and agents[agent] >= limits.per_agent)
            or (limits.per_key is not None and keys[key] >= limits.per_key)
        ):
            return place
    return -1


@pytest.mark.parametrize("per_agent", [None, 1, 2])
@pytest.mark.parametrize("per_key", [None, 1, 2])
def test_whoever_has_waited_longest_and_may_is_next(
    per_agent: int | None, per_key: int | None
) -> None:
    """As a look at everybody who waits would find it, also where some of them have gone."""
    dice, limits = Random(3), HostLimits(4, per_agent, per_key)  # noqa: S311 - a test's dice
    places, queue, on = Places(limits), list[tuple[str, Group]](), list[Group]()
    for number in range(1500):
        match dice.randrange(4):
            case 3 if queue:
                places.remove(*queue.pop(dice.randrange(len(queue))))
            case 0:
                run = (str(number), (dice.choice("abc"), dice.choice("xyz")))
                queue.append(run)
                places.add(*run)
            case 1 if on:
                places.release(on.pop(dice.randrange(len(on))))
            case _:
                place = first_that_fits(queue, on, limits)
                wanted = None if place < 0 else queue.pop(place)
                assert places.take() == wanted
                on += [] if wanted is None else [wanted[1]]
        assert (places.running, places.waiting) == (len(on), len(queue))


def test_there_is_room_only_where_nobody_waits() -> None:
    """Nobody comes before those who wait."""
    places = Places(HostLimits(2, per_agent=1))
    assert places.has_room(("a", ""))
    places.hold(("a", ""))
    assert not places.has_room(("a", ""))
    assert places.has_room(("b", ""))
    places.add("r", ("a", ""))
    assert not places.has_room(("b", ""))
    assert places.take() is None
    places.release(("a", ""))
    assert places.take() == ("r", ("a", ""))


@pytest.mark.parametrize("wrong", [{"running": 0}, {"per_agent": 0}, {"per_key": 0}])
def test_a_limit_lets_somebody_go_on(wrong: dict[str, int]) -> None:
    """None at all is a mistake."""
    with pytest.raises(ValueError, match="must be >= 1"):
        HostLimits(**wrong)
