"""The page on the architecture shows the code as it is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "detent"
ARCHITECTURE = DOCS / "explanation" / "architecture.md"
MODULES_OF_AN_ANSWER_MAX = 4

PATH = re.compile(r"`((?:\w+/)*\w+\.py)`")
ANSWER = re.compile(r"^\| (?!…|-)(?P<change>.+?) \| (?P<modules>.+?) \|$", re.MULTILINE)
HISTORY = [DOCS / "changelog.md", *(DOCS / "decisions").glob("*.md")]
"""Pages that say what was there when they were written."""

PAGES = [
    ROOT / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if page not in HISTORY),
]


def is_there(path: str) -> bool:
    """As a path of the repository, or of the package."""
    return (ROOT / path).is_file() or (PACKAGE / path).is_file()


def answers() -> dict[str, list[str]]:
    """For each change that the page knows of: the modules that it names."""
    _, _, rest = ARCHITECTURE.read_text(encoding="utf-8").partition("## Where do I change …")
    table, _, _ = rest.partition("\n## ")
    return {row["change"]: PATH.findall(row["modules"]) for row in ANSWER.finditer(table)}


def test_the_picture_of_the_floors_is_what_the_code_says() -> None:
    """Where it is not: python tests/floor_plan.py draws it anew."""
    script = runpy.run_path(str(ROOT / "tests" / "floor_plan.py"))
    picture, page = script["PICTURE"], ARCHITECTURE.read_text(encoding="utf-8")

    assert picture.read_text(encoding="utf-8") == script["drawn"](), (
        "the picture of the floors is out of date; draw it anew: python tests/floor_plan.py"
    )
    assert script["EMBEDDED"].findall(page) == [script["embedded"]()]


def test_every_change_has_few_modules() -> None:
    """Nobody has to look into more of them, and there are answers at all."""
    known = answers()
    assert len(known) >= 8
    for change, modules in known.items():
        assert 1 <= len(modules) <= MODULES_OF_AN_ANSWER_MAX, change


def test_a_module_that_a_page_names_is_there() -> None:
    """A path in backticks leads to a file of the repository or of the package."""
    for page in PAGES:
        paths = PATH.findall(page.read_text(encoding="utf-8"))
        assert [path for path in paths if "/" in path and not is_there(path)] == [], page


def test_the_modules_of_an_answer_are_there() -> None:
    """Those at the top of the package, too, which have no folder in their path."""
    paths = [path for modules in answers().values() for path in modules]
    assert [path for path in paths if not is_there(path)] == []
