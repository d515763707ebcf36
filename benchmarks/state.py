"""What a state costs, beside the states of other agent libraries: ``python benchmarks/state.py``.

Prints a Markdown table of ratios. Each contender is timed in a process of its own, against plain
lists and dicts in that same process, so that the machine and its mood are not in the figures. The
other libraries live in virtual environments that ``python benchmarks/state.py --install`` makes;
one that is not there is left out.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import argparse
import gc
import json
import operator
import statistics
import subprocess
import sys
import timeit
import tracemalloc
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
VENVS = HERE / ".venvs"
PINS = {
    "haystack": "haystack-ai==3.4.0",
    "burr": "apache-burr==0.43.0",
    "langgraph": "langgraph==1.2.22",
}
SIZES = (10, 1_000, 100_000)
TEN = list(range(10))
SMALL = {f"key_{number}": number for number in range(8)}
SAMPLES = 30
WRITES = 5
ROUNDS = 3
KEPT = 300


class Contender(NamedTuple):
    """How one library does it: `write` adds ten items to a list, `set` replaces one of eight."""

    start: Callable[[list[int]], Any]
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    keep: Callable[[Any], Any]
    small: Callable[[], Any]
    set: Callable[[Any], Any]


def plain() -> Contender:
    """A list in a dict, changed in place; a dict that is copied. All are held against these."""

    def append(values: dict[str, list[int]]) -> dict[str, list[int]]:
        items = values["items"]
        for item in TEN:
            items.append(item)  # it is what is measured
        return values

    def set_small(values: dict[str, int]) -> dict[str, int]:
        copied = values.copy()
        copied["key_3"] = 5
        return copied

    return Contender(
        lambda items: {"items": items},
        append,
        lambda values: values["items"],
        lambda values: values["items"].copy(),
        SMALL.copy,
        set_small,
    )


def detent() -> Contender:
    """This library."""
    from detent import State

    schema = {"items": {"type": list[int]}}
    small = State({key: {"type": int} for key in SMALL}, SMALL)
    return Contender(
        lambda items: State(schema, {"items": items}),
        lambda state: state.set("items", TEN),
        lambda state: state.get("items"),
        lambda state: state,
        lambda: small,
        lambda state: state.set("key_3", 5),
    )


def detent_forks() -> Contender:
    """This library, when every write is made to one and the same state."""
    own = detent()

    def write(state: Any) -> Any:
        own.write(state)
        return state

    return own._replace(write=write, keep=own.write)


def haystack() -> Contender:
    """haystack-ai's State is changed in place; to keep one is to copy its values."""
    from haystack.components.agents.state import State  # type: ignore[import-not-found]  # lives elsewhere

    def write(state: Any) -> Any:
        state.set("items", TEN)
        return state

    def set_small(state: Any) -> Any:
        state.set("key_3", 5)
        return state

    schema = {"items": {"type": list[int]}}
    return Contender(
        lambda items: State(schema, {"items": items}),
        write,
        lambda state: state.get("items"),
        lambda state: dict(state.data),
        lambda: State({key: {"type": int} for key in SMALL}, dict(SMALL)),
        set_small,
    )


def burr() -> Contender:
    """Burr's State is immutable."""
    from burr.core import State  # type: ignore[import-not-found]  # lives elsewhere

    small = State(SMALL)
    return Contender(
        lambda items: State({"items": items}),
        lambda state: state.extend(items=TEN),
        lambda state: state["items"],
        lambda state: state,
        lambda: small,
        lambda state: state.update(key_3=5),
    )


def langgraph() -> Contender:
    """LangGraph keeps each key in a channel that a reducer updates; reading gives what it holds."""
    from langgraph.channels import (  # type: ignore[import-not-found]  # lives elsewhere
        BinaryOperatorAggregate,
        LastValue,
    )

    def start(items: list[int]) -> Any:
        return BinaryOperatorAggregate(list, operator.add).from_checkpoint(items)

    def write(channel: Any) -> Any:
        channel.update([TEN])
        return channel

    def set_small(channels: Any) -> Any:
        channels["key_3"].update([5])
        return channels

    def small() -> Any:
        return {key: LastValue(int).from_checkpoint(value) for key, value in SMALL.items()}

    return Contender(
        start, write, lambda channel: channel.get(), lambda channel: channel.get(), small, set_small
    )


CONTENDERS = {one.__name__: one for one in (plain, detent, detent_forks, haystack, burr, langgraph)}


def write_ns(one: Contender, size: int) -> float:
    """The median time of a write into a list of `size` items, without what the clock takes."""
    clock = statistics.median(-perf_counter_ns() + perf_counter_ns() for _ in range(SAMPLES))
    samples = []
    for _ in range(SAMPLES):
        state = one.write(one.start(list(range(size - len(TEN)))))
        for _ in range(WRITES):
            begun = perf_counter_ns()
            state = one.write(state)
            samples.append(perf_counter_ns() - begun)
    return statistics.median(samples) - clock


def call_ns(act: Callable[[Any], Any], state: Any) -> float:
    """The time of a call that may be repeated, without what an empty call takes."""

    def least(timer: timeit.Timer) -> float:
        number, _ = timer.autorange()
        return 1e9 * min(timer.repeat(5, max(1, number // 10))) / max(1, number // 10)

    return least(timeit.Timer(lambda: act(state))) - least(timeit.Timer(lambda: None))


def kept_bytes(one: Contender) -> float:
    """Memory for each of many states that are kept and differ by one write each."""
    state = one.start(list(range(10_000)))
    kept = []
    tracemalloc.start()
    for _ in range(KEPT):
        state = one.write(state)
        kept.append(one.keep(state))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / KEPT


def ratio(own: Callable[[], float], base: Callable[[], float]) -> float:
    """How much longer the first takes, both measured in turns, for the machine changes its pace."""
    rounds = [(own(), base()) for _ in range(ROUNDS)]
    return min(first for first, _ in rounds) / min(second for _, second in rounds)


def measure(name: str) -> dict[str, float]:
    """All figures of one contender: times as multiples of the plain way, in this process."""
    gc.disable()
    one, base = CONTENDERS[name](), plain()
    items = list(range(SIZES[-1]))
    held, plainly = one.start(items), base.start(items)
    writes = {
        f"write {size}": ratio(partial(write_ns, one, size), partial(write_ns, base, size))
        for size in SIZES
    }
    return {
        **writes,
        "growth": ratio(partial(write_ns, one, SIZES[-1]), partial(write_ns, one, SIZES[0])),
        "read": ratio(partial(call_ns, one.read, held), partial(call_ns, base.read, plainly)),
        "set": ratio(partial(call_ns, one.set, one.small()), partial(call_ns, base.set, SMALL)),
        "kept": kept_bytes(one),
    }


def python_of(name: str) -> Path:
    """The interpreter that has the contender installed."""
    if name not in PINS:
        return Path(sys.executable)
    return VENVS / name / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def install() -> None:
    """Make the virtual environments of the other libraries."""
    for name, pin in PINS.items():
        venv.create(VENVS / name, with_pip=True)
        subprocess.run([python_of(name), "-m", "pip", "install", "-q", pin], check=True)  # noqa: S603  # ours
        print(f"{name}: installed {pin}")


def report() -> None:
    """Measure everybody who is there and print the table."""
    print("| | into 10 | into 1,000 | into 100,000 | growth | read | set | bytes |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in CONTENDERS:
        if not python_of(name).exists():
            print(f"| {name} | not installed | | | | | | |")
            continue
        command = [str(python_of(name)), __file__, "--measure", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  # ours
        figures = json.loads(done.stdout.splitlines()[-1])
        shown = " | ".join(f"{figure:,.1f}" for figure in figures.values())
        print(f"| {name} | {shown} |", flush=True)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="make the virtual environments")
    parser.add_argument("--measure", metavar="NAME", choices=CONTENDERS, help="one, as JSON")
    arguments = parser.parse_args()
    if arguments.install:
        install()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
    else:
        report()


if __name__ == "__main__":
    main()
