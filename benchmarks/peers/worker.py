"""Runs ONE (contender, workload, variant, n) inside the contender's venv and prints one JSON line.

    <venv>/bin/python worker.py --contender baseline --workload W2 --n 100 --variant bare --reps 5

Around every timed repetition the bare hand-written loop is timed in this same process (A B A), so `ratio` is peer CPU /
bare-loop CPU taken as a pair. `speed_us` is one fixed bare loop (n = 100): the machine has a fast and a slow state (about
0.75 and 1.4 us, its two CPUs seem to share a core), which CPU time alone does not show, and the report divides it out.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import logging
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "contenders")]


def vm(field: str) -> float:
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


def reset_hwm() -> None:
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def wchar() -> int:
    with open("/proc/self/io") as f:
        for line in f:
            if line.startswith("wchar:"):
                return int(line.split()[1])
    return 0


def timed(f, inner):
    t0, c0 = time.perf_counter(), time.process_time()
    for _ in range(inner):
        r = f()
    return r, (time.perf_counter() - t0) / inner, (time.process_time() - c0) / inner


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--contender", required=True)
    p.add_argument("--workload", required=True)
    p.add_argument("--variant", default="")
    p.add_argument("--n", type=int, required=True)
    p.add_argument("--reps", type=int, default=5)
    p.add_argument("--warm", type=int, default=-1, help="n of the warm-up runs; 0 for none")
    p.add_argument("--profile", default="", help="write a cProfile of one run to this path")
    a = p.parse_args()

    mod = importlib.import_module("c_" + a.contender)
    logging.disable(logging.CRITICAL)  # no contender pays for writing log lines
    mod.setup(a.workload, a.n, a.variant)
    warm = min(a.n, 20) if a.warm < 0 else a.warm
    if a.workload == "W8sse":
        warm = a.n
    if warm:
        for _ in range(3 if a.n <= 100 else 1):
            mod.run(a.workload, warm)
    if a.profile:
        import cProfile

        pr = cProfile.Profile()
        pr.enable()
        mod.run(a.workload, a.n)
        pr.disable()
        pr.dump_stats(a.profile)
        return

    if a.reps == 0:  # cold start (W1): process, import, build, first run, and nothing else
        os._exit(0)
    import c_baseline as base

    ref_n = a.n if a.workload in ("W2", "W3", "W7") else 100
    ref = {
        "W3": lambda: base.w3(ref_n, False),
        "W7": lambda: [e["text"] for e in base.gen(ref_n)],
    }.get(a.workload, lambda: base.w2_bare(ref_n))

    def reference():
        """(bare loop of this workload, machine speed) in seconds per run, without the garbage collector: a collection
        would walk the peer's heap and be charged to the bare loop, which has none."""
        gc.collect()
        gc.disable()
        try:
            return tuple(
                min(timed(f, k)[2] for _ in range(3)) for f, k in ((ref, ref_inner), (speed, 40))
            )
        finally:
            gc.enable()

    def speed():
        base.w2_bare(100)

    ref_inner = max(1, int(0.004 / (0.9e-6 * ref_n)))
    inner, reps, first = 1, a.reps, None
    o = {k: [] for k in ("wall", "cpu", "ratio", "ref_us", "speed_us", "wchar", "extra")}

    def one(inner, reset=True):
        """Bare loop, peer, bare loop (A B A); the two references are averaged."""
        r0 = reference()
        if reset:
            reset_hwm()
        rss0, w0 = vm("VmRSS"), wchar()
        r, wall, cpu = timed(lambda: mod.run(a.workload, a.n), inner)
        wr, peak = wchar() - w0, vm("VmHWM")
        r1 = reference()
        wall, cpu = r.pop("wall", wall), r.pop("cpu", cpu)
        r["rss_before_mb"], r["rss_peak_mb"] = round(rss0, 1), round(peak, 1)
        rc, sp = (r0[0] + r1[0]) / 2, (r0[1] + r1[1]) / 2
        for k, x in (
            ("wall", wall),
            ("cpu", cpu),
            ("ratio", cpu / rc),
            ("ref_us", rc / ref_n * 1e6),
            ("speed_us", sp / 100 * 1e6),
            ("wchar", wr),
            ("extra", r),
        ):
            o[k].append(x)
        return wall

    if a.workload in (
        "W2",
        "W3",
        "W7",
    ):  # CPU bound and maybe very short: repeat inside one timing to reach ~30 ms
        t = one(1)
        inner = max(1, min(2000, int(0.03 / max(1e-7, t))))
        if t > 0.3:  # already long enough to be a measurement by itself
            reps = 0 if t > 3 else min(reps, 2)
        else:
            for k in o:
                o[k].clear()
    for _ in range(reps):
        one(inner)
    out = {
        "contender": a.contender,
        "workload": a.workload,
        "variant": a.variant,
        "n": a.n,
        "inner": inner,
        **o,
    }
    sys.stdout.write("\nBENCH " + json.dumps(out) + "\n")
    sys.stdout.flush()
    os._exit(0)  # no contender's atexit work (telemetry flush, thread joins) is waited for


main()
