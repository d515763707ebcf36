"""The contenders and their virtualenvs: two each, what the workloads need and the library alone (-min)."""

from __future__ import annotations

import glob
import importlib
import os
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, "contenders"), os.path.dirname(HERE)]

ENVS = os.environ.get("BENCH_ENVS", os.path.join(os.path.dirname(HERE), ".venvs", "peers"))
PORT = 8399
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
    "dbos",
]
PINS = {  # what pins/*.txt were made from; haystack-ai 3.4.0 is the newest that resolves beside the others' certifi
    "baseline": (
        ["httpx==0.28.1", "aiohttp", "httpcore", "orjson", "openai"],
        ["attrs", "cattrs"],
    ),
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
    "dbos": (["dbos==3.4.0"], ["dbos==3.4.0"]),
}
ENDS = ("", "-min")


def contenders(names=()):
    return {name: importlib.import_module("c_" + name) for name in names or ORDER}


def env(mod=None):
    """Quiet libraries, byte code that is kept, and for Detent the code of this checkout."""
    dropped = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH")
    e = {k: v for k, v in os.environ.items() if k not in dropped}
    if mod is not None and mod.VENV == "detent":
        e["PYTHONPATH"] = os.path.join(ROOT, "src")
    e.update(
        HAYSTACK_TELEMETRY_ENABLED="false",
        OPENAI_AGENTS_DISABLE_TRACING="1",
        OTEL_SDK_DISABLED="true",
        LANGSMITH_TRACING="false",
        OPENAI_API_KEY="k",
        BENCH_TMP=os.environ.get("BENCH_TMP", os.path.join(HERE, "results", "tmp")),
        BENCH_BASE_URL=f"http://127.0.0.1:{PORT}/v1",
        PYTHONHASHSEED="0",
    )
    return e


def venv_of(name, minimal=False):
    return f"{ENVS}/venv-{name}{'-min' if minimal else ''}"


def python(mod, minimal=False):
    return f"{venv_of(mod.VENV, minimal)}/bin/python"


def site(mod, minimal=False):
    return glob.glob(f"{venv_of(mod.VENV, minimal)}/lib/python3*/site-packages")[0]


def locked(name, end):
    return os.path.join(HERE, "pins", f"{name}{end}.txt")


def wanted(name, end, fresh):
    """What pip is asked for. Detent's own dependencies are those of this checkout; its code is not installed."""
    if name == "detent":
        with open(os.path.join(ROOT, "pyproject.toml"), "rb") as f:
            project = tomllib.load(f)["project"]
        http = [] if end else project["optional-dependencies"]["http"]
        return ["-c", os.path.join(ROOT, "constraints.txt"), *project["dependencies"], *http]
    if fresh or not os.path.exists(locked(name, end)):
        return PINS[name][ENDS.index(end)]
    return ["-r", locked(name, end)]


def install(names, fresh=False):
    """Make the virtualenvs from pins/*.txt, or with `fresh` from PINS, and write pins/*.txt."""
    import venv

    for name in names:
        for end in ENDS:
            where = f"{ENVS}/venv-{name}{end}"
            venv.create(where, with_pip=True)
            pip = [f"{where}/bin/python", "-m", "pip", "-q"]
            subprocess.run([*pip, "install", *wanted(name, end, fresh)], check=True)
            if fresh and name != "detent":
                lock(name, end)
            print("ready:", where, flush=True)


def lock(name, end):
    freeze = [f"{ENVS}/venv-{name}{end}/bin/python", "-m", "pip", "freeze"]
    told = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    os.makedirs(os.path.dirname(locked(name, end)), exist_ok=True)
    with open(locked(name, end), "w") as f:
        f.write(f"# from {' '.join(PINS[name][ENDS.index(end)])}\n{told}")


def versions(cs):
    """The distributions that are measured, as installed."""
    told = []
    for mod in cs.values():
        if mod.VENV == "detent":
            told.append(f"detent {commit()}")
            continue
        for dist in mod.DISTS:
            stem = dist.replace("-", "_")
            found = glob.glob(f"{venv_of(mod.VENV)}/lib/python3*/site-packages/{stem}-*.dist-info")
            told += [f"{dist} {os.path.basename(path)[len(stem) + 1 : -10]}" for path in found]
    return told


def commit():
    git = ["git", "-C", ROOT, "describe", "--always", "--dirty"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip()
