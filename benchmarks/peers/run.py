"""Every contender in its own virtualenv as a subprocess, in turn (A B C A B C ...), as Markdown tables.

    python benchmarks/peers/run.py install                 once: the virtualenvs, from pins/*.txt (BENCH_ENVS says where)
    python benchmarks/peers/run.py quick                   all workloads, fewer rounds and sizes: some 15 minutes
    python benchmarks/peers/run.py run [--workloads W1,W2] [--contenders baseline,detent] [--rounds 3]      hours
    python benchmarks/peers/run.py ours                    detent and the bare loop only, and their tables
    python benchmarks/peers/run.py report [--quick] [--page docs/explanation/what-a-turn-costs.md]
    python benchmarks/peers/run.py profile --contenders detent --workloads W2 --n 300

A contender is one file contenders/c_<name>.py (only the standard library at its top level) with
    NAME, VENV, IMPORT, DISTS     label, name of its virtualenv (and -min for W1), import statement, distributions
    IMPORTS                       further statements for W1 by name, in the virtualenv with everything (optional)
    VARIANTS = {"W2": ["sync", "async"], ...}      the first variant is the main one
    setup(workload, n, variant) -> None            builds the agent; imports the library here
    run(workload, n) -> {"ok": bool, ...}          ONE run, which checks itself; may return wall, cpu, payload (W4)
`quick` and `ours` begin afresh; `run` adds to results/run.jsonl (delete it to start afresh).
"""

from __future__ import annotations

import argparse
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import envs
import measuring
import report
from plan import Plan

WORKLOADS = "W1,W2,W3,W4,W5,W6,W7,W7codecs,W8seq,W8conc,W8sse,W8sdk,W9,W10,W11,W12,profile"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["install", "quick", "run", "ours", "report", "profile"])
    p.add_argument("--workloads", default=WORKLOADS)
    p.add_argument("--contenders", default="")
    p.add_argument("--rounds", type=int, default=0)
    p.add_argument("--cells", default="", help="workload:contender:variant:n, comma separated")
    p.add_argument("--n", type=int, default=300)
    p.add_argument("--variant", default="")
    p.add_argument("--fresh", action="store_true", help="install: resolve anew and write pins/")
    p.add_argument("--quick", action="store_true", help="report: the rows of the quick run")
    p.add_argument("--page", default="", help="report: also into this page, between its marks")
    a = p.parse_args()
    names = [x for x in a.contenders.split(",") if x]
    workloads = a.workloads.split(",")
    if a.what == "install":
        envs.install(names or envs.ORDER, a.fresh)
        return
    cs = envs.contenders(["baseline", "detent"] if a.what == "ours" else names)
    rows = measuring.Rows("quick" if a.quick else {"report": "run"}.get(a.what, a.what))
    if a.what == "profile":
        measuring.profile(workloads, cs, a.n, a.variant)
    elif a.what == "report":
        report.report(workloads, cs, rows.read(), a.page)
    elif a.what == "run" and a.cells:
        measuring.run_cells([x.split(":") for x in a.cells.split(",")], Plan(a.rounds or 3), rows)
    else:
        if a.what != "run":
            rows.clear()
        quick = a.what == "quick"
        measuring.run(workloads, cs, Plan(a.rounds or (2 if quick else 3), quick), rows)
        if a.what != "run":
            report.report(workloads, cs, rows.read(), a.page)


if __name__ == "__main__":
    main()
