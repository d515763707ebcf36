"""A process that only hosts runs."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable

import pytest

from detent import Agent, MemoryJournal, ScriptedChatGenerator
from detent.hosts import LocalHost, serve_until_signal


def test_full_collections_are_rare_while_it_serves() -> None:
    """And as they were before, once it has ended."""
    before = gc.get_threshold()
    while_serving = []

    def ready() -> None:
        while_serving.append(gc.get_threshold())
        signal.raise_signal(signal.SIGTERM)

    agent = Agent(chat_generator=ScriptedChatGenerator())
    host = LocalHost({"clerk": agent}, MemoryJournal())
    assert asyncio.run(serve_until_signal(host, ready)) == signal.SIGTERM
    assert while_serving == [(*before[:2], 1_000)]
    assert gc.get_threshold() == before


def served(*numbers: int, reload: Callable[[], object] | None = None) -> int:
    """By which signal it ends, of those that come once it is ready."""

    def ready() -> None:
        for number in numbers:
            signal.raise_signal(number)

    agent = Agent(chat_generator=ScriptedChatGenerator())
    host = LocalHost({"clerk": agent}, MemoryJournal())
    return asyncio.run(serve_until_signal(host, ready, reload=reload))


def test_a_terminal_that_is_closed_ends_it_as_sigterm_does() -> None:
    """Also where it says so twice."""
    assert served(signal.SIGHUP, signal.SIGHUP) == signal.SIGHUP
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_a_program_may_have_its_files_read_again() -> None:
    """Each time that it is told to, and it goes on."""
    calls = list[int]()
    numbers = (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM)
    assert served(*numbers, reload=lambda: calls.append(1)) == signal.SIGTERM
    assert calls == [1, 1]


@pytest.mark.parametrize("way", ["nohup", "a handler"])
def test_a_program_that_hears_sighup_goes_on_to(way: str) -> None:
    """It was there before."""
    calls = list[int]()

    def hear(number: int, frame: object) -> None:
        calls.append(number)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if way == "nohup" else hear)
    try:
        assert served(signal.SIGHUP, signal.SIGTERM) == signal.SIGTERM
    finally:
        signal.signal(signal.SIGHUP, before)
    assert calls == ([] if way == "nohup" else [signal.SIGHUP])
