"""What a model, a tool, a server or a human makes long takes linear time: a sample of all cells."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def script() -> ModuleType:
    """The script beside this file."""
    spec = importlib.util.spec_from_file_location("linear", Path(__file__).with_name("linear.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


linear: Any = script()
CELLS = {cell.name: cell for cell in linear.cells()}
FIRST = 1 << 15
"""In characters: what is quadratic takes a tenth of a second for it and more."""

LARGER = 1 << 18
"""Where a piece costs little by itself, and what is copied for it shows only then."""

ONCE_WORSE = {
    "local: pieces of text": FIRST,
    "openai: many calls": FIRST,
    "openai: many thoughts": FIRST,
    "openai: pieces of reasoning": LARGER,
    "responses: many calls": LARGER,
    "cohere: many calls": FIRST,
    "gemini: many calls": FIRST,
    "gemini: many arguments": LARGER,
    "gemini: many sources": FIRST,
    "schema: wrong names": FIRST // 4,
    "defaults of unions in unions": FIRST // 4,
    "a run of many turns": LARGER,
    "a path into arguments: steps": FIRST // 8,
    "an answer in a fence without an end: spaces": FIRST // 128,
    "a recording without keys: begun keys": FIRST // 2,
    "a recording without keys: web tokens": FIRST // 2,
    "faults of a call with a secret": FIRST // 2,
    "calls with ids that the model has chosen": FIRST // 2,
    "agents inside, with a call to judge each": FIRST // 2,
    "calls without ids": FIRST * 2,
    "streamed secrets: many calls": LARGER // 2,
    "streamed secrets: many ends that are none": LARGER // 2,
    "a result without its secret: rows of marks": FIRST // 2,
}
SAMPLE = (
    "a client that waits for all",
    "the arguments of a call: brackets",
    "a pattern of a schema: letters",
    "a text on a terminal: marks",
    "a text on a page: markup",
    "events of a stream: newlines",
    "an error with all of it: letters",
    "an argument that a human sees: colours",
)


@pytest.mark.parametrize("name", [*ONCE_WORSE, *SAMPLE])
def test_a_doubled_length_takes_no_more_than_two_and_a_half_times_as_long(name: str) -> None:
    """All cells: ``python3 dev.py linear``."""
    good, best = linear.judged(CELLS[name], ONCE_WORSE.get(name, FIRST))

    assert good, f"{name}: {best}"


@pytest.mark.parametrize("power", [1, 1.2, 1.5, 2])
def test_what_is_quadratic_is_found(power: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By how its time grows; what takes next to none is not looked at."""
    monkeypatch.setattr(linear, "seconds", lambda work: work())

    def judged(first_s: float) -> tuple[bool, Any]:
        cell = linear.Cell("a power", lambda size: lambda: first_s * (size / FIRST) ** power)
        good, best = linear.judged(cell, FIRST)
        return good, best.ratio

    assert judged(1.0) == (power < 1.3, pytest.approx(2**power))
    assert judged(linear.LEAST_S / 100)[0]


def test_what_is_too_quick_to_be_timed_is_taken_larger() -> None:
    """Up to the largest size there is."""
    assert linear.first_size(linear.Cell("nothing", lambda size: lambda: None)) == linear.LARGEST
