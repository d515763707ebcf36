"""Judging: a policy is asked about a call, and its answer becomes an event."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from inspect import isawaitable
from typing import Any

from detent.core.run.approval import Allow, Ask, Deny, Verdict
from detent.core.run.effects import Judge
from detent.core.run.events import Judged


def judge(effect: Judge) -> Judged | Coroutine[Any, Any, Judged]:
    """What the policy says of the call; a coroutine, where the policy is asynchronous.

    A policy that fails, or says something else than a verdict, lets no call pass: a human is asked.
    """
    try:
        verdict = effect.policy(effect.call, effect.tool, effect.run)
    except Exception as error:  # noqa: BLE001 - it is in the question that a human is asked
        return _failed(effect, error)
    return _awaited(effect, verdict) if isawaitable(verdict) else _judged(effect, verdict)


async def _awaited(effect: Judge, verdict: Awaitable[Verdict]) -> Judged:
    try:
        return _judged(effect, await verdict)
    except Exception as error:  # noqa: BLE001 - it is in the question that a human is asked
        return _failed(effect, error)


def _judged(effect: Judge, verdict: object) -> Judged:
    if not isinstance(verdict, Allow | Ask | Deny):
        verdict = Ask(f"the policy said {verdict!r:.100}, which is no verdict")
    return Judged(effect.ref, verdict, binding=effect.binding)


def _failed(effect: Judge, error: Exception) -> Judged:
    return _judged(effect, Ask(f"the policy failed: {type(error).__name__}: {error}"))
