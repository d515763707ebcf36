"""Stored data is hostile input: whatever stands in it, a typed error or a run comes of it, soon.

``python tests/adapters/journals/test_hostile_stores.py SECONDS`` goes on with it for longer: by
atheris, which is guided by what the code does with the data, where that is installed.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from types import FunctionType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent import Agent, AgentSnapshot, MemoryJournal, Reply, tool
from detent.adapters.confirmation.stopped_calls import (
    get_tool_calls_and_descriptions_from_snapshot,
)
from detent.adapters.drivers.loading import loaded
from detent.core.codec import open_values, own_values, values
from detent.core.errors import DetentError, StoredDataError
from detent.core.storage import checkpoints, snapshot
from detent.core.storage.snapshot import run_of
from detent.journals import Checkpoint, Entry
from detent.machine import Write
from detent.testing import ScriptedChatGenerator

STORED = Path(__file__).parent / "stored"


@tool(on_unknown="rerun")
def look(n: int) -> Reply:
    """Look."""
    return Reply(f"looked {n}", Write("free", {"n": n}))


@tool(on_unknown="rerun")
def slow(n: int) -> str:
    """Be slow."""
    return f"slow {n}"


@cache
def agent() -> Agent[Any]:
    """One that can read the stored runs, as far as these are plain."""
    names = ("pages", "span", "colour", "tags", "either", "pair")
    schema = {name: {"type": Any} for name in names} | {"free": {"type": dict}}
    return Agent(
        chat_generator=ScriptedChatGenerator(), tools=[look, slow], state_schema=dict(schema)
    )


@cache
def texts() -> tuple[str, ...]:
    """What has been stored: snapshots, and the data of entries and checkpoints."""
    found: list[Any] = []
    for path in sorted(STORED.iterdir()):
        for line in path.read_text().splitlines():
            stored = json.loads(line)
            found += [one["data"] for one in stored["entries"]] if "entries" in stored else [stored]
    return tuple(json.dumps(one.get("data", one)) for one in found)


def read(data: Any) -> None:
    """Go on with a run of this data: as a snapshot, as an entry and as a checkpoint."""
    with suppress(DetentError):
        run_of(agent().spec, AgentSnapshot.from_dict(data))
    with suppress(DetentError):
        snapshot = AgentSnapshot.from_dict(data)
        _ = snapshot.component_visits, snapshot.messages, snapshot.component_inputs
        snapshot.summary()
        get_tool_calls_and_descriptions_from_snapshot(snapshot)
    for checkpoint in (None, Checkpoint(2, {"it": data} if not isinstance(data, dict) else data)):
        journal = MemoryJournal()
        journal.append("r", [Entry(0, 1.0, "Started", "running", json.loads(texts()[0]))])
        inner = data if isinstance(data, dict) else {"it": data}
        journal.append("r", [Entry(1, 1.0, "Event", "running", inner)], checkpoint)
        with suppress(DetentError):
            loaded(journal, agent().spec, "r")


def deep(levels: int) -> Any:
    data: Any = []
    for _ in range(levels):
        data = {"a": [data]}
    return data


HOSTILE: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63, 10**4000, 1e308, float("inf"), float("nan"), "", "x" * 100_000),
    *([], {}, [[]], deep(90), {"$type": "os.system"}, {"$type": "int", "value": "0x" + "f" * 9999}),
    *({"$type": "timedelta", "value": 10**30}, {"$type": "Decimal", "value": "1e999999999"}),
    *({"$type": "bytes", "value": 3}, {"$type": "date", "value": "x"}, {"$type": ["a"]}),
    *({"$type": "dict", "value": [[[], 1]]}, {"$type": "set", "value": [[1]]}),
    {"$type": "str", "value": '\\ud800"'},
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested data."""
    if not isinstance(data, dict | list):
        return [path]
    items = data.items() if isinstance(data, dict) else enumerate(data)
    return [path, *(place for key, one in items for place in places(one, (*path, key)))]


def changed(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The data with something else at one place."""
    if not place:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[place[0]] = changed(data[place[0]], place[1:], value)
    return copy


@given(st.integers(0, len(texts()) - 1), st.randoms(use_true_random=False), st.data())
@settings(max_examples=300, deadline=2000)
def test_a_value_at_any_place_gives_a_typed_error_or_a_run(
    number: int, dice: Random, data: st.DataObject
) -> None:
    """Huge numbers and texts, deep nesting, names of functions, tags in the wrong place."""
    stored = json.loads(texts()[number])
    value = data.draw(st.sampled_from(HOSTILE) | st.sampled_from(texts()).map(json.loads))
    read(changed(stored, dice.choice(places(stored)), value))


@pytest.mark.parametrize(
    "value", [10**4000, "x" * 100_000, None, [[]], {"$type": "x"}], ids=range(5)
)
def test_a_value_at_each_place_gives_a_typed_error_or_a_run(value: Any) -> None:
    """At every single one."""
    for whole in map(json.loads, texts()):
        for place in places(whole):
            read(changed(whole, place, value))


@given(st.integers(0, len(texts()) - 1), st.integers(0, 10**6), st.text(max_size=8))
@settings(max_examples=300, deadline=2000)
def test_any_text_in_the_middle_gives_a_typed_error_or_a_run(
    number: int, at: int, text: str
) -> None:
    """What is still JSON is read; what is not, is refused."""
    stored = texts()[number]
    at %= len(stored)
    mutilated = stored[:at] + text + stored[at + len(text) :]
    with suppress(DetentError):
        AgentSnapshot.from_json(mutilated)
    with suppress(ValueError):
        read(json.loads(mutilated))


@pytest.mark.parametrize("place", [("run",), ("agent",), ("held",), ("run", "state")])
def test_nesting_without_end_is_refused(place: tuple[str, ...]) -> None:
    """Also in data that is already in memory, which no text could be."""
    data = changed(json.loads(texts()[0]), place, deep(3000))

    with pytest.raises(StoredDataError):
        run_of(agent().spec, AgentSnapshot.from_dict(data))


def fuzz(seconds: int) -> None:
    """For as long as is asked for; what is wrong is raised, with the data."""
    try:
        import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]  # rarely there
    except ImportError:
        fuzz_at_random(seconds)
        return
    with TemporaryDirectory() as corpus:
        for number, text in enumerate(texts()):
            Path(corpus, str(number)).write_text(text)
        for module in (checkpoints, open_values, own_values, snapshot, values):
            for function in vars(module).values():
                if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                    function.__code__ = atheris.instrument_func(function).__code__  # pyright: ignore[reportAttributeAccessIssue]  # it is made at run time
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", corpus], fuzz_one)
        atheris.Fuzz()


def fuzz_one(data: bytes) -> None:
    """What the guided search tries."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):  # it is no JSON
        return
    read(found)


def fuzz_at_random(seconds: int) -> None:
    """Hostile values at some places of what has been stored."""
    dice, end, count = Random(), monotonic() + seconds, 0  # noqa: S311 - no secret
    while monotonic() < end:
        data = json.loads(dice.choice(texts()))
        for _ in range(dice.randint(1, 4)):
            data = changed(data, dice.choice(places(data)), dice.choice(HOSTILE))
        try:
            read(data)
        except BaseException:
            print(repr(data)[:5000])  # noqa: T201 - what was found
            raise
        count += 1
    print(f"{count} pieces of data: a typed error or a run each time")  # noqa: T201 - the result


if __name__ == "__main__":
    fuzz(int(sys.argv[1]))
