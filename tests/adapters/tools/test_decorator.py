"""A tool that is called by hand: it is the function that it was made of."""

from __future__ import annotations

import pytest

from detent import Replaced, TypedState, inject, tool


class Garden(TypedState):
    """The state of an agent."""

    who = Replaced("")


def test_what_an_agent_fills_is_passed_by_hand() -> None:
    """By its place or its name. Without it nothing has run: a placeholder is no value."""
    opened: list[str] = []

    @tool
    def water(bed: str, *, who: str = inject(Garden.who)) -> str:
        """Water a bed."""
        opened.append(bed)
        return f"{who}: {bed}"

    @tool
    def dig(bed: str, who: str = inject(Garden.who)) -> str:
        """Dig a bed."""
        opened.append(bed)
        return f"{who}: {bed}"

    told = r"the agent fills 'who' of tool 'water', .* key 'who'; .* water\(…, who=…\)"
    with pytest.raises(TypeError, match=told):
        water("beans")
    with pytest.raises(TypeError, match="fills 'who' of tool 'dig'"):
        dig(bed="beans")
    assert opened == []
    assert water("beans", who="Ann") == "Ann: beans"
    assert (dig("beans", "Ann"), dig("beans", who="Bo")) == ("Ann: beans", "Bo: beans")
