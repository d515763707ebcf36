"""How what is missing is installed into the environment of this Python, and into no other."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path


def install_command(extra: str, *options: str) -> str:
    """The command that adds an extra of Detent where this program runs.

    A bare ``pip`` is that of whichever environment comes first on the shell's PATH: where it is not
    this one, it would install there, where Detent is not, a program of others by that name.
    """
    return " ".join([_installer(), *options, f"'detent[{extra}]'"])


def _installer() -> str:
    own, found = Path(sys.executable), shutil.which("pip")
    if found is not None and Path(found).parent == own.parent:
        return "pip install"
    if find_spec("pip") is None and shutil.which("uv") is not None:  # as uv makes environments
        return f"uv pip install --python {shlex.quote(str(own))}"
    return f"{shlex.quote(str(own))} -m pip install"
