"""What was measured, as Markdown: the targets, the machine, and one table for each workload."""

from __future__ import annotations

import os
import statistics as st

import targets
from envs import ROOT
from tables import TABLES, Cells, fmt, normal

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def told(rows):
    """The machine, and how much else it had to do."""
    found = [row["facts"] for row in rows if "facts" in row]
    if not found:
        return ""
    facts = found[-1]
    loads = [row["load1"] for row in rows]
    speeds = [s for row in rows for s in _list(row.get("speed_us"))]
    lines = [
        f"Measured on {facts['day']}: {facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, "
        f"{facts['system']}, Python {facts['python']}. Load while it ran: median {st.median(loads):.1f}, "
        f"at most {max(loads):.1f}. "
    ]
    if speeds:
        lines.append(
            f"The bare loop took {fmt(st.median(speeds))} µs a turn in the median ({fmt(min(speeds))} to "
            f"{fmt(max(speeds))}); CPU figures are brought to 0.72. "
        )
    lines.append(f"Versions: {', '.join(facts['versions'])}.")
    return "".join(lines) + "\n"


def _list(x):
    return x if isinstance(x, list) else [] if x is None else [x]


def report(workloads, cs, rows, page=""):
    machine = told(rows)
    cells = Cells([normal(row) for row in rows if "facts" not in row])
    parts = [machine, targets.table(cells)]
    for workload in workloads:
        if workload not in cells.workloads:
            continue
        if workload == "W1":
            each = [((n, "W1", v), label(m, v)) for n, m in cs.items() for v in named(m)]
        else:
            each = [
                ((n, workload, v), label(m, v))
                for n, m in cs.items()
                for v in m.VARIANTS.get(workload, [""])
            ]
        parts.append(TABLES[workload](cells, each))
    text = "\n".join(parts)
    print(text)
    if page:
        refresh(os.path.join(ROOT, page), text)


def named(mod):
    return ["", *getattr(mod, "IMPORTS", {})]


def label(mod, variant):
    return f"{mod.NAME} · {variant}" if variant else mod.NAME


def refresh(path, text):
    """Put the tables between the marks of a page."""
    with open(path) as f:
        before, _, rest = f.read().partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{path} has no {BEGIN} … {END}")
    with open(path, "w") as f:
        f.write(f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}")
    print("written:", path)
