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
import statistics as st
import subprocess
import sys
import time
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "contenders")]
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


# ---- tables -------------------------------------------------------------------------------------------------------
def fmt(x, d=3):
    if x is None:
        return "–"
    if x == 0:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    return f"{x:.{d}g}" if abs(x) < 100 else f"{x:.0f}"


def med(xs):
    return st.median(xs) if xs else None


def spread(xs):
    """The noise: range / median of the rounds' medians (interquartile range once there are 5 rounds or more)."""
    if len(xs) < 2:
        return None
    if len(xs) >= 5:
        q = st.quantiles(xs, n=4)
        return (q[2] - q[0]) / st.median(xs)
    return (max(xs) - min(xs)) / st.median(xs)


SPEED0 = 0.72  # us a turn of the bare loop (n = 100, no GC) when the machine is in its fast state


def normal(r):
    """CPU seconds brought to the fast state by the speed measured around each repetition."""
    if "speed_us" in r and isinstance(r["cpu"], list):
        r["raw_cpu"] = r["cpu"]
        r["cpu"] = [x * SPEED0 / s for x, s in zip(r["cpu"], r["speed_us"])]
    elif "speed_us" in r:
        for k in ("cpu", "wall", "importtime_ms", "cold_cpu"):
            r[k] *= SPEED0 / r["speed_us"]
    return r


class Cells:
    def __init__(self, data):
        self.d = defaultdict(list)
        for r in data:
            self.d[(r["contender"], r["workload"], r["variant"], r["n"])].append(r)

    def get(self, *key, f="cpu"):
        """Median over rounds of the round's median; None where there is no result."""
        xs = [st.median(r[f]) for r in self.d.get(key, []) if "error" not in r and r.get(f)]
        return med(xs)

    def noise(self, *key, f="cpu"):
        return spread(
            [st.median(r[f]) for r in self.d.get(key, []) if "error" not in r and r.get(f)]
        )

    def extra(self, *key, f="payload"):
        xs = [e[f] for r in self.d.get(key, []) if "error" not in r for e in r["extra"] if f in e]
        return med(xs)

    def emax(self, *key, f):
        xs = [e[f] for r in self.d.get(key, []) if "error" not in r for e in r["extra"] if f in e]
        return max(xs) if xs else None

    def rounds(self, *key):
        return len([r for r in self.d.get(key, []) if "error" not in r])

    def err(self, *key):
        e = [r["error"] for r in self.d.get(key, []) if "error" in r]
        return e[-1].strip().splitlines()[-1][:60] if e else None


def table(head, body):
    out = [
        "| " + " | ".join(head) + " |",
        "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|",
    ]
    return "\n".join(out + ["| " + " | ".join(map(str, r)) + " |" for r in body]) + "\n"


def pct(x):
    return "1 run" if x is None else f"{x * 100:.0f}%"


def per(x, n, scale=1e6):
    return None if x is None else x / n * scale


def report(workloads, cs):
    data = [normal(r) for r in rows()]
    C = Cells(data)
    out = []
    import math

    def each(w):
        for name, mod in cs.items():
            for v in mod.VARIANTS.get(w, []):
                yield name, mod, v, f"{mod.NAME} · {v}"

    for w in workloads:
        if w == "W1":
            body = []
            for name, mod in cs.items():
                rs = [r for r in data if r["contender"] == name and r["workload"] == "W1"]
                if not rs:
                    continue
                g = lambda k: med([r[k] for r in rs])  # noqa: E731
                body.append(
                    [
                        mod.NAME,
                        fmt(g("wall") * 1e3),
                        fmt(g("cpu") * 1e3),
                        fmt(g("importtime_ms")),
                        fmt(g("modules")),
                        fmt(g("rss")),
                        "+" + fmt(g("rss") - g("rss0")),
                        fmt(g("cold_cpu") * 1e3),
                        fmt(g("size_nopyc") / 1e6),
                        fmt(g("size") / 1e6),
                        g("dists"),
                        f"{spread([r['cpu'] for r in rs]) * 100:.0f}%",
                    ]
                )
            out.append(
                "### W1 import and install\n\n"
                + table(
                    [
                        "contender",
                        "import wall ms",
                        "import CPU ms",
                        "importtime sum ms",
                        "modules added",
                        "RSS MB",
                        "RSS added MB",
                        "cold start CPU ms (process + import + build + 1 turn)",
                        "install MB (no pyc)",
                        "install MB (with pyc)",
                        "distributions",
                        "noise (IQR/median) of import CPU",
                    ],
                    body,
                )
            )
        elif w == "W2":
            body = []
            for name, mod, v, label in each(w):
                k = {n: C.get(name, w, v, n) for n in (10, 100, 1000, 10000)}
                rt = {n: C.get(name, w, v, n, f="ratio") for n in (10, 100, 1000, 10000)}
                exp = math.log10(k[1000] / k[100]) if k[1000] and k[100] else None
                nz = [C.noise(name, w, v, n) for n in (10, 100, 1000, 10000)]
                nz = [x for x in nz if x is not None]
                body.append(
                    [
                        label,
                        *(fmt(per(k[n], n)) for n in (10, 100, 1000, 10000)),
                        *(("×" + fmt(rt[n])) if rt[n] else "–" for n in (10, 100, 1000, 10000)),
                        fmt(exp) if exp else "–",
                        fmt(
                            per(
                                C.get(name, w, v, 1000, f="wall")
                                or C.get(name, w, v, 100, f="wall"),
                                1000 if k[1000] else 100,
                            )
                        ),
                        f"{max(nz) * 100:.0f}%" if nz else "1 run",
                        "/".join(str(C.rounds(name, w, v, n)) for n in (10, 100, 1000, 10000)),
                    ]
                )
            out.append(
                "### W2 loop overhead: CPU µs per turn (one tool call each), and ratio to the bare loop in the same process\n\n"
                + table(
                    [
                        "contender · variant",
                        "N=10",
                        "N=100",
                        "N=1000",
                        "N=10000",
                        "ratio N=10",
                        "ratio N=100",
                        "ratio N=1000",
                        "ratio N=10000",
                        "exponent of total (100→1000)",
                        "wall µs/turn at largest N",
                        "noise (range/median)",
                        "rounds",
                    ],
                    body,
                )
            )
        elif w == "W3":
            body = []
            for name, mod, v, label in each(w):
                k = {n: C.get(name, w, v, n) for n in (100, 300, 1000)}
                ks = [n for n in k if k[n]]
                exp = (
                    math.log(k[ks[-1]] / k[ks[0]]) / math.log(ks[-1] / ks[0])
                    if len(ks) > 1
                    else None
                )
                rt = C.get(name, w, v, ks[-1], f="ratio") if ks else None
                nz = [x for x in (C.noise(name, w, v, n) for n in ks) if x is not None]
                body.append(
                    [
                        label,
                        *(fmt(per(k[n], n)) for n in (100, 300, 1000)),
                        fmt(exp),
                        "×" + fmt(rt) if rt else "–",
                        f"{max(nz) * 100:.0f}%" if nz else "1 run",
                    ]
                )
            out.append(
                "### W3 state accumulation (10 items a turn): CPU µs per turn\n\n"
                + table(
                    [
                        "contender · variant",
                        "N=100",
                        "N=300",
                        "N=1000",
                        "exponent of total",
                        "ratio to bare loop at largest N",
                        "noise",
                    ],
                    body,
                )
            )
        elif w == "W4":
            body = []
            for name, mod, v, label in each(w):
                k = {n: C.get(name, w, v, n) for n in (10, 100, 300, 3000)}
                wl = {n: C.get(name, w, v, n, f="wall") for n in (10, 100, 300, 3000)}
                pay = {n: C.extra(name, w, v, n) for n in (10, 100, 300, 3000)}
                wc = {n: C.get(name, w, v, n, f="wchar") for n in (10, 100, 300, 3000)}
                com = C.extra(name, w, v, 100, f="commits")
                f = lambda d: math.log(d[300] / d[100]) / math.log(3) if d[300] and d[100] else None  # noqa: E731
                body.append(
                    [
                        label,
                        *(fmt(per(k[n], n)) for n in k),
                        *(fmt(per(wl[n], n, 1e3)) for n in k),
                        *(fmt(pay[n] / 1e3) if pay[n] else "–" for n in k),
                        *(fmt(wc[n] / 1e3) if wc[n] else "–" for n in k),
                        fmt(f(k)),
                        fmt(f(pay)),
                        fmt(com),
                        pct(C.noise(name, w, v, 100)) + " / " + pct(C.noise(name, w, v, 300)),
                    ]
                )
            out.append(
                "### W4 durable: a checkpoint after every step\n\nCPU µs per turn; wall ms per turn; payload kB (serialised state handed to the store) and written kB (wchar, all pages and WAL), for the whole run\n\n"
                + table(
                    [
                        "contender · variant",
                        "CPU µs N=10",
                        "N=100",
                        "N=300",
                        "N=3000",
                        "wall ms N=10",
                        "N=100",
                        "N=300",
                        "N=3000",
                        "payload kB N=10",
                        "N=100",
                        "N=300",
                        "N=3000",
                        "written kB N=10",
                        "N=100",
                        "N=300",
                        "N=3000",
                        "exp CPU (100→300)",
                        "exp payload",
                        "records N=100",
                        "noise CPU N=100 / 300",
                    ],
                    body,
                )
            )
        elif w == "W5":
            body = []
            for name, mod, v, label in each(w):
                kk = (name, w, v, 1000)
                wl, cp = C.get(*kk, f="wall"), C.get(*kk)
                if wl is None:
                    continue
                pk = C.emax(*kk, f="rss_peak_mb")
                b0 = med([r["extra"][0]["rss_before_mb"] for r in C.d[kk] if "error" not in r])
                body.append(
                    [
                        label,
                        fmt(wl),
                        "×" + fmt(wl / 0.3),
                        fmt(cp),
                        fmt(cp / 6000 * 1e6),
                        fmt(pk),
                        "+" + fmt(max(0.1, pk - b0)),
                        fmt((pk - b0)),
                        pct(C.noise(*kk, f="cpu")),
                    ]
                )
            body = [r[:7] + [r[8]] for r in body]
            out.append(
                "### W5 1000 concurrent runs of 5 turns (6 model calls of 50 ms each: ideal wall 0.300 s)\n\n"
                + table(
                    [
                        "contender · variant",
                        "wall s",
                        "vs ideal 0.3 s",
                        "CPU s",
                        "CPU µs per model call",
                        "peak RSS MB",
                        "RSS added MB",
                        "noise CPU",
                    ],
                    body,
                )
            )
        elif w == "W6":
            body = [
                [
                    label,
                    fmt((C.get(name, w, v, 32, f="wall") or 0) * 1e3),
                    "×" + fmt((C.get(name, w, v, 32, f="wall") or 0) / 0.02),
                    fmt(((C.get(name, w, v, 32, f="wall") or 0) - 0.02) * 1e3),
                    fmt((C.get(name, w, v, 32) or 0) * 1e3),
                    pct(C.noise(name, w, v, 32, f="wall")),
                ]
                for name, mod, v, label in each(w)
                if C.get(name, w, v, 32)
            ]
            out.append(
                "### W6 32 tool calls of 20 ms in one message (ideal 20 ms)\n\n"
                + table(
                    [
                        "contender · variant",
                        "wall ms",
                        "vs ideal",
                        "over ideal ms",
                        "CPU ms",
                        "noise wall",
                    ],
                    body,
                )
            )
        elif w == "W7":
            body = [
                [
                    label,
                    fmt(per(C.get(name, w, v, 2000), 2000)),
                    "×" + fmt(C.get(name, w, v, 2000, f="ratio")),
                    pct(C.noise(name, w, v, 2000)),
                ]
                for name, mod, v, label in each(w)
                if C.get(name, w, v, 2000)
            ]
            out.append(
                "### W7 streaming, 2000 text deltas: CPU µs per delta\n\n"
                + table(
                    ["contender · variant", "µs/delta", "ratio to a bare generator", "noise"], body
                )
            )
        elif w == "W9":
            body = [
                [
                    label,
                    fmt((C.get(name, w, v, 1000, f="wall") or 0) * 1e3),
                    fmt((C.get(name, w, v, 1000) or 0) * 1e3),
                    pct(C.noise(name, w, v, 1000)),
                ]
                for name, mod, v, label in each(w)
                if C.get(name, w, v, 1000)
            ]
            out.append(
                "### W9 a finished run of 1,000 turns, in SQLite\n\n"
                + table(["contender · variant", "wall ms", "CPU ms", "noise"], body)
            )
        elif w in ("W8seq", "W8conc", "W8sse"):
            n = SIZES[w][0][0]
            body = []
            for name, mod, v, label in each(w):
                wl, cp = C.get(name, w, v, n, f="wall"), C.get(name, w, v, n)
                if wl is None:
                    body.append([label, "–", "–", C.err(name, w, v, n) or "–", "–"])
                    continue
                if w == "W8sse":
                    body.append(
                        [
                            label,
                            fmt(wl * 1e3),
                            fmt(cp * 1e3),
                            fmt(cp / n * 1e6),
                            pct(C.noise(name, w, v, n)),
                        ]
                    )
                else:
                    body.append(
                        [
                            label,
                            fmt(n / wl),
                            fmt(cp / n * 1e3),
                            fmt(1 / (cp / n)),
                            pct(C.noise(name, w, v, n)),
                        ]
                    )
            head = (
                [
                    "contender · variant",
                    "wall ms per reply",
                    "CPU ms per reply",
                    "CPU µs per delta",
                    "noise CPU",
                ]
                if w == "W8sse"
                else [
                    "contender · variant",
                    "requests/s (wall)",
                    "client CPU ms/request",
                    "requests per CPU-second",
                    "noise CPU",
                ]
            )
            title = {
                "W8seq": "W8a HTTP, sequential",
                "W8conc": "W8b HTTP, 50 concurrent runs",
                "W8sse": f"W8c HTTP, one SSE reply of {SSE_N} deltas",
            }[w]
            out.append(f"### {title}\n\n" + table(head, body))
    print("\n".join(out))


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
        report(ws, cs)
    elif a.what == "run" and a.cells:
        run_cells([x.split(":") for x in a.cells.split(",")], a.rounds)
    elif a.what == "run":
        run(ws, cs, a.rounds)
    elif a.what == "report":
        report(ws, cs)
    else:
        profile(ws, cs, a.n, a.variant)
