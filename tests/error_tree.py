"""Draws the tree of errors for the reference, from the code: `python tests/error_tree.py`."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import detent
from detent import DetentError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "errors.md"
TREE = re.compile(r"(?<=```text\n).*?(?=```)", re.DOTALL)
DOORS = (
    "detent",
    "detent.models",
    "detent.approvals",
    "detent.hosts",
    "detent.journals",
    "detent.machine",
    "detent.faces",
    "detent.mcp",
    "detent.web",
)
LEFT_OUT = ("detent.adapters.testing", "detent.testing", "detent.__main__", "detent.adapters.cli")
"""Where errors are of tests alone, or loading is running."""


def load_all() -> None:
    """Load every module that a program may load, so that every error is known."""
    for module in pkgutil.walk_packages(detent.__path__, "detent."):
        if not module.name.startswith(LEFT_OUT):
            import_module(module.name)


def errors_below(kind: type[Exception], depth: int = 0) -> Iterator[tuple[int, type[Exception]]]:
    """The error and all that are kinds of it, each with its depth, by name."""
    yield depth, kind
    below = (one for one in kind.__subclasses__() if not one.__module__.startswith(LEFT_OUT))
    for one in sorted(below, key=lambda one: one.__name__):
        yield from errors_below(one, depth + 1)


def line(depth: int, kind: type[Exception]) -> str:
    """A line of the tree: its name, what else of Python's it is, and what it means."""
    parents = [one.__name__ for one in kind.__bases__ if not issubclass(one, DetentError)]
    also = f" ({', '.join(parents)})" if parents and kind is not DetentError else ""
    meaning = (inspect.getdoc(kind) or "").splitlines()[0]
    return f"{'    ' * depth}{kind.__name__}{also}\n{'    ' * depth}  {meaning}\n"


def tree() -> str:
    """The whole tree."""
    load_all()
    return "".join(line(depth, kind) for depth, kind in errors_below(DetentError))


if __name__ == "__main__":
    PAGE.write_text(TREE.sub(lambda _: tree(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
