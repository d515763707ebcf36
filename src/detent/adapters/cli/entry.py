"""Where the command line begins: with a sentence, where what it needs is not installed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

LIBRARIES = frozenset({"click", "httpx", "platformdirs", "rich"})
"""What the extra `cli` brings."""


def main() -> None:
    """`detent` and ``python -m detent``."""
    try:
        from detent.adapters.cli.main import main as commands
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        sys.exit(f"the command line needs {error.name}: pip install 'detent[cli]'")
    commands(prog_name="detent")


def program() -> list[str]:
    """The words by which this program is started again, whatever the PATH of the shell is."""
    started, found = Path(sys.argv[0]), shutil.which("detent")
    if started.stem == "detent" and started.is_file():
        is_found = found is not None and Path(found).samefile(started)
        return ["detent"] if is_found else [str(started.absolute())]
    return [sys.executable, "-m", "detent"]
