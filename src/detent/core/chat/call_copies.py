"""Copies of calls that differ in a name. What a call holds is sealed already: nobody reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import evolve

from detent.core.chat.messages import ToolCall, sorted_names
from detent.core.values.fast_values import fast_evolve

_evolve: Callable[..., ToolCall] = fast_evolve(ToolCall)


def with_id(call: ToolCall, call_id: str | None) -> ToolCall:
    """The call with another id; its arguments are the very same."""
    return _evolve(call, id=call_id)


def with_secret(call: ToolCall, names: Iterable[str]) -> ToolCall:
    """The call, of whose arguments those of `names` are secret, and are the very same."""
    if type(call) is not ToolCall:  # what a result answers may be of a class of its own
        return evolve(call, secret=names)
    return _evolve(call, secret=sorted_names(names))
