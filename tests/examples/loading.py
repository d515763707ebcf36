"""Examples as a test sees them: a module of its own each, and a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"


@cache
def example(path: str) -> ModuleType:
    """The program at this path below `examples`."""
    spec = importlib.util.spec_from_file_location(f"example_{Path(path).stem}", EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def begin(path: str, *arguments: str | Path, typed: bool = False) -> subprocess.Popen[str]:
    """The program in a process of its own, whose lines can be read, and to which one may type."""
    command = [sys.executable, EXAMPLES / path, *arguments]
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": paths}
    keys = subprocess.PIPE if typed else subprocess.DEVNULL
    return subprocess.Popen(command, stdin=keys, stdout=subprocess.PIPE, text=True, env=environment)
