"""Runs the cells, one process each, and keeps what they say."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

from envs import HERE, PORT, ROOT, env, python, site, versions
from plan import REPS

WORKER = os.path.join(HERE, "worker.py")
PROVIDERS = os.path.join(os.path.dirname(HERE), "providers.py")
OWN = os.path.join(os.path.dirname(HERE), "own_figures.py")
SSE_N = 500


class Rows:
    """What was measured, one JSON object in each line of results/NAME.jsonl."""

    def __init__(self, name):
        self.path = os.path.join(HERE, "results", f"{name}.jsonl")

    def clear(self):
        if os.path.exists(self.path):
            os.remove(self.path)

    def save(self, **row):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        row["load1"] = os.getloadavg()[0]
        with open(self.path, "a") as f:
            f.write(json.dumps(row) + "\n")

    def read(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path) as f:
            return [json.loads(x) for x in f]


def facts(cs):
    """The machine and what is measured on it."""
    cpu = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as f:
            cpu = next((x.split(":")[1].strip() for x in f if x.startswith("model name")), cpu)
    return {
        "day": time.strftime("%Y-%m-%d"),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "versions": versions(cs),
    }


def say(*what):
    print(time.strftime("%H:%M:%S"), *what, flush=True)


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
    """Bytes below a folder, without byte code."""
    return sum(
        os.path.getsize(os.path.join(d, f))
        for d, _, fs in os.walk(path)
        for f in fs
        if not f.endswith(".pyc") and not os.path.islink(os.path.join(d, f))
    )


def imports(cs):
    """(name, module, variant, statement, whether in the smaller virtualenv)."""
    for name, mod in cs.items():
        if "W2" not in mod.VARIANTS:  # no library for agents
            continue
        yield name, mod, "", mod.IMPORT, True
        for variant, statement in getattr(mod, "IMPORTS", {}).items():
            yield name, mod, variant, statement, False


def w1(cs, rounds, rows):
    for _, mod, _, statement, minimal in imports(cs):  # warm the page cache and the pyc files
        probe = [python(mod, minimal), "-c", statement]
        subprocess.run(probe, env=env(mod), capture_output=True)
    path = [HERE, os.path.join(HERE, "contenders")]
    for r in range(rounds):
        for name, mod, variant, statement, minimal in imports(cs):
            probe = [python(mod, minimal), "-c", PROBE.format(stmt=statement, path=path)]
            p = subprocess.run(probe, env=env(mod), capture_output=True, text=True)
            if p.returncode:
                say("FAILED", name, "W1", variant, p.stderr[-300:])
                continue
            d = json.loads(p.stdout.strip().splitlines()[-1])
            if not variant:
                d |= installed(mod) | cold(name, mod)
            rows.save(contender=name, workload="W1", variant=variant, n=1, **d)
        say(f"W1 round {r + 1}/{rounds} done")


def installed(mod):
    where = site(mod, True)
    own = os.path.join(ROOT, "src", "detent") if mod.VENV == "detent" else None
    tools = ("pip-", "setuptools-", "wheel-", *(f"{x.replace('-', '_')}-" for x in mod.DISTS))
    dists = [x for x in os.listdir(where) if x.endswith(".dist-info") and not x.startswith(tools)]
    extra = sum(du(os.path.join(where, x)) for x in ("pip", "setuptools", "pkg_resources"))
    size = du(where) - extra + (du(own) if own else 0)
    return {"size": size, "dists": len(dists)}


def cold(name, mod):
    """CPU of a process that imports, builds an agent and runs one turn."""
    main = mod.VARIANTS["W2"][0]
    cmd = [python(mod), WORKER, "--contender", name, "--workload", "W2", "--variant", main]
    r0 = os.times()
    subprocess.run(
        [*cmd, "--n", "1", "--reps", "0", "--warm", "1"], env=env(mod), capture_output=True
    )
    r1 = os.times()
    return {
        "cold_cpu": r1.children_user + r1.children_system - r0.children_user - r0.children_system
    }


# ---- W10 ---------------------------------------------------------------------------------------------------------
TYPED = '''"""An agent of fifteen lines."""

from detent import Agent, ChatMessage, OpenAIChatGenerator, State, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


agent = Agent(chat_generator=OpenAIChatGenerator("m"), tools=[add], system_prompt="Be brief.")
result = agent.run([ChatMessage.from_user("What is 1 + 2?")])
text: str | None = result.text
'''


def w10(rounds, rows):
    """mypy --strict and pyright, nothing cached, on an empty file and on a typed agent."""
    here = os.path.join(ROOT, ".venv", "bin")
    here = here if os.path.exists(here) else os.path.dirname(sys.executable)
    checkers = {
        "mypy --strict": [f"{here}/python", "-m", "mypy", "--strict", "--cache-dir", os.devnull],
        "pyright": [f"{here}/pyright", "--pythonpath", f"{here}/python"],
    }
    with tempfile.TemporaryDirectory() as folder:
        for file, text in (("empty.py", ""), ("agent.py", TYPED)):
            with open(os.path.join(folder, file), "w") as f:
                f.write(text)
        for _ in range(rounds):
            for checker, cmd in checkers.items():
                d = {}
                for file in ("empty", "agent"):
                    t0, r0 = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
                    done = subprocess.run(
                        [*cmd, f"{file}.py"], cwd=folder, capture_output=True, text=True
                    )
                    r1 = resource.getrusage(resource.RUSAGE_CHILDREN)
                    if done.returncode:
                        return say("FAILED W10", checker, done.stdout[-300:], done.stderr[-300:])
                    d[f"{file}_wall"] = time.perf_counter() - t0
                    d[f"{file}_cpu"] = r1.ru_utime + r1.ru_stime - r0.ru_utime - r0.ru_stime
                rows.save(contender="detent", workload="W10", variant=checker, n=1, **d)
    return say("W10 done")


# ---- our codecs and providers, beside httpx and the SDKs -----------------------------------------------------------
def vendors(workload, cs, rounds, rows):
    """`benchmarks/providers.py` in Detent's virtualenv; the SDKs have their own."""
    what = "--codecs" if workload == "W7codecs" else "--calls"
    cmd = [python(cs["detent"]), PROVIDERS, what, "--json", "--rounds", str(rounds)]
    done = subprocess.run(cmd, env=env(cs["detent"]), capture_output=True, text=True)
    if done.returncode:
        return say("FAILED", workload, done.stderr[-600:])
    figures = json.loads(done.stdout.splitlines()[-1])
    rows.save(contender="detent", workload=workload, variant="", n=1, figures=figures)
    return say(workload, "done")


def own(cs, rows):
    """`benchmarks/own_figures.py` in Detent's virtualenv."""
    cmd = [python(cs["detent"]), OWN, "--json"]
    done = subprocess.run(cmd, env=env(cs["detent"]), capture_output=True, text=True)
    if done.returncode:
        return say("FAILED W12", done.stderr[-600:])
    figures = json.loads(done.stdout.splitlines()[-1])
    rows.save(contender="detent", workload="W12", variant="", n=1, figures=figures)
    return say("W12 done")


# ---- the other workloads ------------------------------------------------------------------------------------------
def cell(name, mod, workload, variant, n, reps, rows, timeout=900):
    cmd = [python(mod), WORKER, "--contender", name, "--workload", workload]
    cmd += ["--variant", variant, "--n", str(n), "--reps", str(reps)]
    t0 = time.time()
    p = subprocess.Popen(
        cmd,
        env=env(mod),
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
    row = {"contender": name, "workload": workload, "variant": variant, "n": n}
    row |= json.loads(lines[-1][6:]) if lines else {"error": (err or out)[-600:]}
    row["took_s"] = round(time.time() - t0, 1)
    rows.save(**row)
    return row


def serve():
    from envs import contenders

    server = subprocess.Popen(
        [
            python(contenders(["baseline"])["baseline"]),
            os.path.join(HERE, "fake_server.py"),
            str(PORT),
            str(SSE_N),
        ],
        stdout=subprocess.PIPE,
        env=env(),
    )
    server.stdout.readline()
    return server


def trouble(row):
    """What is wrong with a row, if anything."""
    if "error" in row:
        return "FAILED " + row["error"][-300:]
    return "" if all(e.get("ok") for e in row["extra"]) else f"NOT OK {row['extra']}"


def run_cells(cells, plan, rows):
    server = serve() if any(x[0].startswith("W8") for x in cells) else None
    try:
        for r in range(plan.rounds):
            for w, name, v, n in cells:
                row = cell(name, importlib.import_module("c_" + name), w, v, int(n), REPS[w], rows)
                say(r + 1, w, name, v, n, f"{row['took_s']} s", trouble(row))
    finally:
        if server:
            server.kill()


def run(workloads, cs, plan, rows):
    rows.save(facts=facts(cs))
    server = serve() if any(w in ("W8seq", "W8conc", "W8sse") for w in workloads) else None
    try:
        for w in workloads:
            if w == "W1":
                w1(cs, 5 if plan.quick else max(plan.rounds, 7), rows)
            elif w == "W10":
                w10(plan.rounds, rows)
            elif w == "profile":
                shares(cs["detent"], rows)
            elif w == "W12":
                own(cs, rows)
            elif w in ("W7codecs", "W8sdk"):
                vendors(w, cs, plan.rounds, rows)
            else:
                rounds(w, cs, plan, rows)
    finally:
        if server:
            server.kill()


def rounds(workload, cs, plan, rows):
    slow = set()
    for r in range(plan.rounds):
        for name, mod, v, n in plan.cells(workload, cs, r):
            if (name, v, n) in slow:
                continue
            row = cell(name, mod, workload, v, n, plan.reps[workload], rows)
            if row["took_s"] > plan.slow_s or "error" in row:
                slow.add((name, v, n))
            if wrong := trouble(row):
                say(workload, name, v, n, wrong)
        say(f"{workload} round {r + 1}/{plan.rounds} done, load {os.getloadavg()[0]:.1f}")


def profiled(name, mod, w, v, n):
    import pstats

    path = os.path.join(HERE, "results", f"prof-{name}-{w}-{v.replace('@', '_')}-{n}.prof")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    cmd = [python(mod), WORKER, "--contender", name, "--workload", w, "--variant", v]
    cmd += ["--n", str(n), "--profile", path]
    subprocess.run(cmd, env=env(mod), capture_output=True, check=True)
    return pstats.Stats(path)


def shares(mod, rows):
    """Where the time of W2 goes: a share for each of our modules, and for what is not ours."""
    stats = profiled("detent", mod, "W2", "async", 1000).stats
    whole, figures, calls = sum(x[2] for x in stats.values()), defaultdict(float), 0
    for (file, _, name), x in stats.items():
        figures[module(file, name)] += x[2] / whole
        calls += x[0]
    figures = dict(sorted(figures.items(), key=lambda z: -z[1]))
    rows.save(contender="detent", workload="profile", variant="", n=1, figures=figures, calls=calls / 1000)  # fmt: skip
    say("profile done")


def module(file, name):
    if "/src/detent/" in file:
        return "detent." + file.split("/src/detent/")[1].removesuffix(".py").replace("/", ".")
    if file.startswith("<attrs generated"):
        return "methods that attrs has made"
    if file == "~":
        return "built-in functions"
    return "the benchmark itself" if "/benchmarks/" in file else package(file)


def profile(workloads, cs, n, variant):
    for name, mod in cs.items():
        for w in workloads:
            v = variant or mod.VARIANTS[w][0]
            show(profiled(name, mod, w, v, n), f"{mod.NAME} {w} {v} n={n}")


def package(file):
    found = re.search(r"site-packages/([^/]+(?:/[^/]+)?)", file)
    if found:
        return found[1]
    return "stdlib/" + os.path.basename(file) if "/lib/python3" in file else os.path.basename(file)


def show(s, title):
    tot = sum(x[2] for x in s.stats.values())
    pk = defaultdict(float)
    for (f, _, fn), x in s.stats.items():
        pk[package(f)] += x[2]
    print(f"\n== {title}: {tot:.3f} s")
    parts = sorted(pk.items(), key=lambda z: -z[1])[:12]
    print("  by file:", ", ".join(f"{k} {x / tot * 100:.0f}%" for k, x in parts))
    for key, x in sorted(s.stats.items(), key=lambda z: -z[1][2])[:20]:
        what = f"{os.path.basename(key[0])}:{key[1]}:{key[2]}"
        share = f"self {x[2] / tot * 100:5.1f}%  cum {x[3] / tot * 100:5.1f}%"
        print(f"    {share}  calls {x[0]:>8}  {what}"[:150])
