"""Let several living processes resume the same run at once, kill and freeze them, and count harm.

``python tests/adapters/journals/rivals_table.py ROUNDS STORE…`` prints a line for each store and
each declaration of what may happen to a call of unknown outcome, and fails unless every count of
harm is 0. PostgreSQL is among the stores when DETENT_TEST_POSTGRES has the URL of a server.

In a round two to five processes drive one run, each as long as it is not done. One after another
is killed and replaced, or frozen for longer or shorter than its claim holds.
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field

from detent.adapters.drivers import recording
from detent.journals import RunNotFoundError
from detent.ports.claims import RunBusyError
from detent.ports.journal import JournalConflictError
from tests.adapters.journals import kill_table
from tests.adapters.journals.kill_table import DECLARED, RUN, STORES, TURNS, WIDTH, agent_of

CLAIM_S = 0.15
PATIENCE_S = 60.0


@define
class Round:
    """What happened while processes fought for one run."""

    kills: int = 0
    freezes: int = 0
    repeated: int = 0
    lost: int = 0
    stuck: int = 0

    @property
    def harm(self) -> int:
        """What must be 0."""
        return self.repeated + self.lost + self.stuck


@define
class Processes:
    """The processes that want to drive the run, and which of them stand still until when."""

    store: str
    place: Path
    declared: str
    alive: set[int] = field(factory=set)
    frozen: dict[int, float] = field(factory=dict)

    def add(self) -> None:
        """One more."""
        child = os.fork()
        if child == 0:
            code = 1
            faulthandler.register(signal.SIGUSR1)
            try:
                drive(self.store, self.place, self.declared)
                code = 0
            except BaseException:  # noqa: BLE001 - said, and told by the exit code
                traceback.print_exc()
            finally:
                os._exit(code)
        self.alive.add(child)

    def show(self) -> None:
        """Have each say where it stands."""
        for child in self.alive:
            os.kill(child, signal.SIGUSR1)
        time.sleep(1)

    def kill(self, child: int) -> None:
        """End one, in the middle of whatever it does."""
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.alive.discard(child)
        self.frozen.pop(child, None)

    def freeze(self, child: int, until: float) -> None:
        """Have one stand still."""
        os.kill(child, signal.SIGSTOP)
        self.frozen[child] = until

    def thaw(self, now: float) -> None:
        """Have those go on whose time has come."""
        for child in [child for child, until in self.frozen.items() if until <= now]:
            os.kill(child, signal.SIGCONT)
            del self.frozen[child]

    def reap(self) -> None:
        """Forget those that have ended.

        Raises:
            RuntimeError: one has failed.
        """
        for child in [*self.alive]:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                self.alive.discard(child)
                self.frozen.pop(child, None)
                if status:
                    raise RuntimeError("a process has failed; see above")


def drive(store: str, place: Path, declared: str) -> None:
    """Begin the run, or go on with it, until it is done, whoever has been faster."""
    agent = agent_of(STORES[store](place), place, declared, CLAIM_S)
    is_done = False
    while not is_done:
        with suppress(JournalConflictError, RunBusyError):  # as what they say advises: once more
            try:
                agent.resume(RUN, wait=0.05)
            except RunNotFoundError:
                agent.run("pay", run_id=RUN)
            is_done = True


def fight(store: str, place: Path, declared: str, dice: random.Random) -> Round:
    """One round: the run is driven to its end, in spite of all."""
    processes, fought = Processes(store, place, declared), Round()
    STORES[store](place).delete(RUN)
    for _ in range(dice.randint(2, 5)):
        processes.add()
    end = time.monotonic() + PATIENCE_S
    while processes.alive:
        time.sleep(dice.uniform(0, 0.03))
        processes.thaw(time.monotonic())
        processes.reap()
        awake = sorted(processes.alive - processes.frozen.keys())
        if time.monotonic() > end:
            fought.stuck += 1
            processes.show()
            for child in [*processes.alive]:
                processes.kill(child)
        elif awake and fought.kills < 4 and dice.random() < 0.3:
            processes.kill(dice.choice(awake))
            processes.add()
            fought.kills += 1
        elif awake and fought.freezes < 4 and dice.random() < 0.3:
            processes.freeze(dice.choice(awake), time.monotonic() + dice.uniform(0, 2 * CLAIM_S))
            fought.freezes += 1
    if not fought.stuck:
        count_harm(fought, agent_of(STORES[store](place), place, declared), place / "outside")
    return fought


def count_harm(fought: Round, agent: Any, outside: Path) -> None:
    """What was done twice although the tool does not allow it, and what was lost."""
    lines = kill_table._traces(outside)
    for n in range(TURNS * WIDTH):
        mine = [line.split()[0] for line in lines if line.split()[1] == str(n)]
        if agent.spec.tools["pay"].on_unknown in ("ask", "fail"):
            fought.repeated += mine.count("begin") > 1
    fought.lost += kill_table._lost(agent, outside)


def main() -> int:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 125
    stores = sys.argv[2:] or list(STORES)
    print("store | on_unknown | rounds | kills | freezes | repeated | lost | stuck")  # noqa: T201 - the table
    recording.ENTRIES = 5  # so that runs this short have some
    harm = 0
    for store in stores:
        for declared in DECLARED:
            dice, total = random.Random(), Round()  # noqa: S311 - a test's dice
            for _ in range(rounds):
                with tempfile.TemporaryDirectory() as folder:
                    one = fight(store, Path(folder), declared, dice)
                for name in ("kills", "freezes", "repeated", "lost", "stuck"):
                    setattr(total, name, getattr(total, name) + getattr(one, name))
            counts = (total.kills, total.freezes, total.repeated, total.lost, total.stuck)
            print(" | ".join(map(str, (store, declared, rounds, *counts))), flush=True)  # noqa: T201 - the table
            harm += total.harm
    return 1 if harm else 0


if __name__ == "__main__":
    sys.exit(main())
