"""Judging: a policy is asked about a call, and its answer becomes an event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from functools import partial
from inspect import getcoroutinelocals, isawaitable
from threading import Event
from typing import Any

from attrs import evolve

from detent.adapters.system.failures import is_stop
from detent.adapters.system.threads_and_loops import in_a_thread, in_background
from detent.core.errors import require_failure
from detent.core.run.approval import Allow, Ask, Deny, Verdict
from detent.core.run.effects import Judge
from detent.core.run.events import Judged
from detent.core.run.strictness import failed, question_of
from detent.core.tools.redaction import without_secrets
from detent.core.tools.secrets import secrets_of_call

TAKEN_OUT = "(in <…> stand words that are a secret of the call as well)"
"""Behind a reason of which something was taken out."""


def judge(effect: Judge) -> Judged | Coroutine[Any, Any, Judged]:
    """What the policy says of the call; a coroutine, where the policy is asynchronous.

    A policy that fails, or says something else than a verdict, lets no call pass: a human is asked.
    What of the call is secret is taken out of the reason, as the event is written down: a coroutine
    does that in a thread.
    """
    try:
        verdict = effect.policy(effect.call, effect.tool, effect.run)
    except BaseException as error:  # noqa: BLE001 - it is in the question that a human is asked
        require_failure(error)
        return _failed(effect, error)
    return _awaited(effect, verdict) if isawaitable(verdict) else _judged(effect, verdict)


def judge_at_once(effect: Judge) -> Judged:
    """As `judge`, waiting for what a coroutine says."""
    said = judge(effect)
    return said if isinstance(said, Judged) else in_background(said).result()


async def judge_async(effect: Judge) -> Judged:
    """As `judge`, without blocking the event loop: whatever a policy is, it is asked in a thread.

    RULE: what it has given to be awaited is closed where nobody waits any longer, also when the
    thread gives it later than that.
    """
    said: list[Judged | Coroutine[Any, Any, Judged]] = []
    dropped = Event()

    def ask() -> Judged | Coroutine[Any, Any, Judged]:
        said.append(judge(effect))
        if dropped.is_set():
            _drop(said[0])
        return said[0]

    try:
        answer = await in_a_thread(ask)
        return answer if isinstance(answer, Judged) else await answer
    except asyncio.CancelledError:
        dropped.set()
        for late in said:
            _drop(late)
        raise


def _drop(said: Judged | Coroutine[Any, Any, Judged]) -> None:
    if not isinstance(said, Judged):
        verdict = getcoroutinelocals(said).get("verdict")
        said.close()
        if isinstance(verdict, Coroutine):
            verdict.close()


async def _awaited(effect: Judge, verdict: Awaitable[Verdict]) -> Judged:
    try:
        said: partial[Judged] = partial(_judged, effect, await verdict)
    except BaseException as error:
        if is_stop(error):
            raise
        said = partial(_failed, effect, error)
    # to look for secrets takes as long as the policy's text, and theirs, are
    return await in_a_thread(said) if effect.tool.masked else said()


def _judged(effect: Judge, verdict: object) -> Judged:
    if not isinstance(verdict, Allow | Ask | Deny):
        verdict = failed(f"the policy said {verdict!r:.100}, which is no verdict")
    if not isinstance(verdict, Allow):
        secrets = secrets_of_call(effect.call, effect.tool, effect.run.state)
        reason = without_secrets(verdict.reason, secrets, secrets)
        if reason != verdict.reason:
            # whoever chooses a secret could choose the words of a reason, so that nobody reads them
            more = f" {TAKEN_OUT}" if isinstance(verdict, Ask) else ""
            verdict = evolve(verdict, reason=reason + more)
    return Judged(effect.ref, verdict, binding=effect.binding)


def _failed(effect: Judge, error: BaseException) -> Judged:
    return _judged(effect, question_of(error))
