"""Three guarded calls, five processes: one asks and is killed, three decide, one goes on.

`python tests/adapters/agent/approve_from_anywhere.py` shows it: one call is approved, one
is changed, one is rejected, each in a process of its own, in an order that is drawn anew each time.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from detent import (
    Agent,
    BreakpointConfirmationStrategy,
    ChatMessage,
    HITLBreakpointException,
    ScriptedChatGenerator,
    SQLiteJournal,
    State,
    ToolCall,
    tool,
)

RUN = "payments"


def agent_in(folder: Path) -> Agent[State]:
    """The same agent, as each process makes it."""

    @tool(on_unknown="fail")
    def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        with (folder / "paid.txt").open("a") as file:
            file.write(f"{to} {amount}\n")
        return f"paid {amount} to {to}"

    calls = [ToolCall("pay", {"to": who, "amount": 100}, who) for who in ("Ann", "Bob", "Cyd")]

    def answer(messages: object) -> ChatMessage | str:
        results = [one.text for one in list(messages) if one.role == "tool"]  # type: ignore[call-overload]  # a conversation
        return (
            f"{len(results)} answers" if results else ChatMessage.from_assistant(tool_calls=calls)
        )

    return Agent(
        chat_generator=ScriptedChatGenerator(*[answer] * 9),
        tools=[pay],
        confirmation_strategies={"pay": BreakpointConfirmationStrategy()},
        journal=SQLiteJournal(folder / "runs.db"),
    )


def begin(folder: Path) -> None:
    """Run until three calls wait, and be killed there."""
    try:
        agent_in(folder).run("Pay Ann, Bob and Cyd 100 each.", run_id=RUN)
    except HITLBreakpointException as stopped:
        print(f"{os.getpid()}: {len(stopped.pending)} calls wait; killed", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


def decide(folder: Path, who: str) -> None:
    """Decide about the call for one person."""
    agent = agent_in(folder)
    (call,) = (one for one in agent.pending(RUN) if one.arguments["to"] == who)
    decision = {
        "Ann": call.confirm(by="Dora"),
        "Bob": call.modify({"to": "Bob", "amount": 70}, "not so much", by="Eve"),
        "Cyd": call.reject("not this month", by="Finn"),
    }[who]
    left = agent.decide(RUN, decision)
    print(f"{os.getpid()}: {decision.by} decides about {who}; {len(left)} still wait", flush=True)


def finish(folder: Path) -> None:
    """Go on to the end."""
    result = agent_in(folder).resume(RUN)
    for message in result.messages:
        for answer in message.tool_call_results:
            print(f"{os.getpid()}: {answer.origin.id}: {answer.text}", flush=True)


def show(folder: Path, order: list[str]) -> str:
    """Play it, each step in a process of its own; gives what was paid."""
    for step in (["begin"], *(["decide", who] for who in order), ["finish"]):
        done = subprocess.run([sys.executable, __file__, str(folder), *step], check=False)
        expected = -signal.SIGKILL if step == ["begin"] else 0
        assert done.returncode == expected, f"{step} ended with {done.returncode}"
    return (folder / "paid.txt").read_text()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        at = Path(sys.argv[1])
        match sys.argv[2:]:
            case ["begin"]:
                begin(at)
            case ["decide", who]:
                decide(at, who)
            case _:
                finish(at)
    else:
        with tempfile.TemporaryDirectory() as made:
            names = ["Ann", "Bob", "Cyd"]
            names.sort(key=lambda name: secrets.token_hex())
            print(f"what was paid:\n{show(Path(made), names)}", end="")
