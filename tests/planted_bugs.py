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


class Bug:
    """What somebody might get wrong: the edits that make it so.

    One that shows `in_company` alone is looked for where several processes live.
    """

    def __init__(self, name: str, *edits: Edit, in_company: bool = False) -> None:
        self.name = name
        self.edits = edits
        self.in_company = in_company


BUGS = (
    Bug(
        "results are merged in the order of arrival",
        Edit(
            "core/machine/step.py",
            "_with_answer(spec, run, move(slot, Succeeded(event.result)))",
            "_with_answer(spec, evolve(run, state=run.state.update(event.result.writes)),"
            " move(slot, Succeeded(event.result)))",
        ),
        Edit(
            "core/machine/turns.py",
            "return state.update(result.writes), slot",
            "return state, slot",
        ),
    ),
    Bug(
        "a decision is matched by its place, not by its digest",
        Edit(
            "core/machine/calls.py",
            "if event.digest != status.digest:",
            "if not event.digest:",
        ),
    ),
    Bug(
        "a tool runs before its intent is stored",
        Edit(
            "adapters/drivers/session.py",
            "is_more_owed |= self._start(effect)",
            "pass",
        ),
    ),
    Bug(
        "one step more than the limit",
        Edit(
            "core/run/limits.py",
            "turn >= self.max_agent_steps",
            "turn > self.max_agent_steps",
        ),
    ),
    Bug(
        "a policy is asked again when the run is resumed",
        Edit(
            "core/machine/recovery.py",
            "    match slot.status:\n        case Running(attempt):\n",
            "    if isinstance(slot.status, AwaitingDecision):\n"
            "        from detent.core.run.run import AwaitingPolicy\n"
            "        return evolve(slot, status=AwaitingPolicy())\n"
            "    match slot.status:\n        case Running(attempt):\n",
        ),
    ),
    Bug(
        "the journal accepts a stale position",
        Edit(
            "adapters/journals/memory.py",
            "            require_next(",
            "            len(",
        ),
    ),
    Bug(
        "a retry forgets to count",
        Edit(
            "core/machine/calls.py",
            "event.chance), event.attempt + 1",
            "event.chance), event.attempt",
        ),
    ),
    Bug(
        "a call of unknown outcome is run again though its tool does not say so",
        Edit(
            "core/machine/recovery.py",
            'case "rerun" if',
            'case "rerun" | "ask" if',
        ),
    ),
    Bug(
        "a cancelled run loses what was settled",
        Edit(
            "core/machine/turns.py",
            "slot if is_settled(slot) else give_up(",
            "give_up(",
        ),
    ),
    Bug(
        "a late answer overwrites a settled one",
        Edit(
            "core/machine/turns.py",
            "    if slot is not None and isinstance(slot.status, kinds):",
            "    from detent.core.run.run import Succeeded\n"
            "    if slot is not None and kinds is BEGUN and isinstance(slot.status, Succeeded):\n"
            "        return slot\n"
            "    if slot is not None and isinstance(slot.status, kinds):",
        ),
    ),
    Bug(
        "a checkpoint misses how often tools were called",
        Edit(
            "core/storage/journal.py",
            "data_of(run, Run, spec)",
            "data_of(type(run)(run.id, run.state, run.phase, run.turn, run.usage), Run, spec)",
        ),
    ),
    Bug(
        "a line that a crash has cut off is written on to",
        Edit(
            "adapters/journals/directory.py",
            "extend(file, end.offset, text)",
            "extend(file, file.seek(0, os.SEEK_END), text)",
        ),
    ),
    Bug(
        "nobody looks at the checksums of a file",
        Edit(
            "adapters/journals/lines.py",
            "return start[len(START) : -2].decode() if line.startswith(start) else None",
            "return line[len(START) : BODY - 2].decode(errors='replace')",
        ),
    ),
    Bug(
        "an approval from before a crash counts after it",
        Edit(
            "core/machine/recovery.py",
            "return ask_about(run, slot, ask, clear.binding, begins, at, cause)",
            "return ask_about(run, slot, ask, clear.binding, begins, at)",
        ),
    ),
    Bug(
        "what a human has changed about a call is not what runs",
        Edit(
            "core/machine/questions.py",
            'slot = attrs.evolve(slot, call=call, clearance=clear, key="")',
            "slot = attrs.evolve(slot, clearance=attrs.evolve(clear, binding=question.binding))",
        ),
    ),
    Bug(
        "an agent's calls have the keys of the calls around it",
        Edit(
            "core/machine/step.py",
            "run_id=inner_name(run.id, slot.ref)",
            "run_id=run.id",
        ),
    ),
    Bug(
        "an agent inside does not hear that its process has ended",
        Edit(
            "core/machine/recovery.py",
            "inner = settle(agent, resume_run(agent, at.run, event))",
            "inner = at.run",
        ),
    ),
    Bug(
        "a word about one attempt counts for the next one",
        Edit(
            "core/machine/recovery.py",
            "Ready(event.attempt + 1)",
            "Ready(event.attempt)",
        ),
    ),
    Bug(
        "more tools at once than allowed",
        Edit(
            "core/machine/due.py",
            "workable[: spec.limits.parallel_tool_calls]",
            "workable",
        ),
    ),
    Bug(
        "what an agent inside uses is counted twice",
        Edit(
            "core/machine/step.py",
            "run = evolve(run, usage=run.usage + usage, cost=run.cost + cost)",
            "run = evolve(run, usage=run.usage + usage + usage, cost=run.cost + cost + cost)",
        ),
    ),
    Bug(
        "what an agent inside has used counts once more when it ends",
        Edit(
            "core/machine/step.py",
            "    if limit is None:\n        return with_slot(",
            "    if after.outcome is not None:\n"
            "        run = evolve(run, usage=run.usage + after.usage, cost=run.cost + after.cost)\n"
            "    if limit is None:\n        return with_slot(",
        ),
    ),
    Bug(
        "a yes to all calls of a tool counts for another tool",
        Edit(
            "core/run/approval.py",
            "return evolve(self.binding, arguments=now.arguments) == now",
            "return evolve(self.binding, arguments=now.arguments, tool=now.tool) == now",
        ),
    ),
    Bug(
        "a yes to equal calls of a tool counts for other arguments",
        Edit(
            "core/run/approval.py",
            'if self.scope == "tool" and self.binding',
            'if self.scope != "call" and self.binding',
        ),
    ),
    Bug(
        "a fork carries along what was confirmed for further calls",
        Edit(
            "core/machine/recovery.py",
            "return with_slots(evolve_run(run, grants=()), slots)",
            "return with_slots(run, slots)",
        ),
    ),
    Bug(
        "a fork carries along what was confirmed for a call",
        Edit(
            "core/machine/recovery.py",
            "            return move(slot, AwaitingPolicy())\n",
            "            return slot\n",
        ),
    ),
    Bug(
        "a yes that comes too late counts",
        Edit(
            "core/machine/calls.py",
            "if is_late(event.decision, event.at, status.expires_at):",
            "if is_late(event.decision, event.at, None):",
        ),
    ),
    Bug(
        "a yes counts for a call that begins too late",
        Edit(
            "core/machine/step.py",
            "and is_past(clear.expires_at, event.at):",
            "and is_past(None, event.at):",
        ),
    ),
    Bug(
        "what a policy denies is asked about",
        Edit(
            "core/machine/questions.py",
            'return deny_call(run, slot, "policy", reason or wording.FORBIDDEN, event.at)',
            "ask = Ask(reason)",
        ),
    ),
    Bug(
        "an exit tool ends the run though it has failed",
        Edit(
            "core/machine/turns.py",
            "if isinstance(slot.status, Succeeded):\n            if slot.call.tool_name in",
            "if is_settled(slot):\n            if slot.call.tool_name in",
        ),
    ),
    Bug(
        "a process that has slept through its claim begins a tool",
        Edit(
            "adapters/drivers/performer.py",
            "        if self.lease is not None:\n            self.lease.require()\n",
            "",
        ),
        in_company=True,
    ),
    Bug(
        "what a driver knows that has lost the run is thrown away",
        Edit(
            "adapters/drivers/company/lost_outcomes.py",
            "for _ in range(TRIES) if any(map(is_from_others, self.held)) else ():",
            "for _ in ():",
        ),
        in_company=True,
    ),
    Bug(
        "what a driver holds is lost when somebody has spoken",
        Edit(
            "adapters/drivers/shared_run.py",
            "self._unsettled = rebase(self.spec, self.folded, events, self._hooks)",
            "self._unsettled = rebase(self.spec, self.folded, events[:0], self._hooks)",
        ),
        in_company=True,
    ),
    Bug(
        "a run is taken from a driver that lives",
        Edit(
            "adapters/drivers/leases.py",
            "if not (is_dropped or has_ended(owner)):",
            "if is_dropped:",
        ),
        in_company=True,
    ),
    Bug(
        "a claim that has lapsed comes alive again",
        Edit(
            "adapters/drivers/leases.py",
            "if not (is_ours and at_once(self._swap(lease, was, claim))):",
            "if not (is_ours and (at_once(self._swap(lease, was, claim)) or True)):",
        ),
        in_company=True,
    ),
    Bug(
        "a human goes on being asked what somebody knows",
        Edit(
            "core/machine/turns.py",
            "return status.attempt == event.attempt + bool(status.after) and not is_lookup",
            "return False",
        ),
        in_company=True,
    ),
    Bug(
        "what a user says further is forgotten",
        Edit(
            "core/machine/turns.py",
            "with_labels(say(run, run.unread), labels_of(run.unread))",
            "with_labels(run, labels_of(run.unread))",
        ),
    ),
    Bug(
        "what a user says further is put before an answer that does not know of it",
        Edit(
            "core/machine/turns.py",
            "return with_unread(run) if isinstance(run.phase, Pausing) else run",
            "return with_unread(run)",
        ),
    ),
    Bug(
        "an answer ends the run that does not know what was said since",
        Edit(
            "core/machine/turns.py",
            "    return run if turn.outcome is not None else turn\n",
            "    return run\n",
        ),
    ),
    Bug(
        "a run whose questions another process is to judge is stored as one that waits",
        Edit(
            "adapters/drivers/recording.py",
            'if status == "waiting" and is_to_be_judged(self._spec, run):',
            'if status == "waiting" and not self._spec.tools:',
        ),
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
        command += ["--company"] if bug.in_company else []
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
