"""Every example is a real program of a size to be read, with a short page, and is found."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.examples.loading import EXAMPLES, ROOT

FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/README.md"))
PROGRAMS = sorted(EXAMPLES.glob("*/*.py"))
LISTS = (ROOT / "README.md", EXAMPLES / "README.md", ROOT / "docs" / "how-to" / "index.md")
PAGE_LINES_MAX, PROGRAM_LINES = 20, range(50, 241)
INTERNAL = re.compile(r"\bdetent\.(core|ports|adapters)\b")


def shown(path: Path) -> str:
    return path.relative_to(EXAMPLES).as_posix()


@pytest.mark.parametrize("folder", FOLDERS, ids=shown)
def test_an_example_is_short_tested_and_listed(folder: Path) -> None:
    """Its page is read in a minute, its programs in a few; it stands in every list."""
    page = (folder / "README.md").read_text(encoding="utf-8")
    programs = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    assert page.count("\n") <= PAGE_LINES_MAX
    assert sum(program.count("\n") for program in programs) in PROGRAM_LINES
    assert (ROOT / "tests" / "examples" / f"test_{folder.name}.py").exists()
    assert [path for path in LISTS if folder.name not in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("program", PROGRAMS, ids=shown)
def test_a_program_says_what_it_shows_and_needs_no_insides(program: Path) -> None:
    """It begins with a docstring, and imports by the doors alone."""
    text = program.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert INTERNAL.search(text) is None


def test_each_folder_has_a_page() -> None:
    """A folder with a program has a README, and there are no others."""
    assert {program.parent for program in PROGRAMS} == set(FOLDERS)
