"""The package as users get it: built, and tried in clean environments, each extra alone.

``python tests/clean_environments.py [EXTRA …]`` builds the sdist and from it the wheel, installs
that without an extra and then with each, and does with it what it is for. It needs the package
index.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOR_WORK = {"docs", "test", "typing", "dev"}
"""The extras for people who work on the project."""

CORE = """
from detent import Agent, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
@tool
def double(n: int) -> int:
    return 2 * n
script = ScriptedChatGenerator(ToolCall("double", {"n": 21}), "It is 42.")
agent = Agent(chat_generator=script, tools=[double], journal=SQLiteJournal("runs.db"))
assert agent.run("21 twice?", run_id="one").text == "It is 42."
assert agent.resume("one").messages[-2].tool_call_result.text == "42"
"""
HOST = """
from detent import Agent, MemoryJournal, ScriptedChatGenerator
from detent.hosts import DBOSHost, LocalHost, RestateHost, TemporalHost
agents = {"a": Agent(chat_generator=ScriptedChatGenerator("Hi."))}
host = LocalHost(agents, MemoryJournal())
"""
ENGINE = f"""{HOST}
import asyncio
async def opened(host):
    try:
        async with asyncio.timeout(10), host:
            pass
    except ImportError:
        raise
    except Exception as error:
        print("no server:", error)
"""
TRIALS = {  # what an extra is for, as short as it can be said without a server
    "a2a": f"{HOST}from detent.faces import a2a_app; a2a_app(host, url='http://127.0.0.1:9')",
    "acp": f"""{HOST}
import asyncio, os, sys
from detent.faces import run_acp
sys.stdin, left = map(os.fdopen, os.pipe())
left.close()
async def served():
    async with host:
        await run_acp(host, "a")
asyncio.run(served())
""",
    "agui": f"{HOST}from detent.faces import agui_app; agui_app(host)",
    "aws": "from detent.models import AwsProfile; assert AwsProfile().name is None",
    "cli": """
import sys; sys.argv[1:] = ["runs", "list", "--store", "runs.db"]
from detent import SQLiteJournal; SQLiteJournal("runs.db")
from detent.adapters.cli.entry import main; main()
""",
    "dbos": f"{ENGINE}asyncio.run(opened(DBOSHost(agents, MemoryJournal(), url='sqlite:///q.db')))",
    "http": """
from detent import ChatMessage, chat_generator
from detent.models import ChatGeneratorError, Endpoint
try:
    model = chat_generator("openai:m", api_key="k", api_base_url="http://127.0.0.1:9")
    model.run([ChatMessage.from_user("Hello?")])
except ChatGeneratorError as error:
    print(error)
""",
    "local": """
from detent.models import LocalChatGenerator
try:
    LocalChatGenerator("no-such-file.gguf").warm_up()
except Exception as error:
    assert "there is no local model" in str(error), error
""",
    "mcp": """
from detent.mcp import MCPToolset
MCPToolset("http://127.0.0.1:9/mcp")
from mcp.server.mcpserver import MCPServer
with MCPToolset(MCPServer("shop")) as tools:
    assert len(tools) == 0
""",
    "otel": "from detent.telemetry import OpenTelemetry; OpenTelemetry()",
    "postgres": """
from detent.journals import JournalUnavailableError, PostgresJournal
try:
    PostgresJournal("postgresql://127.0.0.1:9/none", connect_s=1)
except JournalUnavailableError as error:
    print(error)
""",
    "restate": f"{ENGINE}asyncio.run(opened(RestateHost(agents, MemoryJournal())))",
    "signed": "from detent.approvals import Signer; assert Signer.new('Ada').public_key",
    "temporal": f"{ENGINE}asyncio.run(opened(TemporalHost(agents, MemoryJournal())))",
    "web": f"{HOST}from detent.web import web_app; web_app(host)",
}


def say(*command: str | Path, cwd: Path | None = None) -> str:
    """What a program prints. A failure is shown, and ends it."""
    done = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:200]}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(folder: Path) -> Path:
    """The wheel, made of the sdist and not of the repository."""
    say(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl"))


def tried(wheel: Path, extra: str, folder: Path) -> None:
    """Install it in an environment of its own, and use it there."""
    venv.create(folder / "venv")
    python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    say(*pip, "--constraint", ROOT / "constraints.txt", wanted)
    for program in (CORE, TRIALS[extra]) if extra else (CORE,):
        say(python, "-I", "-c", program, cwd=folder)


def main(extras: Sequence[str]) -> int:
    """Try the wheel bare, and with each of these extras alone; a line for each."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path(folder) / "dist")
        for extra in ["", *(extras or sorted(TRIALS))]:
            started = time.monotonic()
            place = Path(folder) / (extra or "bare")
            place.mkdir()
            tried(wheel, extra, place)
            sys.stdout.write(f"{extra or 'bare':10} works ({time.monotonic() - started:.0f} s)\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
