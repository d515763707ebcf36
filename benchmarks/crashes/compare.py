"""Kill an agent in the middle of two payments, go on with it, and count: what libraries promise.

    python benchmarks/crashes/compare.py [CONTENDER ...]

The model asks for two payments at once. Ann's is settled; Bob's has left the house when the process
is killed (SIGKILL). Then a new process goes on with the run as the library's documentation says.
Each library runs with the store that comes with it, in a virtual environment of its own, which is
made when it is first needed. The ledger tells how often each was paid.
"""
# ruff: noqa: INP001, S603, T201  # a script that starts our own programs and talks to a terminal

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVS = Path(os.environ.get("BENCH_ENVS", HERE.parent / ".venvs" / "crashes"))
WAIT_S = 60.0
CONTENDERS: dict[str, tuple[str, list[str], list[str]]] = {  # title, what it needs, more arguments
    "detent": ("Detent, SQLite journal", [str(ROOT)], []),
    "langgraph": (
        "LangGraph, SQLite checkpointer (durability sync)",
        ["langgraph==1.2.22", "langchain==1.4.7", "langgraph-checkpoint-sqlite==3.1.2"],
        [],
    ),
    "pydanticai": (
        "pydantic-ai on DBOS, plain tools",
        ["pydantic-ai-slim[dbos]==2.68.0", "dbos==3.4.0"],
        [],
    ),
    "pydanticai-steps": (
        "pydantic-ai on DBOS, each tool a step",
        ["pydantic-ai-slim[dbos]==2.68.0", "dbos==3.4.0"],
        ["--steps"],
    ),
    "openaiagents": ("OpenAI Agents, SQLite session", ["openai-agents==0.24.0"], []),
    "strands": ("Strands, session in files", ["strands-agents==1.62.0"], []),
}


def python_of(name: str) -> Path:
    """The interpreter that has this contender."""
    folder = ENVS / name.partition("-")[0]
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        needs = CONTENDERS[name][1]
        subprocess.run([python, "-m", "pip", "install", "-q", *needs], check=True)
        (folder / "done").touch()
    return python


def crash(name: str) -> tuple[int, int, str]:
    """How often Ann and Bob were paid in the end, and the last that the second process said."""
    work = [python_of(name), HERE / f"c_{name.partition('-')[0]}.py"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        first = start([*work, "begin", folder, *CONTENDERS[name][2]])
        end = time.monotonic() + WAIT_S
        while not (folder / "stuck").exists():
            if first.poll() is not None or time.monotonic() > end:
                first.kill()
                raise SystemExit(
                    f"{name} never came to the second payment:\n{first.communicate()[0]}"
                )
            time.sleep(0.05)
        first.kill()
        first.communicate()
        second = start([*work, "resume", folder, *CONTENDERS[name][2]])
        try:
            said = second.communicate(timeout=WAIT_S)[0]
        except subprocess.TimeoutExpired:
            second.kill()
            said = "does not end"
        ledger = (folder / "ledger.txt").read_text().split()
    return ledger.count("Ann"), ledger.count("Bob"), last_line(said)


def start(command: list[object]) -> subprocess.Popen[str]:
    """A process whose output is kept."""
    quiet = {"OTEL_SDK_DISABLED": "true", "LANGSMITH_TRACING": "false", "DBOS_CONDUCTOR_KEY": ""}
    return subprocess.Popen(
        [str(part) for part in command],
        env={**os.environ, **quiet},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def last_line(said: str) -> str:
    """The last of a text that is not empty, short enough for a table."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""


def main() -> int:
    """Print a row for each contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contenders", nargs="*", metavar="CONTENDER", help=", ".join(CONTENDERS))
    names = parser.parse_args().contenders or list(CONTENDERS)
    if unknown := set(names) - set(CONTENDERS):
        parser.error(f"nobody is called {', '.join(sorted(unknown))}")
    print(
        "| library and store | Ann paid | Bob paid | the second process says |\n|---|---:|---:|---|"
    )
    for name in names:
        ann, bob, said = crash(name)
        title, (needs, *_), _ = CONTENDERS[name]
        version = f" ({needs.partition('[')[0].partition('=')[0]} {needs.rpartition('==')[2]})"
        print(f"| {title}{version if '==' in needs else ''} | {ann} | {bob} | {said} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
