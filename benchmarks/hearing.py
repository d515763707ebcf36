"""How soon a working driver hears a decision: ``python benchmarks/hearing.py [POSTGRES_URL]``.

The environment may say how many ROUNDS there are, and how many seconds a run has been at work.

A run has two calls: one is at work, the other waits for a human. Somebody decides, in the process
that drives the run and then in another one. Printed is the time in milliseconds from when
`Agent.decide` has returned to when the function of the decided call begins: median and worst.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

from detent import Agent, AlwaysAskPolicy, ChatMessage, ScriptedChatGenerator, ToolCall, tool
from detent.journals import (
    DirectoryJournal,
    Journal,
    MemoryJournal,
    PostgresJournal,
    RunNotFoundError,
    SQLiteJournal,
)

ROUNDS = int(os.environ.get("ROUNDS", "20"))
PATIENCE_S = 30.0
SETTLED_S = float(os.environ.get("SETTLED_S", "0.3"))
"""For how long a run is at work before somebody decides: a driver may look ever more rarely."""
STORES: dict[str, Callable[[str], Journal]] = {
    "directory": DirectoryJournal,
    "sqlite": lambda place: SQLiteJournal(Path(place) / "runs.db"),
    "postgres": PostgresJournal,
}


def agent_on(journal: Journal, began: list[float], paid: Event) -> Agent[Any]:
    """One whose calls are made together; `work` ends when `pay` has begun."""

    @tool
    def pay() -> str:
        """Pay."""
        began.append(time.monotonic())
        paid.set()
        return "paid"

    @tool
    def work() -> str:
        """Work."""
        if not paid.wait(PATIENCE_S):
            raise TimeoutError("nobody has heard of the decision")
        return "done"

    def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
        if any(message.role == "tool" for message in messages):
            return "done"
        calls = [ToolCall(name, {}, name) for name in ("work", "pay")]
        return ChatMessage.from_assistant(tool_calls=calls)

    return Agent(
        chat_generator=ScriptedChatGenerator(*[answer] * 4),
        tools=[work, pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=journal,
    )


def decide(agent: Agent[Any], run_id: str) -> float:
    """Say yes a while after a call waits; when that was said."""
    while True:
        try:
            asked = agent.pending(run_id)
        except RunNotFoundError:
            asked = ()
        if asked:
            break
        time.sleep(0.01)
    time.sleep(SETTLED_S)
    agent.decide(run_id, asked[0].confirm(by="Ada"))
    return time.monotonic()


def in_this_process(journal: Journal) -> list[float]:
    """How long it took, in seconds, where the driver's process decides."""
    waits: list[float] = []
    for number in range(ROUNDS):
        began, said, paid = list[float](), list[float](), Event()
        agent = agent_on(journal, began, paid)
        run_id = f"own-{number}"

        def say(agent: Agent[Any] = agent, said: list[float] = said, run_id: str = run_id) -> None:
            said.append(decide(agent, run_id))

        human = Thread(target=say)
        human.start()
        agent.run("go", run_id=run_id)
        human.join()
        waits.append(began[0] - said[0])
    return waits


def from_another(store: str, place: str) -> list[float]:
    """The same where another process decides. Both have the machine's monotonic clock."""
    journal, waits = STORES[store](place), list[float]()
    command = [sys.executable, __file__, "--decide", store, place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:  # noqa: S603 - ours
        lines = iter(other.stdout or ())
        try:
            for number in range(ROUNDS):
                began = list[float]()
                agent_on(journal, began, Event()).run("go", run_id=f"other-{number}")
                waits.append(began[0] - float(next(lines)))
        finally:
            other.kill()
    return waits


def decide_all(store: str, place: str) -> None:
    """Decide about the call of each run, and print when."""
    agent = agent_on(STORES[store](place), [], Event())
    for number in range(ROUNDS):
        print(decide(agent, f"other-{number}"), flush=True)


def line(store: str, who: str, waits: Sequence[float]) -> str:
    """A row of the table. Below 0 it was heard before `decide` had returned: that counts as 0."""
    shown = [max(0.0, one) * 1000 for one in waits]
    return f"| {store} | {who} | {median(shown):.1f} | {max(shown):.1f} |"


def main(arguments: Sequence[str]) -> None:
    """Measure every store."""
    if arguments[:1] == ["--decide"]:
        decide_all(*arguments[1:])
        return
    print("| store | who decides | median, ms | worst, ms |\n|---|---|---|---|")
    print(line("memory", "the driver's process", in_this_process(MemoryJournal())), flush=True)
    urls = {"postgres": arguments[0]} if arguments else {}
    with TemporaryDirectory() as folder:
        for store in ("directory", "sqlite", *urls):
            place = urls.get(store, f"{folder}/{store}")
            if store not in urls:
                Path(place).mkdir()
            own = in_this_process(STORES[store](place))
            print(line(store, "the driver's process", own), flush=True)
            print(line(store, "another process", from_another(store, place)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
