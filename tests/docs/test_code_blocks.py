"""The code in README and documentation runs as it is printed.

The Python blocks of a page run in order, as one module, in an empty folder. A block that cannot run
here has the comment `<!-- not run: REASON -->` on the line before it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?P<excuse><!-- not run: \S.*-->\n)?"
    r"(?P<indent> *)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
INTERNAL = re.compile(r"^\s*(?:from|import) (detent\.(?:core|ports|adapters)[\w.]*)", re.MULTILINE)
FOR_PROVIDERS = "detent.adapters.providers.http.adapter"
"""What a provider of one's own is written with."""


def blocks(page: Path) -> Iterator[str]:
    """The code of the page, each block with as many empty lines before it as the page has."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if not block["excuse"]:
            code = re.sub(rf"^{block['indent']}", "", block["code"], flags=re.MULTILINE)
            yield "\n" * text.count("\n", 0, block.start("code")) + code


WITH_CODE = [page for page in PAGES if any(blocks(page))]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From top to bottom, without an error; a traceback names page and line."""
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    monkeypatch.chdir(tmp_path)
    for code in blocks(page):
        exec(compile(code, page, "exec", dont_inherit=True), vars(module))  # noqa: S102  # the page is our own


STARTS = [code for code in blocks(ROOT / "README.md") if code.lstrip().startswith("from ")]


@pytest.mark.parametrize("place", range(len(STARTS)))
def test_a_block_of_the_readme_that_begins_with_its_imports_needs_no_other(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads on there has not necessarily written the file of the blocks above."""
    module = ModuleType("alone")
    monkeypatch.setitem(sys.modules, "alone", module)
    monkeypatch.chdir(tmp_path)
    exec(compile(STARTS[place], "README.md", "exec", dont_inherit=True), vars(module))  # noqa: S102  # the page is our own


def test_a_page_imports_from_doors() -> None:
    """What users are shown is public, and stays where it is when modules move."""
    for page in PAGES:
        imported = {name for code in blocks(page) for name in INTERNAL.findall(code)}
        assert imported - {FOR_PROVIDERS} == set(), page


FIRST_PAGES = [page for page in PAGES if page.parent.name == "tutorial" or page.name == "README.md"]
ROOTS = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("page", FIRST_PAGES, ids=lambda page: page.name)
def test_a_first_page_needs_what_is_installed(page: Path) -> None:
    """By `pip install detent`, or by what the page itself says."""
    imported = {name for code in blocks(page) for name in ROOTS.findall(code)}
    named = re.findall(r"`pip install ([\w-]+)`", page.read_text(encoding="utf-8"))
    brought = {"detent", "attrs", *(name.replace("-", "_") for name in named)}

    assert imported - sys.stdlib_module_names - brought == set()
