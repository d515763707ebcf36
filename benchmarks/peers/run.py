"""Every contender in its own virtualenv as a subprocess, in turn (A B C A B C ...), as Markdown tables.

    python benchmarks/peers/run.py install                            once: the virtualenvs, from pinned requirements
    python benchmarks/peers/run.py run [--workloads W1,W2] [--contenders baseline,detent] [--rounds 3]
    python benchmarks/peers/run.py ours                               detent and the bare loop only, and their tables
    python benchmarks/peers/run.py report [--workloads W2]
    python benchmarks/peers/run.py profile --contenders detent --workloads W2 --n 300

A contender is one file contenders/c_<name>.py (only the standard library at its top level) with
    NAME, VENV, IMPORT, DISTS     label, name of its virtualenv (and -min for W1), import statement, distributions
    VARIANTS = {"W2": ["sync", "async"], ...}      the first variant is the main one
    setup(workload, n, variant) -> None            builds the agent; imports the library here
    run(workload, n) -> {"ok": bool, ...}          ONE run, which checks itself; may return wall, cpu, payload (W4)
Results append to results/raw.jsonl; report uses every row of the file (delete it to start afresh).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "contenders")]
from tables import report

PEERS = os.environ.get("BENCH_ENVS", os.path.join(os.path.dirname(HERE), ".venvs", "peers"))
RAW = os.path.join(HERE, "results", "raw.jsonl")
ORDER = [
    "baseline",
    "detent",
    "haystack",
    "haystack222",
    "pydanticai",
    "langgraph",
    "openaiagents",
    "burr",
    "strands",
    "smolagents",
]
PORT, SSE_N = 8399, 500
# sizes for the main variant, and for the others
SIZES = {
    "W2": ([10, 100, 1000, 10000], [100, 1000]),
    "W3": ([100, 300, 1000], [100, 300, 1000]),
    "W4": ([10, 100, 300, 3000], [10, 100, 300]),
    "W5": ([1000], []),
    "W6": ([32], [32]),
    "W7": ([2000], [2000]),
    "W8seq": ([300], [300]),
    "W8conc": ([1000], [1000]),
    "W8sse": ([SSE_N], [SSE_N]),
    "W9": ([1000], [1000]),
}
REPS = {
    "W2": 5,
    "W3": 3,
    "W4": 2,
    "W5": 1,
    "W6": 5,
    "W7": 5,
    "W8seq": 2,
    "W8conc": 2,
    "W8sse": 5,
    "W9": 5,
}
SLOW_S = 15  # a cell whose run took longer than this is measured once, not once for each round
LARGE = {
    "W2": 1000,
    "W4": 300,
}  # beyond this only the contenders whose turn does not grow with the run
FLAT = ("baseline", "detent", "haystack")
MAXN = {
    ("haystack222", "W3"): 300,
    ("strands", "W3"): 300,
    ("strands", "W2"): 300,
}  # a larger run lasts minutes, or fails
PINS = {  # haystack-ai 3.4.0 is the newest that resolves beside the others' certifi
    "baseline": (
        ["httpx==0.28.1", "aiohttp", "httpcore", "orjson", "openai"],
        ["httpx==0.28.1", "attrs", "cattrs"],
    ),
    "detent": ([os.path.dirname(os.path.dirname(HERE))], [os.path.dirname(os.path.dirname(HERE))]),
    "haystack": (["haystack-ai==3.4.0"], ["haystack-ai==3.4.0"]),
    "haystack222": (["haystack-ai==2.22.0", "httpx"], ["haystack-ai==2.22.0"]),
    "pydanticai": (["pydantic-ai-slim[openai]==2.68.0"], ["pydantic-ai-slim==2.68.0"]),
    "langgraph": (
        [
            "langgraph==1.2.22",
            "langchain==1.4.7",
            "langgraph-checkpoint-sqlite==3.1.2",
            "langchain-openai",
        ],
        ["langchain==1.4.7"],
    ),
    "openaiagents": (["openai-agents==0.24.0"], ["openai-agents==0.24.0"]),
    "burr": (["apache-burr==0.43.0", "openai", "aiosqlite"], ["apache-burr==0.43.0"]),
    "strands": (["strands-agents[openai]==1.62.0"], ["strands-agents==1.62.0"]),
    "smolagents": (["smolagents[openai]==1.26.0"], ["smolagents==1.26.0"]),
}


def contenders(names):
    known = sorted(
        f[2:-3]
        for f in os.listdir(os.path.join(HERE, "contenders"))
        if f.startswith("c_") and f.endswith(".py")
    )
    names = names or [n for n in ORDER if n in known] + [n for n in known if n not in ORDER]
    return {n: importlib.import_module("c_" + n) for n in names}


def env():
    e = {
        k: v
        for k, v in os.environ.items()
        if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    }
    e.update(
        HAYSTACK_TELEMETRY_ENABLED="false",
        OPENAI_AGENTS_DISABLE_TRACING="1",
        OTEL_SDK_DISABLED="true",
        LANGSMITH_TRACING="false",
        OPENAI_API_KEY="k",
        BENCH_BASE_URL=f"http://127.0.0.1:{PORT}/v1",
        PYTHONHASHSEED="0",
    )
    return e


def python(mod, minimal=False):
    return f"{PEERS}/venv-{mod.VENV}{'-min' if minimal else ''}/bin/python"


def install(names):
    """Each contender's two virtualenvs: what the workloads need, and the library alone."""
    import venv

    for name in names:
        for pins, end in zip(PINS[name], ("", "-min")):
            where = f"{PEERS}/venv-{name}{end}"
            venv.create(where, with_pip=True)
            subprocess.run([f"{where}/bin/python", "-m", "pip", "install", "-q", *pins], check=True)
            print("ready:", where, flush=True)


def too_large(name, w, n):
    return n > MAXN.get((name, w), 10**9) or (name not in FLAT and n > LARGE.get(w, 10**9))


def save(row):
    os.makedirs(os.path.dirname(RAW), exist_ok=True)
    row["load1"] = os.getloadavg()[0]
    with open(RAW, "a") as f:
        f.write(json.dumps(row) + "\n")


def rows():
    if not os.path.exists(RAW):
        return []
    with open(RAW) as f:
        return [json.loads(x) for x in f]


# ---- W1 ----------------------------------------------------------------------------------------------------------
PROBE = """
import sys, time, json
def rss():
    for l in open('/proc/self/status'):
        if l.startswith('VmRSS'): return int(l.split()[1]) / 1024
m0, r0 = len(sys.modules), rss()
t0, c0 = time.perf_counter(), time.process_time()
{stmt}
t1, c1 = time.perf_counter(), time.process_time()
d = dict(wall=t1 - t0, cpu=c1 - c0, modules=len(sys.modules) - m0, rss0=r0, rss=rss())
sys.path[:0] = {path!r}
import gc, c_baseline as b
gc.collect(); gc.disable()
best = 1e9
for _ in range(5):
    c0 = time.process_time()
    for _ in range(40): b.w2_bare(100)
    best = min(best, (time.process_time() - c0) / 4000 * 1e6)
print(json.dumps(dict(d, speed_us=best)))
"""


def du(path):
    full = bare = 0
    for d, _, fs in os.walk(path):
        for f in fs:
            p = os.path.join(d, f)
            if not os.path.islink(p):
                s = os.path.getsize(p)
                full += s
                bare += 0 if f.endswith(".pyc") else s
    return full, bare


def w1(cs, rounds):
    for name, mod in cs.items():  # warm the page cache and the pyc files
        subprocess.run([python(mod, True), "-c", mod.IMPORT], env=env(), capture_output=True)
    for _ in range(rounds):
        for name, mod in cs.items():
            p = subprocess.run(
                [
                    python(mod, True),
                    "-c",
                    PROBE.format(stmt=mod.IMPORT, path=[HERE, os.path.join(HERE, "contenders")]),
                ],
                env=env(),
                capture_output=True,
                text=True,
            )
            d = json.loads(p.stdout.strip().splitlines()[-1])
            q = subprocess.run(
                [python(mod, True), "-X", "importtime", "-c", mod.IMPORT],
                env=env(),
                capture_output=True,
                text=True,
            )
            d["importtime_ms"] = (
                sum(int(x) for x in re.findall(r"import time:\s+(\d+) \|", q.stderr)) / 1e3
            )
            t0 = time.perf_counter()
            r0 = os.times()
            main = mod.VARIANTS["W2"][0]
            subprocess.run(
                [
                    python(mod),
                    os.path.join(HERE, "worker.py"),
                    "--contender",
                    name,
                    "--workload",
                    "W2",
                    "--variant",
                    main,
                    "--n",
                    "1",
                    "--reps",
                    "0",
                    "--warm",
                    "1",
                ],
                env=env(),
                capture_output=True,
            )
            r1 = os.times()
            d["cold_wall"] = time.perf_counter() - t0
            d["cold_cpu"] = (
                r1.children_user + r1.children_system - r0.children_user - r0.children_system
            )
            site = f"{PEERS}/venv-{mod.VENV}-min/lib/python3.11/site-packages"
            d["size"], d["size_nopyc"] = du(site)
            d["dists"] = sum(x.endswith(".dist-info") for x in os.listdir(site))
            save({"contender": name, "workload": "W1", "variant": "", "n": 1, **d})
        print("W1 round done", flush=True)


# ---- the other workloads ------------------------------------------------------------------------------------------
def cell(name, mod, workload, variant, n, reps, timeout=900):
    cmd = [
        python(mod),
        os.path.join(HERE, "worker.py"),
        "--contender",
        name,
        "--workload",
        workload,
        "--variant",
        variant,
        "--n",
        str(n),
        "--reps",
        str(reps),
    ]
    t0 = time.time()
    p = subprocess.Popen(
        cmd,
        env=env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        out, err = "", f"timeout after {timeout} s"
    lines = [x for x in out.splitlines() if x.startswith("BENCH ")]
    if lines:
        row = json.loads(lines[-1][6:])
    else:
        row = {
            "contender": name,
            "workload": workload,
            "variant": variant,
            "n": n,
            "error": (err or out)[-600:],
        }
    row["took_s"] = round(time.time() - t0, 1)
    save(row)
    return row


def serve():
    server = subprocess.Popen(
        [
            f"{PEERS}/venv-baseline/bin/python",
            os.path.join(HERE, "fake_server.py"),
            str(PORT),
            str(SSE_N),
        ],
        stdout=subprocess.PIPE,
        env=env(),
    )
    server.stdout.readline()
    return server


def run_cells(cells, rounds):
    server = serve() if any(x[0].startswith("W8") for x in cells) else None
    try:
        _run_cells(cells, rounds)
    finally:
        if server:
            server.kill()


def _run_cells(cells, rounds):
    for r in range(rounds):
        for w, name, v, n in cells:
            row = cell(name, importlib.import_module("c_" + name), w, v, int(n), REPS[w])
            bad = row.get("error", "")[-200:] or (
                "" if all(e.get("ok") for e in row["extra"]) else "NOT OK"
            )
            print(
                time.strftime("%H:%M:%S"),
                r + 1,
                w,
                name,
                v,
                n,
                f"{row['took_s']} s",
                bad,
                flush=True,
            )


def run(workloads, cs, rounds):
    server = serve() if any(w.startswith("W8") for w in workloads) else None
    slow = set()
    try:
        for w in workloads:
            if w == "W1":
                w1(cs, max(rounds, 7))
                continue
            for r in range(rounds):
                for which in (0, 1):
                    for n in sorted(set(SIZES[w][0]) | set(SIZES[w][1])):
                        for name, mod in cs.items():
                            for i, v in enumerate(mod.VARIANTS.get(w, [])):
                                if (
                                    (i > 0) != which
                                    or n not in SIZES[w][which]
                                    or too_large(name, w, n)
                                ):
                                    continue
                                if (name, w, v, n) in slow:
                                    continue
                                row = cell(name, mod, w, v, n, REPS[w])
                                if row["took_s"] > SLOW_S or "error" in row:
                                    slow.add((name, w, v, n))
                                if "error" in row:
                                    print("FAILED", name, w, v, n, row["error"][-300:], flush=True)
                                elif not all(e.get("ok") for e in row["extra"]):
                                    print("NOT OK", name, w, v, n, row["extra"], flush=True)
                print(
                    f"{time.strftime('%H:%M:%S')} {w} round {r + 1}/{rounds} done, load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
    finally:
        if server:
            server.kill()


def profile(workloads, cs, n, variant):
    import pstats

    for name, mod in cs.items():
        for w in workloads:
            v = variant or mod.VARIANTS[w][0]
            path = os.path.join(HERE, "results", f"prof-{name}-{w}-{v.replace('@', '_')}-{n}.prof")
            subprocess.run(
                [
                    python(mod),
                    os.path.join(HERE, "worker.py"),
                    "--contender",
                    name,
                    "--workload",
                    w,
                    "--variant",
                    v,
                    "--n",
                    str(n),
                    "--profile",
                    path,
                ],
                env=env(),
                capture_output=True,
            )
            s = pstats.Stats(path)
            tot = sum(x[2] for x in s.stats.values())
            pk = defaultdict(float)
            for (f, _, fn), x in s.stats.items():
                m = re.search(r"site-packages/([^/]+(?:/[^/]+)?)", f)
                pk[
                    m.group(1)
                    if m
                    else (
                        "stdlib/" + os.path.basename(f)
                        if "/lib/python3" in f
                        else f
                        if f == "~"
                        else os.path.basename(f)
                    )
                ] += x[2]
            print(f"\n== {mod.NAME} {w} {v} n={n}: {tot:.3f} s")
            print(
                "  by package:",
                ", ".join(
                    f"{k} {x / tot * 100:.0f}%"
                    for k, x in sorted(pk.items(), key=lambda z: -z[1])[:9]
                ),
            )
            for key, x in sorted(s.stats.items(), key=lambda z: -z[1][2])[:12]:
                print(
                    f"    self {x[2] / tot * 100:5.1f}%  cum {x[3] / tot * 100:5.1f}%  calls {x[0]:>8}  {os.path.basename(key[0])}:{key[1]}:{key[2]}"[
                        :150
                    ]
                )
            print("   -- by cumulative:")
            for key, x in sorted(s.stats.items(), key=lambda z: -z[1][3])[:45]:
                if "site-packages" in key[0]:
                    print(
                        f"    cum {x[3] / tot * 100:5.1f}%  calls {x[0]:>8}  {key[0].split('site-packages/')[-1]}:{key[1]}:{key[2]}"[
                            :150
                        ]
                    )


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["install", "run", "ours", "report", "profile"])
    p.add_argument("--workloads", default="W1,W2,W3,W4,W5,W6,W7,W8seq,W8conc,W8sse,W9")
    p.add_argument("--contenders", default="")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--cells", default="", help="workload:contender:variant:n, comma separated")
    p.add_argument("--n", type=int, default=300)
    p.add_argument("--variant", default="")
    a = p.parse_args()
    cs = contenders([x for x in a.contenders.split(",") if x])
    ws = a.workloads.split(",")
    if a.what == "install":
        install([x for x in a.contenders.split(",") if x] or list(PINS))
    elif a.what == "ours":
        cs = contenders(["baseline", "detent"])
        run(ws, cs, a.rounds)
        report(ws, cs, rows())
    elif a.what == "run" and a.cells:
        run_cells([x.split(":") for x in a.cells.split(",")], a.rounds)
    elif a.what == "run":
        run(ws, cs, a.rounds)
    elif a.what == "report":
        report(ws, cs, rows())
    else:
        profile(ws, cs, a.n, a.variant)
