"""The page that says where a promise is tested names tests that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "reference" / "haystack-behaviour.md"
TEXT = PAGE.read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", TEXT)))
GROUPS = ("State", "Tool", "Toolset", "Tool invoker", "Agent", "Breakpoints", "Confirmation")


def test_a_test_that_is_named_is_there() -> None:
    """In the file that is named."""
    trees = {file: ast.parse((TESTS / file).read_text(encoding="utf-8")) for file, _ in NAMED}
    there = {
        (file, node.name)
        for file, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    assert set(NAMED) - there == set()


def test_each_promise_has_a_test_or_a_reason() -> None:
    """In each group there are some, and no cell is empty."""
    rows = [line.split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
    answers = [row[-1] for row in rows if not row[0].startswith("| Promise")]
    assert len(answers) > 60
    assert [one for one in answers if "::" not in one and "differs" not in one] == []
    assert all(f"## {group}" in TEXT for group in GROUPS)
