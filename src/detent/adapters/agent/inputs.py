"""What users hand over, looked at before anything is built of it: each mistake has its own name."""

from __future__ import annotations

from asyncio import Queue
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, TypeAlias

from detent.core.control.hooks import Hook
from detent.core.run.limits import Limits

Check: TypeAlias = tuple[Callable[[Any], bool], str]
"""Whether a value will do, and what it should be."""


def _takes_one(given: Any) -> bool:
    """Whether it can be called with one value, as far as its signature is known."""
    if not callable(given):
        return False
    try:
        signature(given).bind(None)
    except TypeError:
        return False
    except ValueError:  # what is written in C may have no signature
        return True
    return True


def _has(*methods: str) -> Callable[[Any], bool]:
    return lambda given: all(callable(getattr(given, one, None)) for one in methods)


def _all(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def check(given: Any) -> bool:
        is_list = isinstance(given, Sequence) and not isinstance(given, str)
        return is_list and all(map(fits, given))

    return check


def _is_text(given: Any) -> bool:
    return isinstance(given, str)


def _is_number(given: Any) -> bool:
    return type(given) is int


CALLBACK: Check = (_takes_one, "a function of one StreamingChunk")
CHECKS: Mapping[str, Check] = {
    "system_prompt": (_is_text, "a text"),
    "exit_conditions": (
        lambda given: isinstance(given, str | frozenset | set) or _all(_is_text)(given),
        "a list of tool names and 'text'",
    ),
    "limits": (lambda given: isinstance(given, Limits), "Limits(…)"),
    "streaming_callback": CALLBACK,
    "max_agent_steps": (_is_number, "a number"),
    "parallel_tool_calls": (_is_number, "a number"),
    "generation_kwargs": (lambda given: isinstance(given, Mapping), "a dict"),
    "clock": (_has("now", "wait", "wait_async"), "a clock such as SystemClock()"),
    "observers": (_all(callable), "a list of functions of the run before, the event and the run"),
    "journal": (_has("append", "read", "runs"), "a journal such as SQLiteJournal('runs.db')"),
    "hooks": (
        _all(lambda one: isinstance(one, Hook)),
        "a list of hooks, as before_model and its siblings make them of functions",
    ),
}
OPTIONAL = frozenset({"exit_conditions", "observers", "hooks"}) ^ CHECKS.keys()
"""The options that may be None, as if they were not given."""


def require_options(options: Mapping[str, object], known: Iterable[str]) -> None:
    """Raise TypeError for an option that is not `known`, or is not what it should be."""
    if unknown := sorted(options.keys() - set(known)):
        raise TypeError(
            f"Agent has no option {', '.join(map(repr, unknown))}; beside chat_generator, tools, "
            f"state_schema and output_type it has {', '.join(known)}"
        )
    for name, given in options.items():
        if name in CHECKS and not (given is None and name in OPTIONAL):
            _require(name, given, CHECKS[name])


def require_callback(given: object) -> None:
    """Raise TypeError unless it can be called, or is None."""
    if given is not None:
        _require("streaming_callback", given, CALLBACK)


def require_inbox(given: object) -> None:
    """Raise TypeError unless events can come from it into a blocking run, or it is None."""
    fits = _has("put", "get", "empty")
    is_one = given is None or (fits(given) and not isinstance(given, Queue))
    _require("inbox", given, (lambda _: is_one, "an Inbox()"))


def require_async_inbox(given: object) -> None:
    """Raise TypeError unless events can come from it into a run in an event loop, or it is None."""
    is_one = given is None or isinstance(given, Queue)
    _require("inbox", given, (lambda _: is_one, "an AsyncInbox()"))


def require_conversation(given: object) -> None:
    """Raise TypeError unless it is a conversation."""
    is_one = isinstance(given, Sequence) and not isinstance(given, bytes)
    _require("messages", given, (lambda _: is_one, "a text, a ChatMessage or a list of them"))


def _require(name: str, given: object, check: Check) -> None:
    fits, wanted = check
    if not fits(given):
        raise TypeError(f"{name} must be {wanted}, got {given!r:.80}")
