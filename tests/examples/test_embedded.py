"""One example with the embedded model; ``dev.py examples`` plays all of them, with a larger one."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent.adapters.providers.local.fetching import fetch
from detent.adapters.providers.local.weights import WeightsError
from tests.examples.embedded import PLAYS, nightly_batch
from tests.examples.loading import EXAMPLES, example

TINY = "smollm2-135m"


@pytest.mark.model
def test_a_model_files_a_letter(tmp_path: Path) -> None:
    """The smallest one files it once, under whichever name and topic it takes for right."""
    try:
        fetch(TINY)
    except WeightsError as error:
        pytest.skip(reason=f"the weights of {TINY} cannot be had: {error}")
    nightly_batch(tmp_path, f"local:{TINY}", letters=1)
    batch = example("nightly_batch/batch.py")
    ((_, topic),) = batch.Register(tmp_path / "register.tsv").filed()
    assert topic in batch.WORDS.values()


def test_each_example_that_asks_a_model_can_be_played() -> None:
    """And its page has the command: all but the one that asks none."""
    pages = {path.parent.name: path.read_text() for path in EXAMPLES.glob("*/README.md")}
    asking = {name for name, page in pages.items() if "--model local" in page}
    assert PLAYS.keys() == asking == pages.keys() - {"proven_policy"}
    assert [name for name in PLAYS if f"dev.py examples {name}" not in pages[name]] == []
