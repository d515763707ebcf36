"""Who tries a file of theirs in a checkout reads of their own mistakes, by their own settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MINE = """\
from detent import Agent, ScriptedChatGenerator
from detent.testing import schedules


def sign(number: int) -> int:
    if isinstance(number, int):
        return 1
    return 0  # cannot be reached, which is no mistake for `mypy --strict`


answer: int = "none"
print(Agent, ScriptedChatGenerator, schedules, sign)
"""


def test_mypy_in_the_checkout_finds_the_mistakes_of_my_file_alone(tmp_path: Path) -> None:
    """Nor those of our modules where Hypothesis, as in most environments, is not installed."""
    mine = tmp_path / "my_agent.py"
    mine.write_text(MINE, encoding="utf-8")
    cache = ("--cache-dir", str(tmp_path / "cache"))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-site-packages", *cache, str(mine)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)

    assert [line for line in done.stdout.splitlines() if "my_agent.py" not in line] == [
        "Found 1 error in 1 file (checked 1 source file)"
    ]
