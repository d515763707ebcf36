"""What every contender runs: two payments that the model asks for at once, in a process that dies.

``python CONTENDER.py begin FOLDER`` starts the run, ``… resume FOLDER`` goes on with it as the
library's own documentation says. Each payment is a line in a ledger: the world, which no library
can take back.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

MODE, FOLDER = sys.argv[1], Path(sys.argv[2])
LEDGER, STUCK = FOLDER / "ledger.txt", FOLDER / "stuck"


def paid(who: str) -> str:
    """Pay somebody. The money is gone before anybody is told."""
    with LEDGER.open("a") as file:
        file.write(f"{who}\n")
    return f"paid {who}"


def pay(who: str) -> str:
    """Pay Ann: it works."""
    return paid(who)


def slow(who: str) -> str:
    """Pay Bob: the process is killed before the bank has answered. The second time, it answers."""
    said = paid(who)
    if MODE == "begin":
        while sorted(LEDGER.read_text().split()) != ["Ann", "Bob"]:
            time.sleep(0.01)  # the other payment may still be under way
        time.sleep(1.0)  # and its outcome is written down, if it ever is
        STUCK.touch()
        time.sleep(600)
    return said
