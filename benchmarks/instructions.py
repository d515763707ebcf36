"""How many machine instructions a turn takes: ``python benchmarks/instructions.py``.

Unlike a time, the count is nearly the same in each run and on each day, so that a small loss is
seen. valgrind counts two runs of different length in processes of their own; their difference is
what one turn more costs. ``instructions.json`` holds the counts of each version: the script says
when one is more than 5 % above the last and then ends with 1. ``--record 0.1.0`` writes them down.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKER = HERE / "peers" / "worker.py"
RECORD = HERE / "instructions.json"
WORSE = 1.05
CELLS = {  # workload, variant, two numbers of turns or pieces: above 100 the worker runs it once
    "turn, blocking": ("W2", "sync", 150, 350),
    "turn, asyncio": ("W2", "async", 150, 350),
    "turn, asyncio, without a journal": ("W2", "async-no-journal", 150, 350),
    "turn that adds to a state": ("W3", "write", 150, 350),
    "turn, blocking, in SQLite": ("W4", "sqlite@shm", 150, 350),
    "streamed piece": ("W7", "callback", 500, 2500),
}


def counted(workload: str, variant: str, n: int) -> int:
    """The instructions of a process that runs one workload once, import and all."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    work = [sys.executable, str(WORKER), "--contender", "detent", "--reps", "0", "--warm", str(n)]
    work += ["--workload", workload, "--variant", variant, "--n", str(n)]
    done = subprocess.run(  # noqa: S603  # our own arguments
        [*tool, *work],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(f"valgrind did not say how much it counted:\n{done.stderr[-500:]}")
    return int(found[1])


def per_piece(workload: str, variant: str, few: int, many: int) -> int:
    """The instructions that one turn, or one piece, more takes."""
    more = counted(workload, variant, many) - counted(workload, variant, few)
    return round(more / (many - few))


def main() -> int:
    """Count, compare with the last version that is recorded, and record if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", metavar="VERSION", help="write the counts down for a version")
    version = parser.parse_args().record
    if shutil.which("valgrind") is None:
        raise SystemExit("valgrind counts the instructions, and is not installed")
    known: dict[str, dict[str, int]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    last = list(known.values())[-1] if known else {}
    counts: dict[str, int] = {}
    print("| what | instructions | against the last version |\n|---|---:|---:|")
    for name, cell in CELLS.items():
        counts[name] = per_piece(*cell)
        ratio = f"{counts[name] / last[name]:.3f}" if name in last else "-"
        print(f"| {name} | {counts[name]:,} | {ratio} |", flush=True)
    if version is not None:
        RECORD.write_text(json.dumps({**known, version: counts}, indent=2) + "\n")
    return int(any(counts[name] > WORSE * last.get(name, counts[name]) for name in counts))


if __name__ == "__main__":
    sys.exit(main())
