"""How a check says that a law is broken."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

PATIENCE_S = 10.0
"""How long a check waits for what must come at once."""


def expect(holds: object, who: str, law: str) -> None:
    """Raise AssertionError with the law unless it holds."""
    if not holds:
        raise AssertionError(f"{who} breaks a law: {law}")


def in_time(*works: Callable[[], object]) -> bool:
    """Whether all of these, each in a thread of its own, come to their end.

    What one of them raises is raised here.
    """
    raised: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the caller
            raised.append(error)

    threads = [Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    if raised:
        raise raised[0]
    return not any(thread.is_alive() for thread in threads)
