"""Every decision is in the index and in the navigation, in the order of their numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "docs" / "decisions"
PAGES = [page.name for page in sorted(DECISIONS.glob("0*.md"))]
LINK = re.compile(r"\d{4}-[\w-]+\.md")
HEADING = re.compile(r"# (\d+)\. ")


@pytest.mark.parametrize("listing", [DECISIONS / "index.md", ROOT / "zensical.toml"])
def test_a_list_of_decisions_has_them_all_in_order(listing: Path) -> None:
    """Who adds one adds it to both."""
    assert LINK.findall(listing.read_text(encoding="utf-8")) == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_decision_has_the_number_of_its_file(page: str) -> None:
    """Two people who decide at the same time take different ones."""
    heading = HEADING.match((DECISIONS / page).read_text(encoding="utf-8"))
    assert heading
    assert int(heading[1]) == int(page[:4])
    assert [other for other in PAGES if other[:4] == page[:4]] == [page]
