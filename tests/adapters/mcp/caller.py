"""A run that calls a server, until it is killed: ``caller.py FOLDER [resume]``."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp import StdioServerParameters

from detent import (
    Agent,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
)
from detent.mcp import MCPToolset

FOLDER = Path(sys.argv[1])
PEER = Path(__file__).with_name("peer.py")
HOW, TRUST, RUN = sys.argv[2:5]


def main() -> None:
    """Run, or go on."""
    args = ["-I", str(PEER), HOW, str(FOLDER / "log")]
    server = StdioServerParameters(command=sys.executable, args=args)
    with MCPToolset(server, name="peer", mode="legacy", trust_hints=TRUST == "trust") as tools:
        model = ScriptedChatGenerator(
            lambda messages: (
                "end" if messages[-1].tool_call_results else ToolCall("work", {"n": 1}, "c1")
            ),
            "end",
        )
        agent = Agent(
            chat_generator=model,
            tools=[tools],
            journal=SQLiteJournal(FOLDER / "runs.db"),
        )
        result = agent.run("go", run_id="r") if RUN == "run" else agent.resume("r")
        told = [one.text for message in result.messages for one in message.tool_call_results]
        sys.stdout.writelines([f"asks: {call.reason}" for call in result.pending] or told)


main()
