"""The how-tos are in groups, the same and in the same order on their first page and in the menu."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "how-to"
GROUP = re.compile(r"^## (.+)\n\n((?:\* \[.+\]\([\w-]+\.md\)\n)+)", re.MULTILINE)


def listed() -> list[tuple[str, list[str]]]:
    """By group, what the first page has."""
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    return [(name, re.findall(r"\(([\w-]+\.md)\)", lines)) for name, lines in GROUP.findall(text)]


def test_the_menu_and_the_first_page_have_the_same_groups() -> None:
    """Each how-to is in one of them, and on its first page by its own name."""
    (menu,) = (
        entry["How-to"]
        for entry in tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"][
            "nav"
        ]
        if "How-to" in entry
    )
    first, *groups = menu
    assert first == "how-to/index.md"
    assert [group for entry in groups for group in entry.items()] == [
        (name, [f"how-to/{page}" for page in pages]) for name, pages in listed()
    ]
    pages = sorted(page for _, group in listed() for page in group)
    assert pages == sorted({page.name for page in FOLDER.glob("*.md")} - {"index.md"})
