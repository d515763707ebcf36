"""The glossary has every public noun, once."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path

GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "glossary.md"
DOORS = (
    "detent",
    "detent.approvals",
    "detent.hosts",
    "detent.journals",
    "detent.machine",
    "detent.mcp",
    "detent.models",
    "detent.telemetry",
    "detent.testing",
    "detent.faces",
    "detent.web",
)
ROW = re.compile(r"^\| (.+?) \|", re.MULTILINE)
NOUN = re.compile(r"`([A-Z]\w+)`")


def public_nouns() -> set[str]:
    """Classes, aliases of types and constants: all that does not begin with a small letter."""
    names = {name for door in DOORS for name in vars(import_module(door))["__all__"]}
    return {name for name in names if name[0].isupper()}


def explained() -> Counter[str]:
    """How often each noun stands in the first column of a table."""
    rows = ROW.findall(GLOSSARY.read_text(encoding="utf-8"))
    return Counter(noun for row in rows for noun in NOUN.findall(row))


def test_every_public_noun_is_in_the_glossary() -> None:
    """A new one needs its row, or its place in the row of its family."""
    assert public_nouns() - explained().keys() == set()


def test_the_glossary_explains_only_what_is_there() -> None:
    """A name that is gone is gone from here."""
    assert explained().keys() - public_nouns() == set()


def test_one_word_means_one_thing() -> None:
    """No noun has two rows."""
    assert [noun for noun, rows in explained().items() if rows > 1] == []
