"""Does anything take more than linear time? ``python3 dev.py linear [words in names of cells]``.

A cell is a function and a hostile text, or hostile values, of any size. Each is measured at three
sizes, each twice that before, in time of the processor. It is red when both doublings take more
than `RATIO_MAX` times as long, each time of `TRIES`: what is quadratic takes four times as long.
The sizes begin where a call takes `LEAST_S`; with `--whole` they are 1, 2 and 4 MB after that.
"""
# ruff: noqa: T201  # a script that talks to a terminal

from __future__ import annotations

import argparse
import gc
import runpy
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

HERE = Path(__file__).resolve().parent

Work: TypeAlias = Callable[[], object]

RATIO_MAX = 2.5
LEAST_S = 0.02
FIRST, LARGEST = 1 << 12, 1 << 20
"""The sizes between which the first of the three is sought, in characters."""

TRIES, REPEATS = 5, 2

HOSTILE: Mapping[str, str] = {
    "letters": "a",
    "spaces": " ",
    "newlines": "\n",
    "tabs": "\t",
    "brackets": "[{(",
    "closed": "[]{}",
    "quotes": '"',
    "backslashes": "\\",
    "escapes": "\\u0041\\ud800",
    "controls": "\x00\x07\x1b\r",
    "colours": "\x1b[31mx\x1b[0m",
    "marks": "a\u0301\u202e\u200b",
    "rows of marks": "\u0300\u0316",
    "letters in parts": "\u1100\u1161\u11a8\U0001d165\u1b44\u212b",
    "surrogates": "\ud800",
    "bars": "▌┃",
    "markup": "<&>'",
    "fences": "``` ",
    "keys": "-eyJabcdefghijk-sk-AKIA",
    "web tokens": "-eyJabcdefghijk",
    "begun keys": "-----BEGIN PRIVATE KEY-----",
    "masks": "<token>***",
    "digits": "7",
    "JSON": '{"a": [1, "b"]},',
    "steps": "['",
}
"""What texts are made of, again and again."""


class Cell(NamedTuple):
    """What is measured: `ready` makes the values of a size, and gives the call to be timed."""

    name: str
    ready: Callable[[int], Work]


class Measured(NamedTuple):
    """The sizes of a cell in characters or items, and the best times in seconds."""

    sizes: tuple[int, ...]
    times: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The better of the two doublings."""
        return min(b / a for a, b in zip(self.times, self.times[1:], strict=False))

    def __str__(self) -> str:
        times = " ".join(f"{1000 * one:8.1f}" for one in self.times)
        return f"{self.sizes[0]:>8} {times} ms  x{self.ratio:.2f}"


def cells() -> Iterator[Cell]:
    """All of them."""
    texts: Mapping[str, Callable[[str], object]] = _table("linear_texts.py", "TEXTS")
    for name, function in texts.items():
        for kind, unit in HOSTILE.items():
            yield Cell(f"{name}: {kind}", _of_text(function, unit))
    values: Mapping[str, Callable[[int], Work]] = _table("linear_values.py", "VALUES")
    for name, ready in values.items():
        yield Cell(name, ready)


def _table(file: str, name: str) -> Any:
    """What a file beside this one says: the tests are no package, and find each other by paths."""
    return runpy.run_path(str(HERE / file))[name]


def _of_text(function: Callable[[str], object], unit: str) -> Callable[[int], Work]:
    def ready(size: int) -> Work:
        text = (unit * (size // len(unit) + 1))[:size]
        return lambda: function(text)

    return ready


def first_size(cell: Cell) -> int:
    """The smallest size at which a call takes long enough to be timed."""
    size = FIRST
    while size < LARGEST and min(seconds(cell.ready(size)) for _ in "12") < LEAST_S:
        size *= 2  # twice: the first call may import what it needs
    return size


def seconds(work: Work) -> float:
    """What a call takes of the time of the processor."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measured(cell: Cell, first: int) -> Measured:
    """The best of a few calls at each of three sizes."""
    sizes = (first, 2 * first, 4 * first)
    gc.collect()
    gc.disable()
    try:
        times = [min(seconds(cell.ready(size)) for _ in range(REPEATS)) for size in sizes]
    finally:
        gc.enable()
    return Measured(sizes, tuple(max(one, 1e-6) for one in times))


def judged(cell: Cell, first: int | None = None) -> tuple[bool, Measured]:
    """Whether it is linear, and the best that was measured: a loaded machine may need a few."""
    start = first_size(cell) if first is None else first
    best = measured(cell, start)
    for _ in range(TRIES - 1):
        if best.ratio <= RATIO_MAX or best.times[-1] < LEAST_S:
            break
        best = min(best, measured(cell, start), key=lambda one: one.ratio)
    return best.ratio <= RATIO_MAX or best.times[-1] < LEAST_S, best


def main() -> int:
    """Measure the cells whose names have one of the words; say which are red."""
    parser = argparse.ArgumentParser("linear", description=__doc__)
    parser.add_argument("words", nargs="*", help="parts of names of cells")
    parser.add_argument("--whole", action="store_true", help="1, 2 and 4 MB of each as well")
    given = parser.parse_args()
    red, count = [], 0
    for cell in cells():
        if given.words and not any(word in cell.name for word in given.words):
            continue
        count += 1
        good, best = judged(cell)
        if good and given.whole and best.sizes[0] < LARGEST:
            good, best = judged(cell, LARGEST)
        print(f"{'     ' if good else 'RED  '}{best}  {cell.name}", flush=True)
        red += [] if good else [cell.name]
    print(f"{count} cells, {len(red)} of them worse than linear{''.join(f'; {n}' for n in red)}")
    return bool(red)


if __name__ == "__main__":
    sys.exit(main())
