"""One process drives a run and is inside a tool; another one decides about another call.

Each is `python tests/adapters/agent/decide_while_driven.py FOLDER drive`, or `… decide`. The tool
that is under way ends only when the other process has decided.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from detent import Agent, AlwaysAskPolicy, ChatMessage, SQLiteJournal, State, ToolCall, tool
from detent.testing import ScriptedChatGenerator

RUN = "payments"


def agent_in(folder: Path) -> Agent[State]:
    """The same agent, as each process makes it. What the tools do is appended to a file."""

    def note(what: str) -> None:
        with (folder / "done.txt").open("a") as file:
            file.write(f"{what} {os.getpid()}\n")

    @tool(on_unknown="rerun")
    def count() -> str:
        """Count the money; that takes until somebody has decided."""
        with (folder / "counting").open("w") as pipe:
            pipe.write("I am at it\n")
        with (folder / "decided").open() as pipe:
            said = pipe.read()
        note("count")
        return said

    @tool
    def pay() -> str:
        """Pay it."""
        note("pay")
        return "paid"

    calls = [ToolCall("pay", id="p"), ToolCall("count", id="c")]

    def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
        is_done = messages[-1].role == "tool"
        return "done" if is_done else ChatMessage.from_assistant(tool_calls=calls)

    return Agent(
        chat_generator=ScriptedChatGenerator(*[answer] * 9),
        tools=[count, pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=SQLiteJournal(folder / "runs.db"),
    )


def drive(folder: Path) -> None:
    """Drive the run to its end, and say what it was."""
    result = agent_in(folder).run("Pay.", run_id=RUN)
    sys.stdout.write(" ".join([str(result.text), *(str(done.by) for done in result.run.decisions)]))


def decide(folder: Path) -> None:
    """Decide as soon as the other process is inside its tool, and let that go on."""
    with (folder / "counting").open() as pipe:
        pipe.read()
    agent = agent_in(folder)
    while not (waiting := agent.pending(RUN)):  # the policy is asked beside the tool
        os.sched_yield()
    agent.decide(RUN, waiting[0].confirm(by="Ada"))
    with (folder / "decided").open("w") as pipe:
        pipe.write("counted\n")


if __name__ == "__main__":
    {"drive": drive, "decide": decide}[sys.argv[2]](Path(sys.argv[1]))
