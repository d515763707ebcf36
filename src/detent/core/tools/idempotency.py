"""Idempotency: what a tool says about being run twice, and the key by which the world can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from detent.core.errors import DetentError


class IdempotencyKey(str):
    """A parameter annotated with it gets a text that names this one call, the same each time.

    Pass it on to whoever does the work (a payment provider, a database), so that doing it twice
    does it once. No model sees the parameter.
    """

    __slots__ = ()


class FencingToken(int):
    """A parameter annotated with it gets a number that grows with each change of who drives a run.

    Pass it on to a system that remembers the highest it has seen, and refuses a lower one: a
    process that was frozen for long cannot write there any more once another has gone on.
    It is 0 where nothing keeps who drives the run. No model sees the parameter.

    Source: Kleppmann, Designing Data-Intensive Applications (2017), chapter 8, "Fencing tokens".
    """

    __slots__ = ()


class OutcomeUnknownError(DetentError):
    """A tool raises it where it does not know whether it has done its work.

    Say what is known, for a human: ``raise OutcomeUnknownError("the bank has not answered")``. The
    call is then treated as the tool's `on_unknown` says, as if its process had ended.
    """


NO_KEY = IdempotencyKey("")


class NeverRan:
    """What a reconcile function returns when the tool's work has not been done."""

    def __repr__(self) -> str:
        return "NEVER_RAN"


NEVER_RAN = NeverRan()

OnUnknown: TypeAlias = Literal["ask", "rerun", "fail"] | Callable[..., Any]
"""What happens to a call that was begun, and whose process ended before it was known how it went.

"ask": a human decides. "rerun": it is run again, because that does no harm; a human decides after
three such ends in a row, or as many as its `retries`. "fail": the model is told that nobody knows.
A function is called with the arguments, as a dict, and the call's
`IdempotencyKey`; it looks up what happened, and returns the tool's result or `NEVER_RAN`. When it
raises, a human decides.
"""
