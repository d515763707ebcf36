"""The picture of a call's life is drawn from the code as it is."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

from tests.life_of_a_call import PAGE, PICTURE, drawn, embedded, lived

ROWS = list(lived())


def test_the_picture_is_the_run() -> None:
    """`python tests/life_of_a_call.py` draws what the documentation shows, and its words."""
    assert PICTURE.read_text(encoding="utf-8") == drawn(ROWS)
    assert embedded(ROWS) in PAGE.read_text(encoding="utf-8").splitlines()


def test_nothing_is_owed_twice_over_a_crash() -> None:
    """The call is looked up between its two intents, and nothing is owed at the end."""
    kinds = [row.kind for row in ROWS]
    assert [row.dies for row in ROWS].count(True) == 1
    assert kinds.count("ToolReturned") == 1
    assert ("ToolStarted", "Resumed") in pairwise(kinds)
    assert ROWS[kinds.index("Resumed")].owed == ("Reconcile",)
    assert ROWS[-1].owed == ()


def test_the_picture_can_be_shown() -> None:
    """It is one element of SVG, with a name for those who do not see it."""
    root = ET.fromstring(PICTURE.read_text(encoding="utf-8"))  # noqa: S314 - it is our own
    assert root.get("role") == "img"
    assert root.get("aria-label")
