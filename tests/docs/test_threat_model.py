"""The page on threats names, for each promise, a test that there is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "threat-model.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
PROMISE = re.compile(r"^\| (?!promise|---)(?P<row>.+) \|$", re.MULTILINE)


def test_a_test_that_holds_a_promise_is_there() -> None:
    """Renamed, it is renamed here as well."""
    named = sorted(set(TEST.findall(PAGE)))
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path, _ in named}
    assert [(path, name) for path, name in named if f"def {name}(" not in texts[path]] == []


def test_each_promise_has_a_test() -> None:
    """A promise that nothing holds is none."""
    _, _, rest = PAGE.partition("## What is promised")
    promised, _, _ = rest.partition("\n## ")
    rows = PROMISE.findall(promised)

    assert len(rows) >= 20
    assert [row for row in rows if not TEST.search(row)] == []


def test_the_list_of_risks_is_whole() -> None:
    """All ten, each once."""
    assert re.findall(r"^\| (ASI\d\d) ", PAGE, re.MULTILINE) == [
        f"ASI{number:02}" for number in range(1, 11)
    ]
