"""Each example with the embedded model, as its page says, in an empty folder.

``python -m tests.examples.embedded [EXAMPLE …]`` shows what each prints, and says whether the model
did what the example is for. A small model does not always: the program ends with 1 then.
`proven_policy` asks no model, and is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias
from urllib.request import Request, urlopen

from detent import SQLiteJournal
from detent.journals import Journal
from tests.adapters.hosts.engines.servers import free_ports, temporal_server, wait_for
from tests.examples.loading import begin, example

Play: TypeAlias = Callable[[Path, str], bool]
"""Plays an example in a folder, with a model; says whether it came to what it is for."""
PATIENCE_S = 900.0
"""How long a run may take on a machine that has much else to do."""


def say(text: str) -> None:
    sys.stdout.write(f"{text.rstrip()}\n")
    sys.stdout.flush()


def said(path: str, *arguments: str | Path, typed: str | None = None) -> str:
    """What the program prints, while somebody types."""
    say(f"$ python {path.partition('/')[2]} {' '.join(map(str, arguments))}")
    with begin(path, *arguments, typed=typed is not None) as program:
        text, _ = program.communicate(typed, timeout=PATIENCE_S)
    say(text)
    return text


@contextmanager
def serving(path: str, *arguments: str | Path) -> Generator[None]:
    """The program as a service."""
    with begin(path, *arguments) as service:
        try:
            yield
        finally:
            service.terminate()


def asked(url: str, order: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """What a service answers, in JSON."""
    body = None if order is None else json.dumps(order).encode()
    with urlopen(Request(url, body), timeout=60) as answer:  # noqa: S310 - of this machine
        told: Mapping[str, str] = json.load(answer)
    return told


def settled(status: Callable[[], str]) -> str:
    """The status of a run, once it works no more."""
    end = time.monotonic() + PATIENCE_S
    while (now := status()) in {"none", "running"} and time.monotonic() < end:
        time.sleep(0.5)
    return now


def _status_at(url: str) -> str:
    return str(asked(url)["status"])


def _status_in(journal: Journal, run_id: str) -> str:
    return next((one.status for one in journal.runs() if one.run_id == run_id), "none")


def refund_desk(folder: Path, model: str) -> bool:
    """A small refund is paid at once, a large one waits for a person."""
    (port,) = free_ports(1)
    url, ends = f"http://127.0.0.1:{port}/refunds", list[str]()
    with serving("refund_desk/desk.py", "--model", model, "--folder", folder, "--port", str(port)):
        wait_for(port)
        for order, text in {"7": "broken cup, 12.50 euros", "8": "a table, 300 euros"}.items():
            asked(url, {"order": order, "text": text})
            ends.append(settled(partial(_status_at, f"{url}/{order}")))
            say(f"order {order}: {dict(asked(f'{url}/{order}'))}")
    paid = list(example("refund_desk/desk.py").Ledger(folder / "ledger.db").payments().values())
    say(f"paid: {paid}")
    return paid == [["7", 12.5]] and ends == ["done", "waiting"]


def nightly_batch(folder: Path, model: str, letters: int = 3) -> bool:
    """Each letter is filed once, under its topic."""
    said("nightly_batch/batch.py", folder, "--make", str(letters), "--model", model)
    filed = sorted(example("nightly_batch/batch.py").Register(folder / "register.tsv").filed())
    say(str(filed))
    return [topic for _, topic in filed] == ["bill", "complaint", "praise"][:letters]


def cited_research(folder: Path, model: str) -> bool:
    """A report comes out, and each of its quotations stands in its paper."""
    del folder
    return "[1] detents: " in said(
        "cited_research/research.py", "What is a detent?", "--model", model
    )


def guarded_coder(folder: Path, model: str) -> bool:
    """The mistake is mended once a person has agreed, and no secret is posted."""
    text = said("guarded_coder/coder.py", folder, "--make", "--model", model, typed="y\n" * 20)
    mended = (folder / "prices.py").read_text(encoding="utf-8")
    return "net * 1.19" in mended and "POSTED: TOKEN" not in text


def long_chat(folder: Path, model: str) -> bool:
    """A second process knows what was said to the first."""
    to = ("--journal", folder / "chats.db", "--model", model)
    said("long_chat/chat.py", "ada", "Hello, my name is Ada.", *to)
    return "Ada" in said("long_chat/chat.py", "ada", "Who am I?", *to)


def queue_worker(folder: Path, model: str) -> bool:
    """A ticket is on the board, and an urgent one waits for a person."""
    server = temporal_server(folder)
    server.start()
    where = ("--folder", folder, "--temporal", f"127.0.0.1:{server.ports[0]}")
    journal = SQLiteJournal(folder / "runs.db")
    program, ends = "queue_worker/triage.py", list[str]()
    try:
        with serving(program, "work", *where, "--model", model):
            for number, text in {"17": "Smoke on floor 3", "18": "Where is the canteen?"}.items():
                said(program, "send", number, text, *where)
                ends.append(settled(partial(_status_in, journal, f"ticket-{number}")))
                say(f"ticket-{number} is {ends[-1]}")
    finally:
        server.kill()
    board = example(program).Board(folder / "board.jsonl").tickets()
    say(f"on the board: {list(board.values())}")
    return ends == ["waiting", "done"] and list(board.values()) == ["18"]


def trio_loop(folder: Path, model: str) -> bool:
    """A sensor is asked, and its answer told."""
    del folder
    return "Oslo: 4 degrees" in said("trio_loop/loop.py", "How warm is Oslo?", "--model", model)


PLAYS: Mapping[str, Play] = {
    play.__name__: play
    for play in (
        refund_desk,
        nightly_batch,
        cited_research,
        guarded_coder,
        long_chat,
        queue_worker,
        trio_loop,
    )
}


def main(names: Sequence[str], model: str = "local") -> int:
    """Play these examples, or all; a line for each says how it went."""
    if unknown := set(names) - PLAYS.keys():
        sys.exit(f"there is no {', '.join(sorted(unknown))}, only {', '.join(PLAYS)}")
    wandered = list[str]()
    for name in names or PLAYS:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                good = PLAYS[name](Path(folder), model)
            except (OSError, subprocess.TimeoutExpired) as error:
                say(str(error))
                good = False
        say(
            f"{name}: {'as its page says' if good else 'the model wandered'} "
            f"({time.monotonic() - started:.0f} s)\n"
        )
        if not good:
            wandered.append(name)
    return 1 if wandered else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
