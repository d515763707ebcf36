"""Kill a real process at random instants, go on in the next one, and count what was done twice.

``python tests/adapters/journals/kill_table.py KILLS STORE…`` prints a line for each store and each
declaration of what may happen to a call of unknown outcome, and fails unless every count of harm is
0.
PostgreSQL is among the stores when DETENT_TEST_POSTGRES has the URL of a server.

Each tool call appends to a file outside of the run: a line when it begins, a line when it has
ended.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import define

from detent import (
    Agent,
    BlockingConfirmationStrategy,
    ChatMessage,
    ConfirmationUIResult,
    NeverAskPolicy,
    ScriptedChatGenerator,
    ToolCall,
    create_tool_from_function,
)
from detent.adapters.drivers import recording
from detent.adapters.drivers.leases import CLAIM_S
from detent.adapters.journals.directory import DirectoryJournal
from detent.adapters.journals.postgres.journal import PostgresJournal
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.core.tools.idempotency import NEVER_RAN, IdempotencyKey
from detent.journals import RunNotFoundError
from detent.ports.journal import Journal, JournalConflictError
from detent.testing import When

STORES: dict[str, Callable[[Path], Journal]] = {
    "directory": lambda place: DirectoryJournal(place / "runs"),
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
}
if "DETENT_TEST_POSTGRES" in os.environ:
    STORES["postgres"] = lambda place: PostgresJournal(os.environ["DETENT_TEST_POSTGRES"])
DECLARED = ("ask", "rerun", "fail", "reconcile")
TURNS, WIDTH = 3, 3
LONGEST_S = 0.06
RUN = "run"


class Human:
    """Answers every question about an unknown outcome."""

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Answer in the tool's place."""
        return ConfirmationUIResult("respond", "looked up by a human")


@define
class Tally:
    """What has been counted for one store and one declaration."""

    kills: int = 0
    runs: int = 0
    in_flight: int = 0
    repeated_settled: int = 0
    repeated_undeclared: int = 0
    lost: int = 0

    @property
    def harm(self) -> int:
        """What must be 0."""
        return self.repeated_settled + self.repeated_undeclared + self.lost


def agent_of(journal: Journal, place: Path, declared: str, claim_s: float = CLAIM_S) -> Agent[Any]:
    """An agent that pays in three turns, three times in each, in parallel."""
    outside = place / "outside"

    def pay(n: int, key: IdempotencyKey) -> str:
        """Pay."""
        _trace(outside, f"begin {n}")
        time.sleep(0.001 * (n % WIDTH))
        _trace(outside, f"end {n}")
        return f"paid {n}"

    def look_up(arguments: dict[str, Any], key: str) -> object:
        n = arguments["n"]
        return f"paid {n}" if f"end {n}" in _traces(outside) else NEVER_RAN

    def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
        turn = sum(1 for message in messages if message.tool_calls)
        numbers = range(turn * WIDTH, (turn + 1) * WIDTH)
        calls = [ToolCall("pay", {"n": n}, f"call{n}") for n in numbers]
        return ChatMessage.from_assistant(tool_calls=calls) if turn < TURNS else "done"

    on_unknown: Any = look_up if declared == "reconcile" else declared
    return Agent(
        # as often as it is asked: who loses the run to another has the model asked once more
        chat_generator=ScriptedChatGenerator(When(lambda _: True, answer)),
        tools=[create_tool_from_function(pay, on_unknown=on_unknown)],
        confirmation_strategies={"pay": BlockingConfirmationStrategy(NeverAskPolicy(), Human())},
        journal=journal,
        claim_s=claim_s,
    )


def go_on(make: Callable[[Path], Journal], place: Path, declared: str) -> None:
    """Run, or go on with, the run.

    A server may still write what the process that was killed has sent: that is a conflict, and the
    run is resumed once more, as the error says.
    """
    agent = agent_of(make(place), place, declared)
    try:
        agent.resume(RUN)
    except RunNotFoundError:
        agent.run("pay", run_id=RUN)
    except JournalConflictError:
        go_on(make, place, declared)


def warm_up() -> None:
    """Import here what each child would else import anew, and begin no thread."""
    chat = ScriptedChatGenerator("done")
    with tempfile.TemporaryDirectory() as folder:
        for store in STORES.values():
            journal = store(Path(folder))
            journal.delete(RUN)
            Agent(chat_generator=chat, journal=journal).run("hi", run_id=RUN)
            Agent(chat_generator=chat, journal=journal).resume(RUN)
            chat = ScriptedChatGenerator("done")


def killed(work: Callable[[], None], after_s: float) -> bool:
    """Do the work in another process and kill it after a while; whether it was still alive."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("the run itself failed; see above")
    return os.WIFSIGNALED(status)


def tally(store: str, declared: str, kills: int, dice: random.Random) -> Tally:
    """Kill runs until there have been this many kills."""
    counted = Tally()
    while counted.kills < kills:
        with tempfile.TemporaryDirectory() as folder:
            _run_to_the_end(STORES[store], Path(folder), declared, dice, counted)
    return counted


def _run_to_the_end(
    make: Callable[[Path], Journal],
    place: Path,
    declared: str,
    dice: random.Random,
    counted: Tally,
) -> None:
    outside = place / "outside"
    make(place).delete(RUN)
    longest_s = LONGEST_S
    while True:
        longest_s *= 1.1  # on a machine that is busy, a run ends as well
        settled = set(_settled(make(place)))
        before = Counter(_traces(outside))
        was_killed = killed(lambda: go_on(make, place, declared), dice.uniform(0, longest_s))
        again = Counter(_traces(outside)) - before
        for n in range(TURNS * WIDTH):
            if not again[f"begin {n}"]:
                continue
            counted.repeated_settled += n in settled
            twice = again[f"begin {n}"] > 1 or before[f"begin {n}"] > 0
            allowed = declared == "rerun" or (declared == "reconcile" and not before[f"end {n}"])
            counted.repeated_undeclared += twice and not allowed
        if not was_killed:
            break
        counted.kills += 1
        begun = {n for n in range(TURNS * WIDTH) if f"begin {n}" in _traces(outside)}
        counted.in_flight += len(begun - set(_settled(make(place))))
    counted.runs += 1
    counted.lost += _lost(agent_of(make(place), place, declared), outside)


def _lost(agent: Agent[Any], outside: Path) -> int:
    """How many calls of a run that has ended have no answer, or a wrong one."""
    result = agent.resume(RUN)
    answers = {
        one.origin.arguments["n"]: one.text
        for message in result.messages
        for one in message.tool_call_results
    }
    done = _traces(outside)
    paid = [n for n, text in answers.items() if text == f"paid {n}" and f"end {n}" not in done]
    missing = set(range(TURNS * WIDTH)) - set(answers)
    return len(paid) + len(missing) + (result.exit_reason != "text")


def _settled(journal: Journal) -> Iterator[int]:
    """The calls whose outcome is in the journal."""
    for entry in journal.read(RUN):
        if entry.kind in ("ToolReturned", "ToolRaised"):
            turn, place = entry.data["ref"]
            yield (turn - 1) * WIDTH + place


def _trace(path: Path, line: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def _traces(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def main() -> int:
    """Print the table."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    stores = sys.argv[2:] or list(STORES)
    if unknown := set(stores) - STORES.keys():
        raise SystemExit(
            f"no store {unknown}; there is {list(STORES)}; postgres is, too, when "
            "DETENT_TEST_POSTGRES has the URL of a server"
        )
    heads = ("store", "on_unknown", "kills", "runs", "in flight")
    harms = ("settled repeated", "undeclared repeats", "lost")
    print(" | ".join((*heads, *harms)))  # noqa: T201 - the table
    harm = 0
    recording.ENTRIES = 5  # so that runs this short have some
    warm_up()
    for store in stores:
        for declared in DECLARED:
            dice = random.Random()  # noqa: S311 - a test's dice
            one = tally(store, declared, kills, dice)
            counts = (one.kills, one.runs, one.in_flight)
            bad = (one.repeated_settled, one.repeated_undeclared, one.lost)
            print(" | ".join(map(str, (store, declared, *counts, *bad))), flush=True)  # noqa: T201 - the table
            harm += one.harm
    return 1 if harm else 0


if __name__ == "__main__":
    sys.exit(main())
