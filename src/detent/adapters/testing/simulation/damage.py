"""Damage: what a bad disk, or somebody who should not, does to the files of a store."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

BLOCK = 512
"""How much of a file may be lost at once: a sector of a disk."""


def damage(paths: Iterable[Path], rng: random.Random) -> str:
    """Change some bytes of one of these files, and say how; where all are empty, nothing."""
    full = [path for path in paths if path.stat().st_size]
    if not full:
        return "nothing is stored yet that could be damaged"
    path = rng.choice(full)
    how = rng.choice(list(HARMS))
    data = path.read_bytes()
    path.write_bytes(HARMS[how](data, rng))
    return f"the file {path.name} of {len(data)} bytes is damaged: {how}"


def _flipped(data: bytes, rng: random.Random) -> bytes:
    at, bit = rng.randrange(len(data)), 1 << rng.randrange(8)
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


def _flipped_thrice(data: bytes, rng: random.Random) -> bytes:
    return _flipped(_flipped(_flipped(data, rng), rng), rng)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _zeroed(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.randint(1, BLOCK))
    return data[:start] + bytes(end - start) + data[end:]


def _stale(data: bytes, rng: random.Random) -> bytes:
    size = rng.randint(1, min(len(data), BLOCK))
    start, origin = (rng.randrange(len(data) - size + 1) for _ in range(2))
    return data[:start] + data[origin : origin + size] + data[start + size :]


HARMS: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "a bit of it is flipped": _flipped,
    "three bits of it are flipped": _flipped_thrice,
    "its end is cut off": _cut,
    "a part of it is all zeros": _zeroed,
    "a part of it is what stands elsewhere in it": _stale,
}
