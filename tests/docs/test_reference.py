"""The reference shows what is there, and all that is behind a door."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
DOORS = ("detent", *(f"detent.{name}" for name in ("approvals", "journals", "machine", "models")))
SHOWN = re.compile(r"^::: (?P<module>[\w.]+)\n(?P<options>(?: {4}.*\n)*)", re.MULTILINE)
INLINE = re.compile(r"members: \[(.*)\]")
LISTED = re.compile(r"^ +- (\w+)$", re.MULTILINE)
IN_TABLE = re.compile(r"^\| \[`detent\.\w+`\].*\| (?P<names>.+) \|$", re.MULTILINE)
NAME = re.compile(r"`(\w+)`")


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8") + "\n"


def shown(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Each module that a page shows, with the members that it names."""
    for block in SHOWN.finditer(text(page)):
        inline = [name for names in INLINE.findall(block["options"]) for name in names.split(", ")]
        yield block["module"], inline + LISTED.findall(block["options"])


def test_what_a_page_shows_is_there() -> None:
    """The site generator says nothing of a member that it does not find."""
    blocks = [block for page in sorted(REFERENCE.rglob("*.md")) for block in shown(page)]
    members = [(module, name) for module, names in blocks for name in names]
    assert members
    assert [one for one in members if not hasattr(import_module(one[0]), one[1])] == []


@pytest.mark.parametrize("door", DOORS)
def test_a_page_shows_all_that_is_behind_its_door(door: str) -> None:
    """At the root, a name of a subject is named and shown on the page of that."""
    page = REFERENCE / f"{door.rpartition('.')[2]}.md"
    rows = IN_TABLE.findall(text(page))
    names = [name for module, members in shown(page) if module == door for name in members]
    names += [name for row in rows for name in NAME.findall(row)]

    assert sorted(names) == sorted(vars(import_module(door))["__all__"])


def test_the_page_on_testing_shows_all_that_is_behind_its_door() -> None:
    """By subject: as a member, in a module that is shown whole, or in a sentence."""
    page = REFERENCE / "testing.md"
    names = set(NAME.findall(text(page)))
    for module, members in shown(page):
        names |= set(members or vars(import_module(module)))

    assert set(vars(import_module("detent.testing"))["__all__"]) - names == set()


def test_what_the_page_on_testing_shows_can_be_imported_from_its_door() -> None:
    """Nobody is shown a name, such as that of a type, and left to look for it."""
    shown_members = {name for _, names in shown(REFERENCE / "testing.md") for name in names}

    assert shown_members - set(vars(import_module("detent.testing"))["__all__"]) == set()
