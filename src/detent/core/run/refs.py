"""Refs: where in a run something is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias


class CallRef(NamedTuple):
    """Which call of a run: the turn, from 1, and the place among that turn's calls, from 0."""

    turn: int
    place: int


new_ref: Callable[[tuple[int, int]], CallRef] = partial(tuple.__new__, CallRef)
"""Makes one of a pair, in half the time that the class takes."""


class AgentRef(NamedTuple):
    """An agent at work inside a run: the call that it works on, and the name of the tool it is."""

    turn: int
    place: int
    tool_name: str

    @property
    def ref(self) -> CallRef:
        """The call that it works on."""
        return CallRef(self.turn, self.place)


Path: TypeAlias = tuple[AgentRef, ...]
"""Where in a run something is: the agents around it, the outermost first; () is the run itself."""
