"""Where the command line begins: with a sentence, where what it needs is not installed."""

from __future__ import annotations

import sys

from detent.adapters.system.installation import install_command

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""
LIBRARIES = frozenset({"click", "httpx", "platformdirs", "rich"})
"""What the extra `cli` brings."""


def main() -> None:
    """`detent` and ``python -m detent``."""
    try:
        from detent.adapters.cli.main import main as commands
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        sys.exit(f"the command line needs {error.name}: {install_command('cli')}")
    except KeyboardInterrupt:  # before there was anything to stop
        sys.exit(INTERRUPTED)
    commands(prog_name="detent")
