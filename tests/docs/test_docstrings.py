"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"
WITH_EXAMPLES = [
    path.relative_to(SOURCE).with_suffix("")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=str)
def test_the_examples_of_a_module_are_true(path: Path) -> None:
    """Each prints what the docstring says."""
    module = importlib.import_module(".".join(path.parts))
    assert doctest.testmod(module).failed == 0
