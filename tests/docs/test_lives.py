"""The pictures of lives are drawn from the code as it is."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from tests.lives import LIVES, PAGE, Life, Row, drawn, embedded

ROWS = {life.name: list(life.lived()) for life in LIVES}
EACH = pytest.mark.parametrize("life", LIVES, ids=lambda life: life.name)


def named(life: str, name: str) -> list[Row]:
    """The rows of this name."""
    return [row for row in ROWS[life] if row.name == name]


@EACH
def test_the_picture_is_what_was_lived_through(life: Life) -> None:
    """`python tests/lives.py` draws what the documentation shows, and its words."""
    rows = ROWS[life.name]
    assert life.file.read_text(encoding="utf-8") == drawn(life, rows)
    assert embedded(life, rows) in PAGE.read_text(encoding="utf-8").splitlines()
    assert [row.is_cut for row in rows].count(True) == 1


def test_nothing_is_owed_twice_over_a_crash() -> None:
    """The call is looked up between its two intents, and nothing is owed at the end."""
    kinds = [row.name for row in ROWS["call"]]
    assert kinds.count("ToolReturned") == 1
    assert ("ToolStarted", "Resumed") in pairwise(kinds)
    assert named("call", "Resumed")[0].after == "Reconcile"
    assert ROWS["call"][-1].after == "nothing: it has ended"


def test_a_decision_counts_once() -> None:
    """For its own question, in time."""
    said = [row.after for row in named("decision", "confirm, by Ada")]
    assert said == ["RunTool", "refused: wrong_digest", "RunTool"]
    assert named("decision", "confirm, by Eve")[0].after == "refused: wrong_digest"
    assert named("decision", "reject, by Bob")[0].after == "refused: repeated"


def test_a_claim_that_has_lapsed_is_lost() -> None:
    """Each time that the run is claimed, the epoch grows."""
    assert [row.after.removeprefix("kept: ")[:7] for row in ROWS["claim"]] == [
        *("epoch 1", "epoch 1", "epoch 1"),
        *("epoch 2", "epoch 2", "epoch 2", "epoch 3"),
    ]


@EACH
def test_the_picture_can_be_shown(life: Life) -> None:
    """It is one element of SVG, with a name for those who do not see it."""
    root = ET.fromstring(life.file.read_text(encoding="utf-8"))  # noqa: S314 - it is our own
    assert root.get("role") == "img"
    assert root.get("aria-label")
