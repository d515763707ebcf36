"""How this program was started, so that it can be started again."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def program() -> list[str]:
    """The words by which this program is started again, whatever the PATH of the shell is."""
    started, found = Path(sys.argv[0]), shutil.which("detent")
    if started.stem == "detent" and started.is_file():
        is_found = found is not None and Path(found).samefile(started)
        return ["detent"] if is_found else [str(started.absolute())]
    return [sys.executable, "-m", "detent"]
