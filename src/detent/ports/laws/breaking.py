"""How a check says that a law is broken."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread
from types import FrameType
from typing import Any, TypeAlias

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


MEET_S = 0.01
"""Seconds for which one of two writers waits at a line for the other, which a lock may hold."""
LINES = 200
"""At how many lines two writers meet at most."""
Line: TypeAlias = tuple[str, int]
Traced: TypeAlias = Callable[[FrameType, str, Any], Any]
LIBRARY = str(Path(os.__file__).parent)


def races(run: Callable[[int], bool]) -> list[int]:
    """How many of two threads have won each of many races: one for each line that the store runs.

    Both stop before that line until the other one is there, unless something, a lock, holds it up.
    So two that are both in between looking and writing are found, however short that takes.

    Args:
        run: runs the race of this number, and says whether it was won.

    Raises:
        AssertionError: they do not come to an end.
    """
    won, lines = list[int](), dict[Line, None]()  # to append is one step
    with _at_lines(lines.setdefault):
        wins = [int(run(0))]
    for race, stop in enumerate(list(lines)[:LINES], 1):
        begin, meet = Barrier(2), Barrier(2)
        meets = partial(_meet, stop, meet)

        def racer(
            race: int = race, begin: Barrier = begin, meets: Callable[[Line], object] = meets
        ) -> None:
            begin.wait(PATIENCE_S)
            with _at_lines(meets):
                is_won = run(race)
            if is_won:
                won.append(race)

        expect(in_time(racer, racer), "the store", "writers who race come to an end")
        wins.append(won.count(race))
    return wins


def _meet(stop: Line, meet: Barrier, line: Line) -> None:
    if line == stop:
        with suppress(BrokenBarrierError):  # whoever comes later finds it broken, and goes on
            meet.wait(MEET_S)


@contextmanager
def _at_lines(call: Callable[[Line], object]) -> Generator[None]:
    """Before each line that is run in this thread, but those of Python's library, make a call."""

    def begun(frame: FrameType, event: str, arg: object) -> Traced | None:
        name = frame.f_code.co_filename
        return None if name.startswith(("<", LIBRARY, __file__)) else reached

    def reached(frame: FrameType, event: str, arg: object) -> Traced:
        if event == "line":
            call((frame.f_code.co_filename, frame.f_lineno))
        return reached

    before = sys.gettrace()
    sys.settrace(begun)
    try:
        yield
    finally:
        sys.settrace(before)
