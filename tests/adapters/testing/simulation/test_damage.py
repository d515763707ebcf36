"""Damage: bytes of a file are changed, in one of the ways in which disks do it."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent.adapters.testing.simulation.damage import HARMS, damage
from detent.adapters.testing.simulation.drawing import dice

DATA = bytes(range(256)) * 4


@pytest.mark.parametrize("how", HARMS)
def test_a_file_is_damaged_in_each_way(how: str) -> None:
    """It is another one then, for most throws of the dice; only a cut makes it shorter."""
    harmed = [HARMS[how](DATA, dice(how, number)) for number in range(20)]

    assert sum(one != DATA for one in harmed) > 15
    assert {len(one) < len(DATA) for one in harmed} == {how == "its end is cut off"}


@pytest.mark.parametrize("how", HARMS)
def test_one_byte_is_enough(how: str) -> None:
    """The smallest file there is."""
    assert len(HARMS[how](b"a", dice(how))) <= 1


def test_it_is_told_which_file_was_damaged_and_how(tmp_path: Path) -> None:
    """The same dice damage the same."""
    empty, full = tmp_path / "empty", tmp_path / "full"
    empty.touch()
    told, left = set[str](), set[bytes]()
    for _ in range(2):
        full.write_bytes(DATA)
        told.add(damage([empty, full], dice("seed")))
        left.add(full.read_bytes())

    assert told in [{f"the file full of 1024 bytes is damaged: {how}"} for how in HARMS]
    assert len(left) == 1
    assert left != {DATA}
    assert empty.read_bytes() == b""


def test_without_a_file_nothing_happens(tmp_path: Path) -> None:
    """And it is told."""
    (tmp_path / "empty").touch()

    assert damage([], dice(1)) == damage([tmp_path / "empty"], dice(1))
