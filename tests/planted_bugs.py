"""Bugs, planted one at a time into a copy of the code, and how soon the simulator finds each.

``python tests/planted_bugs.py`` prints a line for each and fails unless all are found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import frozen

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "detent"
WITHIN_S = 60
SEEDS = 20_000
"""More than can be played within a minute: time is what ends the search."""


@frozen
class Edit:
    """A text of a module that is there once, and what takes its place."""

    module: str
    before: str
    after: str


@frozen
class Bug:
    """What somebody might get wrong."""

    name: str
    edits: tuple[Edit, ...]


def bug(name: str, *edits: str) -> Bug:
    """A bug, from the module, the text and its replacement of each edit, one after the other."""
    parts = [edits[at : at + 3] for at in range(0, len(edits), 3)]
    return Bug(name, tuple(Edit(*part) for part in parts))


BUGS = (
    bug(
        "results are merged in the order of arrival",
        *(
            "core/step.py",
            "    return _change(spec, run, evolve(slot, status=Succeeded(event.result)))",
        ),
        "    run = evolve(run, state=run.state.update(event.result.writes))\n"
        "    return _change(spec, run, evolve(slot, status=Succeeded(event.result)))",
        *("core/turns.py", "return state.update(slot.status.result.writes), slot"),
        "return state, slot",
    ),
    bug(
        "a decision is matched by its place, not by its digest",
        *("core/step.py", " or awaited.digest != event.digest:", ":"),
    ),
    bug(
        "a tool runs before its intent is stored",
        *("adapters/drivers/session.py", "        self.feed(*starts)\n", ""),
    ),
    bug(
        "one step more than the limit",
        *("core/turns.py", "run.turn >= spec.limits.max_agent_steps"),
        "run.turn > spec.limits.max_agent_steps",
    ),
    bug(
        "a policy is asked again when the run is resumed",
        *("adapters/drivers/session.py", "kept = event if self._record is None else settled("),
        "kept = event if True else settled(",
    ),
    bug(
        "the journal accepts a stale position",
        *("adapters/stores/memory.py", "            require_next(", "            len("),
    ),
    bug(
        "a retry forgets to count",
        *("core/calls.py", "return Ready(event.attempt + 1)", "return Ready(event.attempt)"),
        *("core/calls.py", "Resting(event.attempt + 1,", "Resting(event.attempt,"),
    ),
    bug(
        "a call of unknown outcome is run again though its tool does not say so",
        *("core/recovery.py", 'case "rerun":', 'case "rerun" | "ask":'),
    ),
    bug(
        "a cancelled run loses what was settled",
        *(
            "core/step.py",
            "[slot if is_settled(slot) else cancelled(slot) for",
            "[cancelled(slot) for",
        ),
    ),
    bug(
        "a late answer overwrites a settled one",
        *(
            "core/step.py",
            "    if slot is None or not isinstance(slot.status, Ready | Running | Unknown):",
        ),
        "    if slot is not None and is_settled(slot):\n        return slot\n"
        "    if slot is None or not isinstance(slot.status, Ready | Running | Unknown):",
    ),
    bug(
        "a checkpoint misses how often tools were called",
        *(
            "core/journal.py",
            "dump(run, Run, spec)",
            'dump(run, Run, spec) | {"tool_call_counts": {}}',
        ),
    ),
    bug(
        "a line that a crash has cut off is written on to",
        *("adapters/stores/directory.py", "    file.truncate(end)\n    try:", "    try:"),
    ),
    bug(
        "an approval from before a crash counts after it",
        *("core/recovery.py", "AwaitingDecision(_bound(bound, event.by), REASON)"),
        "AwaitingDecision(bound, REASON)",
    ),
    bug(
        "what a human has changed about a call is not what runs",
        *("core/calls.py", "evolve(slot, call=call, status=Ready(), note=note)"),
        "evolve(slot, status=Ready(), note=note)",
    ),
    bug(
        "more tools at once than allowed",
        *("core/due.py", "in owed[: spec.limits.parallel_tool_calls]", "in owed"),
    ),
    bug(
        "an exit tool ends the run though it has failed",
        *("core/turns.py", "isinstance(slot.status, Succeeded) and slot.call.tool_name in"),
        "is_settled(slot) and slot.call.tool_name in",
    ),
)


class CodeHasMovedError(Exception):
    """The text that a bug replaces is not there, or not once."""


def plant(bug: Bug, package: Path) -> None:
    """Make the edits of a bug in a copy of the package.

    Raises:
        CodeHasMovedError: the code is not what the bug was written for.
    """
    for edit in bug.edits:
        path = package / edit.module
        text = path.read_text(encoding="utf-8")
        if text.count(edit.before) != 1:
            raise CodeHasMovedError(
                f"{bug.name!r}: {edit.module} has {edit.before!r} {text.count(edit.before)} times;"
                " plant the bug anew"
            )
        path.write_text(text.replace(edit.before, edit.after), encoding="utf-8")


@frozen
class Search:
    """What came of looking for a bug."""

    bug: Bug
    found: str
    seconds: float


def search(bug: Bug) -> Search:
    """Plant a bug in a copy, and simulate until an invariant is broken."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "detent"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        plant(bug, copy)
        began = time.monotonic()
        command = ["-m", "detent.adapters.testing.simulation", "--seeds", str(SEEDS)]
        try:
            done = subprocess.run(
                [sys.executable, *command],
                env={**os.environ, "PYTHONPATH": folder},
                capture_output=True,
                text=True,
                timeout=WITHIN_S,
                check=False,
            )
            broken = re.match(r"seed (\d+) breaks (\w+)", done.stdout)
            found = f"seed {broken[1]}: {broken[2]}" if broken else done.stderr[-500:]
        except subprocess.TimeoutExpired:
            found = ""
        return Search(bug, found, time.monotonic() - began)


def searches(bugs: Iterable[Bug]) -> Iterator[Search]:
    """What came of looking for each, one for each processor at a time."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(search, bugs)


def main() -> int:
    """Print the table."""
    missed = 0
    for one in searches(BUGS):
        missed += not one.found.startswith("seed ")
        print(f"{one.seconds:5.1f} s  {one.bug.name:75} {one.found or 'NOT FOUND'}", flush=True)  # noqa: T201 - the table
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
