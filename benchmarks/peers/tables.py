"""What was measured, as Markdown: one table for each workload."""

from __future__ import annotations

import math
import statistics as st
from collections import defaultdict

from common import W11_RUNS
from own_figures import FIGURES as OWN
from providers import call_table, codec_table

SPEED0 = 0.72  # µs a turn of the bare loop (n = 100) when the machine is in its fast state


def fmt(x, digits=3):
    if x is None:
        return "-"
    if x == 0:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.{digits}g}" if abs(x) < 100 else f"{x:.0f}"


def times(x):
    return "-" if x is None else f"x{fmt(x)}"


def percent(x):
    return "1 run" if x is None else f"{x * 100:.0f}%"


def spread(xs):
    """Noise: range by median of the rounds; from five rounds on the interquartile range."""
    if len(xs) < 2:
        return None
    if len(xs) >= 5:
        quarters = st.quantiles(xs, n=4)
        return (quarters[2] - quarters[0]) / st.median(xs)
    return (max(xs) - min(xs)) / st.median(xs)


def normal(row):
    """CPU seconds brought to the machine's fast state by the speed measured around each of them."""
    if "speed_us" not in row:
        return row
    if isinstance(row["cpu"], list):
        row["cpu"] = [x * SPEED0 / s for x, s in zip(row["cpu"], row["speed_us"])]
    else:
        for k in {"cpu", "wall", "cold_cpu"} & row.keys():
            row[k] *= SPEED0 / row["speed_us"]
    return row


class Cells:
    """The rows by contender, workload, variant and size."""

    def __init__(self, data):
        self.rows = defaultdict(list)
        for row in data:
            self.rows[row["contender"], row["workload"], row["variant"], row["n"]].append(row)
        self.workloads = {workload for _, workload, _, _ in self.rows}

    def good(self, *key):
        return [row for row in self.rows.get(key, []) if "error" not in row]

    def get(self, *key, of="cpu"):
        """The median over rounds of each round's median; None where there is no result."""
        xs = [_median(row[of]) for row in self.good(*key) if row.get(of)]
        return st.median(xs) if xs else None

    def per(self, *key, of="cpu", scale=1e6):
        """As `get`, for one turn (delta, request), in millionths."""
        x = self.get(*key, of=of)
        return None if x is None else x / key[3] * scale

    def noise(self, *key, of="cpu"):
        return spread([st.median(row[of]) for row in self.good(*key) if row.get(of)])

    def extra(self, *key, of, pick=st.median):
        xs = [one[of] for row in self.good(*key) for one in row["extra"] if of in one]
        return pick(xs) if xs else None

    def figures(self, workload):
        """Those of the last run of `providers.py`."""
        rows = self.good("detent", workload, "", 1)
        return rows[-1]["figures"] if rows else {}

    def error(self, *key):
        lines = [
            row["error"].strip().splitlines() for row in self.rows.get(key, []) if "error" in row
        ]
        return lines[-1][-1][:60] if lines and lines[-1] else None


def _median(x):
    return st.median(x) if isinstance(x, list) else x


def table(title, head, body):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    lines += [
        "| " + " | ".join(map(str, row)) + " |"
        for row in body
        if any(x not in ("-", "1 run") for x in row[1:])
    ]
    return f"### {title}\n\n" + "\n".join(lines) + "\n"


def exponent(few, many, ratio):
    return math.log(many / few) / math.log(ratio) if few and many else None


def w1(cells, each):
    head = ["contender", "import ms", "CPU ms", "modules", "RSS added MB", "cold start CPU ms"]
    head += ["install MB", "third-party distributions", "noise"]
    body = []
    for key, label in each:
        at = {k: cells.get(*key, 1, of=k) for k in ("wall", "cpu", "modules", "rss", "rss0", "cold_cpu", "size", "dists")}  # fmt: skip
        if at["cpu"] is not None:
            body.append([
                label, fmt(at["wall"] * 1e3), fmt(at["cpu"] * 1e3), fmt(at["modules"]), fmt(at["rss"] - at["rss0"]),
                fmt(at["cold_cpu"] and at["cold_cpu"] * 1e3), fmt(at["size"] and at["size"] / 1e6), fmt(at["dists"]),
                percent(spread([row["cpu"] for row in cells.good(*key, 1)])),
            ])  # fmt: skip
    return table("W1 import and install", head, body)


def w2(cells, each):
    sizes = (10, 100, 1000, 10000)
    head = ["contender", *(f"N={n}" for n in sizes), *(f"bare loop, N={n}" for n in sizes), "noise"]
    body = []
    for key, label in each:
        noise = [x for n in sizes if (x := cells.noise(*key, n)) is not None]
        body.append([
            label, *(fmt(cells.per(*key, n)) for n in sizes), *(times(cells.get(*key, n, of="ratio")) for n in sizes),
            percent(max(noise) if noise else None),
        ])  # fmt: skip
    return table("W2 a turn with one tool call: CPU µs, and times the bare loop", head, body)


def w3(cells, each):
    sizes = (100, 300, 1000)
    head = ["contender", *(f"N={n}" for n in sizes), "exponent", "bare loop, N=1000", "noise"]
    body = [[
        label, *(fmt(cells.per(*key, n)) for n in sizes), fmt(exponent(cells.get(*key, 100), cells.get(*key, 1000), 10)),
        times(cells.get(*key, 1000, of="ratio")), percent(cells.noise(*key, 300)),
    ] for key, label in each]  # fmt: skip
    return table("W3 a state that grows by ten items a turn: CPU µs per turn", head, body)


def w4(cells, each):
    sizes = (10, 100, 300, 3000)
    head = ["contender", *(f"CPU µs, N={n}" for n in sizes), *(f"wall µs, N={n}" for n in sizes)]
    head += [*(f"bytes, N={n}" for n in sizes), "noise"]
    body = [[
        label, *(fmt(cells.per(*key, n)) for n in sizes), *(fmt(cells.per(*key, n, of="wall")) for n in sizes),
        *(fmt((cells.extra(*key, n, of="payload") or 0) / n or None) for n in sizes), percent(cells.noise(*key, 300)),
    ] for key, label in each]  # fmt: skip
    return table("W4 durable, a record after every step: per turn", head, body)


def w5(cells, each):
    body = []
    for key, label in each:
        peak = cells.extra(*key, 1000, of="rss_peak_mb", pick=max)
        before = cells.extra(*key, 1000, of="rss_before_mb")
        wall = cells.get(*key, 1000, of="wall")
        added = None if peak is None else fmt(peak - before)
        body.append(
            [label, fmt(wall), times(wall and wall / 0.3), fmt(cells.get(*key, 1000)), added or "-"]
        )
    head = ["contender", "wall s", "of the ideal 0.3 s", "CPU s", "RSS added MB"]
    return table("W5 1,000 runs at once, of 5 turns, a model that takes 50 ms", head, body)


def w6(cells, each):
    head = ["contender", "wall ms", "of the ideal 20 ms", "CPU ms", "noise"]
    body = []
    for key, label in each:
        wall = cells.get(*key, 32, of="wall")
        cpu = cells.get(*key, 32)
        body.append([label, fmt(wall and wall * 1e3), times(wall and wall / 0.02), fmt(cpu and cpu * 1e3), percent(cells.noise(*key, 32, of="wall"))])  # fmt: skip
    return table("W6 32 tools of 20 ms in one message", head, body)


def w7(cells, each):
    head = ["contender", "µs per piece", "bare generator", "noise"]
    body = [[label, fmt(cells.per(*key, 2000)), times(cells.get(*key, 2000, of="ratio")), percent(cells.noise(*key, 2000))] for key, label in each]  # fmt: skip
    return table("W7 2,000 streamed pieces: CPU", head, body)


def w8(title, n):
    def made(cells, each):
        head = ["contender", "CPU µs", "wall µs", "noise"]
        body = [[label, fmt(cells.per(*key, n)), fmt(cells.per(*key, n, of="wall")), percent(cells.noise(*key, n))] for key, label in each]  # fmt: skip
        return table(title, head, body)

    return made


def w9(cells, each):
    body = []
    for key, label in each:
        wall, cpu = cells.get(*key, 1000, of="wall"), cells.get(*key, 1000)
        body.append(
            [
                label,
                fmt(wall and wall * 1e3),
                fmt(cpu and cpu * 1e3),
                percent(cells.noise(*key, 1000)),
            ]
        )
    return table(
        "W9 a stored run of 1,000 turns", ["contender", "wall ms", "CPU ms", "noise"], body
    )


def w10(cells, each):
    head = ["checker", "CPU s", "above an empty file", "wall s", "above an empty file"]
    body = []
    for checker in ("mypy --strict", "pyright"):
        at = {k: cells.get("detent", "W10", checker, 1, of=k) for k in ("agent_cpu", "empty_cpu", "agent_wall", "empty_wall")}  # fmt: skip
        if at["agent_cpu"] is not None:
            body.append([
                checker, fmt(at["agent_cpu"]), fmt(at["agent_cpu"] - at["empty_cpu"]),
                fmt(at["agent_wall"]), fmt(at["agent_wall"] - at["empty_wall"]),
            ])  # fmt: skip
    return table("W10 checking an agent of fifteen lines, nothing cached", head, body)


def w11(cells, each):
    body = []
    for key, label in each:
        wall, cpu = cells.get(*key, W11_RUNS, of="wall"), cells.get(*key, W11_RUNS)
        late = [cells.extra(*key, W11_RUNS, of=x) for x in ("late_99", "late_max")]
        body.append([label, fmt(wall and W11_RUNS / wall), fmt(wall), fmt(cpu), *(fmt(x and x * 1000) for x in late)])  # fmt: skip
    head = ["contender", "runs a second", "wall s", "CPU s", "another task is late, 99 of 100, ms", "at most, ms"]  # fmt: skip
    return table("W11 1,000 durable runs at once in SQLite on the disk, of 5 turns", head, body)


def w12(cells, each):
    figures = cells.figures("W12")
    body = [[what, f"{fmt(figures[what])} {unit}"] for what, (_, unit) in OWN.items() if what in figures]  # fmt: skip
    return table("W12 what Detent holds of itself", ["what", "measured"], body)


def w7codecs(cells, each):
    figures = cells.figures("W7codecs")
    return f"### W7 from the wire to the callback\n\n{codec_table(figures)}\n" if figures else ""


def w8sdk(cells, each):
    figures = cells.figures("W8sdk")
    parts = (call_table(one, api) for api, one in figures.items())
    return "### W8 the client's CPU, beside bare httpx and the vendors' SDKs\n\n" + "\n\n".join(parts) + "\n"  # fmt: skip


def where(cells, each):
    rows = cells.good("detent", "profile", "", 1)
    body = [[name, percent(share)] for name, share in rows[-1]["figures"].items() if share >= 0.01]
    return table(f"Where a turn of W2 spends its time: {rows[-1]['calls']:,.0f} calls of functions", ["module", "share"], body)  # fmt: skip


TABLES = {
    "W1": w1,
    "W2": w2,
    "W3": w3,
    "W4": w4,
    "W5": w5,
    "W6": w6,
    "W7": w7,
    "W7codecs": w7codecs,
    "W8seq": w8("W8 requests, one after the other: each", 300),
    "W8conc": w8("W8 requests, 50 at once: each", 1000),
    "W8sse": w8("W8 an answer streamed in 500 pieces: each piece", 500),
    "W8sdk": w8sdk,
    "W9": w9,
    "W10": w10,
    "W11": w11,
    "W12": w12,
    "profile": where,
}
