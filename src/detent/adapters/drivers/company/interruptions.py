"""Interruptions: what ends a method of a store from outside, and is raised in the end."""

from __future__ import annotations

from asyncio import CancelledError

from detent.adapters.drivers.steps import InterruptedStepError
from detent.ports.journal import JournalError

INTERRUPTIONS = (KeyboardInterrupt, SystemExit, CancelledError, InterruptedStepError)
"""What ends a store's method and says nothing of the entries, nor of what is at work."""


def shown(interruption: BaseException) -> BaseException:
    """What is raised in the end: nobody has cancelled the run, and no generator is closed."""
    if isinstance(interruption, KeyboardInterrupt | SystemExit):
        return interruption
    name = type(interruption.__cause__ or interruption).__name__
    error = JournalError(f"the store raised {name}; what it was given is written, resume the run")
    error.__cause__ = interruption
    return error
