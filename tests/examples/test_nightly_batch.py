"""The nightly batch files every letter once, however it is killed."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from tests.examples.loading import begin, example

BATCH = "nightly_batch/batch.py"
LETTERS, KILLS = 300, (60, 60)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_batch_survives_kills(tmp_path: Path) -> None:
    """Killed twice with calls under way, and begun again: each letter is filed, and once."""
    example(BATCH).write_letters(tmp_path, LETTERS)
    for after in KILLS:
        with begin(BATCH, tmp_path) as process:
            assert process.stdout is not None
            assert len(list(islice(process.stdout, after))) == after
            process.kill()
            assert process.wait() == -signal.SIGKILL

    with begin(BATCH, tmp_path) as process:
        assert process.stdout is not None
        last = process.stdout.readlines()
        assert process.wait() == 0

    assert 0 < len(last) <= LETTERS - sum(KILLS)
    filed = Counter(
        letter for letter, _ in example(BATCH).Register(tmp_path / "register.tsv").filed()
    )
    assert len(filed) == LETTERS
    assert set(filed.values()) == {1}


def test_a_finished_batch_has_nothing_to_do(tmp_path: Path) -> None:
    """The next night no letter is read again, and none filed."""
    batch = example(BATCH)
    batch.write_letters(tmp_path, 6)
    assert len(list(batch.batch(tmp_path, batch.scripted()))) == 6
    assert list(batch.batch(tmp_path, batch.scripted())) == []
    topics = Counter(topic for _, topic in batch.Register(tmp_path / "register.tsv").filed())
    assert topics == {"bill": 2, "complaint": 2, "praise": 2}
