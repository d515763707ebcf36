"""A process that only hosts runs."""

from __future__ import annotations

import asyncio
import gc
import signal

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
